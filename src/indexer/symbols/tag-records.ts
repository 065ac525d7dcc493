import { type ContentSymbols, containerBytesMax, nameBytesMax } from "../../shard/symbols/content-symbols.js";

/** A name is looked for in this many bytes of its line, from the previous symbol of the line on. */
const windowBytes = 2000;

/** The prefix of the names that ctags makes up for what has none. */
const madeUpName = "__anon";

/** Begins a line in which ctags warns about the text, for example of a symbol without a name. */
const warning = '{"_type": "error", ';

const lineFeed = 10;

interface Tag {
  readonly line: number;
  readonly name: string;
  readonly kind: string;
  readonly container: string;
}

/**
 * The symbols in ctags' records of one text: `MARK line TAB kind TAB name MARK container LF`. Both are latin1, one
 * character per byte. Lines with warnings may be between them. Returns undefined if these are not such records.
 */
export function parseTags(records: string, mark: string, text: string): ContentSymbols | undefined {
  const parts = withoutWarnings(records).split(mark);
  if (parts[0] !== "" || parts.length % 2 === 0) return undefined;
  const tags: Tag[] = [];
  let isSorted = true;
  for (let i = 1; i < parts.length; i += 2) {
    const tag = parseTag(parts[i], parts[i + 1]);
    if (tag === undefined) return undefined;
    if (tag.name === "" || tag.name.length > nameBytesMax) continue;
    if (tags.length > 0 && tag.line < tags[tags.length - 1].line) isSorted = false;
    tags.push(tag);
  }
  if (!isSorted) tags.sort((a, b) => a.line - b.line);
  return {
    names: tags.map(({ name }) => name),
    lines: tags.map(({ line }) => line),
    offsets: findOffsets(tags, text),
    kinds: tags.map(({ kind }) => kind),
    containers: tags.map(({ container }) => container),
  };
}

function withoutWarnings(records: string): string {
  if (!records.includes(warning)) return records;
  return records
    .split("\n")
    .filter((line) => !line.startsWith(warning))
    .join("\n");
}

function parseTag(head: string, tail: string): Tag | undefined {
  const lineEnd = head.indexOf("\t");
  const kindEnd = head.indexOf("\t", lineEnd + 1);
  if (lineEnd <= 0 || kindEnd < 0 || tail.charCodeAt(tail.length - 1) !== lineFeed) return undefined;
  const line = Number(head.slice(0, lineEnd));
  if (!Number.isInteger(line) || line < 1 || line >= 2 ** 31) return undefined;
  return {
    line,
    kind: head.slice(lineEnd + 1, kindEnd),
    name: asOneLine(head.slice(kindEnd + 1)),
    container: parseContainer(tail.slice(0, -1)),
  };
}

/** Names are stored one per line. */
function asOneLine(name: string): string {
  return name.includes("\n") ? name.replaceAll("\n", " ") : name;
}

/** Nobody can look for a name that ctags made up. */
function parseContainer(scope: string): string {
  return scope.length > containerBytesMax || scope.includes(madeUpName) ? "" : asOneLine(scope);
}

function findOffsets(tags: readonly Tag[], text: string): number[] {
  const lines = new LineWalk(text);
  return tags.map(({ line, name }) => lines.find(line, name));
}

/** Finds the names of symbols that are ordered by line. The work is linear in the text, however many symbols one line has. */
class LineWalk {
  readonly #text: string;
  #line = 1;
  #end: number;
  /** Where the line begins, or the previous name that was found in it ended. */
  #at = 0;

  constructor(text: string) {
    this.#text = text;
    this.#end = lineEnd(text, 0);
  }

  /** The offset of the name in its line; -1 if it is not there. */
  find(line: number, name: string): number {
    while (this.#line < line && this.#end < this.#text.length) this.#nextLine();
    if (this.#line !== line) return -1;
    const found = this.#text.slice(this.#at, Math.min(this.#end, this.#at + windowBytes)).indexOf(name);
    if (found < 0) return -1;
    const offset = this.#at + found;
    this.#at = offset + name.length;
    return offset;
  }

  #nextLine(): void {
    this.#line++;
    this.#at = this.#end + 1;
    this.#end = lineEnd(this.#text, this.#at);
  }
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf("\n", from);
  return end < 0 ? text.length : end;
}

import { type ContentSymbols, containerBytesMax, nameBytesMax } from "../../shard/symbols/content-symbols.js";

/** A name is looked for in this many bytes of its line, from the previous symbol of the line on. */
const windowBytes = 2000;

/** The prefix of the names that ctags makes up for what has none. */
const madeUpName = "__anon";

/** Begins a line in which ctags warns about the text, for example of a symbol without a name. */
const warning = '{"_type": "error", ';

const lineFeed = 10;

const tab = 9;

/**
 * The symbols in ctags' records of one text: `MARK line TAB kind TAB name MARK container LF`. Both are latin1, one
 * character per byte. Lines with warnings may be between them. Returns undefined if these are not such records.
 */
export function parseTags(records: string, mark: string, text: string): ContentSymbols | undefined {
  const tags = new TagReader(withoutWarnings(records), mark);
  while (!tags.isAtEnd) if (!tags.readTag()) return undefined;
  const { names, lines, kinds, containers } = tags.isSorted ? tags : sortByLine(tags);
  return { names, lines, offsets: findOffsets(names, lines, text), kinds, containers };
}

function withoutWarnings(records: string): string {
  if (!records.includes(warning)) return records;
  return records
    .split("\n")
    .filter((line) => !line.startsWith(warning))
    .join("\n");
}

type Tags = Omit<ContentSymbols, "offsets">;

/**
 * Reads records one after another into arrays, without an object for each: Linux has seven million. Kinds and containers
 * are mostly those of the record before, so their strings are reused.
 */
class TagReader {
  readonly names: string[] = [];
  readonly lines: number[] = [];
  readonly kinds: string[] = [];
  readonly containers: string[] = [];
  isSorted = true;
  readonly #records: string;
  readonly #mark: string;
  #at = 0;
  #lastLine = 0;
  #kind = "";
  /** The scope as it was written, and the container that it stands for. */
  #scope = "";
  #container = "";

  constructor(records: string, mark: string) {
    this.#records = records;
    this.#mark = mark;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#records.length;
  }

  /** Returns false if there is no record. */
  readTag(): boolean {
    const records = this.#records;
    const mark = this.#mark;
    if (!records.startsWith(mark, this.#at)) return false;
    const lineFrom = this.#at + mark.length;
    const nameTo = records.indexOf(mark, lineFrom);
    if (nameTo < 0) return false;
    const lineTo = digitsEnd(records, lineFrom);
    const kindTo = records.indexOf("\t", lineTo + 1);
    if (records.charCodeAt(lineTo) !== tab || kindTo < 0 || kindTo >= nameTo) return false;
    const line = Number(records.slice(lineFrom, lineTo));
    if (line < 1 || line >= 2 ** 31) return false;
    const scopeFrom = nameTo + mark.length;
    const next = records.indexOf(mark, scopeFrom);
    const end = next < 0 ? records.length : next;
    if (end === scopeFrom || records.charCodeAt(end - 1) !== lineFeed) return false;
    this.#add(line, lineTo + 1, kindTo, nameTo);
    if (this.names.length > this.containers.length) this.containers.push(this.#readContainer(scopeFrom, end - 1));
    this.#at = end;
    return true;
  }

  #add(line: number, kindFrom: number, kindTo: number, nameTo: number): void {
    const nameBytes = nameTo - kindTo - 1;
    if (nameBytes === 0 || nameBytes > nameBytesMax) return;
    if (line < this.#lastLine) this.isSorted = false;
    this.#lastLine = line;
    if (kindTo - kindFrom !== this.#kind.length || !this.#records.startsWith(this.#kind, kindFrom))
      this.#kind = this.#records.slice(kindFrom, kindTo);
    this.names.push(asOneLine(this.#records.slice(kindTo + 1, nameTo)));
    this.lines.push(line);
    this.kinds.push(this.#kind);
  }

  #readContainer(from: number, to: number): string {
    if (to - from !== this.#scope.length || !this.#records.startsWith(this.#scope, from)) {
      this.#scope = this.#records.slice(from, to);
      this.#container = parseContainer(this.#scope);
    }
    return this.#container;
  }
}

/** The end of the decimal digits that begin at `from`. */
function digitsEnd(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) >= 48 && text.charCodeAt(at) <= 57) at++;
  return at;
}

/** Symbols of one line keep their order. */
function sortByLine({ names, lines, kinds, containers }: Tags): Tags {
  const order = Array.from(lines, (_, i) => i).sort((a, b) => lines[a] - lines[b]);
  return {
    names: order.map((i) => names[i]),
    lines: order.map((i) => lines[i]),
    kinds: order.map((i) => kinds[i]),
    containers: order.map((i) => containers[i]),
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

function findOffsets(names: readonly string[], lines: readonly number[], text: string): number[] {
  const walk = new LineWalk(text);
  return names.map((name, i) => walk.find(lines[i], name));
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

import { type ContentSymbols, containerBytesMax, nameBytesMax } from "../../shard/symbols/content-symbols.js";

/** A name is looked for in this many bytes of its line, from the previous symbol of the line on. */
const windowBytes = 2000;

/** The prefix of the names that ctags makes up for what has none. */
const madeUpName = "__anon";

/** Begins a line in which ctags warns about the text, for example of a symbol without a name. */
const warning = '{"_type": "error", ';

/** In place of an offset: the name is the rest of a number, so there is no such symbol. */
const partOfNumber = -2;

/** Digits and letters before a name that are looked at to tell whether they begin a number. */
const numberLengthMax = 200;

const lineFeed = 10;

const tab = 9;

/**
 * The symbols in ctags' records of one text: `MARK line TAB kind TAB name MARK container LF`. Both are latin1, one
 * character per byte. Lines with warnings may be between them. Returns undefined if these are not such records.
 */
export function parseTags(records: string, mark: string, text: string): ContentSymbols | undefined {
  const tags = new TagReader(withoutWarnings(records), mark);
  while (!tags.isAtEnd) if (!tags.readTag()) return undefined;
  const { byLine, offsets } = leaveOutNumbers(tags.isSorted ? tags : reorder(tags, orderBy(tags.lines)), text);
  if (isOrdered(offsets)) return { ...byLine, offsets };
  const order = orderBy(byLine.lines, offsets);
  return { ...reorder(byLine, order), offsets: order.map((i) => offsets[i]) };
}

/** ctags takes what follows the first digits of `10_000` in TypeScript for a name. */
function leaveOutNumbers(tags: Tags, text: string): { readonly byLine: Tags; readonly offsets: number[] } {
  const offsets = findOffsets(tags, text);
  if (!offsets.includes(partOfNumber)) return { byLine: tags, offsets };
  const kept = offsets.flatMap((offset, i) => (offset === partOfNumber ? [] : [i]));
  return { byLine: reorder(tags, kept), offsets: kept.map((i) => offsets[i]) };
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
    this.names.push(readName(this.#records.slice(kindTo + 1, nameTo)));
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

/** Symbols of one line keep their order or, if their offsets are passed, those that have one are ordered by it. */
function orderBy(lines: readonly number[], offsets: readonly number[] = []): number[] {
  const place = (i: number): number => {
    const offset = offsets[i] ?? -1;
    return offset < 0 ? Number.MAX_SAFE_INTEGER : offset;
  };
  const indexes = Array.from(lines, (_, i) => i);
  return indexes.sort((a, b) => lines[a] - lines[b] || place(a) - place(b));
}

function isOrdered(offsets: readonly number[]): boolean {
  let last = -1;
  for (const offset of offsets) {
    if (offset >= 0 && offset < last) return false;
    last = Math.max(last, offset);
  }
  return true;
}

function reorder({ names, lines, kinds, containers }: Tags, order: readonly number[]): Tags {
  return {
    names: order.map((i) => names[i]),
    lines: order.map((i) => lines[i]),
    kinds: order.map((i) => kinds[i]),
    containers: order.map((i) => containers[i]),
  };
}

/** A name as it is in the text; on one line, because names are stored so. */
function readName(written: string): string {
  const name = written.includes("\\") ? written.replace(escaped, readEscape) : written;
  return name.includes("\n") ? name.replaceAll("\n", " ") : name;
}

/** What ctags writes instead of a backslash, a control character, or a blank at the start of a name. */
const escaped = /\\(?:[\\abtnvfr]|x[0-9A-F]{2})/g;
const controls: Readonly<Record<string, string>> = { a: "\x07", b: "\b", t: "\t", n: "\n", v: "\v", f: "\f", r: "\r" };

function readEscape(sequence: string): string {
  const letter = sequence.charAt(1);
  return letter === "x" ? String.fromCharCode(Number.parseInt(sequence.slice(2), 16)) : (controls[letter] ?? letter);
}

/** Nobody can look for a name that ctags made up. */
function parseContainer(scope: string): string {
  return scope.length > containerBytesMax || scope.includes(madeUpName) ? "" : readName(scope);
}

function findOffsets({ names, lines, containers }: Tags, text: string): number[] {
  const walk = new LineWalk(text);
  return names.map((name, i) => walk.find(lines[i], name, containers[i]));
}

/**
 * Finds the names of symbols that are ordered by line: after the previous one of its line, else before it. ctags writes an
 * object of JavaScript after its properties, so the name of one that has properties in its line is looked for before them. The work is linear in the text and in the number of symbols,
 * however many one line has.
 */
class LineWalk {
  readonly #text: string;
  #line = 1;
  #start = 0;
  #end: number;
  /** Where the line begins, or the last of the names ends that were found in it. */
  #at = 0;
  /** Start and length of each name that was found in the line. */
  #found: number[] = [];
  /** Where the characters of these names are; filled when a name is first looked for before another one. */
  readonly #taken = new Set<number>();
  /** The last parts of the containers of those names. */
  readonly #containers = new Set<string>();

  constructor(text: string) {
    this.#text = text;
    this.#end = lineEnd(text, 0);
  }

  /** The offset of the name in its line; -1 if it is not there, `partOfNumber` if it only ends a number there. */
  find(line: number, name: string, container: string): number {
    while (this.#line < line && this.#end < this.#text.length) this.#nextLine();
    if (this.#line !== line) return -1;
    let offset = this.#containers.has(name) ? this.#findBefore(name) : -1;
    if (offset < 0) offset = this.#search(name, this.#at, Math.min(this.#end, this.#at + windowBytes));
    if (offset < 0) offset = this.#findBefore(name);
    if (offset < 0) return -1;
    if (this.#isInNumber(offset)) return partOfNumber;
    if (container !== "") this.#containers.add(container.slice(container.lastIndexOf(".") + 1));
    this.#found.push(offset, name.length);
    if (this.#taken.size > 0) this.#take(offset, name.length);
    this.#at = Math.max(this.#at, offset + name.length);
    return offset;
  }

  #findBefore(name: string): number {
    if (this.#found.length === 0) return -1;
    if (this.#taken.size === 0)
      for (let i = 0; i < this.#found.length; i += 2) this.#take(this.#found[i], this.#found[i + 1]);
    return this.#search(name, Math.max(this.#start, this.#at - windowBytes), this.#at);
  }

  #take(offset: number, length: number): void {
    for (let i = offset; i < offset + length; i++) this.#taken.add(i);
  }

  /** The first place that is a whole word or, if there is none, any: `n` is in `int n` at its end. */
  #search(name: string, from: number, to: number): number {
    const window = this.#text.slice(from, to);
    let inWord = -1;
    for (let at = window.indexOf(name); at >= 0; at = window.indexOf(name, at + 1)) {
      const offset = from + at;
      if (this.#isTaken(offset, name.length)) continue;
      if (this.#isWhole(offset, name)) return offset;
      if (inWord < 0) inWord = offset;
    }
    return inWord;
  }

  /** Whether a word that begins with a digit has begun before: no name begins in one, in any language. */
  #isInNumber(offset: number): boolean {
    const text = this.#text;
    const first = Math.max(this.#start, offset - numberLengthMax);
    if (offset === first || !isAsciiWordAt(text, offset) || !isAsciiWordAt(text, offset - 1)) return false;
    let start = offset - 1;
    while (start > first && isAsciiWordAt(text, start - 1)) start--;
    return (start === this.#start || !isWordAt(text, start - 1)) && isDigitAt(text, start);
  }

  #isTaken(offset: number, length: number): boolean {
    if (this.#taken.size === 0) return false;
    for (let i = offset; i < offset + length; i++) if (this.#taken.has(i)) return true;
    return false;
  }

  #isWhole(offset: number, name: string): boolean {
    const end = offset + name.length;
    const text = this.#text;
    const continuesBefore = offset > this.#start && isWordAt(name, 0) && isWordAt(text, offset - 1);
    return !continuesBefore && !(end < this.#end && isWordAt(name, name.length - 1) && isWordAt(text, end));
  }

  #nextLine(): void {
    this.#line++;
    this.#start = this.#end + 1;
    this.#at = this.#start;
    if (this.#found.length > 0) this.#found = [];
    if (this.#taken.size > 0) this.#taken.clear();
    if (this.#containers.size > 0) this.#containers.clear();
    this.#end = lineEnd(this.#text, this.#at);
  }
}

/** A letter or digit of ASCII, an underscore, or a byte of a character beyond ASCII. */
function isWordAt(text: string, at: number): boolean {
  return text.charCodeAt(at) >= 128 || isAsciiWordAt(text, at);
}

function isAsciiWordAt(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code === 95 || (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || isDigitAt(text, at);
}

function isDigitAt(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 48 && code <= 57;
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf("\n", from);
  return end < 0 ? text.length : end;
}

import { TrawlError } from "../../base/errors.js";
import type { SearchRequest } from "../../model/search-request.js";

const [quote, backslash, unicode, colon, comma] = Buffer.from('"\\u:,');
const [listStart, listEnd, objectStart, objectEnd, zero, nine] = Buffer.from("[]{}09");
const space = 0x20;

/** How deep in match objects their members are, those of elements, and those of the places in these. */
const depths = { object: 1, element: 3, place: 4 } as const;

/** Positions in files are words of 32 bits. */
const positionMax = 0xffff_ffff;

/** So many bytes before its limit a line may be cut: within no character. */
const cutBytesMax = 3;

/** Members of elements that are looked at: no two have names of the same length. */
const members = [
  "line",
  "offset",
  "content",
  "patterns",
  "lineNumber",
  "contentStart",
  "lineTruncated",
  "contentTruncated",
] as const;
type Member = (typeof members)[number];
const membersByLength = new Map(members.map((name) => [name.length, { name, bytes: Buffer.from(name) }]));
const elementLists = ["lineMatches", "chunkMatches"].map((name) => Buffer.from(name));

const noBytes = new Uint8Array(0);

/**
 * Checks what another node says of the patterns of a search: the lists `patterns` in its match objects. Each label is one of the request,
 * the ranges are in order and, as far as it can be told, begin on the lines that their element has. Where lines begin is known of
 * `chunkMatches`; of `lineMatches`, only how far the first range may be from the last one.
 *
 * One pass over the bytes, which knows texts, names and depths, and makes no objects: `JSON.parse` takes several times as long. Outside
 * texts no white space is accepted, nor escapes in names, so that no list is overlooked that a client would read.
 */
export class LabelCheck {
  readonly #labelCount: number;
  readonly #lineBytesMax: number;
  #json: Uint8Array = noBytes;
  #at = 0;
  #lastQuote = -1;
  /** Bytes of the text before `#at`, at most; and whether it has escapes. */
  #textBytes = 0;
  #hasEscapes = false;
  /** The last label of the match object. */
  #label = -1;
  #start = -1;
  #end = 0;
  /** The line of the element before. */
  #lineBefore = -1;
  #element = newElement();

  constructor({ lineBytesMax }: Pick<SearchRequest, "lineBytesMax">, labelCount: number) {
    this.#labelCount = labelCount;
    this.#lineBytesMax = lineBytesMax;
  }

  /** Throws `bad-request`. */
  check(json: Uint8Array): void {
    this.#json = json;
    this.#lastQuote = json.lastIndexOf(quote);
    this.#at = 0;
    let depth = 0;
    let hasElements = false;
    while (this.#at < json.length) {
      const byte = json[this.#at];
      if (byte === quote) {
        const from = this.#at + 1;
        this.#skipText();
        if (json[this.#at] !== colon) continue;
        if (this.#hasEscapes) throw wrong("a name with an escape");
        const to = this.#at++ - 1;
        if (depth === depths.object) hasElements = elementLists.some((name) => this.#isName(from, to, name));
        else if (hasElements && depth === depths.element) this.#readMember(this.#find(from, to));
        else if (hasElements && depth === depths.place && this.#element.isStarting)
          this.#readStart(this.#find(from, to));
        continue;
      }
      if (byte <= space) throw wrong("white space outside texts");
      this.#at++;
      if (byte === objectStart || byte === listStart) {
        depth++;
        if (byte === objectStart && depth === depths.element) this.#element = newElement();
        else if (byte === objectStart && depth === depths.object) this.#beginObject();
      } else if (byte === objectEnd || byte === listEnd) {
        if (byte === objectEnd && depth === depths.element && hasElements) this.#endElement();
        if (--depth < 0) throw wrong("a match object that ends twice");
      } else if (depth === 0 && byte !== comma) throw wrong("what is no match object");
    }
    this.#json = noBytes;
    if (depth !== 0) throw wrong("a match object without an end");
  }

  #beginObject(): void {
    this.#label = -1;
    this.#start = -1;
    this.#end = 0;
    this.#lineBefore = -1;
  }

  #skipText(): void {
    const json = this.#json;
    const from = this.#at + 1;
    let at = from;
    let escapedBytes = 0;
    // Up to it, no byte has to be compared with the length.
    const last = this.#lastQuote;
    if (at > last) throw wrong("a text without an end");
    for (let byte = json[at]; byte !== quote; byte = json[at]) {
      at++;
      if (byte !== backslash) continue;
      // Of the six bytes of a number, three are left at most.
      const isNumber = json[at] === unicode;
      escapedBytes += isNumber ? 3 : 1;
      at += isNumber ? 5 : 1;
      if (at > last) throw wrong("a text without an end");
    }
    this.#textBytes = at - from - escapedBytes;
    this.#hasEscapes = escapedBytes > 0;
    this.#at = at + 1;
  }

  #find(from: number, to: number): Member | undefined {
    const known = membersByLength.get(to - from);
    return known !== undefined && this.#isName(from, to, known.bytes) ? known.name : undefined;
  }

  #isName(from: number, to: number, name: Uint8Array): boolean {
    if (name.length !== to - from) return false;
    for (let i = 0; i < name.length; i++) if (this.#json[from + i] !== name[i]) return false;
    return true;
  }

  /** Its value comes next. */
  #readMember(member: Member | undefined): void {
    const element = this.#element;
    element.isStarting = member === "contentStart";
    switch (member) {
      case "line":
      case "content":
        if (this.#json[this.#at] !== quote) throw wrong("an element without a text");
        this.#skipText();
        element.textBytes = this.#textBytes;
        element.isLine = member === "line";
        return;
      case "lineNumber":
        element.lineNumber = this.#readNumber();
        return;
      case "lineTruncated":
      case "contentTruncated":
        element.isCut = true;
        return;
      case "patterns":
        return this.#readLabels();
      default:
    }
  }

  #readStart(member: Member | undefined): void {
    if (member === "offset") this.#element.start = this.#readNumber();
  }

  /** Lists of three numbers in a list. */
  #readLabels(): void {
    const json = this.#json;
    this.#expect(listStart);
    if (json[this.#at] === listEnd) {
      this.#at++;
      return;
    }
    do {
      this.#expect(listStart);
      const label = this.#readNumber();
      this.#expect(comma);
      const start = this.#readNumber();
      this.#expect(comma);
      const end = this.#readNumber();
      this.#expect(listEnd);
      this.#take(label, start, end);
    } while (json[this.#at++] === comma);
    this.#at--;
    this.#expect(listEnd);
  }

  #take(label: number, start: number, end: number): void {
    if (label >= this.#labelCount) throw wrong(`a label of ${label}, and ${this.#labelCount} patterns`);
    if (start > end) throw wrong("a label that ends before it begins");
    const isNext =
      start > this.#start || (start === this.#start && (end < this.#end || (end === this.#end && label > this.#label)));
    if (!isNext) throw wrong("labels that are out of order");
    this.#element.first ??= start;
    this.#label = label;
    this.#start = start;
    this.#end = end;
  }

  #endElement(): void {
    const { first, start, textBytes, isLine, isCut, lineNumber } = this.#element;
    const before = this.#lineBefore;
    this.#lineBefore = lineNumber;
    // A line that is cut has labels also where its text is not shown.
    if (first === undefined || isCut || (isLine && textBytes + cutBytesMax >= this.#lineBytesMax)) return;
    if (!isLine && first < start) throw wrong("a label before the lines of its element");
    // Empty lines before it have no element of their own.
    const from = isLine ? first + Math.max(0, lineNumber - before) : start;
    if (this.#start > from + textBytes) throw wrong("a label behind the lines of its element");
  }

  #expect(byte: number): void {
    if (this.#json[this.#at++] !== byte) throw wrong("labels that are no lists of three numbers");
  }

  #readNumber(): number {
    const json = this.#json;
    const from = this.#at;
    let at = from;
    let value = 0;
    for (let byte = json[at]; byte >= zero && byte <= nine; byte = json[++at]) {
      value = 10 * value + byte - zero;
      if (value > positionMax) throw wrong("a number that is too large");
    }
    if (at === from) throw wrong("no number where one must be");
    this.#at = at;
    return value;
  }
}

/** What an element says of where its text is. */
interface Element {
  textBytes: number;
  isLine: boolean;
  isCut: boolean;
  lineNumber: number;
  /** Of a chunk: where its text begins in the file. */
  start: number;
  /** Whether the next member is a place, of this beginning. */
  isStarting: boolean;
  /** Where its first label begins. */
  first: number | undefined;
}

function newElement(): Element {
  return { textBytes: 0, isLine: false, isCut: false, lineNumber: 0, start: 0, isStarting: false, first: undefined };
}

function wrong(what: string): TrawlError {
  return new TrawlError("bad-request", `${what}, in match objects with patterns`);
}

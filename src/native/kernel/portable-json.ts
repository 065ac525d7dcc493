import { utf8Bytes } from "../../base/bytes.js";

/** JSON allows them in strings, but some readers take them for line ends. */
const lineSeparator = utf8Bytes("\\u2028");
const paragraphSeparator = utf8Bytes("\\u2029");
const replacement = utf8Bytes("\ufffd");

/** The JSON escape sequence of each ASCII character; undefined for a character that needs none. */
const escapes: readonly (Uint8Array | undefined)[] = Array.from({ length: 128 }, (_, byte) => {
  const escaped = JSON.stringify(String.fromCharCode(byte)).slice(1, -1);
  return escaped.length > 1 ? utf8Bytes(escaped) : undefined;
});

/**
 * Appends to a buffer of fixed size. If something does not fit, `isFull` is set and stays set; the bytes after the last
 * position at which the caller found the output complete are then unspecified.
 */
export class JsonWriter {
  readonly #out: Uint8Array;
  at: number;
  isFull = false;

  constructor(out: Uint8Array, at: number) {
    this.#out = out;
    this.at = at;
  }

  raw(bytes: Uint8Array): void {
    if (this.at + bytes.length > this.#out.length) {
      this.isFull = true;
      return;
    }
    for (let i = 0; i < bytes.length; i++) this.#out[this.at++] = bytes[i];
  }

  /** Writes an unsigned 32-bit integer, as the addon does: in a corrupt shard a line number may be negative. */
  number(given: number): void {
    const value = given >>> 0;
    let power = 1;
    while (power * 10 <= value) power *= 10;
    for (; power >= 1; power /= 10) this.#byte(0x30 + (Math.floor(value / power) % 10));
  }

  /** Writes `text[from, to)` as the inside of a JSON string. */
  string(text: Uint8Array, from: number, to: number): void {
    for (let at = from; at < to && !this.isFull; ) {
      const byte = text[at];
      if (byte >= 0x80) {
        at += this.#sequence(text, at, to);
        continue;
      }
      const escaped = escapes[byte];
      if (escaped === undefined) this.#byte(byte);
      else this.raw(escaped);
      at++;
    }
  }

  #byte(byte: number): void {
    if (this.at < this.#out.length) this.#out[this.at++] = byte;
    else this.isFull = true;
  }

  /** Writes the UTF-8 sequence or invalid byte at `at`; returns its length in the text. */
  #sequence(text: Uint8Array, at: number, to: number): number {
    const length = sequenceLength(text, at, to);
    if (length === 0) {
      this.raw(replacement);
      return 1;
    }
    const isSeparator = length === 3 && text[at] === 0xe2 && text[at + 1] === 0x80 && (text[at + 2] & 0xfe) === 0xa8;
    if (isSeparator) this.raw(text[at + 2] === 0xa8 ? lineSeparator : paragraphSeparator);
    else this.raw(text.subarray(at, at + length));
    return length;
  }
}

/** As `Kernel.writeJson`. */
export function writeJson(text: Uint8Array, from: number, to: number, out: Uint8Array, at: number): number {
  const writer = new JsonWriter(out, at);
  writer.string(text, from, to);
  return writer.isFull ? out.length + 1 : writer.at;
}

/**
 * Length of the well-formed sequence of two to four bytes at `at` that ends by `to`, or 0. Overlong forms, surrogates
 * and code points past U+10FFFF are not well-formed; each of their bytes counts by itself.
 */
function sequenceLength(text: Uint8Array, at: number, to: number): number {
  const lead = text[at];
  if (lead < 0xc2 || lead > 0xf4) return 0;
  const length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (at + length > to) return 0;
  for (let i = 1; i < length; i++) if ((text[at + i] & 0xc0) !== 0x80) return 0;
  const second = text[at + 1];
  if (lead === 0xe0 && second < 0xa0) return 0;
  if (lead === 0xed && second >= 0xa0) return 0;
  if (lead === 0xf0 && second < 0x90) return 0;
  if (lead === 0xf4 && second >= 0x90) return 0;
  return length;
}

/** The largest position up to `from + bytesMax` that does not split a code point of `text[from, to)`. */
export function cutAtCodePoint(text: Uint8Array, from: number, to: number, bytesMax: number): number {
  if (to - from <= bytesMax) return to;
  const cut = from + bytesMax;
  for (let back = 1; back <= Math.min(3, bytesMax); back++) {
    if (sequenceLength(text, cut - back, to) > back) return cut - back;
  }
  return cut;
}

/** Counts the code points from the start of a line to each of several increasing positions, in one pass. */
export class Columns {
  readonly #text: Uint8Array;
  readonly #lineEnd: number;
  #at: number;
  #column = 0;

  constructor(text: Uint8Array, lineStart: number, lineEnd: number) {
    this.#text = text;
    this.#lineEnd = lineEnd;
    this.#at = lineStart;
  }

  /** Number of code points that start before `to`. */
  columnAt(to: number): number {
    while (this.#at < to) {
      this.#at += sequenceLength(this.#text, this.#at, this.#lineEnd) || 1;
      this.#column++;
    }
    return this.#column;
  }
}

/** The arguments of `encodeLineMatches` and `encodeChunkMatches`, which write the elements of one content's rows. */
export interface ElementsRequest {
  readonly text: Uint8Array;
  readonly contentFrom: number;
  readonly contentTo: number;
  readonly rows: Uint32Array;
  /** The first row of the content; those before `rowFrom` were written by earlier calls. */
  readonly rowBegin: number;
  readonly rowFrom: number;
  readonly rowTo: number;
  /** Start of a line at or before the first row to write, and the number of that line. */
  readonly lineHint: number;
  readonly firstLine: number;
  readonly contextLines: number;
  readonly lineBytesMax: number;
  readonly cutsAround: boolean;
  readonly out: Uint8Array;
  readonly outFrom: number;
  /** Triples (start, end, label), sorted. */
  readonly labels: Uint32Array;
  readonly labelCount: number;
}

/** A part of a line longer than `lineBytesMax`: `[from, to)`. */
interface LinePart {
  readonly from: number;
  readonly to: number;
}

/** True if the line is written in parts around its rows. */
export function isLong({ cutsAround, lineBytesMax }: ElementsRequest, line: Line): boolean {
  return cutsAround && line.end - line.start > lineBytesMax;
}

/** The part of a long line around the text that starts at `position`. */
export function cutPart({ text, lineBytesMax }: ElementsRequest, line: Line, position: number): LinePart {
  let from = Math.max(line.start, position - Math.floor(lineBytesMax / 4));
  for (let i = 0; i < 3 && from > line.start && from < position && (text[from] & 0xc0) === 0x80; i++) from++;
  return { from, to: cutAtCodePoint(text, from, line.end, lineBytesMax) };
}

/** The last position whose labels belong to the part of a long line that ends before row `row`. */
export function labelsEnd({ rows, rowTo }: ElementsRequest, line: Line, row: number): number {
  return row < rowTo && rows[2 * row] <= line.end ? rows[2 * row] - 1 : line.end;
}

/** Writes what precedes a part in its line. */
export function writeLineStart(json: JsonWriter, byteCount: number, column: number): void {
  json.raw(lineStartKey);
  json.number(byteCount);
  json.raw(columnKey);
  json.number(column);
  json.raw(closeObject);
}

const lineStartKey = utf8Bytes(',"lineStart":{"byte":');
const columnKey = utf8Bytes(',"column":');
const closeObject = utf8Bytes("}");

/** The end of the last whole element that fitted, and the next row to write. */
export interface ElementsEnd {
  readonly at: number;
  readonly row: number;
}

/** A line of one content: `[start, end)` without its newline, and its 0-based number. */
export interface Line {
  readonly start: number;
  readonly end: number;
  readonly number: number;
}

/** Walks over the lines of one content `[from, to)`. A newline belongs to the line it ends. */
export class Lines {
  readonly #text: Uint8Array;
  readonly #from: number;
  readonly #to: number;

  constructor(text: Uint8Array, from: number, to: number) {
    this.#text = text;
    this.#from = from;
    this.#to = to;
  }

  lineAt(start: number, number: number): Line {
    return { start, end: this.newlineAfter(start, this.#to), number };
  }

  /** Position of the first newline in `[at, to)`, or `to`. */
  newlineAfter(at: number, to: number): number {
    while (at < to && this.#text[at] !== 10) at++;
    return at;
  }

  /** The line that contains `position`, which must not be before `line.start`. */
  seek(line: Line, position: number): Line {
    while (position > line.end) line = this.next(line);
    return line;
  }

  /** False on the last line. The empty string after a final newline is not a line. */
  hasNext(line: Line): boolean {
    return line.end + 1 < this.#to;
  }

  next(line: Line): Line {
    return this.lineAt(line.end + 1, line.number + 1);
  }

  hasPrevious(line: Line): boolean {
    return line.start > this.#from;
  }

  previous(line: Line): Line {
    const end = line.start - 1;
    let start = end;
    while (start > this.#from && this.#text[start - 1] !== 10) start--;
    return { start, end, number: line.number - 1 };
  }
}

const patternsKey = utf8Bytes(',"patterns":[');
const closeArray = utf8Bytes("]");
const openArray = utf8Bytes("[");
const comma = utf8Bytes(",");

/** Writes the labels of one content's rows after the elements in which they begin. */
export class LabelWriter {
  readonly #request: ElementsRequest;
  #next = 0;

  constructor(request: ElementsRequest) {
    this.#request = request;
    const { labels, labelCount, rows, rowFrom, rowBegin, contentFrom } = request;
    const from = rowFrom === rowBegin ? contentFrom : rows[2 * rowFrom];
    while (this.#next < labelCount && labels[3 * this.#next] < from) this.#next++;
  }

  /** Writes the labels that begin on lines up to the one that ends at `lineEnd`, except those written before. */
  write(json: JsonWriter, lineEnd: number): void {
    const { labels, labelCount, rows, rowTo, contentFrom } = this.#request;
    if (labelCount === 0) return;
    const rowsEnd = rows[2 * rowTo - 1];
    json.raw(patternsKey);
    for (let isFirst = true; this.#next < labelCount && !json.isFull; this.#next++, isFirst = false) {
      const [start, end, label] = labels.subarray(3 * this.#next, 3 * this.#next + 3);
      if (start > lineEnd || start >= rowsEnd) break;
      if (!isFirst) json.raw(comma);
      json.raw(openArray);
      json.number(label);
      json.raw(comma);
      json.number(start - contentFrom);
      json.raw(comma);
      json.number(end - contentFrom);
      json.raw(closeArray);
    }
    json.raw(closeArray);
  }
}

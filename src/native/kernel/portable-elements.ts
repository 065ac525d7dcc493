import { utf8Bytes } from "../../base/bytes.js";
import type { JsonWriter } from "./portable-json.js";
import type { Line } from "./portable-lines.js";
import { cutAtCodePoint } from "./portable-utf8.js";

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
export interface LinePart {
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

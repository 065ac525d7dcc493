import { utf8Bytes } from "../../base/bytes.js";
import {
  isLong,
  labelsEnd,
  cutPart,
  writeLineStart,
  type ElementsEnd,
  type ElementsRequest,
  JsonWriter,
  LabelWriter,
  Lines,
  type Line,
  Columns,
  cutAtCodePoint,
} from "./portable-json.js";

const lineKey = utf8Bytes('{"line":"');
const lineNumberKey = utf8Bytes('","lineNumber":');
const offsetsKey = utf8Bytes(',"offsetAndLengths":[');
const closeArray = utf8Bytes("]");
const closeObject = utf8Bytes("}");
const truncated = utf8Bytes(',"lineTruncated":true}');
const comma = utf8Bytes(",");
const openPair = utf8Bytes("[");
const closePair = utf8Bytes("]");

/** Writes the elements of `lineMatches`, comma-separated, as far as they fit. */
export function encodeLineMatches(request: ElementsRequest): ElementsEnd {
  const { text, rows, rowTo, outFrom } = request;
  const lines = new Lines(text, request.contentFrom, request.contentTo);
  const json = new JsonWriter(request.out, outFrom);
  let line = lines.lineAt(request.lineHint, request.firstLine);
  let row = request.rowFrom;
  let written = outFrom;
  const labels = new LabelWriter(request);
  while (row < rowTo) {
    line = lines.seek(line, rows[2 * row]);
    const group = new Group(request, row, lines, line, labels);
    group.write(json, outFrom);
    if (json.isFull) break;
    written = json.at;
    row = group.row;
    line = group.line;
  }
  return { at: written, row };
}

/** A group of rows connected by shared lines. A group is written as a whole or not at all. */
class Group {
  readonly #request: ElementsRequest;
  readonly #text: Uint8Array;
  readonly #rows: Uint32Array;
  readonly #rowTo: number;
  readonly #lines: Lines;
  readonly #labels: LabelWriter;
  line: Line;
  /** The next piece to write is the part of `row` from `#pieceStart` on. */
  row: number;
  #pieceStart: number;

  /** `line` is the line that contains the start of `row`. */
  constructor(request: ElementsRequest, row: number, lines: Lines, line: Line, labels: LabelWriter) {
    const { text, rows, rowTo } = request;
    this.#request = request;
    this.#labels = labels;
    this.#text = text;
    this.#rows = rows;
    this.#rowTo = rowTo;
    this.#lines = lines;
    this.line = line;
    this.row = row;
    this.#pieceStart = rows[2 * row];
  }

  write(json: JsonWriter, outFrom: number): void {
    const { lineBytesMax } = this.#request;
    for (;;) {
      let goesOn: boolean;
      if (isLong(this.#request, this.line) && this.#hasPiece()) {
        if (json.at > outFrom) json.raw(comma);
        goesOn = this.#writePart(json);
      } else {
        const pieces: number[] = [];
        goesOn = this.#takePieces(pieces);
        if (pieces.length > 0) {
          if (json.at > outFrom) json.raw(comma);
          this.#writeElement(json, pieces, lineBytesMax);
        }
      }
      if (!goesOn || json.isFull) return;
      this.line = this.#lines.next(this.line);
      this.#pieceStart = this.line.start;
    }
  }

  /** True if the row consists of newlines, the first of which ends the line: its empty piece is its only one. */
  #isBare(lineEnd: number): boolean {
    const [start, end] = [this.#rows[2 * this.row], this.#rows[2 * this.row + 1]];
    if (this.#pieceStart !== lineEnd || start !== lineEnd || end === start) return false;
    return this.#text.subarray(start, end).every((byte) => byte === 10);
  }

  /**
   * Appends the (start, end) of all nonempty pieces on the line, and the start of a row of newlines; returns true if a row extends past the line.
   */
  #takePieces(pieces: number[]): boolean {
    const { end } = this.line;
    while (this.#pieceStart <= end) {
      const rowEnd = this.#rows[2 * this.row + 1];
      const pieceEnd = Math.min(rowEnd, end);
      if (pieceEnd > this.#pieceStart || this.#isBare(end)) pieces.push(this.#pieceStart, pieceEnd);
      if (rowEnd > end) return true;
      this.row++;
      if (this.row === this.#rowTo) return false;
      this.#pieceStart = this.#rows[2 * this.row];
    }
    return false;
  }

  /** Whether the next row, on a long line, has a piece there: of those that begin at its end only the last may. */
  #hasPiece(): boolean {
    const { end } = this.line;
    return Math.min(this.#rows[2 * this.row + 1], end) > this.#pieceStart || this.#isBare(end);
  }

  /**
   * Writes the part of a long line around its next piece, with the pieces of all rows that end in it; returns true if a
   * row extends past the line.
   */
  #writePart(json: JsonWriter): boolean {
    const { line } = this;
    const { from, to } = cutPart(this.#request, line, this.#pieceStart);
    const columns = new Columns(this.#text, line.start, line.end);
    const column = columns.columnAt(from);
    json.raw(lineKey);
    json.string(this.#text, from, to);
    json.raw(lineNumberKey);
    json.number(line.number);
    json.raw(offsetsKey);
    let goesOn = false;
    for (let isFirst = true; ; isFirst = false) {
      const rowEnd = this.#rows[2 * this.row + 1];
      const start = columns.columnAt(this.#pieceStart);
      if (!isFirst) json.raw(comma);
      json.raw(openPair);
      json.number(start - column);
      json.raw(comma);
      json.number(columns.columnAt(Math.min(rowEnd, to)) - start);
      json.raw(closePair);
      goesOn = rowEnd > line.end;
      if (goesOn) break;
      this.row++;
      if (this.row === this.#rowTo) break;
      this.#pieceStart = this.#rows[2 * this.row];
      if (this.#rows[2 * this.row + 1] > to) break;
    }
    json.raw(closeArray);
    this.#labels.write(json, labelsEnd(this.#request, line, this.row));
    writeLineStart(json, from - line.start, column);
    json.raw(truncated);
    return goesOn;
  }

  #writeElement(json: JsonWriter, pieces: readonly number[], lineBytesMax: number): void {
    const { start, end, number } = this.line;
    json.raw(lineKey);
    json.string(this.#text, start, cutAtCodePoint(this.#text, start, end, lineBytesMax));
    json.raw(lineNumberKey);
    json.number(number);
    json.raw(offsetsKey);
    const columns = new Columns(this.#text, start, end);
    for (let i = 0; i < pieces.length; i += 2) {
      if (i > 0) json.raw(comma);
      const column = columns.columnAt(pieces[i]);
      json.raw(openPair);
      json.number(column);
      json.raw(comma);
      json.number(columns.columnAt(pieces[i + 1]) - column);
      json.raw(closePair);
    }
    json.raw(closeArray);
    this.#labels.write(json, end);
    json.raw(closeObject);
  }
}

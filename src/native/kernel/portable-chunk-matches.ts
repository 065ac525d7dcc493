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
import { countNewlines } from "./portable-scan.js";

/** After this many rows a chunk ends before the next line with a row. */
const chunkRowsMax = 1000;

const contentKey = utf8Bytes('{"content":"');
const contentStartKey = utf8Bytes('","contentStart":');
const rangesKey = utf8Bytes(',"ranges":[');
const startKey = utf8Bytes('{"start":');
const endKey = utf8Bytes(',"end":');
const offsetKey = utf8Bytes('{"offset":');
const lineKey = utf8Bytes(',"line":');
const columnKey = utf8Bytes(',"column":');
const truncated = utf8Bytes(',"contentTruncated":true');
const newline = utf8Bytes("\\n");
const comma = utf8Bytes(",");
const closeArray = utf8Bytes("]");
const closeObject = utf8Bytes("}");

/** Writes the elements of `chunkMatches`, comma-separated, as far as they fit. */
export function encodeChunkMatches(request: ElementsRequest): ElementsEnd {
  const { text, contentFrom, rows, rowTo, contextLines, outFrom } = request;
  const lines = new Lines(text, contentFrom, request.contentTo);
  const json = new JsonWriter(request.out, outFrom);
  let line = lines.lineAt(request.lineHint, request.firstLine);
  let row = request.rowFrom;
  let written = outFrom;
  let taken = 0;
  const labels = new LabelWriter(request);
  if (row < rowTo) {
    line = lines.seek(line, rows[2 * row]);
    if (row > request.rowBegin) {
      taken = line.number - countNewlines(text, rows[2 * row - 1], line.start) + contextLines + 1;
    }
  }
  while (row < rowTo) {
    if (isLong(request, line)) {
      if (json.at > outFrom) json.raw(comma);
      const next = writePart(json, request, line, row, labels);
      if (json.isFull) break;
      written = json.at;
      taken = line.number + 1;
      row = next;
      if (row < rowTo) line = lines.seek(line, rows[2 * row]);
      continue;
    }
    const chunk = gather(request, lines, line, row);
    const top = contextBefore(lines, chunk.firstLine, contextLines, taken);
    const bottom = contextAfter(lines, chunk, contextLines);
    if (json.at > outFrom) json.raw(comma);
    writeChunk(json, request, lines, chunk, top, bottom, labels);
    if (json.isFull) break;
    written = json.at;
    taken = bottom.number + 1;
    row = chunk.rowTo;
    line = chunk.nextLine ?? chunk.lastLine;
  }
  return { at: written, row };
}

/** The rows `[rowFrom, rowTo)` of one chunk and their lines, without context. */
interface Chunk {
  readonly rowFrom: number;
  readonly rowTo: number;
  readonly firstLine: Line;
  readonly lastLine: Line;
  /** The line of row `rowTo`, when there is such a row. */
  readonly nextLine: Line | undefined;
}

/** Collects the rows of one chunk. `firstLine` is the line that contains the start of row `rowFrom`. */
function gather(request: ElementsRequest, lines: Lines, firstLine: Line, rowFrom: number): Chunk {
  const { rows, rowTo: rowEnd, contextLines } = request;
  let lastLine = lines.seek(firstLine, rows[2 * rowFrom + 1]);
  for (let row = rowFrom + 1; row < rowEnd; row++) {
    const nextLine = lines.seek(lastLine, rows[2 * row]);
    if (isLong(request, nextLine)) return { rowFrom, rowTo: row, firstLine, lastLine, nextLine };
    const distance = nextLine.number - lastLine.number;
    const isApart = distance > 2 * contextLines + 1 || row - rowFrom >= chunkRowsMax;
    if (distance > 0 && isApart) return { rowFrom, rowTo: row, firstLine, lastLine, nextLine };
    lastLine = lines.seek(nextLine, rows[2 * row + 1]);
  }
  return { rowFrom, rowTo: rowEnd, firstLine, lastLine, nextLine: undefined };
}

/** Returns the first line of context before `line`. Lines with a number below `taken` are in an earlier chunk. */
function contextBefore(lines: Lines, line: Line, contextLines: number, taken: number): Line {
  for (let i = 0; i < contextLines && lines.hasPrevious(line) && line.number > taken; i++) line = lines.previous(line);
  return line;
}

/** Returns the last line of context after the chunk, which is before the line of the next row. */
function contextAfter(lines: Lines, { lastLine, nextLine }: Chunk, contextLines: number): Line {
  let line = lastLine;
  for (let i = 0; i < contextLines && lines.hasNext(line); i++) {
    if (nextLine !== undefined && line.number + 1 >= nextLine.number) break;
    line = lines.next(line);
  }
  return line;
}

/** Writes the part of a long line around row `row`, with all rows that end in it; returns the next row. */
function writePart(json: JsonWriter, request: ElementsRequest, line: Line, row: number, labels: LabelWriter): number {
  const { text, contentFrom, rows, rowTo } = request;
  const { from, to } = cutPart(request, line, rows[2 * row]);
  const columns = new Columns(text, line.start, line.end);
  const column = columns.columnAt(from);
  json.raw(contentKey);
  json.string(text, from, to);
  json.raw(contentStartKey);
  writeLocation(json, from - contentFrom, line.number, column);
  json.raw(rangesKey);
  let next = row;
  do {
    if (next > row) json.raw(comma);
    json.raw(startKey);
    writeLocation(json, rows[2 * next] - contentFrom, line.number, columns.columnAt(rows[2 * next]));
    const end = Math.min(rows[2 * next + 1], to);
    json.raw(endKey);
    writeLocation(json, end - contentFrom, line.number, columns.columnAt(end));
    json.raw(closeObject);
    next++;
  } while (next < rowTo && rows[2 * next + 1] <= to);
  json.raw(closeArray);
  labels.write(json, labelsEnd(request, line, next));
  writeLineStart(json, from - line.start, column);
  json.raw(truncated);
  json.raw(closeObject);
  return next;
}

function writeChunk(
  json: JsonWriter,
  request: ElementsRequest,
  lines: Lines,
  chunk: Chunk,
  top: Line,
  bottom: Line,
  labels: LabelWriter,
): void {
  const { text, contentFrom, rows, lineBytesMax } = request;
  json.raw(contentKey);
  const isCut = writeContent(json, text, lines, top.start, bottom.end, lineBytesMax);
  json.raw(contentStartKey);
  writeLocation(json, top.start - contentFrom, top.number, 0);
  json.raw(rangesKey);
  let line = chunk.firstLine;
  let columns = new Columns(text, line.start, line.end);
  for (let i = 2 * chunk.rowFrom; i < 2 * chunk.rowTo; i++) {
    const isEnd = i % 2 === 1;
    if (rows[i] > line.end) {
      line = lines.seek(line, rows[i]);
      columns = new Columns(text, line.start, line.end);
    }
    // The text of a long line is truncated, and no row begins on it.
    const position = isLong(request, line)
      ? Math.min(rows[i], cutAtCodePoint(text, line.start, line.end, lineBytesMax))
      : rows[i];
    if (!isEnd && i > 2 * chunk.rowFrom) json.raw(comma);
    json.raw(isEnd ? endKey : startKey);
    writeLocation(json, position - contentFrom, line.number, columns.columnAt(position));
    if (isEnd) json.raw(closeObject);
  }
  json.raw(closeArray);
  labels.write(json, bottom.end);
  if (isCut) json.raw(truncated);
  json.raw(closeObject);
}

/** Writes the lines of `text[from, to)`; returns true if a line was truncated. */
function writeContent(
  json: JsonWriter,
  text: Uint8Array,
  lines: Lines,
  from: number,
  to: number,
  lineBytesMax: number,
): boolean {
  let isCut = false;
  for (let start = from; ; ) {
    const end = lines.newlineAfter(start, to);
    const cut = cutAtCodePoint(text, start, end, lineBytesMax);
    isCut ||= cut < end;
    json.string(text, start, cut);
    if (end === to) return isCut;
    json.raw(newline);
    start = end + 1;
  }
}

function writeLocation(json: JsonWriter, offset: number, line: number, column: number): void {
  json.raw(offsetKey);
  json.number(offset);
  json.raw(lineKey);
  json.number(line);
  json.raw(columnKey);
  json.number(column);
  json.raw(closeObject);
}

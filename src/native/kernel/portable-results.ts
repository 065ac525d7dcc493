import { utf8Bytes } from "../../base/bytes.js";
import { resultWordCount, resultWords, type ResultsView } from "./kernel.js";
import { encodeChunkMatches } from "./portable-chunk-matches.js";
import { JsonWriter } from "./portable-json.js";
import { encodeLineMatches } from "./portable-line-matches.js";
import { countNewlines } from "./portable-scan.js";

const contentHead = utf8Bytes('{"type":"content","path":"');
const pathHead = utf8Bytes('{"type":"path","path":"');
const quote = utf8Bytes('"');
const comma = utf8Bytes(",");
const lineRowsHead = utf8Bytes(',"hunks":null,"lineMatches":[');
const chunkRowsHead = utf8Bytes(',"hunks":null,"chunkMatches":[');
const closeArray = utf8Bytes("]");
const newline = 10;

export function encodeResults(
  text: Uint8Array,
  paths: Uint8Array,
  newlines: Uint32Array,
  newlineStep: number,
  fragments: Uint8Array,
  results: Uint32Array,
  resultCount: number,
  rows: Uint32Array,
  chunks: boolean,
  contextLines: number,
  lineBytesMax: number,
  out: Uint8Array,
  pauseAt: number,
  cursor: Uint32Array,
): boolean {
  const view = { text, paths, newlines, newlineStep, fragments, rows, chunks, contextLines, lineBytesMax, out };
  while (cursor[0] < resultCount) {
    const result = results.subarray(cursor[0] * resultWordCount, (cursor[0] + 1) * resultWordCount);
    if (!writeResult(view, result, cursor)) return false;
    cursor[0]++;
    cursor[1] = 0;
    if (cursor[2] >= pauseAt && cursor[0] < resultCount) return false;
  }
  return true;
}

/** Writes what is left of one result; false when it did not fit. A part of it stays only in a buffer of its own. */
function writeResult(view: ResultsView, result: Uint32Array, cursor: Uint32Array): boolean {
  const start = cursor[2];
  const hasRows = result[resultWords.rowTo] > result[resultWords.rowFrom];
  const tail = view.fragments.subarray(result[resultWords.tailFrom], result[resultWords.tailTo]);
  const json = new JsonWriter(view.out, start);
  if (start > 0) json.raw(comma);
  json.raw(hasRows ? contentHead : pathHead);
  json.string(view.paths, result[resultWords.pathFrom], result[resultWords.pathTo]);
  json.raw(quote);
  json.raw(view.fragments.subarray(result[resultWords.headFrom], result[resultWords.headTo]));
  if (!hasRows) {
    json.raw(tail);
    if (!json.isFull) cursor[2] = json.at;
    return !json.isFull;
  }
  json.raw(view.chunks ? chunkRowsHead : lineRowsHead);
  const closingBytes = closeArray.length + tail.length;
  if (json.isFull || view.out.length - json.at < closingBytes) return false;
  const rowFrom = result[resultWords.rowFrom] + cursor[1];
  const [at, next] = writeElements(view, result, rowFrom, json.at, view.out.length - closingBytes);
  const isWhole = next === result[resultWords.rowTo];
  if (!isWhole && (start > 0 || next === rowFrom)) return false;
  json.at = at;
  json.raw(closeArray);
  json.raw(tail);
  cursor[1] = next - result[resultWords.rowFrom];
  cursor[2] = json.at;
  return isWhole;
}

/** Returns where the whole elements that fit end, and the row after them. */
function writeElements(
  { text, newlines, newlineStep, rows, chunks, contextLines, lineBytesMax, out }: ResultsView,
  result: Uint32Array,
  rowFrom: number,
  outFrom: number,
  outEnd: number,
): Uint32Array {
  const from = result[resultWords.contentFrom];
  const to = result[resultWords.contentTo];
  const lineStart = text.subarray(from, rows[2 * rowFrom]).lastIndexOf(newline) + 1 + from;
  const step = Math.floor(lineStart / newlineStep);
  const firstLine =
    newlines[step] + countNewlines(text, step * newlineStep, lineStart) - result[resultWords.linesBefore];
  const progress = new Uint32Array(4);
  const room = out.subarray(0, outEnd);
  const rowTo = result[resultWords.rowTo];
  if (chunks) {
    encodeChunkMatches(
      text,
      from,
      to,
      rows,
      result[resultWords.rowFrom],
      rowFrom,
      rowTo,
      lineStart,
      firstLine,
      contextLines,
      lineBytesMax,
      room,
      outFrom,
      progress,
    );
  } else {
    encodeLineMatches(
      text,
      from,
      to,
      rows,
      rowFrom,
      rowTo,
      lineStart,
      firstLine,
      lineBytesMax,
      room,
      outFrom,
      progress,
    );
  }
  return progress;
}

import { utf8Bytes } from "../../base/bytes.js";
import { resultWordCount, resultWords, type ResultsRequest } from "./kernel.js";
import { type ElementsEnd, type ElementsRequest, JsonWriter } from "./portable-json.js";
import { encodeChunkMatches } from "./portable-chunk-matches.js";
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

export function encodeResults(request: ResultsRequest): boolean {
  const { results, resultCount, pauseAt, cursor } = request;
  while (cursor[0] < resultCount) {
    const result = results.subarray(cursor[0] * resultWordCount, (cursor[0] + 1) * resultWordCount);
    if (!writeResult(request, result)) return false;
    cursor[0]++;
    cursor[1] = 0;
    if (cursor[2] >= pauseAt && cursor[0] < resultCount) return false;
  }
  return true;
}

/**
 * Writes the remaining rows of one result; returns false if they did not fit. Part of a result is written only into an
 * empty buffer.
 */
function writeResult(request: ResultsRequest, result: Uint32Array): boolean {
  const { paths, fragments, chunks, out, cursor } = request;
  const start = cursor[2];
  const hasRows = result[resultWords.rowTo] > result[resultWords.rowFrom];
  const tail = fragments.subarray(result[resultWords.tailFrom], result[resultWords.tailTo]);
  const json = new JsonWriter(out, start);
  if (start > 0) json.raw(comma);
  json.raw(hasRows ? contentHead : pathHead);
  json.string(paths, result[resultWords.pathFrom], result[resultWords.pathTo]);
  json.raw(quote);
  json.raw(fragments.subarray(result[resultWords.headFrom], result[resultWords.headTo]));
  if (!hasRows) {
    json.raw(tail);
    if (!json.isFull) cursor[2] = json.at;
    return !json.isFull;
  }
  json.raw(chunks ? chunkRowsHead : lineRowsHead);
  const closingBytes = closeArray.length + tail.length;
  if (json.isFull || out.length - json.at < closingBytes) return false;
  const rowFrom = result[resultWords.rowFrom] + cursor[1];
  const { at, row: next } = writeElements(request, result, rowFrom, json.at, out.length - closingBytes);
  const isWhole = next === result[resultWords.rowTo];
  if (!isWhole && (start > 0 || next === rowFrom)) return false;
  json.at = at;
  json.raw(closeArray);
  json.raw(tail);
  cursor[1] = next - result[resultWords.rowFrom];
  cursor[2] = json.at;
  return isWhole;
}

/** Writes the elements of the rows from `rowFrom` into `out[outFrom, outEnd)`, as far as they fit. */
function writeElements(
  {
    text,
    newlines,
    newlineStep,
    rows,
    chunks,
    contextLines,
    lineBytesMax,
    cutsAround = false,
    out,
    labels,
    labelCount,
  }: ResultsRequest,
  result: Uint32Array,
  rowFrom: number,
  outFrom: number,
  outEnd: number,
): ElementsEnd {
  const contentFrom = result[resultWords.contentFrom];
  const lineHint = text.subarray(contentFrom, rows[2 * rowFrom]).lastIndexOf(newline) + 1 + contentFrom;
  const step = Math.floor(lineHint / newlineStep);
  const newlinesBefore = newlines[step] + countNewlines(text, step * newlineStep, lineHint);
  const request: ElementsRequest = {
    text,
    contentFrom,
    contentTo: result[resultWords.contentTo],
    rows,
    rowBegin: result[resultWords.rowFrom],
    rowFrom,
    rowTo: result[resultWords.rowTo],
    lineHint,
    firstLine: newlinesBefore - result[resultWords.linesBefore],
    contextLines,
    lineBytesMax,
    cutsAround,
    out: out.subarray(0, outEnd),
    outFrom,
    labels,
    labelCount,
  };
  return chunks ? encodeChunkMatches(request) : encodeLineMatches(request);
}

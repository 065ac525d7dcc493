import { resultWordCount, resultWords } from "./kernel.js";
import { addMatch, digestKeyBytes, murmur, noPosition, type ResultDigest } from "./result-digest.js";

export function digestResults(
  paths: Uint8Array,
  fragments: Uint8Array,
  results: Uint32Array,
  resultCount: number,
  rows: Uint32Array,
  [fromResult, fromRow, toResult, toRow]: Uint32Array,
  sum: ResultDigest,
): void {
  for (let i = fromResult; i < resultCount && i <= toResult; i++) {
    if (i === toResult && toRow === 0) break;
    const result = results.subarray(i * resultWordCount, (i + 1) * resultWordCount);
    const head = result[resultWords.headFrom];
    const hash = murmur(
      fragments.subarray(head - digestKeyBytes, head),
      paths.subarray(result[resultWords.pathFrom], result[resultWords.pathTo]),
    );
    const first = result[resultWords.rowFrom];
    if (first === result[resultWords.rowTo]) addMatch(sum, hash, noPosition, noPosition);
    const from = first + (i === fromResult ? fromRow : 0);
    const to = i === toResult ? first + toRow : result[resultWords.rowTo];
    const start = result[resultWords.contentFrom];
    for (let row = from; row < to; row++) addMatch(sum, hash, rows[2 * row] - start, rows[2 * row + 1] - start);
  }
}

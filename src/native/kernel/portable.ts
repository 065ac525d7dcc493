import { type Kernel, resultWordCount, resultWords } from "./kernel.js";
import {
  buildPostings,
  decodePostings,
  distinctTrigrams,
  intersectPostings,
  contentsOfUnits,
  findLists,
  unitsOfLists,
} from "./portable-postings.js";
import { writeJson } from "./portable-json.js";
import { scanWindows, sortLabels, unitsOfPatterns } from "./portable-patterns.js";
import { encodeResults } from "./portable-results.js";
import { symbolsAtRows } from "./portable-symbols.js";
import { copySymbolNames, encodeSymbols, symbolKinds } from "./portable-symbols.js";
import { countNewlines, newlineTable, scan, scanAutomaton, scanLines } from "./portable-scan.js";
import {
  type CountRequest,
  type DocumentTable,
  fileKindBits,
  type ListRequest,
  repositoryWordCount,
} from "./document-table.js";
import { addMatch, digestKeyBytes, murmur, noPosition, type ResultDigest } from "./result-digest.js";

/** The kernel in plain TypeScript: the oracle for tests of the native kernel, and the fallback without a compiler. */
export const portableKernel: Kernel = {
  name: "ts",
  scan,
  scanLines,
  scanAutomaton,
  countNewlines,
  newlineTable,
  buildPostings,
  distinctTrigrams,
  decodePostings,
  intersectPostings,
  findLists,
  unitsOfLists,
  contentsOfUnits,
  visibleContents,
  listResults,
  countDocuments,
  encodeResults,
  digestResults,
  writeJson,
  copySymbolNames,
  symbolKinds,
  symbolsAtRows,
  encodeSymbols,
  scanWindows,
  unitsOfPatterns,
  sortLabels,
  openRanked: undefined,
  rankShards: undefined,
};

function visibleContents(
  table: DocumentTable,
  contents: Uint32Array,
  contentCount: number,
  out: Uint32Array,
  counts: Uint32Array,
): number {
  let kept = 0;
  let documentCount = 0;
  for (const content of contents.subarray(0, contentCount)) {
    const visible = visibleDocuments(table, content);
    documentCount += visible.length;
    if (visible.length > 0) out[kept++] = content;
  }
  counts[0] = documentCount;
  return kept;
}

function listResults(request: ListRequest): void {
  const { table, rows, rowCount, results, documents, totals } = request;
  let row = 0;
  let resultCount = 0;
  let matchCount = 0;
  let rowCountMax = 0;
  for (const content of request.contents.subarray(0, request.contentCount)) {
    if (content >= table.contentFirstLine.length) break;
    const rowFrom = row;
    while (row < rowCount && rows[2 * row] < table.contentStart[content + 1]) row++;
    if (row === rowFrom) continue;
    rowCountMax = Math.max(rowCountMax, row - rowFrom);
    for (const document of visibleDocuments(table, content)) {
      results.set(encodeResult(table, content, document, rowFrom, row), resultCount * resultWordCount);
      documents[resultCount++] = document;
      matchCount += row - rowFrom;
      countMatches(request, document, row - rowFrom);
    }
  }
  totals.set([resultCount, matchCount, rowCountMax]);
}

function visibleDocuments(table: DocumentTable, content: number): number[] {
  const visible: number[] = [];
  const end = table.contentFirstDocument[content + 1];
  for (let document = table.contentFirstDocument[content]; document < end; document++) {
    const isDead = ((table.tombstones[document >>> 5] >>> (document & 31)) & 1) === 1;
    const mask = table.repositories[repositoryWordCount * table.documentRepository[document]];
    if (!isDead && (table.documentBranches[document] & mask) !== 0) visible.push(document);
  }
  return visible;
}

function encodeResult(
  table: DocumentTable,
  content: number,
  document: number,
  rowFrom: number,
  rowTo: number,
): Uint32Array {
  const repository = repositoryWordCount * table.documentRepository[document];
  const language = table.documentInfo[document] >>> 16;
  const words = new Uint32Array(resultWordCount);
  words[resultWords.pathFrom] = table.pathStart[document];
  words[resultWords.pathTo] = table.pathStart[document + 1] - 1;
  words[resultWords.headFrom] = table.repositories[repository + 1];
  words[resultWords.headTo] = table.repositories[repository + 2];
  words[resultWords.tailFrom] = table.tailStarts[language];
  words[resultWords.tailTo] = table.tailStarts[language + 1];
  words[resultWords.contentFrom] = table.contentStart[content];
  words[resultWords.contentTo] = table.contentStart[content + 1];
  words[resultWords.linesBefore] = table.contentFirstLine[content];
  words[resultWords.rowFrom] = rowFrom;
  words[resultWords.rowTo] = rowTo;
  return words;
}

function countDocuments(request: CountRequest): boolean {
  const { found, leftOut, countMax, totals } = request;
  totals.fill(0);
  for (let at = 0; at < found.length; at += 2) {
    if (leftOut.includes(found[at])) continue;
    const rowCount = found[at + 1] % inPath;
    const count = Math.max(1, rowCount);
    if (totals[0] + count > countMax) return false;
    totals[0] += count;
    totals[1] += rowCount;
    totals[2] += Number(rowCount === 0 || found[at + 1] >= inPath);
    countMatches(request, found[at], count);
  }
  return true;
}

/** Set in the number of rows of a document with some in its path. */
const inPath = 0x8000_0000;

function countMatches(
  { table, counts }: Pick<CountRequest, "table" | "counts">,
  document: number,
  count: number,
): void {
  const info = table.documentInfo[document];
  const languages = table.repositories.length / repositoryWordCount;
  const kinds = languages + table.tailStarts.length - 1;
  counts[table.documentRepository[document]] += count;
  counts[languages + (info >>> 16)] += count;
  for (let i = 0; i < fileKindBits; i++) if ((info >>> (8 + i)) & 1) counts[kinds + i] += count;
}

function digestResults(
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

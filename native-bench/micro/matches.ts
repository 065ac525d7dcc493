import { resultWordCount, resultWords, type Kernel } from "../../src/native/kernel/kernel.js";
import { newlineStepBytes } from "../../src/shard/format.js";
import type { ShardReader } from "../../src/shard/shard-reader.js";
import { scanAll } from "./scan.js";

/** The matches of a word in the shard's contents, ready to be written: one result for each content. */
export interface FoundMatches {
  readonly reader: ShardReader;
  readonly rows: Uint32Array;
  /** `resultWordCount` words for each. */
  readonly results: Uint32Array;
  readonly resultCount: number;
}

/** How matches are written. */
export interface MatchForm {
  readonly chunks: boolean;
  readonly contextLines: number;
}

/** The size of a search's buffer, and of the batches that an exhaustive search sends. */
export const bufferBytes = 256 * 1024;
const batchBytes = 128 * 1024;
const lineBytesMax = 4096;

/** What every match object has beside path and matches. */
const head =
  ',"repositoryID":1,"repository":"bench","branches":["HEAD"],"commit":"0123456789abcdef0123456789abcdef01234567"';
const fragments = Buffer.from(`${head},"language":"C"}`);

export function findMatches(kernel: Kernel, reader: ShardReader, needle: string): FoundMatches {
  const rows = scanAll(kernel, reader.content.subarray(0, reader.contentBytes), Buffer.from(needle));
  const words: number[] = [];
  for (let content = 0, row = 0; content < reader.contentCount; content++) {
    const rowFrom = row;
    while (2 * row < rows.length && rows[2 * row] < reader.contentStart[content + 1]) row++;
    if (row > rowFrom) words.push(...makeResult(reader, content, rowFrom, row));
  }
  return { reader, rows, results: Uint32Array.from(words), resultCount: words.length / resultWordCount };
}

function makeResult(reader: ShardReader, content: number, rowFrom: number, rowTo: number): Uint32Array {
  const words = new Uint32Array(resultWordCount);
  const document = reader.contentFirstDocument[content];
  words[resultWords.pathFrom] = reader.pathStart[document];
  words[resultWords.pathTo] = reader.pathStart[document + 1] - 1;
  words[resultWords.headTo] = head.length;
  words[resultWords.tailFrom] = head.length;
  words[resultWords.tailTo] = fragments.length;
  words[resultWords.contentFrom] = reader.contentStart[content];
  words[resultWords.contentTo] = reader.contentStart[content + 1];
  words[resultWords.linesBefore] = reader.contentFirstLine[content];
  words[resultWords.rowFrom] = rowFrom;
  words[resultWords.rowTo] = rowTo;
  return words;
}

/** Writes all matches batch by batch into `out`. A line that is longer than the buffer is left out. */
export function* writtenBatches(kernel: Kernel, found: FoundMatches, form: MatchForm, out: Buffer): Generator<Buffer> {
  const { reader, rows, results, resultCount } = found;
  const cursor = new Uint32Array(3);
  for (let isDone = false; !isDone; ) {
    const [result, rowsDone] = cursor;
    cursor[2] = 0;
    isDone = kernel.encodeResults({
      text: reader.content,
      paths: reader.paths,
      newlines: reader.newlines,
      newlineStep: newlineStepBytes,
      fragments,
      results,
      resultCount,
      rows,
      chunks: form.chunks,
      contextLines: form.contextLines,
      lineBytesMax,
      out,
      pauseAt: batchBytes,
      cursor,
    });
    const isStuck = !isDone && cursor[2] === 0 && cursor[0] === result && cursor[1] === rowsDone;
    if (isStuck) cursor.set([result + 1, 0]);
    if (cursor[2] > 0) yield out.subarray(0, cursor[2]);
  }
}

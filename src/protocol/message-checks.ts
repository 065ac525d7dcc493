/**
 * What holds for the messages of a search, checked by the thread that sends one and by the thread that gets it, so that
 * a wrong one names the side whose code is.
 */
import { assert } from "../base/assert.js";
import type { RankedPart, SearchTask, SearchTaskResult } from "./messages.js";
import type { RankedDocument, ShardWork } from "./rank-messages.js";
import type { ResultBatch } from "./result-batch.js";

const openBrace = 0x7b;
const closeBrace = 0x7d;

/** Whether the results of a task are written in a given order; see `RankedPart.only`. */
export function isOrdered(ranked: RankedPart | undefined): boolean {
  return ranked?.only !== undefined;
}

type CheckedWork = Pick<ShardWork, "rows" | "cached"> & Pick<SearchTask, "ranked">;

/** Work before it is posted. `tableCount` is the number of rows of its table; rows from there on are those of the cache. */
export function checkWork(work: CheckedWork, tableCount: number): void {
  for (let index = 0; index < work.rows.length; index++) checkRow(work, index, tableCount);
  const { only, scores } = work.ranked ?? {};
  assert(only === undefined || only.length === work.rows.length, "each row of ranked work has its document");
  assert(scores === undefined || scores.length === only?.length, "each ranked document has its score");
}

/** One of its rows, when the thread that got it takes it. */
export function checkRow({ rows, cached, ranked }: CheckedWork, index: number, tableCount: number): void {
  assert(rows[index] < tableCount + cached.length, "a row is one of the table or of the cache");
  assert(isOrdered(ranked) || index === 0 || rows[index] > rows[index - 1], "rows ascend, unless they are ranked");
}

export function checkSearchResult({ resume, batchCount, lastBatch }: SearchTaskResult, task: SearchTask): void {
  assert(batchCount >= 0, "a slice counts the batches that it has posted");
  if (lastBatch !== undefined) checkBatch(lastBatch);
  if (resume === undefined) return;
  assert(resume.shard < task.rows.length, "a slice that is to resume has a row left");
  assert(resume.shard >= (task.resume?.shard ?? 0), "a slice does not go back");
}

export function checkBatch({ bytes, selected }: ResultBatch): void {
  assert(
    bytes.length === 0 || (bytes[0] === openBrace && bytes[bytes.length - 1] === closeBrace),
    "a batch has whole match objects",
  );
  for (const { repositoryId, kind, json } of selected)
    assert(repositoryId >= 0 && (kind === "repository") === (json === ""), "a selected result is named or written");
}

/** A document of the work's rows that was ranked. */
export function checkRanked({ shard, document, repository }: RankedDocument, { rows }: Pick<ShardWork, "rows">): void {
  assert(shard < rows.length, "a ranked document is in a row of the work");
  assert(document >= 0 && repository !== "", "a ranked document has a number and a repository");
}

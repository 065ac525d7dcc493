import { type SerializedError, serializeError, TrawlError } from "../../base/errors.js";
import { CommitWriter } from "../../eval/history/commit-match.js";
import { type FoundResult, MergedHistorySearch } from "../../eval/history/merged-search.js";
import { HistoryReader } from "../../history/history-reader.js";
import { CommitPageWriter } from "../../protocol/commit-page.js";
import type {
  ContributorsResult,
  ContributorsTask,
  CoverResult,
  CoverTask,
  HistoryPosition,
  HistoryTask,
  HistoryTaskResult,
  VisibleHistory,
} from "../../protocol/history-messages.js";
import { ControlBlock, CostMeter, StopCheck } from "../../protocol/control-block.js";
import type { ShardSnapshot } from "../../store/shard-store.js";
import { isCancelled, isOverdue, type SearchThread } from "./search-thread.js";
import { hasBit } from "../../base/bits.js";
import { CommitCover } from "../../history/commit-cover.js";
import { commitFlags, entryFlags, entryPathShift } from "../../history/format.js";
import { encodePathMasks, PathMasks } from "../../protocol/people-table.js";
import { authoredPathsMax, AuthorMasks } from "../read/author-masks.js";

/** The id of shards that are not stored. */
const unstoredId = 0;

/** Searches one history shard, after the results that are known already. */
export function searchHistory(thread: SearchThread, snapshot: ShardSnapshot, task: HistoryTask): HistoryTaskResult {
  const startedMs = performance.now();
  const page = new CommitPageWriter();
  const form = { diffType: task.diffType, nowMs: task.nowMs };
  const writer = new CommitWriter(thread.kernel, task.repository, form);
  const meter = new CostMeter(new ControlBlock(task.control));
  const result = (next: HistoryPosition | undefined, error?: unknown): HistoryTaskResult => {
    meter.record(0);
    return {
      results: page.page(Uint8Array.from(writer.bytes)),
      next,
      error: error === undefined ? undefined : serializeError(error),
    };
  };
  try {
    const { faultCount } = thread.shards;
    const stored = task.shard instanceof Uint8Array ? undefined : task.shard;
    const reader =
      task.shard instanceof Uint8Array
        ? new HistoryReader(unstoredId, task.shard)
        : thread.histories.open(snapshot, task.shard, ["index", "text"], thread.shards);
    const target = {
      reader,
      kernel: thread.kernel,
      visible: stored?.visible,
      useIndex: task.useIndex,
      stop: new StopCheck(new ControlBlock(task.control)),
    };
    const search = new MergedHistorySearch(task.plans, target, task.from);
    let matchCount = 0;
    for (let one = search.next(); one !== undefined; one = search.next()) {
      if (stored !== undefined) thread.shards.requireNoFault(faultCount, stored.id);
      addResult(one, writer, page);
      matchCount += one.matchCount;
      if (writer.byteCount > task.jsonBytesMax || matchCount > task.matchCountMax) return result(one.next);
      if (isOverdue(thread, startedMs, task.lane)) return result(one.next);
    }
    return result(undefined);
  } catch (error) {
    if (isCancelled(error) || new ControlBlock(task.control).isStopped) return result(undefined);
    if (error instanceof TrawlError) return result(undefined, error);
    throw error;
  }
}

function addResult({ result, matchCount, matches }: FoundResult, writer: CommitWriter, page: CommitPageWriter): void {
  writer.write(result);
  const { kind, oid, author, committer, ranges } = result;
  const { name: authorName, email: authorEmail } = author;
  const columns = { kind, oid, committed: committer.unixSeconds, matchCount, matches, authorName, authorEmail };
  page.add({ ...columns, rangeCount: ranges.length }, writer.byteCount);
}

/** Finds the commits of a list in history shards. A shard that cannot be read is reported, and has none of them. */
export function coverHistory(thread: SearchThread, snapshot: ShardSnapshot, task: CoverTask): CoverResult {
  const control = new ControlBlock(task.control);
  const cover = new CommitCover(task.list);
  const shards: VisibleHistory[] = [];
  const failures: { shardId: number; error: SerializedError }[] = [];
  let brokenCount = 0;
  let largeFileCount = 0;
  let cutMessageCount = 0;
  // The newest first: it has the most recent commits, and what older ones have as well is found in it.
  for (const stored of task.shards.toReversed()) {
    if (control.isStopped) break;
    try {
      const { faultCount } = thread.shards;
      const reader = thread.histories.open(snapshot, stored, ["index"], thread.shards);
      const visible = cover.add(reader);
      const found = describeVisible(reader, visible);
      thread.shards.requireNoFault(faultCount, stored.id);
      if (found.newest < found.oldest) continue;
      shards.push({ ...stored, visible, oldest: found.oldest, newest: found.newest });
      brokenCount += found.brokenCount;
      largeFileCount += found.largeFileCount;
      cutMessageCount += found.cutMessageCount;
    } catch (error) {
      failures.push({ shardId: stored.id, error: serializeError(error) });
    }
  }
  return { shards, missing: cover.missing(), brokenCount, largeFileCount, cutMessageCount, failures };
}

/** The dates of the visible commits, and what is missing of them. */
function describeVisible(reader: HistoryReader, visible: Uint32Array) {
  let [oldest, newest] = [Infinity, -Infinity];
  let brokenCount = 0;
  let largeFileCount = 0;
  let cutMessageCount = 0;
  for (let commit = 0; commit < reader.commitCount; commit++) {
    if (!hasBit(visible, commit)) continue;
    oldest = Math.min(oldest, reader.committerDates[commit]);
    newest = Math.max(newest, reader.committerDates[commit]);
    if ((reader.commitFlags[commit] & commitFlags.incomplete) !== 0) brokenCount++;
    if ((reader.commitFlags[commit] & commitFlags.messageCut) !== 0) cutMessageCount++;
    for (let entry = reader.commitFirstEntry[commit]; entry < reader.commitFirstEntry[commit + 1]; entry++)
      if ((reader.entryInfo[entry] & entryFlags.tooLarge) !== 0) largeFileCount++;
  }
  return { oldest, newest, brokenCount, largeFileCount, cutMessageCount };
}

/** Finds who changed which paths. Ends after a shard if others wait, or if the search was stopped. */
export function findContributors(
  thread: SearchThread,
  snapshot: ShardSnapshot,
  { shards, from, known, filters, control }: ContributorsTask,
): ContributorsResult {
  const startedMs = performance.now();
  const stop = new StopCheck(new ControlBlock(control));
  const authors = new AuthorMasks(filters);
  const masks = known === undefined ? new Map<string, number>() : new PathMasks(known).decode();
  try {
    for (let at = from; at < shards.length; at++) {
      if (at > from && isOverdue(thread, startedMs, "exhaustive"))
        return { bytes: encodePathMasks(masks), next: at, error: undefined };
      addShard(thread, snapshot, shards[at], authors, masks, stop);
    }
    return { bytes: encodePathMasks(masks), next: undefined, error: undefined };
  } catch (error) {
    if (error instanceof TrawlError) return { bytes: undefined, next: undefined, error: serializeError(error) };
    throw error;
  }
}

function addShard(
  thread: SearchThread,
  snapshot: ShardSnapshot,
  stored: VisibleHistory,
  authors: AuthorMasks,
  masks: Map<string, number>,
  stop: StopCheck,
): void {
  const { faultCount } = thread.shards;
  const reader = thread.histories.open(snapshot, stored, ["index"], thread.shards);
  const found = pathMasks(reader, stored.visible, authors, stop);
  thread.shards.requireNoFault(faultCount, stored.id);
  for (let path = 0; path < found.length; path++) {
    if (found[path] === 0) continue;
    const text = reader.paths.path(path).toString("latin1");
    masks.set(text, (masks.get(text) ?? 0) | found[path]);
    if (masks.size > authoredPathsMax)
      throw new TrawlError("git", `its history names more than ${authoredPathsMax} paths`);
  }
  thread.shards.requireNoFault(faultCount, stored.id);
}

/** By path number of the shard, the filters that an author of the path matches. */
function pathMasks(reader: HistoryReader, visible: Uint32Array, authors: AuthorMasks, stop: StopCheck): Int32Array {
  const found = new Int32Array(reader.paths.documentCount);
  const { commitFirstEntry, entryInfo } = reader;
  for (let commit = 0; commit < reader.commitCount; commit++) {
    stop.check();
    if (!hasBit(visible, commit) || commitFirstEntry[commit] === commitFirstEntry[commit + 1]) continue;
    const { name, email } = reader.person(reader.authors[commit]);
    const mask = authors.mask(name.toString(), email.toString());
    if (mask === 0) continue;
    for (let entry = commitFirstEntry[commit]; entry < commitFirstEntry[commit + 1]; entry++)
      found[entryInfo[entry] >>> entryPathShift] |= mask;
  }
  return found;
}

import { hasBit } from "../../base/bits.js";
import { serializeError, TrawlError } from "../../base/errors.js";
import { entryPathShift } from "../../history/format.js";
import type { HistoryReader } from "../../history/history-reader.js";
import { ControlBlock } from "../../protocol/control-block.js";
import type { ContributorsResult, ContributorsTask, VisibleHistory } from "../../protocol/history-messages.js";
import { encodePathMasks, PathMasks } from "../../protocol/path-masks.js";
import { StopCheck } from "../../protocol/stop-check.js";
import type { ShardSnapshot } from "../../store/shard-store.js";
import { AuthorMasks, authoredPathsMax } from "../read/author-masks.js";
import { isOverdue, type SearchThread } from "./search-thread.js";

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

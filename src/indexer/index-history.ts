import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { hasBit } from "../base/bits.js";
import { uninitializedBytes } from "../base/bytes.js";
import { TrawlError } from "../base/errors.js";
import { listCommits, listedOids, type CommitList, LargeBlobs } from "../git/history/commit-list.js";
import { readPatches, usualPatchLimits } from "../git/history/patches.js";
import { FileLanguages } from "./file-languages.js";
import type { StopSignal } from "../git/run/run.js";
import { commitFlags } from "../history/format.js";
import { CommitCover } from "../history/commit-cover.js";
import { HistoryBuilder } from "../history/history-builder.js";
import { HistoryReader } from "../history/history-reader.js";
import type { HistoryScope } from "../model/history-record.js";
import type { Kernel } from "../native/kernel/kernel.js";
import type { HistoryCounts, HistoryWork } from "../protocol/ingest-messages.js";
import type { ShardSnapshot } from "../store/shard-store.js";

/** A history shard is closed when its text reaches this size. */
const historyTextBytes = 64 << 20;

/** Commits of one history shard, which bounds the memory for their oids. Linux has 1.4 million. */
const shardCommitsMax = 200_000;

export interface HistoryInput extends HistoryWork {
  readonly directory: string;
  readonly kernel: Kernel;
  readonly stop: StopSignal;
  /** Called for each commit. It may block the thread. */
  readonly onCommit: () => void;
  /** Called before a shard with this much text is built, which blocks the thread. */
  readonly onBuild: (textBytes: number) => void;
}

export interface IndexedHistory extends HistoryCounts {
  /** Undefined if all commits are indexed that are wanted, or none of the others can be read. */
  readonly shard:
    | { readonly bytes: Buffer; readonly textBytes: number; readonly commitCount: number; readonly newest: number }
    | undefined;
}

/**
 * Builds the next history shard of a repository: of commits that are in none yet, the newest first. Commits whose parents
 * a shallow mirror lacks are left to searches: git takes them for roots, until a fetch brings their parents.
 *
 * Throws `git` if the mirror is damaged, `cancelled` if stopped, `corrupt-shard` if a kept shard is damaged.
 */
export async function indexHistory(input: HistoryInput, snapshot: () => ShardSnapshot): Promise<IndexedHistory> {
  const { list, isWhole } = await listNew(input);
  const wanted = firstCommits(list, countWanted(list, input.scope));
  const boundary = await readShallow(input.directory);
  const found = findMissing(wanted, input, snapshot);
  const missing = boundary.size === 0 ? found.missing : found.missing.filter((at) => !boundary.has(oidAt(wanted, at)));
  const { shard, doneCount, brokenCount } = await buildShard(wanted, missing, input);
  return {
    shard,
    isWhole,
    isShallow: boundary.size > 0,
    reachableCount: list.count,
    indexedCount: wanted.count - found.missing.length + (shard?.commitCount ?? 0),
    leftCount: missing.length - doneCount,
    brokenCount: brokenCount + found.brokenCount,
    unusedIds: isWhole ? found.unusedIds : [],
  };
}

async function buildShard(list: CommitList, missing: Uint32Array, input: HistoryInput) {
  const { directory, kernel, older, stop } = input;
  const builder = new HistoryBuilder(kernel, list.oidBytes);
  const commits = Array.from(missing.subarray(0, shardCommitsMax), (at) => oidAt(list, at));
  let doneCount = 0;
  let brokenCount = 0;
  const isWanted = (): boolean => {
    if (doneCount === commits.length) return false;
    const isOlder = list.dates[missing[doneCount]] <= older.since;
    return builder.textBytes < (isOlder ? Math.min(older.textBytesMax, historyTextBytes) : historyTextBytes);
  };
  const largeBlobs = new LargeBlobs();
  const languages = new FileLanguages();
  if (isWanted()) {
    await readPatches(
      { directory, commits, limits: usualPatchLimits, stop },
      {
        commit: (commit) => builder.addCommit(commit),
        file: (file) => {
          largeBlobs.add(file, builder.fileCount);
          languages.add(file, builder);
        },
        endCommit: (isComplete) => {
          input.onCommit();
          doneCount++;
          if (!isComplete) brokenCount++;
          builder.endCommit(isComplete);
          return isWanted();
        },
        missing: () => {
          doneCount++;
          brokenCount++;
        },
      },
    );
  }
  builder.markTooLarge(await largeBlobs.find(directory, stop));
  await languages.find(directory, builder, stop);
  const { commitCount, textBytes, newest } = builder;
  if (commitCount === 0) return { shard: undefined, doneCount, brokenCount };
  input.onBuild(textBytes);
  const bytes = builder.build("with-postings", uninitializedBytes);
  return { shard: { bytes, textBytes, commitCount, newest }, doneCount, brokenCount };
}

/** Lists the new commits, or all if some that were indexed are no longer reachable, or gone from the mirror. */
async function listNew({
  directory,
  tips,
  doneTips,
  stop,
}: HistoryInput): Promise<{ list: CommitList; isWhole: boolean }> {
  if (doneTips !== undefined) {
    try {
      const [list, gone] = await Promise.all([
        listCommits(directory, tips, doneTips, stop),
        listCommits(directory, doneTips, tips, stop),
      ]);
      if (gone.count === 0) return { list, isWhole: false };
    } catch (error) {
      if (!(error instanceof TrawlError) || error.code !== "git") throw error;
    }
  }
  return { list: await listCommits(directory, tips, [], stop), isWhole: true };
}

/** Oids of the commits whose parents the mirror lacks. */
async function readShallow(directory: string): Promise<ReadonlySet<string>> {
  const text = await readFile(join(directory, "shallow"), "latin1").catch(() => "");
  return new Set(text.split("\n").filter((line) => line !== ""));
}

function oidAt(list: CommitList, at: number): string {
  return listedOids(list, at, at + 1)[0];
}

/** The wanted commits are the first ones, because the list descends by committer date. */
function countWanted({ count, dates }: CommitList, { commitCountMax, since }: HistoryScope): number {
  let wanted = Math.min(count, commitCountMax);
  while (wanted > 0 && dates[wanted - 1] < since) wanted--;
  return wanted;
}

function firstCommits({ oidBytes, oids, dates }: CommitList, count: number): CommitList {
  return { count, oidBytes, oids: oids.subarray(0, count * oidBytes), dates: dates.subarray(0, count) };
}

/** Indexes in the list of the commits that no kept shard has, and the kept shards that have none of the list. */
function findMissing(
  list: CommitList,
  { kept, stop }: HistoryInput,
  snapshot: () => ShardSnapshot,
): { missing: Uint32Array; brokenCount: number; unusedIds: number[] } {
  const cover = new CommitCover(list);
  const unusedIds: number[] = [];
  let brokenCount = 0;
  if (list.count === 0) return { missing: cover.missing(), brokenCount, unusedIds: kept.map(({ id }) => id) };
  // The newest shard first, as in searches: what an older one has as well is not used there.
  for (const { id, checksum } of kept.toReversed()) {
    if (stop()) throw new TrawlError("cancelled", "the indexing of history was stopped");
    const opened = snapshot();
    try {
      const bytes = opened.get(id);
      if (bytes === undefined) throw new TrawlError("corrupt-shard", `history shard ${id} is missing from the store`);
      const reader = new HistoryReader(id, bytes);
      reader.requireChecksum(checksum);
      reader.verify("index");
      const visible = cover.add(reader);
      if (visible.every((word) => word === 0)) unusedIds.push(id);
      brokenCount += reader.commitFlags.reduce((sum, flags, commit) => sum + isBroken(flags, visible, commit), 0);
    } finally {
      opened.close();
    }
  }
  return { missing: cover.missing(), brokenCount, unusedIds };
}

function isBroken(flags: number, visible: Uint32Array, commit: number): number {
  return (flags & commitFlags.incomplete) !== 0 && hasBit(visible, commit) ? 1 : 0;
}

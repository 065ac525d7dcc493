import { uninitializedBytes } from "../base/bytes.js";
import { TrawlError } from "../base/errors.js";
import { listCommits, listedOids, type CommitList } from "../git/history/commit-list.js";
import { readPatches, usualPatchLimits } from "../git/history/patches.js";
import type { StopSignal } from "../git/run/run.js";
import { CommitCover } from "../history/commit-cover.js";
import { HistoryBuilder } from "../history/history-builder.js";
import { HistoryReader } from "../history/history-reader.js";
import type { Kernel } from "../native/kernel/kernel.js";
import { ShardStore, type ShardSnapshot } from "../store/shard-store.js";
import type { StoredShard } from "../model/shard-record.js";

/** A history shard is closed when its text reaches this size. */
const shardTextBytes = 64 << 20;

/** Commits of one history shard, which bounds the memory for their oids. Linux has 1.4 million. */
const shardCommitsMax = 200_000;

export interface HistoryInput {
  readonly directory: string;
  /** Oids of the commits whose history is indexed. */
  readonly tips: readonly string[];
  /** Oids of commits whose history is indexed already; undefined if that is not known. */
  readonly doneTips: readonly string[] | undefined;
  /** The history shards of the repository whose commits remain. */
  readonly kept: readonly StoredShard[];
  readonly kernel: Kernel;
  readonly stop: StopSignal;
  /** Called for each commit. */
  readonly onCommit: () => void;
  /** Called before a shard with this much text is built, which blocks the thread. */
  readonly onBuild: (textBytes: number) => void;
}

export interface IndexedHistory {
  /** Undefined if all commits are indexed already, or none of the others can be read. */
  readonly shard: { readonly bytes: Buffer; readonly textBytes: number; readonly commitCount: number } | undefined;
  /** Commits that `tips` reach and `doneTips` do not. */
  readonly listedCount: number;
  /** Commits that are still to be indexed. */
  readonly leftCount: number;
  readonly brokenCount: number;
}

/**
 * Builds the next history shard of a repository: of commits that are in none yet, the newest first. Throws `git` if the
 * mirror is damaged, `cancelled` if stopped, `corrupt-shard` if a kept shard is damaged.
 */
export async function indexHistory(input: HistoryInput, snapshot: () => ShardSnapshot): Promise<IndexedHistory> {
  const list = await listNew(input);
  const missing = findMissing(list, input, snapshot);
  if (missing.length === 0) return { shard: undefined, listedCount: list.count, leftCount: 0, brokenCount: 0 };
  const builder = new HistoryBuilder(input.kernel, list.oidBytes);
  const commits = Array.from(missing.subarray(0, shardCommitsMax), (at) => listedOids(list, at, at + 1)[0]);
  let brokenCount = 0;
  const done = await readPatches(
    { directory: input.directory, commits, limits: usualPatchLimits, stop: input.stop },
    {
      commit: (commit) => builder.addCommit(commit),
      file: (file) => builder.addFile(file),
      endCommit: (isComplete) => {
        input.onCommit();
        if (!isComplete) brokenCount++;
        builder.endCommit(isComplete);
        return builder.textBytes < shardTextBytes;
      },
      missing: () => brokenCount++,
    },
  );
  const { commitCount, textBytes } = builder;
  if (commitCount > 0) input.onBuild(textBytes);
  const shard =
    commitCount === 0
      ? undefined
      : {
          bytes: builder.build("with-postings", (byteCount) => uninitializedBytes(ShardStore.storedBytes(byteCount))),
          textBytes,
          commitCount,
        };
  return { shard, listedCount: list.count, leftCount: missing.length - done, brokenCount };
}

/** If the history was rewritten, the mirror may lack commits that were indexed: then all commits are listed. */
async function listNew({ directory, tips, doneTips, stop }: HistoryInput): Promise<CommitList> {
  if (doneTips !== undefined) {
    try {
      return await listCommits(directory, tips, doneTips, stop);
    } catch (error) {
      if (!(error instanceof TrawlError) || error.code !== "git") throw error;
    }
  }
  return await listCommits(directory, tips, [], stop);
}

/** Indexes in the list of the commits that no kept shard has. */
function findMissing(list: CommitList, { kept, stop }: HistoryInput, snapshot: () => ShardSnapshot): Uint32Array {
  const cover = new CommitCover(list);
  for (const { id, checksum } of kept) {
    if (stop()) throw new TrawlError("cancelled", "the indexing of history was stopped");
    const opened = snapshot();
    try {
      const bytes = opened.get(id);
      if (bytes === undefined) throw new TrawlError("corrupt-shard", `history shard ${id} is missing from the store`);
      const reader = new HistoryReader(id, bytes);
      reader.requireChecksum(checksum);
      reader.verify("index");
      cover.add(reader);
    } finally {
      opened.close();
    }
  }
  return cover.missing();
}

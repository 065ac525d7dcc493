import { assert } from "../../base/assert.js";
import { serializeError, TrawlError } from "../../base/errors.js";
import type { ShardFailure } from "../../protocol/messages.js";
import type {
  BackupTask,
  BackupTaskResult,
  CheckTask,
  CheckTaskResult,
  CompactTask,
  CompactTaskResult,
  MaintainTask,
} from "../../protocol/ingest-messages.js";
import { ShardReader } from "../../shard/shard-reader.js";
import { SymbolReader } from "../../shard/symbols/symbol-reader.js";
import { type IngestThread, stepAllowanceMs, timeAllowance, withOutput } from "./ingest-thread.js";
import { join } from "node:path";
import { ContentFiles } from "../../backup/content-files.js";
import { copyMirror, copyShard, deleteUnneeded } from "../../backup/copy.js";
import type { BackupFile } from "../../backup/manifest.js";
import { stopWhenSet } from "../../base/stop-signal.js";
import { compact } from "../../indexer/compact.js";
import type { TaskActivity } from "../../protocol/task-activity.js";
import { HistoryReader } from "../../history/history-reader.js";
import type { StoredShard } from "../../model/shard-record.js";
import { openMirror } from "./mirror-fetch.js";

/** Verifies stored shards. */
export async function runCheck({ store, activity }: IngestThread, task: CheckTask): Promise<CheckTaskResult> {
  const failures: ShardFailure[] = [];
  const lostSymbols: number[] = [];
  for (const { id: shardId, checksum, symbols } of task.shards) {
    if (Atomics.load(task.stop, 0) !== 0) throw new TrawlError("cancelled", "the check was stopped");
    const snapshot = store.read();
    try {
      const value = symbols === undefined ? undefined : snapshot.symbols(shardId);
      const bytes = snapshot.get(shardId);
      if (bytes === undefined) throw new TrawlError("corrupt-shard", `shard ${shardId} is missing from the store`);
      activity.allow(stepAllowanceMs + timeAllowance(bytes.length));
      const reader = verifyStored({ id: shardId, checksum }, task.isHistory, bytes, task.part);
      if (symbols !== undefined && reader instanceof ShardReader && !areSymbols(value, reader, symbols, task.part))
        lostSymbols.push(shardId);
    } catch (error) {
      failures.push({ shardId, error: serializeError(error) });
    } finally {
      snapshot.close();
    }
  }
  return { failures, lostSymbols };
}

/** Whether the symbols of a shard are those of the catalog. Everything in them is read if `part` is "whole". */
function areSymbols(value: Buffer | undefined, shard: ShardReader, checksum: number, part: CheckTask["part"]): boolean {
  if (value === undefined) return false;
  try {
    const symbols = new SymbolReader(shard, value);
    if (part === "whole") symbols.verify();
    return symbols.checksum === checksum;
  } catch (error) {
    if (!(error instanceof TrawlError)) throw error;
    return false;
  }
}

/** Copies one part of a backup. */
export async function runBackup(thread: IngestThread, task: BackupTask): Promise<BackupTaskResult> {
  thread.activity.enter("copying", 0, "", stepAllowanceMs);
  const files = new ContentFiles(task.target);
  return { file: await copyPart(thread, task, files), copiedBytes: files.copiedBytes };
}

async function copyPart(
  { store, dataFolder }: IngestThread,
  { part, stop }: BackupTask,
  files: ContentFiles,
): Promise<BackupFile | undefined> {
  switch (part.kind) {
    case "file":
      return files.addFile(part.path, part.source, stopWhenSet(stop));
    case "shard":
      return copyShard(store, part.shard, files, (bytes) => verifyStored(part.shard, part.isHistory, bytes, "whole"));
    case "mirror":
      return copyMirror(join(dataFolder, part.path), part.path, part.earlier, files, stopWhenSet(stop));
    case "clean":
      return void (await deleteUnneeded(part.entries, files));
  }
}

/** Merges shards. */
export function runCompact(thread: IngestThread, task: CompactTask): Promise<CompactTaskResult> {
  const { store, activity } = thread;
  const groups = task.groups.flat();
  const ids = new Set(groups);
  assert(task.shards.length > 0 && ids.size === groups.length, "a merge has shards, and each repository in one group");
  for (const { repositoryIds } of task.shards)
    assert(
      repositoryIds.every((id) => id === 0 || ids.has(id)),
      "a merge has a group for each repository that is not hidden",
    );
  activity.enter("merging", 0, "", stepAllowanceMs);
  return withOutput(thread, task.shardIds, async (output) => {
    const snapshot = store.read();
    try {
      await compact(task.shards, task.groups, snapshot, output, beatingStop(activity, task.stop));
    } finally {
      snapshot.close();
    }
    return { shards: output.records };
  });
}

/** For work that checks it at each step, and does not wait in between. */
function beatingStop(activity: TaskActivity, stop: Int32Array): () => boolean {
  return () => {
    activity.beat();
    return Atomics.load(stop, 0) !== 0;
  };
}

/** The reader of the bytes. Throws `corrupt-shard` or `format-version` unless the bytes are those of the shard to which the catalog refers. */
export function verifyStored(
  { id, checksum }: StoredShard,
  isHistory: boolean,
  bytes: Buffer,
  part: CheckTask["part"],
): ShardReader | HistoryReader {
  const reader = isHistory ? new HistoryReader(id, bytes) : new ShardReader(id, bytes);
  reader.requireChecksum(checksum);
  if (part === "headers") return reader;
  reader.verify("index");
  if (reader instanceof HistoryReader) reader.verify("text");
  else reader.verify("content");
  return reader;
}

/** Repacks a mirror. */
export async function runMaintain(dataFolder: string, task: MaintainTask): Promise<void> {
  const mirror = await openMirror(dataFolder, task.repository, task.fetch, []);
  await mirror.maintain(stopWhenSet(task.stop));
}

import { join } from "node:path";
import { ContentFiles } from "../../backup/content-files.js";
import { copyMirror, copyShard, deleteUnneeded } from "../../backup/copy.js";
import type { BackupFile } from "../../backup/manifest.js";
import { stopWhenSet } from "../../base/stop-signal.js";
import type { BackupTask, BackupTaskResult } from "../../protocol/ingest-messages.js";
import { stepAllowanceMs } from "./allowances.js";
import type { IngestThread } from "./ingest-thread.js";
import { verifyStored } from "./verify-stored.js";

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

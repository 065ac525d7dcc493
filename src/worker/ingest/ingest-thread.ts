import { join } from "node:path";
import { ShardOutput, type ShardSink } from "../../indexer/shard-output.js";
import type { Kernel } from "../../native/kernel/kernel.js";
import { loadKernel } from "../../native/kernel/load.js";
import type { WorkerSettings } from "../../protocol/messages.js";
import type { ObjectKind } from "../../objects/object-store.js";
import type { ObjectSettings } from "../../objects/open-objects.js";
import { TaskActivity } from "../../protocol/task-activity.js";
import { ShardStore } from "../../store/shard-store.js";

/** State and services for the tasks of one ingest thread. */
export class IngestThread {
  readonly dataFolder: string;
  readonly kernel: Kernel;
  readonly store: ShardStore;
  /** The store; this thread is not terminated while it writes to it. */
  readonly guardedStore: ShardSink & Pick<ShardStore, "putSymbols" | "remove">;
  /** The activity of the running task. */
  activity = new TaskActivity();
  /** Word 0 stops it. */
  stop: Int32Array = new Int32Array(1);

  constructor(settings: WorkerSettings) {
    const { objects } = settings;
    this.dataFolder = settings.dataFolder;
    this.kernel = loadKernel(settings.kernel);
    this.store = new ShardStore(join(settings.dataFolder, "shards"));
    this.guardedStore = {
      onBuild: (contentBytes) => this.activity.allow(stepAllowanceMs + timeAllowance(contentBytes)),
      put: (shards) => {
        for (const { id } of shards) this.activity.recordShard(id);
        return this.#writing(() => this.store.put(shards));
      },
      share: objects && ((kind, bytes) => this.#share(objects, kind, bytes)),
      putSymbols: (symbols) => this.#writing(() => this.store.putSymbols(symbols)),
      remove: (ids) => this.#writing(() => this.store.remove(ids)),
    };
  }

  /** A single host does not load what it needs. */
  async #share(objects: ObjectSettings, kind: ObjectKind, bytes: Buffer): Promise<string> {
    const { storeObject } = await import("./shared-objects.js");
    return (await storeObject(objects, kind, bytes, this.stop)).hash;
  }

  async #writing(write: () => Promise<void>): Promise<void> {
    this.activity.beginWrite();
    try {
      await write();
    } finally {
      this.activity.endWrite();
    }
  }
}

/**
 * How long the thread may run without a beat: before its first file and between other steps, and for a file, where each
 * MiB of text adds time. A file of 1 MiB takes at most 0.05 s, a shard of 64 MiB 3 s; the rest allows for other load on
 * the machine.
 */
export const stepAllowanceMs = 60_000;
const fileAllowanceMs = 8_000;
const mebibyteAllowanceMs = 250;

export function timeAllowance(byteCount: number): number {
  return fileAllowanceMs + Math.ceil(byteCount / 2 ** 20) * mebibyteAllowanceMs;
}

/** If the work fails, the shards that it has written are deleted. */
export async function withOutput<T>(
  { kernel, guardedStore }: IngestThread,
  shardIds: Int32Array,
  work: (output: ShardOutput) => Promise<T>,
): Promise<T> {
  const output = new ShardOutput(kernel, guardedStore, shardIds);
  try {
    return await work(output);
  } catch (error) {
    // On a full disk this may fail as well; then the next start deletes the shards that the catalog does not know.
    await guardedStore.remove(output.records.map((record) => record.id)).catch(() => undefined);
    throw error;
  }
}

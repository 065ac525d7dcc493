import { join } from "node:path";
import type { ShardSink } from "../../indexer/shard-output.js";
import type { Kernel } from "../../native/kernel/kernel.js";
import { loadKernel } from "../../native/kernel/load.js";
import type { WorkerSettings } from "../../protocol/messages.js";
import { TaskActivity } from "../../protocol/task-activity.js";
import { ShardStore } from "../../store/shard-store.js";
import { stepAllowanceMs, timeAllowance } from "./allowances.js";

/** State and services for the tasks of one ingest thread. */
export class IngestThread {
  readonly dataFolder: string;
  readonly kernel: Kernel;
  readonly store: ShardStore;
  /** The store; this thread is not terminated while it writes to it. */
  readonly guardedStore: ShardSink & Pick<ShardStore, "putSymbols" | "remove">;
  /** The activity of the running task. */
  activity = new TaskActivity();

  constructor(settings: WorkerSettings) {
    this.dataFolder = settings.dataFolder;
    this.kernel = loadKernel(settings.kernel);
    this.store = new ShardStore(join(settings.dataFolder, "shards"));
    this.guardedStore = {
      onBuild: (contentBytes) => this.activity.allow(stepAllowanceMs + timeAllowance(contentBytes)),
      put: (shards) => {
        for (const { id } of shards) this.activity.recordShard(id);
        return this.#writing(() => this.store.put(shards));
      },
      putSymbols: (symbols) => this.#writing(() => this.store.putSymbols(symbols)),
      remove: (ids) => this.#writing(() => this.store.remove(ids)),
    };
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

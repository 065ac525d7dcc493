import type { Repository } from "../../model/repository.js";
import type { IngestPool } from "../../pool/ingest-pool.js";
import type { Compaction } from "../housekeeping/compaction.js";
import type { IndexTasks } from "./index-tasks.js";
import type { HistoryIndexing } from "../housekeeping/history-indexing.js";
import type { MirrorMaintenance } from "../housekeeping/mirror-maintenance.js";
import type { SyncQueue } from "./sync-queue.js";
import type { SyncRunner } from "../runner/sync-runner.js";

/**
 * Starts tasks while workers are available: syncs first, then merges, then the repacking of mirrors, then the indexing
 * of histories.
 */
export class SyncScheduler {
  readonly #pool: IngestPool;
  readonly #tasks: IndexTasks;
  readonly #queue: SyncQueue;
  readonly #runner: SyncRunner;
  readonly #compaction: Compaction;
  readonly #maintenance: MirrorMaintenance;
  readonly #history: Pick<HistoryIndexing, "start">;
  /** Tasks that run in addition to the others, on threads reserved for slow remotes. */
  #slowTaskCount = 0;

  constructor(
    pool: IngestPool,
    tasks: IndexTasks,
    queue: SyncQueue,
    runner: SyncRunner,
    compaction: Compaction,
    maintenance: MirrorMaintenance,
    history: Pick<HistoryIndexing, "start">,
  ) {
    this.#pool = pool;
    this.#tasks = tasks;
    this.#queue = queue;
    this.#runner = runner;
    this.#compaction = compaction;
    this.#maintenance = maintenance;
    this.#history = history;
  }

  startWaiting(): void {
    this.#startBeside(() => this.#queue.takeSlow(), true);
    while (this.#tasks.count - this.#slowTaskCount < this.#pool.workerCount && !this.#tasks.isStopping) {
      const batch = this.#queue.takeBatch(this.#pool.workerCount);
      if (batch.length > 0) this.#tasks.track(this.#runner.run(batch, false));
      else if (!this.#compaction.start() && !this.#maintenance.start() && !this.#history.start()) return;
    }
    // All other threads may be waiting for remotes that are not known to be slow yet: syncs that a caller waits for run
    // in addition to them.
    this.#startBeside(() => this.#queue.takeUrgent(), false);
  }

  #startBeside(take: () => Repository[] | undefined, isPatient: boolean): void {
    while (this.#slowTaskCount < this.#pool.slowWorkerCount && !this.#tasks.isStopping) {
      const repositories = take();
      if (repositories === undefined) return;
      this.#slowTaskCount++;
      this.#tasks.track(
        this.#runner.run(repositories, isPatient).finally(() => {
          this.#slowTaskCount--;
        }),
      );
    }
  }
}

import { callAfter, monotonicMs, type PendingCall } from "../../base/deadline.js";
import type { Repository } from "../../model/repository.js";
import type { IngestPool } from "../../pool/ingest-pool.js";
import type { IndexTasks } from "../queue/index-tasks.js";
import type { SyncQueue } from "../queue/sync-queue.js";
import type { SyncRunner } from "./sync-runner.js";

/**
 * After a sync, other work than syncs is started this much later: the first searches of what the sync has brought, and a
 * sync that follows soon, get the processor, the disk and the locks of repositories to themselves. It is not delayed
 * longer than `pauseMsMax` by syncs that follow one another.
 */
const pauseMs = 100;
const pauseMsMax = 1_000;

/** Work for times when nothing else is to be done. */
export interface Housekeeping {
  /** Starts a task. Returns false if there is currently none. */
  start(): boolean;
}

/** Long work in a thread in addition to the others, so that no sync ever waits for it. */
export interface BackgroundWork extends Housekeeping {
  readonly runningCount: number;
}

/**
 * Starts tasks while workers are available: syncs first, then the background work (symbols, histories), then the
 * housekeeping in its order.
 */
export class SyncScheduler {
  readonly #pool: IngestPool;
  readonly #tasks: IndexTasks;
  readonly #queue: SyncQueue;
  readonly #runner: SyncRunner;
  readonly #background: readonly BackgroundWork[];
  readonly #housekeeping: readonly Housekeeping[];
  /** Tasks that run in addition to the others, on threads reserved for slow remotes. */
  #slowTaskCount = 0;
  /** Set while nothing but syncs is started. */
  isHeld = false;
  /** The end of the pause after the last sync; undefined if it is over. */
  #pauseEnd: PendingCall | undefined;
  /** When the first of the pauses without other work in between began. */
  #pausedSinceMs: number | undefined;

  constructor(
    pool: IngestPool,
    tasks: IndexTasks,
    queue: SyncQueue,
    runner: SyncRunner,
    background: readonly BackgroundWork[],
    housekeeping: readonly Housekeeping[],
  ) {
    this.#pool = pool;
    this.#tasks = tasks;
    this.#queue = queue;
    this.#runner = runner;
    this.#background = background;
    this.#housekeeping = housekeeping;
  }

  startWaiting(): void {
    this.#startBeside(() => this.#queue.takeSlow(), true);
    while (this.#usualTaskCount < this.#pool.workerCount && !this.#tasks.isStopping) {
      const batch = this.#queue.takeBatch(this.#pool.workerCount);
      if (batch.length > 0) this.#tasks.track(this.#run(batch, false));
      else if (this.isHeld || this.#pauseEnd !== undefined || !this.#startOther()) return;
    }
    // All other threads may be waiting for remotes that are not known to be slow yet: syncs that a caller waits for run
    // in addition to them.
    this.#startBeside(() => this.#queue.takeUrgent(), false);
  }

  #startOther(): boolean {
    this.#pausedSinceMs = undefined;
    return [...this.#background, ...this.#housekeeping].some((one) => one.start());
  }

  async #run(repositories: readonly Repository[], isPatient: boolean): Promise<void> {
    try {
      await this.#runner.run(repositories, isPatient);
    } finally {
      this.#beginPause();
    }
  }

  #beginPause(): void {
    const nowMs = monotonicMs();
    this.#pausedSinceMs ??= nowMs;
    this.#pauseEnd?.cancel();
    this.#pauseEnd = callAfter(Math.max(0, Math.min(pauseMs, this.#pausedSinceMs + pauseMsMax - nowMs)), () => {
      this.#pauseEnd = undefined;
      this.#tasks.pump();
    });
  }

  get #usualTaskCount(): number {
    const backgroundCount = this.#background.reduce((sum, { runningCount }) => sum + runningCount, 0);
    return this.#tasks.count - this.#slowTaskCount - backgroundCount;
  }

  #startBeside(take: () => Repository[] | undefined, isPatient: boolean): void {
    while (this.#slowTaskCount < this.#pool.slowWorkerCount && !this.#tasks.isStopping) {
      const repositories = take();
      if (repositories === undefined) return;
      this.#slowTaskCount++;
      this.#tasks.track(
        this.#run(repositories, isPatient).finally(() => {
          this.#slowTaskCount--;
        }),
      );
    }
  }
}

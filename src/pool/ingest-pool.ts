import type { WorkerSettings } from "../protocol/messages.js";
import type {
  BackupTask,
  BackupTaskResult,
  BringObjectTask,
  BuildPreciseTask,
  BuildPreciseTaskResult,
  CheckTask,
  CheckTaskResult,
  CompactTask,
  CompactTaskResult,
  IndexHistoryTask,
  IndexHistoryTaskResult,
  IngestTask,
  MaintainTask,
  RemoveTask,
  StoreObjectTask,
  SymbolsTask,
  SymbolsTaskResult,
  SyncProgress,
  SyncTask,
  SyncTaskResult,
} from "../protocol/ingest-messages.js";
import type { ObjectName } from "../objects/object-store.js";
import { TaskActivity, type Doing } from "../protocol/task-activity.js";
import { ThreadLoss, WorkerPool, type PoolReport, slowWorkerCount, smallYoungHeapMiB } from "./worker-pool.js";

const ingestWorkerEntry = new URL("../worker/ingest-worker.js", import.meta.url);

/** git has 2 s to exit, and is waited for. */
const ingestGraceMs = 4_000;

/** Threads but one end when they had no task for this long: each holds 15 to 20 MiB, and starts in 0.1 to 0.2 s. */
const idleMs = 60_000;

/**
 * A task waits this long for a thread that is busy before another one starts: at the start of the daemon four short tasks come
 * together (headers of shards and histories, a sync, the search for ctags), and after a sync that of symbols and that of
 * the history.
 */
const patienceMs = 200;

/** The pool of ingest workers, which fetch, index, merge and check. Its threads start with its first task. */
export class IngestPool {
  readonly workerCount: number;
  readonly slowWorkerCount = slowWorkerCount;
  readonly #start: () => WorkerPool<unknown>;
  #pool: WorkerPool<unknown> | undefined;

  constructor(
    settings: WorkerSettings,
    workerCount: number,
    heapBytesMax: number,
    { log, metrics }: PoolReport,
    onProgress: (progress: SyncProgress) => void,
  ) {
    this.workerCount = workerCount;
    this.#start = () =>
      new WorkerPool(
        {
          name: "ingest",
          entry: ingestWorkerEntry,
          settings,
          threadCountMin: 1,
          // One more for symbols, one for histories, and one for uploaded indexes.
          threadCountMax: workerCount + slowWorkerCount + 3,
          heapMiB: heapBytesMax / 2 ** 20,
          idleMs,
          patienceMs,
          youngMiB: smallYoungHeapMiB,
        },
        log,
        {
          onMessage: (message) => onProgress(message as SyncProgress),
          onLoss: (reason) => metrics.workersLost.inc({ pool: "ingest", reason }),
        },
      );
  }

  sync(task: SyncTask): Promise<SyncTaskResult> {
    return this.#run(task, [task.stop]);
  }

  maintain(task: MaintainTask): Promise<void> {
    return this.#run(task, [task.stop]);
  }

  compact(task: CompactTask): Promise<CompactTaskResult> {
    return this.#run(task, [task.stop]);
  }

  history(task: IndexHistoryTask): Promise<IndexHistoryTaskResult> {
    return this.#run(task, [task.stop]);
  }

  check(task: CheckTask): Promise<CheckTaskResult> {
    return this.#run(task, [task.stop]);
  }

  symbols(task: SymbolsTask): Promise<SymbolsTaskResult> {
    return this.#run(task, [task.stop]);
  }

  backup(task: BackupTask): Promise<BackupTaskResult> {
    return this.#run(task, [task.stop]);
  }

  precise(task: BuildPreciseTask): Promise<BuildPreciseTaskResult> {
    return this.#run(task, [task.stop]);
  }

  storeObject(task: StoreObjectTask): Promise<ObjectName> {
    return this.#run(task, [task.stop]);
  }

  bringObject(task: BringObjectTask): Promise<void> {
    return this.#run(task, [task.stop]);
  }

  remove(task: RemoveTask): Promise<void> {
    return this.#run(task, []);
  }

  get threadIds(): readonly number[] {
    return this.#pool?.threadIds ?? [];
  }

  /** Tasks that are waiting for a thread. */
  get waitingCount(): number {
    return this.#pool?.waitingCount ?? 0;
  }

  async close(): Promise<void> {
    await this.#pool?.close();
  }

  /** Rejects with an `IngestLoss` if its thread is lost. */
  async #run<T>(task: IngestTask, stops: readonly Int32Array[]): Promise<T> {
    this.#pool ??= this.#start();
    const activity = new TaskActivity();
    try {
      return (await this.#pool.run(
        "ingest",
        { task, activity: activity.memory },
        { deadlineMs: Infinity, stops, graceMs: ingestGraceMs, activity },
      )) as T;
    } catch (error) {
      throw error instanceof ThreadLoss ? new IngestLoss(error, activity.doing()) : error;
    }
  }
}

/** The thread of an ingest task was lost; contains what the task was doing. */
export class IngestLoss extends ThreadLoss {
  readonly doing: Doing;

  constructor({ reason, cause }: ThreadLoss, doing: Doing) {
    super(reason, cause);
    this.doing = doing;
  }
}

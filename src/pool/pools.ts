import { callAfter, monotonicMs } from "../base/deadline.js";
import { deserializeError, TrawlError } from "../base/errors.js";
import { FairSemaphore, refusalError, shareLimits } from "../base/fair-semaphore.js";
import type { Log } from "../base/log.js";
import type { Metrics } from "../base/metrics.js";
import type {
  BackupTask,
  BackupTaskResult,
  BatchMessage,
  CheckTask,
  CheckTaskResult,
  CompactTask,
  CompactTaskResult,
  FindTask,
  FindTaskResult,
  IngestTask,
  BufferOwnerMessage,
  MaintainTask,
  RemoveTask,
  SearchTask,
  SearchTaskResult,
  SearchWorkerSettings,
  SyncProgress,
  SyncTask,
  SyncTaskResult,
  WorkerSettings,
} from "../protocol/messages.js";
import { BufferPool } from "./buffer-pool.js";
import type {
  ReadAnswer,
  ReadKind,
  ReadKinds,
  ReadOutcome,
  ReadTask,
  ReadWorkerSettings,
} from "../protocol/read-messages.js";
import { TaskActivity, type Doing } from "../protocol/task-activity.js";
import { ThreadLoss } from "./thread-loss.js";
import { WorkerPool } from "./worker-pool.js";

/** The entry files of the workers. */
export const searchWorkerEntry = new URL("../worker/search-worker.js", import.meta.url);
const ingestWorkerEntry = new URL("../worker/ingest-worker.js", import.meta.url);
const readWorkerEntry = new URL("../worker/read-worker.js", import.meta.url);

/** Reads that may wait; a further one is refused. */
const waitingReadsMax = 1_000;

/**
 * Reads that may take long, whatever limits they have: they walk histories or whole trees, or highlight text of any
 * kind. Of one client they never have all threads. The others are over within moments, and clients take turns.
 */
const longReads: ReadonlySet<ReadKind> = new Set<ReadKind>([
  "count-languages",
  "find-first-commit",
  "highlight-texts",
  "list-contributors",
  "list-file-names",
  "list-history",
  "print-directory",
  "read-blame",
  "read-diff",
  "compare-commits",
]);

/**
 * The JavaScript heap of a thread, in MiB; shards, texts and results are outside of it. A search worker holds 30 at a
 * search of everything, a read worker 150 while it compares trees of 400,000 paths. What exhausts the heap of a thread
 * ends the thread, so with these the process stays within the 400 MiB that one request may take.
 */
const heapMiB = { search: 256, read: 320 } as const;

/** From the end of a task's time, or from its stop flag, until its thread is ended. */
const graceMs = 2_000;

/** git has 2 s to end by itself, and is waited for. */
const ingestGraceMs = 4_000;

/**
 * Threads of the ingest pool for remotes that take their time, beside those for everybody else; they start when they
 * are needed.
 */
const slowWorkerCount = 2;

/** What pools tell of their threads. */
export interface PoolReport {
  readonly log: Log;
  readonly metrics: Pick<Metrics, "workersLost">;
}

/** Takes a batch; `release` is called once its bytes are needed no more. */
export type BatchReceiver = (message: BatchMessage, release: () => void) => void;

/**
 * The pool of search workers, as many as there are cores, long-lived. Batches of results come on the workers' own
 * channel while their slice runs.
 */
export class SearchPool {
  readonly workerCount: number;
  readonly #pool: WorkerPool<SearchTaskResult | FindTaskResult>;
  readonly #receivers = new Map<number, BatchReceiver>();
  readonly #lenders = new BufferPool();

  /** `entry` is the file that its workers run. */
  constructor(entry: URL, settings: SearchWorkerSettings, workerCount: number, { log, metrics }: PoolReport) {
    this.workerCount = workerCount;
    this.#pool = new WorkerPool(
      {
        name: "search",
        entry,
        settings,
        threadCountMin: workerCount,
        threadCountMax: workerCount,
        heapMiB: heapMiB.search,
      },
      log,
      {
        onMessage: (message) => this.#receive(message as BatchMessage | BufferOwnerMessage),
        onLoss: (reason) => metrics.workersLost.inc({ pool: "search", reason }),
      },
    );
  }

  /**
   * Resolves with the slice's result. Rejects with a `ThreadLoss` when its thread is gone: one that does not come back
   * within 2 s after `deadlineMs` on the monotonic clock, or after the stop word of the control block is set, is ended.
   */
  run(task: SearchTask, deadlineMs = Infinity): Promise<SearchTaskResult> {
    return this.#run("slice", task, deadlineMs) as Promise<SearchTaskResult>;
  }

  /** The same for a look for repositories. */
  find(task: FindTask, deadlineMs = Infinity): Promise<FindTaskResult> {
    return this.#run("find", task, deadlineMs) as Promise<FindTaskResult>;
  }

  #run(name: string, task: SearchTask | FindTask, deadlineMs: number): Promise<SearchTaskResult | FindTaskResult> {
    return this.#pool.run(name, task, { deadlineMs, stops: [task.control], graceMs, activity: undefined });
  }

  onBatch(searchId: number, receive: BatchReceiver): void {
    this.#receivers.set(searchId, receive);
  }

  forget(searchId: number): void {
    this.#receivers.delete(searchId);
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }

  #receive(message: BatchMessage | BufferOwnerMessage): void {
    if (message.kind === "lender") return this.#lenders.add(message);
    const release = this.#lenders.releaseFor(message);
    const receive = this.#receivers.get(message.searchId);
    if (receive === undefined) release();
    else receive(message, release);
  }
}

/** The pool of ingest workers: fetching, indexing, merging, checking. Its threads start with its first task. */
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
          threadCountMin: workerCount,
          threadCountMax: workerCount + slowWorkerCount,
          heapMiB: heapBytesMax / 2 ** 20,
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

  check(task: CheckTask): Promise<CheckTaskResult> {
    return this.#run(task, [task.stop]);
  }

  backup(task: BackupTask): Promise<BackupTaskResult> {
    return this.#run(task, [task.stop]);
  }

  remove(task: RemoveTask): Promise<void> {
    return this.#run(task, []);
  }

  /** Tasks that wait for a thread. */
  get waitingCount(): number {
    return this.#pool?.waitingCount ?? 0;
  }

  async close(): Promise<void> {
    await this.#pool?.close();
  }

  /** Rejects with an `IngestLoss` when its thread is gone. */
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

/** The thread of an ingest task is gone, and what it was at. */
export class IngestLoss extends ThreadLoss {
  readonly doing: Doing;

  constructor({ reason, cause }: ThreadLoss, doing: Doing) {
    super(reason, cause);
    this.doing = doing;
  }
}

/** How long a read may take, and how its caller ends it. */
export interface ReadLimits {
  /** Counts from the call, so that waiting for a thread is in it. */
  readonly timeoutMs: number;
  /** Word 0 not 0: the answer is not wanted any more. */
  readonly stop: Int32Array;
  /** For whom it is. */
  readonly client: string;
}

/**
 * The pool of threads that read mirrors for searches and for GraphQL, at the priority of searches. A task waits for
 * `git` or for a file most of its time, so few threads do. They start with `warm`, or with the first read.
 *
 * Clients are served in turn, and one that asks for much that takes long leaves a thread to the others, where there are
 * two.
 */
export class ReadPool {
  readonly #start: () => WorkerPool<ReadOutcome>;
  readonly #permits: FairSemaphore;
  readonly #longCountMax: number;
  #pool: WorkerPool<ReadOutcome> | undefined;
  #isClosed = false;

  /** One client may have `sharePercent` of the reads that wait. */
  constructor(settings: ReadWorkerSettings, workerCount: number, sharePercent: number, { log, metrics }: PoolReport) {
    this.#permits = new FairSemaphore({
      ...shareLimits(workerCount, waitingReadsMax, sharePercent),
      clientCountMax: workerCount,
    });
    this.#longCountMax = Math.max(1, workerCount - 1);
    this.#start = () =>
      new WorkerPool(
        {
          name: "read",
          entry: readWorkerEntry,
          settings,
          threadCountMin: workerCount,
          threadCountMax: workerCount,
          heapMiB: heapMiB.read,
        },
        log,
        { onMessage: () => undefined, onLoss: (reason) => metrics.workersLost.inc({ pool: "read", reason }) },
      );
  }

  /** Starts the threads, so that the first read does not wait for them. */
  warm(): void {
    this.#pool ??= this.#start();
  }

  /**
   * Throws `overloaded` or `too-many-requests` when too many reads wait, `cancelled` when stopped or too slow, and what
   * the kind's handler throws. It rejects at the end of the time even if the worker does not notice it.
   */
  async run<Kind extends ReadKind>(
    request: ReadKinds[Kind]["request"] & { readonly kind: Kind },
    { timeoutMs, stop, client }: ReadLimits,
  ): Promise<ReadAnswer<Kind>> {
    const full = this.#permits.refusal(client);
    if (full !== undefined) throw refusalError(full, "reads of mirrors");
    const expired = new Int32Array(new SharedArrayBuffer(4));
    const deadlineMs = monotonicMs() + timeoutMs;
    return await new Promise((resolve, reject) => {
      const timer = callAfter(timeoutMs, () => {
        Atomics.store(expired, 0, 1);
        leave();
        reject(new TrawlError("cancelled", `reading a mirror (${request.kind}) took longer than ${timeoutMs} ms`));
      });
      const leave = this.#permits.acquire(
        client,
        (release) => {
          this.#read({ request, stops: [stop, expired] }, deadlineMs)
            .finally(release)
            .then((answer) => resolve(answer as ReadAnswer<Kind>), reject)
            .finally(() => timer.cancel());
        },
        longReads.has(request.kind) ? this.#longCountMax : undefined,
      );
    });
  }

  async #read(task: ReadTask, deadlineMs: number): Promise<ReadAnswer<ReadKind>> {
    const isWanted = task.stops.every((stop) => Atomics.load(stop, 0) === 0);
    if (this.#isClosed || !isWanted) throw new TrawlError("cancelled", "the read was stopped before it began");
    this.#pool ??= this.#start();
    const read = await this.#pool.run("read", task, { deadlineMs, stops: task.stops, graceMs, activity: undefined });
    if (read.ok) return read.answer;
    throw deserializeError(read.error);
  }

  /** Tasks that wait for a thread. */
  get waitingCount(): number {
    return this.#pool?.waitingCount ?? 0;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#permits.startAll();
    await this.#pool?.close();
  }
}

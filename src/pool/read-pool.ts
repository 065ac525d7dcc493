import { callAfter, monotonicMs } from "../base/deadline.js";
import { deserializeError, TrawlError } from "../base/errors.js";
import { FairSemaphore, refusalError, shareLimits } from "../base/fair-semaphore.js";
import type {
  ReadAnswer,
  ReadKind,
  ReadKinds,
  ReadOutcome,
  ReadTask,
  ReadWorkerSettings,
} from "../protocol/read-messages.js";
import { WorkerPool, heapMiB, graceMs, type PoolReport } from "./worker-pool.js";

const readWorkerEntry = new URL("../worker/read-worker.js", import.meta.url);

/** Limit on queued reads; a further one is refused. */
const waitingReadsMax = 1_000;

/**
 * Reads that may take long in spite of their limits: they traverse histories or whole trees, or highlight arbitrary
 * text. One client's long reads never occupy all threads. All other reads finish quickly, and clients are served
 * round-robin.
 */
const longReads: ReadonlySet<ReadKind> = new Set<ReadKind>([
  "build-history",
  "compare-matches",
  "convert-results",
  "count-languages",
  "extract-symbols",
  "list-commits",
  "find-first-commit",
  "highlight-texts",
  "list-contributors",
  "list-file-names",
  "list-history",
  "list-history-oids",
  "print-directory",
  "read-blame",
  "read-diff",
  "read-last-commits",
  "render-markdown",
  "compare-commits",
]);

/** How long a read may take, and how its caller cancels it. */
export interface ReadLimits {
  /** Measured from the call, so it includes waiting for a thread. */
  readonly timeoutMs: number;
  /** If word 0 is not 0, the result is no longer wanted. */
  readonly stop: Int32Array;
  /** The client on whose behalf it runs. */
  readonly client: string;
}

/**
 * The pool of threads that read mirrors for searches and for GraphQL, with the priority of searches. A task spends most
 * of its time waiting for `git` or for a file, so a few threads suffice. They start with `warm`, or with the first
 * read.
 *
 * Clients are served round-robin, and the long reads of one client leave a thread to the others, if there are at least
 * two.
 */
export class ReadPool {
  readonly #start: () => WorkerPool<ReadOutcome>;
  readonly #permits: FairSemaphore;
  readonly #longCountMax: number;
  readonly threadCount: number;
  #pool: WorkerPool<ReadOutcome> | undefined;
  #isClosed = false;

  /** One client may have `sharePercent` of the queued reads. */
  constructor(settings: ReadWorkerSettings, workerCount: number, sharePercent: number, { log, metrics }: PoolReport) {
    this.#permits = new FairSemaphore({
      ...shareLimits(workerCount, waitingReadsMax, sharePercent),
      clientCountMax: workerCount,
    });
    this.threadCount = workerCount;
    this.#longCountMax = Math.max(1, workerCount - 1);
    this.#start = () =>
      new WorkerPool(
        {
          name: "read",
          entry: readWorkerEntry,
          settings,
          threadCountMin: 0,
          threadCountMax: workerCount,
          heapMiB: heapMiB.read,
        },
        log,
        { onMessage: () => undefined, onLoss: (reason) => metrics.workersLost.inc({ pool: "read", reason }) },
      );
  }

  get threadIds(): readonly number[] {
    return this.#pool?.threadIds ?? [];
  }

  /** Starts the threads in advance, so that the first read does not wait for them. */
  warm(): void {
    this.#pool ??= this.#start();
    this.#pool.startAll();
  }

  /**
   * Throws `overloaded` or `too-many-requests` if too many reads are queued, `cancelled` if stopped or too slow, and
   * the errors of the kind's handler. It rejects at the deadline even if the worker does not notice it.
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

  /** Tasks that are waiting for a thread. */
  get waitingCount(): number {
    return this.#pool?.waitingCount ?? 0;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#permits.startAll();
    await this.#pool?.close();
  }
}

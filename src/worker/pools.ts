import { callAfter } from "../base/deadline.js";
import { deserializeError, TrawlError } from "../base/errors.js";
import type { Log } from "../base/log.js";
import type {
  BatchMessage, CheckTask, CheckTaskResult, CompactTask, CompactTaskResult, FindTask, FindTaskResult, LenderMessage, MaintainTask, RemoveTask, SearchTask, SearchTaskResult,
  SearchWorkerSettings, SyncProgress, SyncTask, SyncTaskResult, WorkerSettings,
} from "./messages.js";
import { Lenders } from "./lenders.js";
import type { ReadAnswer, ReadKind, ReadKinds, ReadOutcome, ReadTask, ReadWorkerSettings } from "./read-messages.js";
import { WorkerPool } from "./worker-pool.js";

/** The entry files of the workers. */
export const searchWorkerEntry = new URL("./search-worker.js", import.meta.url);
const ingestWorkerEntry = new URL("./ingest-worker.js", import.meta.url);
const readWorkerEntry = new URL("./read-worker.js", import.meta.url);

/** Reads that may run or wait; a further one is refused. */
const readCountMax = 1_000;

/** Takes a batch; `giveBack` is called once its bytes are needed no more. */
export type BatchReceiver = (message: BatchMessage, giveBack: () => void) => void;

/**
 * The pool of search workers, as many as there are cores, long-lived. Batches of results come on the workers' own
 * channel while their slice runs.
 */
export class SearchPool {
  readonly workerCount: number;
  readonly #pool: WorkerPool<SearchTask | FindTask, SearchTaskResult | FindTaskResult>;
  readonly #receivers = new Map<number, BatchReceiver>();
  readonly #lenders = new Lenders();

  /** `entry` is the file that its workers run. */
  constructor(entry: URL, settings: SearchWorkerSettings, workerCount: number, log: Log) {
    this.workerCount = workerCount;
    this.#pool = new WorkerPool(entry, settings, workerCount, log, (message) => {
      this.#receive(message as BatchMessage | LenderMessage);
    });
  }

  /** Resolves with the slice's result; rejects when its worker died. */
  run(task: SearchTask): Promise<SearchTaskResult> {
    return this.#pool.run(task) as Promise<SearchTaskResult>;
  }

  /** The same for a look for repositories. */
  find(task: FindTask): Promise<FindTaskResult> {
    return this.#pool.run(task, "runFind") as Promise<FindTaskResult>;
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

  #receive(message: BatchMessage | LenderMessage): void {
    if (message.kind === "lender") return this.#lenders.add(message);
    const giveBack = this.#lenders.giveBackOf(message);
    const receive = this.#receivers.get(message.searchId);
    if (receive === undefined) giveBack();
    else receive(message, giveBack);
  }
}

/** The pool of ingest workers: fetching, indexing, merging, checking. Its threads start with its first task. */
export class IngestPool {
  readonly workerCount: number;
  readonly #start: () => WorkerPool<unknown, unknown>;
  #pool: WorkerPool<unknown, unknown> | undefined;

  constructor(settings: WorkerSettings, workerCount: number, log: Log, onProgress: (progress: SyncProgress) => void) {
    this.workerCount = workerCount;
    this.#start = () => new WorkerPool(ingestWorkerEntry, settings, workerCount, log, (message) => onProgress(message as SyncProgress));
  }

  sync(task: SyncTask): Promise<SyncTaskResult> {
    return this.#run(task);
  }

  maintain(task: MaintainTask): Promise<void> {
    return this.#run(task);
  }

  compact(task: CompactTask): Promise<CompactTaskResult> {
    return this.#run(task);
  }

  check(task: CheckTask): Promise<CheckTaskResult> {
    return this.#run(task);
  }

  remove(task: RemoveTask): Promise<void> {
    return this.#run(task);
  }

  async close(): Promise<void> {
    await this.#pool?.close();
  }

  async #run<T>(task: unknown): Promise<T> {
    this.#pool ??= this.#start();
    const answer = (await this.#pool.run(task)) as { ok: true; value: T } | { ok: false; error: { code: TrawlError["code"]; message: string } };
    if (answer.ok) return answer.value;
    throw new TrawlError(answer.error.code, answer.error.message);
  }
}

/** How long a read may take, and how its caller ends it. */
export interface ReadLimits {
  /** Counts from the call, so that waiting for a thread is in it. */
  readonly timeoutMs: number;
  /** Word 0 not 0: the answer is not wanted any more. */
  readonly stop: Int32Array;
}

/**
 * The pool of threads that read mirrors for searches and for GraphQL, at the priority of searches. A task waits for
 * `git` or for a file most of its time, so few threads do. They start with `warm`, or with the first read.
 */
export class ReadPool {
  readonly #start: () => WorkerPool<ReadTask, ReadOutcome>;
  #pool: WorkerPool<ReadTask, ReadOutcome> | undefined;
  #count = 0;

  constructor(settings: ReadWorkerSettings, workerCount: number, log: Log) {
    this.#start = () => new WorkerPool(readWorkerEntry, settings, workerCount, log, () => undefined);
  }

  /** Starts the threads, so that the first read does not wait for them. */
  warm(): void {
    this.#pool ??= this.#start();
  }

  /**
   * Throws `overloaded` when too many reads wait, `cancelled` when stopped or too slow, and what the kind's handler
   * throws. It rejects at the end of the time even if the worker does not notice it.
   */
  async run<Kind extends ReadKind>(request: ReadKinds[Kind]["request"] & { readonly kind: Kind }, { timeoutMs, stop }: ReadLimits): Promise<ReadAnswer<Kind>> {
    if (this.#count >= readCountMax) throw new TrawlError("overloaded", `${this.#count} reads of mirrors run or wait. Try again in a moment.`);
    this.#count++;
    const expired = new Int32Array(new SharedArrayBuffer(4));
    this.#pool ??= this.#start();
    const outcome = this.#pool.run({ request, stops: [stop, expired] }).finally(() => this.#count--);
    return await new Promise((resolve, reject) => {
      const timer = callAfter(timeoutMs, () => {
        Atomics.store(expired, 0, 1);
        reject(new TrawlError("cancelled", `reading a mirror (${request.kind}) took longer than ${timeoutMs} ms`));
      });
      outcome.then((read) => {
        if (read.ok) resolve(read.answer as ReadAnswer<Kind>);
        else reject(deserializeError(read.error));
      }, reject).finally(() => timer.cancel());
    });
  }

  async close(): Promise<void> {
    await this.#pool?.close();
  }
}

import type {
  ContributorsResult,
  ContributorsTask,
  CoverResult,
  CoverTask,
  HistoryTask,
  HistoryTaskResult,
} from "../protocol/history-messages.js";
import {
  type BatchMessage,
  type BufferOwnerMessage,
  type FindTask,
  type FindTaskResult,
  type HelpMessage,
  type SearchTask,
  type SearchTaskResult,
  type SearchWorkerSettings,
  spareBuffersMax,
  type WarmTask,
  type WarmTaskResult,
} from "../protocol/messages.js";
import type { RankTask, RankTaskResult } from "../protocol/rank-messages.js";
import { LiveMap } from "../base/live-map.js";
import { WorkerPool, graceMs, heapMiB, type PoolReport } from "./worker-pool.js";
import type { MessagePort } from "node:worker_threads";

/** The entry files of the workers. */
export const searchWorkerEntry = new URL("../worker/search-worker.js", import.meta.url);

/** Receives the messages of the slices of one search. */
export interface SliceReceiver {
  /** `release` must be called when the bytes of the batch are no longer needed. */
  readonly onBatch: (message: BatchMessage, release: () => void) => void;
  readonly onHelpWanted: () => void;
}

type AnyTask = SearchTask | FindTask | WarmTask | HistoryTask | CoverTask | ContributorsTask | RankTask;

type AnyResult =
  | SearchTaskResult
  | FindTaskResult
  | WarmTaskResult
  | HistoryTaskResult
  | CoverResult
  | ContributorsResult
  | RankTaskResult;

/**
 * The pool of search workers, one per core, long-lived. Batches of results arrive on a separate channel of each worker
 * while its slice runs.
 */
export class SearchPool {
  readonly workerCount: number;
  readonly #pool: WorkerPool<AnyResult>;
  readonly #receivers = new LiveMap<number, SliceReceiver>();
  readonly #buffers = new BufferPool();

  /** `entry` is the file that its workers run. */
  constructor(entry: URL, settings: SearchWorkerSettings, workerCount: number, { log, metrics }: PoolReport) {
    this.workerCount = workerCount;
    this.#pool = new WorkerPool(
      {
        name: "search",
        entry,
        settings,
        threadCountMin: 0,
        threadCountMax: workerCount,
        heapMiB: heapMiB.search,
      },
      log,
      {
        onMessage: (message) => this.#receive(message as SearchThreadMessage),
        onLoss: (reason) => metrics.workersLost.inc({ pool: "search", reason }),
      },
    );
  }

  get threadIds(): readonly number[] {
    return this.#pool.threadIds;
  }

  /**
   * Resolves with the result of the slice. Rejects with a `ThreadLoss` if its thread is lost: a thread that does not
   * return within 2 s after `deadlineMs` on the monotonic clock, or after the stop word of the control block is set, is
   * terminated.
   */
  run(task: SearchTask, deadlineMs = Infinity): Promise<SearchTaskResult> {
    return this.#run("slice", task, task.control, deadlineMs) as Promise<SearchTaskResult>;
  }

  /** Like `run`, for scoring documents. */
  rank(task: RankTask, deadlineMs = Infinity): Promise<RankTaskResult> {
    return this.#run("rank", task, task.control, deadlineMs) as Promise<RankTaskResult>;
  }

  /** Like `run`, for a look-up of repositories. */
  find(task: FindTask, deadlineMs = Infinity): Promise<FindTaskResult> {
    return this.#run("find", task, task.control, deadlineMs) as Promise<FindTaskResult>;
  }

  /** Like `run`, for one history shard. */
  searchHistory(task: HistoryTask, deadlineMs = Infinity): Promise<HistoryTaskResult> {
    return this.#run("history", task, task.control, deadlineMs) as Promise<HistoryTaskResult>;
  }

  /** Like `run`, for finding commits in history shards. */
  coverHistory(task: CoverTask, deadlineMs = Infinity): Promise<CoverResult> {
    return this.#run("cover", task, task.control, deadlineMs) as Promise<CoverResult>;
  }

  /** Like `run`, for finding who changed which paths. */
  findContributors(task: ContributorsTask, deadlineMs = Infinity): Promise<ContributorsResult> {
    return this.#run("contributors", task, task.control, deadlineMs) as Promise<ContributorsResult>;
  }

  /** Like `run`, for a task that verifies a part of a shard. */
  warm(task: WarmTask, deadlineMs: number): Promise<WarmTaskResult> {
    return this.#run("warm", task, task.stop, deadlineMs) as Promise<WarmTaskResult>;
  }

  #run(name: string, task: AnyTask, stop: Int32Array, deadlineMs: number): Promise<AnyResult> {
    return this.#pool.run(name, task, { deadlineMs, stops: [stop], graceMs, activity: undefined });
  }

  /** Until `forget`, messages of slices of this search go to `receiver`. */
  receive(searchId: number, receiver: SliceReceiver): void {
    this.#receivers.set(searchId, receiver);
  }

  forget(searchId: number): void {
    this.#receivers.delete(searchId);
  }

  /** Starts the threads in advance; otherwise, each is started when a slice waits for it. */
  startAll(): void {
    this.#pool.startAll();
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }

  #receive(message: SearchThreadMessage): void {
    if (message.kind === "buffer-owner") return this.#buffers.add(message);
    const receiver = this.#receivers.get(message.searchId);
    if (message.kind === "help") return receiver?.onHelpWanted();
    const release = this.#buffers.releaseFor(message);
    if (receiver === undefined) release();
    else receiver.onBatch(message, release);
  }
}

type SearchThreadMessage = BatchMessage | HelpMessage | BufferOwnerMessage;

interface BufferOwner {
  readonly port: MessagePort;
  givenBackCount: number;
  /** As of its last batch. */
  takenBackCount: number;
}

/** The main-thread side of the workers' `BatchBuffers`. */
class BufferPool {
  readonly #owners = new Map<number, BufferOwner>();

  add({ owner, port }: BufferOwnerMessage): void {
    this.#owners.set(owner, { port, givenBackCount: 0, takenBackCount: 0 });
    port.on("close", () => this.#owners.delete(owner));
    port.unref();
  }

  /**
   * Returns the function that returns the batch's memory to its worker; it does nothing for a batch whose memory is not
   * reused.
   */
  releaseFor({ owner, takenBackCount, batch }: BatchMessage): () => void {
    const known = owner === undefined ? undefined : this.#owners.get(owner);
    if (known === undefined) return () => {};
    known.takenBackCount = takenBackCount;
    const memory = batch.bytes.buffer as ArrayBuffer;
    return () => {
      // Otherwise, a worker that does not need buffers would accumulate them on its port.
      if (known.givenBackCount - known.takenBackCount >= spareBuffersMax) return;
      known.givenBackCount++;
      known.port.postMessage(memory, [memory]);
    };
  }
}

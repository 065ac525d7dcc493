import type { Log } from "../base/log.js";
import type { Metrics } from "../base/metrics.js";

/**
 * The JavaScript heap of a thread, in MiB; shards, texts and results are outside of it. A search worker holds 30 at a
 * search of everything, a read worker 150 while it compares trees of 400,000 paths. What exhausts the heap of a thread
 * ends the thread, so with these the process stays within the 400 MiB that one request may take.
 */
export const heapMiB = { search: 256, read: 320 } as const;

/** From the end of a task's time, or from its stop flag, until its thread is ended. */
export const graceMs = 2_000;

/** What pools tell of their threads. */
export interface PoolReport {
  readonly log: Log;
  readonly metrics: Pick<Metrics, "workersLost">;
}

/**
 * Threads of the ingest pool for remotes that take their time, beside those for everybody else; they start when they
 * are needed.
 */
export const slowWorkerCount = 2;

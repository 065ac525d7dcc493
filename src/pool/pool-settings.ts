import type { Log } from "../base/log.js";
import type { Metrics } from "../base/metrics.js";

/**
 * JavaScript heap limits of threads, in MiB; shards, texts and results are outside the heap. A search worker uses 30
 * MiB for a search of everything, a read worker 150 MiB while it compares trees of 400,000 paths. Exhausting the heap
 * of a thread ends only the thread, so with these limits the process stays within the 400 MiB that one request may use.
 */
export const heapMiB = { search: 256, read: 320 } as const;

/** Time from a task's deadline, or from its stop flag, until its thread is terminated. */
export const graceMs = 2_000;

/**
 * The size of the young generation of a thread, in MiB. V8 divides it into three semi-spaces, so this is the size that
 * `keepCompiledCode` starts with, and it never grows. With V8's limit of 48 each thread grows to that size within an
 * hour and stays there; searches are as fast with 12, within the noise of 5 %.
 */
export const youngHeapMiB = 12;

/** Events that pools report about their threads. */
export interface PoolReport {
  readonly log: Log;
  readonly metrics: Pick<Metrics, "workersLost">;
}

/** Additional threads of the ingest pool, reserved for slow remotes; they start when needed. */
export const slowWorkerCount = 2;

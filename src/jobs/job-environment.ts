import type { Log } from "../base/log.js";
import type { Metrics } from "../base/metrics.js";
import type { Repository } from "../model/repository.js";
import type { Viewer } from "../model/viewer.js";
import type { ReadPool } from "../pool/read-pool.js";
import type { Kernel } from "../native/kernel/kernel.js";
import type { Searcher } from "../search/searcher.js";
import type { Records } from "../store/records.js";

export interface JobLimits {
  /** Jobs that run at the same time. */
  readonly concurrent: number;
  readonly countMax: number;
  readonly ofUserMax: number;
  /** Bytes of the results of one job. */
  readonly bytesMax: number;
  /** Bytes of the results and logs of all jobs. */
  readonly totalBytesMax: number;
  readonly retentionDays: number;
  /** Bytes of the results as tables: CSV and Parquet. */
  readonly exportBytesMax: number;
  /** Of the search of one batch. */
  readonly timeoutMs: number;
}

export interface JobEnvironment {
  readonly folder: string;
  readonly store: Records;
  readonly searcher: Pick<Searcher, "run" | "chooseRepositories">;
  readonly reads: Pick<ReadPool, "run">;
  /** What precedes the paths of pages in URLs. */
  readonly baseUrl: () => string;
  readonly repository: (id: number) => Repository | undefined;
  /** The viewer as which a user's job searches; undefined if the user no longer exists. */
  readonly viewerOf: (userId: number) => Viewer | undefined;
  readonly kernel: Pick<Kernel, "scan">;
  readonly log: Log;
  readonly metrics: Pick<Metrics, "jobsEnded" | "jobInterruptions">;
  readonly limits: JobLimits;
}

import { join } from "node:path";
import { Trawl } from "../peers/trawl.js";
import type { Results } from "../report/results.js";
import { alternateWarm } from "../system/measure.js";

/** What every suite is given. */
export interface SuiteContext {
  /** On a corpus that every checkout has, with fewer rounds. */
  readonly isQuick: boolean;
  /** Rounds that count, at least 5 unless quick. */
  readonly rounds: number;
  /** Emptied when the suite ends. */
  readonly workFolder: string;
  /** Kept for the next run: corpora, indexes of peers. */
  readonly cacheFolder: string;
  /** Shows one line about the current step. */
  readonly progress: (text: string) => void;
}

/** Something to measure. `measure` prints nothing but progress, and throws when nothing could be measured. */
export interface Suite {
  readonly name: string;
  readonly title: string;
  readonly measure: (context: SuiteContext, results: Results) => Promise<void>;
}

export const ours = "trawl";

/** Starts a daemon whose data is in the work folder; the same name gives the data of an earlier one. */
export function startDaemon({ workFolder }: SuiteContext, name: string, ...options: readonly string[]): Promise<Trawl> {
  return Trawl.start(join(workFolder, name), options);
}

/** For searches of everything, which take longer than the default allows. */
export const longSearches = ["--set", "search.maxTimeoutSeconds=300"];

/** One measurement: its task and subject, and what returns its milliseconds. */
export type TimedRow = readonly [task: string, subject: string, time: () => Promise<number>];

/** Measures rows in turn, round after round, by default after one that does not count, and records their values. */
export async function measureRows(
  rows: readonly TimedRow[],
  rounds: number,
  results: Results,
  inTurn = alternateWarm<number>,
): Promise<void> {
  const measures = rows.map(([, , time]) => time);
  const times = await inTurn(rounds, measures);
  for (const [i, [task, subject]] of rows.entries()) results.less(task, subject, "ms", times[i] ?? []);
}

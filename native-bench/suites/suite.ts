import { join } from "node:path";
import { Trawl } from "../peers/trawl.js";
import type { Results } from "../report/results.js";

/** What every suite is given. */
export interface SuiteContext {
  /** On a corpus that every checkout has, with fewer rounds and without peers. */
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
  /** Its usual duration on two cores, for the estimate of the time left. */
  readonly estimateSeconds: { readonly quick: number; readonly full: number };
  readonly measure: (context: SuiteContext, results: Results) => Promise<void>;
}

/** Starts a daemon whose data is in the work folder; the same name gives the data of an earlier one. */
export function startDaemon({ workFolder }: SuiteContext, name: string, ...options: readonly string[]): Promise<Trawl> {
  return Trawl.start(join(workFolder, name), options);
}

/** For searches of everything, which take longer than the default allows. */
export const longSearches = ["--set", "search.maxTimeoutSeconds=300"];

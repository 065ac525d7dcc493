import type { Findings } from "../report/run-report.js";

/** What every suite is given. */
export interface SuiteContext {
  /** On a corpus that every checkout has, with fewer rounds and without peers. */
  readonly isQuick: boolean;
  /** Rounds that count, at least 5 unless quick. */
  readonly rounds: number;
  /** Emptied when the run ends. */
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
  readonly measure: (context: SuiteContext) => Promise<Findings>;
}

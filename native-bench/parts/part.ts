import type { PartRecord } from "../report/record.js";

/** What every part is given. */
export interface PartContext {
  /** A corpus that every checkout has, fewer rounds, no peers needed. */
  readonly isQuick: boolean;
  /** Rounds that count, at least 5 when not quick. */
  readonly rounds: number;
  /** Emptied when the run ends. */
  readonly workFolder: string;
  /** Kept for the next run: corpora, indexes of peers. */
  readonly cacheFolder: string;
  /** Says in one line what goes on. */
  readonly progress: (text: string) => void;
}

/** A part of the harness: measures, prints nothing but progress, and throws when nothing could be measured. */
export interface Part {
  readonly name: string;
  readonly title: string;
  /** What it takes on two cores, for the estimate of the time left. */
  readonly estimateSeconds: (context: PartContext) => number;
  readonly measure: (context: PartContext) => Promise<PartRecord>;
}

/**
 * What a run of the harness leaves behind, as plain data: `runs/DATE-MACHINE/run.json`. The report and the comparison
 * of two runs read nothing else, so each part states its tables and plots here and draws nothing.
 */
export interface RunRecord {
  /** ISO 8601, when the run began. */
  readonly date: string;
  readonly command: string;
  readonly environment: Environment;
  readonly parts: readonly PartRecord[];
  /**
   * Names of the parts that were still to come when this was written: an interrupted run. Absent when there are none.
   */
  readonly notRun?: readonly string[];
}

export interface Environment {
  readonly machine: {
    readonly processor: string;
    readonly cores: number;
    readonly memoryBytes: number;
    readonly kernel: string;
    /** Load of the last minute before the run began. */
    readonly loadBefore: number;
    /**
     * Share of all processors that was in use right before. Above 0.05 others were at work, and only ratios mean
     * something.
     */
    readonly busyBefore?: number;
    readonly pageCacheBytes: number;
  };
  /** Versions by name: node, trawl (git describe), and each peer. */
  readonly versions: Readonly<Record<string, string>>;
}

/** What one part of the harness (`peers`, `micro`, `scale`, …) measured. */
export interface PartRecord {
  readonly part: string;
  readonly title: string;
  readonly seconds: number;
  /** Sentences: peers that are not installed, results that differ, what a reader must know. */
  readonly notes: readonly string[];
  readonly samples: readonly Sample[];
  readonly tables: readonly Table[];
  readonly plots: readonly Plot[];
  readonly claims: readonly Claim[];
}

/** Every measured value of one subject at one task, in the order they were measured; two runs are compared by these. */
export interface Sample {
  readonly task: string;
  readonly subject: string;
  readonly unit: string;
  readonly better: "less" | "more";
  readonly values: readonly number[];
}

export interface Table {
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** Drawn as `NAME.svg`. */
export interface Plot {
  readonly name: string;
  readonly title: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly series: readonly Series[];
}

export interface Axis {
  /** With its unit. */
  readonly label: string;
  readonly scale: "linear" | "log" | "category";
  /** The names of the places on a category axis; [] on the others. */
  readonly categories: readonly string[];
}

export interface Series {
  readonly name: string;
  readonly kind: "line" | "points" | "bars";
  /** On a category axis x is the index of the category. */
  readonly points: readonly PlotPoint[];
}

export interface PlotPoint {
  readonly x: number;
  readonly y: number;
  /** The spread around y, drawn as a whisker; absent where there is none. */
  readonly low?: number;
  readonly high?: number;
}

/** One figure, and what it is held to. */
export interface Claim {
  readonly what: string;
  readonly unit: string;
  /** Undefined where it could not be measured; the note says why. */
  readonly value: number | undefined;
  readonly better: "less" | "more";
  /** Undefined where nothing is asked of it. */
  readonly must: number | undefined;
  readonly aim: number | undefined;
  readonly note: string;
}

/**
 * What a run leaves behind, as plain data. The written report and the comparison of two runs read nothing else: a suite
 * records samples ([Results](results.ts)), and only this folder makes tables and plots of them and renders those.
 */
export interface RunReport {
  /** ISO 8601, when the run began. */
  readonly date: string;
  readonly command: string;
  readonly environment: Environment;
  readonly suites: readonly SuiteReport[];
  /** Names of the suites that had not run when this was written: an interrupted run. Absent when there are none. */
  readonly notRun?: readonly string[];
}

export interface Environment {
  readonly machine: {
    readonly processor: string;
    readonly cores: number;
    readonly memoryBytes: number;
    readonly kernel: string;
    /** Load average of the last minute before the run began. */
    readonly loadBefore: number;
    /** Share of all processors that was in use right before the run. Above 0.05 only ratios mean something. */
    readonly busyBefore?: number;
    readonly pageCacheBytes: number;
  };
  /** Versions by name: node, trawl (git describe), and each peer. */
  readonly versions: Readonly<Record<string, string>>;
}

/** What one suite (`peers`, `index`, …) measured. */
export interface SuiteReport {
  readonly suite: string;
  readonly title: string;
  readonly seconds: number;
  /** Sentences: peers that are not installed, results that differ, how the figures were measured. */
  readonly notes: readonly string[];
  readonly samples: readonly Sample[];
  readonly tables: readonly Table[];
  readonly plots: readonly Plot[];
  readonly targets: readonly Target[];
}

/** What a suite itself has found; the runner adds the rest. */
export type Findings = Omit<SuiteReport, "suite" | "title" | "seconds">;

/** Every measured value of one subject at one task, in the order of measurement. Two runs are compared by these. */
export interface Sample {
  readonly task: string;
  readonly subject: string;
  readonly unit: string;
  readonly better: "less" | "more";
  readonly values: readonly number[];
  /** Its position on the x axis of a plot, such as a number of clients. */
  readonly at?: number;
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
  /** The names along a category axis; [] on the others. */
  readonly categories: readonly string[];
}

export interface Series {
  readonly name: string;
  /** Lines on numeric axes, points or bars on a category axis, where x is the index of the category. */
  readonly kind: "line" | "points" | "bars";
  readonly points: readonly PlotPoint[];
}

export interface PlotPoint {
  readonly x: number;
  readonly y: number;
  /** The spread around y, drawn as a whisker; absent where there is none. */
  readonly low?: number;
  readonly high?: number;
}

/** One figure, and the limits it is held to. */
export interface Target {
  readonly what: string;
  readonly unit: string;
  /** Undefined where it could not be measured; the note says why. */
  readonly value: number | undefined;
  readonly better: "less" | "more";
  readonly note: string;
  /** Undefined where there is no such limit. */
  readonly must: number | undefined;
  readonly aim: number | undefined;
}

import { median, computeSpread } from "../system/measure.js";
import { short, spreadText } from "./numbers.js";
import type { Findings, Plot, Sample, Table, Target } from "./run-report.js";
import { sampleGrid, sampleTable } from "./views.js";

/** The limits of a figure. */
export interface Limits {
  readonly must?: number | undefined;
  readonly aim?: number | undefined;
}

type Values = number | readonly number[];

/** A table of samples: a row for each, or a row for each task and a column for each subject. */
interface Section {
  readonly title: string;
  readonly kind: "list" | "grid";
  /** In a grid: the subject that the others are compared with. */
  readonly reference: string | undefined;
  readonly samples: Sample[];
}

/**
 * What a suite has measured. A suite records samples, in sections; the tables of the report are made of them, and plots
 * and targets refer to them by task and subject.
 */
export class Results {
  readonly #isQuick: boolean;
  readonly #sections: Section[] = [];
  readonly #notes: string[] = [];
  readonly #tables: Table[] = [];
  readonly #plots: Plot[] = [];
  readonly #targets: Target[] = [];
  /** Tasks of a subject whose results differ from the others', so that no ratio is given. */
  readonly #incomparable = new Set<string>();

  /** Targets are those of the full corpora, so a quick run has none. */
  constructor(isQuick: boolean) {
    this.#isQuick = isQuick;
  }

  get samples(): readonly Sample[] {
    return this.#sections.flatMap(({ samples }) => samples);
  }

  /** Drops a note that is "". */
  note(...texts: readonly string[]): void {
    this.#notes.push(...texts.filter((text) => text !== ""));
  }

  /** Begins a table with a row for each sample. */
  list(title: string): void {
    this.#sections.push({ title, kind: "list", reference: undefined, samples: [] });
  }

  /** Begins a table with a row for each task; `reference` adds how many times as good it is as each other subject. */
  grid(title: string, reference?: string): void {
    this.#sections.push({ title, kind: "grid", reference, samples: [] });
  }

  /** Records values of which less is better. `at` is the position on the x axis of a plot. */
  less(task: string, subject: string, unit: string, values: Values, at?: number): void {
    this.#record({ task, subject, unit, better: "less", values: toArray(values), ...(at === undefined ? {} : { at }) });
  }

  /** Records values of which more is better. */
  more(task: string, subject: string, unit: string, values: Values, at?: number): void {
    this.#record({ task, subject, unit, better: "more", values: toArray(values), ...(at === undefined ? {} : { at }) });
  }

  setIncomparable(task: string, subject: string): void {
    this.#incomparable.add(`${task}\n${subject}`);
  }

  isComparable(task: string, subject: string): boolean {
    return !this.#incomparable.has(`${task}\n${subject}`);
  }

  /** [] when there is no such sample. */
  values(task: string, subject: string): readonly number[] {
    return this.samples.find((sample) => sample.task === task && sample.subject === subject)?.values ?? [];
  }

  /** NaN when there is no such sample. */
  median(task: string, subject: string): number {
    return median(this.values(task, subject));
  }

  /** How many times the median of `other` the median of `subject` is; undefined where their results differ. */
  ratio(task: string, subject: string, other: string): number | undefined {
    const value = this.median(task, subject) / this.median(task, other);
    const isGiven = this.isComparable(task, subject) && this.isComparable(task, other) && !Number.isNaN(value);
    return isGiven ? value : undefined;
  }

  /** The median, for a note. */
  text(task: string, subject: string, unit: string): string {
    return `${short(this.median(task, subject))} ${unit}`;
  }

  /** The median with the least and the most, for a note. */
  spread(task: string, subject: string): string {
    return spreadText(computeSpread(this.values(task, subject)));
  }

  atMost(what: string, unit: string, value: number | undefined, limits: Limits, note = ""): void {
    this.#addTarget(what, unit, value, "less", limits, note);
  }

  atLeast(what: string, unit: string, value: number | undefined, limits: Limits, note = ""): void {
    this.#addTarget(what, unit, value, "more", limits, note);
  }

  /** Adds a table that is not made of samples. */
  table(table: Table): void {
    this.#tables.push(table);
  }

  plot(plot: Plot): void {
    this.#plots.push(plot);
  }

  findings(): Findings {
    const tables = this.#sections.map(({ title, kind, reference, samples }) =>
      kind === "list"
        ? sampleTable(title, samples)
        : sampleGrid(title, samples, reference, (task, subject) => this.isComparable(task, subject)),
    );
    const [notes, plots, targets] = [this.#notes, this.#plots, this.#targets];
    return { notes, samples: this.samples, tables: [...tables, ...this.#tables], plots, targets };
  }

  #record(sample: Sample): void {
    if (this.#sections.length === 0) this.list("Measured");
    this.#sections.at(-1)?.samples.push(sample);
  }

  #addTarget(what: string, unit: string, value: number | undefined, better: "less" | "more", of: Limits, note: string) {
    const { must, aim } = this.#isQuick ? {} : of;
    this.#targets.push({ what, unit, value, better, must, aim, note });
  }
}

function toArray(values: Values): readonly number[] {
  return typeof values === "number" ? [values] : values;
}

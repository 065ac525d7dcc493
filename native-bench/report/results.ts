import { median, computeSpread } from "../system/measure.js";
import { short, spreadText } from "./numbers.js";
import type { Findings, Sample, Table, Target } from "./run-report.js";
import { samplePlot, sampleGrid, sampleTable } from "./views.js";

type Values = number | readonly number[];

/** A sample: its task and subject. */
type SampleName = readonly [task: string, subject: string];

/** A figure: the median of a sample, its quotient with that of another one, or any value, with what it must reach. */
export interface TargetRow {
  readonly what: string;
  readonly of?: SampleName;
  readonly over?: SampleName;
  readonly value?: number | undefined;
  /** Of a value; a sample has its own, and a quotient is `x`. */
  readonly unit?: string;
  /** What the value is multiplied with: 1/1000 of milliseconds are seconds. */
  readonly scale?: number;
  readonly atLeast?: Limits;
  readonly atMost?: Limits;
  readonly note?: string;
}

type Limits = readonly [must: number | undefined, aim?: number | undefined];

/** A table of samples: a row for each, or a row for each task and a column for each subject; and a plot of it. */
interface Section {
  readonly title: string;
  readonly kind: "list" | "grid";
  /** In a grid: the subject that the others are compared with. */
  readonly reference: string | undefined;
  readonly plot: string | undefined;
  readonly samples: Sample[];
}

/**
 * What a suite has measured. A suite records samples, in sections; tables and plots of the report are made of them, and
 * targets refer to them by task and subject.
 */
export class Results {
  readonly #isQuick: boolean;
  readonly #sections: Section[] = [];
  readonly #notes: string[] = [];
  readonly #tables: Table[] = [];
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
    this.#sections.push({ title, kind: "list", reference: undefined, plot: undefined, samples: [] });
  }

  /**
   * Begins a table with a row for each task; `reference` adds how many times as good it is as each other subject, and
   * `plot` names a plot of it.
   */
  grid(title: string, reference?: string, plot?: string): void {
    this.#sections.push({ title, kind: "grid", reference, plot, samples: [] });
  }

  /** Records values of which less is better. `at` is the position on the x axis of a plot. */
  less(task: string, subject: string, unit: string, values: Values, at?: number): void {
    this.#record(task, subject, unit, "less", values, at);
  }

  /** Records values of which more is better. */
  more(task: string, subject: string, unit: string, values: Values, at?: number): void {
    this.#record(task, subject, unit, "more", values, at);
  }

  setIncomparable(task: string, subject: string): void {
    this.#incomparable.add(`${task}\n${subject}`);
  }

  isComparable(task: string, subject: string): boolean {
    return !this.#incomparable.has(`${task}\n${subject}`);
  }

  find(task: string, subject: string): Sample | undefined {
    return this.samples.find((sample) => sample.task === task && sample.subject === subject);
  }

  /** [] when there is no such sample. */
  values(task: string, subject: string): readonly number[] {
    return this.find(task, subject)?.values ?? [];
  }

  /** NaN when there is no such sample. */
  median(task: string, subject: string): number {
    return median(this.values(task, subject));
  }

  /** The median, for a note. */
  text(task: string, subject: string, unit = this.find(task, subject)?.unit ?? ""): string {
    return `${short(this.median(task, subject))} ${unit}`;
  }

  targets(...rows: readonly TargetRow[]): void {
    for (const row of rows) this.#targets.push(this.#toTarget(row));
  }

  /** Adds a table that is not made of samples. */
  table(table: Table): void {
    this.#tables.push(table);
  }

  findings(): Findings {
    const tables = this.#sections.map(({ title, kind, reference, samples }) =>
      kind === "list"
        ? sampleTable(title, samples)
        : sampleGrid(title, samples, reference, (task, subject) => this.isComparable(task, subject)),
    );
    const plots = this.#sections.flatMap(({ plot, title, samples }) =>
      plot === undefined ? [] : [samplePlot(plot, title, samples)],
    );
    const [notes, targets] = [this.#notes, this.#targets];
    return { notes, samples: this.samples, tables: [...tables, ...this.#tables], plots, targets };
  }

  #record(task: string, subject: string, unit: string, better: Sample["better"], of: Values, at?: number): void {
    if (this.#sections.length === 0) this.list("Measured");
    const values = typeof of === "number" ? [of] : of;
    const sample = { task, subject, unit, better, values, ...(at === undefined ? {} : { at }) };
    this.#sections.at(-1)?.samples.push(sample);
  }

  #toTarget({ what, of, over, value, unit, scale = 1, atLeast, atMost, note }: TargetRow): Target {
    const [must, aim] = (this.#isQuick ? undefined : (atLeast ?? atMost)) ?? [];
    const [sample, other] = [of, over].map((name) => name && this.find(...name));
    const common = { what, better: atMost === undefined ? ("more" as const) : ("less" as const), must, aim };
    if (of === undefined) return { ...common, unit: unit ?? "x", value, note: note ?? "" };
    const ownUnit = unit ?? (over === undefined ? (sample?.unit ?? "") : "x");
    const missing = [of, over].filter((name, i) => name !== undefined && [sample, other][i] === undefined);
    if (missing.length > 0)
      return { ...common, unit: ownUnit, value: undefined, note: `${missing[0]?.[1]} is not measured` };
    if ([of, over].some((name) => name !== undefined && !this.isComparable(...name)))
      return { ...common, unit: ownUnit, value: undefined, note: "the results differ" };
    const [top, bottom] = [median(sample?.values ?? []), over === undefined ? 1 : median(other?.values ?? [])];
    const quotient = `${short(top)} ${sample?.unit ?? ""} against ${short(bottom)}`;
    const spread = (sample?.values.length ?? 0) > 1 ? spreadText(computeSpread(sample?.values ?? [])) : "";
    const shown = over === undefined ? spread : quotient;
    return { ...common, unit: ownUnit, value: (top / bottom) * scale, note: note ?? shown };
  }
}

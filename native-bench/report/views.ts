/** Tables and plots of samples. */
import { computeSpread, median, type WatchedMemory } from "../system/measure.js";
import { short, spreadText } from "./numbers.js";
import type { Axis, Plot, PlotPoint, Sample, Series, Table } from "./run-report.js";

/** A text is shown as it is, a number in short, several values as their median and span, undefined and [] as nothing. */
export type Cell = string | number | readonly number[] | undefined;

/** The head of a column, and what it shows of an item. */
export type Column<Item> = readonly [head: string, cell: (item: Item) => Cell];

/** A row for each item. */
export function table<Item>(title: string, items: readonly Item[], columns: readonly Column<Item>[]): Table {
  const rows = items.map((item) => columns.map(([, cell]) => cellText(cell(item))));
  return { title, head: columns.map(([head]) => head), rows };
}

function cellText(cell: Cell): string {
  if (cell === undefined) return "";
  if (typeof cell === "string") return cell;
  if (typeof cell === "number") return short(cell);
  return cell.length === 0 ? "" : spreadText(computeSpread(cell));
}

/** A row for each sample. */
export function sampleTable(title: string, samples: readonly Sample[]): Table {
  return table(title, samples, [
    ["task", ({ task }) => task],
    ["subject", ({ subject }) => subject],
    ["unit", ({ unit }) => unit],
    ["median (min..max)", ({ values }) => values],
    ["values", ({ values }) => values.length],
  ]);
}

/**
 * A row for each task and a column for each subject. With a reference, the columns `vs SUBJECT` show how many times as good
 * as the subject the reference is, by their medians.
 */
export function sampleGrid(
  title: string,
  samples: readonly Sample[],
  reference: string | undefined,
  isComparable: (task: string, subject: string) => boolean,
): Table {
  const tasks = distinct(samples.map(({ task }) => task));
  const subjects = distinct(samples.map(({ subject }) => subject));
  const find = (task: string, subject: string): Sample | undefined =>
    samples.find((sample) => sample.task === task && sample.subject === subject);
  const unitsOf = (of: (sample: Sample) => string, name: string): readonly string[] =>
    distinct(samples.filter((sample) => of(sample) === name).map(({ unit }) => unit));
  const isUnitOfRow = tasks.every((task) => unitsOf((sample) => sample.task, task).length === 1);
  const headOf = (subject: string): string =>
    isUnitOfRow ? subject : `${subject}, ${unitsOf((sample) => sample.subject, subject).join(" or ")}`;
  const versus = (task: string, subject: string): string => {
    const [ours, other] = [find(task, reference ?? ""), find(task, subject)];
    if (ours === undefined || other === undefined) return "";
    if (!isComparable(task, subject) || !isComparable(task, ours.subject)) return "differs";
    const ratio = median(ours.values) / median(other.values);
    return Number.isFinite(1 / ratio) && ratio > 0 ? `${short(ours.better === "more" ? ratio : 1 / ratio)}x` : "";
  };
  const others = reference === undefined ? [] : subjects.filter((subject) => subject !== reference);
  return table(title, tasks, [
    ["task", (task) => task],
    ...(isUnitOfRow ? [["unit", (task) => unitsOf((sample) => sample.task, task)[0]] satisfies Column<string>] : []),
    ...subjects.map((subject): Column<string> => [headOf(subject), (task) => find(task, subject)?.values]),
    ...others.map((subject): Column<string> => [`vs ${subject}`, (task) => versus(task, subject)]),
  ]);
}

export function axis(label: string, scale: "linear" | "log"): Axis {
  return { label, scale, categories: [] };
}

export function line(name: string, points: readonly PlotPoint[]): Series {
  return { name, kind: "line", points };
}

/** The median, with a whisker from the least to the most where there are several values; [] of none. */
function spreadPoint(x: number, values: readonly number[]): PlotPoint[] {
  if (values.length === 0) return [];
  const { min, median, max } = computeSpread(values);
  return [values.length === 1 ? { x, y: median } : { x, y: median, low: min, high: max }];
}

/** What a plot of samples is called, and what its axes show. */
export interface PlotText {
  readonly name: string;
  readonly title: string;
  readonly x: string;
  readonly y: string;
}

/** A row for each task, and in it each subject's values. `label` names a task. */
export function taskPlot(
  { name, title, x, y }: PlotText,
  kind: "points" | "bars",
  samples: readonly Sample[],
  label: (task: string) => string = (task) => task,
): Plot {
  const tasks = distinct(samples.map(({ task }) => task));
  const series = distinct(samples.map(({ subject }) => subject)).map((subject): Series => {
    const own = samples.filter((sample) => sample.subject === subject);
    return { name: subject, kind, points: own.flatMap(({ task, values }) => spreadPoint(tasks.indexOf(task), values)) };
  });
  return { name, title, x: { label: x, scale: "category", categories: tasks.map(label) }, y: axis(y, "log"), series };
}

/** A line for each subject, along the samples' `at`; `label` names it. Both axes are logarithmic. */
export function curvePlot(
  { name, title, x, y }: PlotText,
  samples: readonly Sample[],
  label: (sample: Sample) => string = ({ subject }) => subject,
): Plot {
  const series = distinct(samples.map(label)).map((of) => {
    const own = samples.filter((sample) => label(sample) === of);
    return line(
      of,
      own.flatMap(({ at = NaN, values }) => spreadPoint(at, values)),
    );
  });
  return { name, title, x: axis(x, "log"), y: axis(y, "log"), series };
}

/** Memory of a daemon over time, in three lines. */
export function memoryPlot(name: string, title: string, history: WatchedMemory["history"]): Plot {
  const series = (label: string, field: "residentBytes" | "anonymousBytes" | "childrenBytes"): Series =>
    line(label, peaks(history.map((moment) => ({ x: moment.seconds, y: moment[field] / 1e6 }))));
  return {
    name,
    title,
    x: axis("time, s", "linear"),
    y: axis("memory, MB", "linear"),
    series: [
      series("resident", "residentBytes"),
      series("anonymous", "anonymousBytes"),
      series("git's processes", "childrenBytes"),
    ],
  };
}

const plotPointsMax = 200;

/** At most `plotPointsMax` points: the highest of each stretch, so that no peak is lost. */
function peaks(points: readonly PlotPoint[]): PlotPoint[] {
  const stretch = Math.ceil(points.length / plotPointsMax);
  const highest = (from: number, first: PlotPoint): PlotPoint =>
    points.slice(from, from + stretch).reduce((max, point) => (point.y > max.y ? point : max), first);
  return points.flatMap((first, i) => (i % stretch > 0 ? [] : [highest(i, first)]));
}

function distinct(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)];
}

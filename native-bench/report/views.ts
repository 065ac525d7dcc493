/** Tables and plots of samples. */
import { computeSpread, median } from "../system/measure.js";
import { short, spreadText } from "./numbers.js";
import type { Plot, PlotPoint, Sample, Series, Table } from "./run-report.js";

/** A text is shown as it is, a number in short, several values as their median and span, undefined and [] as nothing. */
type Cell = string | number | readonly number[] | undefined;

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

/**
 * A plot of samples: with positions (`at`) a line for each subject along them, else a row for each task and in it each
 * subject's values. Values have a logarithmic axis.
 */
export function samplePlot(name: string, title: string, samples: readonly Sample[]): Plot {
  const placed = samples.filter(({ at }) => at !== undefined);
  const shown = placed.length > 0 ? placed : samples;
  const tasks = placed.length > 0 ? [] : distinct(samples.map(({ task }) => task));
  const kind = placed.length > 0 ? "line" : "points";
  const series = distinct(shown.map(({ subject }) => subject)).map((subject): Series => {
    const own = shown.filter((sample) => sample.subject === subject);
    const points = own.flatMap(({ task, at = tasks.indexOf(task), values }) => spreadPoint(at, values));
    return { name: subject, kind, points };
  });
  const y = { label: distinct(shown.map(({ unit }) => unit)).join(", "), scale: "log", categories: [] } as const;
  const x = { label: "", scale: placed.length > 0 ? "log" : "category", categories: tasks } as const;
  return { name, title, x, y, series };
}

/** The median, with the least and the most where there are several values; [] of none. */
function spreadPoint(x: number, values: readonly number[]): PlotPoint[] {
  if (values.length === 0) return [];
  const { min, median, max } = computeSpread(values);
  return [values.length === 1 ? { x, y: median } : { x, y: median, low: min, high: max }];
}

function distinct(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)];
}

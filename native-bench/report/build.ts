/** Tables, samples and plots from measured values: what the suites describe their findings with. */
import { median, computeSpread, type WatchedMemory } from "../system/measure.js";
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

/** A table whose rows are at hand. */
export function rowTable(title: string, head: readonly string[], rows: readonly (readonly Cell[])[]): Table {
  return { title, head, rows: rows.map((row) => row.map(cellText)) };
}

/** A row for each sample. */
export function sampleTable(samples: readonly Sample[]): Table {
  return table("Measured", samples, [
    ["task", ({ task }) => task],
    ["subject", ({ subject }) => subject],
    ["unit", ({ unit }) => unit],
    ["median (min..max)", ({ values }) => values],
    ["values", ({ values }) => values.length],
  ]);
}

function cellText(cell: Cell): string {
  if (cell === undefined) return "";
  if (typeof cell === "string") return cell;
  if (typeof cell === "number") return short(cell);
  return cell.length === 0 ? "" : spreadText(computeSpread(cell));
}

/** Values of which less is better. */
export function less(task: string, subject: string, unit: string, values: readonly number[]): Sample {
  return { task, subject, unit, better: "less", values };
}

/** Values of which more is better. */
export function more(task: string, subject: string, unit: string, values: readonly number[]): Sample {
  return { task, subject, unit, better: "more", values };
}

export function axis(label: string, scale: "linear" | "log"): Axis {
  return { label, scale, categories: [] };
}

export function line(name: string, points: readonly PlotPoint[]): Series {
  return { name, kind: "line", points };
}

/** The median, with a whisker from the least to the most where there are several values; [] of none. */
export function spreadPoint(x: number, values: readonly number[] | undefined): PlotPoint[] {
  if (values === undefined || values.length === 0) return [];
  const { min, median, max } = computeSpread(values);
  return [values.length === 1 ? { x, y: median } : { x, y: median, low: min, high: max }];
}

/** What a plot with a row for each category shows. */
export interface CategoryPlot {
  readonly name: string;
  readonly title: string;
  readonly kind: "points" | "bars";
  /** What the categories are, and their names. */
  readonly label: string;
  readonly categories: readonly string[];
  /** The name and unit of the values. */
  readonly values: string;
  readonly series: readonly string[];
  /** The values of a series at the category of this index; undefined or [] where there are none. */
  readonly at: (series: string, category: number) => readonly number[] | undefined;
}

export function categoryPlot({ name, title, kind, label, categories, values, series, at }: CategoryPlot): Plot {
  const toPoints = (each: string): PlotPoint[] => categories.flatMap((_, x) => spreadPoint(x, at(each, x)));
  return {
    name,
    title,
    x: { label, scale: "category", categories },
    y: axis(values, "log"),
    series: series.map((each) => ({ name: each, kind, points: toPoints(each) })),
  };
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

/** How many times `b` the value `a` is, by their medians. */
export function ratio(a: readonly number[], b: readonly number[]): number {
  return median(a) / median(b);
}

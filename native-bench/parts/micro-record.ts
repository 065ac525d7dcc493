import type { PartRecord, Plot, PlotPoint, Series } from "../report/record.js";
import { limitOf, samplesOf, spreadAt, tableOf, type BenchResult } from "../micro/bench.js";

export interface MeasuredGroup {
  readonly title: string;
  readonly results: readonly BenchResult[];
}

const notes = [
  "Each figure is the median, with the least and the most of the rounds behind it; a ratio is that of two medians. Before any time counts, what the subjects of a row find or write is compared.",
  "Limits are measured in the same rounds on the same bytes. By a small C program, one thread: `memory` adds up all words of the text; `copying` copies it into one buffer of 128 KiB; `plain sums` adds up bytes and writes the sums as words; `C library` is memmem, or memchr for newlines. `file` writes as many bytes and waits for the disk; `messages` are those of a worker thread without a pool; `one call each` calls a function of the kernel that has nothing to do.",
  "`ts` is the kernel in plain TypeScript. Text lies in LMDB's map, as it does for a search.",
];

/** What was measured as tables, plots and figures. */
export function describeMicro(
  groups: readonly MeasuredGroup[],
): Pick<PartRecord, "notes" | "samples" | "tables" | "plots" | "claims"> {
  return {
    notes: [...notes, ...disagreements(groups)],
    samples: groups.flatMap(({ title, results }) => samplesOf(title, results)),
    tables: groups.map(({ title, results }) => tableOf(title, results)),
    plots: [sharePlot(groups.flatMap(({ results }) => results))],
    claims: [],
  };
}

function disagreements(groups: readonly MeasuredGroup[]): string[] {
  return groups.flatMap(({ title, results }) =>
    results.flatMap(({ bench, disagreement }) =>
      disagreement === undefined
        ? []
        : [`${title}, ${bench.task}: the results differ (${disagreement}), so there is no ratio.`],
    ),
  );
}

/** Which subjects each series of the shares has the figures of; the first of a bench is ours whatever it is called. */
const inTypeScript = ["ts", "V8 on strings"];
const inC = ["C library"];

function sharePlot(results: readonly BenchResult[]): Plot {
  const rows = results.filter(({ bench }) => limitOf(bench) !== undefined);
  const series = (name: string, subjectsOf: (row: BenchResult) => readonly string[]): Series => ({
    name,
    kind: "points",
    points: rows.flatMap((row, x) => subjectsOf(row).flatMap((subject) => sharePoint(row, subject, x))),
  });
  const all = [
    series(
      "ours",
      ({
        bench: {
          subjects: [ours],
        },
      }) => (ours === undefined ? [] : [ours.name]),
    ),
    series("in TypeScript", () => inTypeScript),
    series("C library", () => inC),
  ];
  return {
    name: "micro-shares",
    title: "Share of the machine's limit, one thread",
    x: { label: "", scale: "category", categories: rows.map(({ bench: { task } }) => task.replaceAll("`", "")) },
    y: { label: "% of the limit", scale: "log", categories: [] },
    series: all.filter(({ points }) => points.length > 0),
  };
}

function sharePoint(row: BenchResult, subject: string, x: number): PlotPoint[] {
  const spread = spreadAt(row, subject);
  const limit = spreadAt(row, limitOf(row.bench) ?? "");
  if (spread === undefined || limit === undefined || row.disagreement !== undefined) return [];
  const share = (value: number): number => (100 * value) / limit.median;
  return [{ x, y: share(spread.median), low: share(spread.min), high: share(spread.max) }];
}

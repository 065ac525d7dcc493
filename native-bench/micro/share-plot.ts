import { categoryPlot } from "../report/build.js";
import type { Plot } from "../report/run-report.js";
import { median } from "../system/measure.js";
import { limitName, findRates, type BenchResult } from "./bench.js";

/** Which subjects each series shows; the first subject of a bench is ours, whatever its name. */
const subjects: Readonly<Record<string, readonly string[]>> = {
  "in TypeScript": ["ts", "V8 on strings"],
  "C library": ["C library"],
};

/** What each subject reaches of the limit of its bench, in percent. */
export function sharePlot(results: readonly BenchResult[]): Plot {
  const rows = results.filter(
    ({ bench, disagreement }) => limitName(bench) !== undefined && disagreement === undefined,
  );
  const findShares = (series: string, row: BenchResult | undefined): number[] => {
    if (row === undefined) return [];
    const limit = median(findRates(row, limitName(row.bench) ?? ""));
    const names = subjects[series] ?? row.bench.subjects.slice(0, 1).map(({ name }) => name);
    return names.flatMap((name) => findRates(row, name).map((rate) => (100 * rate) / limit));
  };
  const all = ["ours", ...Object.keys(subjects)];
  return categoryPlot({
    name: "micro-shares",
    title: "Share of the machine's limit, one thread",
    kind: "points",
    label: "",
    categories: rows.map(({ bench }) => bench.task.replaceAll("`", "")),
    values: "% of the limit",
    series: all.filter((series) => rows.some((row) => findShares(series, row).length > 0)),
    at: (series, i) => findShares(series, rows[i]),
  });
}

/** The report of a soak test: docs/soak.md and its plots. */
import { writeFileSync } from "node:fs";
import { renderPlot } from "../../native-bench/report/plot.js";
import type { Axis, Plot, Series } from "../../native-bench/report/run-report.js";
import { conditions } from "../faults/results.js";
import { quantile } from "./full-run.js";
import type { Resources } from "./resources.js";

/** One second of a soak test. */
export interface SoakSample extends Resources {
  readonly second: number;
  readonly syncMs: number;
  readonly searchMs: number;
  readonly graphqlMs: number;
  readonly mirrorBytes: number;
  readonly mirrorFiles: number;
}

export interface SoakCounts {
  readonly seconds: number;
  readonly commits: number;
  readonly searches: number;
  readonly wrong: number;
  readonly left: number;
}

type Field = Exclude<keyof SoakSample, "second">;

const MiB = 2 ** 20;

interface Row {
  readonly field: Field;
  readonly name: string;
  readonly print: (value: number) => string;
}

const bytes = (value: number): string => `${(value / MiB).toFixed(2)} MiB`;
const count = (value: number): string => String(Math.round(value));
const time = (value: number): string => `${value.toFixed(1)} ms`;

/** The rows of the soak report, in order. */
export const soakRows: readonly Row[] = [
  { field: "memoryBytes", name: "process memory, excluding mapped files", print: bytes },
  { field: "heapBytes", name: "main-thread heap", print: bytes },
  { field: "externalBytes", name: "main-thread buffers", print: bytes },
  { field: "descriptors", name: "open descriptors", print: count },
  { field: "threads", name: "threads", print: count },
  { field: "readers", name: "LMDB reader slots", print: count },
  { field: "reading", name: "of those, in a transaction", print: count },
  { field: "shardBytes", name: "shard store file size", print: bytes },
  { field: "catalogBytes", name: "catalog file size", print: bytes },
  { field: "mirrorBytes", name: "mirrors, including history", print: bytes },
  { field: "mirrorFiles", name: "number of mirror files", print: count },
  { field: "syncMs", name: "sync requested to commit searchable", print: time },
  { field: "searchMs", name: "a search for 12,000 lines", print: time },
  { field: "graphqlMs", name: "a GraphQL request", print: time },
];

/** Number of equal periods that are compared; the first is the warm-up. */
const parts = 6;

/** The values of a field in one of `partCount` equal periods. */
export function partOf(samples: readonly SoakSample[], field: Field, part: number, partCount: number): number[] {
  const size = samples.length / partCount;
  return samples.slice(Math.floor(part * size), Math.floor((part + 1) * size)).map((sample) => sample[field]);
}

/** Growth per hour by a least-squares line, excluding the first third. */
export function slopePerHour(samples: readonly SoakSample[], field: Field): number {
  const warm = samples.slice(Math.floor(samples.length / 3));
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [x, y] = [mean(warm.map(({ second }) => second)), mean(warm.map((sample) => sample[field]))];
  const above = warm.reduce((sum, sample) => sum + (sample.second - x) * (sample[field] - y), 0);
  const below = warm.reduce((sum, sample) => sum + (sample.second - x) ** 2, 0);
  return below === 0 ? 0 : (3600 * above) / below;
}

export function writeSoakReport(samples: readonly SoakSample[], counts: SoakCounts): void {
  const plots = plotsOf(samples);
  for (const plot of plots) writeFileSync(`docs/${plot.name}.svg`, renderPlot(plot));
  const { date, commit, machine, load } = conditions();
  const isTime = ({ field }: Row): boolean => field.endsWith("Ms");
  const medians = (row: Row): string[] =>
    Array.from({ length: parts }, (_, part) => {
      const values = partOf(samples, row.field, part, parts);
      return row.print(quantile(values, 0.5)) + (isTime(row) ? ` (${row.print(quantile(values, 0.99))})` : "");
    });
  writeFileSync(
    "docs/soak.md",
    `# Soak

${counts.seconds} s with one commit per second to a repository of 600 files. After each commit the repository is synced and searched, both at this
commit and at an older one that is not indexed, and the results are compared with git; one GraphQL request is made, and one client disconnects
from an exhaustive search. \`make soak\` generates this page. ${counts.commits} commits, ${counts.searches} searches compared, **${counts.wrong} wrong**, ${counts.left} clients disconnected.

${date}, commit ${commit}, ${machine}; load average ${load} at the end, including this test and its git children.

Medians of six equal periods (99th percentile in parentheses), and the growth per hour according to a least-squares line through the last two
thirds:

| | ${Array.from({ length: parts }, (_, part) => `part ${part + 1}`).join(" | ")} | growth per hour |
|---|${"---|".repeat(parts)}---|
${soakRows.map((row) => `| ${row.name} | ${medians(row).join(" | ")} | ${row.print(slopePerHour(samples, row.field))} |`).join("\n")}

${plots.map(({ name, title }) => `![${title}](${name}.svg)`).join("\n\n")}
`,
  );
}

/** Seconds per plotted point. */
function binSeconds(samples: readonly SoakSample[]): number {
  return Math.max(1, Math.ceil(samples.length / 360));
}

function lineOf(samples: readonly SoakSample[], name: string, field: Field, part: number, unit: number): Series {
  const bin = binSeconds(samples);
  const points = Array.from({ length: Math.ceil(samples.length / bin) }, (_, i) => {
    const values = samples.slice(i * bin, (i + 1) * bin);
    return {
      x: (values[0]?.second ?? 0) / 60,
      y:
        quantile(
          values.map((sample) => sample[field]),
          part,
        ) / unit,
    };
  });
  return { name, kind: "line", points };
}

function plotsOf(samples: readonly SoakSample[]): Plot[] {
  const x: Axis = { label: "minutes", scale: "linear", categories: [] };
  const axis = (label: string, scale: Axis["scale"] = "linear"): Axis => ({ label, scale, categories: [] });
  const line = (name: string, field: Field, part = 0.5, unit = 1): Series => lineOf(samples, name, field, part, unit);
  return [
    {
      name: "soak-memory",
      title: "Memory of the daemon with one commit per second",
      x,
      y: axis("MiB"),
      series: [
        line("process", "memoryBytes", 0.5, MiB),
        line("main heap", "heapBytes", 0.5, MiB),
        line("main buffers", "externalBytes", 0.5, MiB),
      ],
    },
    {
      name: "soak-counts",
      title: "File descriptors, threads and LMDB reader slots",
      x,
      y: axis("number"),
      series: [
        line("descriptors", "descriptors"),
        line("threads", "threads"),
        line("readers", "readers"),
        line("reading", "reading", 1),
      ],
    },
    {
      name: "soak-files",
      title: "File sizes of the two stores",
      x,
      y: axis("MiB"),
      series: [line("shards", "shardBytes", 0.5, MiB), line("catalog", "catalogBytes", 0.5, MiB)],
    },
    {
      name: "soak-latency",
      title: "Times of a sync, a search and a GraphQL request",
      x,
      y: axis("ms", "log"),
      series: [
        line("sync", "syncMs"),
        line("sync, longest", "syncMs", 1),
        line("search", "searchMs"),
        line("search, longest", "searchMs", 1),
        line("GraphQL", "graphqlMs"),
      ],
    },
  ];
}

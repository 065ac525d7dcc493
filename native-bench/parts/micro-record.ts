import { atLeast } from "../report/claims.js";
import { short } from "../report/numbers.js";
import type { Claim, PartRecord, Plot, PlotPoint, Series } from "../report/record.js";
import { limitOf, ratioTo, samplesOf, spreadAt, tableOf, type BenchResult } from "../micro/bench.js";
import { foundTitle, readerCounts, readersText } from "../micro/streams.js";

export interface MeasuredGroup {
  readonly title: string;
  readonly results: readonly BenchResult[];
}

const notes = [
  "Each figure is the median, with the least and the most of the rounds behind it; a ratio is that of two medians. Before any time counts, what the subjects of a row find or write is compared.",
  "Limits are measured in the same rounds on the same bytes. By a small C program, one thread: `memory` adds up all words of the text; `copying` copies it into one buffer of 128 KiB; `plain sums` adds up bytes and writes the sums as words; `C library` is memmem, or memchr for newlines. `file` writes as many bytes and waits for the disk; `messages` are those of a worker thread without a pool; `one call each` calls a function of the kernel that has nothing to do; `socket` sends an answer over TCP that was finished before.",
  "`ts` is the kernel in plain TypeScript. Text lies in LMDB's map, as it does for a search.",
  "Event streams go over loopback, from a process for each way. Of found matches, ours starts from places in the text, cuts the lines out, writes JSON and makes events of it in one thread, by the code that serves a search; node:http has the matches as objects already, and sends `JSON.stringify` of those of an event. Both send the same elements. With gzip, zlib at its fastest level is what takes the time on both sides.",
  "Of finished events nothing is left to do but to frame and to send. There a system call takes the time: ours and uWebSockets.js send 15,000 bytes in each, node:http and the bare socket the whole event. The release of uWebSockets.js that we use loses larger blocks when a socket is full.",
];

/** What was measured as tables, plots and figures. */
export function describeMicro(
  groups: readonly MeasuredGroup[],
  hasLimits: boolean,
): Pick<PartRecord, "notes" | "samples" | "tables" | "plots" | "claims"> {
  const streams = groups.find(({ title }) => title === foundTitle)?.results ?? [];
  return {
    notes: [...notes, ...disagreements(groups)],
    samples: groups.flatMap(({ title, results }) => samplesOf(title, results)),
    tables: groups.map(({ title, results }) => tableOf(title, results)),
    plots: [sharePlot(groups.flatMap(({ results }) => results)), readersPlot(streams)],
    claims: streams.filter(({ bench }) => !bench.task.includes("gzip")).map((result) => streamClaim(result, hasLimits)),
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

function readersPlot(streams: readonly BenchResult[]): Plot {
  const names = [...new Set(streams.flatMap(({ bench }) => bench.subjects.map(({ name }) => name)))];
  const pointsOf = (name: string): PlotPoint[] =>
    readerCounts.flatMap((x) => {
      const row = streams.find(({ bench }) => bench.task === readersText(x));
      const spread = row === undefined ? undefined : spreadAt(row, name);
      return spread === undefined ? [] : [{ x, y: spread.median, low: spread.min, high: spread.max }];
    });
  return {
    name: "micro-readers",
    title: "Event streams of found matches: matches a second against readers",
    x: { label: "readers at a time", scale: "log", categories: [] },
    y: { label: "million matches/s, all readers together", scale: "linear", categories: [] },
    series: names.map((name) => ({ name, kind: "line", points: pointsOf(name) })),
  };
}

function streamClaim(result: BenchResult, hasLimits: boolean): Claim {
  const limits = hasLimits ? { must: 2, aim: 3 } : { must: undefined, aim: undefined };
  const millions = (name: string): string => short(spreadAt(result, name)?.median ?? NaN);
  const note = `${millions("trawl")} million against ${millions("node:http")}`;
  return atLeast(
    `SSE matches a second ÷ node:http, ${result.bench.task}`,
    "x",
    ratioTo(result, "node:http") ?? NaN,
    limits,
    note,
  );
}

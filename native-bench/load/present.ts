import { durationText, grouped, short } from "../report/numbers.js";
import type { Axis, Plot, Series, Table } from "../report/run-report.js";
import { failureTable } from "./failure.js";
import type { Pace } from "./options.js";
import type { ClassResult, LoadResult } from "./result.js";

/** What a run was, in a line. */
export function loadTitle({ url, pace, connections, sendingSeconds }: LoadResult): string {
  return `${url}: ${paceText(pace)}, at most ${grouped(connections)} connections, ${durationText(sendingSeconds)}`;
}

function paceText(pace: Pace): string {
  return pace.kind === "open"
    ? `${short(pace.ratePerSecond)} requests a second`
    : `${grouped(pace.concurrency)} clients`;
}

/** Counts and latencies by class, and the failures by kind, if there are any. */
export function loadTables(result: LoadResult): Table[] {
  const { classes } = result;
  const counts: Table = {
    title: loadTitle(result),
    head: ["class", "due", "answered", "left", "failed", "per second", "MB/s", "slowest ÷ fastest"],
    rows: classes.map(countRow),
  };
  const latencies: Table = {
    title: "Latency in ms, from when a request was due",
    head: ["class", "p50", "p90", "p99", "p99.9", "max", "first matches p50", "p99", "p99.9"],
    rows: classes.map(latencyRow),
  };
  const failures: Table = {
    title: "Failures",
    head: ["class", "kind", "count", "meaning", "the first one"],
    rows: classes.flatMap(({ name, failures }) =>
      failures.map(({ kind, count, example }) => [
        name,
        kind,
        grouped(count),
        failureTable[kind].meaning,
        example.replace(/\s+/g, " ").slice(0, exampleLength),
      ]),
    ),
  };
  return [counts, latencies, ...(failures.rows.length === 0 ? [] : [failures])];
}

const exampleLength = 100;

function countRow({ name, due, whole, left, failures, goodPerSecond, bytesPerSecond, queries }: ClassResult): string[] {
  const failed = failures.reduce((sum, { count }) => sum + count, 0);
  const ratio = unfairness(queries);
  return [
    name,
    grouped(due),
    grouped(whole),
    grouped(left),
    grouped(failed),
    short(goodPerSecond),
    short(bytesPerSecond / 1e6),
    ratio === undefined ? "" : short(ratio),
  ];
}

function latencyRow({ name, latency, firstMatches }: ClassResult): string[] {
  const cells = (count: number, values: readonly number[]): string[] =>
    values.map((ms) => (count === 0 ? "" : short(ms)));
  const { p50Ms, p90Ms, p99Ms, p999Ms, maxMs } = latency;
  return [
    name,
    ...cells(latency.count, [p50Ms, p90Ms, p99Ms, p999Ms, maxMs]),
    ...cells(firstMatches.count, [firstMatches.p50Ms, firstMatches.p99Ms, firstMatches.p999Ms]),
  ];
}

/** Of the query whose answers differ most in time; undefined when none was answered twice. */
export function unfairness(queries: ClassResult["queries"]): number | undefined {
  const ratios = queries.filter(({ whole }) => whole > 1).map(({ fastestMs, slowestMs }) => slowestMs / fastestMs);
  return ratios.length === 0 ? undefined : Math.max(...ratios);
}

/** What the generator took, and a warning where its figures would be about itself. */
export function generatorNotes({ generator: { cpuShare, lateness }, timeline }: LoadResult): string[] {
  const note =
    `The generator used ${short(100 * cpuShare)} % of a core; requests were sent ${short(lateness.p50Ms)} ms late at the median, ` +
    `${short(lateness.p99Ms)} ms at p99, which is in the latencies.`;
  const waited = timeline.some(({ waiting }) => waiting > 0)
    ? ["Requests waited for a connection: --connections bounds what was measured."]
    : [];
  const busy =
    cpuShare > busyShare
      ? ["The generator was busy most of the time: the figures tell of it as much as of the server."]
      : [];
  return [note, ...waited, ...busy];
}

const busyShare = 0.8;

/** The latency by percentile, and over time. */
export function loadPlots(result: LoadResult): Plot[] {
  const title = loadTitle(result);
  return [
    {
      name: "load-percentiles",
      title: `Latency by percentile · ${title}`,
      x: axis("one of so many requests takes longer (100: p99)", "log"),
      y: axis("milliseconds", "log"),
      series: result.classes.map(({ name, latencyCurve }) => ({
        name,
        kind: "line",
        points: latencyCurve.map(({ share, ms }) => ({ x: share, y: ms })),
      })),
    },
    {
      name: "load-time",
      title: `Latency over time · ${title}`,
      x: axis("seconds since the beginning", "linear"),
      y: axis("milliseconds", "log"),
      series: result.classes.flatMap(({ name }) => [
        timeSeries(result, name, "p50", "p50Ms"),
        timeSeries(result, name, "p99", "p99Ms"),
      ]),
    },
  ];
}

function timeSeries({ timeline }: LoadResult, name: string, percentile: string, field: "p50Ms" | "p99Ms"): Series {
  const points = timeline.flatMap(({ second, classes }) => {
    const found = classes.find((of) => of.name === name && of.count > 0);
    return found === undefined ? [] : [{ x: second + 1, y: found[field] }];
  });
  return { name: `${name} ${percentile}`, kind: "line", points };
}

function axis(label: string, scale: Axis["scale"]): Axis {
  return { label, scale, categories: [] };
}

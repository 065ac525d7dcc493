import { failureTable } from "./answer-check.js";
import type { ClassResult, Distribution, LoadResult, SecondRow } from "./options.js";
import { durationText, grouped, short } from "../report/numbers.js";
import type { Plot, Series, Table } from "../report/run-report.js";
import { axis, type Cell, line, table } from "../report/views.js";

/** A run in one line. */
function title({ url, pace, connections, sendingSeconds }: LoadResult): string {
  const rate =
    pace.kind === "open" ? `${short(pace.ratePerSecond)} requests a second` : `${grouped(pace.concurrency)} clients`;
  return `${url}: ${rate}, at most ${grouped(connections)} connections, ${durationText(sendingSeconds)}`;
}

const exampleLength = 100;

/** Counts and latencies by class, and the failures by kind, if there are any. */
export function loadTables(result: LoadResult): Table[] {
  const { classes } = result;
  const ms = ({ count }: Distribution, value: number): Cell => (count === 0 ? "" : value);
  const failures = classes.flatMap(({ name, failures }) => failures.map((failure) => ({ name, ...failure })));
  const tables = [
    table(title(result), classes, [
      ["class", ({ name }) => name],
      ["due", ({ due }) => due],
      ["answered", ({ whole }) => whole],
      ["left", ({ left }) => left],
      ["failed", ({ failures }) => failures.reduce((sum, { count }) => sum + count, 0)],
      ["per second", ({ goodPerSecond }) => goodPerSecond],
      ["MB/s", ({ bytesPerSecond }) => bytesPerSecond / 1e6],
      ["slowest ÷ fastest", ({ queries }) => unfairness(queries)],
    ]),
    table("Latency in ms, from when a request was due", classes, [
      ["class", ({ name }) => name],
      ["p50", ({ latency }) => ms(latency, latency.p50Ms)],
      ["p90", ({ latency }) => ms(latency, latency.p90Ms)],
      ["p99", ({ latency }) => ms(latency, latency.p99Ms)],
      ["p99.9", ({ latency }) => ms(latency, latency.p999Ms)],
      ["max", ({ latency }) => ms(latency, latency.maxMs)],
      ["first matches p50", ({ firstMatches }) => ms(firstMatches, firstMatches.p50Ms)],
      ["p99", ({ firstMatches }) => ms(firstMatches, firstMatches.p99Ms)],
      ["p99.9", ({ firstMatches }) => ms(firstMatches, firstMatches.p999Ms)],
    ]),
    table("Failures", failures, [
      ["class", ({ name }) => name],
      ["kind", ({ kind }) => kind],
      ["count", ({ count }) => count],
      ["meaning", ({ kind }) => failureTable[kind].meaning],
      ["the first one", ({ example }) => example.replace(/\s+/g, " ").slice(0, exampleLength)],
    ]),
  ];
  return failures.length === 0 ? tables.slice(0, 2) : tables;
}

/** Of the query whose answers differ most in time, slowest ÷ fastest; undefined when none was answered twice. */
export function unfairness(queries: ClassResult["queries"]): number | undefined {
  const ratios = queries.filter(({ whole }) => whole > 1).map(({ fastestMs, slowestMs }) => slowestMs / fastestMs);
  return ratios.length === 0 ? undefined : Math.max(...ratios);
}

const busyShare = 0.8;

/** The cost of the generator, and a warning where its figures would be about itself. */
export function generatorNotes({ generator: { cpuShare, lateness }, timeline }: LoadResult): string[] {
  const late = `${short(lateness.p50Ms)} ms late at the median, ${short(lateness.p99Ms)} ms at p99`;
  const notes = [
    `The generator used ${short(100 * cpuShare)} % of a core; requests were sent ${late}, which the latencies include.`,
  ];
  if (timeline.some(({ waiting }) => waiting > 0))
    notes.push("Requests waited for a connection: --connections bounds what was measured.");
  if (cpuShare > busyShare)
    notes.push("The generator was busy most of the time: the figures describe it as much as the server.");
  return notes;
}

/** The latency by percentile, and over time. */
export function loadPlots(result: LoadResult): Plot[] {
  const { classes } = result;
  const y = axis("milliseconds", "log");
  const curves = classes.map(({ name, latencyCurve }) =>
    line(
      name,
      latencyCurve.map(({ share, ms }) => ({ x: share, y: ms })),
    ),
  );
  return [
    {
      name: "load-percentiles",
      title: `Latency by percentile · ${title(result)}`,
      x: axis("one of this many requests takes longer (100: p99)", "log"),
      y,
      series: curves,
    },
    {
      name: "load-time",
      title: `Latency over time · ${title(result)}`,
      x: axis("seconds since the beginning", "linear"),
      y,
      series: classes.flatMap(({ name }) => [
        timeSeries(result, name, "p50", "p50Ms"),
        timeSeries(result, name, "p99", "p99Ms"),
      ]),
    },
  ];
}

function timeSeries({ timeline }: LoadResult, name: string, percentile: string, field: "p50Ms" | "p99Ms"): Series {
  const points = timeline.flatMap(({ second, classes }) => {
    const found = classes.find((each) => each.name === name && each.count > 0);
    return found === undefined ? [] : [{ x: second + 1, y: found[field] }];
  });
  return line(`${name} ${percentile}`, points);
}

/** Shows a running load: on a terminal a few lines that are redrawn each second, otherwise a line each second. */
export class LiveView {
  readonly #out: NodeJS.WriteStream;
  readonly #durationSeconds: number;
  #drawnLines = 0;

  constructor(out: NodeJS.WriteStream, durationSeconds: number) {
    this.#out = out;
    this.#durationSeconds = durationSeconds;
  }

  show(row: SecondRow): void {
    const lines = viewLines(row, this.#durationSeconds);
    if (!this.#out.isTTY) {
      this.#out.write(`${lines.map((line) => line.trim()).join(" | ")}\n`);
      return;
    }
    const up = this.#drawnLines === 0 ? "" : `\x1b[${this.#drawnLines}A`;
    const width = Math.max(20, this.#out.columns) - 1;
    this.#out.write(`${up}${lines.map((line) => `\r\x1b[2K${line.slice(0, width)}\n`).join("")}`);
    this.#drawnLines = lines.length;
  }
}

/** The number of lines is the same throughout a run. */
export function viewLines(row: SecondRow, durationSeconds: number): string[] {
  const { second, due, good, bytes, inFlight, waiting, failuresSoFar, classes } = row;
  const head = [
    second < durationSeconds ? `${second + 1} s of ${short(durationSeconds)}` : "last answers",
    `due ${grouped(due)}/s`,
    `answered ${grouped(good)}/s`,
    `${short(bytes / 1e6)} MB/s`,
    `in flight ${grouped(inFlight)}${waiting > 0 ? ` (${grouped(waiting)} wait for a connection)` : ""}`,
  ];
  const failures = Object.entries(failuresSoFar).map(([kind, count]) => `${kind} ${grouped(count)}`);
  const latencies = classes.map(({ name, count, p50Ms, p99Ms }) => {
    const text = count === 0 ? "–" : `p50 ${short(p50Ms)} ms   p99 ${short(p99Ms)} ms`;
    return `  ${name.padEnd(12)}${text}`;
  });
  const last = failures.length === 0 ? "  no failures" : `  failures: ${failures.join(", ")}`;
  return [head.join("   "), ...latencies, last];
}

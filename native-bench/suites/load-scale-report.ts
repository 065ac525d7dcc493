import type { Corpus } from "../corpus/corpus.js";
import type { Distribution } from "../load/distribution.js";
import type { Overhead } from "../load/overhead.js";
import { unfairness } from "../load/present.js";
import type { ClassResult } from "../load/result.js";
import { axis, less, line, memoryPlot, more, rowTable, table, type Cell, type Column } from "../report/build.js";
import { grouped, short } from "../report/numbers.js";
import type { Findings, Plot, Sample, Table, Target } from "../report/run-report.js";
import { atMost, noLimits } from "../report/targets.js";
import type { WatchedMemory } from "../system/measure.js";
import {
  concurrentSearches,
  leavingPerSecond,
  steadySeconds,
  type ClientStage,
  type ExhaustiveStage,
  type IdleStage,
  type LeavingStage,
} from "./load-stages.js";

export interface LoadScaleMeasured {
  readonly corpus: Corpus;
  readonly overhead: Overhead;
  readonly interactive: readonly ClientStage[];
  readonly exhaustive: readonly ExhaustiveStage[];
  readonly leaving: LeavingStage;
  readonly idle: IdleStage;
  readonly memory: WatchedMemory;
}

export function reportLoadScale(measured: LoadScaleMeasured): Findings {
  const { corpus, interactive, exhaustive, memory } = measured;
  return {
    notes: toNotes(measured),
    samples: toSamples(measured),
    tables: [
      table("Interactive searches at a time", interactive, [
        clientsColumn,
        ["answers a second", ({ of }) => of.goodPerSecond],
        ...stageColumns,
      ]),
      table("Exhaustive searches at a time (`return`)", exhaustive, [
        clientsColumn,
        ["MB/s", ({ of, result }) => of.bytes / 1e6 / result.seconds],
        ...stageColumns,
      ]),
      besideTable(measured),
      singleTable(measured),
      overheadTable(measured),
    ],
    plots: [
      ...interactivePlots(interactive),
      memoryPlot("load-memory", `Memory of the daemon under load, ${corpus.name}`, memory.history),
    ],
    targets: toTargets(measured),
  };
}

/** Of every stage, whatever it measured. */
function allClasses({ interactive, exhaustive, leaving, idle }: LoadScaleMeasured): ClassResult[] {
  const stages = [...interactive.map(({ of }) => of), ...exhaustive.flatMap(({ of, beside }) => [of, beside])];
  return [...stages, leaving.of, leaving.beside, idle.of, idle.page];
}

function toNotes(measured: LoadScaleMeasured): string[] {
  const { corpus, idle } = measured;
  const failures = allClasses(measured).flatMap(({ failures }) => failures);
  return [
    `The corpus ${corpus.name} has ${short(corpus.textBytes / 1e6)} MB in ${grouped(corpus.fileCount)} files. Client and daemon share the machine.`,
    `The daemon runs ${concurrentSearches} searches at a time, the default, and queues the others; by default it refuses those beyond 256 with HTTP 503.`,
    "Interactive: each client asks one of the queries for 500 matches as soon as it has its last answer. Beside: 20 such searches a second, timed from when they were due.",
    `Idle: streams whose searches wait behind ${concurrentSearches} that are read slowly. ${idle.streams} of ${idle.wanted} were open at once; then the slow readers left.`,
    idle.wanted < 10_000
      ? `${idle.wanted} and not 10,000, in a quick run or because of this machine's limit of open files.`
      : "",
    ...failures.map(({ kind, count, example }) => `Failed: ${count} ${kind}, the first: ${example}`),
  ];
}

const clientsColumn: Column<ClientStage> = ["clients", ({ clients }) => clients];

const latencyColumns: readonly Column<ClassResult>[] = [
  ["p50 ms", ({ latency }) => msCell(latency, latency.p50Ms)],
  ["p90", ({ latency }) => msCell(latency, latency.p90Ms)],
  ["p99", ({ latency }) => msCell(latency, latency.p99Ms)],
  ["p99.9", ({ latency }) => msCell(latency, latency.p999Ms)],
  ["max", ({ latency }) => msCell(latency, latency.maxMs)],
];

const failedColumn: Column<ClassResult> = [
  "failed",
  ({ failures }) => failures.map(({ kind, count }) => `${grouped(count)} ${kind}`).join(", ") || "0",
];

function msCell({ count }: Distribution, ms: number): Cell {
  return count === 0 ? "–" : ms;
}

/** What the tables of interactive and of exhaustive clients have in common. */
const stageColumns: readonly Column<ClientStage>[] = [
  ...latencyColumns.map(ofClass),
  ["first matches p99", ({ of }) => of.firstMatches.p99Ms],
  ofClass(failedColumn),
  ["slowest ÷ fastest", ({ of }) => unfairness(of.queries) ?? "–"],
  ["peak anonymous MB", ({ peak }) => peak.anonymousBytes / 1e6],
  ["generator, % of a core", ({ result }) => 100 * result.generator.cpuShare],
];

function ofClass([head, cell]: Column<ClassResult>): Column<ClientStage> {
  return [head, ({ of }) => cell(of)];
}

/** What interactive users notice while others load the daemon. */
function besideTable({ exhaustive, leaving, idle }: LoadScaleMeasured): Table {
  type Row = readonly [beside: string, what: string, of: ClassResult];
  const leavingClients = `${leavingPerSecond} a second that leave`;
  const idleStreams = `${grouped(idle.streams)} idle streams`;
  const rows: Row[] = [
    ...exhaustive.map(({ clients, beside }): Row => [`${clients} exhaustive`, "interactive searches", beside]),
    [leavingClients, "interactive searches", leaving.beside],
    [leavingClients, "their first event", leaving.of],
    [idleStreams, "/healthz", idle.page],
    [idleStreams, "their answers, the wait included", idle.of],
  ];
  const columns: Column<ClassResult>[] = [["count", ({ latency }) => latency.count], ...latencyColumns, failedColumn];
  return table("Beside a load", rows, [
    ["beside", ([beside]) => beside],
    ["what", ([, what]) => what],
    ...columns.map(([head, cell]): Column<Row> => [head, ([, , of]) => cell(of)]),
  ]);
}

const valueHead = ["what", "unit", "value"];

function singleTable({ idle, leaving }: LoadScaleMeasured): Table {
  const { endedMs, peak } = leaving;
  return rowTable("Idle and leaving clients", valueHead, [
    ["idle streams open at once", "streams", idle.streams],
    ["until they were open", "s", idle.openingSeconds],
    ["memory of an idle stream", "KB", idle.bytesEach / 1e3],
    ["resident with all of them", "MB", idle.residentBytes / 1e6],
    ["until all had their answer", "s", idle.answeredSeconds],
    ["searches that ran on when their clients had left", "", endedMs === undefined ? "some, for 5 s and more" : "none"],
    ["until the last one was stopped", "ms", endedMs ?? "–"],
    ["peak anonymous memory with leaving clients", "MB", peak.anonymousBytes / 1e6],
  ]);
}

function overheadTable({ overhead }: LoadScaleMeasured): Table {
  const { requestsPerSecond, cpuMicrosecondsPerRequest, ratePerSecond, latency, megabytesPerSecond } = overhead;
  return rowTable("The generator itself, against a server that does nothing", valueHead, [
    ["small streams, 32 clients", "a second", requestsPerSecond],
    ["the generator's time for each", "µs of a core", cpuMicrosecondsPerRequest],
    [`latency of a small stream at ${ratePerSecond} a second, p50`, "ms", latency.p50Ms],
    [`latency of a small stream at ${ratePerSecond} a second, p99`, "ms", latency.p99Ms],
    ["a stream of 150 MB, its grammar checked", "MB/s", megabytesPerSecond],
  ]);
}

/** Throughput and percentiles of each second of a stage, for the comparison of runs. */
function toSamples({ interactive, exhaustive, idle }: LoadScaleMeasured): Sample[] {
  return [
    ...interactive.flatMap(interactiveSamples),
    ...exhaustive.map(({ clients, result }) => {
      const megabytes = steadySeconds(result).map(({ bytes }) => bytes / 1e6);
      return more(`${clients} exhaustive clients`, "read in each second", "MB/s", megabytes);
    }),
    less("idle streams", "memory of one", "KB", [idle.bytesEach / 1e3]),
  ];
}

function interactiveSamples({ clients, result }: ClientStage): Sample[] {
  const seconds = steadySeconds(result);
  const task = `${clients} interactive clients`;
  const answered = seconds.flatMap(({ classes: [of] }) => (of === undefined || of.count === 0 ? [] : [of]));
  const percentile = (name: string, values: readonly number[]): Sample =>
    less(task, `${name} of each second`, "ms", values);
  return [
    more(
      task,
      "answers in each second",
      "/s",
      seconds.map(({ good }) => good),
    ),
    percentile(
      "p50",
      answered.map(({ p50Ms }) => p50Ms),
    ),
    percentile(
      "p99",
      answered.map(({ p99Ms }) => p99Ms),
    ),
  ];
}

function toTargets(measured: LoadScaleMeasured): Target[] {
  const { exhaustive, idle } = measured;
  const all = allClasses(measured);
  const failed = all.flatMap(({ failures }) => failures).reduce((sum, { count }) => sum + count, 0);
  const due = all.reduce((sum, of) => sum + of.due, 0);
  const fairness = unfairness(exhaustive.at(-1)?.of.queries ?? []);
  const notOpened = idle.wanted - idle.streams;
  const none = { must: 0, aim: 0 };
  return [
    atMost("requests that failed under load", "requests", failed, none, `of ${grouped(due)}`),
    atMost("idle streams that could not be opened", "streams", notOpened, none, `${grouped(idle.streams)} were open`),
    atMost("memory of an idle stream", "KB", idle.bytesEach / 1e3, noLimits, ""),
    atMost("slowest ÷ fastest of 16 exhaustive searches", "x", fairness, noLimits, ""),
  ];
}

function interactivePlots(stages: readonly ClientStage[]): Plot[] {
  const percentile = (name: string, of: (latency: Distribution) => number) => {
    const points = stages.map(({ clients, of: { latency } }) => ({ x: clients, y: of(latency) }));
    return line(name, points);
  };
  const numbers = stages.map(({ clients }) => grouped(clients)).join(", ");
  const throughput = stages.map(({ of }) => ({ x: of.latency.p99Ms, y: of.goodPerSecond }));
  return [
    {
      name: "load-latency",
      title: "Interactive searches: latency by number of clients",
      x: axis("clients that ask at a time", "log"),
      y: axis("latency, ms", "log"),
      series: [
        percentile("p50", ({ p50Ms }) => p50Ms),
        percentile("p99", ({ p99Ms }) => p99Ms),
        percentile("p99.9", ({ p999Ms }) => p999Ms),
      ],
    },
    {
      name: "load-throughput",
      title: `Throughput against p99: ${numbers} interactive clients, from left to right as p99 grows`,
      x: axis("p99, ms", "log"),
      y: axis("answers a second", "linear"),
      series: [line("trawl", throughput)],
    },
    {
      name: "load-percentiles",
      title: "Interactive searches: latency by percentile",
      x: axis("one of this many searches takes longer (100: p99)", "log"),
      y: axis("latency, ms", "log"),
      series: stages.map(({ clients, of }) => {
        const points = of.latencyCurve.map(({ share, ms }) => ({ x: share, y: ms }));
        return line(`${grouped(clients)} ${clients === 1 ? "client" : "clients"}`, points);
      }),
    },
  ];
}

import { unfairness } from "../load/present.js";
import type { Distribution } from "../load/distribution.js";
import type { ClassResult } from "../load/result.js";
import { atMost } from "../report/claims.js";
import { grouped, short } from "../report/numbers.js";
import type { Axis, Claim, PartRecord, Plot, Sample, Table } from "../report/record.js";
import { leavingPerSecond, placeCount, steadySeconds, type ClientStage, type ExhaustiveStage } from "./load-stages.js";
import { memoryPlot } from "./memory-plot.js";
import type { ScaleMeasured } from "./scale-load.js";

export function describeScaleLoad(
  measured: ScaleMeasured,
  isQuick: boolean,
): Pick<PartRecord, "notes" | "samples" | "tables" | "plots" | "claims"> {
  const { corpus, interactive, memory } = measured;
  return {
    notes: notesOf(measured),
    samples: samplesOf(measured),
    tables: [
      interactiveTable(interactive),
      exhaustiveTable(measured.exhaustive),
      besideTable(measured),
      memoryTable(measured),
      overheadTable(measured),
    ],
    plots: [
      latencyPlot(interactive),
      throughputPlot(interactive),
      curvePlot(interactive),
      memoryPlot("load-memory", `Memory of the daemon under load, ${corpus.name}`, memory.history),
    ],
    claims: claimsOf(measured, isQuick),
  };
}

function notesOf({ corpus, idle, interactive, exhaustive, leaving }: ScaleMeasured): string[] {
  const failures = [
    ...interactive.map(({ of }) => of),
    ...exhaustive.flatMap(({ of, beside }) => [of, beside]),
    leaving.of,
    leaving.beside,
    idle.of,
    idle.page,
  ].flatMap((of) => of.failures);
  return [
    `The corpus ${corpus.name} has ${short(corpus.textBytes / 1e6)} MB in ${grouped(corpus.fileCount)} files. Client and daemon share the machine.`,
    `The daemon lets ${placeCount} searches run at a time, as by default, and the others wait; by default it refuses those beyond 256 with HTTP 503.`,
    "Interactive: each client asks one of the queries for 500 matches when it has its last answer. Beside: 20 such searches a second, counted from when they were due.",
    `Idle: streams whose searches wait behind ${placeCount} that are read slowly. ${idle.streams} of ${idle.wanted} were open at once; then the slow readers left.`,
    ...(idle.wanted < 10_000
      ? [`${idle.wanted} and not 10,000, in a quick run or because of this machine's limit of open files.`]
      : []),
    ...failures.map(({ kind, count, example }) => `Failed: ${count} ${kind}, the first: ${example}`),
  ];
}

function interactiveTable(stages: readonly ClientStage[]): Table {
  return {
    title: "Interactive searches at a time",
    head: [
      "clients",
      "answers a second",
      ...latencyHead,
      "first matches p99",
      "failed",
      "slowest ÷ fastest",
      "peak anonymous MB",
      "generator, % of a core",
    ],
    rows: stages.map(({ clients, of, result, peak }) => [
      grouped(clients),
      short(of.goodPerSecond),
      ...latencyCells(of.latency),
      short(of.firstMatches.p99Ms),
      failedText(of),
      fairnessText(of),
      short(peak.anonymousBytes / 1e6),
      short(100 * result.generator.cpuShare),
    ]),
  };
}

function exhaustiveTable(stages: readonly ExhaustiveStage[]): Table {
  return {
    title: "Exhaustive searches at a time (`return`)",
    head: [
      "clients",
      "MB/s",
      ...latencyHead,
      "first matches p99",
      "failed",
      "slowest ÷ fastest",
      "peak anonymous MB",
      "generator, % of a core",
    ],
    rows: stages.map(({ clients, of, result, peak }) => [
      grouped(clients),
      short(of.bytes / 1e6 / result.seconds),
      ...latencyCells(of.latency),
      short(of.firstMatches.p99Ms),
      failedText(of),
      fairnessText(of),
      short(peak.anonymousBytes / 1e6),
      short(100 * result.generator.cpuShare),
    ]),
  };
}

/** What people notice who search while others load the daemon. */
function besideTable({ exhaustive, leaving, idle }: ScaleMeasured): Table {
  const rows: [beside: string, what: string, of: ClassResult][] = [
    ...exhaustive.map(({ clients, beside }): [string, string, ClassResult] => [
      `${clients} exhaustive`,
      "interactive searches",
      beside,
    ]),
    [`${leavingPerSecond} a second that leave`, "interactive searches", leaving.beside],
    [`${leavingPerSecond} a second that leave`, "their first event", leaving.of],
    [`${grouped(idle.streams)} idle streams`, "/healthz", idle.page],
    [`${grouped(idle.streams)} idle streams`, "their answers, the wait included", idle.of],
  ];
  return {
    title: "Beside a load",
    head: ["beside", "what", "count", ...latencyHead, "failed"],
    rows: rows.map(([beside, what, of]) => [
      beside,
      what,
      grouped(of.latency.count),
      ...latencyCells(of.latency),
      failedText(of),
    ]),
  };
}

function memoryTable({ idle, leaving }: ScaleMeasured): Table {
  return {
    title: "Idle and leaving clients",
    head: ["what", "unit", "value"],
    rows: [
      ["idle streams open at once", "streams", grouped(idle.streams)],
      ["until they were open", "s", short(idle.openingSeconds)],
      ["memory of an idle stream", "KB", short(idle.bytesEach / 1e3)],
      ["resident with all of them", "MB", short(idle.residentBytes / 1e6)],
      ["until all had their answer", "s", short(idle.answeredSeconds)],
      [
        "searches that ran on when their clients had left",
        "",
        leaving.endedMs === undefined ? "some, for 5 s and more" : "none",
      ],
      ["until the last one was stopped", "ms", leaving.endedMs === undefined ? "–" : short(leaving.endedMs)],
      ["peak anonymous memory with leaving clients", "MB", short(leaving.peak.anonymousBytes / 1e6)],
    ],
  };
}

function overheadTable({ overhead }: ScaleMeasured): Table {
  const { requestsPerSecond, cpuMicrosecondsPerRequest, ratePerSecond, latency, megabytesPerSecond } = overhead;
  return {
    title: "The generator itself, against a server that does nothing",
    head: ["what", "unit", "value"],
    rows: [
      ["small streams, 32 clients", "a second", short(requestsPerSecond)],
      ["the generator's time for each", "µs of a core", short(cpuMicrosecondsPerRequest)],
      [`latency of a small stream at ${ratePerSecond} a second, p50`, "ms", short(latency.p50Ms)],
      [`latency of a small stream at ${ratePerSecond} a second, p99`, "ms", short(latency.p99Ms)],
      ["a stream of 150 MB, its grammar checked", "MB/s", short(megabytesPerSecond)],
    ],
  };
}

const latencyHead = ["p50 ms", "p90", "p99", "p99.9", "max"];

function latencyCells({ count, p50Ms, p90Ms, p99Ms, p999Ms, maxMs }: Distribution): string[] {
  return [p50Ms, p90Ms, p99Ms, p999Ms, maxMs].map((ms) => (count === 0 ? "–" : short(ms)));
}

function failedText({ failures }: ClassResult): string {
  return failures.length === 0 ? "0" : failures.map(({ kind, count }) => `${grouped(count)} ${kind}`).join(", ");
}

function fairnessText({ queries }: ClassResult): string {
  const ratio = unfairness(queries);
  return ratio === undefined ? "–" : short(ratio);
}

/** Throughput and percentiles of each second of a stage, for the comparison of runs. */
function samplesOf({ interactive, exhaustive, idle }: ScaleMeasured): Sample[] {
  const ofStage = ({ clients, result }: ClientStage): Sample[] => {
    const seconds = steadySeconds(result);
    const task = `${clients} interactive clients`;
    const percentile = (subject: string, field: "p50Ms" | "p99Ms"): Sample => ({
      task,
      subject,
      unit: "ms",
      better: "less",
      values: seconds.flatMap(({ classes: [of] }) => (of === undefined || of.count === 0 ? [] : [of[field]])),
    });
    return [
      { task, subject: "answers in each second", unit: "/s", better: "more", values: seconds.map(({ good }) => good) },
      percentile("p50 of each second", "p50Ms"),
      percentile("p99 of each second", "p99Ms"),
    ];
  };
  return [
    ...interactive.flatMap(ofStage),
    ...exhaustive.map(
      ({ clients, result }): Sample => ({
        task: `${clients} exhaustive clients`,
        subject: "read in each second",
        unit: "MB/s",
        better: "more",
        values: steadySeconds(result).map(({ bytes }) => bytes / 1e6),
      }),
    ),
    { task: "idle streams", subject: "memory of one", unit: "KB", better: "less", values: [idle.bytesEach / 1e3] },
  ];
}

function claimsOf({ interactive, exhaustive, leaving, idle }: ScaleMeasured, isQuick: boolean): Claim[] {
  const all = [
    ...interactive.map(({ of }) => of),
    ...exhaustive.flatMap(({ of, beside }) => [of, beside]),
    leaving.of,
    leaving.beside,
    idle.of,
    idle.page,
  ];
  const failed = all.flatMap(({ failures }) => failures).reduce((sum, { count }) => sum + count, 0);
  const most = exhaustive.at(-1);
  const fairness = most === undefined ? undefined : unfairness(most.of.queries);
  const nothing = { must: undefined, aim: undefined };
  return [
    atMost(
      "requests that failed under load",
      "requests",
      failed,
      { must: 0, aim: 0 },
      `of ${grouped(all.reduce((sum, { due }) => sum + due, 0))}`,
    ),
    atMost(
      "idle streams that could not be opened",
      "streams",
      idle.wanted - idle.streams,
      { must: 0, aim: 0 },
      `${grouped(idle.streams)} were open`,
    ),
    atMost("memory of an idle stream", "KB", idle.bytesEach / 1e3, nothing, ""),
    {
      what: "slowest ÷ fastest of 16 exhaustive searches",
      unit: "x",
      value: fairness,
      better: "less",
      ...nothing,
      note: isQuick ? "a quick run" : "",
    },
  ];
}

function latencyPlot(stages: readonly ClientStage[]): Plot {
  const series = (name: string, of: (latency: Distribution) => number): Plot["series"][number] => ({
    name,
    kind: "line",
    points: stages.map(({ clients, of: { latency } }) => ({ x: clients, y: of(latency) })),
  });
  return {
    name: "load-latency",
    title: "Interactive searches: latency by number of clients",
    x: axis("clients that ask at a time", "log"),
    y: axis("latency, ms", "log"),
    series: [
      series("p50", ({ p50Ms }) => p50Ms),
      series("p99", ({ p99Ms }) => p99Ms),
      series("p99.9", ({ p999Ms }) => p999Ms),
    ],
  };
}

function throughputPlot(stages: readonly ClientStage[]): Plot {
  return {
    name: "load-throughput",
    title: `Throughput against p99: ${stages.map(({ clients }) => grouped(clients)).join(", ")} interactive clients, from left to right as p99 grows`,
    x: axis("p99, ms", "log"),
    y: axis("answers a second", "linear"),
    series: [
      { name: "trawl", kind: "line", points: stages.map(({ of }) => ({ x: of.latency.p99Ms, y: of.goodPerSecond })) },
    ],
  };
}

function curvePlot(stages: readonly ClientStage[]): Plot {
  return {
    name: "load-percentiles",
    title: "Interactive searches: latency by percentile",
    x: axis("one of so many searches takes longer (100: p99)", "log"),
    y: axis("latency, ms", "log"),
    series: stages.map(({ clients, of }) => ({
      name: `${grouped(clients)} ${clients === 1 ? "client" : "clients"}`,
      kind: "line",
      points: of.latencyCurve.map(({ share, ms }) => ({ x: share, y: ms })),
    })),
  };
}

function axis(label: string, scale: Axis["scale"]): Axis {
  return { label, scale, categories: [] };
}

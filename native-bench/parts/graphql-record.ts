import type { SmallResult } from "../load/small-requests.js";
import { atLeast, atMost } from "../report/claims.js";
import { grouped, short } from "../report/numbers.js";
import type { Claim, PartRecord, Plot, Sample, Table } from "../report/record.js";
import { spreadOf } from "../system/measure.js";
import type { GraphqlMeasured } from "./graphql-part.js";
import {
  connections,
  nobody,
  operations,
  ratePerSecond,
  serverNames,
  streamCount,
  userOperation,
  wideCount,
  type ServerName,
  type ServerOutcome,
} from "./graphql-stages.js";

export function describeGraphql(
  measured: GraphqlMeasured,
  isQuick: boolean,
): Pick<PartRecord, "notes" | "samples" | "tables" | "plots" | "claims"> {
  return {
    notes: notesOf(measured),
    samples: samplesOf(measured),
    tables: [throughputTable(measured), latencyTable(measured), singleTable(measured), besideTable(measured)],
    plots: [serversPlot(measured)],
    claims: claimsOf(measured, isQuick),
  };
}

function notesOf({ addresses }: GraphqlMeasured): string[] {
  const versions = addresses.filter(({ version }) => version !== "").map(({ name, version }) => `${name} ${version}`);
  return [
    `Beside us: ${versions.join("; ")}, each on node:http with our schema. They answer from plain objects in memory and ask nobody who they are; we answer from the catalog of ${grouped(wideCount)} repositories to the holder of an access token. All gave the same answers before they were measured.`,
    `${connections} connections that each carry one request at a time, a generator in C on the same machine, no compression. "${nobody}" is our HTTP server with an answer that is ready: what it shows is the generator, the sockets and HTTP.`,
    `At full speed a request waits for those of the other ${connections - 1} connections, so p50 is ${connections} divided by the throughput. At ${grouped(ratePerSecond)} a second latency counts from when a request was due; that is the figure that is held to something.`,
    "The first page is the first one after a daemon's start, which has answered for three single repositories before. Ancestors and blame are asked of another commit each time. The whole answer is read by curl; git is timed as a process.",
  ];
}

function outcomeOf({ servers }: GraphqlMeasured, server: ServerName, operation: string): ServerOutcome {
  return (
    servers.find((outcome) => outcome.server === server && outcome.operation === operation) ?? {
      server,
      operation,
      saturated: [],
      paced: [],
    }
  );
}

function medianOf(values: readonly number[]): number {
  return spreadOf(values).median;
}

function perSecondOf(results: readonly SmallResult[]): number[] {
  return results.map(({ perSecond }) => perSecond);
}

function rangeText(values: readonly number[]): string {
  const { min, median, max } = spreadOf(values);
  return `${short(median)} (${short(min)}..${short(max)})`;
}

function throughputTable(measured: GraphqlMeasured): Table {
  return {
    title: `Answers a second, ${connections} connections as fast as they go`,
    head: ["server", ...operations.map(({ name }) => name), "generator, % of a core"],
    rows: serverNames.map((server) => {
      const outcomes = operations.map(({ name }) => outcomeOf(measured, server, name));
      return [
        server,
        ...outcomes.map(({ saturated }) => rangeText(perSecondOf(saturated))),
        short(100 * Math.max(...outcomes.flatMap(({ saturated }) => saturated.map(({ cpuShare }) => cpuShare)))),
      ];
    }),
  };
}

function latencyTable(measured: GraphqlMeasured): Table {
  const row = (server: string, pace: string, results: readonly SmallResult[]): string[] => [
    server,
    pace,
    ...(
      [({ p50Ms }) => p50Ms, ({ p90Ms }) => p90Ms, ({ p99Ms }) => p99Ms, ({ p999Ms }) => p999Ms] satisfies ((
        of: SmallResult,
      ) => number)[]
    ).map((of) => rangeText(results.map(of))),
  ];
  return {
    title: `Latency of \`${userOperation.name}\`, ${connections} connections: of each percentile the median of the rounds`,
    head: ["server", "pace", "p50 ms", "p90", "p99", "p99.9"],
    rows: serverNames.flatMap((server) => {
      const { saturated, paced } = outcomeOf(measured, server, userOperation.name);
      return [row(server, `${grouped(ratePerSecond)} a second`, paced), row(server, "as fast as it goes", saturated)];
    }),
  };
}

function singleTable({ firstPage, git }: GraphqlMeasured): Table {
  const rows: [what: string, values: readonly number[]][] = [
    [`first page of ${grouped(wideCount)} repositories, the first time`, firstPage.firstMs],
    ["the same page again", firstPage.againMs],
    ["ancestors(first: 100) of 10,000 commits", git.ancestorsMs],
    ["git log -100", git.logMs],
    ["blame of 2,000 lines", git.blameMs],
    ["git blame", git.gitBlameMs],
  ];
  return {
    title: "One request at a time",
    head: ["what", "ms"],
    rows: rows.map(([what, values]) => [what, rangeText(values)]),
  };
}

function besideTable({ beside: { idle, beside, streamMegabytes } }: GraphqlMeasured): Table {
  const row = (beside_: string, results: readonly SmallResult[], streams: string): string[] => [
    beside_,
    rangeText(perSecondOf(results)),
    rangeText(results.map(({ p50Ms }) => p50Ms)),
    rangeText(results.map(({ p99Ms }) => p99Ms)),
    streams,
  ];
  return {
    title: `${connections} GraphQL connections at ${grouped(ratePerSecond)} a second beside ${streamCount} exhaustive streams`,
    head: ["beside", "answers a second", "p50 ms", "p99", "streams, MB/s"],
    rows: [row("nothing", idle, "–"), row(`${streamCount} exhaustive streams`, beside, rangeText(streamMegabytes))],
  };
}

function samplesOf(measured: GraphqlMeasured): Sample[] {
  const { servers, firstPage, git, beside } = measured;
  const ms = (task: string, values: readonly number[]): Sample => ({
    task,
    subject: "trawl",
    unit: "ms",
    better: "less",
    values,
  });
  return [
    ...servers.map(
      ({ server, operation, saturated }): Sample => ({
        task: operation,
        subject: server,
        unit: "/s",
        better: "more",
        values: perSecondOf(saturated),
      }),
    ),
    ...servers
      .filter(({ paced }) => paced.length > 0)
      .map(
        ({ server, operation, paced }): Sample => ({
          task: `${operation}, ${grouped(ratePerSecond)} a second, p50`,
          subject: server,
          unit: "ms",
          better: "less",
          values: paced.map(({ p50Ms }) => p50Ms),
        }),
      ),
    ms("first page, the first time", firstPage.firstMs),
    ms("first page, again", firstPage.againMs),
    ms("ancestors(first: 100)", git.ancestorsMs),
    ms("blame of 2,000 lines", git.blameMs),
    { ...ms("blame of 2,000 lines", git.gitBlameMs), subject: "git" },
    ms(
      "GraphQL alone, p99",
      beside.idle.map(({ p99Ms }) => p99Ms),
    ),
    ms(
      "GraphQL beside exhaustive streams, p99",
      beside.beside.map(({ p99Ms }) => p99Ms),
    ),
  ];
}

const nothing = { must: undefined, aim: undefined };

function claimsOf(measured: GraphqlMeasured, isQuick: boolean): Claim[] {
  const held = (must: number, aim: number | undefined = undefined) => (isQuick ? nothing : { must, aim });
  const { firstPage, git, beside } = measured;
  const rate = (server: ServerName, operation: string): number =>
    medianOf(perSecondOf(outcomeOf(measured, server, operation).saturated));
  const ratios = (
    [
      [0, held(5, 8), held(3, 5)],
      [1, nothing, nothing],
    ] as const
  ).flatMap(([operation, ofGraphqlJs, ofYoga]) => {
    const { name } = operations[operation];
    const times = (server: ServerName): number => rate("trawl", name) / rate(server, name);
    return [
      atLeast(
        `${name}: answers a second ÷ graphql-js`,
        "x",
        times("graphql-js"),
        ofGraphqlJs,
        `${short(times("graphql-js, documents kept"))}x when it keeps documents`,
      ),
      atLeast(`${name}: answers a second ÷ graphql-yoga`, "x", times("graphql-yoga"), ofYoga, ""),
    ];
  });
  const { paced, saturated } = outcomeOf(measured, "trawl", userOperation.name);
  const [idleP99, besideP99] = [beside.idle, beside.beside].map((results) =>
    medianOf(results.map(({ p99Ms }) => p99Ms)),
  );
  return [
    ...ratios,
    atMost(
      `${userOperation.name}: p50 at ${connections} connections, ${grouped(ratePerSecond)} a second`,
      "ms",
      medianOf(paced.map(({ p50Ms }) => p50Ms)),
      held(0.5),
      `${short(medianOf(saturated.map(({ p50Ms }) => p50Ms)))} ms at full speed`,
    ),
    atMost(
      `first page of ${grouped(wideCount)} repositories, the first time`,
      "ms",
      medianOf(firstPage.firstMs),
      held(5),
      `${short(medianOf(firstPage.againMs))} ms again`,
    ),
    atMost("ancestors(first: 100) of 10,000 commits", "ms", medianOf(git.ancestorsMs), held(30), ""),
    atMost(
      "blame of 2,000 lines ÷ git blame",
      "x",
      medianOf(git.blameMs) / medianOf(git.gitBlameMs),
      held(1.5),
      `${short(medianOf(git.blameMs))} ms`,
    ),
    atMost(
      `p99 beside ${streamCount} exhaustive streams ÷ idle`,
      "x",
      besideP99 / idleP99,
      held(3),
      `${short(besideP99)} ms and ${short(idleP99)} ms`,
    ),
  ];
}

function serversPlot(measured: GraphqlMeasured): Plot {
  return {
    name: "graphql-servers",
    title: `GraphQL: answers a second at ${connections} connections, with the least and the most of the rounds`,
    x: { label: "", scale: "category", categories: operations.map(({ name }) => name) },
    y: { label: "answers a second", scale: "log", categories: [] },
    series: serverNames.map((server) => ({
      name: server,
      kind: "bars",
      points: operations.map(({ name }, x) => {
        const { min, median, max } = spreadOf(perSecondOf(outcomeOf(measured, server, name).saturated));
        return { x, y: median, low: min, high: max };
      }),
    })),
  };
}

import type { SmallResult } from "../load/small-requests.js";
import { categoryPlot, less, more, ratio, rowTable, table, type Cell, type Column } from "../report/build.js";
import { grouped, short } from "../report/numbers.js";
import type { Findings, Limits, Sample, Table, Target } from "../report/run-report.js";
import { atLeast, atMost, limits, noLimits } from "../report/targets.js";
import { median } from "../system/measure.js";
import { streamCount, type DeepOutcome } from "./graphql-history.js";
import {
  connections,
  nobody,
  operations,
  ratePerSecond,
  serverNames,
  userOperation,
  type ServerName,
} from "./graphql-requests.js";
import { wideCount, type ServerOutcome, type WideOutcome } from "./graphql-wide.js";

type GraphqlMeasured = WideOutcome & DeepOutcome;

export function reportGraphql(measured: GraphqlMeasured, isQuick: boolean): Findings {
  const plot = categoryPlot({
    name: "graphql-servers",
    title: `GraphQL: answers a second at ${connections} connections, with the least and the most of the rounds`,
    kind: "bars",
    label: "",
    categories: operations.map(({ name }) => name),
    values: "answers a second",
    series: serverNames,
    at: (server, i) => findRates(measured, server, operations[i]?.name ?? ""),
  });
  return {
    notes: toNotes(measured),
    samples: toSamples(measured),
    tables: [throughputTable(measured), latencyTable(measured), singleTable(measured), besideTable(measured)],
    plots: [plot],
    targets: toTargets(measured, isQuick),
  };
}

function toNotes({ addresses }: GraphqlMeasured): string[] {
  const versions = addresses.filter(({ version }) => version !== "").map(({ name, version }) => `${name} ${version}`);
  return [
    `Beside our daemon: ${versions.join("; ")}, each on node:http with our schema. They answer from plain objects in memory, without authentication; our daemon answers from the catalog of ${grouped(wideCount)} repositories to the holder of an access token. All gave the same answers before they were measured.`,
    `${connections} connections that each carry one request at a time, a generator in C on the same machine, no compression. "${nobody}" is our HTTP server with a ready answer: it shows the cost of the generator, the sockets and HTTP.`,
    `At full speed a request waits for those of the other ${connections - 1} connections, so p50 is ${connections} divided by the throughput. At ${grouped(ratePerSecond)} a second latency counts from when a request was due; that figure has a target.`,
    "The first page is the first one after a daemon's start, which has answered three requests for single repositories. Ancestors and blame are asked for another commit each time. curl reads the whole answer; git is timed as a process.",
  ];
}

function findOutcome({ servers }: GraphqlMeasured, server: string, operation: string): ServerOutcome | undefined {
  return servers.find((outcome) => outcome.server === server && outcome.operation === operation);
}

/** Answers a second at full speed. */
function findRates(measured: GraphqlMeasured, server: string, operation: string): number[] {
  return findOutcome(measured, server, operation)?.saturated.map(({ perSecond }) => perSecond) ?? [];
}

type Field = "perSecond" | "p50Ms" | "p90Ms" | "p99Ms" | "p999Ms";

function values(results: readonly SmallResult[] | undefined, field: Field): number[] {
  return results?.map((result) => result[field]) ?? [];
}

function throughputTable(measured: GraphqlMeasured): Table {
  const busiest = (server: ServerName): number =>
    Math.max(
      ...measured.servers
        .filter((outcome) => outcome.server === server)
        .flatMap(({ saturated }) => saturated.map(({ cpuShare }) => cpuShare)),
    );
  return table(`Answers a second, ${connections} connections at full speed`, serverNames, [
    ["server", (server) => server],
    ...operations.map(({ name }): Column<ServerName> => [name, (server) => findRates(measured, server, name)]),
    ["generator, % of a core", (server) => 100 * busiest(server)],
  ]);
}

function latencyTable(measured: GraphqlMeasured): Table {
  const rows = serverNames.flatMap((server) => {
    const outcome = findOutcome(measured, server, userOperation.name);
    return [
      { server, pace: `${grouped(ratePerSecond)} a second`, results: outcome?.paced },
      { server, pace: "at full speed", results: outcome?.saturated },
    ];
  });
  return table(
    `Latency of \`${userOperation.name}\`, ${connections} connections: of each percentile the median of the rounds`,
    rows,
    [
      ["server", ({ server }) => server],
      ["pace", ({ pace }) => pace],
      ["p50 ms", ({ results }) => values(results, "p50Ms")],
      ["p90", ({ results }) => values(results, "p90Ms")],
      ["p99", ({ results }) => values(results, "p99Ms")],
      ["p99.9", ({ results }) => values(results, "p999Ms")],
    ],
  );
}

function singleTable({ firstPage, git }: GraphqlMeasured): Table {
  return rowTable(
    "One request at a time",
    ["what", "ms"],
    [
      [`first page of ${grouped(wideCount)} repositories, the first time`, firstPage.firstMs],
      ["the same page again", firstPage.againMs],
      ["ancestors(first: 100) of 10,000 commits", git.ancestorsMs],
      ["git log -100", git.logMs],
      ["blame of 2,000 lines", git.blameMs],
      ["git blame", git.gitBlameMs],
    ],
  );
}

function besideTable({ beside: { idle, beside, streamMegabytes } }: GraphqlMeasured): Table {
  const row = (what: string, results: readonly SmallResult[], streams: Cell): Cell[] => [
    what,
    values(results, "perSecond"),
    values(results, "p50Ms"),
    values(results, "p99Ms"),
    streams,
  ];
  return rowTable(
    `${connections} GraphQL connections at ${grouped(ratePerSecond)} a second beside ${streamCount} exhaustive streams`,
    ["beside", "answers a second", "p50 ms", "p99", "streams, MB/s"],
    [row("nothing", idle, "–"), row(`${streamCount} exhaustive streams`, beside, streamMegabytes)],
  );
}

function toSamples({ servers, firstPage, git, beside }: GraphqlMeasured): Sample[] {
  const ms = (task: string, subject: string, of: readonly number[]): Sample => less(task, subject, "ms", of);
  const paced = servers.filter((outcome) => outcome.paced.length > 0);
  const atRate = (operation: string): string => `${operation}, ${grouped(ratePerSecond)} a second, p50`;
  return [
    ...servers.map(({ server, operation, saturated }) => more(operation, server, "/s", values(saturated, "perSecond"))),
    ...paced.map(({ server, operation, paced }) => ms(atRate(operation), server, values(paced, "p50Ms"))),
    ms("first page, the first time", "trawl", firstPage.firstMs),
    ms("first page, again", "trawl", firstPage.againMs),
    ms("ancestors(first: 100)", "trawl", git.ancestorsMs),
    ms("blame of 2,000 lines", "trawl", git.blameMs),
    ms("blame of 2,000 lines", "git", git.gitBlameMs),
    ms("GraphQL alone, p99", "trawl", values(beside.idle, "p99Ms")),
    ms("GraphQL beside exhaustive streams, p99", "trawl", values(beside.beside, "p99Ms")),
  ];
}

function toTargets(measured: GraphqlMeasured, isQuick: boolean): Target[] {
  const { firstPage, git, beside } = measured;
  const held = (must: number, aim: number | undefined = undefined): Limits => limits(isQuick, must, aim);
  const ms = (of: readonly number[], what: string): string => `${short(median(of))} ms ${what}`.trim();
  const user = findOutcome(measured, "trawl", userOperation.name);
  const p50 = median(values(user?.paced, "p50Ms"));
  const fullSpeed = ms(values(user?.saturated, "p50Ms"), "at full speed");
  const blame = ratio(git.blameMs, git.gitBlameMs);
  const [idle, loaded] = [values(beside.idle, "p99Ms"), values(beside.beside, "p99Ms")];
  const rate = grouped(ratePerSecond);
  const page = `first page of ${grouped(wideCount)} repositories, the first time`;
  return [
    ...rateTargets(measured, operations[0].name, held(5, 8), held(3, 5)),
    ...rateTargets(measured, operations[1].name, noLimits, noLimits),
    atMost(
      `${userOperation.name}: p50 at ${connections} connections, ${rate} a second`,
      "ms",
      p50,
      held(0.5),
      fullSpeed,
    ),
    atMost(page, "ms", median(firstPage.firstMs), held(5), ms(firstPage.againMs, "again")),
    atMost("ancestors(first: 100) of 10,000 commits", "ms", median(git.ancestorsMs), held(30), ""),
    atMost("blame of 2,000 lines ÷ git blame", "x", blame, held(1.5), ms(git.blameMs, "")),
    atMost(
      `p99 beside ${streamCount} exhaustive streams ÷ idle`,
      "x",
      ratio(loaded, idle),
      held(3),
      `${ms(loaded, "and")} ${ms(idle, "")}`,
    ),
  ];
}

/** Our throughput at an operation as a multiple of the others'. */
function rateTargets(measured: GraphqlMeasured, name: string, graphqlJs: Limits, yoga: Limits): Target[] {
  const times = (server: ServerName): number =>
    ratio(findRates(measured, "trawl", name), findRates(measured, server, name));
  const cached = `${short(times("graphql-js, documents kept"))}x when it caches documents`;
  return [
    atLeast(`${name}: answers a second ÷ graphql-js`, "x", times("graphql-js"), graphqlJs, cached),
    atLeast(`${name}: answers a second ÷ graphql-yoga`, "x", times("graphql-yoga"), yoga, ""),
  ];
}

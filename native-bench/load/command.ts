import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import { TrawlError } from "../../src/base/errors.js";
import { type FailureKind, failureTable, Generator, generatorBounds, type Latencies } from "./generator.js";
import { readQueriesFile } from "./request.js";
import { short, terminalTable } from "../report/numbers.js";
import { table } from "../report/views.js";

/** What was typed, within its bounds. */
interface Typed {
  readonly url: string;
  readonly token: string;
  readonly queries: string;
  readonly rate?: number;
  readonly concurrency?: number;
  readonly connections?: number;
  readonly pause: number;
  readonly duration: number;
  readonly requests: number;
  readonly json?: string;
}

const defaultConcurrency = 8;
/** With a constant rate. */
const defaultConnections = 256;

const help = {
  queries: "what to ask: a query a line; # begins a comment; { begins a JSON object (native-bench/load/README.md)",
  rate: "requests a second, a constant rate; latency counts from when a request was due",
  concurrency: `clients that each ask again when they are answered (default: ${defaultConcurrency})`,
  connections: `with --rate: the most to open (default: ${defaultConnections})`,
  pause: "with --concurrency: seconds that a client waits before each request, on the connection that it keeps",
};

/** Adds `load`, whose exit code is 1 when a request failed. */
export function addLoadCommand(program: Command, exit: (code: number) => void): void {
  const { connections, requests } = generatorBounds;
  program
    .command("load")
    .description("Puts a load on a server that speaks the search interface, and measures how it performs.")
    .requiredOption("--url <url>", "address of the server, http://HOST:PORT")
    .addOption(new Option("--token <token>", "access token").env("TRAWL_TOKEN").default("", "none"))
    .requiredOption("--queries <file>", help.queries)
    .addOption(number("--rate <n>", help.rate, 0.01, 100_000, false).conflicts("concurrency"))
    .addOption(number("--concurrency <n>", help.concurrency, 1, connections, true))
    .addOption(number("--connections <n>", help.connections, 1, connections, true))
    .addOption(number("--pause <s>", help.pause, 0, 600, false).default(0))
    .addOption(number("--duration <s>", "seconds in which requests are sent", 0.1, 3600, false).default(10))
    .addOption(number("--requests <n>", "end after this many; 0 for no such end", 0, requests, true).default(0))
    .option("--json <file>", "write the result")
    .action(async (typed: Typed) => exit(await load(typed)));
}

function number(flags: string, description: string, min: number, max: number, isWhole: boolean): Option {
  return new Option(flags, `${description}; ${min} to ${max}`).argParser((text) => {
    const value = /^[0-9.]+$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max && (!isWhole || Number.isInteger(value))) return value;
    throw new InvalidArgumentError(`It must be a ${isWhole ? "whole " : ""}number from ${min} to ${max}.`);
  });
}

/** Runs what was typed and returns the exit code. */
async function load(typed: Typed): Promise<number> {
  const { url, token, queries, rate, concurrency = defaultConcurrency, connections = defaultConnections } = typed;
  if (!URL.canParse(url) || new URL(url).protocol !== "http:")
    throw new TrawlError("bad-config", `url ${url}: must be http://HOST:PORT`);
  if (/[^\x21-\x7e]/.test(token)) throw new TrawlError("bad-config", "the token has a character that no token has");
  const basePath = new URL(url).pathname.replace(/\/+$/, "");
  const more: Readonly<Record<string, string>> = token === "" ? {} : { Authorization: `token ${token}` };
  const requests = readQueriesFile(queries).map((request) => ({
    ...{ ...request, path: basePath + request.path, headers: { ...request.headers, ...more } },
  }));
  const folder = mkdtempSync(join(tmpdir(), "trawl-bench-"));
  try {
    const generator = await Generator.compile(folder);
    const count = typed.requests === 0 ? {} : { count: typed.requests };
    const pace =
      rate === undefined
        ? { connections: concurrency, pauseSeconds: typed.pause }
        : { connections, ratePerSecond: rate };
    const result = await generator.run(url, requests, { ...pace, ...count, seconds: typed.duration });
    const who = rate === undefined ? `${concurrency} clients` : `${short(rate)} requests a second`;
    console.log(loadText(`${url}: ${who}`, result));
    if (typed.json !== undefined) writeFileSync(typed.json, `${JSON.stringify(result, undefined, 2)}\n`);
    return Object.keys(result.failures).length > 0 ? 1 : 0;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The result for a terminal; a warning where its figures would be about the generator itself. */
function loadText(title: string, result: Latencies): string {
  const counts = table(
    title,
    [result],
    [
      ["answered", ({ answered }) => answered],
      ["failed", ({ failures }) => Object.values(failures).reduce((sum, count) => sum + count, 0)],
      ["per second", ({ perSecond }) => perSecond],
      ["MB/s", ({ bytesPerSecond }) => bytesPerSecond / 1e6],
      ["p50, ms", ({ p50Ms }) => p50Ms],
      ["p90", ({ p90Ms }) => p90Ms],
      ["p99", ({ p99Ms }) => p99Ms],
      ["p99.9", ({ p999Ms }) => p999Ms],
      ["max", ({ maxMs }) => maxMs],
    ],
  );
  const failures = table("Failures, which have no latency", Object.entries(result.failures), [
    ["kind", ([kind]) => kind],
    ["count", ([, count]) => count],
    ["meaning", ([kind]) => failureTable[kind as FailureKind]],
  ]);
  const note = `The generator used ${short(100 * result.cpuShare)} % of a core.`;
  const busy = "It was busy most of the time: the figures describe it as much as the server.";
  const blocks = [terminalTable(counts), failures.rows.length === 0 ? "" : terminalTable(failures), note];
  return [...blocks, result.cpuShare > 0.8 ? busy : ""].filter((text) => text !== "").join("\n\n");
}

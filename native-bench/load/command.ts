import { writeFileSync } from "node:fs";
import { type Command, InvalidArgumentError, Option } from "commander";
import {
  type BoundName,
  clientKinds,
  loadBounds,
  type LoadOptions,
  type Pace,
  parseMix,
  type LoadResult,
} from "./options.js";
import { generatorNotes, LiveView, loadPlots, loadTables } from "./present.js";
import { readQueriesFile } from "./request.js";
import { runLoad } from "./run-load.js";
import { terminalTable } from "../report/numbers.js";
import { renderPlot } from "../report/plot.js";

/** What was typed; numbers are numbers, but not yet within their bounds. */
interface Typed {
  readonly url: string;
  readonly token: string;
  readonly queries: string;
  readonly rate?: number;
  readonly concurrency?: number;
  readonly pause: number;
  readonly connections?: number;
  readonly inFlight: number;
  readonly duration: number;
  readonly requests: number;
  readonly timeout: number;
  readonly drain: number;
  readonly mix?: string;
  readonly seed: number;
  readonly json?: string;
  readonly svg?: string;
}

const defaultConcurrency = 8;
/** With a constant rate, which opens only as many as it needs. */
const defaultConnections = 256;

const help = {
  queries: "what to ask: a query a line; # begins a comment; { begins a JSON object (native-bench/load/README.md)",
  rate: "a constant rate; latency counts from when a request was due",
  concurrency: `clients that each ask again when they are answered (default: ${defaultConcurrency})`,
  connections: `the most to open (default: --concurrency, or ${defaultConnections} with --rate)`,
  pause: "with --concurrency: how long a client waits before each request, on the connection that it keeps",
  inFlight: "with --rate: a request beyond this is not sent and counts as a failure",
  svg: "write a plot of latency by percentile, and one of latency over time to a second file beside it",
};

/** Adds `load`, whose exit code is 1 when a request failed. */
export function addLoadCommand(program: Command, exit: (code: number) => void): void {
  const kinds = Object.entries(clientKinds).map(([name, { meaning }]) => `${name} ${meaning}`);
  program
    .command("load")
    .description("Puts a load on a server that speaks the search interface, and measures how it performs.")
    .requiredOption("--url <url>", "address of the server, http://HOST:PORT")
    .addOption(new Option("--token <token>", "access token").env("TRAWL_TOKEN").default("", "none"))
    .requiredOption("--queries <file>", help.queries)
    .addOption(bounded("--rate <n>", "rate", help.rate).conflicts("concurrency"))
    .addOption(bounded("--concurrency <n>", "concurrency", help.concurrency))
    .addOption(bounded("--pause <s>", "pause", help.pause).default(0))
    .addOption(bounded("--connections <n>", "connections", help.connections))
    .addOption(bounded("--in-flight <n>", "in-flight", help.inFlight).default(10_000))
    .addOption(bounded("--duration <s>", "duration", "how long to send requests").default(10))
    .addOption(bounded("--requests <n>", "requests", "end after this many").default(loadBounds.requests.max))
    .addOption(bounded("--timeout <s>", "timeout", "for one answer").default(60))
    .addOption(bounded("--drain <s>", "drain", "how long to wait for answers at the end").default(10))
    .option("--mix <mix>", `kinds of clients, as in interactive=9,exhaustive=1: ${kinds.join("; ")}`)
    .addOption(new Option("--seed <n>", "of the random choice of queries").argParser(parseNumber).default(1))
    .option("--json <file>", "write the result")
    .option("--svg <file>", help.svg)
    .action(async (typed: Typed) => exit(await load(typed)));
}

function bounded(flags: string, name: BoundName, description: string): Option {
  const { min, max, unit } = loadBounds[name];
  return new Option(flags, `${unit}, ${min} to ${max}: ${description}`).argParser(parseNumber);
}

function parseNumber(text: string): number {
  if (/^-?[0-9.]+(e[0-9]+)?$/i.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a number.");
}

/** Runs what was typed and returns the exit code. The first ^C ends the run early, with its result. */
async function load(typed: Typed): Promise<number> {
  const stop = new AbortController();
  const stopOnce = (): void => stop.abort();
  const view = new LiveView(process.stderr, typed.duration);
  const options = parseOptions(typed, (row) => view.show(row), stop.signal);
  process.once("SIGINT", stopOnce);
  const result = await runLoad(options);
  process.off("SIGINT", stopOnce);
  const tables = loadTables(result).map((table) => `${terminalTable(table)}\n`);
  console.log(["", ...tables, ...generatorNotes(result)].join("\n"));
  writeFiles(result, typed);
  return result.classes.some(({ failures }) => failures.length > 0) ? 1 : 0;
}

function parseOptions(typed: Typed, onSecond: LoadOptions["onSecond"], signal: AbortSignal): LoadOptions {
  const { url, token, mix, seed, duration, requests, timeout, drain } = typed;
  const pace = parsePace(typed);
  return {
    url,
    token,
    seed,
    pace,
    ...(onSecond === undefined ? {} : { onSecond }),
    signal,
    classes: parseMix(mix, readQueriesFile(typed.queries)),
    connections: typed.connections ?? (pace.kind === "closed" ? pace.concurrency : defaultConnections),
    limits: { durationSeconds: duration, requestsMax: requests, timeoutSeconds: timeout, drainSeconds: drain },
  };
}

function parsePace({ rate, concurrency = defaultConcurrency, inFlight, pause }: Typed): Pace {
  return rate === undefined
    ? { kind: "closed", concurrency, pauseSeconds: pause }
    : { kind: "open", ratePerSecond: rate, inFlightMax: inFlight };
}

function writeFiles(result: LoadResult, { json, svg }: Typed): void {
  if (json !== undefined) writeFileSync(json, `${JSON.stringify(result, undefined, 2)}\n`);
  if (svg === undefined) return;
  const files = [svg, svg.replace(/(\.svg)?$/, "-time.svg")];
  for (const [i, plot] of loadPlots(result).entries()) writeFileSync(files[i] ?? svg, renderPlot(plot));
}

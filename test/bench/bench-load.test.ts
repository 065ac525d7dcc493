import { spawn } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { type NullBehaviour, NullServer } from "../../native-bench/load/null-server.js";
import {
  type LoadOptions,
  type Pace,
  parseMix,
  type ClassResult,
  type LoadResult,
  type SecondRow,
} from "../../native-bench/load/options.js";
import { loadPlots, loadTables, unfairness, viewLines } from "../../native-bench/load/present.js";
import { parseQueries } from "../../native-bench/load/request.js";
import { runLoad } from "../../native-bench/load/run-load.js";
import { silentLog } from "../../src/base/log.js";
import { plainText } from "../../src/http/server/headers.js";
import { HttpServer } from "../../src/http/server/uws.js";
import { isFull } from "../support/full-run.js";

const atOnce: NullBehaviour = { delayMs: () => 0, stall: undefined };

function startServer(t: Test, behaviour: NullBehaviour): NullServer {
  const server = new NullServer(behaviour);
  t.teardown(() => server.stop());
  return server;
}

interface Load {
  readonly queries?: string;
  readonly mix?: string;
  readonly pace?: Pace;
  readonly seconds?: number;
  readonly requests?: number;
  readonly connections?: number;
  readonly timeoutSeconds?: number;
  readonly drainSeconds?: number;
  readonly seed?: number;
  readonly token?: string;
  readonly signal?: AbortSignal;
  readonly onSecond?: (row: SecondRow) => void;
}

function load(
  url: string,
  {
    queries = "x",
    mix,
    pace = { kind: "closed", concurrency: 1 },
    seconds = 10,
    requests = 1000,
    connections = 64,
    timeoutSeconds = 20,
    drainSeconds = 5,
    seed = 1,
    token = "",
    signal,
    onSecond = () => {},
  }: Load,
): Promise<LoadResult> {
  const options: LoadOptions = {
    url,
    token,
    classes: parseMix(mix, parseQueries(queries, "queries")),
    pace,
    connections,
    seed,
    onSecond,
    signal,
    limits: { durationSeconds: seconds, requestsMax: requests, timeoutSeconds, drainSeconds },
  };
  return runLoad(options);
}

async function loadOne(url: string, what: Load): Promise<ClassResult> {
  const {
    classes: [only, ...others],
  } = await load(url, what);
  if (only === undefined || others.length > 0) throw new TypeError("one class was expected");
  return only;
}

/** `KIND COUNT`, sorted. */
function failuresOf({ failures }: ClassResult): string[] {
  return failures.map(({ kind, count }) => `${kind} ${count}`).sort();
}

/** Every request has exactly one outcome. */
function accountsForAll(t: Test, of: ClassResult): void {
  t.equal(
    of.whole + of.left + of.failures.reduce((sum, { count }) => sum + count, 0),
    of.due,
    "each request that was due is counted once",
  );
}

t.test("known delays result in known percentiles", async (t) => {
  const delayMs = (request: number): number => (request % 100 < 80 ? 0 : request % 100 < 97 ? 400 : 900);
  const server = startServer(t, { delayMs, stall: undefined });
  const of = await loadOne(server.url, {
    pace: { kind: "open", ratePerSecond: 200, inFlightMax: 1000 },
    requests: 200,
    connections: 200,
  });
  t.equal(server.requestCount, 200);
  t.same([of.due, of.whole, of.failures], [200, 200, []]);
  t.ok(of.latency.p90Ms >= 399, `not sooner than the server answers: p90 ${of.latency.p90Ms}`);
  t.ok(of.latency.p99Ms >= 899, `p99 ${of.latency.p99Ms}`);
  t.ok(of.latency.maxMs >= of.latency.p999Ms && of.latency.p999Ms >= of.latency.p99Ms);
  t.ok(of.firstMatches.count === 200 && of.firstMatches.p90Ms >= 399);
  if (!isFull) return;
  t.ok(of.latency.p50Ms < 390, `p50 ${of.latency.p50Ms}`);
  t.ok(of.latency.p90Ms < 890, `p90 ${of.latency.p90Ms}`);
});

t.test("requests to a stalled server continue at the same rate, and their latency includes the wait", async (t) => {
  const stalling: NullBehaviour = { delayMs: () => 0, stall: { everyMs: 600, forMs: 300 } };
  const [open, closed] = await Promise.all([
    loadOne(startServer(t, stalling).url, {
      pace: { kind: "open", ratePerSecond: 200, inFlightMax: 1000 },
      seconds: 1.2,
      connections: 4,
    }),
    loadOne(startServer(t, stalling).url, {
      pace: { kind: "closed", concurrency: 1 },
      seconds: 1.2,
      requests: 100_000,
    }),
  ]);
  t.equal(open.whole, 240);
  t.ok(
    open.latency.p90Ms >= 200,
    `half of the requests fall into a stall and wait 150 ms on average: p90 ${open.latency.p90Ms}`,
  );
  if (!isFull) return;
  t.ok(
    closed.whole > 20 && closed.latency.p90Ms < open.latency.p90Ms / 2,
    `one client alone hides it: p90 ${closed.latency.p90Ms}`,
  );
});

t.test("the wait for a connection counts", async (t) => {
  const server = startServer(t, { delayMs: () => 50, stall: undefined });
  const of = await loadOne(server.url, {
    pace: { kind: "open", ratePerSecond: 100, inFlightMax: 1000 },
    requests: 20,
    connections: 1,
  });
  t.equal(of.whole, 20);
  t.ok(of.latency.maxMs >= 20 * 50 - 190 - 1, `the last one waits for 19 answers: ${of.latency.maxMs}`);
});

t.test("failures are counted by kind", async (t) => {
  const server = startServer(t, atOnce);
  const rows: [query: string, failures: string[]][] = [
    ["x", []],
    ["bytes:100000", []],
    ["status:401", ["denied 2"]],
    ["status:403", ["denied 2"]],
    ["status:503", ["overloaded 2"]],
    ["status:404", ["status 2"]],
    ["end:breach", ["grammar 2"]],
    ["end:no-done", ["no-done 2"]],
    ["end:cut", ["reset 2"]],
    ["end:hang", ["timeout 2"]],
    ["end:alert", ["alert 2"]],
    ["end:error", ["error 2"]],
    ["end:partial", ["partial 2"]],
    ['{"graphql": "{ x }"}', []],
    ['{"graphql": "end:errors"}', ["error 2"]],
    ['{"graphql": "status:401"}', ["denied 2"]],
    ['{"zoekt": "x"}', []],
    ['{"zoekt": "end:errors"}', ["grammar 2"]],
    ['{"get": "/x"}', []],
    ['{"get": "/status:500"}', ["status 2"]],
  ];
  await Promise.all(
    rows.map(async ([queries, failures]) => {
      const of = await loadOne(server.url, { queries, requests: 2, timeoutSeconds: queries === "end:hang" ? 0.3 : 20 });
      t.same(failuresOf(of), failures, queries);
      accountsForAll(t, of);
      t.equal(
        of.latency.count,
        of.whole + of.failures.filter(({ kind }) => kind === "timeout" || kind === "partial").length * 2,
        `${queries}: a refusal has no latency, a wait has`,
      );
    }),
  );
});

t.test("requests to an unreachable server continue at a limited rate, and each failure is counted", async (t) => {
  const server = new NullServer(atOnce);
  await server.stop();
  const of = await loadOne(server.url, { pace: { kind: "closed", concurrency: 2 }, seconds: 0.35 });
  t.ok(of.due >= 1 && of.due <= 10, `${of.due} requests, none sooner than 100 ms after a refusal`);
  t.same(failuresOf(of), [`unreachable ${of.due}`]);
  t.match(of.failures[0]?.example, /ECONNREFUSED/);
});

t.test(
  "a client that pauses waits before each request and keeps its connection; the pause is no latency",
  async (t) => {
    const ports = new Set<number>();
    const askedMs: number[] = [];
    const server = createServer((request, response) => {
      ports.add(request.socket.remotePort ?? 0);
      askedMs.push(performance.now());
      response.end("whole");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    t.teardown(() => server.close());
    const pace: Pace = { kind: "closed", concurrency: 1, pauseSeconds: 0.12 };
    const startedMs = performance.now();
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const of = await loadOne(url, { queries: '{"get": "/"}', pace, requests: 4 });
    t.equal(of.whole, 4);
    t.equal(ports.size, 1, "one connection");
    const gaps = askedMs.map((ms, i) => ms - (askedMs[i - 1] ?? startedMs));
    t.ok(
      gaps.every((ms) => ms >= 115),
      `${gaps.map(Math.round).join(", ")} ms between requests`,
    );
    if (isFull) t.ok(of.latency.minMs < 100, `${of.latency.minMs} ms`);
  },
);

t.test("the path of the address, the token and the parameters are sent", async (t) => {
  const seen: string[] = [];
  const server = new HttpServer(silentLog(), () => {});
  server.route("GET", "/base/PATH", ({ path, query, headers }, response) => {
    seen.push(`${path} ${query} ${headers.get("authorization")}`);
    response.reply(404, plainText, "no");
  });
  t.teardown(() => server.stop(0));
  const url = `http://127.0.0.1:${server.listen("127.0.0.1", 0, () => {})}/base/`;
  const queries = '{"stream": "a b", "patternType": "regexp", "version": "V3", "display": 50}';
  await load(url, { queries, requests: 1, token: "secret" });
  await load(url, { queries: "x", requests: 1, mix: "exhaustive=1" });
  t.same(seen, [
    "/base/.api/search/stream q=a+b&t=regexp&v=V3&display=50 token secret",
    "/base/.api/search/stream q=count%3Aall+x undefined",
  ]);
});

t.test("clients that read slowly, pause, or disconnect", async (t) => {
  const server = startServer(t, atOnce);
  const clients = (mix: string, requests: number, queries: string): Promise<ClassResult> =>
    loadOne(server.url, { queries, mix, pace: { kind: "closed", concurrency: requests }, requests });
  const whole = await clients("interactive=1", 1, "bytes:150000");
  const [slow, paused, leaving] = await Promise.all([
    clients("slow=1", 2, "bytes:150000"),
    clients("paused=1", 2, "bytes:150000"),
    clients("leaving=1", 20, "end:hang"),
  ]);
  for (const of of [slow, paused, leaving]) {
    t.same(of.failures, [], of.name);
    accountsForAll(t, of);
  }
  t.same([slow.whole, slow.bytes], [2, 2 * whole.bytes], "a slow reader reads all");
  t.ok(slow.latency.minMs >= 400, `150 kB at 256 KiB a second, but for the last piece: ${slow.latency.minMs}`);
  t.same([paused.whole, paused.bytes], [2, 2 * whole.bytes], "so does one that pauses");
  t.ok(paused.latency.minMs >= 1990, `after 2 s: ${paused.latency.minMs}`);
  t.same([leaving.left, leaving.whole], [20, 0], "the stream that they left had no end");
  t.equal(leaving.latency.count, 20);
});

t.test("it stops at its limits", async (t) => {
  const server = startServer(t, { delayMs: () => 60_000, stall: undefined });
  const result = await load(server.url, {
    pace: { kind: "open", ratePerSecond: 100, inFlightMax: 10 },
    seconds: 0.5,
    drainSeconds: 0.2,
    connections: 5,
  });
  const of = result.classes[0] as ClassResult;
  t.equal(result.endedBy, "duration");
  t.same(failuresOf(of), ["not-sent 40", "unfinished 10"]);
  accountsForAll(t, of);
  t.equal(of.latency.count, 50, "what was not sent and what was not answered has waited");
  t.ok(of.latency.maxMs >= 699, `the first one waited until the end: ${of.latency.maxMs}`);
  t.ok(result.seconds < 30, `it ended after ${result.seconds} s`);
  t.ok(server.requestCount <= 5, "one request on a connection at a time");

  const stop = new AbortController();
  const stopped = load(server.url, { signal: stop.signal, drainSeconds: 0 });
  stop.abort();
  t.equal((await stopped).endedBy, "signal");
});

t.test("the same seed results in the same requests", async (t) => {
  const asked = async (seed: number): Promise<string> => {
    const server = startServer(t, atOnce);
    const { classes } = await load(server.url, {
      queries: "a\nb\nc",
      mix: "interactive=3,exhaustive=1",
      requests: 40,
      seed,
    });
    return JSON.stringify(classes.map(({ queries }) => queries.map(({ label, whole }) => [label, whole])));
  };
  t.equal(await asked(7), await asked(7));
  t.not(await asked(7), await asked(8));
});

t.test("the output for a terminal", async (t) => {
  const server = startServer(t, { delayMs: (request) => (request % 3 === 0 ? 400 : 20), stall: undefined });
  const rows: SecondRow[] = [];
  const result = await load(server.url, {
    queries: 'x\n{"graphql": "status:503"}',
    requests: 12,
    onSecond: (row) => rows.push(row),
  });
  const [counts, latencies, failures] = loadTables(result);
  t.equal(latencies?.rows.length, 2);
  t.same(
    counts?.rows.map(([name, due]) => [name, Number(due)]),
    result.classes.map(({ name, due }) => [name, due]),
  );
  t.same(
    failures?.rows.map(([name, kind]) => [name, kind]),
    [["graphql", "overloaded"]],
  );
  t.ok((unfairness(result.classes[0]?.queries ?? []) ?? 0) >= 1.5, "some answers took longer");
  for (const { series } of loadPlots(result)) t.ok(series.some(({ points }) => points.length > 0));
  t.same(rows, result.timeline);
  t.equal(
    rows.reduce((sum, { due }) => sum + due, 0),
    12,
  );
  const view = viewLines(rows.at(-1) as SecondRow, 10);
  t.equal(view.length, 4);
  t.match(view[3], /failures: overloaded \d+/);
});

/** Runs `trawl-bench load` as a process of its own. */
async function runCommand(
  ...args: string[]
): Promise<{ readonly code: number | null; readonly out: string; readonly err: string }> {
  const modules = ["commander", new URL("../../native-bench/load/command.js", import.meta.url).href].map((name) =>
    JSON.stringify(name),
  );
  const entry = `const { Command } = await import(${modules[0]}); const { addLoadCommand } = await import(${modules[1]});
const program = new Command(); addLoadCommand(program, (code) => { process.exitCode = code; });
await program.parseAsync(["node", "trawl-bench", "load", ...process.argv.slice(1)]).catch((error) => { console.error(error.message); process.exitCode = 2; });`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", entry, "--", ...args], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const texts = { out: "", err: "" };
  child.stdout.on("data", (part) => {
    texts.out += part;
  });
  child.stderr.on("data", (part) => {
    texts.err += part;
  });
  return { code: await new Promise((resolve) => child.on("close", resolve)), ...texts };
}

t.test("the command", async (t) => {
  const server = startServer(t, atOnce);
  const folder = t.testdir({ good: "# words\nx\n", bad: "x\nstatus:401\n" });
  const [json, svg] = [join(folder, "run.json"), join(folder, "run.svg")];
  const common = ["--url", server.url, "--duration", "0.5"];
  const good = await runCommand(
    ...common,
    "--queries",
    join(folder, "good"),
    "--rate",
    "40",
    "--json",
    json,
    "--svg",
    svg,
  );
  t.equal(good.code, 0, good.err);
  t.match(good.out, /interactive +20 +20 +0 +0/);
  t.match(good.err, /due \d+\/s.*no failures\n/, "without a terminal a line each second");
  t.equal((JSON.parse(readFileSync(json, "utf8")) as LoadResult).classes[0]?.whole, 20);
  for (const file of [svg, join(folder, "run-time.svg")]) t.match(readFileSync(file, "utf8"), /^<svg /);

  const bad = await runCommand(...common, "--queries", join(folder, "bad"), "--concurrency", "2", "--requests", "10");
  t.equal(bad.code, 1);
  t.match(bad.out, /interactive +denied +\d+ +HTTP 401 or 403/);

  const refused = await runCommand(...common, "--queries", join(folder, "good"), "--rate", "100000");
  t.equal(refused.code, 2);
  t.match(refused.err, /rate 100000: must be from 0.01 to 10000/);
});

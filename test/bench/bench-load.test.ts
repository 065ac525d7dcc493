/** The generator of load: what it measures of a server whose delays and failures are known, and its command. */
import { spawn } from "node:child_process";
import { lookup } from "node:dns/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import {
  Generator,
  getRequest,
  type HttpRequest,
  type Latencies,
  postJson,
} from "../../native-bench/load/generator.js";
import { NullServer } from "../../native-bench/load/null-server.js";
import { parseQueries } from "../../native-bench/load/request.js";
import { isFull } from "../support/full-run.js";

const generator = await Generator.compile(t.testdir());

function serve(t: Test, delayMs: (request: number) => number, stall?: { everyMs: number; forMs: number }): NullServer {
  const server = new NullServer({ delayMs, stall });
  t.teardown(() => server.stop());
  return server;
}

/** Answers all requests, and resolves with what it was asked. */
async function listen(t: Test, answer: Parameters<typeof createServer>[1] & {}, host = "127.0.0.1"): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  t.teardown(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const search = (words: string): HttpRequest =>
  getRequest(`/.api/search/stream?${new URLSearchParams({ q: words }).toString()}`);

t.test("known delays result in known percentiles, and each request has its latency", async (t) => {
  const delayMs = (request: number): number => (request % 100 < 80 ? 0 : request % 100 < 97 ? 400 : 900);
  const server = serve(t, delayMs);
  const pace = { connections: 200, ratePerSecond: 200, count: 200, seconds: 30 };
  const of = await generator.measure(server.url, [search("x")], pace);
  t.same([server.requestCount, of.answered, of.count, of.eachMs.length], [200, 200, 200, 200]);
  t.ok(of.p90Ms >= 399, `not sooner than the server answers: p90 ${of.p90Ms}`);
  t.ok(of.p99Ms >= 899 && of.maxMs >= of.p999Ms && of.p999Ms >= of.p99Ms, `p99 ${of.p99Ms}`);
  const lateCount = of.eachMs.filter((ms) => ms >= 399).length;
  t.ok(lateCount >= 40, `${lateCount} of 200 are late`);
  if (isFull) t.equal(lateCount, 40);
});

t.test("each connection sends its next request when it has its answer", async (t) => {
  const server = serve(t, () => 20);
  const { answered, count, p50Ms } = await generator.measure(server.url, [getRequest("/x")], {
    connections: 4,
    seconds: 0.3,
  });
  t.equal(answered, server.requestCount, "each is answered");
  t.ok(answered <= 4 * 15 && count <= answered, `${answered} of at most 60 in 0.3 s`);
  t.ok(p50Ms >= 19, `p50 is ${p50Ms} ms`);
});

t.test("at a constant rate, latency counts from the time at which a request was due", async (t) => {
  // For 300 of every 500 ms no answer goes out: three of five requests wait, and half of those for 150 ms and longer.
  const { url } = serve(t, () => 0, { everyMs: 500, forMs: 300 });
  const pace = { connections: 1, ratePerSecond: 100, seconds: 1 };
  const { answered, p50Ms, p90Ms } = await generator.measure(url, [getRequest("/x")], pace);
  // A machine that is busy may not come to the last ones.
  t.ok(answered >= 50 && answered <= 100, `${answered} answers`);
  t.ok(p90Ms > 150 && p50Ms > 5, `p50 ${p50Ms} ms, p90 ${p90Ms} ms`);
});

t.test("requests are sent in turn, once each if there are as many as are counted", async (t) => {
  const asked: string[] = [];
  const url = await listen(t, ({ url: path = "" }, response) => {
    asked.push(path);
    response.end("whole");
  });
  const paths = ["/a", "/b", "/c", "/d", "/e"];
  const { eachMs } = await generator.measure(url, paths.map(getRequest), { connections: 1, count: 5, seconds: 30 });
  t.same(asked, paths);
  t.equal(eachMs.length, 5);
  t.ok(eachMs.every((ms) => ms > 0));
});

t.test(
  "a client that pauses waits before each request and keeps its connection; the pause is no latency",
  async (t) => {
    const ports = new Set<number>();
    const askedMs: number[] = [];
    const url = await listen(t, (request, response) => {
      ports.add(request.socket.remotePort ?? 0);
      askedMs.push(performance.now());
      response.end("whole");
    });
    const startedMs = performance.now();
    const pace = { connections: 1, pauseSeconds: 0.12, count: 4, seconds: 30 };
    const of = await generator.measure(url, [getRequest("/")], pace);
    t.equal(of.answered, 4);
    t.equal(ports.size, 1, "one connection");
    const gaps = askedMs.map((ms, i) => ms - (askedMs[i - 1] ?? startedMs));
    t.ok(
      gaps.every((ms) => ms >= 115),
      `${gaps.map(Math.round).join(", ")} ms between requests`,
    );
    if (isFull) t.ok(of.p50Ms < 100, `${of.p50Ms} ms`);
  },
);

t.test("a pause goes on when the server closes the connection that is idle", async (t) => {
  let connectionCount = 0;
  const server = createServer((_, response) => response.end("whole"));
  server.on("connection", (socket) => {
    connectionCount++;
    setTimeout(() => {
      if (socket.bytesRead === 0) socket.destroy();
    }, 400);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  // A pause that began again with each connection would never end. A connection may also be closed just when its request is sent.
  const pace = { connections: 1, pauseSeconds: 1, count: 3, seconds: 20 };
  t.ok((await generator.measure(url, [getRequest("/")], pace)).answered > 0);
  t.ok(connectionCount > 1);
});

t.test("failures are counted by kind, and have no latency", async (t) => {
  const server = serve(t, () => 0);
  const rows: readonly (readonly [request: HttpRequest, failures: Latencies["failures"]])[] = [
    [search("x"), {}],
    [search("bytes:100000"), {}],
    [search("status:401"), { denied: 2 }],
    [search("status:403"), { denied: 2 }],
    [search("status:503"), { overloaded: 2 }],
    [search("status:404"), { status: 2 }],
    [search("end:no-done"), { "no-done": 2 }],
    [search("end:cut"), { reset: 2 }],
    // A chunk begins within the last event.
    ...[1, 6, 11, 21].map((length) => [search(`end:${length}`), {}] as const),
    [postJson("/.api/graphql", { query: "x" }), {}],
    [postJson("/.api/graphql", { query: "status:401" }), { denied: 2 }],
    [postJson("/api/search", { Q: "x" }), {}],
    [getRequest("/status:500"), { status: 2 }],
  ];
  await Promise.all(
    rows.map(async ([request, failures]) => {
      const of = await generator.run(server.url, [request], { connections: 1, count: 2, seconds: 30 });
      t.same(of.failures, failures, request.path);
      t.equal(of.count, Object.keys(failures).length === 0 ? 2 : 0, request.path);
    }),
  );
  const asked = { connections: 1, count: 2, seconds: 30 };
  await t.rejects(generator.measure(server.url, [search("status:503")], asked), {
    message: /2 overloaded \(the first status is 503\)/,
  });
  let length = 1;
  const growing = await listen(t, (_, response) => response.end("x".repeat(length++)));
  t.same((await generator.run(growing, [getRequest("/")], { ...asked, isSame: true })).failures, { "other-length": 1 });
  await t.rejects(generator.run("http://127.0.0.1:1", [getRequest("/")], asked), { message: /cannot connect/ });
  await t.rejects(generator.run("http://localhost:1", [getRequest("/")], asked), { message: /cannot connect/ });
  // It listens at only one of the addresses of localhost, also at one that is not the first.
  for (const { address } of await lookup("localhost", { all: true })) {
    const { port } = new URL(await listen(t, (_, response) => response.end("x"), address));
    t.equal((await generator.run(`http://localhost:${port}`, [getRequest("/")], asked)).answered, 2, address);
  }
});

t.test("a server that refuses is not asked in a busy loop", async (t) => {
  const server = serve(t, () => 0);
  await generator.run(server.url, [search("status:503")], { connections: 1, seconds: 0.35 });
  t.ok(server.requestCount >= 1 && server.requestCount <= 4, `${server.requestCount} requests, 100 ms apart`);
});

t.test("the file of queries", async (t) => {
  const text =
    '# what people ask\n\nfoo bar # no comment here\n{"stream": "{", "patternType": "regexp", "version": "V3", "display": 0}\n' +
    '{"graphql": "{ x }"}\n{"zoekt": "a", "options": {"MaxDocDisplayCount": 5}}\n{"get": "/healthz?a=%20"}';
  t.same(
    parseQueries(text, "q").map(({ method, path, body }) => `${method} ${path} ${body}`.trim()),
    [
      "GET /.api/search/stream?q=foo+bar+%23+no+comment+here",
      "GET /.api/search/stream?q=%7B&t=regexp&v=V3&display=0",
      'POST /.api/graphql {"query":"{ x }","variables":{}}',
      'POST /api/search {"Q":"a","Opts":{"MaxDocDisplayCount":5}}',
      "GET /healthz?a=%20",
    ],
  );
  const rows: [text: string, message: RegExp][] = [
    ["# nothing", /q: no queries/],
    ['x\n{"stream": }', /q:2: .*JSON/],
    ['{"query": "x"}', /q:1: needs one of/],
    ['{"stream": ""}', /"stream" must be a text/],
    ['{"stream": "x", "get": "/"}', /"get" means nothing here/],
    ['{"stream": "x", "display": -1}', /"display" must be a whole number/],
    ['{"graphql": "x", "variables": []}', /"variables" must be an object/],
    ['{"get": "healthz"}', /must begin with \//],
  ];
  for (const [bad, message] of rows) t.throws(() => parseQueries(bad, "q"), { code: "bad-config", message }, bad);
});

/** Runs `trawl-bench load` as a process of its own. */
async function runCommand(
  ...args: string[]
): Promise<{ readonly code: number | null; readonly out: string; readonly err: string }> {
  const modules = ["commander", new URL("../../native-bench/load/command.js", import.meta.url).href].map((name) =>
    JSON.stringify(name),
  );
  const entry = `const { Command } = await import(${modules[0]}); const { addLoadCommand } = await import(${modules[1]});
const program = new Command().exitOverride(); addLoadCommand(program, (code) => { process.exitCode = code; });
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
  const server = serve(t, () => 0);
  const folder = t.testdir({ good: "# words\nx\n", bad: "x\nstatus:401\n" });
  const json = join(folder, "run.json");
  const common = ["--url", server.url, "--duration", "20", "--queries"];
  const good = await runCommand(...common, join(folder, "good"), "--rate", "400", "--requests", "20", "--json", json);
  t.equal(good.code, 0, good.err);
  t.match(good.out, /answered +failed.*\n─+\n *20 +0 /);
  t.equal((JSON.parse(readFileSync(json, "utf8")) as Latencies).answered, 20);
  const bad = await runCommand(...common, join(folder, "bad"), "--concurrency", "2", "--requests", "10");
  t.equal(bad.code, 1);
  t.match(bad.out, /denied +5 +HTTP 401 or 403/);
  const rows: readonly (readonly [args: readonly string[], message: RegExp])[] = [
    [["--rate", "1000000"], /must be a number from 0.01 to 100000/],
    [["--concurrency", "1.5"], /must be a whole number from 1 to 1024/],
    [["--token", "a\nb"], /the token has a character/],
    [["--url", "https://127.0.0.1"], /must be http:\/\/HOST:PORT/],
    [["--queries", join(folder, "none")], /cannot be read/],
  ];
  await Promise.all(
    rows.map(async ([args, message]) => {
      const refused = await runCommand(...common, join(folder, "good"), ...args);
      t.equal(refused.code, 2, args.join(" "));
      t.match(refused.err, message, args.join(" "));
    }),
  );
});

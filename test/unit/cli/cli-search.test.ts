import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough, Writable } from "node:stream";
import t from "tap";
import { plainPrinter, terminalPrinter } from "../../../src/cli/match-printer.js";
import type { StreamMatch } from "../../../src/model/stream-events.js";
import { run } from "../../../src/cli/main.js";
import { runSearch, type SearchCommand, type Terminal } from "../../../src/cli/search.js";
import { SseDecoder } from "../../../src/cli/sse-decoder.js";
import { until } from "../../support/waiting.js";

const content: StreamMatch = {
  type: "content",
  repository: "host/r",
  path: "a/b.c",
  branches: [""],
  lineMatches: [
    {
      line: "int kmalloc(𝒳 kmalloc)",
      lineNumber: 9,
      offsetAndLengths: [
        [4, 7],
        [14, 7],
      ],
    },
    { line: "\tfree();", lineNumber: 11, offsetAndLengths: [[1, 4]] },
  ],
};
const path: StreamMatch = { type: "path", repository: "host/r", path: "x y", branches: ["v1"] };
const repo: StreamMatch = { type: "repo", repository: "host/r" };

function event(name: string, data: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

function progress(matchCount: number, skipped: unknown[]): string {
  return event("progress", { done: true, matchCount, durationMs: 5, skipped });
}

const done = event("done", {});

/** A daemon that answers every request with `answer`; keeps the requests. */
async function fakeDaemon(t: { teardown: (fn: () => void) => void }, answer: (response: ServerResponse) => void) {
  const urls: URL[] = [];
  const server = createServer((request, response) => {
    urls.push(new URL(request.url ?? "", "http://x"));
    answer(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, urls };
}

function collector(isTerminal: boolean) {
  const texts = { out: "", err: "" };
  const out = new PassThrough().on("data", (bytes) => {
    texts.out += bytes;
  });
  const err = new PassThrough().on("data", (bytes) => {
    texts.err += bytes;
  });
  const terminal: Terminal = { out, err, isTerminal, colours: false };
  return { texts, terminal };
}

async function search(
  t: Parameters<typeof fakeDaemon>[0],
  stream: string,
  isTerminal: boolean,
  changes: Partial<SearchCommand>,
) {
  const { endpoint, urls } = await fakeDaemon(t, (response) => response.end(stream));
  const { texts, terminal } = collector(isTerminal);
  const command = {
    query: "q",
    endpoint,
    token: undefined,
    json: false,
    count: undefined,
    patternType: undefined,
    ...changes,
  };
  const code = await runSearch(command, terminal);
  return { code, url: urls[0]!, ...texts };
}

t.test("output", async (t) => {
  const stream = event("matches", [content, path]) + event("matches", [repo]) + progress(4, []) + done;
  const plain = await search(t, stream, false, {});
  t.equal(
    plain.out,
    ["host/r:a/b.c:10:int kmalloc(𝒳 kmalloc)", "host/r:a/b.c:12:\tfree();", "host/r@v1:x y", "host/r", ""].join("\n"),
  );
  t.equal(plain.err, "");
  t.equal(plain.code, 0);

  const grouped = await search(t, stream, true, {});
  t.equal(
    grouped.out,
    ["host/r › a/b.c", "10:int kmalloc(𝒳 kmalloc)", "12:\tfree();", "", "host/r@v1 › x y", "host/r", ""].join("\n"),
  );
  t.equal(grouped.err, "trawl: 4 matches in 5 ms\n");

  const json = await search(t, stream, false, { json: true });
  t.same(
    json.out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line)),
    [content, path, repo],
  );
});

t.test("matches are highlighted by code points, and control characters shown", async (t) => {
  const text = terminalPrinter(true)(content);
  t.ok(text.includes("int \u001b[1;31mkmalloc\u001b[0m(𝒳 \u001b[1;31mkmalloc\u001b[0m)\n"));
  t.ok(text.startsWith("\u001b[35mhost/r › a/b.c\u001b[0m\n\u001b[32m10\u001b[0m:"));
  const hostile = {
    ...content,
    lineMatches: [{ line: "a\u001b[2J\r\u009b1m", lineNumber: 0, offsetAndLengths: [[0, 1] as const] }],
  };
  t.equal(terminalPrinter(false)(hostile), "host/r › a/b.c\n1:a␛[2J␍\ufffd1m\n");
});

t.test("commits and diffs", async (t) => {
  const diff = {
    type: "diff",
    repository: "host/r",
    oid: "0123456789abcdef0123456789abcdef01234567",
    authorName: "Ann",
    message: "Fix it\n\nMore",
    content: "```diff\na b\n@@ -1,1 +1,1 @@\n-old\n+new\u001b[2J\n```",
    ranges: [[4, 1, 3] as const],
  };
  t.equal(plainPrinter(diff), "host/r:0123456789abcdef0123456789abcdef01234567:Fix it\n");
  t.equal(
    terminalPrinter(false)(diff),
    "host/r › 0123456789 › Ann: Fix it\n  a b\n  @@ -1,1 +1,1 @@\n  -old\n  +new␛[2J\n\n",
  );
  t.match(terminalPrinter(true)(diff), "+\u001b[1;31mnew\u001b[0m␛[2J");
});

t.test("the request", async (t) => {
  const { url } = await search(t, progress(0, []) + done, false, {
    query: "a b&c+é",
    count: "all",
    patternType: "regexp",
  });
  t.equal(url.pathname, "/.api/search/stream");
  t.same(Object.fromEntries(url.searchParams), { q: "a b&c+é count:all", v: "V3", t: "regexp" });
  const union = await search(t, progress(0, []) + done, false, { query: "repo:a x or repo:b y", count: "5" });
  t.equal(union.url.searchParams.get("q"), "(repo:a x or repo:b y) count:5", "a count for all of it");
});

t.test("exit codes and standard error", async (t) => {
  const limit = {
    reason: "shard-match-limit",
    title: "result limit hit",
    message: "There may be more.",
    severity: "info",
    suggested: { title: "increase limit", queryExpression: "count:2000" },
  };
  const alert = {
    title: "Unable To Process Query",
    description: "Unbalanced parentheses",
    proposedQueries: [{ query: "\\(" }],
  };
  const placed = {
    title: "Unable To Process Query",
    description: "Unknown language",
    proposedQueries: null,
    place: { from: 3, to: 8 },
  };
  const found = event("matches", [repo]);
  const rows: [name: string, stream: string, code: number, err: string][] = [
    ["matches", found + progress(1, []) + done, 0, ""],
    ["none", progress(0, []) + done, 1, ""],
    [
      "skipped",
      found + progress(1, [limit]) + done,
      3,
      "trawl: result limit hit: There may be more. (increase limit: count:2000)\n",
    ],
    [
      "left out by default",
      found +
        progress(1, [{ reason: "repository-fork", title: "2 forked", message: "By default we exclude them." }]) +
        done,
      0,
      "trawl: 2 forked: By default we exclude them.\n",
    ],
    [
      "stopped early, with nothing found",
      progress(0, [{ reason: "backend-missing", title: "1 backend down", message: "The daemon is stopping." }]) + done,
      3,
      "trawl: 1 backend down: The daemon is stopping.\n",
    ],
    [
      "bad query",
      event("alert", alert) + done,
      2,
      "trawl: Unable To Process Query: Unbalanced parentheses\n  try: \\(\n",
    ],
    [
      "bad query, and where",
      event("alert", placed) + done,
      2,
      "trawl: Unable To Process Query: Unknown language\n\n1:3 | é lang: x\n    |   ^^^^^\n",
    ],
    [
      "alert beside an answer",
      progress(0, []) + event("alert", { title: "No repositories found", proposedQueries: null }) + done,
      1,
      "trawl: No repositories found\n",
    ],
    ["error", event("error", { message: "no query found" }) + done, 2, "trawl: no query found\n"],
    ["events of another time", event("news", 1) + found + progress(1, []) + done, 0, ""],
  ];
  for (const [name, stream, code, err] of rows) {
    const result = await search(t, stream, false, { query: "é lang: x" });
    t.equal(result.code, code, name);
    t.equal(result.err, err, name);
  }
  const own = await search(t, found + progress(1, [limit]) + done, false, { count: "1" });
  t.same([own.code, own.err], [0, ""], "a limit that was asked for is no surprise");
  await t.rejects(
    search(t, found, false, {}),
    { message: /lost before the search was complete/ },
    "a stream without done",
  );
});

t.test("unexpected responses of the daemon", async (t) => {
  const { terminal } = collector(false);
  const command = { query: "q", token: undefined, json: false, count: undefined, patternType: undefined };
  const busy = await fakeDaemon(t, (response) => {
    response.writeHead(503, { "Retry-After": "1" }).end("too many searches\n");
  });
  await t.rejects(runSearch({ ...command, endpoint: busy.endpoint }, terminal), {
    message: /answered 503: too many searches$/,
  });
  await t.rejects(runSearch({ ...command, endpoint: "http://127.0.0.1:1" }, terminal), {
    message: /is trawld running there/,
  });
  const broken = await fakeDaemon(t, (response) => {
    response.write(event("matches", [repo]));
    setTimeout(() => response.destroy(), 20);
  });
  await t.rejects(runSearch({ ...command, endpoint: broken.endpoint }, terminal), { message: /was lost before/ });
});

t.test("a reader that closes the pipe ends the search without an error", async (t) => {
  let clientLeft = false;
  const { endpoint } = await fakeDaemon(t, (response) => {
    const timer = setInterval(() => response.write(event("matches", [repo])), 1);
    response.on("close", () => {
      clientLeft = true;
      clearInterval(timer);
    });
  });
  let writes = 0;
  const out = new Writable({
    write: (_chunk, _encoding, callback) => {
      callback(++writes < 3 ? null : Object.assign(new TypeError("gone"), { code: "EPIPE" }));
    },
  });
  const { terminal } = collector(false);
  const command = { query: "q", endpoint, token: undefined, json: false, count: undefined, patternType: undefined };
  t.equal(await runSearch(command, { ...terminal, out }), 0);
  await until("the daemon sees that its client left", () => clientLeft);
});

t.test("events are decoded correctly however the network splits them", async (t) => {
  const bytes = Buffer.from(event("matches", ["é𝒳", "\n\n"]) + event("progress", {}) + done);
  const whole = new SseDecoder().push(bytes);
  t.same(
    whole.map(({ name }) => name),
    ["matches", "progress", "done"],
  );
  for (let cut = 0; cut <= bytes.length; cut++) {
    const decoder = new SseDecoder();
    const events = [...decoder.push(bytes.subarray(0, cut)), ...decoder.push(bytes.subarray(cut))];
    if (JSON.stringify(events) !== JSON.stringify(whole)) t.fail(`cut at ${cut}: ${JSON.stringify(events)}`);
  }
  const byByte = new SseDecoder();
  t.same(
    [...bytes].flatMap((byte) => byByte.push(Buffer.from([byte]))),
    whole,
    "byte by byte",
  );
  t.throws(() => new SseDecoder().push(Buffer.from(": ping\n\n")), { message: /not an event of a search stream/ });
});

t.test("the command line", async (t) => {
  const written: string[] = [];
  t.capture(process.stderr, "write", (text: string) => {
    written.push(text);
    return true;
  });
  t.equal(await run(["node", "trawl", "search", "--endpoint", "http://127.0.0.1:1", "x"]), 2);
  t.equal(await run(["node", "trawl", "nonsense"]), 2);
  t.equal(await run(["node", "trawl", "serve", "--listen", "0.0.0.0:1"]), 2);
  t.equal(await run(["node", "trawl", "serve", "--set", "queue"]), 2);
  t.equal(await run(["node", "trawl", "repo", "list", "--data", t.testdir()]), 2);
  t.match(written.join(""), /no trawld is running with the data in/);
});

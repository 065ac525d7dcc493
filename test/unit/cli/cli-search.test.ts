import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough, Writable } from "node:stream";
import t from "tap";
import { run } from "../../../src/cli/main.js";
import { rawPainter } from "../../../src/cli/search/line-painter.js";
import type { LineLayout } from "../../../src/cli/search/match-lines.js";
import { plainPrinter } from "../../../src/cli/search/plain-printer.js";
import { runSearch, type SearchCommand, searchAsCurl, type Terminal } from "../../../src/cli/search/run-search.js";
import { terminalPrinter } from "../../../src/cli/search/terminal-printer.js";
import { createStyle } from "../../../src/cli/search/terminal-style.js";
import type { StreamMatch } from "../../../src/model/stream-events.js";
import { SseDecoder } from "../../../src/cli/connection/sse-decoder.js";
import { until } from "../../support/waiting.js";

const wholeLines: LineLayout = { each: "line", hasName: true, hasNumber: true, hasColumn: false };

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
  const terminal: Terminal = {
    out,
    err,
    isTerminal,
    colours: false,
    hyperlinks: false,
    errIsTerminal: false,
    errColours: false,
  };
  return { texts, terminal };
}

const noContext = { before: 0, after: 0 };

function commandFor(endpoint: string, changes: Partial<SearchCommand> = {}): SearchCommand {
  return {
    query: "q",
    groups: undefined,
    patterns: undefined,
    connection: { endpoint, token: undefined, tokenVariable: undefined },
    format: "lines",
    nul: false,
    context: noContext,
    layout: wholeLines,
    heading: undefined,
    summary: false,
    columnsMax: 0,
    count: undefined,
    patternType: undefined,
    caseSensitive: false,
    receipt: "none",
    waitFor: "",
    duplicates: false,
    explain: false,
    isResumable: false,
    ...changes,
  };
}

const terminalFormat = { context: noContext, layout: wholeLines, columnsMax: 0 };
const coloured = terminalPrinter({ ...terminalFormat, style: createStyle(true, undefined) });
const uncoloured = () => terminalPrinter({ ...terminalFormat, style: createStyle(false, undefined) });
const plain = plainPrinter({ context: noContext, layout: wholeLines, painter: rawPainter, nul: false });

async function search(
  t: Parameters<typeof fakeDaemon>[0],
  stream: string,
  isTerminal: boolean,
  changes: Partial<SearchCommand>,
) {
  const { endpoint, urls } = await fakeDaemon(t, (response) => response.end(stream));
  const { texts, terminal } = collector(isTerminal);
  const code = await runSearch(commandFor(endpoint, changes), terminal);
  return { code, url: urls[0]!, ...texts };
}

t.test("output", async (t) => {
  const stream = event("matches", [content, path]) + event("matches", [repo]) + progress(4, []) + done;
  const lines = await search(t, stream, false, {});
  t.equal(
    lines.out,
    ["host/r:a/b.c:10:int kmalloc(𝒳 kmalloc)", "host/r:a/b.c:12:\tfree();", "host/r@v1:x y", "host/r", ""].join("\n"),
  );
  t.equal(lines.err, "");
  t.equal(lines.code, 0);

  const grouped = await search(t, stream, true, {});
  t.equal(
    grouped.out,
    ["host/r › a/b.c", "10:int kmalloc(𝒳 kmalloc)", "12:\tfree();", "", "host/r@v1 › x y", "host/r", ""].join("\n"),
  );
  t.equal(grouped.err, "\n4 matches in 3 results from 1 repository, 5 ms\n");

  const json = await search(t, stream, false, { format: "json" });
  t.same(
    json.out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line)),
    [content, path, repo],
  );
});

t.test("matches are highlighted by code points, and control characters shown", async (t) => {
  const text = coloured(content);
  t.ok(text.includes("int \u001b[1;31mkmalloc\u001b[0m(𝒳 \u001b[1;31mkmalloc\u001b[0m)\n"));
  t.ok(
    text.startsWith("\u001b[35mhost/r\u001b[0m\u001b[35m › \u001b[0m\u001b[35ma/b.c\u001b[0m\n\u001b[32m10\u001b[0m:"),
  );
  const hostile = {
    ...content,
    lineMatches: [{ line: "a\u001b[2J\r\u009b1m\r", lineNumber: 0, offsetAndLengths: [[0, 1] as const] }],
  };
  t.equal(uncoloured()(hostile), "host/r › a/b.c\n1:a␛[2J␍\ufffd1m\n", "without the end of a line of Windows");
});

t.test("no format lets a name or a line control the terminal", async (t) => {
  const line = "x\u001b[2J\u009b1m\u202e";
  const hostile = {
    ...content,
    repository: "r\u001b[2J",
    path: "p\n\u009b1m",
    lineMatches: [{ line, lineNumber: 0, offsetAndLengths: [[0, 1] as const] }],
  };
  const stream = event("matches", [hostile, { ...hostile, lineMatches: [] }]) + progress(1, []) + done;
  const formats: Partial<SearchCommand>[] = [
    { format: "lines" },
    { heading: false },
    { heading: false, layout: { ...wholeLines, each: "text" } },
    { nul: true },
    { format: "names" },
    { format: "counts", nul: true },
    { format: "json" },
    { duplicates: true },
  ];
  for (const changes of formats) {
    const { out } = await search(t, stream, true, changes);
    t.notMatch(out, /[\u0001-\u0008\u000b-\u001f\u007f-\u009f\u202e]/, JSON.stringify(changes));
    if (changes.format === "json") t.same(JSON.parse(out.split("\n")[0]!), hostile, "the same JSON");
  }
  const piped = await search(t, stream, false, { format: "names" });
  t.ok(piped.out.startsWith("r\u001b[2J:p\n\u009b1m\n"), "a program gets the bytes");
});

t.test("what stands before the text of a line, and which part of it", async (t) => {
  const rows: readonly (readonly [Partial<SearchCommand>, string])[] = [
    [{ layout: { ...wholeLines, hasName: false } }, "10:int kmalloc(𝒳 kmalloc)|12:\tfree();|host/r@v1:x y|"],
    [
      { layout: { ...wholeLines, hasNumber: false, each: "text" } },
      "host/r:a/b.c:kmalloc|host/r:a/b.c:kmalloc|host/r:a/b.c:free|host/r@v1:x y|",
    ],
    [
      { layout: { ...wholeLines, hasColumn: true } },
      "host/r:a/b.c:10:5:int kmalloc(𝒳 kmalloc)|host/r:a/b.c:12:2:\tfree();|host/r@v1:x y|",
    ],
    [
      { layout: { ...wholeLines, each: "match", hasColumn: true } },
      "host/r:a/b.c:10:5:int kmalloc(𝒳 kmalloc)|host/r:a/b.c:10:18:int kmalloc(𝒳 kmalloc)|host/r:a/b.c:12:2:\tfree();|host/r@v1:x y|",
    ],
    [{ heading: true }, "host/r › a/b.c|10:int kmalloc(𝒳 kmalloc)|12:\tfree();||host/r@v1 › x y|"],
    [
      { heading: true, layout: { ...wholeLines, each: "text", hasName: false, hasNumber: false } },
      "kmalloc|kmalloc|free|host/r@v1 › x y|",
    ],
  ];
  const stream = event("matches", [content, path]) + progress(4, []) + done;
  for (const [changes, out] of rows)
    t.equal((await search(t, stream, false, changes)).out, out.replaceAll("|", "\n"), JSON.stringify(changes));
  const terminal = await search(t, stream, true, { layout: { ...wholeLines, each: "match", hasColumn: true } });
  t.match(terminal.out, /^host\/r:a\/b\.c:10:5:int/, "no headings for editors");
  const context = { before: 0, after: 1 };
  const parts = { context, layout: { ...wholeLines, each: "text", hasName: false } } as const;
  const chunks = event("matches", [chunked]) + progress(3, []) + done;
  t.equal((await search(t, chunks, false, parts)).out, "12:two\n13:hree\n14:fo\n--\n21:x\n", "no context of parts");
  const piped = await search(t, stream, false, { summary: true });
  t.equal(piped.err, "4 matches in 2 results from 1 repository, 5 ms\n");
});

t.test("a quiet search prints nothing, and ends with the first result", async (t) => {
  const { endpoint } = await fakeDaemon(t, (response) => response.write(event("matches", [content])));
  const { texts, terminal } = collector(true);
  t.equal(await runSearch(commandFor(endpoint, { format: "none" }), terminal), 0);
  t.same(texts, { out: "", err: "" });
  t.equal((await search(t, progress(0, []) + done, false, { format: "none", query: "lagn:c" })).code, 1);
});

t.test("misspelt fields and types are named if nothing was found", async (t) => {
  const rows = [
    ["lagn:go x or -reop:y", ["did you mean lang:?", "did you mean repo:?"]],
    ["type:symbl x", ["did you mean type:symbol?"]],
    ["type:quux x", ["the types are file, path"]],
    ["https://example.org std::vector a:b /lagn/ lang:go", []],
  ] as const;
  for (const [query, hints] of rows) {
    const { err } = await search(t, progress(0, []) + done, false, { query });
    t.equal(err.split("\n").length - 1, hints.length, query);
    for (const hint of hints) t.ok(err.includes(hint), `${query}: ${err}`);
  }
  t.equal((await search(t, event("matches", [repo]) + progress(1, []) + done, false, { query: "lagn:go" })).err, "");
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
  t.equal(plain(diff), "host/r:0123456789abcdef0123456789abcdef01234567:Fix it\n");
  t.equal(uncoloured()(diff), "host/r › 0123456789 › Ann: Fix it\n  a b\n  @@ -1,1 +1,1 @@\n  -old\n  +new␛[2J\n");
  t.match(coloured(diff), "\u001b[32m+\u001b[0m\u001b[1;4;32mnew\u001b[0m\u001b[32m␛[2J\u001b[0m");
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

const chunked: StreamMatch = {
  type: "content",
  repository: "host/r",
  path: "a b.c",
  branches: ["v#1"],
  chunkMatches: [
    {
      content: "one\ntwo\nthree\nfour\nfive",
      contentStart: { offset: 0, line: 10, column: 0 },
      ranges: [
        { start: { offset: 0, line: 12, column: 1 }, end: { offset: 0, line: 13, column: 2 } },
        { start: { offset: 0, line: 11, column: 0 }, end: { offset: 0, line: 12, column: 0 } },
      ],
    },
    {
      content: "x\ny",
      contentStart: { offset: 0, line: 20, column: 0 },
      ranges: [{ start: { offset: 0, line: 20, column: 0 }, end: { offset: 0, line: 20, column: 1 } }],
    },
  ],
};

t.test("lines of context", async (t) => {
  const stream = event("matches", [chunked, chunked]) + progress(3, []) + done;
  const after = await search(t, stream, false, { context: { before: 0, after: 1 } });
  t.same([after.url.searchParams.get("cm"), after.url.searchParams.get("cl")], ["true", "1"]);
  const name = "host/r@v#1:a b.c";
  const file = [":12:two", ":13:three", ":14:four", "-15-five", "", ":21:x", "-22-y"];
  const lines = file.map((line) => (line === "" ? "--" : `${name}${line}`));
  t.equal(after.out, [...lines, "--", ...lines, ""].join("\n"));
  const style = createStyle(true, "http://h:1/trawl");
  const print = terminalPrinter({ ...terminalFormat, context: { before: 1, after: 0 }, style });
  const [heading, ...shown] = print(chunked).split("\n");
  t.match(heading, "\u001b]8;;http://h:1/trawl/host/r@v%231/-/blob/a%20b.c\u001b\\");
  const text = shown.map((line) => line.replaceAll(/\u001b\]8;;.*?\u001b\\|\u001b\[32m|\u001b\[0m/g, ""));
  t.same(text, [
    "11-one",
    "12:\u001b[1;31mtwo",
    "13:t\u001b[1;31mhree",
    "14:\u001b[1;31mfour".replace("four", "fo") + "ur",
    "--",
    "21:\u001b[1;31mx",
    "",
  ]);
});

t.test("columns are bytes of the file, where U+FFFD stands for invalid ones and where the file has it", async (t) => {
  // Each line is that of the file; the stream has U+FFFD for each invalid byte.
  const rows: readonly (readonly [what: string, lines: readonly Buffer[]])[] = [
    ["invalid bytes", [Buffer.from("a\xe9\xff needle\xe9 needle", "latin1"), Buffer.from("\xe9b needle", "latin1")]],
    ["U+FFFD", [Buffer.from("a\ufffd needle\ufffd needle"), Buffer.from("\ufffdb needle")]],
    ["neither", [Buffer.from("\u00e9\u{1d4b3} needle needle"), Buffer.from("b needle")]],
  ];
  for (const [what, lines] of rows) {
    const expected: string[] = [];
    const ranges: {
      start: { offset: number; line: number; column: number };
      end: { offset: number; line: number; column: number };
    }[] = [];
    let lineFrom = 100;
    lines.forEach((line, i) => {
      for (let at = line.indexOf("needle"); at >= 0; at = line.indexOf("needle", at + 1)) {
        expected.push(`${i + 1}:${at + 1}`);
        const column = Array.from(line.toString("utf8", 0, at)).length;
        const [start, end] = [0, 6].map((more) => ({ offset: lineFrom + at + more, line: i, column: column + more }));
        ranges.push({ start, end });
      }
      lineFrom += line.length + 1;
    });
    const content = lines.map((line) => line.toString()).join("\n");
    const match: StreamMatch = {
      ...chunked,
      chunkMatches: [{ content, contentStart: { offset: 100, line: 0, column: 0 }, ranges: ranges.reverse() }],
    };
    const layout = { each: "match", hasName: false, hasNumber: true, hasColumn: true } as const;
    const { out } = await search(t, event("matches", [match]) + progress(3, []) + done, false, { layout });
    t.same(
      out.split("\n").flatMap((line) => /^\d+:\d+/.exec(line) ?? []),
      expected,
      what,
    );
  }
});

t.test("names, counts and NUL bytes", async (t) => {
  const stream = event("matches", [content, path, repo]) + progress(4, []) + done;
  const rows: readonly (readonly [Partial<SearchCommand>, string])[] = [
    [{ format: "names" }, "host/r:a/b.c\nhost/r@v1:x y\nhost/r\n"],
    [{ format: "names", nul: true }, "host/r:a/b.c\0host/r@v1:x y\0host/r\0"],
    [{ format: "counts" }, "host/r:a/b.c:2\nhost/r@v1:x y:0\nhost/r:0\n"],
    [{ format: "counts", nul: true }, "host/r:a/b.c\x002\nhost/r@v1:x y\x000\nhost/r\x000\n"],
    [{ nul: true }, "host/r:a/b.c\x0010:int kmalloc(𝒳 kmalloc)\nhost/r:a/b.c\x0012:\tfree();\nhost/r@v1:x y\0host/r\0"],
  ];
  for (const [changes, out] of rows) t.equal((await search(t, stream, false, changes)).out, out);
});

t.test("a long line is cut around its first match", async (t) => {
  const line = `${"a".repeat(500)}NEEDLE${"b".repeat(500)}`;
  const long = { ...content, lineMatches: [{ line, lineNumber: 0, offsetAndLengths: [[500, 6] as const] }] };
  const print = terminalPrinter({ ...terminalFormat, columnsMax: 40, style: createStyle(false, undefined) });
  t.equal(print(long).split("\n")[1], `1:…${"a".repeat(10)}NEEDLE${"b".repeat(24)} … 1006 columns`);
  const points = { ...long, lineMatches: [{ ...long.lineMatches[0]!, line: line.replaceAll("a", "𝒳") }] };
  t.equal(print(points).split("\n").at(-2), `1:…${"𝒳".repeat(10)}NEEDLE${"b".repeat(24)} … 1006 columns`);
});

t.test("a repository, a path and a symbol on a terminal", async (t) => {
  const range = (from: number, to: number) => ({
    start: { offset: from, line: 0, column: from },
    end: { offset: to, line: 0, column: to },
  });
  const print = uncoloured();
  t.equal(
    print({ ...repo, archived: true, repoStars: 7, description: "What\u001b[2J" }),
    "host/r  archived, 7 stars, What␛[2J\n",
  );
  t.match(coloured({ ...repo, repositoryMatches: [range(5, 6)] }), "host/\u001b[0m\u001b[1;31mr\u001b[0m");
  t.match(coloured({ ...path, pathMatches: [range(0, 1)] }), "\u001b[1;31mx\u001b[0m\u001b[35m y");
  const symbol = { url: "", name: "kmalloc", containerName: "slab", kind: "FUNCTION" as const, line: 7 };
  t.equal(uncoloured()({ ...path, symbols: [symbol] }), "host/r@v1 › x y\n7:function kmalloc in slab\n");
});

t.test("the call of curl", async (t) => {
  const connection = { endpoint: "http://h:1", token: "secret", tokenVariable: "SRC_ACCESS_TOKEN" };
  const text = await searchAsCurl(commandFor("", { connection, query: "it's", count: "5" }));
  t.equal(
    text,
    `curl -sS -N -H 'Accept: text/event-stream' -H "Authorization: token $SRC_ACCESS_TOKEN" ` +
      `'http://h:1/.api/search/stream?q=it%27s+count%3A5&v=V3'`,
    "without the token",
  );
});

t.test("while nothing has come a terminal shows so, and Ctrl-C leaves it clean", async (t) => {
  const { endpoint } = await fakeDaemon(t, (response) => response.writeHead(200).flushHeaders());
  const { texts, terminal } = collector(true);
  const stop = new AbortController();
  const code = runSearch(commandFor(endpoint), {
    ...terminal,
    err: Object.assign(terminal.err, { columns: 20 }),
    colours: true,
    hyperlinks: true,
    errIsTerminal: true,
    signal: stop.signal,
  });
  await until("the line is shown", () => texts.err.includes("searching for"));
  t.match(texts.err.split("\r\u001b[K").at(-1), /^.{1,19}$/, "it fits on a narrow terminal");
  stop.abort();
  t.equal(await code, 130);
  t.ok(texts.err.endsWith("\r\u001b[K"), "the line is removed");
  t.equal(texts.out, "\u001b]8;;\u001b\\\u001b[0m");
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
  const busy = await fakeDaemon(t, (response) => {
    response.writeHead(503, { "Retry-After": "1" }).end("too many searches\n");
  });
  await t.rejects(runSearch(commandFor(busy.endpoint), terminal), {
    message: /answered 503: too many searches; try again in 1 s$/,
  });
  await t.rejects(runSearch(commandFor("http://127.0.0.1:1"), terminal), {
    message: /is trawld running there/,
  });
  const answers: readonly (readonly [status: number, headers: Record<string, string>, body: string, told: RegExp])[] = [
    [
      401,
      {},
      "Private mode requires authentication.",
      /answered 401: Private mode requires authentication\. Run `trawl login`/,
    ],
    [401, {}, "", /answered 401\. Run `trawl login`/],
    [403, {}, "This token may not search.", /answered 403: This token may not search\.$/],
    [429, { "Retry-After": "7" }, "", /answered 429; try again in 7 s$/],
    [502, { "Content-Type": "text/html" }, "<html>".repeat(1000), /answered 502: Bad Gateway$/],
    [301, { Location: "https://x/" }, "", /answered 301 \(a redirect to https:\/\/x\/\): use that/],
    [
      200,
      { "Content-Type": "text/html; charset=utf-8" },
      "<html>",
      /answered with text\/html.* instead of results; is this/,
    ],
    [200, {}, "event: progress\ndata: {done}\n\n", /the data of an event "progress" is not JSON: /],
    [200, {}, event("matches", 7) + done, /the event "matches" does not have the form of a search result/],
    [200, {}, "<html>\n\n", /not an event of a search stream: "<html>/],
    [200, {}, "event: progress\ndata: {", /was lost before/],
  ];
  for (const [status, headers, body, told] of answers) {
    const { endpoint } = await fakeDaemon(t, (response) => response.writeHead(status, headers).end(body));
    await t.rejects(runSearch(commandFor(endpoint), terminal), { message: told });
  }
  const { endpoint } = await fakeDaemon(t, () => undefined);
  await t.rejects(runSearch(commandFor(endpoint.replace("http", "https")), terminal), { message: /try http:\/\/$/ });
  const broken = await fakeDaemon(t, (response) => {
    response.write(event("matches", [repo]));
    setTimeout(() => response.destroy(), 20);
  });
  await t.rejects(runSearch(commandFor(broken.endpoint), terminal), { message: /was lost before/ });
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
  t.equal(await runSearch(commandFor(endpoint), { ...terminal, out }), 0);
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
  for (const words of [["serch"], ["help", "serch"], ["serch", "--help"]])
    t.equal(await run(["node", "trawl", ...words]), 2, words.join(" "));
  t.equal(await run(["node", "trawl", "help", "repo", "lst"]), 2);
  t.equal(await run(["node", "trawl", "search", "-t", "regex", "x"]), 2);
  t.equal(await run(["node", "trawl", "search", "-C", "-1", "x"]), 2);
  t.equal(await run(["node", "trawl", "search", "-t", "go", "x"]), 2);
  t.equal(await run(["node", "trawl", "search", "-x", "x"]), 2);
  t.equal(await run(["node", "trawl", "search", "-iS", "x"]), 2);
  t.equal(await run(["node", "trawl", "search", "--resume", "x"]), 2);
  t.equal(await run(["node", "trawl", "search", "--resume", "x count:allowed"]), 2);
  const text = written.join("");
  t.match(text, /no trawld is running with the data in/);
  t.equal(text.match(/trawl: unknown command 'serch'\ntrawl: \(Did you mean search\?\)/g)?.length, 3);
  t.match(text, /trawl: unknown command 'lst'\ntrawl: \(Did you mean list\?\)/);
  t.match(text, /-s, -i and -S contradict each other: leave all but one out/);
  t.match(text, /Did you mean regexp\?/);
  t.match(text, /argument 'go' is invalid.* A language is lang:NAME in the query\./);
  t.match(text, /trawl: unknown option '-x'\ntrawl: for whole lines, write a regular expression: \/\^LINE\$\//);
  t.equal(text.match(/--resume needs --json, --count all or count:all in the query/g)?.length, 2);
});

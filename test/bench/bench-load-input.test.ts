import t from "tap";
import {
  loadBounds,
  type LoadOptions,
  type Pace,
  parseMix,
  requireLoadOptions,
} from "../../native-bench/load/options.js";
import { parseQueries } from "../../native-bench/load/request.js";
import { SseCheck } from "../../native-bench/load/answer-check.js";

const matches = 'event: matches\ndata: [{"type":"repo"}]\n\n';
const filters = 'event: filters\ndata: [{"value":"lang:go"}]\n\n';
const progress = 'event: progress\ndata: {"done":false,"matchCount":1,"durationMs":1,"skipped":[]}\n\n';
const last = 'event: progress\ndata: {"done":true,"matchCount":1,"durationMs":1,"skipped":[]}\n\n';
const late =
  'event: progress\ndata: {"done":true,"matchCount":1,"durationMs":1,"skipped":[{"reason":"shard-timeout","title":"1 timed out"}]}\n\n';
const alert = 'event: alert\ndata: {"title":"Größe","proposedQueries":null}\n\n';
const error = 'event: error\ndata: {"message":"gone"}\n\n';
const done = "event: done\ndata: {}\n\n";

/** What the check says of a stream that comes in these pieces. */
function checked(pieces: readonly Buffer[]): string {
  const check = new SseCheck();
  for (const piece of pieces) {
    const failure = check.push(piece);
    if (failure !== undefined) return failure.kind;
  }
  const failure = check.end();
  return failure === undefined ? "" : failure.kind === "alert" ? `alert ${failure.message}` : failure.kind;
}

t.test("the grammar of a stream, however the network splits it", async (t) => {
  const rows: [name: string, stream: string, verdict: string][] = [
    ["a whole answer", filters + matches + progress + filters + matches + last + done, ""],
    ["no result", last + done, ""],
    ["a refused query", alert + done, "alert Größe"],
    ["a failed search", error + done, "error"],
    ["an alert after the last progress", last + alert + done, "alert Größe"],
    ["an alert and an error", last + alert + error + done, "error"],
    ["a part timed out", matches + late + done, "partial"],
    ["a long event", matches.replace("repo", "x".repeat(20_000)) + last + done, ""],
    ["empty", "", "no-done"],
    ["cut between events", matches + last, "no-done"],
    ["cut within an event", matches.slice(0, -5), "no-done"],
    ["done without its empty line", last + done.slice(0, -1), "grammar"],
    ["done twice", last + done + done, "grammar"],
    ["something after done", last + done + "x", "grammar"],
    ["done without a last progress", matches + progress + done, "grammar"],
    ["matches after the last progress", last + matches + done, "grammar"],
    ["two alerts", last + alert + alert + done, "grammar"],
    ["an alert after an error", error + alert + done, "grammar"],
    ["an unknown event", "event: result\ndata: {}\n\n" + last + done, "grammar"],
    ["an inherited name", "event: constructor\ndata: {}\n\n" + last + done, "grammar"],
    ["a comment", `: ping\n\n${last}${done}`, "grammar"],
    ["an empty line more", `${matches}\n${last}${done}`, "grammar"],
    ["no empty line", matches.slice(0, -1) + last + done, "grammar"],
    ["data first", "data: [{}]\nevent: matches\n\n", "grammar"],
    ["no space", matches.replace("event: ", "event:") + last + done, "grammar"],
    ["two data lines", matches.replace("\n\n", "\ndata: 1\n\n") + last + done, "grammar"],
    ["carriage returns", matches.replaceAll("\n", "\r\n") + last + done, "grammar"],
    ["no matches in matches", "event: matches\ndata: []\n\n" + last + done, "grammar"],
    ["matches are cut", 'event: matches\ndata: [{"type":"repo"}\n\n' + last + done, "grammar"],
    ["progress without skipped", last.replace(',"skipped":[]', "") + done, "grammar"],
    ["progress is no JSON", last.replace('"done"', "done") + done, "grammar"],
    ["alert without a title", alert.replace("title", "text") + done, "grammar"],
    ["done with something in it", last + done.replace("{}", '{"a":1}'), "grammar"],
  ];
  for (const [name, stream, verdict] of rows) {
    const bytes = Buffer.from(stream);
    t.equal(checked([bytes]), verdict, name);
    t.equal(checked(Array.from(bytes, (byte) => Buffer.of(byte))), verdict, `${name}, byte by byte`);
    const half = bytes.length >> 1;
    t.equal(checked([bytes.subarray(0, half), bytes.subarray(half)]), verdict, `${name}, in halves`);
  }
});

t.test("an event that clients cannot accept", async (t) => {
  const check = new SseCheck();
  t.equal(check.push(Buffer.from("event: matches\ndata: [{")), undefined);
  const piece = Buffer.alloc(1024 * 1024, "x");
  const failures = Array.from({ length: 10 }, () => check.push(piece)?.kind);
  t.same(
    failures.filter((kind) => kind !== undefined),
    ["grammar"],
  );
});

t.test("first event and first matches", async (t) => {
  const check = new SseCheck();
  check.push(Buffer.from(progress.slice(0, -1)));
  t.same([check.hasBegun, check.hasMatches], [false, false]);
  check.push(Buffer.from("\n"));
  t.same([check.hasBegun, check.hasMatches], [true, false]);
  check.push(Buffer.from("event: matches\n"));
  t.ok(check.hasMatches);
});

t.test("the file of queries", async (t) => {
  const text =
    '# what people ask\n\nfoo bar # no comment here\n{"stream": "{", "display": 0}\n' +
    '{"graphql": "{ x }"}\n{"zoekt": "a", "options": {"MaxDocDisplayCount": 5}}\n{"get": "/healthz?a=%20"}';
  t.same(parseQueries(text, "q"), [
    { kind: "stream", query: "foo bar # no comment here", patternType: "", version: "", display: undefined },
    { kind: "stream", query: "{", patternType: "", version: "", display: 0 },
    { kind: "graphql", query: "{ x }", variables: {} },
    { kind: "zoekt", query: "a", options: { MaxDocDisplayCount: 5 } },
    { kind: "get", path: "/healthz?a=%20" },
  ]);
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

t.test("the mix", async (t) => {
  const queries = parseQueries('a\nb count:5\n{"graphql": "{ x }"}', "q");
  const shown = (mix: string | undefined): unknown =>
    parseMix(mix, queries).map(({ name, weight, requests }) => [name, weight, requests.length]);
  t.same(
    shown(undefined),
    [
      ["interactive", 2, 2],
      ["graphql", 1, 1],
    ],
    "each line equally often",
  );
  t.same(shown("interactive=9, exhaustive=0.5"), [
    ["interactive", 9, 2],
    ["exhaustive", 0.5, 2],
  ]);
  t.same(
    parseMix("exhaustive=1", queries)[0]?.requests.map((request) => request.kind === "stream" && request.query),
    ["count:all a", "b count:5"],
  );
  for (const bad of ["", "interactive", "fast=1", "interactive=1,interactive=2", "interactive=-1"]) {
    t.throws(() => parseMix(bad, queries), { code: "bad-config" }, bad);
  }
});

t.test("input beyond the documented limits is rejected", async (t) => {
  const options: LoadOptions = {
    url: "http://127.0.0.1:1",
    token: "",
    classes: parseMix(undefined, parseQueries("x", "q")),
    pace: { kind: "closed", concurrency: 1 },
    connections: 1,
    seed: 1,
    onSecond: () => {},
    signal: undefined,
    limits: { durationSeconds: 1, requestsMax: 1, timeoutSeconds: 1, drainSeconds: 0 },
  };
  const open = (ratePerSecond: number, inFlightMax: number): { pace: Pace } => ({
    pace: { kind: "open", ratePerSecond, inFlightMax },
  });
  const rows: [changed: Partial<LoadOptions>, message: RegExp][] = [
    [open(loadBounds.rate.max + 1, 1), /rate 10001: must be from 0.01 to 10000 requests a second/],
    [open(0, 1), /rate 0/],
    [open(NaN, 1), /rate NaN/],
    [open(1, loadBounds["in-flight"].max + 1), /in-flight/],
    [{ pace: { kind: "closed", concurrency: loadBounds.concurrency.max + 1 } }, /concurrency/],
    [{ pace: { kind: "closed", concurrency: 1, pauseSeconds: 601 } }, /pause 601: must be from 0 to 600 seconds/],
    [{ connections: loadBounds.connections.max + 1 }, /connections/],
    [{ connections: 1.5 }, /connections 1.5: must be a whole number/],
    [{ limits: { ...options.limits, durationSeconds: loadBounds.duration.max + 1 } }, /duration/],
    [{ limits: { ...options.limits, requestsMax: Infinity } }, /requests/],
    [{ limits: { ...options.limits, timeoutSeconds: 0 } }, /timeout/],
    [{ limits: { ...options.limits, drainSeconds: loadBounds.drain.max + 1 } }, /drain/],
    [{ url: "ftp://x" }, /url/],
    [{ url: "127.0.0.1:80" }, /url/],
    [{ token: "a\nb" }, /token/],
    [{ classes: [] }, /mix is empty/],
    [{ classes: parseMix("graphql=1", parseQueries("x", "q")) }, /nothing to send for graphql/],
    [{ classes: parseMix("interactive=0", parseQueries("x", "q")) }, /share of interactive/],
  ];
  t.doesNotThrow(() => requireLoadOptions(options));
  for (const [changed, message] of rows)
    t.throws(() => requireLoadOptions({ ...options, ...changed }), { code: "bad-config", message }, String(message));
});

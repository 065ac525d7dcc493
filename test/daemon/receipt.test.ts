/** Receipts of searches: what was searched, what was left out, and the digest of the results. */
import assert from "node:assert/strict";
import t, { type Test } from "tap";
import type { Progress, Receipt, StreamMatch } from "../../src/model/stream-events.js";
import {
  addToDigest,
  emptyDigest,
  noPosition,
  printDigest,
  repositoryKey,
} from "../../src/native/kernel/result-digest.js";
import { type DaemonProcess, runCommand, testDaemon, textsOnly } from "../support/daemon.js";
import { SseDecoder, type StreamEvent } from "../../src/cli/connection/sse-decoder.js";
import { isFull } from "../support/full-run.js";
import type { GitFixture } from "../support/git-fixture.js";
import { fixture } from "../support/git-mirror.js";

const texts = Object.fromEntries(
  Array.from({ length: 300 }, (_, i) => [
    `dir${i % 7}/file${i}.c`,
    `int f${i}(void)\n{\n  return ${i}; // return\n}\n`,
  ]),
);

/** Files without a text that is indexed. */
const others = {
  "image.bin": "return \u0000",
  "large.txt": `return ${"x".repeat(20_000)}`,
  link: { symlink: "large.txt" },
};

interface Searched {
  readonly events: readonly StreamEvent[];
  readonly receipt: Receipt | undefined;
  readonly matches: readonly StreamMatch[];
  readonly error: string | undefined;
}

async function search(daemon: DaemonProcess, parameters: Readonly<Record<string, string>>): Promise<Searched> {
  const query = new URLSearchParams({ v: "V3", t: "literal", cm: "true", receipt: "1", ...parameters });
  const { text } = await daemon.get(`/.api/search/stream?${query}`);
  return readAnswer(new SseDecoder().push(Buffer.from(text)));
}

function readAnswer(events: readonly StreamEvent[]): Searched {
  const last = <T>(name: string): T | undefined => {
    const event = events.findLast((one) => one.name === name);
    return event && (JSON.parse(event.data) as T);
  };
  return {
    events,
    receipt: last<Progress>("progress")?.receipt,
    matches: events.flatMap(({ name, data }) => (name === "matches" ? (JSON.parse(data) as StreamMatch[]) : [])),
    error: last<{ message: string }>("error")?.message,
  };
}

/** The digest as a client computes it from the matches of files. */
function digestOf(matches: readonly StreamMatch[]): string {
  const sum = emptyDigest();
  for (const { repository = "", commit = "", path = "", chunkMatches } of matches) {
    const key = repositoryKey(repository, commit);
    if (chunkMatches === undefined) addToDigest(sum, key, Buffer.from(path), noPosition, noPosition);
    for (const { ranges } of chunkMatches ?? [])
      for (const { start, end } of ranges) addToDigest(sum, key, Buffer.from(path), start.offset, end.offset);
  }
  return printDigest(sum);
}

t.setTimeout(900_000);

async function daemonWithFiles(t: Test, sources: readonly GitFixture[], workers: number): Promise<DaemonProcess> {
  const options = [`workers=${workers}`, "index.maxFileBytes=10000"].flatMap((option) => ["--set", option]);
  const daemon = await testDaemon(t, [...(isFull ? [] : textsOnly), ...options]);
  const [code, second] = sources;
  await daemon.add("code", code.path, ["next"]);
  await daemon.add("second", second.path);
  return daemon;
}

/** With several threads, and with one. */
let daemon: DaemonProcess;
let single: DaemonProcess;

t.before(async () => {
  const [code, second] = [fixture(t), fixture(t)];
  code.commit({ branch: "main", files: { ...texts, ...others } });
  code.commit({ branch: "main", files: { "added.c": "int added; // return\n" }, message: "return added" });
  code.commit({ branch: "next", files: { "next.c": "// return\n" } });
  second.commit({ branch: "main", files: { "a.txt": "return to sender\n" } });
  [daemon, single] = await Promise.all(
    [isFull ? 4 : 2, 1].map((workers) => daemonWithFiles(t, [code, second], workers)),
  );
});

/** Posts patterns; the answer as `search` has it, and the status. */
async function searchPatterns(
  { url }: DaemonProcess,
  parameters: Readonly<Record<string, string>>,
  body: string,
): Promise<Pick<Searched, "receipt" | "matches" | "error"> & { readonly status: number; readonly text: string }> {
  const query = new URLSearchParams({ t: "literal", cm: "true", receipt: "1", ...parameters });
  const response = await fetch(`${url}/.api/search/stream?${query}`, { method: "POST", body });
  const text = await response.text();
  return { status: response.status, text, ...readAnswer(new SseDecoder().push(Buffer.from(text))) };
}

t.test("a search for patterns labels its matches, and has filters, limits and a receipt", async (t) => {
  const body = JSON.stringify({ patterns: ["return 1", "int f7(void)", "turn 17;", "RETURN TO", "not there"] });
  for (const own of [daemon, single]) {
    const all = await searchPatterns(own, { q: "count:all" }, body);
    t.equal(all.status, 200);
    const labels = all.matches.flatMap(({ path, chunkMatches = [] }) =>
      chunkMatches.flatMap(({ patterns = [] }) => patterns.map((label) => `${path} ${label.join(" ")}`)),
    );
    t.equal(labels.filter((label) => label.includes(" 0 ")).length >= 111, true, "return 1, 10 to 19, 100 to 199");
    t.ok(labels.includes("dir3/file17.c 0 18 26"));
    t.ok(labels.includes("dir3/file17.c 2 20 28"), "a match that overlaps one of another pattern");
    t.ok(labels.includes("dir0/file7.c 1 0 12"));
    t.ok(labels.includes("a.txt 3 0 9"));
    t.equal(all.receipt?.digest, digestOf(all.matches));
    t.equal(all.receipt?.documentsSearched, 305);
    const filtered = await searchPatterns(own, { q: "repo:^code$ file:file17.c case:yes f17" }, body);
    t.same(
      filtered.matches.map(({ path }) => path),
      ["dir3/file17.c"],
    );
    const limited = await searchPatterns(own, { q: "count:5" }, body);
    t.equal(limited.receipt?.matchCount, 5);
    const revision = await searchPatterns(own, { q: "repo:^code$@next" }, JSON.stringify({ patterns: ["// ret"] }));
    t.same(
      revision.matches.map(({ path }) => path),
      ["next.c"],
    );
  }
});

t.test("patterns that cannot be used are named", async (t) => {
  const empty = await searchPatterns(daemon, { q: "" }, '{"patterns":["a",""]}');
  t.match(empty, { status: 400, text: "patterns[1] is empty: it would match everywhere\n" });
  t.equal((await searchPatterns(daemon, { q: "" }, `{"patterns":["${"x".repeat(1 << 20)}"]}`)).status, 413);
  const regexp = await searchPatterns(daemon, { q: "", t: "regexp" }, '{"patterns":["a","b("]}');
  t.match(regexp.error, /^patterns\[1\] "b\(": error parsing regexp/);
  const keyword = await searchPatterns(daemon, { q: "", t: "keyword" }, '{"patterns":["a"]}');
  t.match(keyword.error, /pattern type keyword cannot be used with patterns/);
});

t.test("a receipt says what was searched, and its digest is that of the matches", async (t) => {
  const { receipt, matches } = await search(daemon, { q: "return count:all" });
  assert.ok(receipt);
  t.equal(receipt?.matchCount, 602);
  t.equal(receipt.digestedMatches, 602);
  t.equal(receipt.digest, digestOf(matches));
  t.equal(receipt.documentsSearched, 305, "of both repositories, also those that the index rules out");
  t.equal(receipt.complete, false);
  t.same(receipt.excludedByReason, { "too-large": 1, binary: 1, "not-regular": 1 });
  t.match(receipt.excluded, {
    count: 3,
    items: [
      { reason: "binary", repository: "code", path: "image.bin" },
      { reason: "not-regular", repository: "code", path: "link" },
      {
        reason: "too-large",
        repository: "code",
        path: "large.txt",
        detail: "the file is larger than index.maxFileBytes",
      },
    ],
  });
  const commits = new Map(matches.map(({ repository, commit }) => [repository, commit]));
  t.match(
    new Map(receipt.repositories.items.map(({ repository, revisions }) => [repository, revisions])),
    new Map([
      ["code", [{ revision: "", commit: commits.get("code") }]],
      ["second", [{ revision: "", commit: commits.get("second") }]],
    ]),
  );
  t.notMatch((await search(daemon, { q: "return", receipt: "" })).receipt, {}, "no receipt without the parameter");
});

t.test("the digest does not depend on threads, order, or the form of match objects", async (t) => {
  for (const q of [
    "return count:all",
    "f1 count:all",
    "file:file1 count:all",
    "return r:code rev:main:next count:all",
    "return r:code rev:HEAD~1 count:all",
    "type:commit return count:all",
    "type:diff return count:all",
    "select:file.directory return count:all",
    "type:repo code",
    "int or return -file:added",
  ]) {
    // In a long run the forms are compared in one daemon too.
    const [a, b, again] = [
      await search(single, { q }),
      await search(daemon, { q, cm: String(isFull) }),
      isFull ? await search(daemon, { q, cm: "false" }) : undefined,
    ];
    t.ok((a.receipt?.digestedMatches ?? 0) > 0, q);
    t.equal(a.receipt?.digest, b.receipt?.digest, q);
    if (again !== undefined) t.equal(again.receipt?.digest, b.receipt?.digest, q);
    t.equal(a.receipt?.documentsSearched, b.receipt?.documentsSearched, q);
    if (!q.startsWith("type:diff")) t.equal(a.receipt?.digestedMatches, a.receipt?.matchCount, q);
  }
});

t.test("a strict search ends with an error if something was left out", async (t) => {
  const whole = await search(daemon, { q: "return r:second count:all", receipt: "", strict: "1" });
  t.equal(whole.error, undefined);
  t.equal(whole.receipt?.complete, true);
  const texts = await search(daemon, { q: "return r:code -file:large count:all", strict: "1" });
  t.equal(texts.error, undefined, "a file that is no text is not left out");
  t.same(texts.receipt?.excludedByReason, { binary: 1, "not-regular": 1 });
  const limited = await search(daemon, { q: "return r:code -file:large count:5", strict: "1" });
  t.match(limited.error, /^the search is incomplete: match-limit \(1\)/);
  t.match(limited.receipt, { complete: false, excludedByReason: { "match-limit": 1 } });
  const displayed = await search(daemon, { q: "return r:code -file:large count:all", strict: "1", display: "3" });
  t.match(displayed.error, /display-limit/);
  const large = await search(daemon, { q: "return r:code count:all", strict: "1" });
  t.match(large.error, /too-large \(1\)/);
  t.same(large.events.at(-1)?.name, "done");
  const missing = await search(daemon, { q: "return r:second@gone count:all", strict: "1" });
  t.match(missing.receipt?.excluded.items, [{ reason: "revision-missing", repository: "second", detail: "gone" }]);
  t.match((await search(daemon, { q: "return", strict: "maybe" })).error, /strict must be parseable as a boolean/);
});

t.test("the lists of a receipt are read in pages", async (t) => {
  const { receipt } = await search(daemon, { q: "return count:all" });
  const path = new URL(receipt?.url ?? "").pathname;
  const page = async (parameters: string) => JSON.parse((await daemon.get(`${path}?${parameters}`)).text) as unknown;
  t.match(await page("list=excluded&from=1&count=1"), { count: 3, items: [{ reason: "not-regular" }] });
  t.match(await page("list=excluded&from=3"), { count: 3, items: [] });
  t.match(await page("list=repositories"), { count: 2, items: [{ generation: 1 }, {}] });
  for (const [parameters, status] of [
    ["list=other", 400],
    ["from=x", 400],
    ["count=-1", 400],
  ] as const)
    t.equal((await daemon.get(`${path}?${parameters}`)).status, status, parameters);
  t.equal((await daemon.get("/.api/search/receipt/unknown")).status, 404);
});

t.test("GraphQL and the command have receipts", async (t) => {
  const { receipt } = await search(daemon, { q: "return count:all" });
  const query = `{ search(query: "return count:all", version: V3, receipt: true) { results { receipt {
    complete digest documentsSearched excluded(first: 1, from: 2) { count items { reason path } } } } } }`;
  const response = await fetch(`${daemon.url}/.api/graphql`, { method: "POST", body: JSON.stringify({ query }) });
  t.match(await response.json(), {
    data: {
      search: {
        results: {
          receipt: {
            complete: false,
            digest: receipt?.digest,
            documentsSearched: 305,
            excluded: { count: 3, items: [{ reason: "too-large", path: "large.txt" }] },
          },
        },
      },
    },
  });
  const command = (...args: string[]) => runCommand("search", "--endpoint", daemon.url, "--count", "all", ...args);
  const strict = await command("--strict", "return");
  t.equal(strict.exitCode, 5);
  t.match(strict.err, /too-large/);
  t.match(await command("--strict", "--receipt", "return", "r:second"), { exitCode: 0, err: /"complete":true/ });
});

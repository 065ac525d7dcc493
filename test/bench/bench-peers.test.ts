/** What is measured beside us: that a wrong result is seen, and that everybody is asked the same. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import t, { type Test } from "tap";
import { type Corpus, openRepository } from "../../native-bench/corpus/corpus.js";
import { commitFolder } from "../../native-bench/corpus/repositories.js";
import { type Found, type LineId, type Peer, ResultSet } from "../../native-bench/peers/peer.js";
import { KnownDifferences, openPeers, openRipgrep } from "../../native-bench/peers/peers.js";
import { type BenchQuery, type QueryLimits, trawlQuery } from "../../native-bench/peers/queries.js";
import { LineReader } from "../../native-bench/peers/tools.js";
import { ZoektAnswerReader, zoektQuery } from "../../native-bench/peers/zoekt.js";
import { Results } from "../../native-bench/report/results.js";
import type { Findings } from "../../native-bench/report/run-report.js";
import { measureSearch, reportSearches, type SearchOutcome } from "../../native-bench/suites/peers.js";

const files = {
  "a.txt": "one\ntwo kmalloc\nthree kmalloc(x)\n",
  "dir/b c.txt": "kmalloc\nKMALLOC no end",
  "dir/none.txt": "nothing\n",
};

function folderWith(t: Test, content: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "trawl-bench-peers-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(content)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

async function corpusOf(t: Test, content: Readonly<Record<string, string>> = files): Promise<Corpus> {
  const folder = folderWith(t, content);
  await commitFolder(folder);
  return await openRepository(folder, folderWith(t, {}));
}

function queryOf(pattern: string, more: Partial<BenchQuery> = {}): BenchQuery {
  return { pattern, kind: "literal", ignoreCase: false, spansLines: false, onlyRipgrep: false, limits: {}, ...more };
}

/** Finds what it is told, `PATH:LINE` in a text, and takes no time. */
function fakePeer(name: string, places: string, more: Partial<Peer> = {}): Peer {
  const lines = setOf(places);
  return {
    name,
    version: "1",
    time: () => Promise.resolve(name === "trawl" ? 2 : 10),
    results: () => Promise.resolve({ lines, bytes: 1 }),
    explain: () => undefined,
    declines: () => undefined,
    ...more,
  };
}

function setOf(places: string): ResultSet {
  const set = new ResultSet();
  for (const place of places.split(" ").filter((each) => each !== ""))
    set.add(place.split(":")[0] ?? "", Number(place.split(":")[1]));
  return set;
}

function placesOf(set: ResultSet): string {
  return [...set.without(new ResultSet())]
    .map(({ path, line }: LineId) => `${path}:${line}`)
    .sort()
    .join(" ");
}

function foundOf<T>(found: Found<T>): T {
  if (found.kind === "missing") throw new TypeError(found.reason);
  return found.peer;
}

interface Searched extends Findings {
  readonly outcome: SearchOutcome;
  readonly results: Results;
}

/** Of a search for `kmalloc`; its samples are in the first table, and the differences in the third. */
async function search(t: Test, peers: readonly Peer[], limits: QueryLimits = {}): Promise<Searched> {
  const corpus = await corpusOf(t);
  const results = new Results(false);
  results.grid("Searches", "trawl", "plot");
  const query = queryOf("kmalloc", { limits });
  const outcome = await measureSearch(peers, new KnownDifferences(corpus, undefined), query, 3, results);
  reportSearches(results, [outcome], { found: peers.filter(({ name }) => name !== "trawl") });
  return { ...results.findings(), outcome, results };
}

t.test("equal results have a ratio", async (t) => {
  const peers = [fakePeer("rg", "a:1 b:2"), fakePeer("csearch", "a:1 b:2"), fakePeer("trawl", "a:1 b:2")];
  const { results, tables, targets, plots } = await search(t, peers, { rg: [3], zoekt: [2] });
  t.same(results.values("search kmalloc", "trawl"), [2, 2, 2]);
  t.same(tables[0]?.rows[0]?.slice(-2), ["5x", "5x"]);
  t.match(targets, [
    { what: "kmalloc: time of rg ÷ ours", value: 5, must: 3 },
    { value: undefined, note: "zoekt is not measured" },
  ]);
  t.same(
    plots[0]?.series.map(({ name, points }) => [name, points.map(({ x, y }) => [x, y])]),
    [
      ["rg", [[0, 10]]],
      ["csearch", [[0, 10]]],
      ["trawl", [[0, 2]]],
    ],
  );
});

t.test("a wrong result is detected, and has no ratio", async (t) => {
  const rows: readonly { readonly name: string; readonly found: string; readonly example: string }[] = [
    { name: "a place too many", found: "a:1 b:2 b:7", example: "b:7 only in csearch" },
    { name: "a place too few", found: "a:1", example: "b:2 only in rg" },
    { name: "another line", found: "a:1 b:3", example: "b:3 only in csearch, b:2 only in rg" },
  ];
  for (const { name, found, example } of rows) {
    const peers = [fakePeer("rg", "a:1 b:2"), fakePeer("csearch", found), fakePeer("trawl", "a:1 b:2")];
    const { results, tables, targets } = await search(t, peers, { csearch: [2] });
    t.notOk(results.isComparable("search kmalloc", "csearch"), name);
    t.same(tables[0]?.rows[0]?.slice(-2), ["5x", "differs"], name);
    t.match(tables[2]?.rows, [["`kmalloc`", "csearch with rg", /^[12]$/, "", example]], name);
    t.match(targets, [{ value: undefined, note: "the results differ" }], name);
  }
});

t.test("if our own result is wrong, there are no ratios", async (t) => {
  const peers = [fakePeer("rg", "a:1 b:2"), fakePeer("csearch", "a:1 b:2"), fakePeer("trawl", "a:1")];
  const { tables, targets } = await search(t, peers, { rg: [2] });
  t.same(tables[0]?.rows[0]?.slice(-2), ["differs", "differs"]);
  t.match(targets, [{ value: undefined }]);
});

t.test("a difference with a known cause is allowed, and counted by cause", async (t) => {
  const explain = ({ path }: LineId): string | undefined => (path === "b" ? "file that it skips" : undefined);
  const skipping = fakePeer("csearch", "a:1", { explain });
  const found = "a:1 b:2 b:3";
  const { results, tables } = await search(t, [fakePeer("rg", found), skipping, fakePeer("trawl", found)]);
  t.ok(results.isComparable("search kmalloc", "csearch"));
  t.same(tables[2]?.rows, [["`kmalloc`", "csearch with rg", "0", "2: file that it skips", ""]]);
});

t.test("a peer that does not support a query is not run, and the report gives the reason", async (t) => {
  const huge = fakePeer("csearch", "", { declines: () => "too much" });
  const { outcome, notes } = await search(t, [fakePeer("rg", "a:1"), huge, fakePeer("trawl", "a:1")]);
  t.notOk(outcome.peers.has("csearch"));
  t.ok(notes.includes("csearch is not asked for kmalloc: too much."));
});

t.test("NUL bytes and multi-line matches explain a difference", async (t) => {
  const corpus = await corpusOf(t, { "text.txt": "x\n", "binary.bin": "x\0\n", "over.txt": "err\n= -EIO\n" });
  const found = await openRipgrep(corpus);
  if (found.kind === "missing") {
    t.comment(found.reason);
    return;
  }
  const [rg, other] = [
    { peer: found.peer, lines: setOf("") },
    { peer: fakePeer("other", ""), lines: setOf("text.txt:1 binary.bin:1 over.txt:1 over.txt:2") },
  ];
  const explain = await new KnownDifferences(corpus, found.peer).of(
    queryOf("err\\s*=", { kind: "regexp", spansLines: true }),
    other,
    rg,
  );
  const causes = [...other.lines.without(rg.lines)].map((place) => explain(place));
  t.same(causes, [undefined, "file with a NUL byte", "match over several lines", "match over several lines"]);
});

t.test("installed tools find the same lines", async (t) => {
  const corpus = await corpusOf(t);
  const rows: readonly { readonly query: BenchQuery; readonly expected: string }[] = [
    { query: queryOf("kmalloc"), expected: "a.txt:2 a.txt:3 dir/b c.txt:1" },
    { query: queryOf("kmalloc", { ignoreCase: true }), expected: "a.txt:2 a.txt:3 dir/b c.txt:1 dir/b c.txt:2" },
    { query: queryOf("kmalloc(", {}), expected: "a.txt:3" },
    { query: queryOf("^k[a-m]+l(loc|oc)", { kind: "regexp" }), expected: "dir/b c.txt:1" },
    { query: queryOf("absent"), expected: "" },
  ];
  const peers = await openPeers(corpus, { cacheFolder: corpus.cacheFolder, progress: () => {} });
  t.teardown(() => peers.zoekt?.stop());
  t.same(
    [...peers.found, ...peers.missing].map(({ name }) => name).sort(),
    ["csearch", "git grep", "rg", "zoekt"],
    "each is found or missing",
  );
  for (const peer of peers.found) {
    for (const { query, expected } of rows) {
      const { lines } = await peer.results(query);
      t.equal(placesOf(lines), expected, `${peer.name}: ${query.pattern}`);
    }
    t.ok((await peer.time(queryOf("kmalloc"))) > 0);
  }
});

t.test("tools that are not installed are listed with the reason", async (t) => {
  const corpus = await corpusOf(t);
  const path = process.env["PATH"] ?? "";
  const tools = folderWith(t, {});
  process.env["PATH"] = tools;
  t.teardown(() => {
    process.env["PATH"] = path;
  });
  const ripgrep = await openRipgrep(corpus);
  process.env["PATH"] = path;
  t.match(ripgrep, { kind: "missing", name: "rg", reason: /^rg not in a folder of BENCH_TOOLS or PATH \(apt-get/ });
});

t.test("a folder of BENCH_TOOLS takes precedence over PATH", async (t) => {
  const corpus = await corpusOf(t);
  const tools = folderWith(t, {});
  writeFileSync(join(tools, "rg"), "#!/bin/sh\necho ripgrep 99\n", { mode: 0o755 });
  t.teardown(() => {
    delete process.env["BENCH_TOOLS"];
  });
  process.env["BENCH_TOOLS"] = tools;
  t.equal(foundOf(await openRipgrep(corpus)).version, "ripgrep 99");
});

t.test("the output of tools is parsed in pieces of any size", async (t) => {
  const output =
    "/x/a.c:3:int a; // 12:34:5\n/x/dir:1/b.c:14:z/x/c.c:2:follows an unended line\nBinary file /x/d matches\n/x/e.c:9:unended";
  for (const size of [1, 3, 1000]) {
    const reader = new LineReader("/x/");
    for (let at = 0; at < output.length; at += size) reader.push(Buffer.from(output.slice(at, at + size)));
    const { lines, bytes } = reader.end();
    t.equal(placesOf(lines), "a.c:3 c.c:2 dir:1/b.c:14 e.c:9", `pieces of ${size}`);
    t.equal(bytes, output.length);
  }
});

const zoektAnswer = JSON.stringify({
  Result: {
    FilesSkipped: 0,
    ShardsSkipped: 0,
    Crashes: 0,
    MatchCount: 3,
    Files: [
      {
        FileName: 'a "b".c',
        Repository: "r",
        LineMatches: [
          { Line: "a2VybmVs", LineNumber: 3, FileName: false },
          { Line: "eA==", LineNumber: 17, FileName: false },
        ],
      },
      { FileName: "ü.c", LineMatches: [{ Line: "", LineNumber: 1, FileName: false }] },
    ],
    RepoURLs: {},
  },
});

t.test("zoekt's response is parsed in pieces of any size, and must be complete", async (t) => {
  const bytes = Buffer.from(zoektAnswer);
  const read = (part: Buffer, size: number) => {
    const reader = new ZoektAnswerReader();
    for (let at = 0; at < part.length; at += size) reader.push(part.subarray(at, at + size));
    return reader.end();
  };
  for (const size of [1, 7, 10_000])
    t.equal(placesOf(read(bytes, size).lines), 'a "b".c:17 a "b".c:3 ü.c:1', `pieces of ${size}`);
  t.throws(() => read(bytes.subarray(0, -3), 10_000), /ended early/);
  for (const field of ["FilesSkipped", "ShardsSkipped", "Crashes"]) {
    t.throws(() => read(Buffer.from(zoektAnswer.replace(`"${field}":0`, `"${field}":2`)), 10_000), /not whole/, field);
  }
});

t.test("the same query in two query languages", async (t) => {
  const rows: readonly { readonly query: BenchQuery; readonly zoekt: string; readonly trawl: string }[] = [
    {
      query: queryOf("kmalloc"),
      zoekt: 'case:yes content:"kmalloc"',
      trawl: 'type:file count:all case:yes content:"kmalloc"',
    },
    {
      query: queryOf('f("a b")'),
      zoekt: 'case:yes content:"f\\\\(\\"a b\\"\\\\)"',
      trawl: 'type:file count:all case:yes content:"f(\\"a b\\")"',
    },
    {
      query: queryOf("dma", { ignoreCase: true }),
      zoekt: 'case:no content:"dma"',
      trawl: 'type:file count:all content:"dma"',
    },
    {
      query: queryOf("a/b\\(", { kind: "regexp" }),
      zoekt: 'case:yes content:"a/b\\\\("',
      trawl: "type:file count:all case:yes /a\\/b\\(/",
    },
  ];
  for (const { query, zoekt, trawl } of rows) {
    t.equal(zoektQuery(query), zoekt, query.pattern);
    t.equal(trawlQuery(query, "all"), trawl, query.pattern);
  }
});

/** Which of the documents of a shard come first, and that a small budget leaves out only the least promising. */
import t from "tap";
import { FileFilters } from "../../../src/eval/match/file-filters.js";
import { ShardRanking, type ShardBest } from "../../../src/eval/ranking/shard-ranking.js";
import { findWordSearch, rankWords, WordRanking } from "../../../src/eval/ranking/word-ranking.js";
import type { Kernel } from "../../../src/native/kernel/kernel.js";
import { loadKernel } from "../../../src/native/kernel/load.js";
import type { StreamMatch } from "../../../src/model/stream-events.js";
import { rangesInPath } from "../../../src/protocol/messages.js";
import { ControlBlock } from "../../../src/protocol/control-block.js";
import { BestDocuments, decodeDocuments, encodeRanked } from "../../../src/protocol/rank-messages.js";
import type { SearchOptions } from "../../../src/protocol/search-options.js";
import { planQuery } from "../../../src/query/plan/plan-query.js";
import { documentFlags } from "../../../src/shard/format.js";
import { fc, runs } from "../../support/property.js";
import { neverStopped, runEngine, testRepository, testShard, type TestShard } from "../../support/engine.js";
import { largeBudget, rankedTarget, rankOptions } from "../../support/ranking.js";

const kernel = loadKernel("native");
const repositories = [testRepository(1, "a", { stars: 1 }), testRepository(2, "b", { stars: 9 })];

function rank(
  shard: TestShard,
  query: string,
  budget = largeBudget,
  scoreMin = 0,
  limits: Partial<SearchOptions> = {},
): ShardBest {
  const target = rankedTarget(kernel, shard);
  const options = rankOptions(query, limits);
  const ranked = new ShardRanking(target, options, budget, kernel, neverStopped, { scoreMin }).run(() => undefined);
  // The kernel ranks what filters on paths leave when they are known for all documents.
  for (const { text } of options.plan.basicQueries)
    new FileFilters(text?.fileFilters ?? [], target.reader, kernel, neverStopped).decideAll();
  checkWords(query, ranked, () => rankByKernel(shard, query, budget, scoreMin, limits, undefined, undefined, target));
  return ranked;
}

function rankByKernel(
  shard: TestShard,
  query: string,
  budget: typeof largeBudget,
  scoreMin: number,
  limits: Partial<SearchOptions>,
  othersBytes?: number,
  control = ControlBlock.allocate(1, 0, 0),
  target = rankedTarget(kernel, shard),
): ShardBest | undefined {
  const options = rankOptions(query, limits);
  const search = findWordSearch(options, kernel);
  const ranker = search && { search, options, budget, kernel, control, stop: neverStopped };
  return ranker && rankWords(target, ranker, { scoreMin }, othersBytes);
}

/** How many rankings the kernel alone has made. */
let wordRankings = 0;

/** The kernel alone ranks the same, without the parts of the scores; it may also read less. */
function checkWords(query: string, ranked: ShardBest, rankAgain: () => ShardBest | undefined): void {
  for (let round = 0; round < 2; round++) {
    const words = rankAgain();
    if (words === undefined) return;
    wordRankings++;
    const { scannedBytes } = words.stats;
    t.same(
      { ...words, stats: { ...words.stats, scannedBytes: Math.max(scannedBytes, ranked.stats.scannedBytes) } },
      { ...ranked, best: ranked.best.map(withoutParts) },
      `${query}: the kernel ranks the same`,
    );
    t.equal(words.best.length, ranked.best.length);
  }
}

/** The lines of a document's matches, which may be in several objects. */
function linesByPath(matches: readonly StreamMatch[]): Record<string, string[]> {
  const lines: Record<string, string[]> = {};
  for (const { path = "", lineMatches = [], pathMatches = [], branches } of matches)
    (lines[`${path}@${String(branches)}`] ??= []).push(
      ...[...lineMatches, ...pathMatches].map((one) => JSON.stringify(one)),
    );
  return lines;
}

const withoutParts = (one: ShardBest["best"][number]): ShardBest["best"][number] => ({ ...one, parts: undefined });

const pathsOf = ({ best }: ShardBest): string[] => best.map(({ path }) => path);

/** Files as `[path, content]`. */
/** `flags` as `documentFlags`. */
type RankedFile = readonly [path: string, content: string, repositoryId?: number, flags?: number];

function shardOf(files: readonly RankedFile[]): TestShard {
  const documents = files.map(([path, content, repositoryId = 1, flags = 0]) => ({
    path,
    content,
    repositoryId,
    flags,
  }));
  return testShard(kernel, documents, repositories);
}

const cases: readonly (readonly [what: string, query: string, files: Parameters<typeof shardOf>[0]])[] = [
  [
    "exact symbol, partial symbol, exact file name, whole word, part of a word",
    "flush",
    [
      ["a.c", "def flush"],
      ["b.c", "def flushAll"],
      ["flush.c", "they flushed"],
      ["d.c", "to flush it"],
      ["e.c", "flushes"],
    ],
  ],
  [
    "an identifier that consists of the words",
    "bufio flush writer",
    [
      ["z.go", "def bufioFlushWriter"],
      ["b.go", "def bufioFlushWriterAndMore"],
      ["a.go", "the flush of a bufio writer"],
      ["0.go", "writer\n\n\nflush\n\n\nbufio"],
    ],
  ],
  [
    "words in the container and the path of a symbol",
    "bufio flush writer",
    [
      ["bufio/w.go", "def Writer.flush // writer"],
      ["a/x.go", "def flush // writer bufio"],
    ],
  ],
  [
    "tests, generated files and vendored copies after the source",
    "parse",
    [
      ["z/parse.js", "def parse"],
      ["b/parse.test.js", "def parse"],
      ["dist/parse.js", "def parse"],
      ["test/vendor/parse.js", "def parse"],
    ],
  ],
  [
    "the spelling of the query",
    "WebView",
    [
      ["b.c", "def WebView"],
      ["a.c", "def webview"],
    ],
  ],
  [
    "words in one line",
    "open close",
    [
      ["b.txt", "open close"],
      ["a.txt", "open\nclose"],
    ],
  ],
  [
    "stars, then names",
    "same",
    [
      ["y", "same", 2],
      ["a", "same"],
      ["b", "same"],
    ],
  ],
  [
    "a file by its whole name",
    "proc.go",
    [
      ["z/proc.go", "x"],
      ["a/myproc.go", "x"],
    ],
  ],
];

for (const [what, query, files] of cases) {
  t.test(what, (t) => {
    for (const order of [files, [...files].reverse()]) {
      const ranked = rank(shardOf(order), query);
      t.same(
        pathsOf(ranked),
        files.map(([path]) => path),
        JSON.stringify(ranked.best.map(({ path, parts }) => ({ path, ...parts }))),
      );
      t.equal(ranked.isComplete, true);
    }
    const shard = shardOf(files);
    const { best } = rank(shard, query);
    t.ok(wordRankings > 0, "by the kernel alone too");
    for (const { score: least } of best) {
      const ranked = rank(shard, query, largeBudget, least);
      t.same(
        pathsOf(ranked),
        best.filter(({ score }) => score >= least).map(({ path }) => path),
        `those that can be among the best are found if ${least} points are needed`,
      );
      t.equal(ranked.isComplete, ranked.best.length === best.length);
    }
    t.end();
  });
}

t.test("a budget leaves out what paths promise least, and the ranking says so", (t) => {
  const files = Array.from({ length: 40 }, (_, i): [string, string] => [`test/very/deep/${i}_test.go`, `word ${i}`]);
  files.push(["src/word.go", "word"], ["main.go", "def word"], ["test/very/deep/word_test.go", "word in its name"]);
  const shard = shardOf(files);
  const budget = { ...largeBudget, contents: 3 };
  const ranked = rank(shard, "word", budget);
  t.same(pathsOf(ranked), ["main.go", "src/word.go", "test/very/deep/word_test.go"]);
  t.equal(ranked.isComplete, false);
  t.same(rank(shard, "word", budget).best, ranked.best, "the same again");
  t.equal(rank(shard, "word", { ...largeBudget, keptDocuments: 2 }).isComplete, false, "not all are kept");
  t.same(pathsOf(rank(shard, "word file:_test", { ...budget, contents: 1 })), ["test/very/deep/word_test.go"]);
  t.same(pathsOf(rank(shard, "file:main", { ...budget, contents: 1 })), ["main.go"]);
  t.end();
});

t.test("what cannot be among the first results is not examined, and the first results are the same", (t) => {
  const words = ["flush", "Flush", "flushAll", "reflush", "bufFlush", "writer", "flush writer", "flushWriter"];
  const folders = ["", "src/", "test/", "dist/", "node_modules/flush/", "docs/writer/", "examples/"];
  const files = Array.from({ length: 400 }, (_, i): [string, string] => {
    const word = words[(i * 7) % words.length];
    const path = `${folders[(i * 5) % folders.length]}${i % 29 === 0 ? "flush" : "file"}${i}${i % 3 === 0 ? ".d.ts" : ".ts"}`;
    return [path, `${i % 4 === 0 ? "def " : ""}${word} ${"and flush ".repeat(i % 6)} of writer\n`];
  });
  const shard = shardOf(files);
  for (const query of [
    "flush",
    "flush writer",
    "flush or writer",
    "flush case:yes",
    "flush -file:test",
    "/fl.sh/ writer",
  ]) {
    const all = rank(shard, query, { ...largeBudget, keptDocuments: 1000 });
    t.equal(all.isComplete, true);
    for (const keptMatches of [1, 5, 30, 100, 1000]) {
      const { best, isComplete } = rank(shard, query, { ...largeBudget, keptMatches });
      t.same(best, all.best.slice(0, best.length), `${query}: the first of ${keptMatches} matches`);
      const matchCount = best.reduce((sum, document) => sum + document.matchCount, 0);
      t.ok(matchCount >= keptMatches || best.length === 50 || best.length === all.best.length);
      t.equal(isComplete, best.length === all.best.length);
    }
  }
  const { stats, best } = rank(shard, "flush", { ...largeBudget, keptMatches: 5 });
  t.equal(best[0].parts?.symbol, 1040);
  t.ok(stats.documentsFiltered < 300, `${stats.documentsFiltered} of ${files.length} documents were decided`);
  t.end();
});

t.test("names that a word covers are told from those that it is a part of", (t) => {
  const covered = ["flush", "flushFlush", "_Flush_", "FLUSH_FLUSH_FLUSH", `Flush${"_flush".repeat(15)}`];
  const files = Array.from({ length: 200 }, (_, i): [string, string] => {
    const name = i % 40 === 7 ? covered[(i - 7) / 40] : `flushNumber${i}`;
    return [`${["src", "test", "dist"][i % 3]}/${i}.c`, `def ${name}, and flush`];
  });
  const shard = shardOf([...files, ["src/more.c", `def ${"flush_".repeat(17)}`]]);
  const all = rank(shard, "flush", { ...largeBudget, keptDocuments: 1000 });
  const coverages = new Map(all.best.map(({ path, parts }) => [path, (parts?.symbol ?? 0) >= 1000]));
  t.same(
    files.flatMap(([path], i) => (coverages.get(path) === true ? [i] : [])),
    [7, 47, 87, 127, 167],
  );
  t.equal(coverages.get("src/more.c"), false, "more matches than may cover a name");
  for (const keptMatches of [1, 4, 20, 100]) {
    const { best, stats } = rank(shard, "flush", { ...largeBudget, keptMatches });
    t.same(best, all.best.slice(0, best.length), `the first of ${keptMatches} matches`);
    if (keptMatches === 1) t.equal(stats.documentsFiltered, 5, "the others are not examined");
  }
  t.end();
});

t.test("a name of the word's letters need not have the word", (t) => {
  const files = Array.from({ length: 40 }, (_, i): [string, string] => [
    `${i}.c`,
    `${i % 2 === 0 ? "def flush, " : ""}a _flush`,
  ]);
  const ranked = rank(shardOf(files), "_flush", { ...largeBudget, keptDocuments: 1000 });
  t.same(pathsOf(ranked).sort(), files.map(([path]) => path).sort(), "each is found once");
  t.end();
});

t.test("what has no name is examined as long as it can score more than what has one", (t) => {
  const files = Array.from({ length: 40 }, (_, i): [string, string] =>
    i % 2 === 0 ? [`dist/${i}.min.js`, "def somethingOfWhichFlushIsAPart"] : [`src/${i}.js`, "to flush it"],
  );
  const ranked = rank(shardOf(files), "flush", { ...largeBudget, keptMatches: 5 });
  t.equal(ranked.best.length, 5);
  t.ok(
    pathsOf(ranked).every((path) => path.startsWith("src/")),
    pathsOf(ranked).join(),
  );
  t.end();
});

t.test("a shard examines all candidates if they are within four times its share", (t) => {
  const shardWith = (count: number): TestShard =>
    shardOf(Array.from({ length: count }, (_, i) => [`${i}.go`, `word ${i}${" padding".repeat(20)}`.slice(0, 100)]));
  const rankedOf = (count: number, budget: Partial<typeof largeBudget>): [number, boolean] => {
    const { best, isComplete } = rank(shardWith(count), "word", { ...largeBudget, ...budget });
    return [best.length, isComplete];
  };
  t.same(rankedOf(12, { contents: 3 }), [12, true]);
  t.same(rankedOf(13, { contents: 3 }), [3, false]);
  t.same(rankedOf(12, { cheapBytes: 300 }), [12, true]);
  t.same(rankedOf(13, { cheapBytes: 300 }), [3, false]);
  t.end();
});

t.test("a budget is spent on symbols of that name first, wherever they are", (t) => {
  const files = Array.from({ length: 40 }, (_, i): [string, string] => [`${i}.go`, `flush writer ${i}`]);
  files.push(["test/very/deep/x_test.go", "def flush_Writer"], ["test/very/deep/y_test.go", "writer def flush"]);
  const shard = shardOf(files);
  for (const contents of [1, 2]) {
    const ranked = rank(shard, "Flush writer", { ...largeBudget, contents });
    t.same(pathsOf(ranked).sort(), ["test/very/deep/x_test.go", "test/very/deep/y_test.go"].slice(0, contents));
  }
  t.end();
});

t.test("what ranking has found is written as a search of it would, and its ranges are counted", (t) => {
  const text = (i: number): string =>
    Array.from(
      { length: 1 + (i % 40) },
      (_, line) => `${line % 3 === 0 ? "flush" : "Flush the writer"} ${i} ${line}`,
    ).join("\n");
  const files = Array.from({ length: 30 }, (_, i): [string, string] => [
    `${i % 4 === 0 ? "flush" : "file"}${i}.c`,
    text(i),
  ]);
  const many: [string, string] = ["many.c", "flush\n".repeat(600)];
  // Its results are more than one batch.
  const wide: [string, string] = ["wide.c", `flush ${"of many words ".repeat(60)}\n`.repeat(300)];
  const shard = shardOf([...files, many, wide]);
  for (const query of [
    "flush",
    "flush writer",
    "Flush case:yes",
    "/fl.sh the/",
    "file:flush",
    "flush -writer",
    "type:path flush",
  ]) {
    const plan = planQuery(query, "keyword");
    const expected = runEngine(kernel, [shard], plan, { chunkMatches: false });
    const { best, found, isWhole } = rank(shard, query, largeBudget, undefined, {
      displayCountMax: 1,
      matchCountMax: 9,
    });
    t.equal(best.length, Object.keys(linesByPath(expected.matches)).length);
    t.same(
      best.filter(({ ranges }) => ranges === undefined).map(({ path }) => path),
      best.some(({ path }) => path === "many.c") ? ["many.c"] : [],
      "ranges are kept unless there are very many",
    );
    for (const credit of [undefined, 1, 300]) {
      const written = runEngine(kernel, [], plan, {
        chunkMatches: false,
        ...(credit === undefined ? {} : { credit }),
        found: best.map((one) => ({ shard, found: one })),
      });
      t.same(linesByPath(written.matches), linesByPath(expected.matches), `${query}, in a credit of ${credit}`);
      t.equal(written.matchCount, expected.matchCount);
    }
    t.equal(isWhole, true);
    const words = found ?? new Uint32Array(0);
    const counts = words.filter((_, i) => i % 2 === 1).map((word) => Math.max(1, word % rangesInPath));
    t.equal(
      counts.reduce((sum, count) => sum + count, 0),
      expected.matchCount,
    );
    const columns = encodeRanked(best, [], false);
    t.same(
      decodeDocuments(columns),
      best.map((one) => ({ ...one, parts: undefined })),
    );
  }
  const budget = { ...largeBudget, contents: 2 };
  t.equal(rank(shard, "flush", budget, undefined, { displayCountMax: 1, matchCountMax: 9 }).isWhole, false);
  t.equal(rank(shard, "flush", largeBudget, undefined, { displayCountMax: 9, matchCountMax: 9 }).found, undefined);
  t.equal(rank(shard, "flush or writer type:file", largeBudget).found, undefined);
  t.end();
});

t.test("patterns that are no words", (t) => {
  const shard = shardOf([
    ["a.c", "a flush b"],
    ["b.c", "def flush"],
    ["c.c", "none"],
  ]);
  t.same(pathsOf(rank(shard, "/fl.sh/")), ["b.c", "a.c"]);
  t.same(pathsOf(rank(shard, "flush or none")), ["b.c", "a.c", "c.c"]);
  t.same(pathsOf(rank(shard, "not flush")), ["c.c"]);
  t.same(pathsOf(rank(shard, "/flush.*b/")), ["a.c"]);
  t.end();
});

const fragments = [
  ...["flush", "Flush", "writer", "reflushed", "def flush", "def Buf.flush_writer", "def writer", "x", "\n", " ", "of"],
  ...["flush writer", "flu\u017fh", "\u212aey", "a _flush", "def flush_flush"],
];
const folders =
  "vendor third_party deps build generated dist out test mocks specs kunit examples tools docs license_x".split(" ");
const fileNames =
  "flush Writer a test_x zz_generated_a x_test x.test b.min b.pb c.d c_mock package-lock x_pb2 changelog d.generated".split(
    " ",
  );
const endings = ".go .js .ts .mts .md .json .py .h .sum .lock .map .js.map .yaml .c1 .".split(" ");

t.test("what attributes say of a file counts instead of its path", (t) => {
  const { kinds, generated, vendored } = documentFlags;
  const files: RankedFile[] = [
    ["vendor/own.c", "def flush", 1, kinds],
    ["dist/own.c", "def flush", 1, kinds | vendored],
    ["src/made.c", "def flush", 1, kinds | generated],
    ["dist/path.c", "def flush", 1],
    ["src/both.c", "def flush", 1, kinds | generated | vendored],
  ];
  const { best } = rank(shardOf(files), "flush");
  t.same(
    new Map(best.map(({ path, parts }) => [path, parts?.fileFactor])),
    new Map([
      ["vendor/own.c", 1],
      ["dist/own.c", 0.4],
      ["dist/path.c", 0.4],
      ["src/made.c", 0.4],
      ["src/both.c", 0.4 * 0.4],
    ]),
  );
  t.equal(best[0]?.path, "vendor/own.c");
  t.equal(best.at(-1)?.path, "src/both.c");
  t.end();
});

t.test("the kernel ranks random texts the same", (t) => {
  const text = fc.array(fc.constantFrom(...fragments), { maxLength: 40 }).map((parts) => parts.join(" "));
  const path = fc
    .tuple(
      fc.array(fc.constantFrom(...folders, ...fileNames), { maxLength: 3 }),
      fc.constantFrom(...fileNames),
      fc.constantFrom("", "1"),
      fc.constantFrom("", ...endings),
    )
    .map(([parts, name, number, ending]) => [...parts, name + number + ending].join("/"));
  const { kinds, generated, vendored } = documentFlags;
  const flags = fc.constantFrom(0, 0, 0, kinds, kinds | generated, kinds | vendored, kinds | generated | vendored);
  const file = fc.tuple(path, text, fc.constantFrom(1, 2), flags);
  const files = fc.uniqueArray(file, {
    selector: ([path, , repository]) => `${repository} ${path}`,
    minLength: 1,
    maxLength: 60,
  });
  const query = fc.constantFrom(
    ...["flush", "flush writer", "Flush case:yes", "flush writer reflushed", '"flush writer"', "flush lang:go"],
    ...["lush -file:test", "flushed def", "writer", "type:file writer reflushed", "test flush"],
    ...[
      "_flush",
      "flush file:f",
      "writer file:writer",
      "writer file:. -file:test",
      "flush file:^|u",
      "flush writer file:r",
    ],
  );
  const budget = fc.record({
    contents: fc.constantFrom(1, 3, 10, 1000),
    cheapBytes: fc.constantFrom(1, 300, 1e9),
    keptDocuments: fc.constantFrom(1, 5, 50),
    keptMatches: fc.constantFrom(1, 7, 100, 1e9),
    rankedMatches: fc.constantFrom(0, 1, 20, 1e9),
    scoreMin: fc.constantFrom(0, 0, 100, 300, 700),
    displayCountMax: fc.constantFrom(1, 10),
  });
  const before = wordRankings;
  fc.assert(
    fc.property(files, query, budget, (files, query, { scoreMin, displayCountMax, ...budget }) => {
      rank(shardOf(files), query, { ...largeBudget, ...budget }, scoreMin, { displayCountMax, matchCountMax: 9 });
    }),
    { numRuns: runs(600) },
  );
  t.ok(wordRankings > before, "the kernel has ranked some");
  t.end();
});

t.test("the kernel counts what it does not rank", (t) => {
  const files = Array.from({ length: 700 }, (_, i): [string, string] => [
    `${i % 9 === 0 ? "flush" : "file"}${i}.c`,
    `${"flush it ".repeat(i % 5)}${i % 4 === 0 ? "writer" : ""}`,
  ]);
  const shard = shardOf(files);
  const limits = { displayCountMax: 1, matchCountMax: 1e6 };
  for (const query of ["flush", "flush writer", "flush -file:3"]) {
    const { matchCount } = runEngine(kernel, [shard], planQuery(query, "keyword"), { chunkMatches: false });
    const all = { ...largeBudget, countedMatches: 1e9 };
    for (const budget of [
      all,
      { ...all, contents: 2 },
      { ...all, keptDocuments: 1 },
      { ...all, contents: 2, rankedMatches: 300 },
    ]) {
      const ranked = rankByKernel(shard, query, budget, 0, limits);
      if (ranked === undefined) {
        t.fail(`${query} is not ranked by the kernel`);
        continue;
      }
      const { found = new Uint32Array(0), isWhole, isComplete, best } = ranked;
      t.equal(isWhole, true);
      t.equal(isComplete, best.length === found.length / 2);
      const counts = found.filter((_, i) => i % 2 === 1).map((word) => Math.max(1, word % rangesInPath));
      t.equal(
        counts.reduce((sum, count) => sum + count, 0),
        matchCount,
        query,
      );
      const documents = found.filter((_, i) => i % 2 === 0);
      t.equal(new Set(documents).size, documents.length, "each once");
    }
    const few = rankByKernel(shard, query, { ...all, contents: 1, countedMatches: 3 }, 0, limits);
    t.equal(few?.isWhole, false, "not more than the search may find");
  }
  const little = rankByKernel(shard, "flush", { ...largeBudget, contents: 1, countedMatches: 1e9 }, 0, limits, 0);
  t.equal(little?.isWhole, false, "nothing without text to scan");
  t.end();
});

t.test("what is not chosen is ranked too, until there are enough matches, whatever other shards have", (t) => {
  // The word that promises most is in files that paths promise least of, and most candidates do not have it.
  const files = Array.from({ length: 300 }, (_, i): [string, string] => [
    `src/${i}.c`,
    i % 10 === 0 ? "a reflushed b" : `refl${" ".repeat(9)}flushed ${i}`,
  ]);
  files.push(["test/very/deep/x_test.c", "def reflushed"]);
  const shard = shardOf(files);
  const limits = { displayCountMax: 1, matchCountMax: 1e6 };
  const chosen = { ...largeBudget, contents: 20, keptMatches: 1 };
  const named = "test/very/deep/x_test.c";
  t.same(pathsOf(rank(shard, "reflushed", { ...chosen, rankedMatches: 1e6 }, 0, limits)), [named]);
  for (const sharedCount of [0, 1, 1e6]) {
    const control = ControlBlock.allocate(1, 0, 0);
    control.rankedMatches[0] = sharedCount;
    const budget = { ...largeBudget, contents: 1, rankedMatches: 25, countedMatches: 1000 };
    const ranked = rankByKernel(shard, "flushed", budget, 0, limits, undefined, control);
    const matchCount = (ranked?.found?.length ?? 0) / 2;
    t.equal(ranked?.isWhole, sharedCount < 1000, `${sharedCount} matches in other shards`);
    if (sharedCount >= 1000) t.ok(matchCount >= 25 && matchCount < 301, `${matchCount} are ranked`);
    else t.equal(matchCount, 301, "all are counted");
    t.equal(control.rankedMatches[0], sharedCount + matchCount, "the other threads know");
    t.same(ranked?.best, rank(shard, "flushed", { ...budget, countedMatches: 0 }, 0, limits).best.map(withoutParts));
  }
  t.end();
});

t.test("what is ranked of what was not chosen does not depend on what the thread has ranked before", (t) => {
  // The only one that may be named is not among the chosen ones, which have enough matches.
  const named = "src/in/folders/that/are/deep/x.c";
  const files = Array.from({ length: 300 }, (_, i): [string, string] => [`src/${i}.c`, `flush flush flush ${i}`]);
  const shard = shardOf([...files, [named, "def reflush"]]);
  const budget = { ...largeBudget, contents: 30, keptMatches: 1, rankedMatches: 25, countedMatches: 0 };
  // Of a thread that has found nothing, and of one for which only what may be named scores enough.
  for (const scoreMin of [0, 400])
    t.same(pathsOf(rank(shard, "flush", budget, scoreMin)), [named], `scores of ${scoreMin}`);
  t.end();
});

t.test("the matches of all chosen names decide how many others are ranked", (t) => {
  // The word covers its name, and it is not chosen.
  const deep = "src/in/folders/that/are/deep/x.c";
  const files = Array.from({ length: 300 }, (_, i): [string, string] => [
    `src/${i}.c`,
    `def flushNumber${i}, flush, flush`,
  ]);
  const shard = shardOf([[deep, "def flushFlush"], ...files]);
  const budget = { ...largeBudget, contents: 30, keptMatches: 1, countedMatches: 0 };
  // Of a thread that has found nothing, and of one for which a part of a name does not score enough.
  for (const scoreMin of [0, 950]) {
    const enough = rank(shard, "flush", { ...budget, rankedMatches: 60 }, scoreMin);
    t.notOk(pathsOf(enough).includes(deep), `scores of ${scoreMin}`);
    t.same(pathsOf(rank(shard, "flush", { ...budget, rankedMatches: 1e6 }, scoreMin)), [deep]);
  }
  t.end();
});

t.test("ranges are kept of as many documents as are ranked", (t) => {
  // Each comes before those that were found earlier, whose ranges are forgotten at some time.
  const content = "flush it\n".repeat(500);
  const documents = Array.from({ length: 400 }, (_, i) => ({
    path: `${2000 - i}.c`,
    content,
    oid: "1".repeat(40),
    repositoryId: 1,
  }));
  const shard = testShard(kernel, documents, repositories);
  const ranked = rank(shard, "flush", largeBudget, 0, { displayCountMax: 1, matchCountMax: 9 });
  t.equal(ranked.best[0].path, "1601.c");
  t.ok(ranked.best.every(({ ranges }) => ranges?.length === 2 + 2 * 500));
  t.end();
});

t.test("what the kernel leaves to the general way", (t) => {
  const shard = shardOf([
    ["flush.c", "flush \u017flush"],
    ["a.c", "flush writer"],
  ]);
  const ranks = (query: string): boolean => rankByKernel(shard, query, largeBudget, 0, {}) !== undefined;
  for (const query of [
    "/fl.sh/",
    "flush or writer",
    "flush not writer",
    "file:flush",
    "fl",
    "flush file:c",
    "type:path flush",
    "flush",
  ])
    t.equal(ranks(query), false, query);
  for (const query of ["writer", "Flush case:yes", "writer lang:c", "writer -file:x"])
    t.equal(ranks(query), true, query);
  t.end();
});

t.test("the kernel ranks what a filter on paths leaves if the filter is asked for often", (t) => {
  const shard = shardOf([
    ["cc.c", "writer"],
    ["a.go", "writer"],
    ["writer.c", "a writer, a writer"],
  ]);
  const target = rankedTarget(kernel, shard);
  const limits = { displayCountMax: 1, matchCountMax: 9 };
  const ask = (query: string): ShardBest | undefined =>
    rankByKernel(shard, query, largeBudget, 0, limits, undefined, undefined, target);
  const rare = Array.from({ length: 7 }, () => ask("writer file:c"));
  t.same(rare, Array(7).fill(undefined), "one that is rare is decided for few documents");
  const often = ask("writer file:c");
  t.same(
    often?.best.map(({ path, ranges = [0] }) => [path, ranges[0], [...ranges.slice(2 + 2 * ranges[0])]]),
    [
      ["writer.c", 2, [0, 6, 7, 8]],
      ["cc.c", 1, [0, 1, 1, 2, 3, 4]],
    ],
    "with what is highlighted in the paths",
  );
  const counts = often?.found?.filter((_, i) => i % 2 === 1);
  t.same([...(counts?.sort() ?? [])], [rangesInPath + 1, rangesInPath + 2], "all have ranges in their path");
  for (const query of ["writer file:^", "writer writ file:c"])
    t.same(
      Array.from({ length: 9 }, () => ask(query)),
      Array(9).fill(undefined),
      `${query}: the general way`,
    );
  t.end();
});

t.test("several shards are ranked in one call as each alone", (t) => {
  const shards = [0, 1, 2, 3].map((number) =>
    shardOf(
      Array.from(
        { length: 40 },
        (_, i): RankedFile => [
          `${i % 7 === number ? "flush" : "file"}${i}_${number}.c`,
          `${i % 5 === number ? "def " : ""}flush ${"and flush ".repeat(i % 4)}${i % 3 === 0 ? "writer" : ""}`,
          1 + (i % 2),
        ],
      ),
    ),
  );
  const targets = shards.map((shard, i) => ({ ...rankedTarget(kernel, shard), shard: i }));
  const limits = { displayCountMax: 1, matchCountMax: 1e6 };
  for (const query of ["flush", "flush writer", "flush -file:3"])
    for (const keptMatches of [1, 30, 1e9]) {
      const isAll = keptMatches === 1e9;
      const budget = { ...largeBudget, keptDocuments: isAll ? 1000 : 20, keptMatches };
      const options = rankOptions(query, limits);
      const search = findWordSearch(options, kernel);
      if (search === undefined) throw new RangeError(`${query} is not ranked by the kernel`);
      const control = ControlBlock.allocate(1, 0, 0);
      const ranker = { search, options, budget, kernel, control, stop: neverStopped };
      const best = new BestDocuments(budget.keptDocuments, keptMatches);
      for (const target of targets)
        for (const document of rankWords(target, ranker, { scoreMin: 0 })?.best ?? []) best.offer(document);
      const ranking = new WordRanking(ranker);
      // One that is not open is left to the caller, and so is one that somebody has taken.
      const opened = [undefined, ...targets, undefined];
      for (const target of opened) ranking.add(target && { ...target, shard: target.shard + 1 });
      const next = Uint32Array.of(1);
      const together = new BestDocuments(budget.keptDocuments, keptMatches);
      const { ranked, left } = ranking.rank(next, together);
      t.equal(left, opened.length - 1);
      t.same(
        ranked.map(({ shard }) => shard),
        [1, 2, 3, 4],
      );
      t.equal(next[0], opened.length);
      for (const { best: own } of ranked)
        for (const document of own) together.offer({ ...document, shard: document.shard - 1 });
      t.same(together.documents, best.documents, `${query}, ${keptMatches} matches`);
      // Otherwise, what cannot be among the best of all is not examined.
      for (const [i, { found = [] }] of isAll ? ranked.entries() : [])
        t.same(
          [...found],
          [...(rankWords(targets[i], ranker, { scoreMin: 0 })?.found ?? [])],
          "what is not kept is listed, too",
        );
      t.same(ranking.rank(next, together), { ranked: [], left: undefined }, "none is left");
    }
  t.end();
});

t.test("posting lists without a candidate are work of a call, too", (t) => {
  // Each part of the word is in a text, and no text has all of it.
  const shard = shardOf([
    ["a.c", "flus"],
    ["b.c", "lush"],
  ]);
  const options = rankOptions("flush", { displayCountMax: 1, matchCountMax: 9 });
  const calling: Kernel = {
    ...kernel,
    rankShards: (request) => kernel.rankShards?.({ ...request, limits: { ...request.limits, work: 0 } }) ?? 0,
  };
  const search = findWordSearch(options, calling);
  if (search === undefined) throw new RangeError("the word is not ranked by the kernel");
  const control = ControlBlock.allocate(1, 0, 0);
  const ranker = { search, options, budget: largeBudget, kernel: calling, control, stop: neverStopped };
  const ranking = new WordRanking(ranker);
  for (const number of [0, 1, 2]) ranking.add({ ...rankedTarget(kernel, shard), shard: number });
  const { ranked } = ranking.rank(Uint32Array.of(0), new BestDocuments(1, 1));
  t.same(
    ranked.map(({ stats }) => [stats.candidateContents, stats.scannedBytes]),
    [[0, 0]],
    "the call ends after the first shard",
  );
  t.end();
});

t.test("the kernel stops", (t) => {
  const control = ControlBlock.allocate(1, 0, 0);
  control.cancel();
  const shard = shardOf([["a.c", "flush"]]);
  t.throws(() => rankByKernel(shard, "flush", largeBudget, 0, {}, undefined, control), { code: "cancelled" });
  t.end();
});

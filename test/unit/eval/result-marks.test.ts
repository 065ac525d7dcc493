import { isDeepStrictEqual } from "node:util";
import t from "tap";
import { loadKernel } from "../../../src/native/kernel/load.js";
import { addDigest, emptyDigest } from "../../../src/native/kernel/result-digest.js";
import {
  allWritten,
  addTally,
  emptyTally,
  type ResultBatch,
  ResultMarks,
  SentMarks,
} from "../../../src/protocol/result-batch.js";
import { planQuery } from "../../../src/query/plan/plan-query.js";
import {
  type EngineOptions,
  type MatchObject,
  runEngine,
  testRepository,
  testShard,
  type TestDocument,
} from "../../support/engine.js";
import { fc, runs } from "../../support/property.js";

// What two searches find, of which the second goes on behind the batches of the first that have arrived, in other shards, is what
// one search finds: nothing is lost, and nothing is there twice.

const kernel = loadKernel("native");

const repositories = [testRepository(1, "one"), testRepository(2, "two")];

const document = fc.record({
  path: fc.string({ unit: fc.constantFrom("a", "b", "/"), minLength: 1, maxLength: 8 }),
  content: fc.oneof(
    fc.string({ unit: fc.constantFrom("word ", "other ", "\n", "x".repeat(300)), maxLength: 30 }),
    // Its match object is longer than a buffer, so that it is continued in another one.
    fc.constant("a word, and more of it\n".repeat(2_500)),
  ),
  repositoryId: fc.constantFrom(1, 2),
});

const documents = fc.uniqueArray(document, {
  minLength: 1,
  maxLength: 20,
  selector: ({ path, repositoryId }) => `${repositoryId} ${path}`,
});

interface Found {
  /** One line for each range, and for each result without one. */
  readonly results: readonly string[];
  readonly batches: readonly ResultBatch[];
}

function describe({ repository, path, branches, ...match }: MatchObject): string[] {
  const lines = match.lineMatches ?? [];
  const chunks = match.chunkMatches ?? [];
  const ranges = [
    ...lines.flatMap(({ lineNumber, offsetAndLengths }) =>
      offsetAndLengths.map((one) => `${lineNumber} ${one.join(" ")}`),
    ),
    ...chunks.flatMap((chunk) => chunk.ranges.map((range) => JSON.stringify(range))),
  ];
  const name = `${repository} ${branches.join(" ")} ${path}`;
  return ranges.length === 0 ? [name] : ranges.map((range) => `${name} ${range}`);
}

/** Shards of the documents in this order, cut at this one. */
function search(files: readonly TestDocument[], cut: number, query: string, given: EngineOptions): Found {
  const parts = [files.slice(0, cut), files.slice(cut)].filter(({ length }) => length > 0);
  const shards = parts.map((part) => testShard(kernel, part, repositories));
  const batches: ResultBatch[] = [];
  const keep = (batch: ResultBatch): void => {
    // The buffer is used again.
    batches.push({ ...batch, bytes: Uint8Array.from(batch.bytes) });
  };
  runEngine(kernel, shards, planQuery(query, "standard"), { batchBytes: 2_000, ...given, onBatch: keep });
  return { results: resultsIn(batches), batches };
}

function resultsIn(batches: readonly ResultBatch[]): readonly string[] {
  return batches
    .flatMap(({ bytes }) => JSON.parse(`[${Buffer.from(bytes).toString()}]`) as MatchObject[])
    .flatMap(describe)
    .sort();
}

/** Counts and digest of all batches. */
function sumOf(batches: readonly ResultBatch[]): object {
  const tally = emptyTally();
  const digest = emptyDigest();
  for (const batch of batches) {
    addTally(tally, batch.tally);
    if (batch.digest !== undefined) addDigest(digest, batch.digest);
  }
  const { repositories: counts, languages, ...others } = tally;
  return { ...others, digest, repositories: [...counts].sort(), languages: [...languages].sort() };
}

function matchesIn(batches: readonly ResultBatch[]): number {
  return batches.flatMap(({ tally }) => [...tally.repositories.values()]).reduce((sum, count) => sum + count, 0);
}

/** More than all results have. */
const bytesMax = 2 ** 30;

const secret = Buffer.alloc(16, "s");

function sentIn(batches: readonly ResultBatch[]): SharedArrayBuffer {
  const records = batches.map(({ marks }) => marks?.records ?? new Uint32Array(0));
  const sent = SentMarks.allocate(records.reduce((sum, { length }) => sum + length / 4, 0));
  for (const some of records) sent.add(some);
  return sent.memory;
}

/** As if nothing of what is counted had been written. */
function unwritten(batches: readonly ResultBatch[]): SentMarks {
  const sent = SentMarks.allocate(batches.length * 100);
  for (const { marks } of batches)
    sent.add((marks?.records ?? new Uint32Array(0)).map((word, i) => (i % 4 === 3 ? 0 : word)));
  return sent;
}

const setting = fc.record({
  query: fc.constantFrom(
    "word",
    "/wor[d]/",
    "word select:content",
    "word select:file",
    "a",
    "type:path a",
    "word or a",
  ),
  credit: fc.constantFrom(undefined, 500, 1),
  chunkMatches: fc.boolean(),
  batchBytes: fc.constantFrom(2_000, 200),
  cuts: fc.array(fc.nat({ max: 20 }), { minLength: 3, maxLength: 3 }),
  losses: fc.array(fc.nat({ max: 12 }), { minLength: 2, maxLength: 2 }),
});

const limit = fc.oneof(fc.nat({ max: 60 }), fc.nat({ max: 4_000 }));

t.test("searches that go on behind others find what one search finds", async (t) => {
  const property = fc.property(documents, setting, (files, { query, cuts, losses, credit, ...sizes }) => {
    const given = { ...sizes, onDigest: () => undefined, ...(credit === undefined ? {} : { credit }) };
    const whole = search(files, cuts[0], query, given);
    const first = search(files, cuts[0], query, { ...given, marks: { secret, sent: undefined, run: 1 } });
    if (!isDeepStrictEqual(first.results, whole.results)) return false;
    const passed = first.batches.slice(0, losses[0]);
    const second = search([...files].reverse(), cuts[1], query, {
      ...given,
      marks: { secret, sent: sentIn(passed), run: 1 },
    });
    const passedThen = [...passed, ...second.batches.slice(0, losses[1])];
    const third = search(files, cuts[2], query, { ...given, marks: { secret, sent: sentIn(passedThen), run: 1 } });
    return [
      [...passed, ...second.batches],
      [...passedThen, ...third.batches],
    ].every(
      (all) => isDeepStrictEqual(resultsIn(all), whole.results) && isDeepStrictEqual(sumOf(all), sumOf(whole.batches)),
    );
  });
  t.doesNotThrow(() => fc.assert(property, { numRuns: runs(150) }));
});

t.test("what is only counted is counted once, and as much is shown as may be", async (t) => {
  const property = fc.property(
    documents,
    setting,
    limit,
    (files, { query, cuts, losses, credit, ...sizes }, display) => {
      const given = {
        ...sizes,
        displayCountMax: display,
        marks: { secret, sent: undefined, run: 1 },
        credit: credit ?? bytesMax,
      };
      const all = matchesIn(search(files, cuts[0], query, {}).batches);
      const passed = search(files, cuts[0], query, given).batches.slice(0, losses[0]);
      const counted = matchesIn(passed);
      const second = search([...files].reverse(), cuts[1], query, {
        ...given,
        displayCountMax: Math.max(0, display - counted),
        marks: { secret, sent: sentIn(passed), run: 1 },
      });
      const batches = [...passed, ...second.batches];
      const results = resultsIn(batches);
      const isOnce = new Set(results).size === results.length;
      return isOnce && matchesIn(batches) === all && results.length === Math.min(all, display);
    },
  );
  t.doesNotThrow(() => fc.assert(property, { numRuns: runs(100) }));
});

t.test("what was counted is written, also past the limit", async (t) => {
  const property = fc.property(documents, setting, limit, (files, { query, cuts, losses, credit, ...sizes }, max) => {
    const given = {
      ...sizes,
      matchCountMax: max,
      marks: { secret, sent: undefined, run: 1 },
      credit: credit ?? bytesMax,
    };
    const all = matchesIn(search(files, cuts[0], query, {}).batches);
    const passed = search(files, cuts[0], query, given).batches.slice(0, losses[0]);
    const counted = matchesIn(passed);
    const second = search([...files].reverse(), cuts[1], query, {
      ...given,
      matchCountMax: max - counted,
      marks: { secret, sent: sentIn(passed), run: 1 },
    });
    const batches = [...passed, ...second.batches];
    const results = resultsIn(batches);
    const isOnce = new Set(results).size === results.length;
    return isOnce && results.length === Math.min(all, max) && matchesIn(batches) === results.length;
  });
  t.doesNotThrow(() => fc.assert(property, { numRuns: runs(100) }));
});

t.test("a result that the limit cuts stays cut where one follows that was counted before", (t) => {
  const lines = (count: number): string => Array.from({ length: count }, (_, i) => `word ${i}\n`).join("");
  const file = (path: string, count: number): TestDocument => ({ path, content: lines(count), repositoryId: 1 });
  const { batches } = search([file("p1", 3)], 0, "word", { marks: { secret, sent: undefined, run: 1 } });
  const files = [file("a1", 5_000), file("a2", 5), file("p1", 3), file("a3", 5)];
  const sent = unwritten(batches).memory;
  for (const credit of [1, 100, bytesMax]) {
    const shown = search(files, 0, "word", { displayCountMax: 4_500, marks: { secret, sent, run: 1 }, credit }).results;
    const count = (path: string): number => shown.filter((one) => one.includes(` ${path} `)).length;
    t.same(["a1", "a2", "p1", "a3"].map(count), [4_500, 0, 3, 0], `credit ${credit}`);
  }
  t.end();
});

t.test("what was counted is looked up again in the index after the limit has stopped the search", (t) => {
  const contents = ["word ", "a word, and more of it\n".repeat(2_500)];
  const shard = testShard(
    kernel,
    contents.map((content, i) => ({ path: `p${i}`, content })),
    repositories,
  );
  const run = (useIndex: boolean) => {
    const given = { useIndex, chunkMatches: false, batchBytes: 200, matchCountMax: 20, credit: 1 };
    const { matches, matchCount } = runEngine(kernel, [shard], planQuery("word", "standard"), given);
    return { matches, matchCount };
  };
  t.same(run(true), run(false));
  t.end();
});

t.test("a search ends at its limit once everything is found that was counted before", (t) => {
  const shards = [["a1", "p1"], ["a2", "p2"], ["a3"]].map((paths) =>
    testShard(
      kernel,
      paths.map((path) => ({ path, content: "word" })),
      repositories,
    ),
  );
  const batches: ResultBatch[] = [];
  const plan = planQuery("word", "standard");
  const only = testShard(
    kernel,
    ["p1", "p2"].map((path) => ({ path, content: "word" })),
    repositories,
  );
  runEngine(kernel, [only], plan, {
    marks: { secret, sent: undefined, run: 1 },
    onBatch: (batch) => batches.push(batch),
  });
  const sent = unwritten(batches);
  t.equal(sent.unwrittenCount, 2);
  const found = runEngine(kernel, shards, plan, { matchCountMax: 0, marks: { secret, sent: sent.memory, run: 1 } });
  t.same(
    found.matches.map(({ path }) => path),
    ["p1", "p2"],
  );
  t.same([found.limitHit, found.stats.shardsSearched], [true, 2]);
  t.end();
});

t.test("marks of another commit, revision or search are others", (t) => {
  const file = { path: "a", content: "word" };
  const marksOf = (commit: string, given: Buffer): string => {
    const branches = [{ name: "main", bit: 0, commit }];
    const shard = testShard(kernel, [file], [testRepository(1, "one", { indexedBranches: branches })]);
    const seen: string[] = [];
    const keep = ({ marks }: ResultBatch): void =>
      void seen.push(...[...(marks?.records ?? [])].map(String), ...(marks?.commits.values() ?? []));
    runEngine(kernel, [shard], planQuery("word", "standard"), {
      marks: { secret: given, sent: undefined, run: 1 },
      onBatch: keep,
    });
    return seen.join();
  };
  const [a, b] = ["a".repeat(40), "b".repeat(40)];
  t.match(marksOf(a, secret), new RegExp(`,1,${allWritten},${a}$`));
  t.equal(marksOf(a, secret), marksOf(a, secret));
  t.not(marksOf(a, secret).split(",")[0], marksOf(b, secret).split(",")[0]);
  t.not(marksOf(a, secret).split(",")[0], marksOf(a, Buffer.alloc(16, "t")).split(",")[0]);
  t.end();
});

t.test("a result is told when it is counted, and again as it is written", (t) => {
  const marks = new ResultMarks();
  const told = (): number[][] => {
    const words = [...marks.take()];
    return Array.from({ length: words.length / 4 }, (_, i) => words.slice(4 * i + 1, 4 * i + 4));
  };
  for (const [i, rows] of [3, 5, 2].entries()) marks.add(Uint32Array.of(0, i), rows, 0, false);
  marks.hide(Uint32Array.of(0, 9));
  marks.moveTo(1, 2);
  t.same(told(), [
    [9, 0, allWritten],
    [0, 3, allWritten],
    [1, 5, 2],
    [2, 2, 0],
  ]);
  t.same(told(), [[1, 5, 2]], "again what may be told again");
  marks.moveTo(3, 0);
  marks.clear();
  marks.add(Uint32Array.of(0, 7), 4, 1, true);
  t.same(told(), [
    [1, 5, allWritten],
    [2, 2, allWritten],
  ]);
  marks.moveTo(0, 2);
  t.same(told(), [[7, 4, 3]]);
  t.end();
});

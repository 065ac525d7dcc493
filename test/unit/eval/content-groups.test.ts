import { isDeepStrictEqual } from "node:util";
import t from "tap";
import type { StreamMatch } from "../../../src/model/stream-events.js";
import { loadKernel } from "../../../src/native/kernel/load.js";
import { addDigest, emptyDigest, printDigest } from "../../../src/native/kernel/result-digest.js";
import { type BatchContents, ContentClaims, claimKeyWords } from "../../../src/protocol/content-claims.js";
import { planQuery } from "../../../src/query/plan/plan-query.js";
import { countRecorded, readObjects, savedBy, SharedContents } from "../../../src/search/fleet/shared-contents.js";
import { runEngine, testRepository, testShard, type EngineOptions, type TestDocument } from "../../support/engine.js";
import { fc, runs } from "../../support/property.js";

// expand(grouped(q)) == search(q): each place with its content, and the matches of that content, which are reported once.

const repositories = [
  testRepository(1, "one"),
  testRepository(2, "two", {
    indexedBranches: ["main", "dev"].map((name, bit) => ({ name, bit, commit: `${bit}`.repeat(40) })),
  }),
];

const texts = ["word\nother word", "other\n", "word ".repeat(50), "", "Word\nfunc word"];

const document = fc
  .record({
    path: fc.string({ unit: fc.constantFrom("a", "b", "/", "word"), minLength: 1, maxLength: 6 }),
    text: fc.nat({ max: texts.length - 1 }),
    repositoryId: fc.constantFrom(1, 2),
    branchMask: fc.constantFrom(1, 2, 3),
    language: fc.constantFrom("Go", "C"),
    isSkipped: fc.boolean(),
  })
  .map(
    ({ text, isSkipped, branchMask, ...rest }): TestDocument => ({
      ...rest,
      branchMask: rest.repositoryId === 1 ? 1 : branchMask,
      content: texts[text] ?? "",
      oid: `${text}`.repeat(40),
      // A blob has a text in all places or in none.
      skipReason: isSkipped && text === 1 ? "binary" : "none",
    }),
  );

const documents = fc.uniqueArray(document, {
  minLength: 1,
  maxLength: 40,
  selector: ({ path, repositoryId }) => `${repositoryId} ${path.toString()}`,
});

const queries = fc.constantFrom(
  "word",
  "/w[o]rd/ select:content",
  "word select:file",
  "a",
  "(repo:one word) or (repo:two other)",
  "(file:a word) or other",
  "-file:b word case:yes",
  "type:path a",
);

interface Place {
  readonly name: string;
  readonly rest: Omit<StreamMatch, "contentKey" | "duplicate">;
}

/** The results by place; objects of one file are combined. */
function placesOf(matches: readonly StreamMatch[]): ReadonlyMap<string, Place["rest"]> {
  const places = new Map<string, StreamMatch>();
  for (const { contentKey: _, duplicate: __, ...rest } of matches) {
    const name = `${rest.repository}@${rest.branches?.join()}:${rest.path}`;
    const known = places.get(name);
    const chunkMatches = [...(known?.chunkMatches ?? []), ...(rest.chunkMatches ?? [])];
    places.set(name, { ...rest, ...(chunkMatches.length === 0 ? {} : { chunkMatches }) });
  }
  return new Map([...places].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** What the grouped results say about each place. */
function expand(matches: readonly StreamMatch[]): readonly StreamMatch[] {
  return matches.flatMap((match) => {
    if (match.duplicate !== true) return [match];
    const full = matches.filter(({ contentKey, duplicate }) => contentKey === match.contentKey && duplicate !== true);
    return full.map(({ type, chunkMatches, ...first }) => ({
      ...match,
      type,
      ...(chunkMatches && { chunkMatches }),
      ...("hunks" in first ? { hunks: first.hunks } : {}),
    }));
  });
}

for (const name of ["native", "ts"] as const) {
  t.test(`grouped results are those of all places, counted once and in all places: ${name}`, async (t) => {
    const kernel = loadKernel(name);
    const options = fc.record({ credit: fc.constantFrom(undefined, 1, 300), shardCount: fc.constantFrom(1, 2, 3) });
    const property = fc.property(documents, queries, options, (files, query, { credit, shardCount }) => {
      const shards = Array.from({ length: shardCount }, (_, s) => files.filter((_, i) => i % shardCount === s))
        .filter((some) => some.length > 0)
        .map((some) => testShard(kernel, some, repositories));
      const plan = planQuery(query, "standard");
      const run = (more: EngineOptions) => {
        const sum = emptyDigest();
        const onDigest = (digest: Uint32Array) => addDigest(sum, digest);
        const found = runEngine(kernel, shards, plan, {
          onDigest,
          ...(credit === undefined ? {} : { credit }),
          ...more,
        });
        return { ...found, digest: printDigest(sum) };
      };
      const plain = run({});
      const grouped = run({ groupsContents: true });
      const { places, matches } = grouped.duplicates;
      const full = grouped.matches.filter(({ duplicate }) => duplicate !== true);
      const keys = [...placesOf(full).values()].length;
      return (
        isDeepStrictEqual(placesOf(expand(grouped.matches)), placesOf(plain.matches)) &&
        grouped.digest === plain.digest &&
        plain.matchCount === grouped.matchCount - places + matches &&
        keys === new Set(full.map(({ contentKey }) => contentKey)).size &&
        places === grouped.matches.length - full.length
      );
    });
    t.doesNotThrow(() => fc.assert(property, { numRuns: runs(60) }));
  });
}

interface NodeBatch {
  readonly node: number;
  readonly bytes: Uint8Array;
  readonly contents: BatchContents;
}

/** What nodes find that have these files, of which each groups its own results; batches of different nodes in turn. */
function batchesOf(nodes: readonly (readonly TestDocument[])[], query: string, more: EngineOptions = {}) {
  const kernel = loadKernel("native");
  const found = nodes.map((files, node) => {
    const batches: NodeBatch[] = [];
    const onBatch: EngineOptions["onBatch"] = ({ bytes, contents }) => {
      if (contents !== undefined) batches.push({ node, bytes: new Uint8Array(bytes), contents });
    };
    const shards = files.length === 0 ? [] : [testShard(kernel, files, repositories)];
    const result = runEngine(kernel, shards, planQuery(query, "standard"), { groupsContents: true, onBatch, ...more });
    return { batches, result };
  });
  const length = Math.max(...found.map(({ batches }) => batches.length));
  const inTurn = Array.from({ length }, (_, i) => found.flatMap(({ batches }) => batches.slice(i, i + 1))).flat();
  return { batches: inTurn, results: found.map(({ result }) => result) };
}

/** The same as one search has it. */
function pass(nodeCount: number, batches: readonly NodeBatch[]) {
  const shared = new SharedContents(ContentClaims.allocate().memory);
  const nodes = Array.from({ length: nodeCount }, () => shared.join());
  const copies = { count: 0, matches: 0 };
  const matches: StreamMatch[] = [];
  let isForeseen = true;
  for (const { node, bytes, contents } of batches) {
    const expected = nodes[node]?.find(contents.records);
    const passed = nodes[node]?.pass(contents.records) ?? copies;
    isForeseen &&= isDeepStrictEqual(passed, expected);
    copies.count += passed.count + contents.copyCount;
    copies.matches += passed.matches + contents.copyMatches;
    const shortened = Buffer.from(nodes[node]?.shorten(readObjects(bytes)) ?? bytes).toString();
    matches.push(...(JSON.parse(`[${shortened}]`) as StreamMatch[]));
  }
  const saved = nodes.reduce((sum, node) => sum + node.saved, 0);
  return { matches, copies, saved, isForeseen, shared, nodes };
}

t.test("what several nodes have is reported as on one", async (t) => {
  const options = fc.record({ credit: fc.constantFrom(undefined, 1, 300), nodeCount: fc.constantFrom(2, 3) });
  const property = fc.property(documents, queries, options, (files, query, { credit, nodeCount }) => {
    const parts = Array.from({ length: nodeCount }, (_, node) => files.filter((_, i) => i % nodeCount === node));
    const more = credit === undefined ? {} : { credit };
    const { batches, results } = batchesOf(parts, query, more);
    const { matches, copies, saved, isForeseen } = pass(nodeCount, batches);
    const kernel = loadKernel("native");
    const one = runEngine(kernel, [testShard(kernel, files, repositories)], planQuery(query, "standard"), {
      groupsContents: true,
    });
    const full = matches.filter(({ duplicate }) => duplicate !== true);
    const counted = results.reduce((sum, { matchCount }) => sum + matchCount, 0);
    const recorded = batches.reduce((sum, { contents }) => sum + countRecorded(contents.records), 0);
    return (
      isForeseen &&
      isDeepStrictEqual(placesOf(expand(matches)), placesOf(expand(one.matches))) &&
      placesOf(full).size === new Set(full.map(({ contentKey }) => contentKey)).size &&
      isDeepStrictEqual({ places: copies.count, matches: copies.matches }, one.duplicates) &&
      counted - saved === one.matchCount &&
      recorded + results.reduce((sum, { duplicates }) => sum + duplicates.places, 0) === counted
    );
  });
  t.doesNotThrow(() => fc.assert(property, { numRuns: runs(30) }));
});

t.test("of a result of another node that has several objects one is left", async (t) => {
  const lines = 20_000;
  const document = (path: string, text: string): TestDocument => ({
    path,
    repositoryId: 1,
    branchMask: 1,
    language: "Go",
    content: text,
    oid: (text.length % 10).toString().repeat(40),
    skipReason: "none",
  });
  const long = "word\n".repeat(lines);
  const own = [document("x", "word in one"), document("y", "word in two, twice: word")];
  const nodes = [[document("a", long)], [document("b", long), ...own]];
  const { batches } = batchesOf(nodes, "word", { batchBytes: 1 });
  t.ok(batches.filter(({ node }) => node === 1).length > 3);
  const { matches, saved, copies, shared, nodes: passed } = pass(2, batches);
  const objects = (path: string) => matches.filter((match) => match.path === path);
  t.ok(objects("a").length > 1);
  t.match(objects("b"), [{ type: "path", duplicate: true, language: "Go", contentKey: objects("a")[0]?.contentKey }]);
  t.same([objects("b").length, objects("x").length, objects("y").length], [1, 1, 1]);
  t.match(objects("y"), [{ type: "content", chunkMatches: Array }]);
  t.same([copies, saved], [{ count: 1, matches: lines }, lines - 1]);

  t.equal(shared.count, 3);
  const [first, second] = passed;
  t.same([first?.isExact, second?.isExact], [false, false], "each has contents of which the other one has not heard");
  const told = [...(second?.tell() ?? [])];
  t.equal(
    told.reduce((sum, { length }) => sum + length, 0),
    3 * 4 * claimKeyWords,
  );
  t.same([second?.isExact, second?.saved], [true, 0]);
  const again = batches.find(({ node, contents }) => node === 1 && contents.records.length > 0)?.contents.records;
  t.throws(() => second?.find(again ?? new Int32Array(0)), /it was told/);
});

t.test("results that are not of one content are not taken for one", (t) => {
  const [shared, keys] = [
    new SharedContents(ContentClaims.allocate().memory),
    ["a", "b"].map((letter) => letter.repeat(40)),
  ];
  const [first, second] = [shared.join(), shared.join()];
  const object = (oid: string) =>
    `{"type":"content","path":"p","hunks":null,"lineMatches":[{}],"contentKey":"${oid}.00000000"}`;
  const bytes = Buffer.from(keys.map(object).join());
  t.same(first.shorten(readObjects(bytes)), bytes);
  const short = Buffer.from(second.shorten(readObjects(bytes))).toString();
  t.same(
    (JSON.parse(`[${short}]`) as StreamMatch[]).map(({ contentKey, duplicate }) => [contentKey, duplicate]),
    keys.map((oid) => [`${oid}.00000000`, true]),
  );
  t.end();
});

t.test("what is no match object of a content is refused", async (t) => {
  const key = `${"a".repeat(40)}.00000000`;
  for (const text of [
    "{}",
    '{"contentKey":"x"}',
    '{"type":"path","contentKey":"',
    `{"type":"path","contentKey":"${key}`,
    `{"type":"path","contentKey":"${key}"}`,
    `{"type":"path","contentKey":"${key}","path":"p"}`,
  ])
    t.throws(() => readObjects(Buffer.from(text)), { code: "bad-request" }, text);
  t.throws(() => readObjects(Buffer.from('{"type":"path","path":"p","contentKey":"A"}')), /is none/);
  t.throws(() => countRecorded(new Int32Array(6)), /without a match/);
  t.equal(savedBy({ count: 2, matches: 5 }), 3);
});

t.test("a claim is that of its first owner, and without room each owner has it", async (t) => {
  const claims = ContentClaims.allocate(2);
  const key = (n: number) => Int32Array.from({ length: claimKeyWords }, () => n);
  t.equal(claims.claim(key(1), [1, 1]), true);
  t.equal(claims.claim(key(1), [2, 1]), false);
  t.equal(claims.claim(key(1), [1, 1]), true, "when a slice returns to the block");
  t.equal(claims.claim(key(2), [2 ** 31, -1]), true);
  t.equal(claims.claim(key(2), [2 ** 31, -1]), true, "words are signed");
  t.equal(claims.isFull, false);
  t.equal(claims.claim(key(3), [1, 1]), true);
  t.equal(claims.claim(key(3), [2, 1]), true);
  t.equal(claims.isFull, true);
  t.equal(claims.claim(key(1), [3, 1]), false);
  t.same([claims.findOther(key(1), [3, 1]), claims.findOther(key(2), [3, 1])], [1, 2]);
  t.equal(claims.findOther(key(1), [1, 1]), 0, "nobody else has it");
  t.equal(claims.findOther(key(3), [3, 1]), 0, "nobody has it");
  t.equal(claims.count, 2);
  t.same([...claims.keys(0, 2)], [...key(1), ...key(2)]);
  const given = ContentClaims.allocate();
  given.fill();
  t.equal(given.isFull, true);
  t.equal(given.claim(key(1), [1, 1]) && given.claim(key(1), [2, 1]), true);
});

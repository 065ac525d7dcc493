import { isDeepStrictEqual } from "node:util";
import t from "tap";
import type { StreamMatch } from "../../../src/model/stream-events.js";
import { loadKernel } from "../../../src/native/kernel/load.js";
import { addDigest, emptyDigest, printDigest } from "../../../src/native/kernel/result-digest.js";
import { type BatchContents, ContentClaims, claimKeyWords, readKey } from "../../../src/protocol/content-claims.js";
import { planQuery } from "../../../src/query/plan/plan-query.js";
import {
  countRecorded,
  type NodeContents,
  readObjects,
  savedBy,
  SharedContents,
} from "../../../src/search/fleet/shared-contents.js";
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
  t.same([claims.find(key(1)), claims.find(key(2))], [1, 2]);
  t.same([claims.ownerAt(1), claims.ownerAt(2)], [1, (2 ** 31) | 0]);
  t.equal(claims.find(key(3)), 0, "nobody has it");
  t.equal(claims.count, 2);
  t.same([...claims.keys(0, 2)], [...key(1), ...key(2)]);
  const given = ContentClaims.allocate();
  given.fill();
  t.equal(given.isFull, true);
  t.equal(given.claim(key(1), [1, 1]) && given.claim(key(1), [2, 1]), true);
});

t.test("keys that somebody has chosen are not in one list", (t) => {
  const claims = ContentClaims.allocate(100_000);
  const count = 20_000;
  // All have the same first word as last one, which was once all that was hashed.
  const key = (n: number) => Int32Array.of(n, n >>> 3, 1, 2, n);
  for (let n = 0; n < count; n++) claims.claim(key(n), [1, 0]);
  t.equal(claims.isFull, false);
  t.equal(claims.count, count);
  for (let n = 0; n < count; n++) if (claims.claim(key(n), [2, 0])) t.fail(`the claim ${n} is lost`);
  t.end();
});

t.test("a list that is too long has no room", (t) => {
  // With the same seed as another search, so that the keys of one list are known.
  const { memory } = ContentClaims.allocate(1);
  const known = new Int32Array(memory);
  const [header, buckets] = [2, 2 ** 18];
  const bucketOf = (key: Int32Array): number => {
    known.fill(0, header, header + buckets);
    known[0] = 0;
    new ContentClaims(memory).claim(key, [1, 0]);
    return known.indexOf(1, header);
  };
  const key = (n: number) => Int32Array.of(n, 0, 0, 0, 0);
  const claims = ContentClaims.allocate(100);
  new Int32Array(claims.memory)[1] = known[1] ?? 0;
  // A list is made by hand: all claims are in one bucket.
  const words = new Int32Array(claims.memory);
  const bucket = bucketOf(key(7));
  for (let n = 100; n < 140; n++) {
    claims.claim(key(n), [1, 0]);
    const own = n - 99;
    words.fill(0, header, header + buckets);
    words[header + buckets + (own - 1) * 8 + 7] = own - 1;
    words[bucket] = own;
  }
  t.equal(claims.isFull, false);
  t.equal(claims.find(key(7)), 0);
  t.equal(claims.isFull, true, "it is not looked for to the end");
  t.equal(claims.claim(key(7), [2, 0]), true, "whoever asks has it");
  t.end();
});

const contentKey = (letter: string): string => `${letter.repeat(40)}.00000000`;

function objectOf(letter: string): string {
  return `{"type":"content","path":"${letter}","hunks":null,"lineMatches":[{}],"contentKey":"${contentKey(letter)}"}`;
}

function recordsOf(letters: string): Int32Array {
  const records = new Int32Array(letters.length * (claimKeyWords + 1));
  for (const [i, letter] of [...letters].entries()) {
    const at = i * (claimKeyWords + 1);
    readKey(records.subarray(at, at + claimKeyWords), contentKey(letter));
    records[at + claimKeyWords] = 1;
  }
  return records;
}

/** The paths of the results that are passed on, those that refer to others in brackets. */
function shown(node: NodeContents, letters: string): string[] {
  const bytes = Buffer.from([...letters].map(objectOf).join());
  const text = Buffer.from(node.shorten(readObjects(bytes))).toString();
  const objects = JSON.parse(`[${text}]`) as StreamMatch[];
  return objects.map(({ path = "", duplicate }) => (duplicate === true ? `(${path})` : path));
}

t.test("what a lost node has not written belongs to the others", (t) => {
  const shared = new SharedContents(ContentClaims.allocate().memory);
  const [lost, other, third] = [shared.join(), shared.join(), shared.join()];
  lost.pass(recordsOf("abcdef"));
  t.same(shown(lost, "abc"), ["a", "b", "c"]);
  t.same(other.pass(recordsOf("a")), { count: 1, matches: 1 });
  t.same(shown(other, "a"), ["(a)"]);
  lost.lose();
  t.equal(lost.missingCount, 0, "all that others refer to was written");
  const told = [...third.tell()].map(({ length }) => length);
  t.same(told, [2 * 4 * claimKeyWords], "the client has a and b; of c there may be more");
  t.same(other.find(recordsOf("bcd")), { count: 1, matches: 1 });
  t.same(other.pass(recordsOf("bcd")), { count: 1, matches: 1 });
  t.same(shown(other, "bcd"), ["(b)", "c", "d"]);
  t.same(third.find(recordsOf("d")), { count: 1, matches: 1 }, "nobody has told it");
  t.same(shown(third, "cd"), ["(c)", "(d)"]);
  for (const node of [other, third]) t.doesNotThrow(() => node.requireCounted());
  t.equal(shared.isFull, false);
  t.end();
});

t.test("what refers to something that a lost node has not written is told", (t) => {
  const shared = new SharedContents(ContentClaims.allocate().memory);
  const [lost, other] = [shared.join(), shared.join()];
  lost.pass(recordsOf("abc"));
  other.pass(recordsOf("bcd"));
  t.same(shown(other, "bd"), ["(b)", "d"]);
  lost.lose();
  t.equal(lost.missingCount, 1);
  t.equal(shared.isFull, true);
  t.same(shown(other, "c"), ["c"], "it was counted as one, and has not been passed on");
  t.doesNotThrow(() => other.requireCounted());
  t.end();
});

t.test("a node that had a content when another one was lost has counted it", (t) => {
  const shared = new SharedContents(ContentClaims.allocate().memory);
  const [lost, other] = [shared.join(), shared.join()];
  const letters = "0123456789abcdef";
  lost.pass(recordsOf(letters));
  t.equal(other.pass(recordsOf(letters)).count, 16);
  lost.lose();
  t.same(shown(other, letters), [...letters]);
  t.doesNotThrow(() => other.requireCounted());
  t.end();
});

t.test("contents that a node shows and does not count are refused", (t) => {
  const shared = new SharedContents(ContentClaims.allocate().memory);
  const [liar, other] = [shared.join(), shared.join()];
  t.same(shown(liar, "ab"), ["a", "b"]);
  other.pass(recordsOf("a"));
  t.same(shown(other, "a"), ["(a)"]);
  t.throws(() => liar.requireCounted(), { code: "bad-request", message: /2 contents/ });
  liar.lose();
  t.same([liar.missingCount, shared.isFull], [1, true], "a is nowhere else");
  const many = Array.from({ length: 17 }, (_, i) => {
    const key = `${i.toString(16).padStart(40, "0")}.00000000`;
    return `{"type":"path","path":"${i}","contentKey":"${key}"}`;
  });
  const next = new SharedContents(ContentClaims.allocate().memory).join();
  t.throws(() => next.shorten(readObjects(Buffer.from(many.join()))), { code: "bad-request", message: /17 contents/ });
  t.end();
});

t.test("a batch has no more objects than a leaf sends", (t) => {
  const object = objectOf("a");
  t.throws(() => readObjects(Buffer.from(Array.from({ length: 4_097 }, () => object).join())), /more than 4096/);
  const long = object.replace("[{}]", `[${" ".repeat(400_000)}]`);
  t.equal(readObjects(Buffer.from([object, long.replace("}", `${" ".repeat(1_000_000)}}`)].join())).objects.length, 2);
  t.throws(() => readObjects(Buffer.from([long, long, long].join())), { code: "bad-request" });
  t.end();
});

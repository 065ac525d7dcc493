import { isDeepStrictEqual } from "node:util";
import t from "tap";
import type { StreamMatch } from "../../../src/model/stream-events.js";
import { loadKernel } from "../../../src/native/kernel/load.js";
import { addDigest, emptyDigest, printDigest } from "../../../src/native/kernel/result-digest.js";
import { ContentClaims, claimKeyWords } from "../../../src/protocol/content-claims.js";
import { planQuery } from "../../../src/query/plan/plan-query.js";
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
});

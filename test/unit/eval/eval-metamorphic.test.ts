import t from "tap";
import { assert } from "../../../src/base/assert.js";
import { loadKernel } from "../../../src/native/kernel/load.js";
import { planQuery } from "../../../src/query/plan/plan-query.js";
import type { QueryType } from "../../../src/query/syntax/scan.js";
import {
  runEngine,
  testRepository,
  testShard,
  type MatchObject,
  type TestDocument,
  type TestShard,
} from "../../support/engine.js";
import { engineLines } from "../../support/naive.js";
import {
  atom,
  corpus,
  expression,
  expressionOf,
  filters,
  planOrSkip,
  repositories,
  textsAndRegexps,
} from "../../support/search-generator.js";
import { fc, runs } from "../../support/property.js";

// Relations between the results of related queries, which need no oracle.

/** For more cases: `SEED=random FAULTS=1 node dist/test/unit/eval/eval-metamorphic.test.js`. */
const runCount = runs(20);

const kernel = loadKernel("native");

/** A literal that no generated document contains. */
const nothing = "qqq";

const positive = expressionOf(atom);

type Documents = readonly TestDocument[];

/** Results as text, with their ranges. */
function search(documents: Documents, query: string, type: QueryType = "standard", shardCount = 1): readonly string[] {
  const plan = planQuery(query, type);
  const shards = shardsOf(documents, shardCount);
  return repositories
    .flatMap(({ id, name }) => {
      const selections = plan.basicQueries.map(() => ({
        repositoryIds: Uint32Array.of(1 << id),
        revisions: undefined,
      }));
      return engineLines(runEngine(kernel, shards, plan, { selections }).matches).map((line) => `${name}/${line}`);
    })
    .sort();
}

/** Caches the shards of the same documents. */
const known = new WeakMap<Documents, Map<number, readonly TestShard[]>>();

function shardsOf(documents: Documents, shardCount: number): readonly TestShard[] {
  const byCount = known.get(documents) ?? new Map<number, readonly TestShard[]>();
  known.set(documents, byCount);
  const parts = Array.from({ length: shardCount }, (_, part) => documents.filter((_, i) => i % shardCount === part));
  const shards =
    byCount.get(shardCount) ??
    parts.filter(({ length }) => length > 0).map((part) => testShard(kernel, part, repositories));
  byCount.set(shardCount, shards);
  return shards;
}

/** The paths of results. */
function found(documents: Documents, query: string): ReadonlySet<string> {
  return new Set(search(documents, query).map((line) => line.slice(0, line.indexOf(" "))));
}

function same(a: readonly string[], b: readonly string[], what: string): void {
  assert(JSON.stringify(a) === JSON.stringify(b), `${what}: ${JSON.stringify(a)} and ${JSON.stringify(b)}`);
}

/** Checks a relation for generated documents and queries, and that enough of the queries were valid. */
function relation<T>(
  name: string,
  parts: fc.Arbitrary<T>,
  holds: (documents: Documents, parts: T) => void,
  queriesOf: (parts: T) => readonly (readonly [string, QueryType])[],
): void {
  t.test(name, async (t) => {
    let checked = 0;
    fc.assert(
      fc.property(corpus, parts, (documents, given) => {
        if (documents.length === 0 || queriesOf(given).some(([query, type]) => planOrSkip(query, type) === undefined))
          return;
        checked++;
        holds(documents, given);
      }),
      { numRuns: runCount },
    );
    t.ok(checked > runCount / 4, `${checked} of ${runCount} are valid`);
  });
}

const pair = fc.record({ first: filters, a: expression, b: expression });
const one = fc.record({ first: filters, a: expression });

function inStandard(...queries: string[]): readonly (readonly [string, QueryType])[] {
  return queries.map((query) => [query, "standard"]);
}

const prefixed = (first: readonly string[], rest: string): string => [...first, rest].join(" ");

for (const operator of ["and", "or"]) {
  relation(
    `the order of ${operator} does not matter`,
    pair,
    (documents, { first, a, b }) => {
      same(
        search(documents, prefixed(first, `(${a} ${operator} ${b})`)),
        search(documents, prefixed(first, `(${b} ${operator} ${a})`)),
        `${a} ${operator} ${b}`,
      );
    },
    ({ first, a, b }) => inStandard(prefixed(first, `(${a} ${operator} ${b})`)),
  );
}

relation(
  "texts under or are found as regexps are that are one leaf each",
  fc.record({ first: filters, forms: textsAndRegexps }),
  (documents, { first, forms: [texts, regexps] }) => {
    same(search(documents, prefixed(first, `(${texts})`)), search(documents, prefixed(first, `(${regexps})`)), texts);
    same(
      search(documents, prefixed(first, `(${texts} or /s+/)`)),
      search(documents, prefixed(first, `(${regexps} or /s+/)`)),
      texts,
    );
  },
  ({ first, forms }) => inStandard(...forms.map((text) => prefixed(first, `(${text})`))),
);

relation(
  "or nothing changes nothing",
  one,
  (documents, { first, a }) => {
    same(search(documents, prefixed(first, `(${a} or ${nothing})`)), search(documents, prefixed(first, a)), a);
  },
  ({ first, a }) => inStandard(prefixed(first, a), prefixed(first, `(${a} or ${nothing})`)),
);

relation(
  "and not nothing changes nothing",
  one,
  (documents, { first, a }) => {
    same(search(documents, prefixed(first, `(${a} and not ${nothing})`)), search(documents, prefixed(first, a)), a);
  },
  ({ first, a }) => inStandard(prefixed(first, a), prefixed(first, `(${a} and not ${nothing})`)),
);

relation(
  "twice the same is once",
  one,
  (documents, { first, a }) => {
    for (const operator of ["and", "or"])
      same(search(documents, prefixed(first, `(${a} ${operator} ${a})`)), search(documents, prefixed(first, a)), a);
  },
  ({ first, a }) => inStandard(prefixed(first, a), prefixed(first, `(${a} or ${a})`)),
);

relation(
  "what is not excluded is found: a negation of a negation",
  fc.record({ first: filters, a: atom }),
  (documents, { first, a }) => {
    const everything = found(documents, prefixed(first, `(not ${nothing})`));
    const without = found(documents, prefixed(first, `not ${a}`));
    const withIt = found(documents, prefixed(first, a));
    same([...everything].filter((path) => !without.has(path)).sort(), [...withIt].sort(), a);
  },
  ({ first, a }) => inStandard(prefixed(first, a), prefixed(first, `not ${a}`), prefixed(first, `(not ${nothing})`)),
);

relation(
  "however the documents are cut into shards",
  one,
  (documents, { first, a }) => {
    const query = prefixed(first, a);
    for (const shardCount of [2, 5])
      same(search(documents, query, "standard", shardCount), search(documents, query), query);
  },
  ({ first, a }) => inStandard(prefixed(first, a)),
);

relation(
  "with regard to case no more is found",
  fc.record({ a: positive }),
  (documents, { a }) => {
    // A class that excludes a letter excludes more without regard to case.
    if (a.includes("[^")) return;
    const all = found(documents, a);
    for (const path of found(documents, `case:yes ${a}`)) assert(all.has(path), `${path} is found with case:yes only`);
  },
  ({ a }) => inStandard(a, `case:yes ${a}`),
);

relation(
  "a count that is not reached changes nothing",
  one,
  (documents, { first, a }) => {
    const query = prefixed(first, a);
    const shards = shardsOf(documents, 1);
    const run = (matchCountMax?: number) => runEngine(kernel, shards, planQuery(query, "standard"), { matchCountMax });
    const all = run();
    const counted = run(Math.max(1, all.matchCount));
    assert(!counted.limitHit, "the limit is not hit");
    same(engineLines(counted.matches), engineLines(all.matches), query);
  },
  ({ first, a }) => inStandard(prefixed(first, a)),
);

relation(
  "a count that is reached gives so many, all of them matches",
  one,
  (documents, { first, a }) => {
    const shards = shardsOf(documents, 1);
    const run = (matchCountMax?: number) =>
      runEngine(kernel, shards, planQuery(prefixed(first, a), "standard"), { matchCountMax });
    const all = run();
    const half = Math.floor(all.matchCount / 2);
    if (half === 0) return;
    const places = new Set(placesOf(all.matches));
    for (const place of placesOf(run(half).matches)) assert(places.has(place), `${place} is a match`);
  },
  ({ first, a }) => inStandard(prefixed(first, a)),
);

/** Paths with the ranges in their text. */
function placesOf(matches: readonly MatchObject[]): string[] {
  return matches.flatMap(({ path, chunkMatches = [] }) => [
    path,
    ...chunkMatches.flatMap(({ ranges }) => ranges.map(({ start, end }) => `${path} ${start.offset}-${end.offset}`)),
  ]);
}

relation(
  "parentheses around all change nothing",
  fc.record({ first: filters, a: positive }),
  (documents, { first, a }) => {
    for (const type of ["keyword", "standard"] as const) {
      if (type === "standard" && !a.startsWith("(")) continue;
      same(
        search(documents, prefixed(first, `(${a})`), type),
        search(documents, prefixed(first, a), type),
        `${type}: ${a}`,
      );
    }
  },
  ({ first, a }) => (["keyword", "standard"] as const).map((type) => [prefixed(first, a), type]),
);

/** An expression with its meaning, which does not depend on how a text is parsed. */
interface Expression {
  readonly text: string;
  readonly holds: (document: TestDocument) => boolean;
}

const holdsAll =
  (parts: readonly Expression[]) =>
  (document: TestDocument): boolean =>
    parts.every(({ holds }) => holds(document));

const words: fc.Arbitrary<Expression> = fc.constantFrom("ab", "k", "sk", "xxx", "a_", "qq").map((text) => ({
  text,
  holds: ({ content }) => new RegExp(text, "iu").test(content.toString()),
}));

const pathFilter: fc.Arbitrary<Expression> = fc.oneof(
  fc.constantFrom("a", "k", "go$").map(
    (source): Expression => ({
      text: `file:${source}`,
      holds: ({ path }) => new RegExp(source).test(path.toString()),
    }),
  ),
  fc.constantFrom("b", "s").map(
    (source): Expression => ({
      text: `-file:${source}`,
      holds: ({ path }) => !path.toString().includes(source),
    }),
  ),
);

/**
 * Filters, then operands between operators, then filters, as the query itself or in parentheses. Behind a first operand
 * without filters before it, filters apply to the last one, so there are none.
 */
const scoped = fc.letrec<{ operand: Expression; expression: Expression }>((tie) => ({
  operand: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    words,
    words.map(({ text, holds }) => ({ text: `not ${text}`, holds: (document: TestDocument) => !holds(document) })),
    tie("expression").map(({ text, holds }) => ({ text: `(${text})`, holds })),
  ),
  expression: fc
    .record({
      before: fc.array(pathFilter, { maxLength: 2 }),
      sides: fc.array(fc.array(tie("operand"), { minLength: 1, maxLength: 2 }), { minLength: 2, maxLength: 3 }),
      after: fc.array(pathFilter, { maxLength: 1 }),
    })
    .map(({ before, sides, after: maybeAfter }): Expression => {
      const after = before.length === 0 ? [] : maybeAfter;
      const tree = sides.map((side) => side.map(({ text }) => text).join(" and ")).join(" or ");
      return {
        text: [...before.map(({ text }) => text), tree, ...after.map(({ text }) => text)].join(" "),
        holds: (document) =>
          holdsAll([...before, ...after])(document) && sides.some((side) => holdsAll(side)(document)),
      };
    }),
})).expression;

relation(
  "filters around an expression apply to all of it, whatever its groups are",
  fc.record({ expression: scoped, type: fc.constantFrom("standard", "literal", "keyword", "regexp") }),
  (documents, { expression: { text, holds }, type }) => {
    const naive = documents
      .filter(holds)
      .map(
        ({ repositoryId, path }) => `${repositories.find(({ id }) => id === repositoryId)?.name}/${path.toString()}`,
      );
    for (const asked of [`type:file (${text})`, `type:file ${text}`]) {
      const paths = search(documents, asked, type as QueryType).map((line) => line.slice(0, line.indexOf(" ")));
      same([...new Set(paths)].sort(), naive.sort(), `${type}: ${asked}`);
    }
  },
  ({ expression: { text }, type }) => [[`type:file (${text})`, type as QueryType]],
);

relation(
  "the order of filters does not matter, nor their side",
  fc.record({ first: filters, a: expression }),
  (documents, { first, a }) => {
    const query = prefixed(first, a);
    same(search(documents, prefixed([...first].reverse(), a)), search(documents, query), query);
    if (a.startsWith("(")) same(search(documents, [a, ...first].join(" ")), search(documents, query), query);
  },
  ({ first, a }) => inStandard(prefixed(first, a), [a, ...first].join(" ")),
);

relation(
  "several revisions find what each of them finds",
  fc.record({
    first: filters,
    a: expression,
    masks: fc.array(fc.constantFrom(1, 2, 3), { minLength: 12, maxLength: 12 }),
  }),
  (documents, { first, a, masks }) => {
    const indexed = testRepository(1, "one", {
      indexedBranches: ["main", "dev"].map((name, bit) => ({ name, bit, commit: "c".repeat(40) })),
    });
    const shards = [
      testShard(
        kernel,
        documents.map((document, i) => ({
          ...document,
          repositoryId: 1,
          path: `${i}${document.path}`,
          branchMask: masks[i],
        })),
        [indexed],
      ),
    ];
    const at = (...names: string[]): string[] => {
      const plan = planQuery(prefixed(first, a), "standard");
      const choices = names.map((typed) => ({ typed, bit: typed === "main" ? 0 : 1, unindexed: undefined }));
      const selections = plan.basicQueries.map(() => ({
        repositoryIds: undefined,
        revisions: new Map([[1, choices]]),
      }));
      const { matches } = runEngine(kernel, shards, plan, { selections });
      return names
        .flatMap((name) =>
          engineLines(matches.filter(({ branches }) => branches[0] === name)).map((line) => `${name} ${line}`),
        )
        .sort();
    };
    same(at("main", "dev"), [...at("main"), ...at("dev")].sort(), prefixed(first, a));
  },
  ({ first, a }) => inStandard(prefixed(first, a)),
);

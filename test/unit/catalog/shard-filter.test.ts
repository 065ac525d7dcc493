import assert from "node:assert";
import t from "tap";
import { FilterColumns, noColumn, ShardFilter } from "../../../src/protocol/shard-filter.js";
import { columnText } from "../../../src/eval/match/path-match.js";
import { loadKernel } from "../../../src/native/kernel/load.js";
import { planQuery } from "../../../src/query/plan/plan-query.js";
import { chooseShards, type ShardsInView } from "../../../src/search/slices/shard-choice.js";
import { testRepository, testShard, type TestDocument } from "../../support/engine.js";
import { naiveSearch } from "../../support/naive.js";
import { fc, runs } from "../../support/property.js";

// The filter over all shards rules out only shards in which the oracle finds nothing.

const kernel = loadKernel("ts");
const repositories = [testRepository(1, "one")];
const everyId = Uint32Array.of(0xffff_ffff);

/** The two special letters fold to k and s. */
const word = fc.constantFrom(
  "abk",
  "ab\u212a",
  "aBk",
  "ask",
  "a\u017fk",
  "kks_",
  "\u212aks_",
  "abkks",
  "ssk\u00e9",
  "bbb",
  "aabb",
);
const document = fc.record({
  path: fc.stringMatching(/^[abks]{1,3}\/[abks_]{3,4}\.(c|go)$/),
  content: fc.array(word, { maxLength: 3 }).map((words) => words.join(" ")),
});
const shards = fc.array(fc.uniqueArray(document, { minLength: 1, maxLength: 2, selector: ({ path }) => path }), {
  minLength: 1,
  maxLength: 5,
});
const regexp = fc.constantFrom("/abk+s/", "/(abk|ask)_?/", "/^sk.*a/", "/[ab]+kks/", "/a.?k/");
const atom = fc.oneof(
  word,
  regexp,
  word.map((text) => `content:"${text}"`),
);
const tree = fc.oneof(
  atom,
  fc.tuple(atom, fc.constantFrom("and", "or", "and not"), atom).map(([a, operator, b]) => `(${a} ${operator} ${b})`),
  word.map((text) => `not ${text}`),
);
const fields = fc.constantFrom("", "case:yes", "type:file", "type:path", "file:abk", "-file:kks", "lang:go");
const query = fc.tuple(fields, tree).map((parts) => parts.join(" "));

function viewOf(documents: readonly (readonly TestDocument[])[], filter: ShardFilter): ShardsInView {
  documents.forEach((some, column) => filter.fill(column, columnText(testShard(kernel, some, repositories).reader)));
  return {
    shards: documents.map(() => ({ record: { repositoryIds: [1] } })),
    table: { filterColumns: Int32Array.from(documents.keys()) },
    filter,
  };
}

t.test("no shard with a match is ruled out", (t) => {
  const filter = ShardFilter.withColumns(32);
  let ruledOut = 0;
  fc.assert(
    fc.property(shards, query, (documents, text) => {
      const plan = planQuery(text, "standard");
      const view = viewOf(documents, filter);
      const choices = plan.basicQueries.flatMap((basic) =>
        basic.text === undefined
          ? []
          : [{ text: basic.text, selection: { repositoryIds: undefined, revisions: undefined } }],
      );
      const { rows, ruledOutCount } = chooseShards(view, choices, false);
      // A choice of all repositories by their ids takes another way.
      const byId = choices.map(({ text }) => ({ text, selection: { repositoryIds: everyId, revisions: undefined } }));
      t.same(chooseShards(view, byId, false), chooseShards(view, choices, false));
      ruledOut += ruledOutCount;
      const holders = documents.flatMap((some, place) =>
        naiveSearch(
          plan,
          some.map(({ path, content }) => ({ path, content: Buffer.from(content) })),
        ).length > 0
          ? [place]
          : [],
      );
      for (const holder of holders)
        if (!rows.includes(holder)) throw new assert.AssertionError({ message: `${text} is in shard ${holder}` });
    }),
    { numRuns: runs(300) },
  );
  t.ok(ruledOut > runs(300) / 2, "it is of use");
  t.end();
});

function choicesOf(text: string): Parameters<typeof chooseShards>[1] {
  return planQuery(text, "standard").basicQueries.flatMap((basic) =>
    basic.text === undefined
      ? []
      : [{ text: basic.text, selection: { repositoryIds: undefined, revisions: undefined } }],
  );
}

t.test("a column that is not filled rules nothing out", (t) => {
  const filter = ShardFilter.withColumns(32);
  const view = viewOf([[{ path: "one.c", content: "something" }], [{ path: "two.c", content: "other" }]], filter);
  t.same([...chooseShards(view, choicesOf("something"), false).rows], [0]);
  t.equal(chooseShards(view, choicesOf("something"), false).unopenedCount, 0);
  t.same([...chooseShards(view, choicesOf("(file:one thing) or (lang:c other)"), false).rows], [0, 1], "of either");
  t.equal(chooseShards(view, choicesOf("nowhere"), false).ruledOutCount, 2);
  t.equal(chooseShards(view, choicesOf("nowhere"), true).ruledOutCount, 0);
  filter.forget(1);
  const { rows, unopenedCount } = chooseShards(view, choicesOf("something"), false);
  t.same([...rows], [0, 1]);
  t.equal(unopenedCount, 1, "the next choice may be another one");
  t.same(
    [
      ...chooseShards(
        { ...view, table: { filterColumns: Int32Array.of(noColumn, noColumn) } },
        choicesOf("nowhere"),
        false,
      ).rows,
    ],
    [0, 1],
  );
  const withoutColumns = { ...view, table: { filterColumns: Int32Array.of(noColumn, noColumn) } };
  t.equal(chooseShards(withoutColumns, choicesOf("nowhere"), false).unopenedCount, 0, "these are always opened");
  t.end();
});

t.test("only shards with a chosen repository are taken or counted as ruled out", (t) => {
  const view = viewOf([[{ path: "one.c", content: "something" }]], ShardFilter.withColumns(32));
  const [choice] = choicesOf("something");
  assert.ok(choice !== undefined);
  const elsewhere = { ...choice, selection: { repositoryIds: Uint32Array.of(1 << 2), revisions: undefined } };
  t.match(chooseShards(view, [elsewhere], false), { rows: { length: 0 }, ruledOutCount: 0 });
  t.end();
});

const columnBytes = 2 ** 15 + 1;

t.test("with room for all shards, the filter does not grow", (t) => {
  const columns = new FilterColumns(10_000 * columnBytes);
  columns.reserve(300);
  const { filter } = columns;
  for (let shard = 0; shard < 300; shard++) columns.shardColumn(shard);
  t.equal(columns.filter, filter);
  t.equal(filter.memory.length, 1);
  t.equal(columns.shardColumn(7), 7, "columns are kept");
  t.end();
});

t.test("a filter of several segments is the same as one of one", (t) => {
  const text = fc.record({
    keys: fc.uniqueArray(fc.nat({ max: 2 ** 21 - 1 }), { maxLength: 5 }).map((keys) => Uint32Array.from(keys)),
    paths: fc.constantFrom("a.c\n", "kks\n", "").map((path) => Buffer.from(path)),
    hasFoldExceptions: fc.boolean(),
  });
  const step = fc.record({
    kind: fc.constantFrom("fill", "fill", "fill", "forget"),
    column: fc.nat({ max: 159 }),
    text,
  });
  const literal = fc.constantFrom("a.c", "kks", "abkks", "something", "ab");
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), fc.array(literal), fc.boolean(), (steps, literals, foldCase) => {
      const whole = ShardFilter.withColumns(160);
      const first = ShardFilter.withColumns(32);
      const parts = [first.withMore(64).withMore(32).withMore(32)].map(({ memory }) => new ShardFilter(memory))[0]!;
      t.equal(parts.columnCount, whole.columnCount);
      const masks = [whole, parts].map((filter) => {
        for (const { kind, column, text } of steps) {
          if (kind === "fill") filter.fill(column, text);
          else filter.forget(column);
          t.equal(filter.isKnown(column), kind === "fill");
        }
        const mask = new Int32Array(filter.maskWords).fill(-1);
        for (const one of literals) filter.keepHolding(Buffer.from(one), mask);
        filter.addUncertain(mask, foldCase);
        return [...mask, ...filter.knownColumns()];
      });
      t.same(masks[1], masks[0]);
      t.same([...first.knownColumns()], masks[1]?.slice(5, 6), "a smaller filter has the same columns");
    }),
    { numRuns: runs(240) },
  );
  t.throws(() => ShardFilter.withColumns(32).isKnown(32), /no column 32/);
  t.end();
});

t.test("columns are assigned, kept when the filter grows, and reused", (t) => {
  const columns = new FilterColumns(10_016 * columnBytes);
  const text = columnText(testShard(kernel, [{ path: "a.c", content: "something" }], repositories).reader);
  for (let shard = 0; shard < 64; shard++) t.equal(columns.shardColumn(shard), shard);
  columns.filter.fill(3, text);
  const before = columns.filter;
  t.equal(columns.shardColumn(1000), 64);
  t.not(columns.filter, before);
  t.ok(columns.filter.isKnown(3));
  t.notOk(columns.filter.isKnown(4));
  const mask = new Int32Array(columns.filter.maskWords).fill(-1);
  columns.filter.keepHolding(Buffer.from("something"), mask);
  t.equal(mask[0], 1 << 3);
  columns.release(3);
  t.notOk(columns.filter.isKnown(3), "another shard's text is not taken for its own");
  t.equal(columns.shardColumn(2000), 3);
  columns.filter.fill(3, columnText(testShard(kernel, [{ path: "b.c", content: "other" }], repositories).reader));
  const holders = (literal: string): number => {
    const mask = new Int32Array(columns.filter.maskWords).fill(-1);
    columns.filter.keepHolding(Buffer.from(literal), mask);
    return mask[0];
  };
  t.same([holders("something"), holders("other")], [0, 1 << 3], "nothing of the former text is left");
  const smaller = columns.filter;
  for (let shard = 3000; columns.shardColumn(shard) !== noColumn; shard++);
  t.equal(columns.filter.columnCount, 10_016, "as many as the memory allows");
  t.ok(columns.filter.isKnown(3));
  t.equal(columns.filter.memory[0], smaller.memory[0], "nothing was copied");
  t.end();
});

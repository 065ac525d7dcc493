import RE2 from "re2";
import t from "tap";
import { RepositoryTable } from "../../../src/catalog/repository-table.js";
import { resultAtOnce } from "../../../src/base/yielding.js";
import type { RepositoryNamePlan } from "../../../src/query/plan/plan.js";
import { planQuery } from "../../../src/query/plan/plan-query.js";
import {
  pinRevisions,
  resolveRepositories,
  type Resolution,
} from "../../../src/search/repositories/repository-resolver.js";
import { matchingNames, rowsByName } from "../../../src/search/repositories/repository-choice.js";
import { RepositoryWriter, repositoryResults } from "../../../src/search/repositories/repository-results.js";
import { testRepository } from "../../support/engine.js";
import { fc, runs } from "../../support/property.js";

// matchingNames(table, regexp) = the names that RE2 finds a match in, each asked alone.

const sources = [
  "a",
  "^a",
  "a$",
  "^ab$",
  "^",
  "$",
  "",
  "x*",
  "a[^b]b",
  "b\\s*a",
  "[^a]",
  "\\bb",
  "b\\b",
  "\\Aab",
  "b\\z",
  ".",
  "a.b",
  "(?s)a.*b",
  "a\\nb",
  "é",
  "k",
  "^$",
  "zz",
  "B",
  "ab",
  "K_1",
];
const name = fc.stringMatching(/^[abkK/\u00e9\u212a.-]{1,6}$/);
/** Among them, words are searched for without RE2. */
const asciiName = fc.stringMatching(/^[abkKB_1/.-]{1,6}$/);

t.test("all names are searched as one text", async (t) => {
  fc.assert(
    fc.property(
      fc.oneof(fc.uniqueArray(name, { maxLength: 60 }), fc.uniqueArray(asciiName, { maxLength: 60 })),
      fc.constantFrom(...sources),
      fc.boolean(),
      (names, source, foldCase) => {
        const table = RepositoryTable.of(
          names.map((one, i) => testRepository(i + 1, one)),
          true,
          undefined,
        );
        const marks = resultAtOnce(matchingNames(table, source, foldCase));
        const alone = new RE2(source, foldCase ? "umi" : "um");
        const want = names.filter((one) => alone.test(one));
        const got = names.filter((_, i) => marks[table.findRow(i + 1) ?? -1] === 1);
        t.same(got, want, `/${source}/${foldCase ? "i" : ""} ${names.join(" ")}`);
        // Another table, because it is remembered which names match.
        const other = RepositoryTable.of(table.values(), true, undefined);
        const few = other.values().length > 16 ? [other.count >> 1] : [];
        const kept = resultAtOnce(rowsByName(other, source, foldCase, true, few));
        t.same(
          kept,
          few.filter((row) => marks[row] === 1),
          "each alone",
        );
      },
    ),
    { numRuns: runs(400) },
  );
});

/** What the plan says about one name, each regexp asked alone. */
function holdsName({ sources, groups, exclude, combine, foldCase }: RepositoryNamePlan, text: string): boolean {
  const matches = (source: string): boolean => new RE2(source, foldCase ? "umi" : "um").test(text);
  const parts = [...sources.map(matches), ...groups.map((group) => holdsName(group, text))];
  const isWanted = combine === "or" && parts.length > 0 ? parts.includes(true) : !parts.includes(false);
  return isWanted && !exclude.some(matches);
}

t.test("the results of a search that are repositories, for searches that share a list, in any table", async (t) => {
  const word = fc.constantFrom("a", "ab", "k", "K_1", "zz", "/^a/", "/b$/", "/a.b/");
  const query = fc
    .tuple(word, fc.constantFrom(" AND ", " OR ", " AND NOT ", " "), word, fc.constantFrom(" OR ", " AND "), word)
    .map(([one, first, two, second, three]) => `(${one}${first}${two})${second}${three}`);
  fc.assert(
    fc.property(
      fc.uniqueArray(asciiName, { minLength: 1, maxLength: 30 }),
      fc.uniqueArray(fc.nat(29)),
      fc.array(fc.oneof(word, query), { minLength: 1, maxLength: 4 }),
      (names, gone, queries) => {
        const table = RepositoryTable.of(
          names.map((one, i) => testRepository(i + 1, one)),
          true,
          undefined,
        );
        const left = table.values().filter(({ id }) => !gone.includes(id - 1));
        const later = RepositoryTable.of(left, true, undefined);
        for (const text of queries) {
          const plan = planQuery(text, "keyword");
          const resolutions = plan.basicQueries.map(({ repositories }) => resolveRepositories(table, repositories));
          for (const now of [table, later, table]) {
            const want = plan.basicQueries.flatMap(({ repositoryNames }, i) =>
              repositoryNames === undefined
                ? []
                : resolutions[i].repositories
                    .filter((one) => now.byId(one.id) !== undefined && holdsName(repositoryNames, one.name))
                    .map((one) => `${i} ${one.name}`),
            );
            const got: string[] = [];
            const writer = new RepositoryWriter(plan, () => now, 0);
            resultAtOnce(
              repositoryResults(plan, resolutions, now, writer, (_, i, one) => got.push(`${i} ${one.name}`)),
            );
            t.same(got, want, `${text} in ${names.join(" ")} without ${gone.join(" ")}`);
          }
        }
      },
    ),
    { numRuns: runs(100) },
  );
});

t.test("searches without a filter share a resolution until a record changes", async (t) => {
  const table = RepositoryTable.of([testRepository(1, "one", { generation: 0 })], true, undefined);
  const resolve = (): Resolution =>
    resolveRepositories(table, planQuery("foo", "standard").basicQueries[0].repositories);
  const first = resolve();
  t.same(first.cloning, ["one"]);
  t.equal(resolve().repositories, first.repositories, "the same list");
  t.not(resolve().selection, first.selection, "the selection is a copy: a search adds to it");
  t.ok(table.replace(testRepository(1, "one", { generation: 1 })));
  t.same(resolve().cloning, [], "the later record is seen");
  t.not(resolve().repositories, first.repositories);
});

t.test("the order of repositories, and what requires a new table", async (t) => {
  const first = testRepository(1, "one", { stars: 5 });
  const table = RepositoryTable.of(
    [first, testRepository(2, "two"), testRepository(3, "three"), testRepository(4, "four", { stars: 5 })],
    true,
    undefined,
  );
  t.same(
    [0, 1, 2, 3].map((place) => table.at(place).name),
    ["four", "one", "three", "two"],
    "stars, then the newer",
  );
  t.equal(table.replace({ ...first, lastError: "x", topics: [...first.topics] }), true);
  t.equal(table.at(1).lastError, "x");
  for (const change of [
    { stars: 6 },
    { fork: true },
    { name: "uno" },
    { topics: ["x"] },
    { metadata: { a: null } },
    { description: "x" },
    { readers: ["x"] },
  ]) {
    t.equal(table.replace({ ...first, ...change }), false, JSON.stringify(change));
  }
  t.equal(table.replace(testRepository(9, "new")), false);
  t.equal(table.findRowByName("three"), 2);
  t.equal(table.findRowByName("thr"), undefined);
});

// RepositoryTable(some, earlier) has the orders of RepositoryTable(some), whatever the earlier table held.
t.test("a table derived from an earlier one", async (t) => {
  const repository = fc.record({ id: fc.integer({ min: 1, max: 30 }), name, stars: fc.integer({ min: 0, max: 3 }) });
  const some = fc
    .uniqueArray(repository, { selector: ({ id }) => id, maxLength: 30 })
    .map((chosen) => chosen.map(({ id, name: one, stars }) => testRepository(id, `${one}${id}`, { stars })));
  fc.assert(
    fc.property(some, some, some, fc.boolean(), (first, second, third, isAsked) => {
      const earlier = RepositoryTable.of(first, true, undefined);
      earlier.rowsByName();
      const middle = RepositoryTable.of(second, true, earlier);
      if (isAsked) middle.rowsByName();
      const [got, want] = [RepositoryTable.of(third, true, middle), RepositoryTable.of(third, true, undefined)];
      t.same(got.values(), want.values());
      t.same(
        got.rowsByName().map((place) => got.at(place).name),
        third.map((one) => one.name).sort(),
      );
      t.same(got.rowsByName(), want.rowsByName());
    }),
    { numRuns: runs(200) },
  );
});

t.test("commits that another node has begun to search are looked up once each, in steps", (t) => {
  const count = 2_000;
  let reads = 0;
  const pin = (repository: string, typed: string) => ({
    repository,
    commit: "b".repeat(40),
    get typed() {
      reads++;
      return typed;
    },
  });
  const names = Array.from({ length: count }, (_, i) => `r${i}`);
  const choices = [...names, "other"].map((typed) => {
    return { typed, bit: -1, unindexed: { commit: "a".repeat(40), number: -1 } };
  });
  const resolution: Resolution = {
    tableId: 1,
    repositories: [testRepository(1, "one"), testRepository(2, "two")],
    selection: { repositoryIds: undefined, revisions: new Map([[1, choices]]) },
    excludedForks: [],
    excludedArchived: [],
    open: [],
    missingRevisions: [],
    cloning: [],
    missing: [],
  };
  const work = pinRevisions([resolution], [...names.map((typed) => pin("one", typed)), pin("three", "")]);
  let steps = 0;
  let step = work.next();
  for (; step.done !== true; step = work.next()) steps++;
  const { resolutions, gone } = step.value;
  const searched = resolutions[0]?.selection.revisions?.get(1)?.map(({ unindexed }) => unindexed?.commit[0]);
  t.same(searched, [...names.map(() => "b"), "a"]);
  t.same(
    gone.map(({ repository }) => repository),
    ["three"],
  );
  t.ok(steps >= count, `${steps} steps`);
  t.ok(reads <= 4 * count, `${reads} looks at pins`);
  t.end();
});

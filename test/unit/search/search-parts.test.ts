import { deepStrictEqual } from "node:assert";
import t from "tap";
import { RepositoryTable } from "../../../src/catalog/repository-table.js";
import type { Repository } from "../../../src/model/repository.js";
import type { Omission } from "../../../src/model/stream-events.js";
import { resultAtOnce } from "../../../src/base/yielding.js";
import { emptyDigest } from "../../../src/native/kernel/result-digest.js";
import { noStats } from "../../../src/protocol/search-options.js";
import type { SearchPlan } from "../../../src/query/plan/plan.js";
import { planQuery } from "../../../src/query/plan/plan-query.js";
import { makeSkipped } from "../../../src/search/report/omissions.js";
import { SearchReceipt } from "../../../src/search/report/search-receipt.js";
import { SourceReceipt } from "../../../src/search/partition/source-receipt.js";
import { repositoriesOfAll, SourceRecord, SourceReport } from "../../../src/search/partition/source-record.js";
import { type Resolution, resolveInSteps } from "../../../src/search/repositories/repository-resolver.js";
import { mergeChanges, untoldRevisions } from "../../../src/search/source/found-changes.js";
import { joinPages, listOmissions, mergeOmissions, untoldPart } from "../../../src/search/source/receipt-part.js";
import {
  join,
  type Listed,
  listed,
  mergeParts,
  namesMax,
  type SearchPart,
  sentencesMax,
  symbolFaultsMax,
} from "../../../src/search/source/search-part.js";
import { testRepository } from "../../support/engine.js";
import { fc, runs } from "../../support/property.js";

// What a source says is made to be added: mergeParts(the parts of some repositories and of the others) is what one source
// with all of them says, apart from the order in lists; and it is bounded.

const noneLate = { all: false, options: new Set<number>() };
const allLate = { all: true, options: new Set<number>() };

const queries = [
  "x",
  "repo:^r1$ x",
  "(repo:r1 x) or (repo:r2 timeout:1s y)",
  "repo:r@v9 x",
  "fork:yes archived:only x",
  "repo:nothing",
];

const repositories: fc.Arbitrary<readonly Repository[]> = fc
  .array(
    fc.record({
      fork: fc.boolean(),
      archived: fc.boolean(),
      stars: fc.nat(3),
      generation: fc.constantFrom(0, 1, 2),
      lastError: fc.constantFrom("", "gone"),
      skippedCounts: fc.constantFrom({}, { missing: 2 }),
      quarantine: fc.constantFrom(undefined, { at: "", reason: "" } as unknown as Repository["quarantine"]),
    }),
    { maxLength: 24 },
  )
  .map((all) => all.map((fields, i) => testRepository(i + 1, `r${i + 1}`, fields as Partial<Repository>)));

/** Things that a search finds out about one repository while it runs. */
const recorded = fc.array(
  fc.record({
    repository: fc.nat(23),
    kind: fc.constantFrom(
      "excluded",
      "late",
      "failure",
      "cut",
      "history",
      "costly",
      "symbols",
      "incomplete",
      "revision",
    ),
  }),
  { maxLength: 30 },
);

interface Recorded {
  readonly repository: number;
  readonly kind: string;
}

function fill(record: SourceRecord, all: readonly Recorded[]): void {
  for (const { repository: id, kind } of all) {
    const repository = `r${id + 1}`;
    const file = { shardId: id, document: 0, repository, path: "a", reason: "work" } as const;
    if (kind === "excluded" || kind === "late")
      record.excluded.push({ repository, reason: kind, isLate: kind === "late" });
    if (kind === "failure") record.failures.push(`${repository} failed`);
    if (kind === "cut") record.addCut(repository);
    if (kind === "history")
      record.addHistory(repository, { brokenCount: 1, largeFileCount: 2, cutMessageCount: 0 } as never);
    if (kind === "costly")
      record.addWork({
        stats: { ...noStats(), scannedBytes: id },
        failures: [],
        excluded: [file],
        shardsWithoutSymbols: 1,
      });
    if (kind === "symbols") record.symbolFaults.add("too few threads");
    if (kind === "incomplete") record.incompleteRevisions.add(repository);
    if (kind === "revision") record.missingRevisions.push({ repository, revision: "v1" });
  }
}

interface Source {
  readonly table: RepositoryTable;
  readonly resolutions: readonly Resolution[];
  readonly record: SourceRecord;
  readonly report: SourceReport;
}

/** A source that has these repositories, and finds out what concerns them. */
function makeSource(plan: SearchPlan, own: readonly Repository[], all: readonly Recorded[]): Source {
  const table = RepositoryTable.of(own, true, undefined);
  const filters = plan.basicQueries.map((basic) => basic.repositories);
  const resolutions = resultAtOnce(resolveInSteps(table, filters));
  const record = new SourceRecord();
  fill(
    record,
    all.filter(({ repository }) => own.some(({ id }) => id === repository + 1)),
  );
  return { table, resolutions, record, report: new SourceReport(plan, record, () => resolutions) };
}

function describe({ table, report }: Source, isLast: boolean, late = noneLate): SearchPart {
  return report.part(late, isLast, { visibleCount: table.count, seesAll: true, isRepeatable: true });
}

/** Without the order in lists. */
function unordered(part: SearchPart): unknown {
  const sort = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map((one) => JSON.stringify(one)).sort();
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, sort(inner)]));
  };
  // The choices are by basic query.
  return { ...(sort({ ...part, choices: [] }) as object), choices: part.choices };
}

t.test("the names of partly indexed repositories are those of the table at the time of the search", async (t) => {
  const plan = planQuery("x", "keyword", new Map());
  const names = (table: RepositoryTable): readonly (readonly string[])[] => {
    const resolutions = resultAtOnce(resolveInSteps(table, [plan.basicQueries[0].repositories]));
    const report = new SourceReport(plan, new SourceRecord(), () => resolutions);
    const { quarantined, incomplete } = report.part(noneLate, true, {
      visibleCount: table.count,
      seesAll: true,
      isRepeatable: true,
    });
    return [quarantined.first, incomplete.first];
  };
  const some = { at: "", reason: "" } as unknown as NonNullable<Repository["quarantine"]>;
  const table = RepositoryTable.of([testRepository(1, "r1"), testRepository(2, "r2")], true, undefined);
  t.same(names(table), [[], []]);
  t.ok(table.replace(testRepository(1, "r1", { quarantine: some })));
  t.same(
    [names(table), names(table)],
    [
      [["r1"], []],
      [["r1"], []],
    ],
  );
  t.ok(table.replace(testRepository(1, "r1", { skippedCounts: { missing: 1 } })));
  t.same(names(table), [[], ["r1"]]);
});

t.test("the parts of two sources are the part of one with all repositories", async (t) => {
  fc.assert(
    fc.property(
      repositories,
      recorded,
      fc.constantFrom(...queries),
      fc.func(fc.boolean()),
      fc.constantFrom(noneLate, allLate),
      fc.boolean(),
      (all, found, query, isFirst, late, isLast) => {
        const plan = planQuery(query, "keyword", new Map());
        const whole = describe(makeSource(plan, all, found), isLast, late);
        const split = [true, false].map((first) =>
          describe(
            makeSource(
              plan,
              all.filter(({ id }) => isFirst(id) === first),
              found,
            ),
            isLast,
            late,
          ),
        );
        deepStrictEqual(unordered(mergeParts(split)), unordered(whole));
        const skipped = (part: SearchPart): readonly (readonly [string, string])[] =>
          makeSkipped({
            part,
            isMissingWanted: false,
            limitHit: false,
            matchCountMax: undefined,
            failures: part.failures,
            budgetError: undefined,
            displayLimitHit: undefined,
          }).map(({ reason, title }) => [reason, title]);
        deepStrictEqual(skipped(mergeParts(split)), skipped(whole));
      },
    ),
    { numRuns: runs(1000) },
  );
  t.pass();
});

const lists: fc.Arbitrary<readonly string[]> = fc
  .tuple(fc.constantFrom("a", "b", "c"), fc.constantFrom(0, 1, 3))
  .map(([prefix, count]) => many(prefix, count));

function many(prefix: string, count: number): readonly string[] {
  return [...Array(count).keys()].map((i) => `${prefix}${String(i).padStart(5, "0")}`);
}

const parts: fc.Arbitrary<SearchPart> = fc
  .tuple(lists, lists, fc.nat(9), fc.boolean(), fc.array(fc.constantFrom(..."abcdefghijklmn")))
  .map(([nameList, sentenceList, count, yes, letters]) => toPart(nameList, sentenceList, count, yes, letters));

function toPart(
  nameList: readonly string[],
  sentenceList: readonly string[],
  count: number,
  yes: boolean,
  letters: readonly string[],
): SearchPart {
  const some = listed(nameList, namesMax);
  const sentences = listed(sentenceList, sentencesMax);
  return {
    visibleCount: count,
    seesAll: yes,
    choices: [{ chosen: count, cloning: 0, missing: count, namesMissing: yes }],
    missing: some,
    cloning: some,
    timedOut: some,
    quarantined: some,
    incomplete: some,
    partlyIndexedCount: count,
    excludedForkCount: count,
    excludedArchivedCount: count,
    excluded: { ...sentences, first: sentences.first.map((reason) => ({ repository: "r", reason, isLate: yes })) },
    missingRevisions: { ...sentences, first: sentences.first.map((revision) => ({ repository: "r", revision })) },
    missingRevisionRepositoryCount: count,
    failures: sentences,
    historyGaps: { repositories: some, cutRepositories: some, brokenCommits: count, largeFiles: 0, cutMessages: 1 },
    costlyFiles: sentences,
    filesWithoutSymbols: sentences,
    symbolFaults: [...new Set(letters)].slice(0, symbolFaultsMax),
    shardsWithoutSymbols: count,
    unfinishedShards: { count: 1, first: [count] },
    stats: { ...noStats(), scannedBytes: count, shardsSearched: 1 },
    estimate: { shards: count, shardsRuledOut: 1, documents: 2, textBytes: 3 },
    isRepeatable: yes,
  };
}

/** What does not depend on the order of the parts. */
function sums(part: SearchPart): unknown {
  const counts = Object.entries(part).map(([key, value]: [string, unknown]) => {
    if (typeof value === "object" && value !== null && "first" in value) return [key, (value as Listed<unknown>).count];
    return [key, key === "symbolFaults" ? undefined : value];
  });
  return Object.fromEntries(counts);
}

t.test("merging is associative, and its sums are commutative", async (t) => {
  fc.assert(
    fc.property(parts, parts, parts, (a, b, c) => {
      const whole = mergeParts([a, b, c]);
      deepStrictEqual(mergeParts([mergeParts([a, b]), c]), whole);
      deepStrictEqual(mergeParts([a, mergeParts([b, c])]), whole);
      deepStrictEqual(sums(mergeParts([c, a, b])), sums(whole));
    }),
    { numRuns: runs(2400) },
  );
  t.pass();
});

t.test("merging is bounded, and lists have as much as they may", async (t) => {
  const letters = [..."abcdefghijklmn"];
  const large = [namesMax - 1, namesMax, namesMax + 5].map((count) => many("n", count));
  const [a, b, c] = large.map((list, i) =>
    toPart(list, many("s", sentencesMax - 1 + 3 * i), 1, true, letters.slice(i)),
  );
  const whole = mergeParts([a, b, c]);
  deepStrictEqual(mergeParts([a, mergeParts([b, c])]), whole);
  const { historyGaps, symbolFaults } = whole;
  for (const { count, first } of [whole.missing, historyGaps.repositories, historyGaps.cutRepositories]) {
    t.equal(count, 3 * namesMax + 4);
    t.equal(first.length, namesMax);
  }
  for (const { count, first } of [whole.failures, whole.excluded, whole.missingRevisions, whole.costlyFiles]) {
    t.equal(count, 3 * sentencesMax + 6);
    t.equal(first.length, sentencesMax);
  }
  t.equal(symbolFaults.length, symbolFaultsMax);
  t.strictSame(join(listed(["a"], 2), listed(["b", "c"], 2), 2), { count: 3, first: ["a", "b"] });
});

t.test("one part is not copied", async (t) => {
  const [part] = fc.sample(parts, 1);
  t.equal(mergeParts([part]), part);
});

t.test("the receipt of two sources covers what that of one does", async (t) => {
  fc.assert(
    fc.property(
      repositories,
      recorded,
      fc.constantFrom(...queries),
      fc.func(fc.boolean()),
      (all, found, query, isFirst) => {
        const plan = planQuery(query, "keyword", new Map());
        const toReceipt = (sources: readonly Source[]): SearchReceipt =>
          new SearchReceipt(
            { omissions: [], digest: emptyDigest(), digestedMatches: 0, matchCount: 0 },
            sources.map(({ table, resolutions, record, report }) =>
              resultAtOnce(
                SourceReceipt.inSteps({
                  resolutions,
                  repositories: repositoriesOfAll(resolutions),
                  names: report.names(noneLate),
                  missingRevisions: report.missingRevisions(),
                  record,
                  nameOf: (id) => table.byId(id)?.name ?? "",
                }),
              ),
            ),
          );
        const whole = toReceipt([makeSource(plan, all, found)]);
        const split = [true, false].map((first) =>
          makeSource(
            plan,
            all.filter(({ id }) => isFirst(id) === first),
            found,
          ),
        );
        const merged = toReceipt(split);
        const { repositories: ours, excluded: ourOmissions, ...ourSums } = merged.summary("");
        const { repositories: theirs, excluded: theirOmissions, ...theirSums } = whole.summary("");
        deepStrictEqual(ourSums, theirSums);
        deepStrictEqual(ours.items.map(toText).sort(), theirs.items.map(toText).sort());
        deepStrictEqual(ourOmissions.items.map(toText).sort(), theirOmissions.items.map(toText).sort());
        deepStrictEqual(merged.revisions(), whole.revisions());
        deepStrictEqual(merged.gaps, whole.gaps);
      },
    ),
    { numRuns: runs(600) },
  );
  t.pass();
});

function toText(value: unknown): string {
  return JSON.stringify(value);
}

t.test("a page of several lists is that of all of them", async (t) => {
  const several = fc.array(fc.array(fc.nat(99), { maxLength: 5 }), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(several, fc.nat(20), fc.nat(20), (all, from, count) => {
      const pages = all.map((list) => (at: number, countMax: number) => ({
        count: list.length,
        items: list.slice(at, at + countMax),
      }));
      deepStrictEqual(joinPages(pages, from, count), {
        count: all.flat().length,
        items: all.flat().slice(from, from + count),
      });
    }),
    { numRuns: runs(2000) },
  );
  t.pass();
});

t.test("omissions have a fixed order, and no reason twice", async (t) => {
  const list = (reason: string, ...details: string[]) => listOmissions(reason, details, (detail) => ({ detail }));
  const groups = mergeOmissions([
    [list("fork", "f"), list("binary", "b"), list("failure", "one"), list("costly")],
    [list("failure", "two"), list("absent", "a"), list("match-limit", "m")],
  ]);
  t.strictSame(
    groups.map(({ reason, count, item }) => [
      reason,
      [...Array(count).keys()].map((i) => (item(i) as Omission).detail),
    ]),
    [
      ["match-limit", ["m"]],
      ["failure", ["one", "two"]],
      ["fork", ["f"]],
      ["absent", ["a"]],
      ["binary", ["b"]],
    ],
  );
});

t.test("a repository is gone if no source has it", async (t) => {
  const base = new Map([..."abcdefghij"].map((name) => [name, new Map([["", "1".repeat(40)]])]));
  const found = (...kept: number[]) => ({ changes: [], kept: Uint8Array.from(kept), basesGone: [] });
  t.equal(mergeChanges([], base, false), undefined);
  t.equal(mergeChanges([undefined], base, false), undefined);
  const later = { changes: [], repositoriesGone: [], isPartial: true, basesGone: [] };
  t.strictSame(mergeChanges([undefined], base, true), later, "a node may tell them later");
  t.strictSame(mergeChanges([found(0b1111_0000, 1), found(0b0001_1100, 1)], base, false)?.repositoriesGone, [
    "a",
    "b",
    "j",
  ]);
  t.strictSame(mergeChanges([found(0b1111_1110, 3)], base, false)?.repositoriesGone, ["a"]);
  const partly = [found(0b1111_1110, 1), undefined];
  t.strictSame(mergeChanges(partly, base, false)?.repositoriesGone, [], "the other one may have them");
  t.strictSame(
    [mergeChanges(partly, base, false)?.isPartial, mergeChanges([found(0, 0)], base, false)?.isPartial],
    [true, false],
  );
  t.strictSame([...untoldRevisions(partly, base).keys()], ["a", "j"], "they are compared the next time");
  t.equal(untoldRevisions([undefined, undefined], base).size, 10);
  const some = new Map([...base].filter(([name]) => "bdf".includes(name)));
  const part = { ...found(0, 0), kept: Uint8Array.of(0b101), told: some };
  t.strictSame(mergeChanges([part, found(0b0000_0001, 2)], base, false)?.repositoriesGone, [
    "c",
    "d",
    "e",
    "g",
    "h",
    "i",
  ]);
  t.strictSame([...untoldRevisions([part, undefined], base).keys()], ["a", "c", "d", "e", "g", "h", "i", "j"]);
  t.equal(untoldRevisions([found(0, 0), found(0, 0)], base).size, 0);
});

t.test("what nobody could tell of is in the receipt", async (t) => {
  const revisions = new Map([["v1", "1".repeat(40)]]);
  const part = untoldPart(new Map(["a", "b", "c"].map((name) => [name, revisions])));
  const item = { generation: 0, revisions: [{ revision: "v1", commit: "1".repeat(40) }] };
  t.strictSame(part.repositories(1, 1), { count: 3, items: [{ repository: "b", ...item }] });
  t.strictSame([...part.revisions().keys()], ["a", "b", "c"]);
  t.strictSame([part.listedCount, part.isVisibleIn({} as never)], [4, false], "3 revisions and 129 characters");
});

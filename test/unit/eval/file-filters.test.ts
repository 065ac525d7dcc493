/** `file:` and `lang:`: a document passes if each filter matches its path or language, or does not if it is negated. */
import assert from "node:assert/strict";
import RE2 from "re2";
import t from "tap";
import { FileFilters } from "../../../src/eval/match/file-filters.js";
import { Rows } from "../../../src/eval/match/rows.js";
import { loadKernel } from "../../../src/native/kernel/load.js";
import { planQuery } from "../../../src/query/plan/plan-query.js";
import type { FileFilter } from "../../../src/query/plan/plan.js";
import type { ShardReader } from "../../../src/shard/shard-reader.js";
import { neverStopped, testRepository, testShard } from "../../support/engine.js";
import { fc, runs } from "../../support/property.js";

const kernel = loadKernel("ts");
const paths = [
  "src/main.go",
  "src/main_test.go",
  "src/kernel/Makefile",
  "doc/\u212aernel.md",
  "doc/a b.md",
  "a.go/b.c",
  "\u00e4/main.go",
  "main",
];

function readerOf(names: readonly string[]): ShardReader {
  const documents = names.map((path) => ({ path, content: path }));
  return testShard(kernel, documents, [testRepository(1, "host/one")]).reader;
}

const reader = readerOf(paths);

function filtersOf(query: string): readonly FileFilter[] {
  return planQuery(`${query} needle`, "standard").basicQueries.flatMap(({ text }) => text?.fileFilters ?? []);
}

function passing(filters: FileFilters): string[] {
  return paths.filter((_, document) => filters.passes(document));
}

const rows: readonly (readonly [string, readonly string[]])[] = [
  ["file:\\.go$", ["src/main.go", "src/main_test.go", "\u00e4/main.go"]],
  ["file:\\.go$ -file:_test", ["src/main.go", "\u00e4/main.go"]],
  ["-file:main -file:doc", ["src/kernel/Makefile", "a.go/b.c"]],
  ["file:KERNEL", ["src/kernel/Makefile", "doc/\u212aernel.md"]],
  ["file:makefile case:yes", []],
  ["lang:go -file:test", ["src/main.go", "\u00e4/main.go"]],
  ["-lang:go -lang:markdown", ["src/kernel/Makefile", "a.go/b.c", "main"]],
  ["file:absent", []],
];

t.test("which paths pass, one by one and all at once", async (t) => {
  for (const [query, expected] of rows) {
    const one = new FileFilters(filtersOf(query), reader, kernel, neverStopped);
    t.same(passing(one), expected, query);
    t.same(passing(one), expected, `${query} again`);
    const all = new FileFilters(filtersOf(query), reader, kernel, neverStopped);
    all.decideAll();
    t.same(passing(all), expected, `${query} at once`);
    const known = new FileFilters(filtersOf(query), reader, kernel, neverStopped);
    t.same(passing(known), expected, `${query}, decided before`);
  }
});

t.test("without filters every document passes", async (t) => {
  const none = new FileFilters([], reader, kernel, neverStopped);
  t.ok(none.isEmpty);
  t.same(passing(none), paths);
});

t.test("what `file:` matches is highlighted, unless it is negated; what `lang:` matches is not", async (t) => {
  const highlights = (query: string, document: number): string => {
    const filters = new FileFilters(filtersOf(query), reader, kernel, neverStopped);
    const ranges = new Rows(1);
    filters.addRows(document, ranges);
    return Array.from({ length: ranges.count }, (_, i) => ranges.words.subarray(2 * i, 2 * i + 2).join("-")).join(" ");
  };
  t.equal(highlights("file:a file:src", 0), "5-6 0-3");
  t.equal(highlights("-file:test", 0), "");
  t.equal(highlights("lang:go", 0), "");
  t.equal(highlights("file:main", 6), "3-7", "in bytes");
  t.ok(new FileFilters(filtersOf("file:main lang:go"), reader, kernel, neverStopped).hasHighlights);
  t.notOk(new FileFilters(filtersOf("lang:go"), reader, kernel, neverStopped).hasHighlights);
});

const name = fc.stringMatching(/^[abkK\u212a]{1,3}\/[abk]{0,3}(\.go|\.md|)$/);
const filter = fc.constantFrom(
  "file:ab",
  "-file:ab",
  "file:k",
  "-file:^a",
  "file:b/",
  "file:/(a|b)k/",
  "file:[^a]$",
  "lang:go",
  "-lang:go",
  "file:.",
);

t.test("both ways are the filters of RE2, for any paths", async (t) => {
  const names = fc.uniqueArray(name, { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(names, fc.array(filter, { maxLength: 3 }), fc.boolean(), (given, chosen, matchesCase) => {
      const shard = readerOf(given);
      const filters = filtersOf([...chosen, ...(matchesCase ? ["case:yes"] : [])].join(" "));
      const lazy = new FileFilters(filters, shard, kernel, neverStopped);
      const eager = new FileFilters(filters, shard, kernel, neverStopped);
      eager.decideAll();
      // From the second use of a shard on, filters are ruled out by the trigrams of its paths.
      const again = new FileFilters(filters, shard, kernel, neverStopped);
      again.decideAll();
      for (let document = 0; document < shard.documentCount; document++) {
        const path = shard.path(document);
        const expected = filters.every(
          (filter) =>
            (filter.kind === "language"
              ? path.toString().endsWith(".go") === (filter.language === "Go")
              : new RE2(filter.source, filter.foldCase ? "umi" : "um").test(path)) !== filter.negated,
        );
        assert.equal(lazy.passes(document), expected, `${path.toString()}, by itself`);
        assert.equal(eager.passes(document), expected, `${path.toString()}, all at once`);
        assert.equal(again.passes(document), expected, `${path.toString()}, with trigrams`);
      }
    }),
    { numRuns: runs(120) },
  );
  t.pass();
});

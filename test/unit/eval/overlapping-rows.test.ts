/** Occurrences that the kernel leaves out, because they overlap an earlier one, are all added. */
import assert from "node:assert/strict";
import t from "tap";
import { ContentWork } from "../../../src/eval/match/content-scan.js";
import { addOverlappingRows } from "../../../src/eval/match/leaf-scan.js";
import { Rows } from "../../../src/eval/match/rows.js";
import { loadKernel } from "../../../src/native/kernel/load.js";
import { neverStopped, testRepository, testShard } from "../../support/engine.js";
import { fc, runs } from "../../support/property.js";

type Range = readonly [start: number, end: number];

interface Searched {
  /** All occurrences, also those that overlap. */
  readonly all: readonly Range[];
  /** Those that the kernel finds, then those that are added. */
  readonly found: readonly Range[];
  readonly tooCostly: ReadonlySet<number>;
}

/** Searches `chosen` of the contents, with one unrelated row before those of the needle. */
function search(contents: readonly string[], chosen: readonly number[], needle: string, foldCase: boolean): Searched {
  const { reader } = testShard(
    loadKernel("ts"),
    contents.map((content, i) => ({ path: `${i}`, content })),
    [testRepository(1, "host/one")],
  );
  const rows = new Rows(4);
  rows.push(0, 1);
  const all: Range[] = [];
  for (const content of chosen) {
    const start = reader.contentStart[content] ?? 0;
    const text = foldCase ? contents[content]!.toLowerCase() : contents[content]!;
    for (let at = text.indexOf(needle); at >= 0; at = text.indexOf(needle, at + 1))
      all.push([start + at, start + at + needle.length]);
    for (let at = text.indexOf(needle); at >= 0; at = text.indexOf(needle, at + needle.length))
      rows.push(start + at, start + at + needle.length);
  }
  const { content, contentStart, contentCount } = reader;
  const tooCostly = new Set<number>();
  const work = new ContentWork(neverStopped);
  const text = { content, contentStart, contentCount, foldCase };
  addOverlappingRows(text, Uint32Array.from(chosen), Buffer.from(needle), rows, 1, work, tooCostly);
  const found = Array.from({ length: rows.count - 1 }, (_, i): Range => {
    const [start = 0, end = 0] = rows.words.subarray(2 * i + 2, 2 * i + 4);
    return [start, end];
  });
  return { all, found, tooCostly };
}

const byStart = (ranges: readonly Range[]): Range[] => [...ranges].sort((a, b) => a[0] - b[0]);

t.test("by hand", async (t) => {
  const shown = (contents: readonly string[], needle: string): string =>
    search(contents, [...contents.keys()], needle, false)
      .found.map((range) => range.join("-"))
      .join(" ");
  t.equal(shown(["abbabba"], "abba"), "0-4 3-7", "it overlaps itself by one letter");
  t.equal(shown(["aaaaa"], "aaa"), "0-3 1-4 2-5", "by one and by two");
  t.equal(shown(["abcabc"], "abc"), "0-3 3-6", "this one does not");
  t.equal(shown(["aba", "ba"], "aba"), "0-3", "no occurrence crosses into the next content");
});

t.test("with those added the rows are all occurrences, each once", async (t) => {
  const text = fc.string({ unit: fc.constantFrom("a", "a", "a", "b", "A"), maxLength: 30 });
  const needle = fc.string({ unit: fc.constantFrom("a", "a", "b"), minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 4 }), needle, fc.boolean(), (contents, sought, foldCase) => {
      for (const chosen of [[...contents.keys()], [contents.length - 1]]) {
        const { all, found, tooCostly } = search(contents, chosen, sought, foldCase);
        assert.deepEqual(byStart(found), byStart(all));
        assert.equal(tooCostly.size, 0);
      }
    }),
    { numRuns: runs(60) },
  );
  t.pass();
});

t.test("a content that takes too much work is named, and the others are complete", async (t) => {
  const needle = "a".repeat(2_000);
  const { all, found, tooCostly } = search(["a".repeat(60_000), "a".repeat(2_002)], [0, 1], needle, false);
  t.same([...tooCostly], [0]);
  t.same(
    found.filter(([start]) => start >= 60_000),
    all.filter(([start]) => start >= 60_000),
  );
});

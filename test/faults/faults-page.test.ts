/** docs/reliability.md is what the runs that are kept say, and each item has its tests. */
import { readFileSync } from "node:fs";
import t from "tap";
import { findTestFile } from "../support/test-files.js";
import { items, longTests } from "./items.js";
import { page, pageOf, readRuns } from "./results.js";

t.test("the page is generated from the runs", async (t) => {
  t.equal(readFileSync(page, "utf8"), pageOf(readRuns()), "`make faults` writes it");
});

t.test("all items have tests, and these exist", async (t) => {
  t.same(
    items.map(({ number }) => number),
    items.map((_, i) => i + 1),
  );
  const measured = new Set(readRuns().flatMap(({ figures }) => figures.map(({ item }) => item)));
  for (const { number, tests, notShown } of items) {
    t.ok(tests.length > 0 || measured.has(number) || notShown !== "", `item ${number}`);
    for (const test of tests) t.ok(findTestFile(test) !== undefined, test);
  }
  for (const test of longTests) t.ok(findTestFile(test) !== undefined, test);
});

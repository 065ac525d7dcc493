import t from "tap";
import { gallop, lastAtMost, lowerBound, lowerBoundBy } from "../../../src/base/sorted-search.js";
import { fc, runs } from "../../support/property.js";

const sorted = fc.array(fc.nat(40), { maxLength: 30 }).map((values) => Uint32Array.from(values).sort());

t.test("each search finds the same as a linear search", async (t) => {
  fc.assert(
    fc.property(sorted, fc.nat(45), fc.nat(30), (table, value, given) => {
      const first = table.findIndex((other) => other >= value);
      const expected = first < 0 ? table.length : first;
      const from = Math.min(given, table.length);
      const last = table.findLastIndex((other) => other <= value);
      return (
        lowerBound(table, value) === expected &&
        lowerBoundBy(table.length, (i) => table[i]! < value) === expected &&
        gallop(table, from, value, table.length) === Math.max(from, expected) &&
        (last < 0 || lastAtMost(table, value, table.length) === last)
      );
    }),
    { numRuns: runs(2000) },
  );
  t.pass();
});

t.test("a part of a table is searched by itself", async (t) => {
  const table = Uint32Array.of(1, 3, 5, 7, 9);
  t.equal(gallop(table, 1, 6, 3), 3);
  t.equal(lastAtMost(table, 100, 3), 2);
});

/** Ranges of matches: in order, and without those that overlap an earlier one. */
import assert from "node:assert/strict";
import t from "tap";
import { Rows } from "../../../src/eval/match/rows.js";
import { fc, runs } from "../../support/property.js";

type Range = readonly [start: number, end: number];

const range = fc
  .tuple(fc.nat(30), fc.integer({ min: 1, max: 8 }))
  .map(([start, length]): Range => [start, start + length]);
const ranges = fc.array(range, { maxLength: 60 });

function rowsOf(given: readonly Range[]): Rows {
  const rows = new Rows(1);
  for (const [start, end] of given) rows.push(start, end);
  return rows;
}

function read({ words, count }: Rows): Range[] {
  return Array.from({ length: count }, (_, i): Range => [words[2 * i]!, words[2 * i + 1]!]);
}

const ordered = (given: readonly Range[]): Range[] => [...given].sort((a, b) => a[0] - b[0] || b[1] - a[1]);

t.test("they are sorted by start, the longer first, from a row on", async (t) => {
  fc.assert(
    fc.property(ranges, fc.nat(60), (given, at) => {
      const from = Math.min(at, given.length);
      const rows = rowsOf(given);
      rows.sort(from);
      assert.deepEqual(read(rows), [...given.slice(0, from), ...ordered(given.slice(from))]);
    }),
    { numRuns: runs(300) },
  );
  t.pass();
});

t.test("of two that overlap the earlier one is kept", async (t) => {
  fc.assert(
    fc.property(ranges, (given) => {
      const rows = rowsOf(given);
      rows.makeDisjoint(0);
      const kept: Range[] = [];
      for (const one of ordered(given)) if (one[0] >= (kept.at(-1)?.[1] ?? 0)) kept.push(one);
      assert.deepEqual(read(rows), kept);
    }),
    { numRuns: runs(300) },
  );
  t.pass();
});

t.test("a part of others is appended, whether few or many", async (t) => {
  fc.assert(
    fc.property(ranges, ranges, fc.nat(60), fc.nat(60), (first, second, a, b) => {
      const [from, to] = [Math.min(a, b, second.length), Math.min(Math.max(a, b), second.length)];
      const rows = rowsOf(first);
      rows.append(rowsOf(second).words, from, to);
      assert.deepEqual(read(rows), [...first, ...second.slice(from, to)]);
    }),
    { numRuns: runs(300) },
  );
  t.pass();
});

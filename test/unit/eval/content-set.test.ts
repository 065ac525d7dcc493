/** Sets of contents, of which one stands for all contents. */
import assert from "node:assert/strict";
import t from "tap";
import { intersect, unite, type ContentSet } from "../../../src/eval/match/content-scan.js";
import { fc, runs } from "../../support/property.js";

const universe = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
const set: fc.Arbitrary<ContentSet> = fc
  .option(fc.subarray(universe), { nil: undefined })
  .map((contents) => (contents === undefined ? undefined : Uint32Array.from(contents)));

const members = (contents: ContentSet): readonly number[] => (contents === undefined ? universe : [...contents]);

t.test("they are united and intersected like sets, in order, and nothing given changes", async (t) => {
  fc.assert(
    fc.property(set, set, (a, b) => {
      const before = [members(a), members(b)];
      const both = universe.filter((content) => members(a).includes(content) && members(b).includes(content));
      const either = universe.filter((content) => members(a).includes(content) || members(b).includes(content));
      assert.deepEqual(members(intersect(a, b)), both);
      assert.deepEqual(members(unite(a, b)), either);
      assert.deepEqual([members(a), members(b)], before);
      assert.equal(unite(a, b) === undefined, a === undefined || b === undefined, "all of them stays known as that");
    }),
    { numRuns: runs(300) },
  );
  t.pass();
});

/** What searches see of a shard: its repositories as they are at a flip, and its tombstones in memory of their own. */
import assert from "node:assert/strict";
import t from "tap";
import { hasBit } from "../../../src/base/bits.js";
import { addTombstones, makeLiveShard } from "../../../src/catalog/live-shard.js";
import type { ShardRecord } from "../../../src/model/shard-record.js";
import { decodeSummary } from "../../../src/protocol/repository-summaries.js";
import { testRepository } from "../../support/engine.js";
import { fc, runs } from "../../support/property.js";

const record: ShardRecord = { id: 9, storedBytes: 2, contentBytes: 1, documentCount: 70, repositoryIds: [3, 0, 5] };
const repositories = new Map([
  [3, testRepository(3, "host/three", { stars: 4 })],
  [5, testRepository(5, "host/five", { stars: 11 })],
]);
const find = (id: number) => repositories.get(id);

t.test("a shard shows its repositories by their number in it, and the stars of the best one", async (t) => {
  const shard = makeLiveShard(record, find, undefined);
  t.equal(shard.stars, 11);
  t.equal(shard.tombstoneCount, 0);
  t.same(
    [0, 1, 2].map((number) => decodeSummary(shard.summaries, number)?.name),
    ["host/three", undefined, "host/five"],
  );
  t.equal(makeLiveShard({ ...record, repositoryIds: [0, 8] }, find, undefined).stars, 0, "of hidden ones none");
});

t.test("tombstones are added to a copy, and counted", async (t) => {
  const document = fc.integer({ min: 0, max: record.documentCount - 1 });
  fc.assert(
    fc.property(fc.array(fc.array(document, { maxLength: 20 }), { maxLength: 5 }), (additions) => {
      const dead = new Set<number>();
      let words: Uint32Array | undefined;
      for (const added of additions) {
        const before = words === undefined ? undefined : [...words];
        const next = addTombstones(words, added, record.documentCount);
        assert.deepEqual(words === undefined ? undefined : [...words], before, "searches keep what they began with");
        assert.ok(next.buffer instanceof SharedArrayBuffer);
        for (const one of added) dead.add(one);
        words = next;
        for (let i = 0; i < record.documentCount; i++) assert.equal(hasBit(words, i), dead.has(i));
        assert.equal(makeLiveShard(record, find, words).tombstoneCount, dead.size);
      }
    }),
    { numRuns: runs(100) },
  );
  t.throws(() => addTombstones(undefined, [record.documentCount], record.documentCount), /document of its shard/);
});

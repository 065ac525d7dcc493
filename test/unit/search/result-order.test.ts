import assert from "node:assert/strict";
import t from "tap";
import { compareKeys, type OrderKey, ResultOrder, sections } from "../../../src/search/fleet/result-order.js";
import { fc, runs, seed } from "../../support/property.js";

// Sources say where they are; the one with the first place has the turn.

function orderOf(count: number, othersInTurn: boolean, first: OrderKey = [sections.repositories]) {
  const order = new ResultOrder(first, othersInTurn, () => undefined, []);
  const shares: [number, number][] = [];
  for (let i = 0; i < count; i++)
    order.join({
      passOn: () => false,
      giveUpRanking: () => undefined,
      share: (shardCount) => void shares.push([i, shardCount]),
    });
  const turns = (): readonly number[] => [...Array(count).keys()].filter((i) => order.isTurn(i));
  return { order, shares, turns };
}

t.test("nobody has a turn until all have said where they are", (t) => {
  const { order, turns } = orderOf(3, false);
  order.reach(1, [sections.repositories, 0, -5, -7]);
  t.same(turns(), [0]);
  order.reach(0, [sections.ranked, -100, 0, 0, "r", "a", 0]);
  t.same(turns(), [2]);
  order.reach(2, [sections.repositories, 0, -5, -9]);
  t.same(turns(), [2], "more stars first, then higher ids");
  order.reach(2, [sections.others]);
  t.same(turns(), [1]);
  order.end(1);
  t.same(turns(), [0]);
  order.reach(0, [sections.others]);
  t.same(turns(), [0, 2], "without an order, both may go on");
  t.end();
});

t.test("sources that share a limit have their turns one after the other", (t) => {
  const { order, turns } = orderOf(2, true, [sections.others]);
  t.same(turns(), [0]);
  order.reach(0, [sections.histories, -1, -1]);
  t.same(turns(), [1]);
  order.end(1);
  t.same(turns(), [0]);
  t.end();
});

t.test("the turn is that of the first place, whatever changes", (t) => {
  const place = fc.constantFrom<OrderKey>(
    [sections.repositories, 0, -5, -7],
    [sections.ranked, -100, 0, 0, "r", "a", 0],
    [sections.ranked, -100, 0, 0, "r", "b", 0],
    [sections.others],
    [sections.histories, -1, -1],
    [sections.end],
  );
  const change = fc.record({ source: fc.nat(3), place: fc.option(place, { freq: 8, nil: undefined }) });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 20 }), fc.boolean(), (changes, othersInTurn) => {
      const { order, turns } = orderOf(4, othersInTurn, [sections.repositories]);
      const places = new Map<number, OrderKey>([0, 1, 2, 3].map((i) => [i, [sections.repositories]]));
      for (const { source, place } of changes) {
        if (place === undefined) {
          order.end(source);
          places.delete(source);
        } else {
          order.reach(source, place);
          if (places.has(source)) places.set(source, place);
        }
        const wanted = [...places].filter(([one, own]) =>
          [...places].every(([other, key]) => {
            const isBefore = compareKeys(own, key) || (own[0] === sections.others && !othersInTurn ? 0 : one - other);
            return isBefore <= 0;
          }),
        );
        assert.deepEqual(turns(), wanted.map(([one]) => one).sort());
      }
    }),
    { seed, numRuns: runs(2_400) },
  );
  t.pass("every sequence");
  t.end();
});

t.test("the budget of ranking is shared when all have said how many shards they have", (t) => {
  const { order, shares } = orderOf(3, false);
  order.rankable(0, 4);
  order.rankable(2, 3);
  t.same(shares, []);
  order.end(1);
  t.same(shares, [
    [0, 7],
    [1, 7],
    [2, 7],
  ]);
  order.rankable(0, 100);
  t.same(shares.slice(3), [[0, 7]], "a node that goes on for another one has the same share");
  t.end();
});

t.test("a place before another one with the same beginning is before it", (t) => {
  t.ok(compareKeys([1], [1, 0]) < 0);
  t.ok(compareKeys([2, -3, "a"], [2, -3, "b"]) < 0);
  t.equal(compareKeys([4, -1, -2], [4, -1, -2]), 0);
  t.ok(compareKeys([4, -1], [4, -2]) > 0);
  t.end();
});

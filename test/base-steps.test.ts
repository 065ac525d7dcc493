import t from "tap";
import { filterInSteps, resultInTurns, sortInSteps, takeTurn, workInTurns } from "../src/base/steps.js";

function* count(pieces: number, done: number[]): Generator<undefined, string> {
  for (let i = 0; i < pieces; i++) {
    done.push(i);
    yield;
  }
  return "all";
}

t.test("a turn goes on where the last one ended", async (t) => {
  const done: number[] = [];
  const work = count(100_000, done);
  let turns = 1;
  let turn = takeTurn(work);
  for (; turn.done !== true; turn = takeTurn(work)) turns++;
  t.equal(turn.value, "all");
  t.equal(done.length, 100_000);
  t.ok(turns >= 1);
});

t.test("other work comes between turns", async (t) => {
  let others = 0;
  const timer = setImmediate(function again() {
    others++;
    if (others < 5) setImmediate(again);
  });
  t.teardown(() => clearImmediate(timer));
  let pieces = 0;
  function* slow(): Generator<undefined, void> {
    while (others < 3) {
      pieces++;
      yield;
    }
  }
  await workInTurns(slow(), () => true);
  t.ok(pieces > 1);
  t.ok(others >= 3, "the work saw what the others did");
});

t.test("what nobody wants ends early, and an error comes through", async (t) => {
  const done: number[] = [];
  await workInTurns(count(10, done), () => false);
  t.same(done, []);
  function* broken(): Generator<undefined, void> {
    yield;
    throw new RangeError("broken");
  }
  await t.rejects(workInTurns(broken(), () => true), { message: "broken" });
});

t.test("lists are sorted and filtered as in one go", async (t) => {
  for (const length of [0, 1, 511, 512, 513, 1024, 5000]) {
    const items = Array.from({ length }, (_, i) => ({ key: i * 7919 % 997, place: i }));
    const byKey = (a: { readonly key: number }, b: { readonly key: number }): number => a.key - b.key;
    t.same(await resultInTurns(sortInSteps(items, byKey)), [...items].sort(byKey), `${length} items`);
    const isOdd = ({ key }: { readonly key: number }): boolean => key % 2 === 1;
    t.same(await resultInTurns(filterInSteps(items, isOdd)), items.filter(isOdd));
  }
});

import t from "tap";
import { filterInSteps, mapInSteps, resultWhileYielding, sortInSteps } from "../../../src/base/yielding.js";

function* count(pieces: number, done: number[]): Generator<undefined, string> {
  for (let i = 0; i < pieces; i++) {
    done.push(i);
    yield;
  }
  return "all";
}

t.test("all steps run in order", async (t) => {
  const done: number[] = [];
  t.equal(await resultWhileYielding(count(5_000, done)), "all");
  t.same(
    done,
    Array.from({ length: 5_000 }, (_, i) => i),
  );
});

t.test("concurrent work shares each iteration of the event loop, and all of it progresses", async (t) => {
  const workCount = 50;
  const steps = new Array<number>(workCount).fill(0);
  let longestMs = 0;
  function* work(number: number): Generator<undefined, void> {
    for (let i = 0; i < 20; i++) {
      const endMs = cpuMs() + 0.5;
      while (cpuMs() < endMs);
      steps[number]++;
      yield;
    }
  }
  let lastMs = cpuMs();
  let isOver = false;
  let least = 0;
  const look = (): void => {
    const nowMs = cpuMs();
    longestMs = Math.max(longestMs, nowMs - lastMs);
    lastMs = nowMs;
    if (steps.some((taken) => taken > 4)) least = Math.max(least, Math.min(...steps) + 1);
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  await Promise.all(steps.map((_, number) => resultWhileYielding(work(number))));
  isOver = true;
  t.same(new Set(steps), new Set([20]));
  t.ok(longestMs < 200, `an iteration took ${longestMs} ms, of 500 in all`);
  t.ok(least > 1, "nobody is done before the others have begun");
});

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

t.test("other work runs between steps", async (t) => {
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
  await resultWhileYielding(slow());
  t.ok(pieces > 1);
  t.ok(others >= 3, "the work saw what the others did");
});

t.test("errors are propagated", async (t) => {
  function* broken(): Generator<undefined, void> {
    yield;
    throw new RangeError("broken");
  }
  await t.rejects(resultWhileYielding(broken()), { message: "broken" });
});

t.test("lists are sorted and filtered as by the synchronous functions", async (t) => {
  for (const length of [0, 1, 511, 512, 513, 1024, 5000]) {
    const items = Array.from({ length }, (_, i) => ({ key: (i * 7919) % 997, place: i }));
    const byKey = (a: { readonly key: number }, b: { readonly key: number }): number => a.key - b.key;
    t.same(await resultWhileYielding(sortInSteps(items, byKey)), [...items].sort(byKey), `${length} items`);
    const isOdd = ({ key }: { readonly key: number }): boolean => key % 2 === 1;
    t.same(await resultWhileYielding(filterInSteps(items, isOdd)), items.filter(isOdd));
    t.same(
      await resultWhileYielding(mapInSteps(items, ({ key }) => key)),
      items.map(({ key }) => key),
    );
  }
});

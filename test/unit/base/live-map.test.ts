/** A map of few values that come and go, which keeps nothing of those that are gone. */
import assert from "node:assert/strict";
import { setFlagsFromString } from "node:v8";
import t from "tap";
import { collectGarbage, collectYoungGarbage } from "../../../src/base/garbage.js";
import { LiveMap } from "../../../src/base/live-map.js";
import { fc, runs } from "../../support/property.js";

t.test("it is a map in the order in which keys came", (t) => {
  const key = fc.nat({ max: 6 });
  const change = fc.tuple(fc.constantFrom("set", "delete"), key, fc.nat());
  fc.assert(
    fc.property(fc.array(change, { maxLength: 40 }), (changes) => {
      const expected = new Map<number, number>();
      const map = new LiveMap<number, number>();
      for (const [what, key, value] of changes) {
        if (what === "delete") assert.equal(map.delete(key), expected.delete(key));
        else {
          map.set(key, value);
          expected.set(key, value);
        }
        assert.equal(map.size, expected.size);
        assert.equal(map.get(key), expected.get(key));
        assert.equal(map.has(key), expected.has(key));
        assert.deepEqual(map.entries(), [...expected]);
        assert.deepEqual(map.values(), [...expected.values()]);
      }
    }),
    { numRuns: runs(300) },
  );
  t.end();
});

t.test("what is gone does not survive young collections, also after a full one", (t) => {
  setFlagsFromString("--no-allocation-site-pretenuring");
  const map = new LiveMap<number, unknown>();
  const comeAndGo = (from: number): void => {
    for (let key = from; key < from + 4_000; key++) {
      map.set(
        key,
        Array.from({ length: 400 }, (_, i) => [i]),
      );
      map.delete(key - 2);
    }
  };
  comeAndGo(0);
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  comeAndGo(4_000);
  collectYoungGarbage();
  // They are 75 MB in all; a `Map` would hold those that no full collection has freed.
  t.ok(process.memoryUsage().heapUsed - before < 2e6, "only what is alive is held");
  t.end();
});

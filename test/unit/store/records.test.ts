/** The contract of `Records`, for each implementation. */
import { join } from "node:path";
import t, { type Test } from "tap";
import { RecordStore } from "../../../src/store/record-store.js";
import type { RecordChange, Records, StoredRecord } from "../../../src/store/records.js";
import { MemoryRecords } from "../../support/memory-records.js";
import { randomFrom } from "../../support/random.js";

const put = (key: string, value: string): RecordChange => ({ key, value: Buffer.from(value) });
const remove = (key: string): RecordChange => ({ key, value: undefined });
const toText = (records: Iterable<StoredRecord>): readonly string[] =>
  [...records].map(({ key, value }) => `${key}=${value.toString()}`);

const implementations: readonly (readonly [name: string, open: (t: Test) => Records])[] = [
  ["memory", () => new MemoryRecords()],
  [
    "LMDB",
    (t) => {
      const store = new RecordStore(join(t.testdir({}), "records"));
      t.teardown(() => store.close());
      return store;
    },
  ],
];

for (const [name, open] of implementations) {
  t.test(`${name}: a change has all of its records or none, and the last one of a key`, async (t) => {
    const records = open(t);
    await records.apply([put("a/1", "one"), put("a/2", "two"), put("a/1", "three"), remove("a/2"), remove("a/9")]);
    t.strictSame(toText(records.withPrefix("a/")), ["a/1=three"]);
    t.equal(records.get("a/2"), undefined);
    await records.apply([]);
    t.equal(records.get("a/1")?.toString(), "three");
  });

  t.test(`${name}: changes are applied in the order of the calls`, async (t) => {
    const records = open(t);
    const calls = [...Array(20).keys()].map((i) => records.apply([put("a", String(i)), put(`b/${i}`, "")]));
    await calls[7];
    t.ok(Number(records.get("a")) >= 7, "those before it are there");
    await Promise.all(calls);
    t.equal(records.get("a")?.toString(), "19");
    t.equal(toText(records.withPrefix("b/")).length, 20);
  });

  t.test(`${name}: records have the order of their keys, and only those with the prefix are read`, async (t) => {
    const records = open(t);
    const keys = ["a", "a/", "a/10", "a/2", "a/B", "a/b", "a/b/c", "a0", "b/1"];
    await records.apply([...keys].reverse().map((key) => put(key, "")));
    const chosen = ["a/", "a/10", "a/2", "a/B", "a/b", "a/b/c"].map((key) => `${key}=`);
    t.strictSame(toText(records.withPrefix("a/")), chosen);
    t.strictSame(toText([...records.batchesWithPrefix("a/")].flat()), chosen);
    t.strictSame([...records.batchesWithPrefix("c/")], []);
  });

  t.test(`${name}: batches have all records, and may be read while others are written`, async (t) => {
    const records = open(t);
    const key = (i: number): string => `a/${String(i).padStart(4, "0")}`;
    await records.apply([...Array(300).keys()].map((i) => put(key(i), String(i))));
    const seen: string[] = [];
    for (const batch of records.batchesWithPrefix("a/")) {
      t.ok(batch.length > 0);
      seen.push(...batch.map((record) => record.key));
      if (seen.length < 100) await records.apply([put("b/1", "")]);
    }
    t.strictSame(seen, [...Array(300).keys()].map(key));
  });

  t.test(`${name}: any sequence of changes`, async (t) => {
    const records = open(t);
    const random = randomFrom(36);
    const model = new Map<string, string>();
    for (let round = 0; round < 30; round++) {
      const changes = [...Array(random(8)).keys()].map(() => {
        const key = `${"ab"[random(2)]}/${random(12)}`;
        return random(3) === 0 ? remove(key) : put(key, String(random(1000)));
      });
      await records.apply(changes);
      for (const { key, value } of changes)
        if (value === undefined) model.delete(key);
        else model.set(key, value.toString());
      for (const prefix of ["a/", "b/", ""]) {
        const expected = [...model].filter(([key]) => key.startsWith(prefix)).map((entry) => entry.join("="));
        const found = toText(records.withPrefix(prefix)).filter((one) => !one.startsWith("digest="));
        if (
          JSON.stringify(found) !==
          JSON.stringify(expected.sort((a, b) => (a.split("=")[0] < b.split("=")[0] ? -1 : 1)))
        )
          t.strictSame(found, expected, `round ${round}`);
      }
    }
    t.equal(toText(records.withPrefix("")).filter((one) => !one.startsWith("digest=")).length, model.size);
  });
}

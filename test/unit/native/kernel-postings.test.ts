import assert from "node:assert/strict";
import { classOf, trigramAt } from "../../../src/native/kernel/alphabet.js";
import type { Kernel, Postings } from "../../../src/native/kernel/kernel.js";
import { portableKernel } from "../../../src/native/kernel/portable.js";
import { amidOthers, bytes, forEachKernel, holds } from "../../support/kernel-support.js";
import { fc } from "../../support/property.js";
import { randomFrom } from "../../support/random.js";

/** Units as pairs (from, to) in a text. */
interface Units {
  readonly text: Uint8Array;
  readonly pairs: readonly (readonly [number, number])[];
}

/** Maps each trigram to the numbers of the units that contain it. */
type Lists = Map<number, number[]>;

function build(kernel: Kernel, { text, pairs }: Units): Postings {
  return kernel.buildPostings(text, Uint32Array.from(pairs.flat()), pairs.length);
}

function decode(kernel: Kernel, { keys, offsets, bytes }: Postings): Lists {
  const out = new Uint32Array(bytes.length);
  return new Map(
    [...keys].map((key, i) => {
      return [key, [...out.subarray(0, kernel.decodePostings(bytes, offsets[i], offsets[i + 1], out))]];
    }),
  );
}

function naiveLists({ text, pairs }: Units): Lists {
  const lists: Lists = new Map();
  pairs.forEach(([from, to], unit) => {
    const trigrams = new Set<number>();
    for (let at = from; at + 3 <= to; at++) trigrams.add(trigramAt(text, at));
    for (const trigram of trigrams) lists.set(trigram, [...(lists.get(trigram) ?? []), unit]);
  });
  return new Map([...lists].sort(([a], [b]) => a - b));
}

const anyUnits: fc.Arbitrary<Units> = fc
  .record({
    text: fc.oneof(
      fc.array(fc.constantFrom(...bytes("abAB\n\u0001é")), { maxLength: 600 }),
      fc.array(fc.nat(255), { maxLength: 300 }),
    ),
    pairs: fc.array(fc.tuple(fc.nat(600), fc.nat(600)), { maxLength: 20 }),
    offset: fc.nat(9),
  })
  .map(({ text, pairs, offset }) => ({
    text: amidOthers(Uint8Array.from(text), offset),
    pairs: pairs.map(([a, b]) => {
      const [from, to] = [a % (text.length + 1), b % (text.length + 1)];
      return [Math.min(from, to), Math.max(from, to)] as const;
    }),
  }));

forEachKernel("lists hold the units that hold the trigram", (t, kernel) => {
  holds(
    t,
    60,
    fc.property(anyUnits, (units) => {
      const postings = build(kernel, units);
      assert.deepEqual([...decode(kernel, postings)], [...naiveLists(units)]);
      assert.deepEqual(
        postings,
        portableKernel.buildPostings(units.text, Uint32Array.from(units.pairs.flat()), units.pairs.length),
      );
    }),
  );
});

// Many trigrams are counted in a table, few are sorted.
forEachKernel("lists of many trigrams are the same as those of few", (t, kernel) => {
  const random = randomFrom(7);
  for (const length of [16_000, 17_000, 40_000]) {
    const text = Uint8Array.from({ length }, () => 97 + random(20));
    const pairs = Array.from({ length: length / 1000 }, (_, i) => [1000 * i, 1000 * (i + 1)] as const);
    const postings = build(kernel, { text, pairs });
    assert.deepEqual(postings, portableKernel.buildPostings(text, Uint32Array.from(pairs.flat()), pairs.length));
  }
  t.pass();
});

forEachKernel("every byte has its class", (t, kernel) => {
  const text = Uint8Array.from({ length: 3 * 256 }, (_, i) => Math.floor(i / 3));
  const pairs = Array.from({ length: 256 }, (_, byte) => [3 * byte, 3 * byte + 3] as const);
  const lists = decode(kernel, build(kernel, { text, pairs }));
  for (let byte = 0; byte < 256; byte++) {
    const key = trigramAt(Uint8Array.of(byte, byte, byte), 0);
    if (!lists.get(key)?.includes(byte)) t.fail(`byte ${byte} of class ${classOf[byte]} is not under ${key}`);
  }
  t.equal(lists.size, new Set(classOf).size);
});

forEachKernel("gaps of one, two and three bytes", (t, kernel) => {
  const text = bytes("abcabx");
  const rare = [0, 1, 127, 128, 255, 256, 16_639, 16_640, 40_000];
  const pairs = Array.from({ length: 40_001 }, (_, unit) =>
    rare.includes(unit) ? ([0, 3] as const) : ([3, 6] as const),
  );
  const { keys, offsets, bytes: coded } = build(kernel, { text, pairs });
  const list = keys.indexOf(trigramAt(text, 0));
  t.same(
    [...coded.subarray(offsets[list], offsets[list + 1])],
    [1, 1, 126, 1, 127, 1, 0xff, 0x7f, 1, 0xc0, 0xb6, 0x01],
  );
  const out = new Uint32Array(rare.length);
  t.equal(kernel.decodePostings(coded, offsets[list], offsets[list + 1], out), rare.length);
  t.same([...out], rare);
});

forEachKernel("nothing gives nothing", (t, kernel) => {
  const {
    keys,
    offsets,
    bytes: coded,
  } = build(kernel, {
    text: bytes("ab"),
    pairs: [
      [0, 2],
      [1, 1],
    ],
  });
  t.same([keys.length, [...offsets], coded.length], [0, [0], 0]);
  t.same(build(kernel, { text: bytes(""), pairs: [] }).keys.length, 0);
});

forEachKernel("distinct trigrams up to a limit", (t, kernel) => {
  const anyText = fc.oneof(
    fc.array(fc.constantFrom(...bytes("abAB")), { maxLength: 300 }),
    fc.array(fc.nat(255), { maxLength: 300 }),
    fc.array(fc.nat(255), { minLength: 4000, maxLength: 9000, size: "max" }),
  );
  holds(
    t,
    200,
    fc.property(anyText, fc.nat(9000), fc.nat(20), fc.oneof(fc.nat(300), fc.constant(1e6)), (list, a, b, limit) => {
      const text = Uint8Array.from(list);
      const from = Math.min(b, text.length);
      const to = Math.max(from, Math.min(a, text.length));
      const trigrams = new Set<number>();
      for (let at = from; at + 3 <= to; at++) trigrams.add(trigramAt(text, at));
      assert.equal(kernel.distinctTrigrams(text, from, to, limit), Math.min(trigrams.size, limit + 1));
    }),
  );
});

forEachKernel("intersection keeps what both have", (t, kernel) => {
  const numbers = fc
    .uniqueArray(fc.oneof(fc.nat(40), fc.nat(100_000)), { maxLength: 60 })
    .map((list) => list.sort((a, b) => a - b));
  // Long runs of one-byte gaps, with a longer gap now and then.
  const dense = fc
    .array(
      fc.oneof({ weight: 20, arbitrary: fc.integer({ min: 1, max: 127 }) }, { weight: 1, arbitrary: fc.nat(40_000) }),
      { minLength: 100, maxLength: 400, size: "max" },
    )
    .map((gaps) => {
      let unit = -1;
      return gaps.map((gap) => (unit += Math.max(1, gap)));
    });
  holds(
    t,
    300,
    fc.property(fc.oneof(numbers, dense), fc.oneof(numbers, dense), fc.nat(5), (list, kept, before) => {
      const coded = Uint8Array.from([
        ...Array(before).fill(0x80),
        ...list.flatMap((unit, i) => varint(unit - (list[i - 1] ?? -1))),
      ]);
      const units = Uint32Array.from([...kept, 7, 7]);
      const count = kernel.intersectPostings(coded, before, coded.length, units, kept.length);
      assert.deepEqual(
        [...units.subarray(0, count)],
        kept.filter((unit) => list.includes(unit)),
      );
      assert.deepEqual([...units.subarray(kept.length)], [7, 7]);
      const out = new Uint32Array(list.length);
      assert.equal(kernel.decodePostings(coded, before, coded.length, out), list.length);
      assert.deepEqual([...out], list);
    }),
  );
});

forEachKernel("the units that hold all trigrams of a literal", (t, kernel) => {
  const literals = fc.array(fc.constantFrom(...bytes("abAB\n")), { maxLength: 12 });
  holds(
    t,
    300,
    fc.property(anyUnits, literals, (units, chosen) => {
      const { keys, offsets, bytes: coded } = build(kernel, units);
      const literal = Uint8Array.from(chosen);
      const trigrams = Array.from({ length: Math.max(0, literal.length - 2) }, (_, at) => trigramAt(literal, at));
      const naive = naiveLists(units);
      const bytesOf = (list: number): number => offsets[list + 1] - offsets[list];
      const expected = trigrams.every((key) => naive.has(key))
        ? [...new Set(trigrams.map((key) => keys.indexOf(key)))].sort((a, b) => bytesOf(a) - bytesOf(b))
        : [];
      const lists = new Uint32Array(trigrams.length + 1).fill(99);
      const count = kernel.findLists(keys, offsets, literal, lists);
      assert.deepEqual([...lists.subarray(0, count)], expected);
      assert.equal(lists[trigrams.length], 99, "nothing after the lists");
      const found = new Uint32Array(count === 0 ? 0 : bytesOf(lists[0]));
      const unitCount = kernel.unitsOfLists(coded, offsets, lists, count, found);
      const sets = trigrams.map((key) => naive.get(key) ?? []);
      const holding = sets.length === 0 ? [] : sets[0].filter((unit) => sets.every((set) => set.includes(unit)));
      const got = [...found.subarray(0, unitCount)];
      assert.ok(
        holding.every((unit) => got.includes(unit)),
        "no unit is lost",
      );
      if (new Set(trigrams).size <= 6) assert.deepEqual(got, count === 0 ? [] : holding);
      assert.deepEqual(got, [...found.subarray(0, portableKernel.unitsOfLists(coded, offsets, lists, count, found))]);
    }),
  );
});

forEachKernel("lists that do not lie within the postings are refused", (t, kernel) => {
  const postings = Uint8Array.of(1, 1, 1);
  const units = new Uint32Array(3);
  const call = (starts: number[], list: number) => () =>
    kernel.unitsOfLists(postings, Uint32Array.from(starts), Uint32Array.of(list), 1, units);
  t.throws(call([0, 4], 0), TypeError, "past the postings");
  t.throws(call([2, 1], 0), TypeError, "descending");
  t.throws(call([0, 3], 1), TypeError, "no such list");
  t.equal(call([0, 3], 0)(), 3);
});

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)];
}

forEachKernel("the contents of units are those that a scan of all contents finds", (t, kernel) => {
  const sizes = fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 40 });
  holds(
    t,
    300,
    fc.property(sizes, fc.array(fc.nat(200)), (unitCounts, wanted) => {
      const firstUnits = Uint32Array.from([0, ...unitCounts]);
      for (let i = 1; i < firstUnits.length; i++) firstUnits[i] += firstUnits[i - 1];
      const units = Uint32Array.from([...new Set(wanted)].sort((a, b) => a - b));
      const expected = unitCounts.flatMap((_, content) =>
        units.some((unit) => unit >= firstUnits[content] && unit < firstUnits[content + 1]) ? [content] : [],
      );
      const out = new Uint32Array(expected.length);
      const count = kernel.contentsOfUnits(units, units.length, firstUnits, out);
      assert.deepEqual([...out.subarray(0, count)], expected);
    }),
  );
  const [firstUnits, units] = [Uint32Array.of(0, 1, 2), Uint32Array.of(0, 1)];
  t.throws(() => kernel.contentsOfUnits(units, 2, firstUnits, new Uint32Array(1)), TypeError, "no room");
  t.throws(() => kernel.contentsOfUnits(units, 3, firstUnits, new Uint32Array(9)), TypeError, "beyond the units");
});

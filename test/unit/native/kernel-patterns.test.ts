import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import t from "tap";
import { resultAtOnce } from "../../../src/base/yielding.js";
import type { Kernel } from "../../../src/native/kernel/kernel.js";
import type { PatternTable } from "../../../src/native/kernel/pattern-kernel.js";
import { makePatternTable } from "../../../src/native/kernel/pattern-table.js";
import { portableKernel } from "../../../src/native/kernel/portable.js";
import { amidOthers, bytes, forEachKernel, holds } from "../../support/kernel-support.js";
import { fc } from "../../support/property.js";

// Many literals are found in one pass as each of them is found alone.

type Triple = readonly [number, number, number];

/** Parts of a text: (from, to, end). */
type Range = readonly [number, number, number];

function tableOf(literals: readonly string[], fold: boolean): PatternTable {
  const texts = [...new Set(fold ? literals.map((text) => text.toLowerCase()) : literals)];
  texts.sort((a, b) => b.length - a.length);
  const starts = Uint32Array.from([0, ...texts.map((_, i) => texts.slice(0, i + 1).join("").length)]);
  return resultAtOnce(makePatternTable(bytes(texts.join("")), starts, fold));
}

function literalsOf({ literals, starts }: PatternTable): readonly string[] {
  return Array.from({ length: starts.length - 1 }, (_, i) =>
    Buffer.from(literals.subarray(starts[i], starts[i + 1])).toString("latin1"),
  );
}

const unlimited = 0xffffffff;

/** What a kernel finds, sorted; the limits are those of one call. */
function occurrences(
  kernel: Kernel,
  text: Uint8Array,
  ranges: readonly Range[],
  table: PatternTable,
  workMax = unlimited,
  room = 0,
): Triple[] {
  const found: Triple[] = [];
  const ends = new Uint32Array(table.starts.length);
  for (const group of table.groups) {
    const hits = new Uint32Array(3 * Math.max(group.bucketMax, room));
    const cursor = new Uint32Array(4);
    const request = { text, ranges: Uint32Array.from(ranges.flat()), rangeCount: ranges.length };
    for (let isDone = false; !isDone; cursor[2] = 0) {
      isDone = kernel.scanWindows({ ...request, table, group, workMax, ends, hits, cursor });
      for (let i = 0; i < cursor[2]; i++) found.push([hits[3 * i], hits[3 * i + 1], hits[3 * i + 2]]);
    }
  }
  return sorted(found);
}

function sorted(triples: readonly Triple[]): Triple[] {
  return [...triples].sort((a, b) => a[0] - b[0] || b[1] - a[1] || a[2] - b[2]);
}

/** The leftmost occurrences of each literal that start in a range and end with it or before, without overlap. */
function naive(text: Uint8Array, ranges: readonly Range[], table: PatternTable): Triple[] {
  const latin1 = Buffer.from(text).toString("latin1");
  const folded = table.foldAscii ? latin1.replace(/[A-Z]/g, (letter) => letter.toLowerCase()) : latin1;
  const found: Triple[] = [];
  for (const [literal, wanted] of literalsOf(table).entries()) {
    let last = 0;
    for (const [from, to, end] of ranges)
      for (let at = from; at < to && at + wanted.length <= end; at++) {
        if (at < last || !folded.startsWith(wanted, at)) continue;
        last = at + wanted.length;
        found.push([at, last, literal]);
      }
  }
  return sorted(found);
}

const letters = "abABk_";
const shortText = fc.stringMatching(/^[abABk_]{1,40}$/);
/** Prefixes and parts of one text, which overlap each other. */
const nested = fc
  .tuple(
    fc.stringMatching(/^[abABk_]{20,40}$/),
    fc.array(fc.tuple(fc.nat(39), fc.nat(39)), { minLength: 1, maxLength: 12 }),
  )
  .map(([whole, parts]) => [
    ...parts.map(([from, to]) => whole.slice(Math.min(from, to), Math.max(from, to) + 1)),
    whole,
  ])
  .map((texts) => texts.filter((text) => text !== ""));
const literals = fc.oneof(fc.array(shortText, { minLength: 1, maxLength: 12 }), nested);

/** Texts of the literals and other bytes, longer than one step of the kernel now and then. */
const pieces = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.nat(20).map((number) => ({ number })) },
    { weight: 3, arbitrary: fc.stringMatching(/^[abABk_]{0,9}$/) },
    { weight: 1, arbitrary: fc.constantFrom("\0".repeat(8190), "a".repeat(300), "ab".repeat(4100), "\xff\xe2\x84") },
  ),
  { maxLength: 14 },
);

const scans = fc
  .record({ literals, pieces, cuts: fc.array(fc.nat(), { maxLength: 6 }), fold: fc.boolean(), offset: fc.nat(9) })
  .map(({ literals, pieces, cuts, fold, offset }) => {
    const text = pieces.map((piece) => (typeof piece === "string" ? piece : literals[piece.number % literals.length]));
    const content = amidOthers(Buffer.from(text.join(""), "latin1"), offset);
    const bounds = [...new Set([0, ...cuts.map((cut) => cut % (content.length + 1)), content.length])];
    bounds.sort((a, b) => a - b);
    const end = bounds[bounds.length >> 1];
    // Two contents that are next to each other; of each some parts, as units are.
    const ranges = bounds
      .slice(1)
      .map((to, i): Range => [bounds[i], to, to <= end ? end : content.length])
      .filter((_, i) => cuts.length < 4 || i % 3 !== 1);
    return { text: content, ranges, table: tableOf(literals, fold) };
  });

forEachKernel("many literals are found as each of them alone", (t, kernel) => {
  holds(
    t,
    200,
    fc.property(scans, fc.constantFrom(100, 3000, unlimited), fc.nat(3), ({ text, ranges, table }, workMax, room) => {
      assert.deepEqual(occurrences(kernel, text, ranges, table, workMax, room), naive(text, ranges, table));
    }),
  );
});

forEachKernel("texts in which most blocks are those of literals", (_, kernel) => {
  const groups = [4, 6, 8, 11, 15, 40];
  for (const [i, length] of groups.entries()) {
    // Each differs from the next one in its number only, so that they share windows and blocks.
    const numbered = Array.from({ length: 60 }, (_, n) => `${n}_${"aBk".repeat(20)}`.slice(0, length));
    const text = bytes(Array.from({ length: 900 }, (_, n) => numbered[(n * n) % 60] + "k".repeat(n % 5)).join(""));
    const range: Range = [i, text.length - i, text.length];
    for (const fold of [false, true]) {
      const table = tableOf(numbered, fold);
      assert.deepEqual(occurrences(kernel, text, [range], table), naive(text, [range], table), `${length} bytes`);
    }
  }
});

forEachKernel("literals of each length, at each position", (t, kernel) => {
  const lengths = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 15, 16, 17, 31, 64, 65, 300];
  const whole = Array.from({ length: 300 }, (_, i) => letters[(i * i + (i >> 3)) % 6]).join("");
  for (const length of lengths) {
    // With some that are as long and occur nowhere: the group then has the size of the length.
    const wanted = whole.slice(300 - length);
    const table = tableOf([wanted, "x".repeat(length), "y".repeat(length + 1)], false);
    for (let before = 0; before < 20; before++) {
      const text = amidOthers(bytes("z".repeat(before) + wanted + "z".repeat(before % 5)), before % 3);
      const range: Range = [0, text.length, text.length];
      const literal = literalsOf(table).indexOf(wanted);
      const endsBefore: readonly Range[] = [[0, before + length - 1, before + length - 1]];
      assert.deepEqual(occurrences(kernel, text, [range], table), [[before, before + length, literal]]);
      // One that begins with the last byte of a range, which is a part of a content, and one that begins after it.
      assert.equal(
        occurrences(kernel, text, [[0, before + 1, text.length]], table).length,
        1,
        `${length} after ${before}`,
      );
      assert.equal(occurrences(kernel, text, [[0, before, text.length]], table).length, 0);
      assert.equal(occurrences(kernel, text, endsBefore, table).length, 0);
    }
  }
  t.end();
});

forEachKernel("the work of a call and of a content is counted", (t, kernel) => {
  // Each literal begins with all shorter ones, and all of them occur at each position.
  const nestedLiterals = Array.from({ length: 400 }, (_, i) => "a".repeat(i + 20));
  const table = tableOf(nestedLiterals, false);
  const text = bytes("a".repeat(2000));
  const ends = new Uint32Array(table.starts.length);
  const [group] = table.groups;
  const hits = new Uint32Array(3 * 100_000);
  const cursor = new Uint32Array(4);
  const ranges = Uint32Array.of(0, text.length, text.length);
  const workMax = 1 << 20;
  let work = 0;
  for (let isDone = false; !isDone; work = cursor[3], cursor[2] = 0) {
    isDone = kernel.scanWindows({ text, ranges, rangeCount: 1, table, group, workMax, ends, hits, cursor });
    // One block at most is compared after the limit.
    assert.ok(cursor[3] - work < workMax + 8192 + 400 * 420, `${cursor[3] - work} in one call`);
  }
  assert.ok(work > 1e6, `${work}`);
  t.end();
});

forEachKernel("wrong tables are refused", (t, kernel) => {
  if (kernel === portableKernel) {
    t.end();
    return;
  }
  const table = tableOf(["abcdefgh", "bcdefghi"], false);
  const [group] = table.groups;
  const text = bytes("xxabcdefghixx".repeat(9));
  const scan = (changed: object, ranges: readonly number[] = [0, text.length, text.length]): boolean =>
    kernel.scanWindows({
      text,
      ranges: Uint32Array.from(ranges),
      rangeCount: 1,
      table,
      group: { ...group, ...changed },
      workMax: unlimited,
      ends: new Uint32Array(3),
      hits: new Uint32Array(300),
      cursor: new Uint32Array(4),
    });
  assert.ok(scan({}));
  const wrong = [
    { windowBytes: 0 },
    { windowBytes: 9 },
    { stride: 0 },
    { stride: 3 },
    { stride: 16 },
    { windowFilter: group.windowFilter.subarray(1) },
    { blockFilter: group.blockFilter.subarray(0, 1) },
    { buckets: group.buckets.subarray(1) },
    { buckets: group.buckets.map((first) => first + 9) },
    { entries: group.entries.map((word) => word + 7) },
  ];
  for (const changed of wrong) assert.throws(() => scan(changed), TypeError, JSON.stringify(Object.keys(changed)));
  for (const ranges of [
    [2, 1, 9],
    [0, 9, 8],
    [0, 1, text.length + 1],
  ])
    assert.throws(() => scan({}, ranges), TypeError);
  t.end();
});

forEachKernel("the units in which a literal can start", (t, kernel) => {
  const texts = fc.array(fc.oneof(shortText, fc.constant("a".repeat(70))), { maxLength: 40 });
  holds(
    t,
    40,
    fc.property(
      texts,
      fc.array(fc.stringMatching(/^[abABk_]{3,20}$/), { minLength: 1, maxLength: 300 }),
      fc.boolean(),
      (texts, wanted, isLimited) => {
        const text = bytes(texts.join("\n"));
        const units = Array.from({ length: Math.ceil(text.length / 32) }, (_, i) => i * 32);
        // A unit has the trigrams of the 64 bytes after it, too.
        const pairs = units.flatMap((from) => [from, Math.min(text.length, from + 32 + 64)]);
        const { keys, offsets, bytes: postings } = kernel.buildPostings(text, Uint32Array.from(pairs), units.length);
        const table = tableOf(wanted, false);
        const costMax = isLimited ? 2000 : unlimited;
        const look = (other: Kernel) => {
          const [bits, totals] = [new Uint32Array(units.length / 32 + 2), new Uint32Array(2)];
          const request = {
            keys,
            starts: offsets,
            postings,
            table,
            literalFrom: 0,
            literalTo: table.starts.length - 1,
          };
          const isKnown = other.unitsOfPatterns({ ...request, costMax, units: bits, totals });
          return isKnown ? { bits, totals } : undefined;
        };
        const found = look(kernel);
        assert.deepEqual(found, look(portableKernel));
        for (const [start] of found === undefined ? [] : naive(text, [[0, text.length, text.length]], table)) {
          const unit = Math.floor(start / 32);
          assert.ok((found?.bits[unit >> 5] ?? 0) & (1 << (unit & 31)), `unit ${unit}`);
        }
      },
    ),
  );
});

/** What each kernel throws if the units of a list take 15 GiB, of which the process may have one. */
function thrownWithoutMemory(): string {
  const url = (name: string): string => JSON.stringify(new URL(`../../../src/native/${name}`, import.meta.url).href);
  const code = `const { addonIfBuilt } = await import(${url("kernel/addon.js")});
    const { kernelOver } = await import(${url("kernel/native-kernel.js")});
    const { portableKernel } = await import(${url("kernel/portable.js")});
    const table = { literals: Buffer.from("abc"), starts: Uint32Array.of(0, 3) };
    const place = { keys: portableKernel.buildPostings(table.literals, Uint32Array.of(0, 3), 1).keys };
    const native = Object.values(addonIfBuilt()?.kernels ?? {}).map(kernelOver);
    for (const kernel of [...native, portableKernel])
      for (const starts of [Uint32Array.of(0, 0xf0000000), Uint32Array.of(0x10000000, 2)])
        try {
          const request = { ...place, starts, postings: Uint8Array.of(1), table, literalFrom: 0, literalTo: 1 };
          kernel.unitsOfPatterns({ ...request, costMax: 0xffffffff, units: new Uint32Array(1), totals: new Uint32Array(2) });
        } catch (error) {
          process.stdout.write(error.name + " ");
        }`;
  const shell = 'ulimit -d 1048576 && exec "$0" --input-type=module -e "$1"';
  return execFileSync("bash", ["-c", shell, process.execPath, code], { encoding: "utf8" });
}

void t.test("a list that is longer than the postings is refused before a call is out of memory", async (t) => {
  t.match(thrownWithoutMemory(), /^(TypeError )+$/);
});

forEachKernel("labels are sorted", (t, kernel) => {
  const triple = fc
    .tuple(fc.nat(30), fc.nat(9), fc.nat(5))
    .map(([start, length, label]): Triple => [start, start + length, label]);
  const nearlySorted = fc.array(triple, { maxLength: 60 }).map((triples) => sorted(triples).reverse());
  holds(
    t,
    200,
    fc.property(fc.oneof(fc.array(triple, { maxLength: 60 }), nearlySorted), (triples) => {
      const words = Uint32Array.from([...triples.flat(), 7, 7, 7]);
      kernel.sortLabels(words, triples.length);
      assert.deepEqual([...words], [...sorted(triples).flat(), 7, 7, 7]);
    }),
  );
});

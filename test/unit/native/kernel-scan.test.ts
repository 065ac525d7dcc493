import assert from "node:assert/strict";
import { resultWordCount, resultWords, type Kernel } from "../../../src/native/kernel/kernel.js";
import { amidOthers, bytes, forEachKernel, holds } from "../../support/kernel-support.js";
import { fc } from "../../support/property.js";

type Pair = readonly [number, number];

/** (from, to, end, floor); `scan` ignores the floor. */
type Range = readonly [number, number, number, number];

interface Scan {
  readonly text: Uint8Array;
  readonly needle: Uint8Array;
  readonly ranges: readonly Range[];
  readonly fold: boolean;
}

const newline = 10;

const unlimited = 0xffffffff;

/** All rows from a kernel, in batches of `capacity`, by calls with this much work. */
function rowsOf(
  kernel: Kernel,
  { text, needle, ranges, fold }: Scan,
  byLine: boolean,
  capacity: number,
  workMax = unlimited,
): Pair[] {
  const stride = byLine ? 4 : 3;
  const words = Uint32Array.from(ranges.flatMap((range) => range.slice(0, stride)));
  const rows = new Uint32Array(2 * capacity);
  const cursor = new Uint32Array(4);
  const found: Pair[] = [];
  for (let isDone = false; !isDone; ) {
    isDone = byLine
      ? kernel.scanLines(text, words, ranges.length, needle, fold, newline, workMax, rows, cursor)
      : kernel.scan(text, words, ranges.length, needle, fold, workMax, rows, cursor);
    for (let i = 0; i < cursor[2]; i++) found.push([rows[2 * i], rows[2 * i + 1]]);
    cursor[2] = 0;
  }
  return found;
}

function lower(byte: number): number {
  return byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte;
}

function matchesAt({ text, needle, fold }: Scan, at: number): boolean {
  return needle.every((byte, i) => (fold ? lower(text[at + i]) : text[at + i]) === byte);
}

/** An implementation of the contract of `scan` and `scanLines`, sentence by sentence. */
function naiveRows(scan: Scan, byLine: boolean): Pair[] {
  const { text, needle, ranges } = scan;
  const rows: Pair[] = [];
  let next = 0;
  for (const [from, to, end, floor] of ranges) {
    for (let at = from; at < to && at + needle.length <= end; at++) {
      if (at < next || !matchesAt(scan, at)) continue;
      const lineFrom = Math.max(floor, text.subarray(0, at).lastIndexOf(newline) + 1);
      const newlineAt = text.subarray(0, end).indexOf(newline, at);
      const lineTo = newlineAt === -1 ? end : newlineAt;
      rows.push(byLine ? [lineFrom, lineTo] : [at, at + needle.length]);
      next = byLine ? Math.min(lineTo + 1, end) : at + needle.length;
    }
  }
  return rows;
}

function wholeText(text: string, needle: string, fold: boolean): Scan {
  const content = bytes(text);
  return { text: content, needle: bytes(needle), ranges: [[0, content.length, content.length, 0]], fold };
}

const long = "a".repeat(100);

const matchTable: readonly (readonly [string, string, string, boolean, string])[] = [
  // name, text, needle, fold, matched ranges
  ["one byte", "abcabc", "b", false, "1-2 4-5"],
  ["two bytes", "abcabc", "bc", false, "1-3 4-6"],
  ["no match", "abcabc", "cb", false, ""],
  ["needle longer than the text", "ab", "abc", false, ""],
  ["whole text", "abc", "abc", false, "0-3"],
  ["leftmost, not overlapping", "aaaaa", "aa", false, "0-2 2-4"],
  ["overlap with itself", "abababa", "aba", false, "0-3 4-7"],
  ["case matters", "Foo foo FOO", "foo", false, "4-7"],
  ["case is folded", "Foo foo FOO", "foo", true, "0-3 4-7 8-11"],
  ["brackets are no letters", "[{[ @`@", "{", true, "1-2"],
  ["nor are they past the rarest bytes", `zabcq[zabcq{${" ".repeat(40)}`, "zabcq{", true, "6-12"],
  ["nor are @ and `", `~ab?@~ab?\`${" ".repeat(40)}`, "~ab?`", true, "5-10"],
  ["A and Z are", `AAAZZZ${" ".repeat(40)}`, "aaazzz", true, "0-6"],
  ["control bytes are no letters", "\u0001!A", "!", true, "1-2"],
  ["only ASCII is folded", "É é", "é", true, "3-5"],
  ["longer than any vector", `${long}b${long}b`, `${long.slice(1)}b`, false, "1-101 102-202"],
  ["differs in the last byte", `${long}c`, `${long}b`, false, ""],
  ["differs in the middle", `${"a".repeat(40)}x${"a".repeat(40)}`, "a".repeat(50), false, ""],
];

const lineTable: readonly (readonly [string, string, string, string])[] = [
  // name, text, needle, lines
  ["a line once", "a a a\nb\na", "a", "a a a|a"],
  ["no final newline", "x\nfoo", "foo", "foo"],
  ["carriage return stays", "foo\r\nbar\r\n", "foo", "foo\r"],
  ["empty lines between", "\n\nfoo\n\nfoo\n", "foo", "foo|foo"],
  ["needle that ends the line", "ab\nab\n", "b\n", "ab|ab"],
  ["needle that begins with the newline", "ab\ncd\n", "\ncd", "ab"],
  ["needle over two lines takes the first", "ab\nab\nab", "b\na", "ab|ab"],
  ["long lines", `${long}foo${long}\n${long}\n`, "foo", `${long}foo${long}`],
];

forEachKernel("scan finds matches", (t, kernel) => {
  for (const [name, text, needle, fold, expected] of matchTable) {
    const found = rowsOf(kernel, wholeText(text, needle, fold), false, 4);
    t.equal(found.map(([start, end]) => `${start}-${end}`).join(" "), expected, name);
  }
});

forEachKernel("scanLines finds lines", (t, kernel) => {
  for (const [name, text, needle, expected] of lineTable) {
    const scan = wholeText(text, needle, false);
    const found = rowsOf(kernel, scan, true, 4).map(([from, to]) =>
      Buffer.from(scan.text.subarray(from, to)).toString(),
    );
    t.equal(found.join("|"), expected, name);
  }
});

forEachKernel("ranges bound starts, ends and lines", (t, kernel) => {
  const text = bytes("aaaa|aaaa");
  const needle = bytes("aa");
  const scan = (ranges: Range[]) => rowsOf(kernel, { text, needle, ranges, fold: false }, false, 9);
  t.same(scan([[1, 2, 9, 0]]), [[1, 3]], "a match may end past the range it starts in");
  t.same(scan([[0, 9, 3, 0]]), [[0, 2]], "but not past the content");
  t.same(
    scan([
      [0, 1, 9, 0],
      [1, 9, 9, 0],
    ]),
    [
      [0, 2],
      [2, 4],
      [5, 7],
      [7, 9],
    ],
    "no overlap across ranges",
  );
  t.same(scan([]), [], "no range");
  const lines = rowsOf(kernel, { text, needle: bytes("|"), ranges: [[4, 5, 7, 2]], fold: false }, true, 9);
  t.same(lines, [[2, 7]], "a line does not reach out of its content");
  const touching: Range[] = [
    [0, 4, 4, 0],
    [4, 9, 9, 4],
  ];
  t.same(
    rowsOf(kernel, { text, needle, ranges: touching, fold: false }, true, 9),
    [
      [0, 4],
      [4, 9],
    ],
    "contents without a newline between them",
  );
});

forEachKernel("rows are added after those that the cursor counts", (t, kernel) => {
  const { text, needle } = wholeText("a a a", "a", false);
  const rows = new Uint32Array(4);
  const cursor = new Uint32Array(4);
  const ranges = Uint32Array.of(0, 5, 5);
  t.equal(kernel.scan(text, ranges, 1, needle, false, unlimited, rows, cursor), false, "full");
  t.equal(kernel.scan(text, ranges, 1, needle, false, unlimited, rows, cursor), false, "still full");
  const grown = new Uint32Array(8);
  grown.set(rows);
  t.equal(kernel.scan(text, ranges, 1, needle, false, unlimited, grown, cursor), true, "done");
  t.same([...grown], [0, 1, 2, 3, 4, 5, 0, 0]);
  t.equal(cursor[2], 3);
});

forEachKernel("a list of names is scanned by its own delimiter", (t, kernel) => {
  const text = bytes("src/a.c\0src/a\nb.c\0doc/x");
  const rows = new Uint32Array(8);
  const cursor = new Uint32Array(4);
  const ranges = Uint32Array.of(0, text.length, text.length, 0);
  t.ok(kernel.scanLines(text, ranges, 1, bytes("src"), false, 0, unlimited, rows, cursor));
  t.same([...rows.subarray(0, 2 * cursor[2])], [0, 7, 8, 17]);
});

/** Texts in which needles and near misses are frequent, and sometimes arbitrary bytes. */
const anyText = fc
  .oneof(
    fc.array(fc.constantFrom(...bytes("ab")), { maxLength: 400 }),
    fc.array(fc.constantFrom(...bytes("  \n/")), { maxLength: 400 }),
    fc.array(fc.constantFrom(...bytes("aAbB[{\n")), { maxLength: 200 }),
    fc.array(fc.nat(255), { maxLength: 200 }),
  )
  .map((list) => Uint8Array.from(list));

const anyScan: fc.Arbitrary<Scan> = fc
  .record({
    text: anyText,
    cuts: fc.array(fc.nat(400), { maxLength: 6 }),
    ends: fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }),
    needleAt: fc.nat(400),
    needleLength: fc.oneof(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 80 })),
    isRepeated: fc.boolean(),
    fold: fc.boolean(),
    offset: fc.nat(40),
  })
  .map(({ text, cuts, ends, needleAt, needleLength, isRepeated, fold, offset }) => {
    const taken = [...text.subarray(needleAt % (text.length + 1)), 0x61].slice(0, needleLength);
    const chosen = isRepeated ? taken.map(() => taken[0]) : taken;
    return {
      text: amidOthers(text, offset),
      needle: Uint8Array.from(chosen, (byte) => (fold ? lower(byte) : byte)),
      ranges: rangesBetween(
        [0, ...cuts.map((cut) => cut % (text.length + 1)), text.length].sort((a, b) => a - b),
        ends,
      ),
      fold,
    };
  });

/** Adjacent cuts bound a range; if `ends` is true, a content ends there too. Every third range is omitted. */
function rangesBetween(cuts: readonly number[], ends: readonly boolean[]): Range[] {
  const ranges: Range[] = [];
  let floor = 0;
  for (let i = 0; i + 1 < cuts.length; i++) {
    let last = i + 1;
    while (!ends[last] && last + 1 < cuts.length) last++;
    if (i % 3 !== 2) ranges.push([cuts[i], cuts[i + 1], cuts[last], floor]);
    if (ends[i + 1]) floor = cuts[i + 1];
  }
  return ranges;
}

forEachKernel("equals the contract spelled out, in portions of any size", (t, kernel) => {
  holds(
    t,
    1500,
    fc.property(anyScan, fc.boolean(), fc.integer({ min: 1, max: 9 }), (scan, byLine, capacity) => {
      assert.deepEqual(rowsOf(kernel, scan, byLine, capacity), naiveRows(scan, byLine));
    }),
  );
});

forEachKernel("equals the contract spelled out, by calls of little work", (t, kernel) => {
  holds(
    t,
    1500,
    fc.property(
      anyScan,
      fc.boolean(),
      fc.integer({ min: 1, max: 9 }),
      fc.integer({ min: 1, max: 60 }),
      (scan, byLine, capacity, workMax) => {
        assert.deepEqual(rowsOf(kernel, scan, byLine, capacity, workMax), naiveRows(scan, byLine));
      },
    ),
  );
});

interface Work {
  readonly callCount: number;
  /** The work on the last content, from the cursor of the last call. */
  readonly contentWork: number;
}

function workOf(kernel: Kernel, { text, needle, ranges, fold }: Scan, capacity: number, workMax: number): Work {
  const words = Uint32Array.from(ranges.flatMap((range) => range.slice(0, 3)));
  const rows = new Uint32Array(2 * capacity);
  const cursor = new Uint32Array(4);
  for (let callCount = 1; ; callCount++) {
    if (kernel.scan(text, words, ranges.length, needle, fold, workMax, rows, cursor))
      return { callCount, contentWork: cursor[3] };
    cursor[2] = 0;
  }
}

forEachKernel("work on a content is the same wherever calls end", (t, kernel) => {
  holds(
    t,
    500,
    fc.property(anyScan, fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 60 }), (scan, capacity, workMax) => {
      assert.equal(
        workOf(kernel, scan, capacity, workMax).contentWork,
        workOf(kernel, scan, 1000, unlimited).contentWork,
      );
    }),
  );
});

/** A needle of which most matches at every second byte of the text. */
function nearMisses(textBytes: number, needleBytes: number): Scan {
  const text = new Uint8Array(textBytes).map((_, i) => (i % needleBytes === 0 ? 0x63 : 0x61 + (i % 2)));
  const needle = new Uint8Array(needleBytes).map((_, i) => 0x61 + (i % 2));
  return { text, needle, ranges: [[0, textBytes, textBytes, 0]], fold: false };
}

forEachKernel("a call ends after its work, so that its caller can look whether to go on", (t, kernel) => {
  const text = new Uint8Array(100_000).fill(0x61);
  const plain = { text, needle: bytes("ab"), ranges: [[0, text.length, text.length, 0]], fold: false } as const;
  t.equal(workOf(kernel, plain, 10, 1000).callCount, 100, "of starts");
  const { callCount, contentWork } = workOf(kernel, nearMisses(100_000, 1001), 10, 10_000);
  t.ok(contentWork <= callCount * (10_000 + 1001), `${contentWork} bytes of near misses in ${callCount} calls`);
  if (kernel.name !== "ts") t.ok(contentWork > 10 * text.length, "bytes of near misses count");
});

forEachKernel("newlines", (t, kernel) => {
  const manyNewlines = fc.array(fc.constantFrom(10, 10, 13, 0x61, 0x8a), { maxLength: 300 });
  const position = fc.nat(300);
  const step = fc.integer({ min: 1, max: 70 });
  holds(
    t,
    300,
    fc.property(manyNewlines, position, position, step, (list, a, b, step) => {
      const text = amidOthers(Uint8Array.from(list), a % 40);
      const naive = (from: number, to: number) => list.slice(from, to).filter((byte) => byte === newline).length;
      const from = Math.min(a, b, text.length);
      const to = Math.min(Math.max(a, b), text.length);
      assert.equal(kernel.countNewlines(text, from, to), naive(from, to));
      const table = new Uint32Array(Math.floor(text.length / step) + 1);
      kernel.newlineTable(text, step, table);
      assert.deepEqual(
        [...table],
        [...table.keys()].map((i) => naive(0, i * step)),
      );
    }),
  );
});

// With work in proportion to text times needle or to matches times text, none of these would end within the time that
// a test is given.
const mebibyte = 1024 * 1024;
const spaces = new Uint8Array(4 * mebibyte).fill(0x20);
const zeroTable = new Uint8Array(4 * mebibyte).fill(0x30);
for (let i = 0; i < zeroTable.length; i += 64) zeroTable[i] = newline;

forEachKernel("dense runs cost one step for each row", (t, kernel) => {
  const count = (text: Uint8Array, needle: string, fold: boolean, byLine: boolean) => {
    const ranges: Range[] = [[0, text.length, text.length, 0]];
    const words = Uint32Array.from(byLine ? ranges[0] : ranges[0].slice(0, 3));
    const rows = new Uint32Array(2 * 8192);
    const cursor = new Uint32Array(4);
    let found = 0;
    let calls = 0;
    for (let isDone = false; !isDone; calls++) {
      isDone = byLine
        ? kernel.scanLines(text, words, 1, bytes(needle), fold, newline, unlimited, rows, cursor)
        : kernel.scan(text, words, 1, bytes(needle), fold, unlimited, rows, cursor);
      found += cursor[2];
      cursor[2] = 0;
    }
    return [found, calls];
  };
  for (const fold of [false, true]) {
    t.same(count(spaces, "    ", fold, false), [mebibyte, 129], `four spaces, fold ${fold}`);
    t.same(count(spaces, "    ", fold, true), [1, 1], `one line of spaces, fold ${fold}`);
    t.same(count(spaces, " ".repeat(5000), fold, false), [838, 1], `a long run, fold ${fold}`);
    t.same(count(spaces, `${" ".repeat(200)}x${" ".repeat(200)}`, fold, false), [0, 1], `no match, fold ${fold}`);
    t.same(count(zeroTable, "0".repeat(64), fold, false), [0, 1], `near misses, fold ${fold}`);
    t.same(count(zeroTable, "00", fold, true), [65536, 9], `lines of zeros, fold ${fold}`);
  }
});

forEachKernel("misuse throws a TypeError where memory would be at stake", (t, kernel) => {
  if (kernel.name === "ts") return;
  const text = bytes("abc");
  const needle = bytes("a");
  const rows = new Uint32Array(4);
  const cursor = new Uint32Array(4);
  const { scan } = kernel;
  const range =
    (...words: number[]) =>
    () =>
      scan(text, Uint32Array.from(words), 1, needle, false, unlimited, rows, cursor);
  t.throws(range(0, 4, 4), TypeError, "range past the text");
  t.throws(range(0, 3, 4), TypeError, "end past the text");
  t.throws(range(2, 1, 3), TypeError, "from after to");
  t.throws(
    () => scan(text, Uint32Array.of(0, 3, 3), 2, needle, false, unlimited, rows, cursor),
    TypeError,
    "too few ranges",
  );
  t.throws(
    () => scan(text, Uint32Array.of(0, 3, 3), 1, bytes(""), false, unlimited, rows, cursor),
    TypeError,
    "empty needle",
  );
  t.throws(
    () => scan(text, Uint32Array.of(0, 3, 3), 1, bytes("A"), true, unlimited, rows, cursor),
    TypeError,
    "needle not lowered",
  );
  t.throws(
    () => scan("abc" as never, Uint32Array.of(0, 3, 3), 1, needle, false, unlimited, rows, cursor),
    TypeError,
    "a string",
  );
  t.throws(() => scan(text, Uint32Array.of(0, 3, 3), 1, needle, false, 0, rows, cursor), TypeError, "no work");
  t.throws(
    () => scan(text, Uint32Array.of(0, 3, 3), 1, needle, false, 9, rows, new Uint32Array(3)),
    TypeError,
    "no place for the work",
  );
  t.throws(() => kernel.countNewlines(text, 0, 4), TypeError, "past the text");
  t.throws(() => kernel.countNewlines(text, -1, 3), TypeError, "negative");
  t.throws(() => kernel.countNewlines(text, 0.5, 3), TypeError, "a fraction");
  t.throws(() => kernel.decodePostings(Uint8Array.of(1, 1), 0, 2, new Uint32Array(1)), TypeError, "out too short");
  const one = Uint32Array.of(1);
  t.throws(() => kernel.findLists(one, one, bytes("abc"), one), TypeError, "no start of the last list");
  t.throws(() => kernel.findLists(one, Uint32Array.of(0, 1), bytes("abcd"), one), TypeError, "lists too short");
  t.throws(
    () => kernel.unitsOfLists(Uint8Array.of(1, 1), Uint32Array.of(0, 2), Uint32Array.of(0), 1, one),
    TypeError,
    "units too short",
  );
  t.throws(() => kernel.buildPostings(text, Uint32Array.of(0, 4), 1), TypeError, "unit past the text");
  const encode = (row: number[], changed: Partial<Record<keyof typeof resultWords, number>>) => () => {
    const words = new Uint32Array(resultWordCount);
    const result = { pathTo: 1, tailTo: 1, contentTo: 3, rowTo: row.length / 2, ...changed };
    for (const [name, value] of Object.entries(result)) words[resultWords[name as keyof typeof resultWords]] = value;
    kernel.encodeResults({
      text,
      paths: bytes("p"),
      newlines: Uint32Array.of(0),
      newlineStep: 8,
      fragments: bytes("}"),
      results: words,
      resultCount: 1,
      rows: Uint32Array.from(row),
      chunks: false,
      contextLines: 0,
      lineBytesMax: 99,
      out: new Uint8Array(999),
      pauseAt: 999,
      cursor: new Uint32Array(4),
      labels: new Uint32Array(0),
      labelCount: 0,
    });
  };
  t.doesNotThrow(encode([1, 2], {}), "sound");
  t.throws(encode([1, 4], {}), TypeError, "row past the content");
  t.throws(encode([2, 1], {}), TypeError, "row backwards");
  t.throws(encode([1, 2, 1, 2], {}), TypeError, "rows overlap");
  t.throws(encode([1, 2], { contentFrom: 2 }), TypeError, "row before the content");
  t.throws(encode([1, 2], { contentTo: 4 }), TypeError, "content past the text");
  t.throws(encode([1, 2], { pathTo: 2 }), TypeError, "path past the paths");
  t.throws(encode([1, 2], { tailTo: 2 }), TypeError, "tail past the fragments");
  t.throws(encode([1, 2], { rowTo: 2 }), TypeError, "too few rows");
});

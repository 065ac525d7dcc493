import type { Kernel } from "../../src/native/kernel/kernel.js";
import { unitBytes } from "../../src/shard/format.js";
import { working, type BenchGroup, type MicroBench } from "./bench.js";
import type { Fixture } from "./fixture.js";

/** A call ends only when it is done or its rows are full. */
const unlimitedWork = 0xffffffff;

const newline = 10;
const gigabyte = 1e9;

/** Pairs that a scan has room for at a time, as in a search. */
const rowCount = 4096;

interface ScanCase {
  readonly task: string;
  readonly needle: string;
  readonly foldAscii: boolean;
}

/** Words that C and JavaScript share. */
const cases: readonly ScanCase[] = [
  { task: "`buffer`", needle: "buffer", foldAscii: false },
  { task: "`-i buffer`", needle: "buffer", foldAscii: true },
  { task: "`return`, dense", needle: "return", foldAscii: false },
  { task: "`-i error`, dense", needle: "error", foldAscii: true },
  { task: "`memory barrier`, rare", needle: "memory barrier", foldAscii: false },
  { task: "`qqzzxxjjvvww`, nowhere", needle: "qqzzxxjjvvww", foldAscii: false },
];

/** The two bytes of the needle that are searched first are everywhere in the text of these. */
const spaceCases: readonly ScanCase[] = [
  { task: "four spaces, in nothing but those", needle: "    ", foldAscii: false },
  { task: "five spaces, in nothing but fours", needle: "     ", foldAscii: false },
];

/** Finding a literal: in all of the text, in half of its units, and its lines. */
export async function scanGroup(fixture: Fixture): Promise<BenchGroup> {
  const { content } = fixture;
  const gigabytes = content.length / gigabyte;
  const spaces = Buffer.alloc(Math.floor(content.length / 8), "    \n");
  const halves = everySecondUnit(content.length);
  const whole = [0, content.length, content.length];
  const needle = Buffer.from("return");
  const memory = fixture.limit("memory", "read", 1 / gigabyte);
  const library = fixture.limitsOn("text", content, (limits) => [limits.peer("C library", "byte 0a", gigabytes)]);
  const inHalves = fixture.eachKernel((kernel) =>
    working(totalBytes(halves) / gigabyte, () => countMatches(kernel, content, halves, needle, false)),
  );
  const ranges = Uint32Array.of(...whole, 0);
  const lines = fixture.eachKernel((kernel) =>
    working(gigabytes, () =>
      countRows((rows, cursor) =>
        kernel.scanLines(content, ranges, 1, needle, false, newline, unlimitedWork, rows, cursor),
      ),
    ),
  );
  const newlines = fixture.eachKernel((kernel) =>
    working(gigabytes, () => kernel.countNewlines(content, 0, content.length)),
  );
  const benches: MicroBench[] = [
    ...cases.map((scanCase) => scanBench(fixture, "text", content, scanCase)),
    ...spaceCases.map((scanCase) => scanBench(fixture, "spaces", spaces, scanCase)),
    { task: "`return` in every second unit", unit: "GB", subjects: [...inHalves, ...memory] },
    { task: "lines with `return`", unit: "GB", subjects: [...lines, ...memory] },
    { task: "count of newlines", unit: "GB", subjects: [...newlines, ...library, ...memory] },
  ];
  return { title: "Finding literals", benches, close: async () => {} };
}

function scanBench(fixture: Fixture, name: string, text: Buffer, { task, needle, foldAscii }: ScanCase): MicroBench {
  const ranges = Uint32Array.of(0, text.length, text.length);
  const bytes = Buffer.from(needle);
  const amount = text.length / gigabyte;
  const subjects = fixture.eachKernel((kernel) =>
    working(amount, () => countMatches(kernel, text, ranges, bytes, foldAscii)),
  );
  const limits = fixture.limitsOn(name, text, (limits) => [
    ...(foldAscii ? [] : [limits.peer("C library", `find ${bytes.toString("hex")}`, amount)]),
    limits.limit("memory", "read", 1 / gigabyte),
  ]);
  return { task, unit: "GB", subjects: [...subjects, ...limits] };
}

function everySecondUnit(textBytes: number): Uint32Array {
  const ranges = new Uint32Array(3 * Math.floor(textBytes / (2 * unitBytes)));
  for (let i = 0; i < ranges.length / 3; i++)
    ranges.set([2 * i * unitBytes, (2 * i + 1) * unitBytes, textBytes], 3 * i);
  return ranges;
}

function totalBytes(ranges: Uint32Array): number {
  let bytes = 0;
  for (let i = 0; i < ranges.length; i += 3) bytes += ranges[i + 1] - ranges[i];
  return bytes;
}

function countMatches(
  kernel: Kernel,
  text: Uint8Array,
  ranges: Uint32Array,
  needle: Uint8Array,
  foldAscii: boolean,
): number {
  return countRows((rows, cursor) =>
    kernel.scan(text, ranges, ranges.length / 3, needle, foldAscii, unlimitedWork, rows, cursor),
  );
}

/** Writes rows from the cursor on; returns whether it is done. */
type Scan = (rows: Uint32Array, cursor: Uint32Array) => boolean;

/** Calls a scan until it is done and counts its rows. */
function countRows(scan: Scan): number {
  const rows = new Uint32Array(2 * rowCount);
  const cursor = new Uint32Array(4);
  for (let count = 0; ; ) {
    const isDone = scan(rows, cursor);
    count += cursor[2];
    cursor[2] = 0;
    if (isDone) return count;
  }
}

/** The matches of `needle` in all of the text, as pairs (start, end). */
export function scanAll(kernel: Kernel, text: Uint8Array, needle: Uint8Array): Uint32Array {
  const whole = Uint32Array.of(0, text.length, text.length);
  return collectRows((rows, cursor) => kernel.scan(text, whole, 1, needle, false, unlimitedWork, rows, cursor));
}

/** The lines that contain `needle`, as pairs (start, end). */
export function scanAllLines(kernel: Kernel, text: Uint8Array, needle: Uint8Array): Uint32Array {
  const whole = Uint32Array.of(0, text.length, text.length, 0);
  return collectRows((rows, cursor) =>
    kernel.scanLines(text, whole, 1, needle, false, newline, unlimitedWork, rows, cursor),
  );
}

function collectRows(scan: Scan): Uint32Array {
  const cursor = new Uint32Array(4);
  let rows = new Uint32Array(2 * rowCount);
  while (!scan(rows, cursor)) {
    const grown = new Uint32Array(2 * rows.length);
    grown.set(rows);
    rows = grown;
  }
  return rows.slice(0, 2 * cursor[2]);
}

import type { Kernel } from "../../src/kernel/kernel.js";
import { unitBytes } from "../../src/shard/format.js";
import { timed, type BenchGroup, type MicroBench, type Subject } from "./bench.js";
import type { Fixture } from "./fixture.js";

/** A call ends when it is done or its rows are full. */
const unlimitedWork = 0xffffffff;

const newline = 10;
const gigabyte = 1e9;

/** Pairs that a scan is given room for at a time, as in a search. */
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

/** The two bytes of the needle that are looked for first are everywhere in the text that these run on. */
const spaceCases: readonly ScanCase[] = [
  { task: "four spaces, in nothing but those", needle: "    ", foldAscii: false },
  { task: "five spaces, in nothing but fours", needle: "     ", foldAscii: false },
];

/** Finding a literal: all of the text, half of its units, and lines. */
export async function scanGroup(fixture: Fixture): Promise<BenchGroup> {
  const { content } = fixture;
  const spaces = Buffer.alloc(Math.floor(content.length / 8), "    \n");
  const whole = Uint32Array.of(0, content.length, content.length);
  const memory = fixture.limit("memory", "read", 1 / gigabyte);
  const benches: MicroBench[] = [
    ...cases.map((scanCase) => scanBench(fixture, "text", content, scanCase)),
    ...spaceCases.map((scanCase) => scanBench(fixture, "spaces", spaces, scanCase)),
    {
      task: "`return` in every second unit",
      unit: "GB",
      subjects: [...rangesSubjects(fixture, everySecondUnit(content.length), "return"), ...memory],
    },
    { task: "lines with `return`", unit: "GB", subjects: [...linesSubjects(fixture, "return"), ...memory] },
    {
      task: "count of newlines",
      unit: "GB",
      subjects: [
        ...fixture.eachKernel((kernel) =>
          countingSubject(whole, () => kernel.countNewlines(content, 0, content.length)),
        ),
        ...fixture.limitsOn("text", content, (limits) => [
          limits.peer("C library", "byte 0a", content.length / gigabyte),
        ]),
        ...memory,
      ],
    },
  ];
  return { title: "Finding literals", benches, close: async () => {} };
}

function scanBench(fixture: Fixture, name: string, text: Buffer, { task, needle, foldAscii }: ScanCase): MicroBench {
  const ranges = Uint32Array.of(0, text.length, text.length);
  const bytes = Buffer.from(needle);
  const subjects = fixture.eachKernel((kernel) =>
    countingSubject(ranges, () => countMatches(kernel, text, ranges, bytes, foldAscii)),
  );
  const limits = fixture.limitsOn(name, text, (limits) => [
    ...(foldAscii ? [] : [limits.peer("C library", `find ${bytes.toString("hex")}`, text.length / gigabyte)]),
    limits.limit("memory", "read", 1 / gigabyte),
  ]);
  return { task, unit: "GB", subjects: [...subjects, ...limits] };
}

function rangesSubjects(fixture: Fixture, ranges: Uint32Array, needle: string): Subject[] {
  const bytes = Buffer.from(needle);
  return fixture.eachKernel((kernel) =>
    countingSubject(ranges, () => countMatches(kernel, fixture.content, ranges, bytes, false)),
  );
}

function everySecondUnit(textBytes: number): Uint32Array {
  const ranges = new Uint32Array(3 * Math.floor(textBytes / (2 * unitBytes)));
  for (let i = 0; i < ranges.length / 3; i++)
    ranges.set([2 * i * unitBytes, (2 * i + 1) * unitBytes, textBytes], 3 * i);
  return ranges;
}

function linesSubjects(fixture: Fixture, needle: string): Subject[] {
  const { content } = fixture;
  const ranges = Uint32Array.of(0, content.length, content.length, 0);
  const bytes = Buffer.from(needle);
  return fixture.eachKernel((kernel) =>
    countingSubject(ranges.subarray(0, 3), () =>
      countRows((rows, cursor) =>
        kernel.scanLines(content, ranges, 1, bytes, false, newline, unlimitedWork, rows, cursor),
      ),
    ),
  );
}

/** A subject that finds `count()` in the ranges. */
function countingSubject(ranges: Uint32Array, count: () => number): Omit<Subject, "name"> {
  let bytes = 0;
  for (let i = 0; i < ranges.length; i += 3) bytes += ranges[i + 1] - ranges[i];
  return {
    result: () => String(count()),
    run: () =>
      timed(() => {
        count();
        return bytes / gigabyte;
      }),
  };
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

/** Calls a scan until it is done and counts its rows. */
function countRows(scan: (rows: Uint32Array, cursor: Uint32Array) => boolean): number {
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
  return allRows((rows, cursor) => kernel.scan(text, whole, 1, needle, false, unlimitedWork, rows, cursor));
}

/** The lines that hold `needle`, as pairs (start, end). */
export function scanAllLines(kernel: Kernel, text: Uint8Array, needle: Uint8Array): Uint32Array {
  const whole = Uint32Array.of(0, text.length, text.length, 0);
  return allRows((rows, cursor) =>
    kernel.scanLines(text, whole, 1, needle, false, newline, unlimitedWork, rows, cursor),
  );
}

function allRows(scan: (rows: Uint32Array, cursor: Uint32Array) => boolean): Uint32Array {
  const cursor = new Uint32Array(4);
  let rows = new Uint32Array(2 * rowCount);
  while (!scan(rows, cursor)) {
    const grown = new Uint32Array(2 * rows.length);
    grown.set(rows);
    rows = grown;
  }
  return rows.slice(0, 2 * cursor[2]);
}

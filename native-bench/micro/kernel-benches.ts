import { crc32 } from "node:zlib";
import type { Kernel } from "../../src/native/kernel/kernel.js";
import { newlineStepBytes, overlapBytes, unitBytes } from "../../src/shard/format.js";
import type { MicroBench, Subject } from "./bench.js";
import type { Fixture } from "./fixture.js";

/** Benchmarks of one part of the kernel. */
export interface BenchGroup {
  readonly title: string;
  readonly benches: readonly MicroBench[];
}

/** A call ends only when it is done or its rows are full. */
const unlimitedWork = 0xffffffff;

const newline = 10;
const gigabyte = 1e9;
const million = 1e6;

/** Pairs that a scan has room for at a time, as in a search. */
const rowCount = 4096;

/** Words that C and JavaScript share. */
const literals: readonly (readonly [task: string, needle: string, foldAscii: boolean])[] = [
  ["`buffer`", "buffer", false],
  ["`-i buffer`", "buffer", true],
  ["`return`, dense", "return", false],
  ["`-i error`, dense", "error", true],
  ["`memory barrier`, rare", "memory barrier", false],
  ["`qqzzxxjjvvww`, nowhere", "qqzzxxjjvvww", false],
];

/** The two bytes of the needle that are searched first are everywhere in the text of these. */
const spaces: typeof literals = [
  ["four spaces, in nothing but those", "    ", false],
  ["five spaces, in nothing but fours", "     ", false],
];

/** Finding a literal: in all of the text, in half of its units, and its lines. */
export function scanGroup(fixture: Fixture): BenchGroup {
  const { content } = fixture;
  const gigabytes = content.length / gigabyte;
  const indented = Buffer.alloc(Math.floor(content.length / 8), "    \n");
  const halves = everySecondUnit(content.length);
  const halfBytes = (halves.length / 3) * unitBytes;
  const lineRanges = Uint32Array.of(0, content.length, content.length, 0);
  const needle = Buffer.from("return");
  const memory = fixture.limit("memory", "read", 1 / gigabyte);
  const library = fixture.limitsOn("text", content, (limits) => [limits.peer("C library", "byte 0a", gigabytes)]);
  const inHalves = fixture.eachKernel(halfBytes / gigabyte, (kernel) =>
    countMatches(kernel, content, halves, needle, false),
  );
  const lines = fixture.eachKernel(gigabytes, (kernel) =>
    countRows((rows, cursor) =>
      kernel.scanLines(content, lineRanges, 1, needle, false, newline, unlimitedWork, rows, cursor),
    ),
  );
  const newlines = fixture.eachKernel(gigabytes, (kernel) => kernel.countNewlines(content, 0, content.length));
  const benches = [
    ...literals.map((literal) => scanBench(fixture, "text", content, literal)),
    ...spaces.map((literal) => scanBench(fixture, "spaces", indented, literal)),
    { task: "`return` in every second unit", unit: "GB", subjects: [...inHalves, ...memory] },
    { task: "lines with `return`", unit: "GB", subjects: [...lines, ...memory] },
    { task: "count of newlines", unit: "GB", subjects: [...newlines, ...library, ...memory] },
  ];
  return { title: "Finding literals", benches };
}

function scanBench(
  fixture: Fixture,
  name: string,
  text: Buffer,
  [task, needle, foldAscii]: (typeof literals)[number],
): MicroBench {
  const ranges = Uint32Array.of(0, text.length, text.length);
  const bytes = Buffer.from(needle);
  const amount = text.length / gigabyte;
  const subjects = fixture.eachKernel(amount, (kernel) => countMatches(kernel, text, ranges, bytes, foldAscii));
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

function countMatches(kernel: Kernel, text: Buffer, ranges: Uint32Array, needle: Buffer, foldAscii: boolean): number {
  return countRows((rows, cursor) =>
    kernel.scan(text, ranges, ranges.length / 3, needle, foldAscii, unlimitedWork, rows, cursor),
  );
}

/** Calls a scan until it is done and counts its rows. It writes rows from the cursor on, and returns whether it is done. */
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

/** A list [from, to) of the shard's postings. */
interface List {
  readonly from: number;
  readonly to: number;
}

/** The most lists per task, spread over all that are long enough. */
const listCountMax = 2000;

/**
 * Reading posting lists. The limit is a plain C loop that adds differences of one byte each and writes the sums: the work
 * that remains when there is nothing to decode and nothing to compare.
 */
export function postingsGroup(fixture: Fixture): BenchGroup {
  const units = fixture.reader.unitCount;
  const long = listsBetween(fixture, units / 4, units * 2);
  const middle = listsBetween(fixture, units / 256, units / 16);
  const sums = fixture.limit("plain sums", "sums", 1 / million);
  const bench = (task: string, subjects: readonly Subject[]): MicroBench => {
    return { task, unit: "M integers", subjects: [...subjects, ...sums] };
  };
  const benches = [
    bench("decode lists of common trigrams", decoding(fixture, long)),
    bench("decode lists of rarer trigrams", decoding(fixture, middle)),
    bench("intersect rarer with common ones", intersecting(fixture, middle, long)),
  ];
  return { title: "Posting lists", benches };
}

function listsBetween({ reader }: Fixture, bytesMin: number, bytesMax: number): List[] {
  const { postingStart } = reader;
  const found: List[] = [];
  for (let i = 0; i + 1 < postingStart.length; i++) {
    const list = { from: postingStart[i], to: postingStart[i + 1] };
    if (list.to - list.from >= Math.max(1, bytesMin) && list.to - list.from < bytesMax) found.push(list);
  }
  const step = Math.max(1, Math.floor(found.length / listCountMax));
  return found.filter((_, i) => i % step === 0).slice(0, listCountMax);
}

/** What is compared is a count and the last integer of each list: all of them would take as long as the decoding. */
function decoding(fixture: Fixture, lists: readonly List[]): Subject[] {
  const { postings } = fixture.reader;
  const out = new Uint32Array(Math.max(0, ...lists.map(({ from, to }) => to - from)));
  const integers = lists.reduce((sum, list) => sum + countIn(postings, list), 0);
  return fixture.eachKernel(integers / million, (kernel) => {
    const digest = new Digest();
    for (const { from, to } of lists) digest.add(out, kernel.decodePostings(postings, from, to, out));
    return digest.text;
  });
}

/** Every rarer list with one of the common ones. The integers are those of both lists. */
function intersecting(fixture: Fixture, rarer: readonly List[], common: readonly List[]): Subject[] {
  const { postings } = fixture.reader;
  const decoded = rarer.map((list) => decode(fixture.kernels[0], postings, list));
  const work = new Uint32Array(Math.max(0, ...decoded.map(({ length }) => length)));
  const partner = (i: number): List => common[i % common.length];
  const integers = decoded.reduce((sum, units, i) => sum + units.length + countIn(postings, partner(i)), 0);
  return fixture.eachKernel(integers / million, (kernel) => {
    const digest = new Digest();
    for (let i = 0; i < decoded.length; i++) {
      work.set(decoded[i]);
      const { from, to } = partner(i);
      digest.add(work, kernel.intersectPostings(postings, from, to, work, decoded[i].length));
    }
    return digest.text;
  });
}

function decode(kernel: Kernel, postings: Uint8Array, { from, to }: List): Uint32Array {
  const units = new Uint32Array(to - from);
  return units.slice(0, kernel.decodePostings(postings, from, to, units));
}

/** Integers in a list: every one ends with a byte below 0x80. */
function countIn(postings: Uint8Array, { from, to }: List): number {
  let count = 0;
  for (let at = from; at < to; at++) if (postings[at] < 0x80) count++;
  return count;
}

/** A short text that differs between different results. */
class Digest {
  #count = 0;
  #sum = 0;

  add(words: Uint32Array, count: number): void {
    this.#count += count;
    if (count > 0) this.#sum = (Math.imul(this.#sum, 31) + words[count >> 1] + words[count - 1]) >>> 0;
  }

  get text(): string {
    return `${this.#count} integers, ${this.#sum.toString(16)}`;
  }
}

/** The indexer's limit for each document. */
const trigramCountMax = 100_000;

/** The kernel's steps of building a shard. The limit is copying the text once. */
export function buildingGroup(fixture: Fixture): BenchGroup {
  const text = Buffer.from(fixture.content.subarray(0, 32 << 20));
  const units: number[] = [];
  for (let from = 0; from < text.length; from += unitBytes)
    units.push(from, Math.min(text.length, from + unitBytes + overlapBytes));
  const ranges = Uint32Array.from(units);
  const newlines = new Uint32Array(Math.floor(text.length / newlineStepBytes) + 1);
  const copying = fixture.limit("copying", "copy", 1 / million);
  const bench = (task: string, find: (kernel: Kernel) => number | string): MicroBench => {
    return { task, unit: "MB", subjects: [...fixture.eachKernel(text.length / million, find), ...copying] };
  };
  const benches = [
    bench("trigrams to posting lists", (kernel) => {
      const { keys, offsets, bytes } = kernel.buildPostings(text, ranges, ranges.length / 2);
      return `${keys.length} ${offsets.length} ${crc32(bytes.subarray(0, 65536))} ${crc32(bytes.subarray(-65536))}`;
    }),
    bench("table of newlines", (kernel) => {
      kernel.newlineTable(text, newlineStepBytes, newlines);
      return newlines.at(-1) ?? 0;
    }),
    bench("count of distinct trigrams by document", (kernel) => {
      let count = 0;
      let from = 0;
      for (const document of fixture.text.documents) {
        const to = from + document.text.length;
        if (to > text.length) break;
        count += kernel.distinctTrigrams(text, from, to, trigramCountMax);
        from = to;
      }
      return count;
    }),
  ];
  return { title: "Building shards", benches };
}

import type { Kernel } from "../../src/native/kernel/kernel.js";
import { timed, type BenchGroup, type MicroBench, type Subject } from "./bench.js";
import type { Fixture } from "./fixture.js";

const million = 1e6;

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
export async function postingsGroup(fixture: Fixture): Promise<BenchGroup> {
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
  return { title: "Posting lists", benches, close: async () => {} };
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

function decoding(fixture: Fixture, lists: readonly List[]): Subject[] {
  const { postings } = fixture.reader;
  const out = new Uint32Array(Math.max(0, ...lists.map(({ from, to }) => to - from)));
  const decodeAll = (kernel: Kernel, take: (count: number) => void): void => {
    for (const { from, to } of lists) take(kernel.decodePostings(postings, from, to, out));
  };
  const total = (kernel: Kernel): number => {
    let sum = 0;
    decodeAll(kernel, (count) => {
      sum += count;
    });
    return sum;
  };
  return fixture.eachKernel((kernel) => ({
    result: () => digest((take) => decodeAll(kernel, (count) => take(out.subarray(0, count)))),
    run: () => timed(() => total(kernel) / million),
  }));
}

/** Every rarer list with one of the common ones. The integers are those of both lists. */
function intersecting(fixture: Fixture, rarer: readonly List[], common: readonly List[]): Subject[] {
  const { postings } = fixture.reader;
  const decoded = rarer.map((list) => decode(fixture.kernels[0], postings, list));
  const work = new Uint32Array(Math.max(0, ...decoded.map(({ length }) => length)));
  const partner = (i: number): List => common[i % common.length];
  const integers = decoded.reduce((sum, units, i) => sum + units.length + countIn(postings, partner(i)), 0);
  const intersectAll = (kernel: Kernel, take: (kept: number) => void): void => {
    for (let i = 0; i < decoded.length; i++) {
      work.set(decoded[i]);
      const { from, to } = partner(i);
      take(kernel.intersectPostings(postings, from, to, work, decoded[i].length));
    }
  };
  const run = (kernel: Kernel): number => {
    intersectAll(kernel, () => {});
    return integers / million;
  };
  return fixture.eachKernel((kernel) => ({
    result: () => digest((take) => intersectAll(kernel, (kept) => take(work.subarray(0, kept)))),
    run: () => timed(() => run(kernel)),
  }));
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
function digest(each: (take: (words: Uint32Array) => void) => void): string {
  let count = 0;
  let sum = 0;
  each((words) => {
    count += words.length;
    for (const word of words) sum = (Math.imul(sum, 31) + word) >>> 0;
  });
  return `${count} integers, ${sum.toString(16)}`;
}

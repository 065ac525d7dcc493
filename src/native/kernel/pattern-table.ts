import { trigramAt } from "./alphabet.js";
import type { PatternTable, TrigramSets, WindowGroup } from "./pattern-kernel.js";
import { exponent, filterBits, hashWindow } from "./window-hash.js";

/**
 * The groups of literals by length. A literal of at least `windowBytes + stride - 1` bytes contains, wherever it
 * occurs, a window that begins at a multiple of the stride. Longer windows let fewer texts pass, and a larger stride
 * looks at fewer of them.
 */
const groupSizes = [
  { lengthMin: 15, windowBytes: 8, stride: 8 },
  { lengthMin: 8, windowBytes: 5, stride: 4 },
  { lengthMin: 6, windowBytes: 5, stride: 2 },
  { lengthMin: 4, windowBytes: 4, stride: 1 },
  { lengthMin: 2, windowBytes: 2, stride: 1 },
  { lengthMin: 1, windowBytes: 1, stride: 1 },
] as const;

/** The windows of a literal are chosen among its first bytes, and its trigrams looked up are those of these. */
const lookedBytes = 64;

/** Bits of the filter per window, at least: about one window in a hundred of a text passes by chance. */
const filterBitsPerWindow = 16;
const filterBitsMin = 1 << 15;
const filterBitsMax = 1 << 24;

/** A window that more literals have, on average, is looked for with a smaller stride, or at each position. */
const equalWindowsMax = 64;

/** Literals that are handled between two steps: less than a millisecond. */
const literalsOfStep = 256;

/** Builds the tables for the literals: different, not empty and, with `foldAscii`, in lower case. Yields after each step. */
export function* makePatternTable(
  literals: readonly Uint8Array[],
  foldAscii: boolean,
): Generator<undefined, PatternTable> {
  const starts = new Uint32Array(literals.length + 1);
  literals.forEach(({ length }, i) => {
    starts[i + 1] = starts[i] + length;
  });
  const bytes = new Uint8Array(starts[literals.length]);
  literals.forEach((literal, i) => bytes.set(literal, starts[i]));
  const groups: WindowGroup[] = [];
  let left = [...literals.keys()];
  for (const size of groupSizes) {
    const chosen = yield* chooseWindows(literals, left, size);
    left = left.filter((number) => !chosen.has(number));
    if (chosen.size > 0) groups.push(yield* makeGroup(literals, chosen, size));
  }
  const trigrams = yield* makeTrigramSets(literals);
  return { foldAscii, literals: shareBytes(bytes), starts: share(starts), groups, trigrams };
}

interface GroupSize {
  readonly lengthMin: number;
  readonly windowBytes: number;
  readonly stride: number;
}

/**
 * The literals of a group, each with the first of its windows that are looked for: where the fewest other literals have
 * equal ones, because all literals with an equal window are compared with the text. A literal whose windows too many
 * others have is left to the next group, which needs fewer of them.
 */
function* chooseWindows(
  literals: readonly Uint8Array[],
  left: readonly number[],
  { lengthMin, windowBytes, stride }: GroupSize,
): Generator<undefined, ReadonlyMap<number, number>> {
  const numbers = left.filter((number) => literals[number].length >= lengthMin);
  const popularity = yield* countWindows(literals, numbers, windowBytes);
  const chosen = new Map<number, number>();
  for (const [i, number] of numbers.entries()) {
    if (i % literalsOfStep === 0) yield;
    const { base, sum } = chooseBase(literals[number], windowBytes, stride, popularity);
    if (stride === 1 || sum <= equalWindowsMax * stride) chosen.set(number, base);
  }
  return chosen;
}

function* makeGroup(
  literals: readonly Uint8Array[],
  chosen: ReadonlyMap<number, number>,
  { windowBytes, stride }: GroupSize,
): Generator<undefined, WindowGroup> {
  const numbers = [...chosen.keys()];
  const windowCount = numbers.length * stride;
  const bitCount = clampedPower(windowCount * filterBitsPerWindow);
  const bucketBits = exponent(bitCount) - 3;
  const windows = new Float64Array(windowCount);
  const filter = new Uint32Array(bitCount / 32);
  for (const [i, number] of numbers.entries()) {
    if (i % literalsOfStep === 0) yield;
    const base = chosen.get(number) ?? 0;
    for (let k = 0; k < stride; k++) {
      const hash = hashWindow(literals[number], base + k, windowBytes, false);
      filter[hash >>> (32 - exponent(filter.length))] |= filterBits(hash);
      // Sorted as numbers: by bucket, then of a literal the larger offsets first.
      const order = i * lookedBytes + (lookedBytes - 1 - base - k);
      windows[i * stride + k] = (hash >>> (32 - bucketBits)) * numbers.length * lookedBytes + order;
    }
  }
  windows.sort();
  const buckets = new Uint32Array((1 << bucketBits) + 1);
  const entries = new Uint32Array(2 * windowCount);
  windows.forEach((packed, i) => {
    const bucket = Math.floor(packed / (numbers.length * lookedBytes));
    const order = packed - bucket * numbers.length * lookedBytes;
    buckets[bucket + 1]++;
    entries[2 * i] = numbers[Math.floor(order / lookedBytes)];
    entries[2 * i + 1] = lookedBytes - 1 - (order % lookedBytes);
  });
  const bucketMax = buckets.reduce((most, count) => Math.max(most, count), 0);
  for (let i = 1; i < buckets.length; i++) buckets[i] += buckets[i - 1];
  return { windowBytes, stride, filter: share(filter), buckets: share(buckets), entries: share(entries), bucketMax };
}

/** How many windows of all literals have each value of the upper bits of the hash. */
function* countWindows(
  literals: readonly Uint8Array[],
  numbers: readonly number[],
  windowBytes: number,
): Generator<undefined, Uint32Array> {
  const bits = exponent(clampedPower(numbers.length * filterBitsPerWindow)) - 1;
  const counts = new Uint32Array(1 << bits);
  for (const [i, number] of numbers.entries()) {
    if (i % literalsOfStep === 0) yield;
    const literal = literals[number];
    const end = Math.min(literal.length, lookedBytes) - windowBytes;
    for (let at = 0; at <= end; at++) counts[hashWindow(literal, at, windowBytes, false) >>> (32 - bits)]++;
  }
  return counts;
}

/** The position of the windows of a literal that the fewest literals have, and how many have them in total. */
function chooseBase(
  literal: Uint8Array,
  windowBytes: number,
  stride: number,
  popularity: Uint32Array,
): { readonly base: number; readonly sum: number } {
  const baseMax = Math.min(literal.length, lookedBytes) - windowBytes - stride + 1;
  const shift = 32 - exponent(popularity.length);
  let best = 0;
  let bestSum = Infinity;
  for (let base = 0; base <= baseMax; base++) {
    let sum = 0;
    for (let k = 0; k < stride; k++) sum += popularity[hashWindow(literal, base + k, windowBytes, false) >>> shift];
    if (sum < bestSum) [best, bestSum] = [base, sum];
  }
  return { base: best, sum: bestSum };
}

function* makeTrigramSets(literals: readonly Uint8Array[]): Generator<undefined, TrigramSets> {
  const starts = new Uint32Array(literals.length + 1);
  const all: number[] = [];
  for (const [i, literal] of literals.entries()) {
    if (i % literalsOfStep === 0) yield;
    const own = new Set<number>();
    for (let at = 0; at + 3 <= Math.min(literal.length, lookedBytes); at++) own.add(trigramAt(literal, at));
    for (const key of own) all.push(key);
    starts[i + 1] = all.length;
  }
  const keys = Uint32Array.from(new Set(all)).sort();
  const numberOf = new Map<number, number>();
  keys.forEach((key, number) => numberOf.set(key, number));
  yield;
  const numbers = Uint32Array.from(all, (key) => numberOf.get(key) ?? 0);
  return { keys: share(keys), starts: share(starts), numbers: share(numbers) };
}

function clampedPower(wanted: number): number {
  let power = filterBitsMin;
  while (power < wanted && power < filterBitsMax) power *= 2;
  return power;
}

/** Copies to shared memory, so that no thread that gets the table copies it again. */
function share(words: Uint32Array): Uint32Array {
  const shared = new Uint32Array(new SharedArrayBuffer(Math.max(4, words.byteLength)), 0, words.length);
  shared.set(words);
  return shared;
}

function shareBytes(bytes: Uint8Array): Uint8Array {
  const shared = new Uint8Array(new SharedArrayBuffer(Math.max(1, bytes.length)), 0, bytes.length);
  shared.set(bytes);
  return shared;
}

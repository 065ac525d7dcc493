import type { PatternTable, WindowGroup } from "./pattern-kernel.js";

interface GroupSize {
  readonly lengthMin: number;
  readonly windowBytes: number;
  readonly stride: number;
}

/**
 * Sizes of groups by the length of their shortest literal. A literal of at least `windowBytes + stride - 1` bytes contains,
 * wherever it occurs, a window that begins at a multiple of the stride. Longer windows let fewer texts pass, and a larger
 * stride looks at fewer of them. The text is read once for each group: therefore the literals of one row are one group, of
 * the first size that its shortest allows.
 */
const groupSizes: readonly (readonly GroupSize[])[] = [
  [
    { lengthMin: 15, windowBytes: 8, stride: 8 },
    { lengthMin: 11, windowBytes: 8, stride: 4 },
    { lengthMin: 8, windowBytes: 5, stride: 4 },
  ],
  [
    { lengthMin: 6, windowBytes: 5, stride: 2 },
    { lengthMin: 4, windowBytes: 4, stride: 1 },
  ],
  [{ lengthMin: 3, windowBytes: 3, stride: 1 }],
  [{ lengthMin: 2, windowBytes: 2, stride: 1 }],
  [{ lengthMin: 1, windowBytes: 1, stride: 1 }],
];

/** The block of a literal is chosen among its first bytes. */
const lookedBytesMax = 256;

/** Bits of a filter per hash, at least: about one hash in a hundred passes by chance. */
const filterBitsPerHash = 16;
const filterBitsMin = 1 << 15;
const filterBitsMax = 1 << 24;

/** Bytes of literals that are handled between two steps: less than a millisecond. */
const stepBytes = 8192;

/** Numbers that are handled between two steps, with less work for each. */
const numbersOfStep = 32 * 1024;

/** The pieces of a list of numbers, each for one step: `[from, to)`. */
function* pieces(count: number): Generator<readonly [number, number], void> {
  for (let from = 0; from < count; from += numbersOfStep) yield [from, Math.min(count, from + numbersOfStep)];
}

/**
 * Builds the tables for literals: `[starts[i], starts[i + 1])` of `literals`, different, not empty, the longest first and,
 * with `foldAscii`, in lower case. Yields after each step.
 */
export function* makePatternTable(
  literals: Uint8Array,
  starts: Uint32Array,
  foldAscii: boolean,
): Generator<undefined, PatternTable> {
  const groups: WindowGroup[] = [];
  const words = yield* readWords(literals);
  for (let from = 0; from + 1 < starts.length; from = groups[groups.length - 1].to) {
    const lengthOf = (i: number): number => starts[i + 1] - starts[i];
    const row = groupSizes.find((sizes) => sizes[sizes.length - 1].lengthMin <= lengthOf(from)) ?? [];
    let to = from + 1;
    while (to + 1 < starts.length && lengthOf(to) >= row[row.length - 1].lengthMin) to++;
    const size = row.find(({ lengthMin }) => lengthMin <= lengthOf(to - 1)) ?? row[0];
    groups.push(yield* new GroupBuilder(words, starts, from, to, size).build());
  }
  return { foldAscii, literals: shareBytes(literals), starts: share(starts), groups };
}

/** Builds the group of the literals `[from, to)`. Every position of a literal is hashed once, and the hashes are kept. */
class GroupBuilder {
  /** The four bytes at each position of the literals. */
  readonly #words: Uint32Array;
  readonly #starts: Uint32Array;
  readonly #from: number;
  readonly #to: number;
  readonly #size: GroupSize;

  constructor(words: Uint32Array, starts: Uint32Array, from: number, to: number, size: GroupSize) {
    this.#words = words;
    this.#starts = starts;
    this.#from = from;
    this.#to = to;
    this.#size = size;
  }

  *build(): Generator<undefined, WindowGroup> {
    const { windowBytes, stride } = this.#size;
    const first = this.#starts[this.#from];
    const windows = yield* this.#hashAll(windowBytes);
    const blocks = stride === 1 ? windows : yield* this.#hashBlocks(windowBytes + stride - 1);
    const offsets = yield* this.#chooseOffsets(windows, blocks);
    const windowFilter = makeFilter(offsets.length * stride);
    const hashes = new Uint32Array(offsets.length);
    const blockFilter = makeFilter(offsets.length);
    for (const [from, to] of this.#steps()) {
      for (let i = from; i < to; i++) {
        const block = this.#starts[i] - first + offsets[i - this.#from];
        hashes[i - this.#from] = blocks[block];
        for (let at = block; at < block + stride; at++) addToFilter(windowFilter, windows[at]);
        addToFilter(blockFilter, blocks[block]);
      }
      yield;
    }
    const buckets = yield* makeBuckets(hashes, exponent(blockFilter.length) + 2);
    const entries = yield* makeEntries(hashes, buckets, offsets, this.#from);
    const bucketMax = largestBucket(buckets);
    yield;
    return {
      from: this.#from,
      to: this.#to,
      windowBytes,
      stride,
      windowFilter: share(windowFilter),
      blockFilter: share(blockFilter),
      buckets: share(buckets),
      entries: share(entries),
      offsetMax: offsets.reduce((most, offset) => Math.max(most, offset), 0),
      bucketMax,
    };
  }

  /** The hash of so many bytes at each position of the literals; some of them reach into the next literal. */
  *#hashAll(byteCount: number): Generator<undefined, Uint32Array> {
    const words = this.#words;
    const first = this.#starts[this.#from];
    const hashes = new Uint32Array(this.#starts[this.#to] - first);
    for (const [from, to] of this.#steps()) {
      const end = this.#starts[to] - first;
      for (let at = this.#starts[from] - first; at < end; at++)
        hashes[at] = hashWords(words[first + at], words[first + at + 4], byteCount);
      yield;
    }
    return hashes;
  }

  *#hashBlocks(blockBytes: number): Generator<undefined, Uint32Array> {
    const hashes = yield* this.#hashAll(Math.min(blockBytes, windowBytesMax));
    const between = blockBytes - windowBytesMax;
    if (between <= 0) return hashes;
    // What is read is behind what is written.
    for (const [from, to] of pieces(hashes.length)) {
      for (let at = from; at < to; at++) {
        const last = at + between < hashes.length ? hashes[at + between] : 0;
        hashes[at] = joinHashes(hashes[at], last);
      }
      yield;
    }
    return hashes;
  }

  /**
   * The offset of each literal's block: where it has the fewest windows and blocks in common with other literals, because
   * wherever a block occurs, the text is compared with all literals that have it.
   */
  *#chooseOffsets(windows: Uint32Array, blocks: Uint32Array): Generator<undefined, Uint32Array> {
    const { stride } = this.#size;
    const blockBytes = this.#size.windowBytes + stride - 1;
    const equalWindows = yield* countHashes(windows);
    const equalBlocks = blocks === windows ? equalWindows : yield* countHashes(blocks);
    const shift = 32 - exponent(equalWindows.length);
    const offsets = new Uint32Array(this.#to - this.#from);
    for (const [from, to] of this.#steps()) {
      for (let i = from; i < to; i++) {
        const start = this.#starts[i] - this.#starts[this.#from];
        const end = start + Math.min(lookedBytesMax, this.#starts[i + 1] - this.#starts[i]) - blockBytes;
        let best = start;
        let least = Infinity;
        let ofWindows = 0;
        for (let at = start; at < start + stride; at++) ofWindows += equalWindows[windows[at] >>> shift];
        for (let block = start; block <= end && least > stride + 1; block++) {
          const sum = equalBlocks[blocks[block] >>> shift] + ofWindows;
          if (sum < least) {
            best = block;
            least = sum;
          }
          if (block === end) break;
          ofWindows += equalWindows[windows[block + stride] >>> shift] - equalWindows[windows[block] >>> shift];
        }
        offsets[i - this.#from] = best - start;
      }
      yield;
    }
    return offsets;
  }

  /** The literals of each step, as the first one and the end. */
  *#steps(): Generator<readonly [number, number], void> {
    for (let first = this.#from, end = first; first < this.#to; first = end) {
      do end++;
      while (end < this.#to && this.#starts[end] - this.#starts[first] < stepBytes);
      yield [first, end];
    }
  }
}

/** How many of the hashes have each value of their upper bits. */
function* countHashes(hashes: Uint32Array): Generator<undefined, Uint32Array> {
  const counts = new Uint32Array(powerOfTwo(hashes.length));
  const shift = 32 - exponent(counts.length);
  for (const [from, to] of pieces(hashes.length)) {
    for (let i = from; i < to; i++) counts[hashes[i] >>> shift]++;
    yield;
  }
  return counts;
}

function makeFilter(hashCount: number): Uint32Array {
  return new Uint32Array(powerOfTwo(hashCount * filterBitsPerHash) / 32);
}

function addToFilter(filter: Uint32Array, hash: number): void {
  filter[hash >>> (32 - exponent(filter.length))] |= filterBits(hash);
}

/** Where the entries of each bucket begin, by the upper `bits` of the hashes. */
function* makeBuckets(hashes: Uint32Array, bits: number): Generator<undefined, Uint32Array> {
  const buckets = new Uint32Array((1 << bits) + 1);
  for (const [from, to] of pieces(hashes.length)) {
    for (let i = from; i < to; i++) buckets[(hashes[i] >>> (32 - bits)) + 1]++;
    yield;
  }
  for (const [from, to] of pieces(buckets.length)) {
    for (let i = Math.max(1, from); i < to; i++) buckets[i] += buckets[i - 1];
    yield;
  }
  return buckets;
}

function largestBucket(buckets: Uint32Array): number {
  let most = buckets[0];
  for (let i = 1; i < buckets.length; i++) most = Math.max(most, buckets[i] - buckets[i - 1]);
  return most;
}

/** Pairs (literal, offset) in the order of the buckets; literal `from + i` has hash i. */
function* makeEntries(
  hashes: Uint32Array,
  buckets: Uint32Array,
  offsets: Uint32Array,
  first: number,
): Generator<undefined, Uint32Array> {
  const next = buckets.slice();
  const shift = 32 - exponent(buckets.length - 1);
  const entries = new Uint32Array(2 * hashes.length);
  for (const [from, to] of pieces(hashes.length)) {
    for (let i = from; i < to; i++) {
      const at = next[hashes[i] >>> shift]++;
      entries[2 * at] = first + i;
      entries[2 * at + 1] = offsets[i];
    }
    yield;
  }
  return entries;
}

function powerOfTwo(wanted: number): number {
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

/** The bytes of the longest window. */
export const windowBytesMax = 8;

/** The hash of a window of up to eight bytes: the same as in windows.h. The upper bits are the better ones. */
export function hashWindow(text: Uint8Array, at: number, windowBytes: number, foldAscii: boolean): number {
  const byteAt = (i: number): number => (foldAscii ? lowerByte(text[at + i] ?? 0) : (text[at + i] ?? 0));
  const wordAt = (i: number): number =>
    byteAt(i) | (byteAt(i + 1) << 8) | (byteAt(i + 2) << 16) | (byteAt(i + 3) << 24);
  return hashWords(wordAt(0), wordAt(4), windowBytes);
}

/** The same of a window whose first four bytes are in one word, and the next ones in another; both may have more bytes. */
function hashWords(low: number, high: number, windowBytes: number): number {
  return (
    (Math.imul(low & makeMask(windowBytes), 0x9e3779b1) + Math.imul(high & makeMask(windowBytes - 4), 0x85ebca77)) >>> 0
  );
}

/** The hash of a block: of all of its bytes, or of its first eight and of its last eight. */
export function hashBlock(text: Uint8Array, at: number, blockBytes: number, foldAscii: boolean): number {
  const first = hashWindow(text, at, Math.min(blockBytes, windowBytesMax), foldAscii);
  if (blockBytes <= windowBytesMax) return first;
  return joinHashes(first, hashWindow(text, at + blockBytes - windowBytesMax, windowBytesMax, foldAscii));
}

/** The hash of a block of more than eight bytes. */
function joinHashes(first: number, last: number): number {
  return (first + Math.imul(last, 0xc2b2ae3d)) >>> 0;
}

/** The lowest bytes of a word. */
function makeMask(byteCount: number): number {
  return byteCount >= 4 ? -1 : byteCount <= 0 ? 0 : (1 << (8 * byteCount)) - 1;
}

/** The four bytes at each position of a text, and of the seven positions after it: as if zeros followed it. */
function* readWords(text: Uint8Array): Generator<undefined, Uint32Array> {
  const words = new Uint32Array(text.length + windowBytesMax);
  let word = 0;
  for (const [from, to] of pieces(text.length)) {
    for (let at = text.length - 1 - from; at >= text.length - to; at--) words[at] = word = (word << 8) | text[at];
    yield;
  }
  return words;
}

/** The two bits of a hash in its word of a filter. */
export function filterBits(hash: number): number {
  return (1 << ((hash >>> 12) & 31)) | (1 << ((hash >>> 7) & 31));
}

export function lowerByte(byte: number): number {
  return byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte;
}

/** The exponent of a power of two. */
export function exponent(powerOfTwo: number): number {
  return 31 - Math.clz32(powerOfTwo);
}

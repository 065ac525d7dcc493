import type { SymbolReader } from "../../shard/symbols/symbol-reader.js";
import type { ShardReader } from "../../shard/shard-reader.js";
import { isLetter, lowerByte, type QueryWords } from "./query-words.js";

/** Entries are grouped by this many bits of their hash. */
const bucketBits = 14;
const bucketCount = 1 << bucketBits;
const bucketShift = 32 - bucketBits;

/** A run of more words is not looked up: no name consists of so many. */
const runWordsMax = 6;

/** FNV-1a, of letters and digits in lower case: `buf_io` and `BufIO` have the same key. */
const hashStart = 0x811c9dc5;
const hashPrime = 0x01000193;

function addToHash(hash: number, byte: number): number {
  if (!isLetter(byte)) return hash;
  return Math.imul(hash ^ lowerByte(byte), hashPrime);
}

/**
 * The parts of a shard by the names of their symbols, ignoring case and everything but letters and digits. A look-up may
 * also return parts with another name of the same hash.
 *
 * Built in memory when a shard is first ranked, from the records and the text; 8 bytes per symbol.
 */
export class NameIndex {
  readonly #starts = new Uint32Array(bucketCount + 1);
  readonly #hashes: Uint32Array;
  readonly #parts: Uint32Array;

  constructor(text: ShardReader, symbols: SymbolReader) {
    const hashes = new Uint32Array(symbols.symbolCount);
    const parts = new Uint32Array(symbols.symbolCount);
    let count = 0;
    for (let part = 0; part < symbols.parts.count && count < hashes.length; part++) {
      const end = hashNames(symbols, part, text.content, hashes, count);
      parts.fill(part, count, end);
      count = end;
    }
    this.#hashes = new Uint32Array(count);
    this.#parts = new Uint32Array(count);
    for (let i = 0; i < count; i++) this.#starts[(hashes[i] >>> bucketShift) + 1]++;
    for (let bucket = 0; bucket < bucketCount; bucket++) this.#starts[bucket + 1] += this.#starts[bucket];
    const next = this.#starts.slice();
    for (let i = 0; i < count; i++) {
      const at = next[hashes[i] >>> bucketShift]++;
      this.#hashes[at] = hashes[i];
      this.#parts[at] = parts[i];
    }
  }

  /** Calls `take` for parts that may have a symbol with this key; for some repeatedly. */
  find(key: number, take: (part: number) => void): void {
    const bucket = key >>> bucketShift;
    for (let i = this.#starts[bucket]; i < this.#starts[bucket + 1]; i++)
      if (this.#hashes[i] === key >>> 0) take(this.#parts[i]);
  }
}

/**
 * Appends the hashes of the names of a part to `hashes`, as far as they fit, and returns their number. Of a damaged
 * record, the names before the damage.
 */
function hashNames(reader: SymbolReader, part: number, content: Buffer, hashes: Uint32Array, start: number): number {
  let count = start;
  try {
    const symbols = reader.symbolsOf(part);
    while (count < hashes.length && symbols.next()) {
      let hash = hashStart;
      if (symbols.isStored) for (const byte of symbols.stored) hash = addToHash(hash, byte);
      else for (let at = symbols.from; at < symbols.to; at++) hash = addToHash(hash, content[at]);
      hashes[count++] = hash >>> 0;
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  return count;
}

const known = new WeakMap<SymbolReader, NameIndex>();

/** The index of a shard, which is built when it is first needed. */
export function indexNames(text: ShardReader, symbols: SymbolReader): NameIndex {
  let index = known.get(symbols);
  if (index === undefined) known.set(symbols, (index = new NameIndex(text, symbols)));
  return index;
}

/** A name that the words of a query, in their order, may have. */
export interface NameKey {
  readonly key: number;
  /** Of how many words it consists. */
  readonly wordCount: number;
}

/** The keys of all runs of words. */
export function findNameKeys({ typed }: QueryWords): readonly NameKey[] {
  const keys: NameKey[] = [];
  for (let first = 0; first < typed.length; first++) {
    let hash = hashStart;
    for (let last = first; last < typed.length && last - first < runWordsMax; last++) {
      for (const byte of Buffer.from(typed[last], "latin1")) hash = addToHash(hash, byte);
      if (hash !== hashStart) keys.push({ key: hash >>> 0, wordCount: last - first + 1 });
    }
  }
  return keys;
}

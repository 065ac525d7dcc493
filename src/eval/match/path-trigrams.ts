import { foldedCharacters } from "../../base/ascii-folding.js";
import { trigramAt, trigramBits } from "../../native/kernel/alphabet.js";
import type { PathTable } from "../../shard/text-index.js";

/**
 * Number of bits (as a power of two) to which trigrams are hashed: 8 KiB for each shard and thread. The paths of a shard
 * of Linux (4,000 of them) have about 7,000 distinct trigrams, so a word of five letters that occurs in none passes in
 * one of a thousand shards.
 */
const hashBits = 16;

/**
 * The trigrams that occur in the paths of a shard, regardless of ASCII case: a superset of them, hashed. Most words
 * occur in no path, and looking at a few bits takes a hundredth of the time of a scan over all paths.
 */
export class PathTrigrams {
  /** Whether some path contains a character that folds into ASCII from outside ASCII. */
  readonly hasFoldException: boolean;
  readonly #bits = new Uint32Array((1 << hashBits) / 32);

  constructor(paths: Buffer) {
    this.hasFoldException = holdsFoldException(paths);
    for (let at = 0; at + 2 < paths.length; at++) {
      const bit = hash(trigramAt(paths, at));
      this.#bits[bit >>> 5] |= 1 << (bit & 31);
    }
  }

  /**
   * False if no path contains the literal in any ASCII case; sound because such a path contains each of its trigrams,
   * and trigrams fold case. A literal shorter than a trigram may occur anywhere.
   */
  mayContain(literal: Uint8Array): boolean {
    for (let at = 0; at + 2 < literal.length; at++) {
      const bit = hash(trigramAt(literal, at));
      if (((this.#bits[bit >>> 5] >>> (bit & 31)) & 1) === 0) return false;
    }
    return true;
  }
}

/** Valid as long as the readers: their paths do not change. */
const known = new WeakMap<PathTable, PathTrigrams | undefined>();

/**
 * The trigrams of the paths of a shard. Undefined when they are requested for the first time: for a reader that is used
 * once, as for a revision that is not indexed, a scan is cheaper.
 */
export function findPathTrigrams(reader: PathTable): PathTrigrams | undefined {
  let trigrams = known.get(reader);
  if (trigrams === undefined && known.has(reader)) trigrams = new PathTrigrams(reader.paths);
  known.set(reader, trigrams);
  return trigrams;
}

/** Whether some path contains a character that folds into ASCII from outside ASCII. */
export function holdsFoldException(paths: Buffer): boolean {
  return foldedCharacters.some(({ bytes }) => paths.includes(bytes));
}

/** Multiplicative hashing, as in `ShardFilter`. */
function hash(key: number): number {
  return Math.imul(key << (32 - trigramBits), 0x9e3779b1) >>> (32 - hashBits);
}

import type { Kernel } from "../../native/kernel/kernel.js";
import { overlapBytes } from "../../shard/format.js";
import type { TextIndex } from "../../shard/text-index.js";

/** The posting lists of a literal's trigrams in one shard. */
export interface LiteralLists {
  readonly literal: Buffer;
  /** Indexes in `reader.keys`, the shortest list first; distinct. Empty if some trigram is absent. */
  readonly lists: Uint32Array;
  /** Bytes of the shortest list: the cost of the literal, and a bound on its units. 0 if a trigram is absent. */
  readonly cost: number;
}

const noNumbers = new Uint32Array(0);

/** Reused by all calls: what they return is copied from it. */
const listsFound = new Uint32Array(overlapBytes);

/**
 * Units are decoded here if a list has at most this many bytes: otherwise a rare word would allocate and clear some
 * kilobytes for each shard.
 */
const unitsFound = new Uint32Array(64 * 1024);

/**
 * Finds the lists of `literal` (3 bytes or more). Only its first 64 bytes are looked up: their trigrams are all
 * attributed to the unit in which the literal starts, which is why a plain intersection of the lists keeps every unit
 * in which it can start.
 */
export function lookUpLiteral(reader: TextIndex, kernel: Kernel, literal: Buffer): LiteralLists {
  const start = literal.length > overlapBytes ? literal.subarray(0, overlapBytes) : literal;
  const count = kernel.findLists(reader.keys, reader.postingStart, start, listsFound);
  if (count === 0) return { literal, lists: noNumbers, cost: 0 };
  const shortest = listsFound[0];
  return {
    literal,
    lists: listsFound.slice(0, count),
    cost: reader.postingStart[shortest + 1] - reader.postingStart[shortest],
  };
}

/** The units in which the literal can start, ascending. They include every unit in which it does start. */
export function intersectUnits(reader: TextIndex, kernel: Kernel, { lists, cost }: LiteralLists): Uint32Array {
  if (lists.length === 0) return noNumbers;
  const isShort = cost <= unitsFound.length;
  const units = isShort ? unitsFound : new Uint32Array(cost);
  const count = kernel.unitsOfLists(reader.postings, reader.postingStart, lists, lists.length, units);
  const found = isShort ? units.slice(0, count) : units.subarray(0, count);
  reader.requireUnits(found);
  return found;
}

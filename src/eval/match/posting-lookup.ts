import { trigramAt } from "../../native/kernel/alphabet.js";
import type { Kernel } from "../../native/kernel/kernel.js";
import { overlapBytes } from "../../shard/format.js";
import type { ShardReader } from "../../shard/shard-reader.js";
import { lowerBound } from "../../base/sorted-search.js";

/** Another list is intersected only while it has fewer bytes than this many times the number of remaining units. */
const mergeBytesPerUnit = 64;

/** At most this many lists are intersected with the first: more would rule out almost nothing. */
const mergedListsMax = 5;

/** The posting lists of a literal's trigrams in one shard. */
export interface LiteralLists {
  readonly literal: Buffer;
  /** Indexes in `reader.keys`, the shortest list first; distinct. Empty if some trigram is absent. */
  readonly lists: readonly number[];
  /** Bytes of the shortest list: the cost of the literal, and a bound on its units. 0 if a trigram is absent. */
  readonly cost: number;
}

/**
 * Finds the lists of `literal` (3 bytes or more). Only its first 64 bytes are looked up: their trigrams are all
 * attributed to the unit in which the literal starts, which is why a plain intersection of the lists keeps every unit
 * in which it can start.
 */
export function lookUpLiteral(reader: ShardReader, literal: Buffer): LiteralLists {
  const positions = new Set<number>();
  const last = Math.min(literal.length, overlapBytes) - 3;
  for (let at = 0; at <= last; at++) {
    const position = findKey(reader.keys, trigramAt(literal, at));
    if (position < 0) return { literal, lists: [], cost: 0 };
    positions.add(position);
  }
  const bytesOf = (position: number): number => reader.postingStart[position + 1] - reader.postingStart[position];
  const lists = [...positions].sort((a, b) => bytesOf(a) - bytesOf(b));
  return { literal, lists, cost: bytesOf(lists[0]) };
}

/** The units in which the literal can start, ascending. They include every unit in which it does start. */
export function intersectUnits(reader: ShardReader, kernel: Kernel, found: LiteralLists): Uint32Array {
  if (found.lists.length === 0) return new Uint32Array(0);
  const units = new Uint32Array(found.cost);
  const [first, ...others] = found.lists;
  let count = kernel.decodePostings(reader.postings, reader.postingStart[first], reader.postingStart[first + 1], units);
  reader.requireUnits(units.subarray(0, count));
  for (const position of others.slice(0, mergedListsMax)) {
    const from = reader.postingStart[position];
    const to = reader.postingStart[position + 1];
    if (to - from > count * mergeBytesPerUnit) break;
    count = kernel.intersectPostings(reader.postings, from, to, units, count);
  }
  return units.subarray(0, count);
}

function findKey(keys: Uint32Array, key: number): number {
  const index = lowerBound(keys, key);
  return keys[index] === key ? index : -1;
}

import { classOf, trigramAt, trigramBits } from "./alphabet.js";
import type { Postings } from "./kernel.js";
import { gallop, lowerBound } from "../../base/sorted-search.js";

const trigramCount = 1 << trigramBits;
const trigramMask = trigramCount - 1;

/** By so much a unit reaches into the next one: `overlapBytes` of src/shard/format.ts. */
export const overlapBytes = 64;

/**
 * Reads the text once and records the distinct trigrams of each unit, unit by unit. After that the size of every
 * posting list is known, and a pass over the recorded trigrams writes all lists into one buffer.
 */
export function buildPostings(text: Uint8Array, units: Uint32Array, unitCount: number): Postings {
  if (2 * unitCount > units.length) throw new TypeError("buildPostings: units");
  const lastUnit = new Uint32Array(trigramCount);
  const sizes = new Uint32Array(trigramCount);
  const unitEnds = new Uint32Array(unitCount);
  let noted: Uint32Array = new Uint32Array(65536);
  let count = 0;
  let left = text.length + overlapBytes * unitCount;
  for (let unit = 0; unit < unitCount; unit++) {
    const from = units[2 * unit];
    const to = units[2 * unit + 1];
    left -= to - from;
    if (!(from <= to && to <= text.length && left >= 0)) throw new TypeError("buildPostings: units");
    noted = withRoom(noted, count, to - from);
    count = recordUnit(text, from, to, unit + 1, lastUnit, sizes, noted, count);
    unitEnds[unit] = count;
  }
  return writeLists(noted, unitEnds, lastUnit, sizes);
}

function withRoom(noted: Uint32Array, count: number, more: number): Uint32Array {
  if (noted.length - count >= more) return noted;
  const grown = new Uint32Array(Math.ceil(noted.length * 1.5) + more);
  grown.set(noted.subarray(0, count));
  return grown;
}

/** `number` is the unit number plus 1; 0 in `lastUnit` means no unit. */
function recordUnit(
  text: Uint8Array,
  from: number,
  to: number,
  number: number,
  lastUnit: Uint32Array,
  sizes: Uint32Array,
  noted: Uint32Array,
  count: number,
): number {
  let trigram = (classOf[text[from]] << 7) | classOf[text[from + 1]];
  for (let i = from + 2; i < to; i++) {
    trigram = ((trigram << 7) | classOf[text[i]]) & trigramMask;
    if (lastUnit[trigram] === number) continue;
    sizes[trigram] += varintSize(number - lastUnit[trigram]);
    lastUnit[trigram] = number;
    noted[count++] = trigram;
  }
  return count;
}

function writeLists(noted: Uint32Array, unitEnds: Uint32Array, lastUnit: Uint32Array, sizes: Uint32Array): Postings {
  const keys = new Uint32Array(countNonZero(sizes));
  const offsets = new Uint32Array(keys.length + 1);
  let key = 0;
  let offset = 0;
  for (let trigram = 0; trigram < trigramCount; trigram++) {
    if (sizes[trigram] === 0) continue;
    keys[key] = trigram;
    offsets[key++] = offset;
    offset += sizes[trigram];
    sizes[trigram] = offsets[key - 1];
  }
  offsets[key] = offset;
  const bytes = new Uint8Array(offset);
  lastUnit.fill(0);
  // From here on `sizes` holds the position at which the next number of each list is written.
  for (let unit = 0, i = 0; unit < unitEnds.length; unit++) {
    for (; i < unitEnds[unit]; i++) {
      const trigram = noted[i];
      sizes[trigram] = writeVarint(bytes, sizes[trigram], unit + 1 - lastUnit[trigram]);
      lastUnit[trigram] = unit + 1;
    }
  }
  return { keys, offsets, bytes };
}

function countNonZero(numbers: Uint32Array): number {
  let count = 0;
  for (let i = 0; i < numbers.length; i++) if (numbers[i] !== 0) count++;
  return count;
}

function varintSize(value: number): number {
  let size = 1;
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) size++;
  return size;
}

function writeVarint(out: Uint8Array, at: number, value: number): number {
  for (; value >= 0x80; value >>>= 7) out[at++] = (value & 0x7f) | 0x80;
  out[at++] = value;
  return at;
}

/** For each trigram the number of the last call that saw it, so that the table need not be cleared between calls. */
let lastCall: Uint32Array | undefined;
let callNumber = 0;

export function distinctTrigrams(text: Uint8Array, from: number, to: number, limit: number): number {
  callNumber = (callNumber + 1) >>> 0;
  if (lastCall === undefined || callNumber === 0) {
    lastCall = new Uint32Array(trigramCount);
    callNumber = 1;
  }
  let distinct = 0;
  let trigram = (classOf[text[from]] << 7) | classOf[text[from + 1]];
  for (let i = from + 2; i < to && distinct <= limit; i++) {
    trigram = ((trigram << 7) | classOf[text[i]]) & trigramMask;
    if (lastCall[trigram] === callNumber) continue;
    lastCall[trigram] = callNumber;
    distinct++;
  }
  return distinct;
}

/** Decodes the varints of one posting list. Stops at a number that is truncated, zero, or too large for a unit. */
class Deltas {
  readonly #postings: Uint8Array;
  readonly #to: number;
  #at: number;
  /** The last unit number plus 1. */
  number = 0;

  constructor(postings: Uint8Array, from: number, to: number) {
    this.#postings = postings;
    this.#at = from;
    this.#to = to;
  }

  /** Advances to the next unit; returns false at the end. */
  next(): boolean {
    let delta = 0;
    for (let scale = 1; this.#at < this.#to && scale <= 2 ** 28; scale *= 128) {
      const byte = this.#postings[this.#at++];
      delta += (byte & 0x7f) * scale;
      if (byte >= 0x80) continue;
      this.number += delta;
      return delta > 0 && this.number < 2 ** 32;
    }
    return false;
  }
}

export function decodePostings(postings: Uint8Array, from: number, to: number, out: Uint32Array): number {
  const deltas = new Deltas(postings, from, to);
  let count = 0;
  while (deltas.next()) out[count++] = deltas.number - 1;
  return count;
}

export function intersectPostings(
  postings: Uint8Array,
  from: number,
  to: number,
  units: Uint32Array,
  count: number,
): number {
  const deltas = new Deltas(postings, from, to);
  let left = 0;
  let next = 0;
  while (next < count && deltas.next()) {
    const unit = deltas.number - 1;
    while (next < count && units[next] < unit) next++;
    if (next < count && units[next] === unit) units[left++] = units[next++];
  }
  return left;
}

/** Another list is intersected only while it has fewer bytes than this many times the number of remaining units. */
const mergeBytesPerUnit = 64;

/** At most this many lists are intersected with the first: more would rule out almost nothing. */
const mergedListsMax = 5;

export function findLists(keys: Uint32Array, starts: Uint32Array, literal: Uint8Array, lists: Uint32Array): number {
  const found = new Set<number>();
  for (let at = 0; at + 3 <= literal.length; at++) {
    const key = trigramAt(literal, at);
    const list = lowerBound(keys, key);
    if (keys[list] !== key) return 0;
    found.add(list);
  }
  const bytesOf = (list: number): number => starts[list + 1] - starts[list];
  lists.set([...found].sort((a, b) => bytesOf(a) - bytesOf(b)));
  return found.size;
}

export function unitsOfLists(
  postings: Uint8Array,
  starts: Uint32Array,
  lists: Uint32Array,
  listCount: number,
  units: Uint32Array,
): number {
  let count = 0;
  for (let i = 0; i < listCount && i <= mergedListsMax; i++) {
    const from = starts[lists[i]];
    const to = starts[lists[i] + 1];
    if (!(from <= to && to <= postings.length))
      throw new TypeError("unitsOfLists: a list does not lie within the postings");
    if (i === 0) count = decodePostings(postings, from, to, units);
    else if (to - from > count * mergeBytesPerUnit) break;
    else count = intersectPostings(postings, from, to, units, count);
  }
  return count;
}

export function contentsOfUnits(
  units: Uint32Array,
  unitCount: number,
  firstUnits: Uint32Array,
  out: Uint32Array,
): number {
  if (unitCount > units.length) throw new TypeError("contentsOfUnits: units");
  const contentCount = firstUnits.length - 1;
  let count = 0;
  let end = 0;
  let content = 0;
  for (let i = 0; i < unitCount; i++) {
    if (units[i] < end) continue;
    content = gallop(firstUnits, content, units[i] + 1, contentCount + 1);
    if (content > contentCount) break;
    if (content === 0) continue;
    if (count === out.length) throw new TypeError("contentsOfUnits: out");
    out[count++] = content - 1;
    end = firstUnits[content];
  }
  return count;
}

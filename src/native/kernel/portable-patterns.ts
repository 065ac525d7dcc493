import { overlapBytes, unitsOfLists } from "./portable-postings.js";
import { trigramAt } from "./alphabet.js";
import type { PatternUnits, WindowScan } from "./pattern-kernel.js";
import { exponent, filterBits, hashBlock, hashWindow, lowerByte } from "./pattern-table.js";

/** As `PatternKernel.scanWindows`. */
export function scanWindows(scan: WindowScan): boolean {
  const { ranges, rangeCount, group, workMax, cursor } = scan;
  const blockBytes = group.windowBytes + group.stride - 1;
  let left = workMax;
  for (; cursor[0] < rangeCount; cursor[0]++, cursor[1] = 0) {
    const [from, to, end] = ranges.subarray(3 * cursor[0], 3 * cursor[0] + 3);
    const isSameContent = cursor[0] > 0 && ranges[3 * cursor[0] - 1] === end;
    if (cursor[1] === 0 && !isSameContent) cursor[3] = 0;
    // The end of the blocks that contain the last window, and whether it passed.
    let windowEnd = 0;
    let passes = false;
    for (let at = Math.max(cursor[1], from); at < to + group.offsetMax && at + blockBytes <= end; at++) {
      if (at >= windowEnd) {
        const window = Math.ceil(at / group.stride) * group.stride;
        passes = isInFilter(group.windowFilter, hashWindow(scan.text, window, group.windowBytes, scan.table.foldAscii));
        windowEnd = window + 1;
      }
      const before = cursor[3];
      if (left <= 0 || (passes && !compareAt(scan, at, blockBytes, { from, to, end }))) {
        cursor[1] = at;
        return false;
      }
      cursor[3]++;
      left -= cursor[3] - before;
    }
  }
  return true;
}

interface Range {
  readonly from: number;
  readonly to: number;
  readonly end: number;
}

/** Returns false if there is no room for the literals with the block at this position. */
function compareAt(
  { text, table, group, ends, hits, cursor }: WindowScan,
  at: number,
  blockBytes: number,
  range: Range,
): boolean {
  const hash = hashBlock(text, at, blockBytes, table.foldAscii);
  if (group.stride > 1 && !isInFilter(group.blockFilter, hash)) return true;
  const bucket = hash >>> (32 - exponent(group.buckets.length - 1));
  const entries = group.entries.subarray(2 * group.buckets[bucket], 2 * group.buckets[bucket + 1]);
  if (cursor[2] + entries.length / 2 > hits.length / 3) return false;
  for (let i = 0; i < entries.length; i += 2) {
    const [literal, start] = [entries[i], at - entries[i + 1]];
    const length = table.starts[literal + 1] - table.starts[literal];
    cursor[3]++;
    if (start < range.from || start >= range.to || start + length > range.end || start < ends[literal]) continue;
    let equal = 0;
    for (const first = table.starts[literal]; equal < length; equal++) {
      const byte = text[start + equal];
      if ((table.foldAscii ? lowerByte(byte) : byte) !== table.literals[first + equal]) break;
    }
    cursor[3] += equal;
    if (equal < length) continue;
    ends[literal] = start + length;
    hits.set([start, start + length, literal], 3 * cursor[2]++);
  }
  return true;
}

function isInFilter(filter: Uint32Array, hash: number): boolean {
  const bits = filterBits(hash);
  return (filter[hash >>> (32 - exponent(filter.length))] & bits) === bits;
}

/**
 * With more literals than twice this, so many are looked up first: whether the units cost too much, or are most of those of
 * the shard, is mostly clear then.
 */
const sampledLiterals = 64;

/** A literal costs at least as much as this many bytes of posting lists. */
const literalCost = 64;

/** As `PatternKernel.unitsOfPatterns`. */
export function unitsOfPatterns(request: PatternUnits): boolean {
  const { starts, literalFrom, literalTo, costMax, units, totals } = request;
  const placeOf = new Map<number, number>();
  request.keys.forEach((key, place) => placeOf.set(key, place));
  const step = Math.floor((literalTo - literalFrom) / sampledLiterals);
  if (step > 1) {
    // Twice as much: a sample is not exact.
    const sample = findLists(request, placeOf, step, Math.floor((2 * costMax) / step));
    if (sample === undefined) return false;
    const count = sample.reduce((sum, lists) => sum + findUnits(request, lists).length, 0);
    if (count * step > (32 * units.length) / 2) return false;
  }
  const found = findLists(request, placeOf, 1, costMax);
  if (found === undefined) return false;
  totals[0] = found.length;
  totals[1] = found.reduce((sum, [shortest]) => sum + bytesOfList(starts, shortest), 0);
  for (const lists of found) for (const unit of findUnits(request, lists)) units[unit >>> 5] |= 1 << (unit & 31);
  return true;
}

function bytesOfList(starts: Uint32Array, list: number): number {
  return starts[list + 1] - starts[list];
}

/** The units that are in all lists. */
function findUnits({ postings, starts }: PatternUnits, lists: readonly number[]): Uint32Array {
  const units = new Uint32Array(bytesOfList(starts, lists[0]));
  return units.subarray(0, unitsOfLists(postings, starts, Uint32Array.from(lists), lists.length, units));
}

/** The lists of each literal that can occur, the shortest first; undefined if that costs too much. */
function findLists(
  { starts, postings, table, literalFrom, literalTo }: PatternUnits,
  placeOf: ReadonlyMap<number, number>,
  step: number,
  costMax: number,
): readonly (readonly number[])[] | undefined {
  const found: number[][] = [];
  let cost = 0;
  for (let literal = literalFrom; literal < literalTo; literal += step) {
    const [from, to] = table.starts.subarray(literal, literal + 2);
    if (to - from < 3) return undefined;
    const places = new Set<number | undefined>();
    // The trigrams of these first bytes are all attributed to the unit in which the literal starts.
    for (let at = from; at + 3 <= Math.min(to, from + overlapBytes); at++)
      places.add(placeOf.get(trigramAt(table.literals, at)));
    const lists = [...places].filter((place) => place !== undefined);
    if (lists.length < places.size) continue;
    lists.sort((a, b) => bytesOfList(starts, a) - bytesOfList(starts, b));
    // The units are allocated by the length of this list.
    const [listFrom, listTo] = starts.subarray(lists[0], lists[0] + 2);
    if (!(listFrom <= listTo && listTo <= postings.length))
      throw new TypeError("unitsOfPatterns: a list does not lie within the postings");
    cost += literalCost + bytesOfList(starts, lists[0]);
    if (cost > costMax) return undefined;
    found.push(lists);
  }
  return found;
}

/** As `PatternKernel.sortLabels`. */
export function sortLabels(labels: Uint32Array, count: number): void {
  if (3 * count > labels.length) throw new TypeError("sortLabels: labels");
  const triples = Array.from({ length: count }, (_, i) => labels.slice(3 * i, 3 * i + 3));
  triples.sort((a, b) => a[0] - b[0] || b[1] - a[1] || a[2] - b[2]);
  triples.forEach((triple, i) => labels.set(triple, 3 * i));
}

import { unitsOfLists } from "./portable-lists.js";
import type { TrigramSets, WindowGroup, WindowScan } from "./pattern-kernel.js";
import { exponent, filterBits, hashWindow, lowerByte } from "./window-hash.js";

/** As `PatternKernel.scanWindows`. */
export function scanWindows(scan: WindowScan): boolean {
  const { ranges, rangeCount, group, workMax, cursor } = scan;
  let left = workMax;
  for (; cursor[0] < rangeCount; cursor[0]++, cursor[1] = 0) {
    const [from, to, end] = ranges.subarray(3 * cursor[0], 3 * cursor[0] + 3);
    const isSameContent = cursor[0] > 0 && ranges[3 * cursor[0] - 1] === end;
    if (cursor[1] === 0 && !isSameContent) cursor[3] = 0;
    let at = Math.max(cursor[1], Math.ceil(from / group.stride) * group.stride);
    for (; at < to + group.stride - 1 && at + group.windowBytes <= end; at += group.stride) {
      const before = cursor[3];
      if (left <= 0 || !compareAt(scan, at, { from, to, end })) {
        cursor[1] = at;
        return false;
      }
      cursor[3] += group.stride;
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

/** Returns false if there is no room for the literals with the window at this position. */
function compareAt({ text, table, group, ends, hits, cursor }: WindowScan, at: number, range: Range): boolean {
  const entries = entriesAt(group, hashWindow(text, at, group.windowBytes, table.foldAscii));
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

function entriesAt({ filter, buckets, entries }: WindowGroup, hash: number): Uint32Array {
  const bits = filterBits(hash);
  if ((filter[hash >>> (32 - exponent(filter.length))] & bits) !== bits) return entries.subarray(0, 0);
  const bucket = hash >>> (32 - exponent(buckets.length - 1));
  return entries.subarray(2 * buckets[bucket], 2 * buckets[bucket + 1]);
}

/** As `PatternKernel.unitsOfPatterns`. */
export function unitsOfPatterns(
  keys: Uint32Array,
  starts: Uint32Array,
  postings: Uint8Array,
  sets: TrigramSets,
  costMax: number,
  units: Uint32Array,
  totals: Uint32Array,
): boolean {
  const placeOf = new Map<number, number>();
  keys.forEach((key, place) => placeOf.set(key, place));
  const bytesOf = (list: number): number => starts[list + 1] - starts[list];
  totals.fill(0);
  for (let literal = 0; literal + 1 < sets.starts.length; literal++) {
    const numbers = sets.numbers.subarray(sets.starts[literal], sets.starts[literal + 1]);
    if (numbers.length === 0) return false;
    const places = [...numbers].map((number) => placeOf.get(sets.keys[number]));
    const lists = places.filter((place) => place !== undefined).sort((a, b) => bytesOf(a) - bytesOf(b));
    if (lists.length < places.length) continue;
    totals[0]++;
    totals[1] += bytesOf(lists[0]);
    if (totals[1] > costMax) return false;
    const found = new Uint32Array(bytesOf(lists[0]));
    const count = unitsOfLists(postings, starts, Uint32Array.from(lists), lists.length, found);
    for (const unit of found.subarray(0, count)) units[unit >>> 5] |= 1 << (unit & 31);
  }
  return true;
}

/** As `PatternKernel.sortLabels`. */
export function sortLabels(labels: Uint32Array, count: number): void {
  const triples = Array.from({ length: count }, (_, i) => labels.slice(3 * i, 3 * i + 3));
  triples.sort((a, b) => a[0] - b[0] || b[1] - a[1] || a[2] - b[2]);
  triples.forEach((triple, i) => labels.set(triple, 3 * i));
}

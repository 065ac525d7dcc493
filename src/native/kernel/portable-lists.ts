import { gallop, lowerBound } from "../../base/sorted-search.js";
import { trigramAt } from "./alphabet.js";
import { decodePostings, intersectPostings } from "./portable-postings.js";

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

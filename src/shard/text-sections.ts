import type { Postings } from "../native/kernel/kernel.js";
import { overlapBytes } from "./format.js";

const kelvinSign = Buffer.from("\u212a");
const longS = Buffer.from("\u017f");

/**
 * Divides every content into units of this size; an empty content has none. `units` contains pairs (from, to), where `to` includes
 * the overlap.
 */
export function makeUnits(
  contentStart: Uint32Array,
  unitBytes: number,
): { contentFirstUnit: Uint32Array; units: Uint32Array } {
  const contentCount = contentStart.length - 1;
  const contentFirstUnit = new Uint32Array(contentCount + 1);
  for (let i = 0; i < contentCount; i++) {
    contentFirstUnit[i + 1] = contentFirstUnit[i] + Math.ceil((contentStart[i + 1] - contentStart[i]) / unitBytes);
  }
  const units = new Uint32Array(contentFirstUnit[contentCount] * 2);
  let at = 0;
  for (let i = 0; i < contentCount; i++) {
    const end = contentStart[i + 1];
    for (let from = contentStart[i]; from < end; from += unitBytes) {
      units[at++] = from;
      units[at++] = Math.min(end, from + unitBytes + overlapBytes);
    }
  }
  return { contentFirstUnit, units };
}

/** Numbers of the contents that contain U+212A or U+017F, the two characters outside ASCII that fold into it. */
export function findFoldExceptions(text: Buffer, contentStart: Uint32Array): Uint32Array {
  const found = new Set<number>();
  for (const character of [kelvinSign, longS]) {
    let content = 0;
    for (let at = text.indexOf(character); at >= 0; at = text.indexOf(character, contentStart[content + 1])) {
      while (contentStart[content + 1] <= at) content++;
      found.add(content);
    }
  }
  return Uint32Array.from(found).sort();
}

/** Of a text without an index. */
export const noPostings: Postings = { keys: new Uint32Array(0), offsets: new Uint32Array(1), bytes: new Uint8Array(0) };

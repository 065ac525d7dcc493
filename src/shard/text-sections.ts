import { foldedCharacters } from "../base/ascii-folding.js";
import type { Postings } from "../native/kernel/kernel.js";
import { overlapBytes } from "./format.js";
import type { ShardReader } from "./shard-reader.js";

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

/**
 * Numbers of the contents that contain U+212A or U+017F, the two characters outside ASCII that fold into it. Those in
 * `ascii` are known to be ASCII.
 */
export function findFoldExceptions(
  text: Buffer,
  contentStart: Uint32Array,
  ascii: ReadonlySet<number> = noContents,
): Uint32Array {
  const found = new Set<number>();
  const contentCount = contentStart.length - 1;
  for (let first = 0; first < contentCount; ) {
    if (ascii.has(first)) {
      first++;
      continue;
    }
    let end = first + 1;
    while (end < contentCount && !ascii.has(end)) end++;
    for (const { bytes } of foldedCharacters)
      addContentsWith(bytes, text, contentStart.subarray(first, end + 1), first, found);
    first = end;
  }
  return Uint32Array.from(found).sort();
}

const noContents: ReadonlySet<number> = new Set();

/** `starts` has the starts of adjacent contents, of which the first has the number `first`, and the end of the last one. */
function addContentsWith(
  character: Buffer,
  text: Buffer,
  starts: Uint32Array,
  first: number,
  found: Set<number>,
): void {
  const searched = text.subarray(0, starts[starts.length - 1]);
  let content = 0;
  for (
    let at = searched.indexOf(character, starts[0]);
    at >= 0;
    at = searched.indexOf(character, starts[content + 1])
  ) {
    while (starts[content + 1] <= at) content++;
    found.add(first + content);
  }
}

/** Of a text without an index. */
export const noPostings: Postings = { keys: new Uint32Array(0), offsets: new Uint32Array(1), bytes: new Uint8Array(0) };

/**
 * Texts with posting lists, as a shard has them: contents, the units of each, and the lists that name units. What finds
 * a pattern in the contents of a shard also finds it in the texts of a history shard.
 */
export type TextIndex = Pick<
  ShardReader,
  | "contentCount"
  | "contentStart"
  | "contentFirstUnit"
  | "foldExceptions"
  | "hasPostings"
  | "keys"
  | "postingStart"
  | "postings"
  | "content"
  | "unitBytes"
  | "requireUnits"
>;

/** Paths as a shard has them, one per document, and the languages of the documents. */
export type PathTable = Pick<
  ShardReader,
  "documentCount" | "pathStart" | "paths" | "path" | "plainPath" | "languages" | "languageNumber"
>;

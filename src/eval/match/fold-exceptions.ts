import { foldedCharacters } from "../../base/ascii-folding.js";
import { cursorWords, type Kernel } from "../../native/kernel/kernel.js";
import type { StopCheck } from "../../protocol/stop-check.js";
import type { TextIndex } from "../../shard/text-index.js";
import { scanBytesMax } from "./content-work.js";

/** A content with more characters that fold into ASCII is searched by RE2, and so is one for a longer literal. */
const placesMax = 64;
const literalBytesMax = 256;

/** The length of the longest of these characters. */
const characterBytesMax = 3;

/** Where these characters are in a content, as offsets into the text of the shard; undefined if there are too many. */
type Places = readonly number[] | undefined;

/** By content. Valid as long as the readers: their texts do not change. */
const known = new WeakMap<TextIndex, Map<number, Places>>();

const folded = foldedCharacters.map(({ letter, bytes }) => [bytes.toString("latin1"), letter] as const);

/**
 * Whether a content with U+212A or U+017F may match a literal when case is ignored. For most contents it is false, so they
 * need not be searched by RE2, which takes twenty times as long and has to be compiled first.
 *
 * A match is either ASCII, which the kernel finds, or lies around one of these characters, of which most files have few.
 * Caller guarantees: the literal is ASCII in lower case, and the text of `reader` does not change.
 */
export function mayMatchException(
  reader: TextIndex,
  content: number,
  literal: Buffer,
  kernel: Kernel,
  stop: StopCheck,
): boolean {
  const { content: text, contentStart } = reader;
  const [start, end] = [contentStart[content], contentStart[content + 1]];
  const places = literal.length > literalBytesMax ? undefined : findPlaces(reader, content);
  if (places === undefined) return true;
  const needle = literal.toString("latin1");
  const reach = characterBytesMax * literal.length;
  if (places.some((at) => fold(text.subarray(Math.max(start, at - reach), Math.min(end, at + reach))).includes(needle)))
    return true;
  const rows = new Uint32Array(2);
  const cursor = new Uint32Array(4);
  const ranges = Uint32Array.of(start, end, end);
  while (!kernel.scan(text, ranges, 1, literal, true, scanBytesMax, rows, cursor)) {
    if (cursor[cursorWords.rows] > 0) return true;
    stop.check();
  }
  return cursor[cursorWords.rows] > 0;
}

function findPlaces(reader: TextIndex, content: number): Places {
  let ofReader = known.get(reader);
  if (ofReader === undefined) known.set(reader, (ofReader = new Map()));
  if (!ofReader.has(content)) ofReader.set(content, makePlaces(reader, content));
  return ofReader.get(content);
}

function makePlaces({ content: text, contentStart }: TextIndex, content: number): Places {
  const places: number[] = [];
  const own = text.subarray(0, contentStart[content + 1]);
  for (const { bytes } of foldedCharacters) {
    for (let at = own.indexOf(bytes, contentStart[content]); at >= 0; at = own.indexOf(bytes, at + 1)) {
      if (places.length === placesMax) return undefined;
      places.push(at);
    }
  }
  return places;
}

/** The text in lower case, one character per byte (latin1), in which these characters are the letters that match them. */
function fold(text: Buffer): string {
  const bytes = text.toString("latin1");
  return folded.reduce((all, [character, letter]) => all.replaceAll(character, letter), bytes).toLowerCase();
}

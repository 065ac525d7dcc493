import type { Kernel } from "../../native/kernel/kernel.js";
import type { StopCheck } from "../../protocol/stop-check.js";
import type { TextIndex } from "../../shard/text-index.js";

/** A character outside ASCII that a letter of a pattern matches if case is ignored. */
interface Folded {
  readonly letter: number;
  readonly bytes: Buffer;
}

const kelvinSign: Folded = { letter: "k".charCodeAt(0), bytes: Buffer.from("\u212a") };
const longS: Folded = { letter: "s".charCodeAt(0), bytes: Buffer.from("\u017f") };
const all = [kelvinSign, longS];

/** A content with more of these characters is searched by RE2. */
const placesMax = 64;

/** The kernel returns after this much work, so that the stop flag can be checked. */
const scanBytesMax = 4 * 1024 * 1024;

/** Where the characters are in a content, as offsets into the text of the shard; undefined if there are too many. */
type Places = readonly { readonly folded: Folded; readonly at: number }[] | undefined;

/** By content. Valid as long as the readers: their texts do not change. */
const known = new WeakMap<TextIndex, Map<number, Places>>();

/**
 * Whether a content with U+212A or U+017F may match a literal if case is ignored; false in most. Other such contents have to
 * be searched by RE2, which takes twenty times as long as this, and has to be compiled first.
 *
 * A match is either ASCII, which the kernel finds, or it has one of these characters, of which most files have few.
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
  const places = findPlaces(reader, content);
  if (places === undefined) return true;
  for (const { folded, at } of places)
    if (matchesAt(text.subarray(start, end), at - start, folded, literal)) return true;
  const rows = new Uint32Array(2);
  const cursor = new Uint32Array(4);
  const ranges = Uint32Array.of(start, end, end);
  while (!kernel.scan(text, ranges, 1, literal, true, scanBytesMax, rows, cursor)) {
    if (cursor[2] > 0) return true;
    stop.check();
  }
  return cursor[2] > 0;
}

function findPlaces(reader: TextIndex, content: number): Places {
  let ofReader = known.get(reader);
  if (ofReader === undefined) known.set(reader, (ofReader = new Map()));
  if (!ofReader.has(content)) ofReader.set(content, makePlaces(reader, content));
  return ofReader.get(content);
}

function makePlaces({ content: text, contentStart }: TextIndex, content: number): Places {
  const places: { folded: Folded; at: number }[] = [];
  const end = contentStart[content + 1];
  for (const folded of all) {
    const own = text.subarray(0, end);
    for (let at = own.indexOf(folded.bytes, contentStart[content]); at >= 0; at = own.indexOf(folded.bytes, at + 1)) {
      if (places.length === placesMax) return undefined;
      places.push({ folded, at });
    }
  }
  return places;
}

/** Whether the literal matches with one of its letters at this character. */
function matchesAt(text: Buffer, at: number, { letter, bytes }: Folded, literal: Buffer): boolean {
  for (let i = literal.indexOf(letter); i >= 0; i = literal.indexOf(letter, i + 1))
    if (matchesBefore(text, at, literal, i) && matchesAfter(text, at + bytes.length, literal, i + 1)) return true;
  return false;
}

/** Whether the first `count` letters match the text that ends at `end`. */
function matchesBefore(text: Buffer, end: number, literal: Buffer, count: number): boolean {
  let to = end;
  for (let i = count - 1; i >= 0; i--) {
    const folded = all.find(({ letter, bytes }) => letter === literal[i] && endsWith(text, to, bytes));
    if (folded === undefined && (to === 0 || lower(text[to - 1]) !== literal[i])) return false;
    to -= folded?.bytes.length ?? 1;
  }
  return true;
}

/** Whether the letters from `from` on match the text that begins at `start`. */
function matchesAfter(text: Buffer, start: number, literal: Buffer, from: number): boolean {
  let at = start;
  for (let i = from; i < literal.length; i++) {
    const folded = all.find(({ letter, bytes }) => letter === literal[i] && endsWith(text, at + bytes.length, bytes));
    if (folded === undefined && lower(text[at]) !== literal[i]) return false;
    at += folded?.bytes.length ?? 1;
  }
  return true;
}

function endsWith(text: Buffer, end: number, bytes: Buffer): boolean {
  return (
    end >= bytes.length && end <= text.length && text.compare(bytes, 0, bytes.length, end - bytes.length, end) === 0
  );
}

/** An ASCII letter in lower case; other bytes as they are, and undefined past the end. */
function lower(byte: number | undefined): number | undefined {
  return byte !== undefined && byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte;
}

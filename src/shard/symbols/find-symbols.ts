import type { ContentSymbols } from "./content-symbols.js";
import type { PartText } from "./part-names.js";
import { RecordCursor } from "./record-cursor.js";

/**
 * The symbols of a record whose names begin at `starts` among its names, each of which a newline follows. `starts`
 * ascend, and reading ends with the last of them. Throws `RangeError` if something is beyond the record or the text, or
 * if no name begins there.
 */
export function findInRecord(
  record: Uint8Array,
  starts: ArrayLike<number>,
  text: PartText,
  kindNames: readonly string[],
  nameAt: (from: number, to: number) => string,
  lineOf: (offset: number) => number,
): ContentSymbols {
  const names: string[] = [];
  const lines: number[] = [];
  const offsets: number[] = [];
  const kinds: string[] = [];
  const containers: string[] = [];
  const cursor = new RecordCursor(record);
  const count = starts.length === 0 ? 0 : cursor.skipHead();
  const found = { names, lines, offsets, kinds, containers };
  let nameStart = 0;
  let end = text.from;
  let reference = 1;
  let read = 1;
  let container = "";
  for (let i = 0; i < count && names.length < starts.length; i++) {
    const head = cursor.number();
    const length = cursor.number();
    const isStored = head % 2 === 1;
    const stored = isStored ? cursor.bytes(length) : undefined;
    const from = end + head / 2;
    if (!isStored) end = from + length;
    reference = cursor.number() || reference;
    const kind = cursor.number();
    if (nameStart === starts[names.length]) {
      if (end > text.to) throw new RangeError("a name extends beyond its text");
      if (kind >= kindNames.length) throw new RangeError("no such kind");
      names.push(stored === undefined ? nameAt(from, end) : Buffer.from(stored).toString("latin1"));
      lines.push(isStored ? (head - 1) / 2 : lineOf(from));
      offsets.push(isStored ? -1 : from - text.from);
      kinds.push(kindNames[kind]);
      if (reference !== read) container = reference === 1 ? "" : readContainer(record, reference - 2);
      read = reference;
      containers.push(container);
    }
    nameStart += length + 1;
  }
  if (names.length < starts.length) throw new RangeError("no name begins there");
  return found;
}

function readContainer(record: Uint8Array, index: number): string {
  const cursor = new RecordCursor(record);
  cursor.number();
  if (index >= cursor.number()) throw new RangeError("no such container");
  for (let left = index; left > 0; left--) cursor.bytes(cursor.number());
  return Buffer.from(cursor.bytes(cursor.number())).toString("latin1");
}

import { RecordCursor } from "./record-cursor.js";

/** The text of a part, as a range of the texts of its shard. */
export interface PartText {
  readonly content: Uint8Array;
  readonly from: number;
  readonly to: number;
}

const newline = 10;

/**
 * Writes the names of a record, each followed by a newline, to `[outFrom, outTo)` of `out`. Throws `RangeError` if they
 * have another size, or if something is beyond the record or the text.
 */
export function copyPartNames(
  record: Uint8Array,
  { content, from, to }: PartText,
  out: Uint8Array,
  outFrom: number,
  outTo: number,
): void {
  let at = outFrom;
  let end = from;
  const cursor = new RecordCursor(record);
  const count = record.length === 0 ? 0 : cursor.skipHead();
  for (let i = 0; i < count; i++) {
    const head = cursor.number();
    const length = cursor.number();
    if (at + length >= outTo) throw new RangeError("a part has more names than space for them");
    if (head % 2 === 1) out.set(cursor.bytes(length), at);
    else {
      const start = end + head / 2;
      end = start + length;
      if (end > to) throw new RangeError("a name extends beyond its text");
      for (let k = 0; k < length; k++) out[at + k] = content[start + k];
    }
    at += length;
    out[at++] = newline;
    cursor.number();
    cursor.number();
  }
  if (at !== outTo) throw new RangeError("a part has fewer names than space for them");
}

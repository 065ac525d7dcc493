import { RecordCursor } from "../../shard/symbols/record-cursor.js";
import type { SymbolReader } from "../../shard/symbols/symbol-reader.js";

/** More symbols of a file are not looked at. */
const placesMax = 4096;

/** Where the names of symbols are in one text, ascending and disjoint; positions are relative to the text. */
export class SymbolPlaces {
  count = 0;
  readonly starts = new Uint32Array(placesMax);
  readonly ends = new Uint32Array(placesMax);
  readonly kinds = new Uint16Array(placesMax);
  /** By symbol: the number of its container in `containers`, or -1. */
  readonly containerNumbers = new Int32Array(placesMax);
  readonly containers: Uint8Array[] = [];

  /** Reads the symbols of a part whose names are in its text. Of a damaged record, the part before the damage. */
  read(symbols: SymbolReader, part: number): void {
    this.count = 0;
    this.containers.length = 0;
    const record = symbols.record(part);
    if (record.length === 0) return;
    try {
      this.#read(new RecordCursor(record));
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
  }

  #read(cursor: RecordCursor): void {
    const symbolCount = cursor.number();
    for (let left = cursor.number(); left > 0; left--) this.containers.push(cursor.bytes(cursor.number()));
    let end = 0;
    let container = -1;
    for (let i = 0; i < symbolCount && this.count < placesMax; i++) {
      const head = cursor.number();
      const length = cursor.number();
      const isStored = head % 2 === 1;
      if (isStored) cursor.bytes(length);
      const reference = cursor.number();
      if (reference > 0) container = reference - 2;
      const kind = cursor.number();
      if (isStored) continue;
      const start = end + head / 2;
      end = start + length;
      this.starts[this.count] = start;
      this.ends[this.count] = end;
      this.kinds[this.count] = kind;
      this.containerNumbers[this.count++] = container;
    }
  }
}

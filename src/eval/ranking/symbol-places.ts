import type { RecordSymbols } from "../../native/kernel/record-symbols.js";
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

  /**
   * Reads the symbols of a part whose names are in its text and begin before `end`. Of a damaged record, those before the
   * damage.
   */
  read(symbols: SymbolReader, part: number, end: number): void {
    this.count = 0;
    this.containers.length = 0;
    try {
      this.#read(symbols.symbolsOf(part, this.containers), end);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
  }

  #read(symbols: RecordSymbols, end: number): void {
    const textFrom = symbols.from;
    let container = -1;
    while (this.count < placesMax && symbols.next()) {
      if (symbols.reference > 0) container = symbols.reference - 2;
      if (symbols.isStored) continue;
      if (symbols.from - textFrom >= end) break;
      this.starts[this.count] = symbols.from - textFrom;
      this.ends[this.count] = symbols.to - textFrom;
      this.kinds[this.count] = symbols.kind;
      this.containerNumbers[this.count++] = container;
    }
  }
}

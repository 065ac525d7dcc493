import { placeWordCount, type SymbolKernel } from "../../native/kernel/symbol-kernel.js";
import type { SymbolReader } from "../../shard/symbols/symbol-reader.js";
import type { Rows } from "../match/rows.js";

/** More symbols of a file are not looked at. */
const placesMax = 4096;

/** The symbols of one text whose names contain an occurrence of a word; positions are relative to the text. */
export class SymbolPlaces {
  count = 0;
  readonly starts = new Uint32Array(placesMax);
  readonly ends = new Uint32Array(placesMax);
  readonly kinds = new Uint16Array(placesMax);
  /** By symbol: the number of its container in `containers`, or -1. */
  readonly containerNumbers = new Int32Array(placesMax);
  readonly #words = new Uint32Array(placesMax * placeWordCount);
  #symbols: SymbolReader | undefined;
  #part = 0;
  #containers: readonly Uint8Array[] | undefined;

  /** Those of a part, which are ascending and disjoint. Of a damaged record, those before the damage. */
  read(symbols: SymbolReader, part: number, rows: Rows, kernel: Pick<SymbolKernel, "symbolsAtRows">): void {
    this.#symbols = symbols;
    this.#part = part;
    this.#containers = undefined;
    const { from: textFrom, to: textTo } = symbols.textRange(part);
    const [from, to] = symbols.recordRange(part);
    const { records } = symbols;
    const words = this.#words;
    const { words: found, count } = rows;
    this.count = kernel.symbolsAtRows(records, from, to, textFrom, textTo, found, 0, count, placesMax, words);
    for (let i = 0; i < this.count; i++) {
      this.starts[i] = words[placeWordCount * i] - textFrom;
      this.ends[i] = words[placeWordCount * i + 1] - textFrom;
      this.kinds[i] = words[placeWordCount * i + 2];
      this.containerNumbers[i] = words[placeWordCount * i + 3] - 2;
    }
  }

  /** The names of the containers of the text, read when they are first needed. */
  get containers(): readonly Uint8Array[] {
    return (this.#containers ??= this.#readContainers());
  }

  #readContainers(): readonly Uint8Array[] {
    const containers: Uint8Array[] = [];
    try {
      this.#symbols?.symbolsOf(this.#part, containers);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
    return containers;
  }
}

import { findSymbolKind } from "../../model/symbol-kind.js";
import type { SymbolKernel } from "../../native/kernel/symbol-kernel.js";
import { contentPaddingBytes } from "../format.js";
import { ShardReader } from "../shard-reader.js";
import { makeUnits } from "../text-sections.js";
import type { SymbolReader } from "./symbol-reader.js";

/**
 * A shard as a search for symbols sees it: it has the same documents, and the content of a part is the names of its
 * symbols, each followed by a newline. Names are copied from the text when `fill` is called, before that they are zeros.
 */
export class SymbolView extends ShardReader {
  override readonly contentCount: number;
  override readonly contentStart: Uint32Array;
  override readonly contentFirstDocument: Uint32Array;
  override readonly contentFirstUnit: Uint32Array;
  override readonly unitCount: number;
  override readonly contentFirstLine: Uint32Array;
  override readonly hasPostings: boolean;
  override readonly keys: Uint32Array;
  override readonly postingStart: Uint32Array;
  override readonly postings: Buffer;
  /** Parts that a search without regard to case must read completely: some of their names fold into ASCII. */
  override readonly foldExceptions: Uint32Array;
  override readonly content: Buffer;
  readonly text: ShardReader;
  readonly symbols: SymbolReader;
  /** By number of the kind: its name in `select:symbol.`, "" if it has none. */
  readonly selectedKinds: readonly string[];
  readonly #isFilled: Uint8Array;

  constructor(text: ShardReader, symbols: SymbolReader) {
    super(text.id, text.bytes);
    const { parts, nameStarts, namesBytes } = symbols;
    this.text = text;
    this.symbols = symbols;
    this.selectedKinds = symbols.kinds.map(findSymbolKind);
    this.contentCount = parts.count;
    this.contentStart = nameStarts;
    this.contentFirstDocument = parts.firstDocuments;
    this.contentFirstLine = new Uint32Array(parts.count);
    this.content = Buffer.alloc(namesBytes + contentPaddingBytes);
    this.#isFilled = new Uint8Array(parts.count);
    this.contentFirstUnit = makeUnits(nameStarts, this.unitBytes).contentFirstUnit;
    this.unitCount = this.contentFirstUnit[parts.count];
    this.hasPostings = symbols.hasPostings;
    this.keys = symbols.keys;
    this.postingStart = symbols.postingStart;
    this.postings = symbols.postings;
    this.foldExceptions = symbols.foldExceptions;
  }

  /** Makes the names of these parts readable. The shard's text must be verified. */
  fill(parts: Uint32Array, kernel: Pick<SymbolKernel, "copySymbolNames">): void {
    for (const part of parts) {
      if (part >= this.contentCount || this.#isFilled[part] === 1) continue;
      this.symbols.copyNames(part, this.content, kernel);
      this.#isFilled[part] = 1;
    }
  }
}

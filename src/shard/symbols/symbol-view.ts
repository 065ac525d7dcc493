import { contentPaddingBytes } from "../format.js";
import { ShardReader } from "../shard-reader.js";
import type { PartSymbols, SymbolReader } from "./symbol-reader.js";

const noWords = new Uint32Array(0);

/**
 * A shard as a search for symbols sees it: it has the same documents, and the content of a part is the names of its
 * symbols, each followed by a newline. Names are copied from the text when `fill` is called, before that they are zeros.
 */
export class SymbolView extends ShardReader {
  override readonly contentCount: number;
  override readonly contentStart: Uint32Array;
  override readonly contentFirstDocument: Uint32Array;
  override readonly contentFirstUnit: Uint32Array = noWords;
  override readonly contentFirstLine: Uint32Array;
  override readonly hasPostings = false;
  override readonly keys: Uint32Array = noWords;
  /** Parts that a search without regard to case must read completely: some of their names fold into ASCII. */
  override readonly foldExceptions: Uint32Array;
  override readonly content: Buffer;
  readonly text: ShardReader;
  readonly symbols: SymbolReader;
  /** Parts that may have names that are not in the text. */
  readonly partsWithStoredNames: Uint32Array;
  readonly #isFilled: Uint8Array;
  /** The part that was read last. */
  #last: { readonly part: number; readonly symbols: PartSymbols } | undefined;

  constructor(text: ShardReader, symbols: SymbolReader) {
    super(text.id, text.bytes);
    const { parts, nameStarts, namesBytes } = symbols;
    this.text = text;
    this.symbols = symbols;
    this.contentCount = parts.count;
    this.contentStart = nameStarts;
    this.contentFirstDocument = parts.firstDocuments;
    this.contentFirstLine = new Uint32Array(parts.count);
    this.content = Buffer.alloc(namesBytes + contentPaddingBytes);
    this.#isFilled = new Uint8Array(parts.count);
    const all = [...parts.contents.keys()];
    this.partsWithStoredNames = Uint32Array.from(all.filter((part) => symbols.hasStoredNames(part)));
    const exceptions = new Set(text.foldExceptions);
    this.foldExceptions = Uint32Array.from(
      all.filter((part) => exceptions.has(parts.contents[part]) || symbols.hasStoredNames(part)),
    );
  }

  /** Makes the names of these parts readable. The shard's text must be verified. */
  fill(parts: Uint32Array): void {
    for (const part of parts) {
      if (part >= this.contentCount || this.#isFilled[part] === 1) continue;
      this.symbols.copyNames(part, this.content);
      this.#isFilled[part] = 1;
    }
  }

  /** The parts of contents, which ascend, and all that have names outside the text. Ascending. */
  partsOfContents(contents: Uint32Array): Uint32Array {
    const { contents: contentOfPart } = this.symbols.parts;
    const isWanted = new Uint8Array(this.text.contentCount + 1);
    for (const content of contents) isWanted[content] = 1;
    const parts: number[] = [];
    for (let part = 0; part < this.contentCount; part++)
      if (isWanted[contentOfPart[part]] === 1 || this.symbols.hasStoredNames(part)) parts.push(part);
    return Uint32Array.from(parts);
  }

  /** The symbols of a part. */
  symbolsOf(part: number): PartSymbols {
    if (this.#last?.part !== part) this.#last = { part, symbols: this.symbols.read(part) };
    return this.#last.symbols;
  }
}

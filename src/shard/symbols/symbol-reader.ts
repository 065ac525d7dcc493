import { TrawlError } from "../../base/errors.js";
import { crc32 } from "../../native/memory/memory.js";
import type { ContentSymbols } from "./content-symbols.js";
import { findInRecord } from "./find-symbols.js";
import { copyPartNames, type PartText } from "./part-names.js";
import { type ShardParts, findParts } from "./parts.js";
import { RecordCursor } from "./record-cursor.js";
import type { ShardReader } from "../shard-reader.js";
import {
  hasStoredNames,
  symbolFormatVersion,
  symbolHeader,
  symbolHeaderBytes,
  symbolMagic,
  wordAligned,
} from "./symbol-format.js";

/** The symbols of one part, with what a result shows of each. */
export interface PartSymbols extends ContentSymbols {
  /** Where each name begins among the names of the part, which are separated by newlines. */
  readonly nameStarts: Uint32Array;
}

const newline = 10;

/** `head` and the others are the numbers of FORMAT.md; `stored` is the name if it is in the record. */
type SymbolReceiver = (
  head: number,
  length: number,
  stored: Uint8Array | undefined,
  reference: number,
  kind: number,
) => void;

/**
 * Reads the symbol value of a shard, which must be open too, because most names are only in its text. The bounds of
 * everything are checked when it is read: no damage makes it read beyond the value or the text. The shard's text must
 * be verified by the caller.
 */
export class SymbolReader {
  readonly parts: ShardParts;
  readonly symbolCount: number;
  readonly failedCount: number;
  readonly checksum: number;
  /** The program that found the symbols. */
  readonly producer: string;
  /** By part: where its names begin among those of all parts; then their total size. */
  readonly nameStarts: Uint32Array;
  /** By part: its `symbolStates`, and `hasStoredNames`. */
  readonly states: Uint8Array;
  readonly kinds: readonly string[];
  /** False if every part is a candidate of every search. */
  readonly hasPostings: boolean;
  /** Parts with a name that has a character that folds into ASCII from outside ASCII. */
  readonly foldExceptions: Uint32Array;
  /** The posting lists of the trigrams of names, as in a shard: units are of the names of a part. */
  readonly keys: Uint32Array;
  readonly postingStart: Uint32Array;
  readonly postings: Buffer;
  readonly #shard: ShardReader;
  readonly #recordStarts: Uint32Array;
  readonly #records: Buffer;

  /** Throws `corrupt-shard` if the value is damaged or belongs to another shard, `format-version` for another version. */
  constructor(shard: ShardReader, bytes: Uint8Array) {
    this.#shard = shard;
    const value = bytes.byteOffset % 4 === 0 ? bytes : new Uint8Array(bytes);
    const words = this.#checkHeader(value);
    const word = (name: keyof typeof symbolHeader): number => words[symbolHeader[name]];
    this.parts = findParts(shard);
    const { count } = this.parts;
    if (word("partCount") !== count) this.#fail(`it has ${word("partCount")} parts, the shard ${count}`);
    this.checksum = word("crc");
    this.symbolCount = word("symbolCount");
    this.failedCount = word("failedCount");
    let at = symbolHeaderBytes;
    const take = (byteCount: number): Buffer => {
      if (at + byteCount > word("totalBytes")) this.#fail("its sections extend beyond it");
      const piece = Buffer.from(value.buffer, value.byteOffset + at, byteCount);
      at += wordAligned(byteCount);
      return piece;
    };
    const takeWords = (wordCount: number): Uint32Array => {
      const piece = take(4 * wordCount);
      return new Uint32Array(piece.buffer, piece.byteOffset, wordCount);
    };
    this.nameStarts = takeWords(count + 1);
    this.#recordStarts = takeWords(count + 1);
    this.states = take(count);
    this.producer = take(word("producerBytes")).toString();
    this.kinds = take(word("kindsBytes")).toString("latin1").split("\n");
    this.hasPostings = word("hasPostings") === 1;
    this.foldExceptions = takeWords(word("foldCount"));
    this.keys = takeWords(word("keyCount"));
    this.postingStart = takeWords(word("keyCount") + 1);
    this.postings = take(word("postingsBytes"));
    this.#records = take(word("recordsBytes"));
    if (!isAscending(this.#recordStarts, this.#records.length)) this.#fail("its records are not ascending");
    if (!isAscending(this.postingStart, this.postings.length) || !isStrict(this.keys))
      this.#fail("its posting lists are not ascending");
    if (!isStrict(this.foldExceptions) || (this.foldExceptions.at(-1) ?? -1) >= count)
      this.#fail("its exceptions are not ascending parts");
    if (!isAscending(this.nameStarts, shard.contentBytes + this.#records.length + this.symbolCount))
      this.#fail("its names are not ascending");
  }

  /** Size of the names of all parts, each followed by a newline. */
  get namesBytes(): number {
    return this.nameStarts[this.parts.count];
  }

  /** Whether some names of the part need not be in the text. */
  hasStoredNames(part: number): boolean {
    return (this.states[part] & hasStoredNames) !== 0;
  }

  /** The bytes of the record of a part; empty if it has no symbols. */
  record(part: number): Uint8Array {
    return this.#records.subarray(this.#recordStarts[part], this.#recordStarts[part + 1]);
  }

  /** Writes the names of a part, each followed by a newline, where they begin among those of all parts. */
  copyNames(part: number, out: Uint8Array): void {
    this.#guarded(() =>
      copyPartNames(this.record(part), this.#textOf(part), out, this.nameStarts[part], this.nameStarts[part + 1]),
    );
  }

  #textOf(part: number): PartText {
    const { content, contentStart } = this.#shard;
    const number = this.parts.contents[part];
    return { content, from: contentStart[number], to: contentStart[number + 1] };
  }

  /**
   * Some symbols of a part: those whose names begin at `starts`, which ascend, among the names of the part. Reads no
   * more of the part than that. `lineOf` returns the line of an offset of the shard's text.
   */
  find(part: number, starts: ArrayLike<number>, lineOf: (offset: number, content: number) => number): ContentSymbols {
    return this.#guarded(() => {
      const text = this.#textOf(part);
      const name = (from: number, to: number): string => this.#shard.content.toString("latin1", from, to);
      return findInRecord(this.record(part), starts, text, this.kinds, name, (offset) =>
        lineOf(offset, this.parts.contents[part]),
      );
    });
  }

  #guarded<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      if (error instanceof RangeError) this.#fail(error.message);
      throw error;
    }
  }

  /** All symbols of a part. */
  read(part: number): PartSymbols {
    const content = this.parts.contents[part];
    const { contentStart } = this.#shard;
    const text = this.#shard.content.subarray(contentStart[content], contentStart[content + 1]);
    const names: string[] = [];
    const lines: number[] = [];
    const offsets: number[] = [];
    const kinds: string[] = [];
    const containers: string[] = [];
    const nameStarts: number[] = [];
    const table: string[] = [];
    const counter = new LineCount(text);
    let end = 0;
    let container = "";
    let nameStart = 0;
    this.#eachSymbol(part, table, (head, length, stored, reference, kind) => {
      const from = end + head / 2;
      if (stored === undefined) {
        end = from + length;
        if (end > text.length) this.#fail("a name extends beyond its text");
      }
      names.push(stored === undefined ? text.toString("latin1", from, end) : Buffer.from(stored).toString("latin1"));
      lines.push(stored === undefined ? counter.lineOf(from) : (head - 1) / 2);
      offsets.push(stored === undefined ? from : -1);
      if (reference > 0) container = reference === 1 ? "" : (table[reference - 2] ?? this.#fail("no such container"));
      containers.push(container);
      kinds.push(this.kinds[kind] ?? this.#fail("no such kind"));
      nameStarts.push(nameStart);
      nameStart += length + 1;
    });
    return { names, lines, offsets, kinds, containers, nameStarts: Uint32Array.from(nameStarts) };
  }

  /** Reads every record. Throws `corrupt-shard` if something in one is out of bounds. */
  verify(): void {
    const names = Buffer.alloc(this.namesBytes);
    for (let part = 0; part < this.parts.count; part++) {
      this.copyNames(part, names);
      this.read(part);
    }
  }

  #eachSymbol(part: number, containers: string[] | undefined, take: SymbolReceiver): void {
    const record = this.record(part);
    if (record.length === 0) return;
    this.#guarded(() => {
      const cursor = new RecordCursor(record);
      const count = cursor.number();
      for (let left = cursor.number(); left > 0; left--) {
        const container = cursor.bytes(cursor.number());
        containers?.push(Buffer.from(container).toString("latin1"));
      }
      for (let i = 0; i < count; i++) {
        const head = cursor.number();
        const length = cursor.number();
        const stored = head % 2 === 1 ? cursor.bytes(length) : undefined;
        take(head, length, stored, cursor.number(), cursor.number());
      }
    });
  }

  #checkHeader(value: Uint8Array): Uint32Array {
    if (value.length < symbolHeaderBytes) this.#fail(`it has ${value.length} bytes, fewer than a header`);
    const words = new Uint32Array(value.buffer, value.byteOffset, symbolHeaderBytes / 4);
    if (words[symbolHeader.magic0] !== symbolMagic[0] || words[symbolHeader.magic1] !== symbolMagic[1])
      this.#fail("it does not begin like symbols");
    const version = words[symbolHeader.version];
    if (version !== symbolFormatVersion)
      throw new TrawlError(
        "format-version",
        `the symbols of shard ${this.#shard.id} have format version ${version}; this program supports ${symbolFormatVersion}. They are extracted again.`,
      );
    const totalBytes = words[symbolHeader.totalBytes];
    if (totalBytes !== value.length) this.#fail(`it should have ${totalBytes} bytes and has ${value.length}`);
    if (symbolCrc(value) !== words[symbolHeader.crc]) this.#fail("it has a wrong checksum");
    if (words[symbolHeader.shardChecksum] !== this.#shard.checksum) this.#fail("it belongs to another shard");
    return words;
  }

  #fail(what: string): never {
    throw new TrawlError(
      "corrupt-shard",
      `the symbols of shard ${this.#shard.id} are damaged: ${what}. They are extracted again.`,
    );
  }
}

/** CRC-32 of the value, with the word of the checksum set to zero. */
export function symbolCrc(value: Uint8Array): number {
  const copy = Buffer.from(value);
  copy.writeUInt32LE(0, symbolHeader.crc * 4);
  return crc32(copy);
}

/** Counts newlines up to offsets that ascend. */
class LineCount {
  readonly #text: Buffer;
  /** The first newline that is not counted yet; -1 if there is none. */
  #next: number;
  #line = 1;

  constructor(text: Buffer) {
    this.#text = text;
    this.#next = text.indexOf(newline);
  }

  lineOf(offset: number): number {
    while (this.#next >= 0 && this.#next < offset) {
      this.#line++;
      this.#next = this.#text.indexOf(newline, this.#next + 1);
    }
    return this.#line;
  }
}

function isStrict(words: Uint32Array): boolean {
  for (let i = 1; i < words.length; i++) if (words[i] <= words[i - 1]) return false;
  return true;
}

function isAscending(words: Uint32Array, end: number): boolean {
  if (words[0] !== 0) return false;
  for (let i = 1; i < words.length; i++) if (words[i] < words[i - 1]) return false;
  return words[words.length - 1] <= end;
}

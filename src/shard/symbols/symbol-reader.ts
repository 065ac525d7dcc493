import { TrawlError } from "../../base/errors.js";
import type { SymbolFault } from "../../model/shard-record.js";
import { copySymbolNames } from "../../native/kernel/portable-symbols.js";
import { RecordSymbols, type TextRange } from "../../native/kernel/record-symbols.js";
import type { SymbolKernel } from "../../native/kernel/symbol-kernel.js";
import { crc32 } from "../../native/memory/memory.js";
import { type ContentSymbols, findFault } from "./content-symbols.js";
import { findNamedParts, gatherNameKeys, type NameKeys } from "./name-keys.js";
import { type ShardParts, findParts } from "./parts.js";
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

/** Reused by `kindsOf` of all readers of a thread. */
let kindNumbers = new Uint32Array(1024);

/** Each of the four numbers of a symbol has at least one byte. */
const symbolBytesMin = 4;

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
  /** By the keys of names, in the order of both. */
  readonly nameKeys: NameKeys;
  readonly #shard: ShardReader;
  /** The whole value. */
  readonly bytes: Uint8Array;
  /** By part: where its record begins; then the size of all. */
  readonly recordStarts: Uint32Array;
  readonly #records: Buffer;

  /**
   * Throws `corrupt-shard` if the value is damaged or belongs to another shard, `format-version` for another version. The
   * checksum of a value that was verified before is not computed again.
   */
  constructor(shard: ShardReader, bytes: Uint8Array, isVerified = false) {
    this.#shard = shard;
    const value = bytes.byteOffset % 4 === 0 ? bytes : new Uint8Array(bytes);
    this.bytes = value;
    const words = this.#checkHeader(value, isVerified);
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
    this.recordStarts = takeWords(count + 1);
    this.states = take(count);
    this.producer = take(word("producerBytes")).toString();
    this.kinds = take(word("kindsBytes")).toString("latin1").split("\n");
    this.hasPostings = word("hasPostings") === 1;
    this.foldExceptions = takeWords(word("foldCount"));
    this.keys = takeWords(word("keyCount"));
    this.postingStart = takeWords(word("keyCount") + 1);
    this.postings = take(word("postingsBytes"));
    this.#records = take(word("recordsBytes"));
    const keyCount = word("nameKeyCount");
    this.nameKeys = { keys: takeWords(keyCount), parts: takeWords(keyCount) };
    if (keyCount > this.symbolCount) this.#fail("it has more keys of names than symbols");
    if (this.symbolCount > this.#records.length / symbolBytesMin)
      this.#fail("its records are too short for its symbols");
    if (!isAscending(this.recordStarts, this.#records.length)) this.#fail("its records are not ascending");
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

  /**
   * Calls `take` once for each part that has a symbol whose name has this key (`addToKey`). Different names can have the
   * same key.
   */
  findNamed(key: number, take: (part: number) => void): void {
    findNamedParts(this.nameKeys, key, (part) => {
      if (part < this.parts.count) take(part);
    });
  }

  /** Whether some names of the part need not be in the text. */
  hasStoredNames(part: number): boolean {
    return (this.states[part] & hasStoredNames) !== 0;
  }

  /** The documents of parts for which ctags has failed, and why. */
  *failedDocuments(): Generator<readonly [document: number, fault: SymbolFault]> {
    const { count, firstDocuments } = this.parts;
    for (let part = 0; part < count; part++) {
      const fault = findFault(this.states[part]);
      if (fault === undefined) continue;
      for (let document = firstDocuments[part]; document < firstDocuments[part + 1]; document++)
        yield [document, fault];
    }
  }

  /** The records of all parts. */
  get records(): Uint8Array {
    return this.#records;
  }

  /** The record of a part, as a range of the records; empty if it has no symbols. */
  recordRange(part: number): readonly [from: number, to: number] {
    return [this.recordStarts[part], this.recordStarts[part + 1]];
  }

  record(part: number): Uint8Array {
    return this.#records.subarray(...this.recordRange(part));
  }

  /** Writes the names of a part, each followed by a newline, where they begin among those of all parts. */
  copyNames(part: number, out: Uint8Array, kernel: Pick<SymbolKernel, "copySymbolNames">): void {
    const { content, from, to } = this.#textOf(part);
    this.guarded(() =>
      kernel.copySymbolNames(
        this.record(part),
        content,
        from,
        to,
        out,
        this.nameStarts[part],
        this.nameStarts[part + 1],
      ),
    );
  }

  #textOf(part: number): TextRange & { readonly content: Buffer } {
    return { content: this.#shard.content, ...this.textRange(part) };
  }

  /**
   * The kinds, as numbers in `kinds`, of the symbols of a part whose names are the rows among those of all parts. Valid
   * until the next call.
   */
  kindsOf(part: number, rows: Uint32Array, rowFrom: number, rowTo: number, kernel: SymbolKernel): Uint32Array {
    if (kindNumbers.length < rowTo - rowFrom) kindNumbers = new Uint32Array(2 * (rowTo - rowFrom));
    const [from, to] = [this.recordStarts[part], this.recordStarts[part + 1]];
    const namesFrom = this.nameStarts[part];
    this.guarded(() => kernel.symbolKinds(this.#records, from, to, namesFrom, rows, rowFrom, rowTo, kindNumbers));
    return kindNumbers;
  }

  /** Where the text of a part is among those of the shard. */
  textRange(part: number): TextRange {
    const number = this.parts.contents[part];
    return { from: this.#shard.contentStart[number], to: this.#shard.contentStart[number + 1] };
  }

  /** Throws `corrupt-shard` if `read` throws a `RangeError`: a record is damaged. */
  guarded<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      if (error instanceof RangeError) this.#fail(error.message);
      throw error;
    }
  }

  /** The symbols of a part. The bytes of its containers are appended to `containers`, if given. Throws `RangeError`. */
  symbolsOf(part: number, containers?: Uint8Array[]): RecordSymbols {
    return new RecordSymbols(this.record(part), this.#textOf(part), containers);
  }

  read(part: number): PartSymbols {
    return this.guarded(() => this.#read(part));
  }

  #read(part: number): PartSymbols {
    const { content, from: textFrom, to: textTo } = this.#textOf(part);
    const names: string[] = [];
    const lines: number[] = [];
    const offsets: number[] = [];
    const kinds: string[] = [];
    const containers: string[] = [];
    const nameStarts: number[] = [];
    const stored: Uint8Array[] = [];
    const symbols = this.symbolsOf(part, stored);
    const table = stored.map((bytes) => Buffer.from(bytes).toString("latin1"));
    const counter = new LineCount(content.subarray(textFrom, textTo));
    let container = "";
    let nameStart = 0;
    while (symbols.next()) {
      const { isStored, from, to, reference, kind } = symbols;
      const start = from - textFrom;
      names.push(isStored ? Buffer.from(symbols.stored).toString("latin1") : content.toString("latin1", from, to));
      lines.push(isStored ? symbols.line : counter.lineOf(start));
      offsets.push(isStored ? -1 : start);
      if (reference > 0) container = reference === 1 ? "" : (table[reference - 2] ?? this.#fail("no such container"));
      containers.push(container);
      kinds.push(this.kinds[kind] ?? this.#fail("no such kind"));
      nameStarts.push(nameStart);
      nameStart += symbols.length + 1;
    }
    return { names, lines, offsets, kinds, containers, nameStarts: Uint32Array.from(nameStarts) };
  }

  /** Reads every record. Throws `corrupt-shard` if something in one is out of bounds. */
  verify(): void {
    const names = Buffer.alloc(this.namesBytes);
    for (let part = 0; part < this.parts.count; part++) {
      this.copyNames(part, names, { copySymbolNames });
      this.read(part);
    }
    const { keys, parts } = gatherNameKeys(names, this.nameStarts);
    if (!areEqual(keys, this.nameKeys.keys) || !areEqual(parts, this.nameKeys.parts))
      this.#fail("its keys of names are not those of its names");
  }

  #checkHeader(value: Uint8Array, isVerified: boolean): Uint32Array {
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
    if (!isVerified && symbolCrc(value) !== words[symbolHeader.crc]) this.#fail("it has a wrong checksum");
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

/** The checksum that a value says it has. */
export function storedChecksum(value: Buffer): number {
  return value.readUInt32LE(symbolHeader.crc * 4);
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

function areEqual(some: Uint32Array, others: Uint32Array): boolean {
  return some.length === others.length && some.every((word, i) => word === others[i]);
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

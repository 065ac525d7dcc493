import { type FileHandle, open } from "node:fs/promises";
import { deflateSync } from "node:zlib";
import { TrawlError } from "../base/errors.js";
import type { PrecisePackages } from "../model/precise-index.js";
import { crc32 } from "../native/memory/memory.js";
import {
  encodeHeader,
  headerBytes,
  localBit,
  relationFlags,
  rowBytes,
  type SymbolText,
  type Table,
  type TableName,
} from "./format.js";
import { definitionRole, type ScipSymbol } from "./scip-messages.js";
import { isLocalSymbol, packageNumber, symbolPackage } from "./scip-symbol.js";
import { assert } from "../base/assert.js";

/** A list of numbers of 32 bits that grows, outside of the JavaScript heap. */
class NumberList {
  #numbers = new Uint32Array(1024);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  get(index: number): number {
    assert(index < this.#length, "a list has the number that is read");
    return this.#numbers[index];
  }

  push(value: number): void {
    this.#reserve(this.#length + 1);
    this.#numbers[this.#length++] = value;
  }

  /** Sets a number; those between the end of the list and it become 0. */
  set(index: number, value: number): void {
    this.#reserve(index + 1);
    this.#length = Math.max(this.#length, index + 1);
    this.#numbers[index] = value;
  }

  /** Valid until the list grows. */
  values(): Uint32Array {
    return this.#numbers.subarray(0, this.#length);
  }

  #reserve(length: number): void {
    if (length <= this.#numbers.length) return;
    const grown = new Uint32Array(Math.max(length, 2 * this.#numbers.length));
    grown.set(this.#numbers);
    this.#numbers = grown;
  }
}

/**
 * Limits on what is in memory while an index is written. A million symbols in one document took more than the 384 MiB of heap that
 * an ingest thread has.
 */
export const writerLimits = {
  documents: 1_000_000,
  /** Of one document. */
  occurrences: 400_000,
  documentSymbols: 400_000,
  symbols: 1_000_000,
  /** UTF-16 units of one symbol: a reader takes a text of a MiB, in which each may have six bytes. */
  unitsOfSymbol: 65_536,
  /** UTF-16 units of all symbols. */
  symbolUnits: 80 * 2 ** 20,
  postings: 40_000_000,
  relations: 4_000_000,
  pathBytes: 64 * 2 ** 20,
} as const;

/** Packages of an index that are kept: their numbers are in the memory of the daemon. */
const packagesMax = 2_000;

/** UTF-16 units of JSON about the symbols of a document that exist only in it: it is read as a whole. What follows is left out. */
const localTextUnitsMax = 4 << 20;

/** Level 1 takes a third of the time of the usual one, for a tenth more bytes. */
const compression = { level: 1 } as const;

/** Pieces are written when they have this many bytes together. */
const writtenBytesMin = 1 << 20;

/** An occurrence whose place is known to be in its file; characters are code points. */
export interface PlacedOccurrence {
  readonly startLine: number;
  readonly startCharacter: number;
  readonly endLine: number;
  readonly endCharacter: number;
  readonly symbol: string;
  readonly roles: number;
}

/** What was written. */
export interface WrittenIndex {
  readonly documentCount: number;
  readonly symbolCount: number;
  readonly occurrenceCount: number;
  readonly storedBytes: number;
  readonly packages: PrecisePackages;
}

/**
 * Writes a precise index, one document after another; only the symbols and in which documents they are is kept in memory. Throws
 * `bad-request` if a limit is exceeded.
 */
export class PreciseIndexWriter {
  readonly #file: FileHandle;
  /** Where the next piece comes, behind those that are not written yet. */
  #offset = headerBytes;
  #unwritten: Buffer[] = [];
  #unwrittenBytes = 0;
  readonly #symbols = new Map<string, number>();
  #symbolUnits = 0;
  /** By symbol: where its text is in the file, in two numbers, and how long it is. */
  readonly #texts = new NumberList();
  /** Symbol and document of each posting; the lowest bit of the document says whether the symbol is defined there. */
  readonly #postings = new NumberList();
  /** By symbol: 1 + the index of its last posting. */
  readonly #lastPosting = new NumberList();
  /** Symbol, other symbol and flags of each relation. */
  readonly #relations = new NumberList();
  readonly #paths: Buffer[] = [];
  #pathBytes = 0;
  /** Of each document: its place in the file, its stored and its real length. */
  readonly #documents: { readonly offset: number; readonly storedBytes: number; readonly byteCount: number }[] = [];
  #occurrenceCount = 0;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  static async create(path: string): Promise<PreciseIndexWriter> {
    return new PreciseIndexWriter(await open(path, "w", 0o600));
  }

  /** Adds a document. `occurrences` are sorted here. */
  async add(path: string, occurrences: PlacedOccurrence[], symbols: readonly ScipSymbol[]): Promise<void> {
    const document = this.#documents.length;
    const bytes = Buffer.from(path);
    this.#pathBytes += bytes.length;
    requireLimit("documents", document + 1, "");
    requireLimit("pathBytes", this.#pathBytes, "");
    requireLimit("occurrences", occurrences.length, path);
    const locals = new Map<string, number>();
    const numberSymbol = (symbol: string): number => {
      if (!isLocalSymbol(symbol)) return this.#numberSymbol(symbol, path);
      let number = locals.get(symbol);
      if (number === undefined) locals.set(symbol, (number = locals.size));
      return (localBit | number) >>> 0;
    };
    occurrences.sort(byPlace);
    const rows = new Uint32Array(6 * occurrences.length);
    const count = occurrences.length;
    occurrences.forEach((occurrence, i) => {
      const symbol = numberSymbol(occurrence.symbol);
      if (symbol < localBit) this.#post(symbol, document, (occurrence.roles & definitionRole) !== 0, path);
      rows[i] = occurrence.startLine;
      rows[count + i] = occurrence.startCharacter;
      rows[2 * count + i] = occurrence.endLine;
      rows[3 * count + i] = occurrence.endCharacter;
      rows[4 * count + i] = symbol;
      rows[5 * count + i] = occurrence.roles;
    });
    const localTexts: string[] = [...locals.keys()].map(() => "null");
    let localTextUnits = 0;
    for (const symbol of symbols) {
      if (!isLocalSymbol(symbol.symbol)) {
        await this.describe(symbol, path);
        continue;
      }
      const number = locals.get(symbol.symbol);
      if (number === undefined) continue;
      const text = JSON.stringify(textAbout(symbol, false));
      localTextUnits += text.length;
      if (localTextUnits <= localTextUnitsMax) localTexts[number] = text;
    }
    const counts = Buffer.alloc(4);
    counts.writeUInt32LE(count);
    const whole = Buffer.concat([
      counts,
      Buffer.from(rows.buffer),
      Buffer.from(localTextUnits > 0 ? `[${localTexts.join(",")}]` : ""),
    ]);
    const stored = deflateSync(whole, compression);
    this.#paths.push(bytes);
    this.#documents.push({ offset: this.#offset, storedBytes: stored.length, byteCount: whole.length });
    this.#occurrenceCount += count;
    await this.#append(stored);
  }

  /** Adds what is known about a symbol that several documents share; the first description counts. */
  async describe(symbol: ScipSymbol, path: string): Promise<void> {
    if (symbol.symbol === "" || isLocalSymbol(symbol.symbol)) return;
    const number = this.#numberSymbol(symbol.symbol, path);
    for (const { symbol: other, isReference, isImplementation, isDefinition } of symbol.relations) {
      if (other === "" || isLocalSymbol(other)) continue;
      const flags =
        (isReference ? relationFlags.reference : 0) |
        (isImplementation ? relationFlags.implementation : 0) |
        (isDefinition ? relationFlags.definition : 0);
      if (flags === 0) continue;
      const otherNumber = this.#numberSymbol(other, path);
      this.#relations.push(number);
      this.#relations.push(otherNumber);
      this.#relations.push(flags);
      this.#relations.push(otherNumber);
      this.#relations.push(number);
      this.#relations.push(flags | relationFlags.inverse);
      requireLimit("relations", this.#relations.length / 6, path);
    }
    if (this.#hasText(number)) return;
    await this.#writeText(number, textAbout(symbol, true));
  }

  /** Writes the tables and the header, and makes the file durable. */
  async finish(): Promise<WrittenIndex> {
    for (const [symbol, number] of this.#symbols) if (!this.#hasText(number)) await this.#writeText(number, { symbol });
    const order = this.#paths.map((_, i) => i).sort((a, b) => this.#paths[a].compare(this.#paths[b]));
    const pathTable = this.#joinPaths(order);
    const documentTable = Buffer.alloc(rowBytes.documents * order.length);
    // Documents are numbered in the order of the index; the table is sorted by path, and says which is which.
    order.forEach((document, i) => {
      const { offset, storedBytes, byteCount } = this.#documents[document];
      const at = rowBytes.documents * document;
      documentTable.writeDoubleLE(offset, at);
      documentTable.writeUInt32LE(storedBytes, at + 8);
      documentTable.writeUInt32LE(byteCount, at + 12);
      documentTable.writeUInt32LE(i, at + 16);
    });
    const postings = groupBy(this.#postings.values(), 2, this.#symbols.size);
    const relations = groupBy(this.#relations.values(), 3, this.#symbols.size);
    const tables: Partial<Record<TableName, Table>> = {};
    const write = async (name: TableName, bytes: Buffer): Promise<void> => {
      tables[name] = { offset: this.#offset, byteCount: bytes.length };
      await this.#append(bytes);
    };
    await write("paths", pathTable);
    await write("documents", documentTable);
    await write("symbols", this.#symbolTable(postings.starts, relations.starts));
    await write("postings", bytesOfNumbers(postings.values));
    await write("relations", bytesOfNumbers(relations.values));
    await write("hashes", hashTable(this.#symbols));
    await this.#flush();
    const header = encodeHeader({
      documentCount: this.#documents.length,
      symbolCount: this.#symbols.size,
      tables: tables as Record<TableName, Table>,
    });
    await writeAll(this.#file, header, 0);
    await this.#file.sync();
    return {
      documentCount: this.#documents.length,
      symbolCount: this.#symbols.size,
      occurrenceCount: this.#occurrenceCount,
      storedBytes: this.#offset,
      packages: this.#packages(),
    };
  }

  /** Of symbols that have a place in the index. Of more packages than are kept, the first ones are. */
  #packages(): PrecisePackages {
    const postings = this.#postings.values();
    const uses = new Uint8Array(this.#symbols.size);
    for (let at = 0; at < postings.length; at += 2) uses[postings[at]] |= 1 + (postings[at + 1] & 1);
    const isDefined = new Map<string, boolean>();
    for (const [symbol, number] of this.#symbols) {
      if (uses[number] === 0) continue;
      const name = symbolPackage(symbol);
      if (name === "" || (!isDefined.has(name) && isDefined.size >= packagesMax)) continue;
      isDefined.set(name, isDefined.get(name) === true || (uses[number] & 2) !== 0);
    }
    const list = (wanted: boolean): number[] =>
      [...isDefined].flatMap(([name, defined]) => (defined === wanted ? [packageNumber(name)] : []));
    return { defined: list(true), used: list(false) };
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  #numberSymbol(symbol: string, path: string): number {
    let number = this.#symbols.get(symbol);
    if (number !== undefined) return number;
    number = this.#symbols.size;
    this.#symbolUnits += symbol.length;
    requireLimit("symbols", number + 1, path);
    requireLimit("unitsOfSymbol", symbol.length, path);
    requireLimit("symbolUnits", this.#symbolUnits, path);
    this.#symbols.set(symbol, number);
    return number;
  }

  #post(symbol: number, document: number, isDefinition: boolean, path: string): void {
    const last = symbol < this.#lastPosting.length ? this.#lastPosting.get(symbol) : 0;
    const known = last > 0 ? this.#postings.get(2 * (last - 1) + 1) : -1;
    if (known >>> 1 === document) {
      if (isDefinition) this.#postings.set(2 * (last - 1) + 1, known | 1);
      return;
    }
    this.#postings.push(symbol);
    this.#postings.push(2 * document + Number(isDefinition));
    this.#lastPosting.set(symbol, this.#postings.length / 2);
    requireLimit("postings", this.#postings.length / 2, path);
  }

  #hasText(symbol: number): boolean {
    return 3 * symbol + 2 < this.#texts.length && this.#texts.get(3 * symbol + 2) > 0;
  }

  async #writeText(symbol: number, text: SymbolText): Promise<void> {
    const bytes = Buffer.from(JSON.stringify(text));
    this.#texts.set(3 * symbol + 2, bytes.length);
    this.#texts.set(3 * symbol, this.#offset % 2 ** 32);
    this.#texts.set(3 * symbol + 1, Math.floor(this.#offset / 2 ** 32));
    await this.#append(bytes);
  }

  #symbolTable(postingStarts: Uint32Array, relationStarts: Uint32Array): Buffer {
    const table = Buffer.alloc(rowBytes.symbols * this.#symbols.size);
    for (let symbol = 0; symbol < this.#symbols.size; symbol++) {
      const at = rowBytes.symbols * symbol;
      const offset = this.#texts.get(3 * symbol) + this.#texts.get(3 * symbol + 1) * 2 ** 32;
      table.writeDoubleLE(offset, at);
      table.writeUInt32LE(this.#texts.get(3 * symbol + 2), at + 8);
      table.writeUInt32LE(postingStarts[symbol], at + 12);
      table.writeUInt32LE(postingStarts[symbol + 1] - postingStarts[symbol], at + 16);
      table.writeUInt32LE(relationStarts[symbol], at + 20);
      table.writeUInt32LE(relationStarts[symbol + 1] - relationStarts[symbol], at + 24);
    }
    return table;
  }

  /** A checksum, then of each path where it ends and its document, then the paths. */
  #joinPaths(order: readonly number[]): Buffer {
    const ends = Buffer.alloc(8 * order.length);
    let end = 0;
    order.forEach((document, i) => {
      end += this.#paths[document].length;
      ends.writeUInt32LE(end, 8 * i);
      ends.writeUInt32LE(document, 8 * i + 4);
    });
    const body = Buffer.concat([ends, ...order.map((document) => this.#paths[document])]);
    const checksum = Buffer.alloc(4);
    checksum.writeUInt32LE(crc32(body));
    return Buffer.concat([checksum, body]);
  }

  /** Small pieces are written together: a write for each symbol took four times as long as everything else. */
  async #append(bytes: Buffer): Promise<void> {
    this.#unwritten.push(bytes);
    this.#unwrittenBytes += bytes.length;
    this.#offset += bytes.length;
    if (this.#unwrittenBytes >= writtenBytesMin) await this.#flush();
  }

  async #flush(): Promise<void> {
    const bytes = Buffer.concat(this.#unwritten);
    await writeAll(this.#file, bytes, this.#offset - this.#unwrittenBytes);
    this.#unwritten = [];
    this.#unwrittenBytes = 0;
  }
}

/** Writes everything: one call may write less, for example on a full disk. */
async function writeAll(file: FileHandle, bytes: Buffer, offset: number): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, at, bytes.length - at, offset + at);
    at += bytesWritten;
  }
}

const limitTexts: Readonly<Record<keyof typeof writerLimits, string>> = {
  documents: "documents",
  occurrences: "occurrences in one document",
  documentSymbols: "symbols that one document describes",
  symbols: "symbols",
  unitsOfSymbol: "characters in one symbol",
  symbolUnits: "characters of symbols",
  postings: "pairs of a symbol and a document that has it",
  relations: "relations between symbols",
  pathBytes: "bytes of paths",
};

/** Throws `bad-request` if there are more of them than a writer takes; `path` says where, if it is not "". */
export function requireLimit(name: keyof typeof writerLimits, count: number, path: string): void {
  if (count <= writerLimits[name]) return;
  throw new TrawlError(
    "bad-request",
    `the index has more than ${writerLimits[name]} ${limitTexts[name]}${path === "" ? "" : ` (at ${JSON.stringify(path.slice(0, 300))})`}; index a part of the repository at a time, with a root for each`,
  );
}

function textAbout({ symbol, displayName, kind, signature, documentation }: ScipSymbol, isShared: boolean): SymbolText {
  return {
    ...(isShared ? { symbol } : {}),
    ...(displayName === "" ? {} : { name: displayName }),
    ...(kind === 0 ? {} : { kind }),
    ...(signature === "" ? {} : { signature }),
    ...(documentation.length === 0 ? {} : { documentation }),
  };
}

function byPlace(a: PlacedOccurrence, b: PlacedOccurrence): number {
  return (
    a.startLine - b.startLine ||
    a.startCharacter - b.startCharacter ||
    a.endLine - b.endLine ||
    a.endCharacter - b.endCharacter
  );
}

/**
 * Groups rows of `width` numbers, whose first is the number of a group, without that number: `starts` says in rows where each group
 * begins, and has one more for the end. Rows of a group keep their order.
 */
function groupBy(
  rows: Uint32Array,
  width: number,
  groupCount: number,
): { readonly starts: Uint32Array; readonly values: Uint32Array } {
  const starts = new Uint32Array(groupCount + 1);
  for (let at = 0; at < rows.length; at += width) starts[rows[at] + 1]++;
  for (let i = 0; i < groupCount; i++) starts[i + 1] += starts[i];
  const next = starts.slice();
  const values = new Uint32Array((rows.length / width) * (width - 1));
  for (let at = 0; at < rows.length; at += width) {
    const to = next[rows[at]]++ * (width - 1);
    for (let i = 1; i < width; i++) values[to + i - 1] = rows[at + i];
  }
  return { starts, values };
}

/** The hash and the number of each symbol, sorted by hash. */
function hashTable(symbols: ReadonlyMap<string, number>): Buffer {
  const hashes = new Uint32Array(symbols.size);
  for (const [symbol, number] of symbols) hashes[number] = crc32(Buffer.from(symbol));
  const order = new Uint32Array(symbols.size).map((_, i) => i).sort((a, b) => hashes[a] - hashes[b]);
  const table = new Uint32Array(2 * symbols.size);
  order.forEach((number, i) => {
    table[2 * i] = hashes[number];
    table[2 * i + 1] = number;
  });
  return bytesOfNumbers(table);
}

function bytesOfNumbers(numbers: Uint32Array): Buffer {
  return Buffer.from(numbers.buffer, numbers.byteOffset, numbers.byteLength);
}

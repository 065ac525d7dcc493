import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { inflateSync } from "node:zlib";
import { BoundedMap } from "../base/bounded-map.js";
import { uninitializedBytes } from "../base/bytes.js";
import { errorMessage, TrawlError } from "../base/errors.js";
import { crc32 } from "../native/memory/memory.js";
import {
  decodeHeader,
  headerBytes,
  localBit,
  type PreciseHeader,
  rowBytes,
  type SymbolText,
  type TableName,
} from "./format.js";
import { definitionRole } from "./scip-messages.js";

/** Memory that the documents of an open index may take. */
const keptBytesMax = 8 << 20;

/** Longer texts about one symbol, and longer lists, are damage: writers do not make them. */
const textBytesMax = 1 << 20;

/** A document: its occurrences by place, as columns. */
export interface PreciseDocument {
  readonly number: number;
  readonly count: number;
  readonly startLines: Uint32Array;
  readonly startCharacters: Uint32Array;
  readonly endLines: Uint32Array;
  readonly endCharacters: Uint32Array;
  readonly symbols: Uint32Array;
  readonly roles: Uint32Array;
  /** By the number of the symbol, without `localBit`. */
  readonly localTexts: readonly (SymbolText | null)[];
  readonly byteCount: number;
}

/** A symbol that several documents share. */
export interface PreciseSymbol {
  readonly text: SymbolText;
  readonly postingStart: number;
  readonly postingCount: number;
  readonly relationStart: number;
  readonly relationCount: number;
}

/** A document that has a symbol. */
export interface Posting {
  readonly document: number;
  readonly isDefinition: boolean;
}

export interface PreciseRelation {
  readonly symbol: number;
  readonly flags: number;
}

/**
 * Reads a precise index. Only the paths are in memory; everything else is read when it is needed. Every number that comes from the
 * file is checked before it is used as a place. Throws `corrupt-shard` if the file is damaged.
 */
export class PreciseIndexReader {
  readonly #file: number;
  readonly #fileBytes: number;
  readonly #header: PreciseHeader;
  readonly #paths: Buffer;
  readonly #documents = new BoundedMap<number, PreciseDocument>(keptBytesMax, ({ byteCount }) => byteCount);

  constructor(path: string) {
    this.#file = openSync(path, "r");
    try {
      this.#fileBytes = fstatSync(this.#file).size;
      this.#header = decodeHeader(this.#read(0, Math.min(this.#fileBytes, headerBytes)), this.#fileBytes);
      const { offset, byteCount } = this.#header.tables.paths;
      const table = this.#read(offset, byteCount);
      if (byteCount < 4 + 8 * this.#header.documentCount || crc32(table.subarray(4)) !== table.readUInt32LE(0))
        throw damaged("the checksum of its paths is wrong");
      this.#paths = table.subarray(4);
    } catch (error) {
      closeSync(this.#file);
      throw error;
    }
  }

  get documentCount(): number {
    return this.#header.documentCount;
  }

  /** Memory that the open index takes at most. */
  get byteCount(): number {
    return this.#paths.length + keptBytesMax;
  }

  /** The number of the document with this path; undefined if there is none. */
  findDocument(path: string): number | undefined {
    const wanted = Buffer.from(path);
    let [low, high] = [0, this.documentCount];
    while (low < high) {
      const middle = (low + high) >> 1;
      const order = this.#pathAt(middle).compare(wanted);
      if (order === 0) return this.#paths.readUInt32LE(8 * middle + 4);
      if (order < 0) low = middle + 1;
      else high = middle;
    }
    return undefined;
  }

  /** The path of a document. */
  path(document: number): string {
    const at = this.#row("documents", document).readUInt32LE(16);
    if (at >= this.documentCount) throw damaged("a document has no path");
    return this.#pathAt(at).toString("utf8");
  }

  document(number: number): PreciseDocument {
    const known = this.#documents.get(number);
    if (known !== undefined) return known;
    const row = this.#row("documents", number);
    const [offset, storedBytes, byteCount] = [row.readDoubleLE(0), row.readUInt32LE(8), row.readUInt32LE(12)];
    const found = parseDocument(number, this.#inflate(offset, storedBytes, byteCount));
    this.#documents.set(number, found);
    return found;
  }

  symbol(number: number): PreciseSymbol {
    const row = this.#row("symbols", number);
    const [offset, byteCount] = [row.readDoubleLE(0), row.readUInt32LE(8)];
    if (byteCount > textBytesMax) throw damaged("a symbol has too much text");
    return {
      text: parseJson(this.#read(offset, byteCount)) as SymbolText,
      postingStart: row.readUInt32LE(12),
      postingCount: row.readUInt32LE(16),
      relationStart: row.readUInt32LE(20),
      relationCount: row.readUInt32LE(24),
    };
  }

  /** The documents that have a symbol, in their order. */
  *postings({ postingStart, postingCount }: PreciseSymbol): Generator<Posting> {
    const step = 1024;
    for (let from = 0; from < postingCount; from += step) {
      const part = this.#rows("postings", postingStart + from, Math.min(step, postingCount - from));
      for (let at = 0; at < part.length; at += rowBytes.postings) {
        const value = part.readUInt32LE(at);
        yield { document: value >>> 1, isDefinition: (value & 1) !== 0 };
      }
    }
  }

  relations({ relationStart, relationCount }: PreciseSymbol, countMax: number): PreciseRelation[] {
    const part = this.#rows("relations", relationStart, Math.min(relationCount, countMax));
    const relations: PreciseRelation[] = [];
    for (let at = 0; at < part.length; at += rowBytes.relations)
      relations.push({ symbol: part.readUInt32LE(at), flags: part.readUInt32LE(at + 4) });
    return relations;
  }

  /** The number of a symbol; undefined if the index does not have it. */
  findSymbol(symbol: string): number | undefined {
    const hash = crc32(Buffer.from(symbol));
    const count = this.#header.symbolCount;
    let [low, high] = [0, count];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#row("hashes", middle).readUInt32LE(0) < hash) low = middle + 1;
      else high = middle;
    }
    for (; low < count; low++) {
      const row = this.#row("hashes", low);
      if (row.readUInt32LE(0) !== hash) return undefined;
      const number = row.readUInt32LE(4);
      if (this.symbol(number).text.symbol === symbol) return number;
    }
    return undefined;
  }

  close(): void {
    closeSync(this.#file);
  }

  #pathAt(at: number): Buffer {
    const start = at === 0 ? 0 : this.#paths.readUInt32LE(8 * (at - 1));
    const base = 8 * this.documentCount;
    return this.#paths.subarray(base + start, base + this.#paths.readUInt32LE(8 * at));
  }

  #row(name: keyof typeof rowBytes, number: number): Buffer {
    return this.#rows(name, number, 1);
  }

  #rows(name: keyof typeof rowBytes & TableName, from: number, count: number): Buffer {
    const { offset, byteCount } = this.#header.tables[name];
    const width = rowBytes[name];
    if ((from + count) * width > byteCount) throw damaged(`a row of its table ${name} is missing`);
    return this.#read(offset + from * width, count * width);
  }

  #inflate(offset: number, storedBytes: number, byteCount: number): Buffer {
    try {
      const bytes = inflateSync(this.#read(offset, storedBytes), { maxOutputLength: Math.max(1, byteCount) });
      if (bytes.length === byteCount) return bytes;
    } catch (error) {
      throw damaged(errorMessage(error));
    }
    throw damaged("a document has another length");
  }

  #read(offset: number, byteCount: number): Buffer {
    if (!(Number.isSafeInteger(offset) && offset >= 0 && offset + byteCount <= this.#fileBytes))
      throw damaged("it is shorter than it says");
    const bytes = uninitializedBytes(byteCount);
    for (let at = 0; at < byteCount; ) {
      const count = readSync(this.#file, bytes, at, byteCount - at, offset + at);
      if (count === 0) throw damaged("it is shorter than it says");
      at += count;
    }
    return bytes;
  }
}

/** The occurrences at a position, and their range: those with the shortest range around it. */
export function occurrencesAt(document: PreciseDocument, line: number, character: number): number[] {
  const { startLines, startCharacters, endLines, endCharacters } = document;
  let best: number[] = [];
  let bestSize = Infinity;
  for (let i = 0; i < document.count && startLines[i] <= line; i++) {
    if (endLines[i] < line || (startLines[i] === line && startCharacters[i] > character)) continue;
    // At its end, an occurrence is meant if no other begins there.
    if (endLines[i] === line && endCharacters[i] < character) continue;
    const isAtEnd = endLines[i] === line && endCharacters[i] === character;
    const size = (endLines[i] - startLines[i]) * 1e9 + (endCharacters[i] - startCharacters[i]) + (isAtEnd ? 1e15 : 0);
    if (size < bestSize) best = [];
    if (size <= bestSize) {
      best.push(i);
      bestSize = size;
    }
  }
  return best;
}

/** The occurrences of a symbol in a document: all, or those that define it. */
export function* occurrencesWith(
  { count, symbols, roles }: PreciseDocument,
  symbol: number,
  definitionsOnly: boolean,
): Generator<number> {
  for (let i = 0; i < count; i++)
    if (symbols[i] === symbol && (!definitionsOnly || (roles[i] & definitionRole) !== 0)) yield i;
}

/** Whether the number is that of a symbol that exists only in its document. */
export function isLocal(symbol: number): boolean {
  return symbol >= localBit;
}

function parseDocument(number: number, bytes: Buffer): PreciseDocument {
  const count = bytes.length < 4 ? 0 : bytes.readUInt32LE(0);
  const columnBytes = 4 * count;
  const textStart = 4 + 6 * columnBytes;
  if (textStart > bytes.length) throw damaged("occurrences of a document are missing");
  // Copied, because columns must be aligned.
  const columns = new Uint32Array(6 * count);
  Buffer.from(columns.buffer).set(bytes.subarray(4, textStart));
  const column = (at: number): Uint32Array => columns.subarray(at * count, (at + 1) * count);
  return {
    number,
    count,
    startLines: column(0),
    startCharacters: column(1),
    endLines: column(2),
    endCharacters: column(3),
    symbols: column(4),
    roles: column(5),
    localTexts: textStart === bytes.length ? [] : (parseJson(bytes.subarray(textStart)) as (SymbolText | null)[]),
    byteCount: 2 * bytes.length,
  };
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch (error) {
    throw damaged(errorMessage(error));
  }
}

function damaged(what: string): TrawlError {
  return new TrawlError("corrupt-shard", `a precise index is damaged: ${what}`);
}

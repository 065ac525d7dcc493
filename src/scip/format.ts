import { TrawlError } from "../base/errors.js";
import { crc32 } from "../native/memory/memory.js";

/** See FORMAT.md. */
export const formatVersion = 1;

const magic = 0x70637374;

/** The tables of a precise index, in the order of the file. */
export const tableNames = ["paths", "documents", "symbols", "postings", "relations", "hashes"] as const;
export type TableName = (typeof tableNames)[number];

export interface Table {
  readonly offset: number;
  readonly byteCount: number;
}

export interface PreciseHeader {
  readonly documentCount: number;
  readonly symbolCount: number;
  readonly tables: Readonly<Record<TableName, Table>>;
}

/** Bytes of the header: magic, version, checksum, two counts, and two numbers for each table. */
export const headerBytes = 24 + 16 * tableNames.length;

/** Bytes of the rows of tables. */
export const rowBytes = { documents: 24, symbols: 32, postings: 4, relations: 8, hashes: 8 } as const;

/** What a relation to another symbol says; `inverse` is the same as seen from the other one. */
export const relationFlags = { reference: 1, implementation: 2, definition: 4, inverse: 8 } as const;

/** Set in the number of a symbol that exists only in its document. */
export const localBit = 0x80000000;

export function encodeHeader({ documentCount, symbolCount, tables }: PreciseHeader): Buffer {
  const bytes = Buffer.alloc(headerBytes);
  bytes.writeUInt32LE(magic, 0);
  bytes.writeUInt32LE(formatVersion, 4);
  bytes.writeUInt32LE(documentCount, 12);
  bytes.writeUInt32LE(symbolCount, 16);
  tableNames.forEach((name, i) => {
    bytes.writeDoubleLE(tables[name].offset, 24 + 16 * i);
    bytes.writeDoubleLE(tables[name].byteCount, 32 + 16 * i);
  });
  bytes.writeUInt32LE(crc32(bytes.subarray(12)), 8);
  return bytes;
}

/** Throws `corrupt-shard` unless every table is inside of a file of `fileBytes` bytes. */
export function decodeHeader(bytes: Buffer, fileBytes: number): PreciseHeader {
  const fault = (what: string): TrawlError => new TrawlError("corrupt-shard", `a precise index is damaged: ${what}`);
  if (bytes.length < headerBytes || bytes.readUInt32LE(0) !== magic) throw fault("it has no header");
  if (bytes.readUInt32LE(4) !== formatVersion)
    throw new TrawlError(
      "format-version",
      `a precise index has format ${bytes.readUInt32LE(4)}, and this program reads ${formatVersion}`,
    );
  if (bytes.readUInt32LE(8) !== crc32(bytes.subarray(12, headerBytes)))
    throw fault("the checksum of its header is wrong");
  const [documentCount, symbolCount] = [bytes.readUInt32LE(12), bytes.readUInt32LE(16)];
  const entries = tableNames.map((name, i): [TableName, Table] => {
    const table = { offset: bytes.readDoubleLE(24 + 16 * i), byteCount: bytes.readDoubleLE(32 + 16 * i) };
    if (!(table.offset >= headerBytes && table.byteCount >= 0 && table.offset + table.byteCount <= fileBytes))
      throw fault(`its table ${name} is not in the file`);
    return [name, table];
  });
  const tables = Object.fromEntries(entries) as Record<TableName, Table>;
  if (tables.documents.byteCount !== documentCount * rowBytes.documents) throw fault("documents are missing");
  if (tables.symbols.byteCount !== symbolCount * rowBytes.symbols) throw fault("symbols are missing");
  return { documentCount, symbolCount, tables };
}

/** What is known about a symbol: JSON. Fields that are empty are left out. */
export interface SymbolText {
  /** The symbol itself; only of those that several documents share. */
  readonly symbol?: string;
  readonly name?: string;
  readonly kind?: number;
  readonly signature?: string;
  readonly documentation?: readonly string[];
}

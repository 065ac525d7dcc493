import { crc32 } from "../native/memory/memory.js";

/**
 * What every kind of shard has in common: a header, a table of sections, and the sections, each at a multiple of 8.
 * The kinds differ in their magic, their sections, and what words 5 to 7 of the header count.
 */
export interface SectionFormat<Section extends string> {
  /** The kind of shard, as messages name it. */
  readonly name: string;
  /** The first two words. */
  readonly magic: readonly [number, number];
  readonly version: number;
  /** In the order of the table, which is their order in the file unless a writer places them differently. */
  readonly sections: readonly Section[];
  /** What an operator does about a shard of another version: the beginning of a sentence. */
  readonly remedy: string;
}

/** Words of the header before the section table that all kinds of shards have. */
export const headerWords = {
  magic0: 0,
  magic1: 1,
  version: 2,
  headerCrc: 3,
  totalBytes: 4,
  firstCount: 5,
  oidBytes: 8,
  sectionCount: 9,
  flags: 10,
} as const;

export const headerWordCount = 16;

/** Bit of the header's flags: the shard has no posting lists, so every text is a candidate. */
export const withoutPostings = 1;

/** Words of one entry of the section table: offset, length, CRC-32. */
export const sectionWordCount = 3;

/** Size of the header and the table of this many sections. */
export function countHeaderBytes(sectionCount: number): number {
  return alignUp((headerWordCount + sectionCount * sectionWordCount) * 4);
}

/** The next multiple of 8. */
export function alignUp(byteCount: number): number {
  return Math.ceil(byteCount / 8) * 8;
}

/** CRC-32 of the header and the table of a shard with this many sections, with its own word set to zero. */
export function headerCrc(bytes: Uint8Array, sectionCount: number): number {
  const header = Buffer.from(bytes.subarray(0, countHeaderBytes(sectionCount)));
  header.writeUInt32LE(0, headerWords.headerCrc * 4);
  return crc32(header);
}

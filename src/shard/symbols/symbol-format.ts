/**
 * Constants of the format of symbol values; FORMAT.md describes it in prose.
 *
 * Versions: 1: first. 2: posting lists of the trigrams of names. 3: keys of names.
 */
export const symbolFormatVersion = 3;

/** "TRWLSYMS" in two little-endian words. */
export const symbolMagic = [0x4c575254, 0x534d5953] as const;

export const symbolHeader = {
  magic0: 0,
  magic1: 1,
  version: 2,
  /** Of all bytes, with this word set to zero. */
  crc: 3,
  totalBytes: 4,
  shardChecksum: 5,
  partCount: 6,
  symbolCount: 7,
  /** Parts for which ctags has failed. */
  failedCount: 8,
  producerBytes: 9,
  kindsBytes: 10,
  recordsBytes: 11,
  foldCount: 12,
  keyCount: 13,
  postingsBytes: 14,
  /** 1 if it has posting lists. */
  hasPostings: 15,
  /** Pairs of a key of a name and a part. */
  nameKeyCount: 16,
} as const;

export const symbolHeaderBytes = 4 * 17;

/** Bit of the state of a part: some of its names are in its record because they are not in their lines. */
export const hasStoredNames = 0x80;

/** Rounds up to whole words. */
export function wordAligned(byteCount: number): number {
  return Math.ceil(byteCount / 4) * 4;
}

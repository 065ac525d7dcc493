import { crc32 } from "node:zlib";
import { TrawlError } from "../base/errors.js";

/**
 * A stored record consists of four bytes of CRC-32, least significant byte first, over the key as UTF-8, a zero byte
 * and the value; followed by the value. LMDB has no checksums, so otherwise only damage that breaks the decoding of a
 * value would be detected.
 *
 * One additional record contains the number of all other records and the sum of their checksums. It is written with
 * each change, in the same transaction, and reveals records that have become unreachable because of a damaged page.
 */
const checksumBytes = 4;

/** Key of the record that summarizes all others. */
export const digestKey = "digest";

export interface Digest {
  readonly count: number;
  /** The sum of the checksums, modulo 2^32. */
  readonly sum: number;
}

export const emptyDigest: Digest = { count: 0, sum: 0 };

/** The value with its checksum, as stored. */
export function sealed(key: string, value: Buffer): Buffer {
  const checksum = Buffer.alloc(checksumBytes);
  checksum.writeUInt32LE(recordChecksum(key, value));
  return Buffer.concat([checksum, value]);
}

/** Extracts the value from a stored record. Throws `storage` if its checksum is wrong. */
export function unsealed(key: string, stored: Buffer): Buffer {
  const value = stored.subarray(checksumBytes);
  if (stored.length < checksumBytes || stored.readUInt32LE() !== recordChecksum(key, value)) {
    throw new TrawlError(
      "storage",
      `the record ${JSON.stringify(key)} of the catalog has a wrong checksum: restart the daemon, which restores the catalog from its newest snapshot`,
    );
  }
  return value;
}

/** The digest after adding (1) or removing (-1) a record. Caller guarantees: its checksum is correct. */
export function digestWith({ count, sum }: Digest, stored: Buffer, sign: 1 | -1): Digest {
  return { count: count + sign, sum: (sum + sign * stored.readUInt32LE()) >>> 0 };
}

export function sealedDigest(digest: Digest): Buffer {
  return sealed(digestKey, Buffer.from(JSON.stringify(digest)));
}

/** Throws `storage` if its checksum is wrong. */
export function unsealedDigest(stored: Buffer): Digest {
  return JSON.parse(unsealed(digestKey, stored).toString()) as Digest;
}

function recordChecksum(key: string, value: Buffer): number {
  const ofKey = crc32(`${key}\0`);
  // For an empty buffer without memory, Node returns 0 and not what it was given.
  return value.length === 0 ? ofKey : crc32(value, ofKey);
}

import { crc32 } from "node:zlib";
import { TrawlError } from "../base/errors.js";

/**
 * A stored record: four bytes of CRC-32, the least significant one first, over the key as UTF-8, a zero byte and the
 * value; then the value. LMDB has no checksums, so without them only damage that breaks the decoding of a value would
 * be noticed.
 *
 * One more record has the count of all others and the sum of their checksums. It is written with each change, in the
 * same transaction, and shows records that a damaged page no longer leads to.
 */
const checksumBytes = 4;

/** Key of the record that sums up all others. */
export const digestKey = "digest";

export interface Digest {
  readonly count: number;
  /** Of the checksums, modulo 2^32. */
  readonly sum: number;
}

export const emptyDigest: Digest = { count: 0, sum: 0 };

/** The value with its checksum, as it is stored. */
export function sealed(key: string, value: Buffer): Buffer {
  const checksum = Buffer.alloc(checksumBytes);
  checksum.writeUInt32LE(recordChecksum(key, value));
  return Buffer.concat([checksum, value]);
}

/** The value of what is stored. Throws `storage` when its checksum is wrong. */
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

/** The digest after a record was added (1) or taken away (-1). Caller guarantees: its checksum is right. */
export function digestWith({ count, sum }: Digest, stored: Buffer, sign: 1 | -1): Digest {
  return { count: count + sign, sum: (sum + sign * stored.readUInt32LE()) >>> 0 };
}

export function sealedDigest(digest: Digest): Buffer {
  return sealed(digestKey, Buffer.from(JSON.stringify(digest)));
}

/** Throws `storage` when its checksum is wrong. */
export function unsealedDigest(stored: Buffer): Digest {
  return JSON.parse(unsealed(digestKey, stored).toString()) as Digest;
}

function recordChecksum(key: string, value: Buffer): number {
  return crc32(value, crc32(`${key}\0`));
}

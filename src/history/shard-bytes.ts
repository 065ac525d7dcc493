import { assert } from "../base/assert.js";
import { crc32 } from "../native/memory/memory.js";
import {
  alignUp,
  formatVersion,
  headerBytes,
  headerWordCount,
  headerWords,
  magic,
  sections,
  sectionWordCount,
  type Section,
} from "./format.js";

export interface ShardCounts {
  readonly commitCount: number;
  readonly entryCount: number;
  readonly lineCount: number;
  readonly oidBytes: number;
  readonly flags: number;
}

type Parts = Readonly<Record<Section, Uint8Array>>;

/** Bytes of a shard with these sections. */
export function countBytes(parts: Parts): number {
  return sections.reduce((sum, section) => sum + alignUp(parts[section].length), headerBytes);
}

/** Writes header and sections, and zeros after them. */
export function assemble(
  bytes: Buffer,
  counts: ShardCounts,
  parts: Parts,
  checksum: (part: Uint8Array) => number,
): void {
  const totalBytes = countBytes(parts);
  assert(bytes.length >= totalBytes && bytes.byteOffset % 8 === 0, "a shard has room, from a multiple of 8 on");
  assert(totalBytes < 2 ** 32, "the offsets of a shard fit into a word");
  bytes.fill(0, 0, headerBytes);
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, headerBytes / 4);
  words[headerWords.magic0] = magic[0];
  words[headerWords.magic1] = magic[1];
  words[headerWords.version] = formatVersion;
  words[headerWords.totalBytes] = totalBytes;
  words[headerWords.commitCount] = counts.commitCount;
  words[headerWords.entryCount] = counts.entryCount;
  words[headerWords.lineCount] = counts.lineCount;
  words[headerWords.oidBytes] = counts.oidBytes;
  words[headerWords.sectionCount] = sections.length;
  words[headerWords.flags] = counts.flags;
  let offset = headerBytes;
  sections.forEach((section, i) => {
    const part = parts[section];
    bytes.set(part, offset);
    bytes.fill(0, offset + part.length, offset + alignUp(part.length));
    const entry = headerWordCount + i * sectionWordCount;
    words[entry] = offset;
    words[entry + 1] = part.length;
    words[entry + 2] = checksum(part);
    offset += alignUp(part.length);
  });
  bytes.fill(0, totalBytes);
  words[headerWords.headerCrc] = headerCrc(bytes);
}

/** CRC-32 of the header, with its own word set to zero. */
export function headerCrc(bytes: Uint8Array): number {
  const header = Buffer.from(bytes.subarray(0, headerBytes));
  header.writeUInt32LE(0, headerWords.headerCrc * 4);
  return crc32(header);
}

import { assert } from "../base/assert.js";
import {
  alignUp,
  headerWords,
  countHeaderBytes,
  headerCrc,
  headerWordCount,
  sectionWordCount,
  type SectionFormat,
} from "./section-layout.js";

export type SectionBytes<Section extends string> = Readonly<Record<Section, Uint8Array>>;

/** Offsets of the sections, and the size of the shard. */
export interface SectionLayout<Section extends string> {
  readonly offsets: ReadonlyMap<Section, number>;
  readonly totalBytes: number;
}

/** The header's words that depend on the content of the shard. */
export interface HeaderValues {
  /** Words 5 to 7; their meaning depends on the kind of shard. */
  readonly counts: readonly [number, number, number];
  readonly oidBytes: number;
  readonly flags: number;
}

/** Places all sections one after another in this order. */
export function layOut<Section extends string>(
  order: readonly Section[],
  parts: SectionBytes<Section>,
): SectionLayout<Section> {
  const offsets = new Map<Section, number>();
  let totalBytes = countHeaderBytes(order.length);
  for (const section of order) {
    offsets.set(section, totalBytes);
    totalBytes += alignUp(parts[section].length);
  }
  assert(totalBytes < 2 ** 32, "the offsets of a shard fit into a word");
  return { offsets, totalBytes };
}

/** Writes the header, the table and the sections that are `copied`; the others are already in place. */
export function writeSections<Section extends string>(
  bytes: Buffer,
  { magic, version, sections }: SectionFormat<Section>,
  { counts, oidBytes, flags }: HeaderValues,
  parts: SectionBytes<Section>,
  { offsets, totalBytes }: SectionLayout<Section>,
  copied: readonly Section[],
  checksum: (part: Uint8Array) => number,
): void {
  assert(bytes.length >= totalBytes && bytes.byteOffset % 8 === 0, "a shard has room, from a multiple of 8 on");
  const headerBytes = countHeaderBytes(sections.length);
  bytes.fill(0, 0, headerBytes);
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, headerBytes / 4);
  words.set(magic, headerWords.magic0);
  words[headerWords.version] = version;
  words[headerWords.totalBytes] = totalBytes;
  words.set(counts, headerWords.firstCount);
  words[headerWords.oidBytes] = oidBytes;
  words[headerWords.sectionCount] = sections.length;
  words[headerWords.flags] = flags;
  sections.forEach((section, i) => {
    const part = parts[section];
    const offset = offsets.get(section) ?? 0;
    if (copied.includes(section)) {
      bytes.set(part, offset);
      bytes.fill(0, offset + part.length, offset + alignUp(part.length));
    }
    words.set([offset, part.length, checksum(part)], headerWordCount + i * sectionWordCount);
  });
  words[headerWords.headerCrc] = headerCrc(bytes, sections.length);
}

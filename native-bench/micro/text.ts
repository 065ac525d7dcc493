import { createHash } from "node:crypto";

/** What the micro benchmarks work on: real files in a fixed order. */
export interface MicroText {
  readonly documents: readonly MicroDocument[];
  readonly bytes: number;
}

export interface MicroDocument {
  readonly path: string;
  /** Equal texts have equal ids, as in git. */
  readonly oid: string;
  readonly text: Buffer;
}

/** Neighbours in a listing resemble each other, so a sample takes every 16th file, then those after them. */
const sampleStride = 16;

/**
 * Files of `paths`, spread over the whole list, until they have `bytesMax` together. The same list gives the same text.
 */
export function sampleText(paths: readonly string[], read: (path: string) => Buffer, bytesMax: number): MicroText {
  const documents: MicroDocument[] = [];
  let bytes = 0;
  for (let first = 0; first < sampleStride; first++) {
    for (let i = first; i < paths.length; i += sampleStride) {
      const path = paths[i] ?? "";
      const text = read(path);
      if (bytes + text.length > bytesMax) return { documents, bytes };
      documents.push({ path, oid: createHash("sha1").update(text).digest("hex"), text });
      bytes += text.length;
    }
  }
  return { documents, bytes };
}

const halfShardBytes = 32 * 1024 * 1024;

/** Documents for half a shard: building or writing it many times takes long enough. */
export function firstDocuments(documents: readonly MicroDocument[]): MicroDocument[] {
  let bytes = 0;
  return documents.filter(({ text }) => (bytes += text.length) <= halfShardBytes);
}

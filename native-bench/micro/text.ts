import { createHash } from "node:crypto";

/** What the micro benchmarks work on: real files in a fixed order. */
export interface MicroText {
  readonly documents: readonly MicroDocument[];
  readonly bytes: number;
}

export interface MicroDocument {
  readonly path: string;
  /** A name for the text, as git gives it one: equal texts have equal ones. */
  readonly oid: string;
  readonly text: Buffer;
}

/** Neighbours in a listing resemble each other, so a sample takes every so many-th file, then those after them. */
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

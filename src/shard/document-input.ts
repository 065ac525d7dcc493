import type { SkipReason } from "../model/skip-reason.js";

/** One document as passed to the builder. */
export interface DocumentInput {
  readonly repositoryId: number;
  readonly path: Buffer;
  /** Bit mask of the repository's branches that have this document. */
  readonly branchMask: number;
  /** Hex oid of the blob (of the commit, for a submodule). */
  readonly oid: string;
  /** Language name; "" if unknown. */
  readonly language: string;
  readonly skipReason: SkipReason;
}

export function toBytes(words: Uint32Array): Uint8Array {
  return new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
}

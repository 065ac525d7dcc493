import type { CommitSets } from "../protocol/search-options.js";

/** What a search sees of a live shard, apart from its bytes. */
export interface ShardVisibility {
  readonly summaries: Uint8Array;
  readonly tombstones: Uint32Array | undefined;
  /** For searches of commits that are not indexed: the commit set of each document, and the sets themselves. */
  readonly sets: DocumentSets | undefined;
}

/** `CommitSets` of one shard. */
export interface DocumentSets extends Pick<CommitSets, "setStarts" | "setRanges"> {
  readonly ofDocuments: Uint32Array;
}

/** Whether set `set` contains the commit with this number. */
export function isInSet({ setStarts, setRanges }: DocumentSets, set: number, commit: number): boolean {
  for (let i = setStarts[set]; i < setStarts[set + 1]; i++)
    if (setRanges[2 * i] <= commit && commit < setRanges[2 * i + 1]) return true;
  return false;
}

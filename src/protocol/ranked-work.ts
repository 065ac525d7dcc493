import type { CachedShardRange, RankedPart } from "./messages.js";
import type { RankedDocument } from "./rank-messages.js";
import type { SearchOptions } from "./search-options.js";

/** Shards to search. */
export interface ShardWork {
  readonly options: SearchOptions;
  /** Indexes of shards: first in the table of the search, then among the cached ones. */
  readonly rows: Uint32Array;
  readonly cached: readonly CachedShardRange[];
}

/** A part of a ranked search. */
export interface RankedWork extends ShardWork {
  readonly ranked: RankedPart;
}

/** Work on shards, which are indexes into the rows of the whole work. */
export function workOnShards(
  { options, rows, cached }: ShardWork,
  shards: Uint32Array,
  ranked: RankedPart,
): RankedWork {
  const sets = options.commitSets;
  const commitSets = sets && { ...sets, starts: shards.map((shard) => sets.starts[shard]) };
  return { options: { ...options, commitSets }, rows: shards.map((shard) => rows[shard]), cached, ranked };
}

/** Work on ranked documents in their order: one element of its rows for each. */
export function workOnDocuments(
  work: ShardWork,
  documents: readonly RankedDocument[],
  scores: readonly string[] | undefined,
): RankedWork {
  const shards = Uint32Array.from(documents, ({ shard }) => shard);
  return workOnShards(work, shards, {
    only: Uint32Array.from(documents, ({ document }) => document),
    scores,
    except: undefined,
  });
}

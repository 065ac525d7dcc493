import { assert } from "../base/assert.js";
import { setBit } from "../base/bits.js";
import type { Repository } from "../model/repository.js";
import type { LiveShard, ShardRecord } from "../model/shard-record.js";
import { encodeSummaries } from "../protocol/repository-summaries.js";

/** What searches see of a shard, with the repositories and tombstones that it has at this moment. */
export function makeLiveShard(
  record: ShardRecord,
  findRepository: (id: number) => Repository | undefined,
  tombstones: Uint32Array | undefined,
): LiveShard {
  const repositories = record.repositoryIds.map(findRepository);
  return {
    record,
    stars: repositories.reduce((most, repository) => Math.max(most, repository?.stars ?? 0), 0),
    summaries: encodeSummaries(repositories),
    tombstones,
    tombstoneCount: tombstones === undefined ? 0 : countBits(tombstones),
  };
}

/** Returns a copy of `before`, in shared memory, that also has the tombstones of these documents. */
export function addTombstones(
  before: Uint32Array | undefined,
  documents: readonly number[],
  documentCount: number,
): Uint32Array {
  const words = new Uint32Array(new SharedArrayBuffer(Math.ceil(documentCount / 32) * 4));
  if (before !== undefined) words.set(before);
  for (const document of documents) {
    assert(document < documentCount, "a tombstone names a document of its shard");
    setBit(words, document);
  }
  return words;
}

function countBits(words: Uint32Array): number {
  let count = 0;
  for (let word of words) for (; word !== 0; word &= word - 1) count++;
  return count;
}

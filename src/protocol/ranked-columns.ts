import type { RankedColumns, RankedDocument, RankedShard } from "./rank-messages.js";
import { noStats, type SearchStats } from "./search-options.js";

/** Shard, document, score, number of matches, stars, and when the commit was made. */
const documentNumbers = 6;

const statNames = Object.keys(noStats()) as (keyof SearchStats)[];
const shardNumbers = 3 + statNames.length;

export function encodeRanked(
  documents: readonly RankedDocument[],
  shards: readonly RankedShard[],
  withParts: boolean,
): RankedColumns {
  const numbers = new Float64Array(documents.length * documentNumbers);
  const names: string[] = [];
  documents.forEach(({ shard, document, score, matchCount, stars, committedSeconds, repository, path }, i) => {
    numbers.set([shard, document, score, matchCount, stars, committedSeconds], i * documentNumbers);
    names.push(repository, path);
  });
  const ofShards = new Float64Array(shards.length * shardNumbers);
  shards.forEach(({ shard, isComplete, keptCount, stats }, i) => {
    const own = statNames.map((name) => stats[name]);
    ofShards.set([shard, Number(isComplete), keptCount, ...own], i * shardNumbers);
  });
  return {
    documents: numbers,
    names,
    parts: withParts ? documents.map(({ parts }) => parts) : undefined,
    shards: ofShards,
  };
}

export function decodeDocuments({ documents, names, parts }: RankedColumns): RankedDocument[] {
  return Array.from({ length: documents.length / documentNumbers }, (_, i) => {
    const [shard, document, score, matchCount, stars, committedSeconds] = documents.subarray(i * documentNumbers);
    const [repository, path] = [names[2 * i], names[2 * i + 1]];
    return { shard, document, score, matchCount, parts: parts?.[i], stars, committedSeconds, repository, path };
  });
}

export function decodeShards({ shards }: RankedColumns): RankedShard[] {
  return Array.from({ length: shards.length / shardNumbers }, (_, i) => {
    const [shard, isComplete, keptCount, ...own] = shards.subarray(i * shardNumbers, (i + 1) * shardNumbers);
    const stats = noStats();
    statNames.forEach((name, at) => {
      stats[name] = own[at];
    });
    return { shard, isComplete: isComplete === 1, keptCount, stats };
  });
}

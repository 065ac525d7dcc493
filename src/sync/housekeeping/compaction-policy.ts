import type { LiveShard } from "../../model/shard-record.js";

/** Number of shards in a size class that triggers a merge. */
const shardsPerClass = 6;

/** The factor between size classes, starting from the smallest. */
const classFactor = 4;
const smallestClassBytes = 64 * 1024;

/** Maximum size of a merged shard; larger shards are left alone unless many of their documents are dead. */
const mergedBytesMax = 64 * 1024 * 1024;

/** A shard is rewritten if more than this share of its documents is invisible. */
const deadShareMax = 0.4;

/**
 * Chooses shards to merge, or none.
 *
 * Size classes work as in a log-structured merge tree: six shards of a class become one of the next, so a document is
 * copied once per class (at most five times), and the number of shards below 64 MiB stays at about thirty. A shard with
 * many dead documents is rewritten on its own. Shards for which `isBusy` is true are excluded.
 */
export function chooseCompaction(
  shards: readonly LiveShard[],
  isBusy: (shard: LiveShard) => boolean,
): readonly LiveShard[] {
  const free = shards.filter((shard) => !isBusy(shard));
  const dead = free.find((shard) => deadShare(shard) > deadShareMax);
  if (dead !== undefined) return [dead];
  const classes = new Map<number, LiveShard[]>();
  for (const shard of free) {
    if (shard.record.contentBytes > mergedBytesMax / 2) continue;
    const sizeClass = sizeClassFor(shard.record.contentBytes);
    const members = classes.get(sizeClass);
    if (members === undefined) classes.set(sizeClass, [shard]);
    else members.push(shard);
  }
  for (const [, members] of [...classes].sort((a, b) => a[0] - b[0])) {
    if (members.length >= shardsPerClass) return takeUpTo(members, mergedBytesMax);
  }
  return [];
}

function deadShare(shard: LiveShard): number {
  const { record } = shard;
  const hidden = record.repositoryIds.filter((id) => id === 0).length / Math.max(1, record.repositoryIds.length);
  return Math.max(hidden, shard.tombstoneCount / Math.max(1, record.documentCount));
}

function sizeClassFor(byteCount: number): number {
  return Math.max(0, Math.ceil(Math.log(Math.max(1, byteCount) / smallestClassBytes) / Math.log(classFactor)));
}

function takeUpTo(shards: readonly LiveShard[], byteCountMax: number): LiveShard[] {
  const taken: LiveShard[] = [];
  let byteCount = 0;
  for (const shard of shards) {
    if (taken.length >= 2 && byteCount + shard.record.contentBytes > byteCountMax) break;
    taken.push(shard);
    byteCount += shard.record.contentBytes;
  }
  return taken;
}

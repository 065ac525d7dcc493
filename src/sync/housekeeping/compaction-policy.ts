import type { LiveShard } from "../../model/shard-record.js";

/** Shards of one size class are merged when there are this many. */
const shardsPerClass = 6;

/** Size classes grow by this factor, from the smallest on. */
const classFactor = 4;
const smallestClassBytes = 64 * 1024;

/** A merged shard is no larger than this; larger shards are left alone unless much of them is dead. */
const mergedBytesMax = 64 * 1024 * 1024;

/** A shard is rewritten when more than this share of its documents is invisible. */
const deadShareMax = 0.4;

/**
 * Chooses shards to merge, or none.
 *
 * Classes by size, as in a log-structured merge tree: six shards of a class become one of the next, so a document is
 * copied once per class (five times at most), and the number of shards below 64 MiB stays under thirty and some. A
 * shard with many dead documents is rewritten by itself. Shards that `isBusy` are left out.
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

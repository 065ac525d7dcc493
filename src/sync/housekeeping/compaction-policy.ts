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

/** What the choice depends on besides the shards. */
export interface CompactionSite {
  readonly isBusy: (shard: LiveShard) => boolean;
  /** Shards of different partitions are not merged. */
  readonly partition: (shard: LiveShard) => number;
  /** The visibility of a repository that is not hidden. */
  readonly viewersKey: (repositoryId: number) => string;
  /** Whether documents that are hidden in the shard may have had other viewers than the rest of it. */
  readonly isSuspect: (shard: LiveShard) => boolean;
}

/**
 * Chooses shards to merge, or none. A merged shard is written once for each visibility of its repositories.
 *
 * Shards whose repositories differ in visibility come first, one at a time: their text is to be separated. Only shards
 * of one partition and one visibility are merged.
 *
 * Size classes work as in a log-structured merge tree: six shards of a class become one of the next, so a document is
 * copied once per class (at most five times), and the number of shards below 64 MiB stays at about thirty. A shard with
 * many dead documents is rewritten on its own. Shards that are busy are excluded.
 */
export function chooseCompaction(shards: readonly LiveShard[], site: CompactionSite): readonly LiveShard[] {
  const free = shards.filter((shard) => !site.isBusy(shard));
  const impure = free.find((shard) => isImpure(shard, site));
  if (impure !== undefined) return [impure];
  const dead = free.find((shard) => deadShare(shard) > deadShareMax);
  if (dead !== undefined) return [dead];
  const classes = new Map<string, { readonly sizeClass: number; readonly members: LiveShard[] }>();
  for (const shard of free) {
    if (shard.record.contentBytes > mergedBytesMax / 2) continue;
    const sizeClass = sizeClassFor(shard.record.contentBytes);
    const key = `${sizeClass} ${site.partition(shard)} ${shardVisibility(shard, site) ?? ""}`;
    const known = classes.get(key);
    if (known === undefined) classes.set(key, { sizeClass, members: [shard] });
    else known.members.push(shard);
  }
  for (const { members } of [...classes.values()].sort((a, b) => a.sizeClass - b.sizeClass)) {
    if (members.length >= shardsPerClass) return takeUpTo(members, mergedBytesMax);
  }
  return [];
}

/** Whether some of the shard's text had or has other viewers than the rest. */
export function isImpure(shard: LiveShard, site: Pick<CompactionSite, "viewersKey" | "isSuspect">): boolean {
  const { repositoryIds } = shard.record;
  if (site.isSuspect(shard) && repositoryIds.includes(0)) return true;
  const visibility = shardVisibility(shard, site);
  return visibility !== undefined && repositoryIds.some((id) => id !== 0 && site.viewersKey(id) !== visibility);
}

/** The repositories of the shards that are not hidden, by visibility. */
export function repositoriesByVisibility(
  shards: readonly LiveShard[],
  viewersKey: CompactionSite["viewersKey"],
): number[][] {
  const groups = new Map<string, number[]>();
  for (const id of new Set(shards.flatMap(({ record }) => record.repositoryIds))) {
    if (id === 0) continue;
    const visibility = viewersKey(id);
    const group = groups.get(visibility);
    if (group === undefined) groups.set(visibility, [id]);
    else group.push(id);
  }
  return [...groups.values()];
}

/** The visibility of its first repository; undefined if all are hidden. */
function shardVisibility({ record }: LiveShard, site: Pick<CompactionSite, "viewersKey">): string | undefined {
  const first = record.repositoryIds.find((id) => id !== 0);
  return first === undefined ? undefined : site.viewersKey(first);
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

import { TrawlError } from "../../base/errors.js";
import type { Log } from "../../base/log.js";
import type { Metrics } from "../../base/metrics.js";
import type { Catalog } from "../../catalog/catalog.js";
import type { Manifest } from "../../catalog/manifest.js";
import type { HistoryShardRecord } from "../../model/history-record.js";
import type { ShardRecord } from "../../model/shard-record.js";
import type { Repository } from "../../model/repository.js";
import type { IngestPool } from "../../pool/ingest-pool.js";
import type { FetchSettings, IndexLimits } from "../../protocol/ingest-messages.js";
import type { SyncActivities } from "./activity.js";

export interface SyncSettings {
  readonly dataFolder: string;
  readonly limits: IndexLimits;
  readonly fetch: FetchSettings;
  /** Whether symbols are extracted, and the name or the path of ctags. */
  readonly symbols: { readonly enabled: boolean; readonly command: string };
  /** Shortest and longest time between two syncs of one repository. */
  readonly intervalMsMin: number;
  readonly intervalMsMax: number;
  /** Time after which a remote that lists nothing any more is believed; 0 if never. */
  readonly acceptEmptyMs: number;
  /** Time from a repository's removal from the configuration until it is deleted. */
  readonly removalGraceMs: number;
  /** Text of the history of one repository that is indexed: lines and messages, each distinct line once per shard. */
  readonly historyBytesMax: number;
  /** The version of the program: items on which another version failed are retried. */
  readonly program: string;
  /** Called with the reason when the durable state of the shards is unknown. */
  readonly onStoreLost: (reason: string) => void;
}

/** What repositories are fetched with that have no secret of their own, such as a token of their code host that ends soon. */
export interface FetchSecrets {
  /** `USER:PASSWORD`; undefined if there is none. Rejects if there should be one, and cannot be had. */
  find(repository: Repository): Promise<string | undefined>;
  /** The remote could not be read with it. */
  doubt(repository: Repository): void;
}

/**
 * Writes what is stored of a live shard or history shard again, from where the other nodes of the fleet have it. Rejects if it
 * cannot be had.
 */
export type RestoreShard = (record: ShardRecord | HistoryShardRecord, kind: "text" | "history") => Promise<void>;

/** Which repositories this node fetches and indexes: all of them on a single host, those of its partitions in a fleet. */
export interface OwnShare {
  /** The partitions that it changes at this moment. */
  partitions(): readonly number[];
  has(repositoryId: number): boolean;
  /** Why it does not fetch and index this one. */
  refusal(repositoryId: number): TrawlError;
}

export const wholeShare: OwnShare = {
  partitions: () => [0],
  has: () => true,
  refusal: () => new TrawlError("conflict", "another node changes this part of the index"),
};

/** Whether this node changes the repositories of a shard, which are in one partition. */
export function hasShard(share: OwnShare, { repositoryIds }: Pick<ShardRecord, "repositoryIds">): boolean {
  const id = repositoryIds.find((one) => one !== 0);
  return id === undefined || share.has(id);
}

/** By partition, since a flip changes one. */
export function byPartition<T>(items: Iterable<T>, find: (item: T) => number): Map<number, T[]> {
  const groups = new Map<number, T[]>();
  for (const item of items) {
    const partition = find(item);
    const group = groups.get(partition);
    if (group === undefined) groups.set(partition, [item]);
    else group.push(item);
  }
  return groups;
}

/** Services shared by the parts of the sync. */
export interface SyncServices {
  /** What is searchable. It is changed through the manifest only. */
  readonly catalog: Catalog;
  readonly manifest: Manifest;
  /** What of it this node changes. */
  readonly share: OwnShare;
  readonly pool: IngestPool;
  readonly settings: SyncSettings;
  readonly activities: SyncActivities;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Undefined where nobody else has the shards: damaged ones are built again. */
  readonly restore: RestoreShard | undefined;
  /** Whether a search is running, which work that can wait would slow down. */
  readonly isSearching: () => boolean;
}

/** Every part that writes shards reports its failures here. */
export function reportStoreLoss(settings: SyncSettings, error: unknown): void {
  if (error instanceof TrawlError && error.code === "store-lost") settings.onStoreLost(error.message);
}

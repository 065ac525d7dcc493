import { TrawlError } from "../base/errors.js";
import type { Log } from "../base/log.js";
import type { Metrics } from "../base/metrics.js";
import type { Catalog } from "../catalog/catalog.js";
import type { IngestPool } from "../pool/ingest-pool.js";
import type { FetchSettings, IndexLimits } from "../protocol/messages.js";
import type { SyncActivities } from "./activity.js";

export interface SyncSettings {
  readonly dataFolder: string;
  readonly limits: IndexLimits;
  readonly fetch: FetchSettings;
  /** Shortest and longest time between two syncs of one repository. */
  readonly intervalMsMin: number;
  readonly intervalMsMax: number;
  /** From when a repository vanishes from the configuration until it is deleted. */
  readonly removalGraceMs: number;
  /** The version of the program: what another one did not get past is tried again. */
  readonly program: string;
  /** Told why nobody knows any more what the disk has of the shards. */
  readonly onStoreLost: (reason: string) => void;
}

/** What the parts of the sync share. */
export interface SyncServices {
  readonly catalog: Catalog;
  readonly pool: IngestPool;
  readonly settings: SyncSettings;
  readonly activities: SyncActivities;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** Every part that writes shards passes its failures here. */
export function reportStoreLoss(settings: SyncSettings, error: unknown): void {
  if (error instanceof TrawlError && error.code === "store-lost") settings.onStoreLost(error.message);
}

import type { ShardRecord } from "../model/shard-record.js";
import type { CatalogChange } from "./catalog-change.js";

/** One step of a manifest: a change with a name of its own, by which it is found again if its outcome was not learnt. */
export interface Flip<Change extends CatalogChange = CatalogChange> {
  /** A UUID. */
  readonly id: string;
  /** Plain data: `encodeChange` makes a text of it that means the same on another host. */
  readonly change: Change;
}

/**
 * Makes changes of the catalog what everybody finds: the only way in which repositories, live shards and tombstones change.
 * On a single host the catalog is the manifest, and LMDB has it.
 *
 * Contract:
 * - `publish` calls `makeChange` when all earlier changes are visible in the catalog, so what it reads there is what it changes.
 *   It may be called again for the same change: then nothing of the first call is kept.
 * - It resolves with the change when it is durable and visible in the catalog of this host. All of the change becomes visible
 *   at once, and other reading of the catalog sees all or nothing.
 * - If it rejects, nothing of the change is visible. After an error that `makeChange` has thrown nothing is stored, and
 *   changes that follow are made.
 * - A change that writes nothing is no flip. Each other one is a flip with an id of its own, and increases the version of the catalog's
 *   position by one, in the same transaction.
 * - Changes are made in the order of the calls. Ids of repositories are not used again.
 * - `store` may be called before a change that adds these shards: it does what the change would have to wait for. On a single host, that
 *   is nothing.
 */
export interface Manifest {
  store(records: readonly ShardRecord[]): Promise<void>;
  publish<Change extends CatalogChange>(makeChange: () => Change | Promise<Change>): Promise<Change>;
}

import { TrawlError } from "../../base/errors.js";
import type { CatalogChange } from "../../catalog/catalog-change.js";
import type { Catalog } from "../../catalog/catalog.js";
import type { Manifest } from "../../catalog/manifest.js";
import type { Replica } from "../../fleet/replica.js";
import type { OwnShare, RestoreShard } from "../../sync/services/sync-settings.js";
import type { ShardRecord } from "../../model/shard-record.js";

/** The manifest of a node whose fleet has a database, which is opened after everything else was made. */
export class LaterManifest implements Manifest {
  manifest: Manifest | undefined;
  replica:
    | Pick<Replica, "isOwner" | "hasFollowed" | "hasSeenAll" | "isSearchable" | "outdated" | "changed" | "refusalIn">
    | undefined;

  /** Opened with the manifest. */
  restore: RestoreShard = () => Promise.reject(new TrawlError("overloaded", "the daemon is starting"));

  /** The partitions that this node changes; none before the manifest is opened. */
  share(catalog: Pick<Catalog, "partitions">): OwnShare {
    const changed = (): ReadonlySet<number> => this.replica?.changed ?? new Set<number>();
    const starting = new TrawlError("overloaded", "the daemon is starting; try again in a moment");
    return {
      partitions: () => [...changed()],
      has: (id) => changed().has(catalog.partitions.find(id)),
      refusal: (id) => this.replica?.refusalIn(catalog.partitions.find(id)) ?? starting,
    };
  }

  async store(records: readonly ShardRecord[]): Promise<void> {
    return this.#opened.store(records);
  }

  async publish<Change extends CatalogChange>(makeChange: () => Change | Promise<Change>): Promise<Change> {
    return this.#opened.publish(makeChange);
  }

  /**
   * Throws `overloaded` before this node has had all that the database has: it may not know all readers of repositories then, and a name
   * that is free here may be theirs.
   */
  requireReaders(): void {
    if (this.replica?.hasSeenAll !== true)
      throw new TrawlError(
        "overloaded",
        "this node does not know yet which names the readers of repositories have, so nobody can take one: try again in a moment, and see whether the database of the fleet can be reached",
      );
  }

  get #opened(): Manifest {
    if (this.manifest === undefined)
      throw new TrawlError("overloaded", "the daemon is starting; try again in a moment");
    return this.manifest;
  }
}

import { assert } from "../base/assert.js";
import type { CatalogChange } from "../catalog/catalog-change.js";
import type { Catalog } from "../catalog/catalog.js";
import type { Manifest } from "../catalog/manifest.js";
import type { ShardRecord } from "../model/shard-record.js";
import { RefusedFlip, type SharedManifest } from "./shared-manifest.js";

/** Of a flip that is refused: another one of this node may have claimed the partition anew meanwhile. */
const attemptsMax = 3;

/**
 * The manifest of all partitions, at one node: a change is published in the partition that its repositories are in, and fails unless this
 * node owns that one.
 *
 * A change is computed when its turn in the catalog has come, and only then it is known which partition it is about. So the flips of a
 * node are made one after the other, over all of its partitions.
 */
export class PartitionedManifest implements Manifest {
  readonly #catalog: Catalog;
  /** By partition. */
  readonly #manifests: readonly SharedManifest[];

  constructor(catalog: Catalog, manifests: readonly SharedManifest[]) {
    assert(manifests.length === catalog.partitions.count, "each partition has a manifest");
    this.#catalog = catalog;
    this.#manifests = manifests;
  }

  #at(partition: number): SharedManifest {
    const manifest = this.#manifests[partition];
    assert(manifest !== undefined, "a change is about a partition that there is");
    return manifest;
  }

  async store(records: readonly ShardRecord[]): Promise<void> {
    for (const record of records) {
      const id = record.repositoryIds.find((one) => one !== 0);
      if (id !== undefined) await this.#at(this.#catalog.partitions.find(id)).store([record]);
    }
  }

  async publish<Change extends CatalogChange>(makeChange: () => Change | Promise<Change>): Promise<Change> {
    for (let attempt = 1; ; attempt++) {
      const about: { manifest: SharedManifest | undefined } = { manifest: undefined };
      try {
        const made = await this.#catalog.flip(
          async () => {
            const change = await makeChange();
            const partition = this.#catalog.findPartition(change);
            if (partition === undefined) return change;
            about.manifest = this.#at(partition);
            about.manifest.requireTurn();
            return about.manifest.storeAll(change);
          },
          (flip, staged, partition) => this.#at(partition).decide(flip, staged),
        );
        about.manifest?.flipped();
        return made;
      } catch (error) {
        if (!(error instanceof RefusedFlip) || about.manifest === undefined || attempt === attemptsMax) throw error;
        // Outside the turn of the catalog, because it follows.
        if (!(await about.manifest.claimAgain())) throw error;
      }
    }
  }
}

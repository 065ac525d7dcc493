import { assert } from "../../base/assert.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import type { Basis } from "../../catalog/catalog.js";
import type { CatalogChange } from "../../catalog/catalog-change.js";
import type { ShardRecord } from "../../model/shard-record.js";
import type { IndexTasks } from "../queue/index-tasks.js";
import { reportStoreLoss, type SyncServices } from "../services/sync-settings.js";

/** What a task has computed, from an index that is another one now. */
export class OutdatedWork extends TrawlError {
  constructor() {
    super(
      "conflict",
      "another node has changed the index meanwhile, or its database has fallen back: this is done again",
    );
  }
}

/** Makes shards live, and deletes shards that are not live. */
export class ShardFlips {
  /** The next shard id, shared with the workers. */
  readonly shardIds = new Int32Array(new SharedArrayBuffer(4));
  readonly #services: SyncServices;
  readonly #tasks: IndexTasks;

  constructor(services: SyncServices, tasks: IndexTasks) {
    this.#services = services;
    this.#tasks = tasks;
  }

  /** New shards get ids from this one on: smaller ids may still be in the store. */
  reserveShardIds(nextShardId: number): void {
    assert(nextShardId > 0 && nextShardId >>> 0 === nextShardId, "ids of shards are positive numbers of 32 bits");
    assert(nextShardId >= this.shardIds[0] >>> 0, "ids of shards are not used again");
    this.shardIds[0] = nextShardId;
  }

  /**
   * One catalog flip. Shards written for it that it does not use are deleted. `basis` is what the task began with:
   * the locks of repositories keep other tasks of this node from what it was computed from, but no other node. Rejects with `OutdatedWork` if
   * there is another one.
   */
  async flip(written: readonly ShardRecord[], basis: Basis, makeChange: () => CatalogChange): Promise<void> {
    const ids = new Set(written.map(({ id }) => id));
    assert(ids.size === written.length, "each shard that a task has written has an id of its own");
    for (const id of ids)
      assert(id > 0 && id < this.shardIds[0] >>> 0, "a worker takes the ids of shards from the counter");
    let used: readonly ShardRecord[] = [];
    try {
      await this.#services.manifest.store(written);
      ({ addedShards: used = [] } = await this.#services.manifest.publish(() => {
        if (!this.#services.catalog.isCurrent(basis)) throw new OutdatedWork();
        const change = makeChange();
        for (const { id } of change.addedShards ?? [])
          assert(ids.has(id), "a flip adds shards that were written for it");
        return change;
      }));
    } finally {
      this.retire(written.map((record) => record.id).filter((id) => !used.some((record) => record.id === id)));
    }
  }

  /** Deletes retired shards. */
  retire(shardIds: readonly number[]): void {
    if (shardIds.length === 0 || this.#tasks.suspended !== undefined) return;
    const { pool, settings, log } = this.#services;
    this.#tasks.track(
      pool.remove({ kind: "remove", shardIds }).catch((error: unknown) => {
        reportStoreLoss(settings, error);
        log.warn(
          { shards: shardIds, error: errorMessage(error) },
          "retired shards could not be deleted; the next start will retry",
        );
      }),
    );
  }
}

/** The shards with all other repositories hidden, without shards in which no repository would be visible. */
export function withOnly(shards: readonly ShardRecord[], isShown: (repositoryId: number) => boolean): ShardRecord[] {
  return shards
    .map((record) => ({ ...record, repositoryIds: record.repositoryIds.map((id) => (isShown(id) ? id : 0)) }))
    .filter((record) => record.repositoryIds.some((id) => id !== 0));
}

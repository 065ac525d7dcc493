import { assert } from "../../base/assert.js";
import { TrawlError } from "../../base/errors.js";
import type { Catalog } from "../../catalog/catalog.js";
import type { SyncActivities } from "../services/activity.js";
import type { IndexTasks } from "./index-tasks.js";
import type { MirrorFolders } from "../services/mirror-folders.js";

/**
 * Which repositories are in a task: each is in at most one at a time, and only that task may access its mirror and its
 * shards.
 */
export class RepositoryLocks {
  readonly #catalog: Catalog;
  readonly #tasks: IndexTasks;
  readonly #activities: SyncActivities;
  readonly #mirrors: MirrorFolders;
  readonly #busy = new Set<number>();

  constructor(catalog: Catalog, tasks: IndexTasks, activities: SyncActivities, mirrors: MirrorFolders) {
    this.#catalog = catalog;
    this.#tasks = tasks;
    this.#activities = activities;
    this.#mirrors = mirrors;
  }

  isBusy(id: number): boolean {
    return this.#busy.has(id);
  }

  /** Caller guarantees: none of them is busy. */
  lock(ids: readonly number[]): void {
    for (const id of ids) {
      assert(!this.#busy.has(id), "a repository is in one task at a time");
      this.#busy.add(id);
      this.#activities.begin(id);
    }
  }

  /** The mirror of a repository that was removed in the meantime is deleted. */
  release(ids: readonly number[]): void {
    for (const id of ids) {
      assert(this.#busy.delete(id), "a task releases the repositories that it has locked");
      this.#activities.end(id);
      if (this.#catalog.repository(id) === undefined) this.#tasks.track(this.#mirrors.remove(id));
    }
  }

  /**
   * Runs `work` while no task accesses the repository or its mirror. Rejects with `shutting-down` if the daemon stops
   * first.
   */
  async exclusively<T>(id: number, work: () => Promise<T>): Promise<T> {
    while (this.#busy.has(id) && this.#tasks.count > 0) await this.#tasks.oneEnded();
    if (this.#tasks.isStopping) throw new TrawlError("shutting-down", "the daemon is stopping");
    this.lock([id]);
    try {
      return await work();
    } finally {
      this.release([id]);
      this.#tasks.pump();
    }
  }
}

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
  /** What waits for a repository: each is called when it has the repository, which stays busy. */
  readonly #waiting = new Map<number, (() => void)[]>();

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

  /** Gives them to what waits for them. The mirror of a repository that was removed in the meantime is deleted. */
  release(ids: readonly number[]): void {
    for (const id of ids) {
      assert(this.#busy.has(id), "a task releases the repositories that it has locked");
      const [next, ...rest] = this.#waiting.get(id) ?? [];
      if (rest.length > 0) this.#waiting.set(id, rest);
      else this.#waiting.delete(id);
      if (next !== undefined) {
        next();
        continue;
      }
      this.#busy.delete(id);
      this.#activities.end(id);
      if (this.#catalog.repository(id) === undefined) this.#tasks.track(this.#mirrors.remove(id));
    }
  }

  /**
   * Runs `work` while nothing else accesses the repository or its mirror, after what asked before. Rejects with
   * `shutting-down` if the daemon stops first.
   */
  async exclusively<T>(id: number, work: () => Promise<T>): Promise<T> {
    if (this.#busy.has(id))
      await new Promise<void>((resolve) => this.#waiting.set(id, [...(this.#waiting.get(id) ?? []), resolve]));
    else this.lock([id]);
    try {
      if (this.#tasks.isStopping) throw new TrawlError("shutting-down", "the daemon is stopping");
      return await work();
    } finally {
      this.release([id]);
      this.#tasks.pump();
    }
  }
}

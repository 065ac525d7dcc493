import { errorMessage } from "../../base/errors.js";
import type { IndexTasks } from "../queue/index-tasks.js";
import type { RepositoryLocks } from "../queue/repository-locks.js";
import { findFirst } from "../queue/sync-queue.js";
import type { SyncServices } from "../services/sync-settings.js";

/** Repacks mirrors that have grown, one at a time, when there is nothing else to do. */
export class MirrorMaintenance {
  readonly #services: SyncServices;
  readonly #tasks: IndexTasks;
  readonly #locks: RepositoryLocks;
  /** Repositories whose mirrors have grown since they were last repacked. */
  readonly #grown = new Set<number>();

  constructor(services: SyncServices, tasks: IndexTasks, locks: RepositoryLocks) {
    this.#services = services;
    this.#tasks = tasks;
    this.#locks = locks;
  }

  recordGrowth(repositoryId: number): void {
    this.#grown.add(repositoryId);
  }

  /** Returns false if there is currently nothing to repack. */
  start(): boolean {
    const id = findFirst(this.#grown, (waiting) => !this.#locks.isBusy(waiting));
    if (id === undefined) return false;
    this.#grown.delete(id);
    const { catalog, pool, settings, log } = this.#services;
    const repository = catalog.repository(id);
    if (repository === undefined) return true;
    this.#locks.lock([id]);
    this.#tasks.track(
      pool
        .maintain({ kind: "maintain", repository, fetch: settings.fetch, stop: this.#tasks.stopWord })
        .catch((error: unknown) =>
          log.warn({ repository: repository.name }, `its mirror could not be repacked: ${errorMessage(error)}`),
        )
        .finally(() => this.#locks.release([id])),
    );
    return true;
  }
}

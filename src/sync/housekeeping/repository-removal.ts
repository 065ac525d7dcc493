import type { Repository } from "../../model/repository.js";
import type { IndexTasks } from "../queue/index-tasks.js";
import type { MirrorFolders } from "./mirror-folders.js";
import type { RepositoryLocks } from "../queue/repository-locks.js";
import type { RepositorySecrets } from "../repositories/repository-secrets.js";
import type { ShardRepairs } from "./shard-repairs.js";
import type { SyncQueue } from "../queue/sync-queue.js";
import type { SyncServices } from "../sync-settings.js";

/** The data that a removal deletes. */
export interface RemovalParts {
  readonly tasks: IndexTasks;
  readonly locks: RepositoryLocks;
  readonly queue: SyncQueue;
  readonly repairs: ShardRepairs;
  readonly mirrors: MirrorFolders;
  readonly secrets: RepositorySecrets;
}

/** Deletes repositories, on command or when their grace period has ended. */
export class RepositoryRemoval {
  readonly #services: SyncServices;
  readonly #parts: RemovalParts;

  constructor(services: SyncServices, parts: RemovalParts) {
    this.#services = services;
    this.#parts = parts;
  }

  /** Removes a repository with its documents, its mirror and its secret. */
  async remove(repository: Repository): Promise<void> {
    const { catalog } = this.#services;
    const { locks, queue, repairs, mirrors, secrets } = this.#parts;
    await catalog.commit(() => {
      const alone = catalog
        .shardsForRepository(repository.id)
        .filter((shard) => shard.record.repositoryIds.every((id) => id === repository.id || id === 0));
      return { removedRepositoryIds: [repository.id], removedShardIds: alone.map((shard) => shard.record.id) };
    });
    queue.remove(repository.id);
    await secrets.forget(repository.credential);
    // A task may be writing to the mirror; the mirror is deleted when the task has ended.
    if (!locks.isBusy(repository.id)) await mirrors.remove(repository.id);
    repairs.count();
  }

  /** Deletes the repositories whose grace period has ended. */
  async removeExpired(): Promise<void> {
    if (this.#parts.tasks.suspended !== undefined) return;
    const { catalog, settings, log } = this.#services;
    const nowMs = new Date().getTime();
    for (const repository of [...catalog.repositories()]) {
      if (repository.removedAt === "" || Date.parse(repository.removedAt) + settings.removalGraceMs > nowMs) continue;
      log.info(
        { repository: repository.name, removedAt: repository.removedAt },
        "deleting a repository that was removed from the configuration",
      );
      await this.remove(repository);
    }
  }
}

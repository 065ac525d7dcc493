import type { Catalog } from "../../catalog/catalog.js";
import type { CatalogChange } from "../../catalog/catalog-change.js";
import type { Repository } from "../../model/repository.js";
import type { IndexTasks } from "../queue/index-tasks.js";
import type { MirrorFolders } from "../services/mirror-folders.js";
import type { RepositoryLocks } from "../queue/repository-locks.js";
import type { RepositorySecrets } from "../services/repository-secrets.js";
import type { ShardRepairs } from "./shard-repairs.js";
import type { SyncQueue } from "../queue/sync-queue.js";
import type { SyncServices } from "../services/sync-settings.js";

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
    const { catalog, manifest } = this.#services;
    await manifest.publish(() => withoutRepositories(catalog, [repository]));
    await this.#parts.secrets.forget(repository.credential);
    await this.finish(repository);
  }

  /** Deletes the mirror of a repository that is no longer in the catalog, and takes it out of the queue. Its secret is kept. */
  async finish({ id }: Repository): Promise<void> {
    const { locks, queue, repairs, mirrors } = this.#parts;
    queue.remove(id);
    // A task may be writing to the mirror; the mirror is deleted when the task has ended.
    if (!locks.isBusy(id)) await mirrors.remove(id);
    repairs.count();
  }

  /** Deletes the repositories whose grace period has ended. */
  async removeExpired(): Promise<void> {
    if (this.#parts.tasks.suspended !== undefined) return;
    const { catalog, settings, log, share } = this.#services;
    const nowMs = new Date().getTime();
    for (const repository of [...catalog.repositories()]) {
      if (!share.has(repository.id)) continue;
      if (repository.removedAt === "" || Date.parse(repository.removedAt) + settings.removalGraceMs > nowMs) continue;
      log.info(
        { repository: repository.name, removedAt: repository.removedAt },
        "deleting a repository that was removed from the configuration",
      );
      await this.remove(repository);
    }
  }
}

/** The change of the catalog that removes repositories with their documents. */
export function withoutRepositories(
  catalog: Pick<Catalog, "shardsForRepository">,
  repositories: readonly Repository[],
): Pick<CatalogChange, "removedRepositoryIds" | "removedShardIds"> {
  const ids = new Set(repositories.map(({ id }) => id));
  const shards = new Set(repositories.flatMap(({ id }) => catalog.shardsForRepository(id)));
  const alone = [...shards].filter(({ record }) => record.repositoryIds.every((id) => ids.has(id) || id === 0));
  return { removedRepositoryIds: [...ids], removedShardIds: alone.map(({ record }) => record.id) };
}

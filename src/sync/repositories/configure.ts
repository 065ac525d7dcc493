import type { Repository, RepositoryConfig } from "../../model/repository.js";
import { configuredRecords, requireFewRemovals } from "./configured-repositories.js";
import type { RepositorySecrets } from "./repository-secrets.js";
import type { SyncQueue } from "../queue/sync-queue.js";
import type { SyncServices } from "../sync-settings.js";

const dayMs = 86_400_000;

/** A line of the log names this many repositories. */
const namedRepositoriesMax = 20;

/**
 * Makes the catalog hold exactly the configured repositories, beside those added by hand. Those that are new or differ
 * are queued; those that vanished are hidden. Rejects with `conflict` when most of them vanished, unless
 * `mayRemoveMost`. Caller guarantees: calls `pump` afterwards.
 */
export async function configureRepositories(
  { catalog, settings, log }: SyncServices,
  secrets: RepositorySecrets,
  queue: SyncQueue,
  configured: readonly RepositoryConfig[],
  mayRemoveMost: boolean,
): Promise<void> {
  const { configs, changedNames } = await secrets.movedAll(configured);
  const { repositories } = await catalog.commit(() => {
    if (!mayRemoveMost) requireFewRemovals(catalog, configs);
    return { repositories: configuredRecords(catalog, configs, new Date().toISOString()) };
  });
  for (const name of changedNames) {
    const repository = catalog.repositoryByName(name);
    if (repository !== undefined) queue.enqueue(repository.id, false);
  }
  for (const { id, removedAt } of repositories) {
    if (removedAt === "") queue.enqueue(id, false);
    else queue.remove(id);
  }
  const removed = repositories.filter(({ removedAt }) => removedAt !== "");
  if (removed.length > 0) log.warn(describeRemovals(removed, settings.removalGraceMs), removalMessage);
}

const removalMessage =
  "repositories that the configuration no longer lists are hidden, and deleted when the grace period ends unless they are listed again";

function describeRemovals(removed: readonly Repository[], graceMs: number): object {
  return {
    repositories: removed.slice(0, namedRepositoriesMax).map(({ name }) => name),
    count: removed.length,
    graceDays: graceMs / dayMs,
  };
}

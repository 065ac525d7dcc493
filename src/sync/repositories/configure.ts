import { eachInSteps, resultWhileYielding } from "../../base/yielding.js";
import type { Repository, RepositoryConfig } from "../../model/repository.js";
import { configuredRecords } from "./configured-repositories.js";
import type { RepositorySecrets } from "./repository-secrets.js";
import type { SyncQueue } from "../queue/sync-queue.js";
import type { SyncServices } from "../sync-settings.js";

const dayMs = 86_400_000;

/** Maximum number of repositories named in a log line. */
const namedRepositoriesMax = 20;

/**
 * Makes the catalog contain exactly the configured repositories, in addition to those added by hand. New or changed
 * repositories are queued; those no longer configured are hidden. Rejects with `conflict` if most of them are no longer
 * configured, unless `mayRemoveMost`. Caller guarantees: calls `pump` afterwards.
 */
export async function configureRepositories(
  { catalog, settings, log }: SyncServices,
  secrets: RepositorySecrets,
  queue: SyncQueue,
  configured: readonly RepositoryConfig[],
  mayRemoveMost: boolean,
): Promise<void> {
  const { configs, changedNames } = await secrets.movedAll(configured);
  const { repositories } = await catalog.commit(async () => ({
    repositories: await resultWhileYielding(
      configuredRecords(catalog, configs, new Date().toISOString(), mayRemoveMost),
    ),
  }));
  for (const name of changedNames) {
    const repository = catalog.repositoryByName(name);
    if (repository !== undefined) queue.enqueue(repository.id, false);
  }
  await resultWhileYielding(
    eachInSteps(repositories, ({ id, removedAt }) => {
      if (removedAt === "") queue.enqueue(id, false);
      else queue.remove(id);
    }),
  );
  const removed = repositories.filter(({ removedAt }) => removedAt !== "");
  if (removed.length > 0) log.warn(describeRemovals(removed, settings.removalGraceMs), removalMessage);
}

const removalMessage =
  "repositories that are no longer listed in the configuration are hidden, and will be deleted after the grace period unless they are listed again";

function describeRemovals(removed: readonly Repository[], graceMs: number): object {
  return {
    repositories: removed.slice(0, namedRepositoriesMax).map(({ name }) => name),
    count: removed.length,
    graceDays: graceMs / dayMs,
  };
}

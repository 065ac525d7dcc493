import { eachInSteps, resultWhileYielding } from "../../base/yielding.js";
import type { Repository, RepositoryConfig } from "../../model/repository.js";
import { configuredRecords, type RemovalGuard } from "./configured-repositories.js";
import type { RepositorySecrets } from "./repository-secrets.js";
import type { SyncQueue } from "../queue/sync-queue.js";
import type { SyncServices } from "../sync-settings.js";

const dayMs = 86_400_000;

/** Maximum number of repositories named in a log line. */
const namedRepositoriesMax = 20;

/**
 * Makes the catalog contain exactly the configured repositories, in addition to those added by hand. New or changed
 * repositories are queued; those no longer configured are hidden, as far as the guard permits. Rejects with `conflict` if it
 * refuses. Caller guarantees: calls `pump` afterwards.
 */
export async function configureRepositories(
  { catalog, settings, log }: SyncServices,
  secrets: RepositorySecrets,
  queue: SyncQueue,
  configured: readonly RepositoryConfig[],
  connections: ReadonlySet<string>,
  guard: RemovalGuard,
): Promise<void> {
  const { configs, changedNames } = await secrets.movedAll(configured);
  let kept: readonly Repository[] = [];
  const { repositories } = await catalog.commit(async () => {
    const now = new Date().toISOString();
    const found = await resultWhileYielding(configuredRecords(catalog, configs, connections, now, guard));
    kept = found.kept;
    return { repositories: found.records };
  });
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
  if (kept.length > 0) log.error(describeRemovals(kept, settings.removalGraceMs), keptMessage);
}

const removalMessage =
  "repositories that are no longer listed in the configuration are hidden, and will be deleted after the grace period unless they are listed again";

const keptMessage =
  "most repositories of a list are no longer in it: they stay searchable until that is confirmed by `trawl reload --yes`, or they are listed again";

function describeRemovals(removed: readonly Repository[], graceMs: number): object {
  return {
    repositories: removed.slice(0, namedRepositoriesMax).map(({ name }) => name),
    count: removed.length,
    graceDays: graceMs / dayMs,
  };
}

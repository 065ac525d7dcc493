import { eachInSteps, resultWhileYielding } from "../../base/yielding.js";
import type { Repository, RepositoryConfig } from "../../model/repository.js";
import { redactUrl } from "../../git/run/remote-url.js";
import { type RepositoryRemoval, withoutRepositories } from "../housekeeping/repository-removal.js";
import { type ConfiguredRecords, configuredRecords, type RemovalGuard } from "./configured-repositories.js";
import { chooseByName, listedKey, type LeftOut } from "./shared-names.js";
import type { RepositorySecrets } from "../services/repository-secrets.js";
import type { SyncQueue } from "../queue/sync-queue.js";
import type { SyncServices } from "../services/sync-settings.js";

const dayMs = 86_400_000;

/** Maximum number of repositories named in a log line. */
const namedRepositoriesMax = 20;

/** The parts of the sync that a configuration changes. */
export interface ConfigureParts {
  readonly secrets: RepositorySecrets;
  readonly queue: SyncQueue;
  readonly removal: RepositoryRemoval;
}

/**
 * Makes the catalog contain exactly the configured repositories, in addition to those added by hand: one for each name, see
 * `chooseByName`. New or changed repositories are queued; those no longer configured are hidden, as far as the guard permits.
 * Returns those that are left out. Rejects with `conflict` if the guard refuses. Caller guarantees: calls `pump` afterwards.
 */
export async function configureRepositories(
  services: SyncServices,
  { secrets, queue, removal }: ConfigureParts,
  listed: readonly RepositoryConfig[],
  connections: ReadonlySet<string>,
  leftOutBefore: readonly LeftOut[],
  guard: RemovalGuard,
): Promise<readonly LeftOut[]> {
  const { catalog, settings, log } = services;
  const before = new Set(leftOutBefore.map(listedKey));
  const { chosen, leftOut } = await resultWhileYielding(chooseByName(catalog, listed, before));
  const { configs, changedNames } = await secrets.movedAll(chosen);
  const { repositories, kept, replaced } = await publishConfigured(services, configs, connections, before, guard);
  for (const old of replaced) {
    log.warn({ repository: old.name, url: redactUrl(old.url) }, replacedMessage);
    if (catalog.repositoryByName(old.name)?.credential !== old.credential) await secrets.forget(old.credential);
    await removal.finish(old);
  }
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
  const newlyLeftOut = leftOut.filter((one) => !before.has(listedKey(one)));
  for (const { name, list, forConnection } of newlyLeftOut.slice(0, namedRepositoriesMax))
    log.warn({ repository: name, connection: list }, forConnection);
  if (newlyLeftOut.length > namedRepositoriesMax)
    log.warn({ count: newlyLeftOut.length }, "more repositories are left out because others have their names");
  return leftOut;
}

/** Each partition that this node changes is a flip of its own. Those of others are configured by their nodes. */
async function publishConfigured(
  { catalog, manifest, share }: SyncServices,
  configs: readonly RepositoryConfig[],
  connections: ReadonlySet<string>,
  leftOutBefore: ReadonlySet<string>,
  guard: RemovalGuard,
): Promise<{ repositories: Repository[] } & Omit<ConfiguredRecords, "records">> {
  const all = { repositories: [] as Repository[], kept: [] as Repository[], replaced: [] as Repository[] };
  for (const partition of share.partitions()) {
    let found: ConfiguredRecords = { records: [], kept: [], replaced: [] };
    const { repositories } = await manifest.publish(async () => {
      const now = new Date().toISOString();
      const work = configuredRecords(catalog, configs, connections, leftOutBefore, now, guard, partition);
      found = await resultWhileYielding(work);
      const { records, replaced } = found;
      return { repositories: records, ...(replaced.length === 0 ? {} : withoutRepositories(catalog, replaced)) };
    });
    all.repositories.push(...repositories);
    all.kept.push(...found.kept);
    all.replaced.push(...found.replaced);
  }
  return all;
}

const replacedMessage = "another repository has its name from now on: what was indexed of this one is deleted";

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

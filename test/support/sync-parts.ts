import { join } from "node:path";
import type { Test } from "tap";
import { silentLog } from "../../src/base/log.js";
import { Catalog } from "../../src/catalog/catalog.js";
import { Partitions } from "../../src/catalog/partitions.js";
import type { Repository } from "../../src/model/repository.js";
import { RecordStore } from "../../src/store/record-store.js";
import { SyncActivities } from "../../src/sync/services/activity.js";
import { MirrorFolders } from "../../src/sync/services/mirror-folders.js";
import { IndexTasks } from "../../src/sync/queue/index-tasks.js";
import { RepositoryLocks } from "../../src/sync/queue/repository-locks.js";
import { SyncQueue } from "../../src/sync/queue/sync-queue.js";
import { type OwnShare, type SyncServices, wholeShare } from "../../src/sync/services/sync-settings.js";
import { testRepository } from "./engine.js";

/** The queue of syncs with what it works on. */
export interface SyncParts {
  /** With the folder of the mirrors, which is empty. */
  readonly dataFolder: string;
  readonly catalog: Catalog;
  readonly tasks: IndexTasks;
  readonly locks: RepositoryLocks;
  readonly queue: SyncQueue;
}

/** A queue over a stored catalog with repositories 1 to `repositoryCount`, of some partitions. */
export async function syncParts(
  t: Test,
  repositoryCount: number,
  partitionCount = 1,
  share: OwnShare = wholeShare,
): Promise<SyncParts> {
  const dataFolder = t.testdir({ mirrors: {} });
  const store = new RecordStore(join(dataFolder, "catalog"));
  t.teardown(() => store.close());
  const catalog = new Catalog(store, new Partitions(partitionCount));
  const repositories = Array.from({ length: repositoryCount }, (_, i) => testRepository(i + 1, `host/r${i + 1}`));
  for (let partition = 0; partition < partitionCount; partition++)
    await catalog.publish(() => ({
      repositories: repositories.filter(({ id }) => catalog.partitions.find(id) === partition),
    }));
  const log = silentLog();
  const tasks = new IndexTasks(log);
  // Deleting the mirror of a removed repository needs only these services.
  const mirrors = new MirrorFolders({ catalog, log, settings: { dataFolder } } as unknown as SyncServices);
  const locks = new RepositoryLocks(catalog, tasks, new SyncActivities(catalog), mirrors);
  return { dataFolder, catalog, tasks, locks, queue: new SyncQueue(catalog, tasks, locks, share) };
}

/** Ids of the repositories of a batch. */
export function idsOf(batch: readonly Repository[] | undefined): number[] | undefined {
  return batch?.map(({ id }) => id);
}

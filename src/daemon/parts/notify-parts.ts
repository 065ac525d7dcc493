import type { Accounts } from "../../account/identity/accounts.js";
import type { Log } from "../../base/log.js";
import { globalId } from "../../browse/ids.js";
import type { Catalog } from "../../catalog/catalog.js";
import { Notifications } from "../../notify/notifications.js";
import type { Searcher } from "../../search/searcher.js";
import type { ResolvedOptions } from "../options.js";
import { programVersion } from "./program.js";
import type { Stores } from "./stores.js";

interface UsedParts {
  readonly stores: Stores;
  readonly accounts: Accounts;
  readonly catalog: Catalog;
  readonly log: Log;
}

/** Also connects them to the changes of the catalog. */
export function createNotifications(
  { notifications }: ResolvedOptions,
  searcher: Searcher,
  { stores, accounts, catalog, log }: UsedParts,
): Notifications {
  const created = new Notifications({
    store: stores.records,
    accounts,
    searcher,
    repository: (id) => catalog.repository(id),
    baseUrl: () => searcher.baseUrl,
    searchKey: (id) => globalId("SavedSearch", id),
    userAgent: `trawl/${programVersion()}`,
    log,
    limits: {
      countMax: notifications.countMax,
      intervalMs: notifications.intervalSeconds * 1000,
      timeoutMs: notifications.timeoutSeconds * 1000,
      queueBytes: notifications.queueBytes,
      attemptsMax: notifications.attempts,
      retryMs: notifications.retrySeconds * 1000,
      origins: notifications.origins,
      networks: notifications.networks,
    },
  });
  catalog.onStaging = (changed) => created.stage(changed);
  return created;
}

import type { Accounts } from "../../account/identity/accounts.js";
import type { TokenLifetimes } from "../../account/identity/access-tokens.js";
import type { AuditLog } from "../../account/records/audit-log.js";
import type { AccessTokenPolicy } from "../../account/sign-in/authenticator.js";
import type { AwaitedCommit, RepositoryOrder } from "../../browse/mirror-messages.js";
import type { Catalog } from "../../catalog/catalog.js";
import type { Connections } from "../../codehost/connections.js";
import type { Repository } from "../../model/repository.js";
import type { Searcher } from "../../search/searcher.js";
import type { SyncManager } from "../../sync/sync-manager.js";
import type { Backups } from "./backup.js";
import type { Profiler } from "./profiler.js";

/** The operations that the control interface uses. */
export interface Controlled {
  readonly sync: SyncManager;
  readonly catalog: Catalog;
  readonly searcher: Searcher;
  readonly accounts: Accounts;
  readonly audit: AuditLog;
  readonly accessTokens: AccessTokenPolicy;
  readonly tokenLifetimes: TokenLifetimes;
  readonly backups: Backups;
  readonly profiler: Profiler;
  /** The text of `/metrics`. */
  metricsText(): Promise<string>;
  readonly connections: Connections;
  /** See `waitForCommit` in browse. */
  readonly waitForCommit: (commit: AwaitedCommit) => Promise<unknown>;
  /** See `orderRepository` in browse. */
  readonly orderRepository: (order: RepositoryOrder) => Promise<void>;
  /** The record of a repository that another node fetches, as that one has it; undefined if none does. Rejects with `overloaded` if it does not answer. */
  readonly findElsewhere: (name: string) => Promise<Repository | undefined>;
  /** Reloads the configuration. If it is invalid, rejects with the errors, and nothing has changed. */
  reload(mayRemoveMost: boolean): Promise<ReloadResult>;
  /** Base of the URLs in responses; without a trailing slash. */
  readonly externalUrl: string;
}

export interface ReloadResult {
  /** Number of repositories in the configuration. */
  readonly repositories: number;
  readonly contexts: number;
  /** Options that differ from those in effect, and require a restart. */
  readonly needRestart: readonly string[];
}

import type { Accounts } from "../account/identity/accounts.js";
import type { TokenLifetimes } from "../account/identity/token-lifetimes.js";
import type { AuditLog } from "../account/records/audit-log.js";
import type { AccessTokenPolicy } from "../account/sign-in/authenticator.js";
import type { Catalog } from "../catalog/catalog.js";
import type { Searcher } from "../search/searcher.js";
import type { SyncManager } from "../sync/sync-manager.js";
import type { Backups } from "./backup.js";

/** What the control interface commands. */
export interface Controlled {
  readonly sync: SyncManager;
  readonly catalog: Catalog;
  readonly searcher: Searcher;
  readonly accounts: Accounts;
  readonly audit: AuditLog;
  readonly accessTokens: AccessTokenPolicy;
  readonly tokenLifetimes: TokenLifetimes;
  readonly backups: Backups;
  /** Reads the configuration again. Rejects with what is wrong, and then nothing has changed. */
  reload(mayRemoveMost: boolean): Promise<ReloadResult>;
  /** Begins the URLs that are handed out; without a slash at the end. */
  readonly externalUrl: string;
}

export interface ReloadResult {
  /** How many the configuration lists. */
  readonly repositories: number;
  readonly contexts: number;
  /** Options that differ from those in force, which only a restart changes. */
  readonly needRestart: readonly string[];
}

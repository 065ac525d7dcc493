import type { Accounts } from "../account/identity/accounts.js";
import type { AuditLog } from "../account/records/audit-log.js";
import type { Log } from "../base/log.js";
import type { Metrics } from "../base/metrics.js";
import type { Repository } from "../model/repository.js";
import type { Searcher } from "../search/searcher.js";
import type { MailOptions } from "./mail.js";
import type { Records } from "../store/records.js";

export interface NotifyLimits {
  /** Saved searches with notifications. */
  readonly countMax: number;
  /** Time between the starts of two rounds, in each of which every saved search is evaluated once. */
  readonly intervalMs: number;
  /** Of the search for changes of one saved search. */
  readonly timeoutMs: number;
  /** Bytes of the payloads that wait to be delivered. */
  readonly queueBytes: number;
  readonly attemptsMax: number;
  /** Time until the second attempt; it is three times as long before each further one. */
  readonly retryMs: number;
  /** Origins to which deliveries may go. */
  readonly origins: readonly string[];
  /** Addresses and networks that are not public to which they may go, too. */
  readonly networks: readonly string[];
}

export interface NotifyEnvironment {
  readonly store: Records;
  readonly accounts: Pick<Accounts, "user" | "activeUser" | "toViewer" | "organizations" | "savedSearches">;
  readonly searcher: Pick<Searcher, "run" | "sendChanges" | "watchedKind">;
  readonly repository: (id: number) => Repository | undefined;
  /** What precedes the paths of pages in URLs. */
  readonly baseUrl: () => string;
  /** The id of a saved search in GraphQL. */
  readonly searchKey: (searchId: number) => string;
  readonly userAgent: string;
  readonly log: Log;
  readonly audit: Pick<AuditLog, "recordUndelivered">;
  readonly metrics: Pick<Metrics, "notificationAttempts" | "notificationsEnded" | "notificationEvaluations">;
  readonly limits: NotifyLimits;
  readonly mail: MailOptions;
}

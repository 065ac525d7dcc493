import type { HistoryStatus } from "./history-record.js";
import type { Repository, RepositoryAttributes } from "./repository.js";

/** The status of a repository, as `trawl repo list`, `/readyz` and the control interface show it. */
export interface RepositoryStatus extends RepositoryAttributes {
  readonly name: string;
  /** Without user and password. */
  readonly url: string;
  /**
   * `pending` until the first generation is searchable or the first sync has failed. A searchable repository whose last
   * sync failed stays `searchable`, with the error. `removed`: it is no longer configured, is not searched, and will be
   * deleted.
   */
  readonly state: "searchable" | "pending" | "failed" | "removed";
  /** RFC 3339: when a removed repository is deleted, unless it is configured again; "" for all others. */
  readonly deletedAfter: string;
  /** The current activity, as in "fetching 45 %"; "" if there is none. */
  readonly activity: string;
  /** The error of the last sync; "" if it succeeded. */
  readonly error: string;
  /** Sentences about what is not indexed as the configuration or the remote might lead one to expect. */
  readonly warnings: readonly string[];
  /** Who decides about its readers, as "connection acme, asked TIME"; "" if they were set here. */
  readonly readersFrom: string;
  /** RFC 3339; "" before the first fetch. */
  readonly lastFetched: string;
  readonly branches: readonly { readonly name: string; readonly commit: string }[];
  readonly documentCount: number;
  readonly contentBytes: number;
  /** Documents that are found by name only, by reason. */
  readonly skippedCounts: Readonly<Record<string, number>>;
  /** Sentences that describe what is not indexed because a thread hung or crashed on it. */
  readonly quarantine: readonly string[];
  /** How much of its history is indexed. */
  readonly historyIndex: HistoryStatus;
  readonly missingSymbols: MissingSymbols;
}

/** What symbols lack. Shards of small repositories hold others as well, whose texts count too. */
export interface MissingSymbols {
  /** Shards whose symbols are not extracted yet. */
  readonly shardCount: number;
  /** Texts for which ctags failed. They are not tried again until they change. */
  readonly textCount: number;
  /** Some of the files of the repository with these texts, and why: "ctags crashed". */
  readonly files: readonly { readonly path: string; readonly reason: string }[];
}

/**
 * The error shown for a failed sync to viewers who are not site admins: git's messages may contain the remote's
 * address.
 */
const syncFailed = "The last fetch or indexing failed. A site admin can see why.";

/** The error of a status as far as the viewer may see it. "" if there is none. */
export function visibleError(error: string, { isSiteAdmin }: { readonly isSiteAdmin: boolean }): string {
  return error === "" || isSiteAdmin ? error : syncFailed;
}

/** The state of a repository as reported in its status. */
export function repositoryState({ generation, lastError, removedAt }: Repository): RepositoryStatus["state"] {
  if (removedAt !== "") return "removed";
  if (generation > 0) return "searchable";
  return lastError === "" ? "pending" : "failed";
}

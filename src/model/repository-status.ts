import type { Repository, RepositoryAttributes } from "./repository.js";

/** How a repository stands, as `trawl repo list`, `/readyz` and the control interface show it. */
export interface RepositoryStatus extends RepositoryAttributes {
  readonly name: string;
  /** Without user and password. */
  readonly url: string;
  /**
   * `pending` until the first generation is searchable or the first sync failed. A searchable repository whose last
   * sync failed stays `searchable`, with the error. `removed`: it is no longer configured, is not searched, and will be
   * deleted.
   */
  readonly state: "searchable" | "pending" | "failed" | "removed";
  /** RFC 3339: when a removed repository is deleted, unless it is configured again; "" for all others. */
  readonly deletedAfter: string;
  /** What is being done, as in "fetching 45 %"; "" when nothing is. */
  readonly activity: string;
  /** What the last sync failed with; "" when it succeeded. */
  readonly error: string;
  /** RFC 3339; "" before the first fetch. */
  readonly lastFetched: string;
  readonly branches: readonly { readonly name: string; readonly commit: string }[];
  readonly documentCount: number;
  readonly contentBytes: number;
  /** Documents that are found by name only, by reason. */
  readonly skippedCounts: Readonly<Record<string, number>>;
  /** Sentences: what of it is not indexed because a thread did not get past it. */
  readonly quarantine: readonly string[];
}

/**
 * What those are told of a failed sync who see the repository and are not site admins: git's words may hold the
 * remote's address.
 */
export const syncFailed = "The last fetch or indexing failed. A site admin can see why.";

/** The error of a status, as far as the viewer may know it. "" for none. */
export function visibleError(error: string, { isSiteAdmin }: { readonly isSiteAdmin: boolean }): string {
  return error === "" || isSiteAdmin ? error : syncFailed;
}

/** The state of a repository as its status tells it. */
export function repositoryState({ generation, lastError, removedAt }: Repository): RepositoryStatus["state"] {
  if (removedAt !== "") return "removed";
  if (generation > 0) return "searchable";
  return lastError === "" ? "pending" : "failed";
}

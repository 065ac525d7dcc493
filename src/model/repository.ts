import type { Quarantine } from "./quarantine.js";

/** What people say about a repository: searches choose by it, and results show it. */
export interface RepositoryAttributes {
  readonly fork: boolean;
  readonly archived: boolean;
  readonly private: boolean;
  /** Names of the users and organisations that may see it while it is private. Site admins always may. */
  readonly readers: readonly string[];
  readonly stars: number;
  readonly description: string;
  readonly topics: readonly string[];
  readonly metadata: Readonly<Record<string, string | null>>;
}

/** What is known about a repository from its configuration. */
export interface RepositoryConfig extends RepositoryAttributes {
  readonly name: string;
  /** Without user and password, once it is in the catalog. */
  readonly url: string;
  /**
   * Where the secret for the URL is: `file:PATH`, `credential:NAME`, or what the daemon says of one that it keeps
   * itself; "" without one.
   */
  readonly credential: string;
  /** Branches to index beside the default branch. */
  readonly branches: readonly string[];
  /** Seconds between two syncs; 0 lets the daemon choose by how often the repository changes. */
  readonly intervalSeconds: number;
}

/** The attributes alone, of whatever holds them among other things. */
export function attributesIn({
  fork,
  archived,
  private: isPrivate,
  readers,
  stars,
  description,
  topics,
  metadata,
}: RepositoryAttributes): RepositoryAttributes {
  return { fork, archived, private: isPrivate, readers, stars, description, topics, metadata };
}

/** A branch that is indexed. `bit` is its place in the branch masks of this repository's documents, 0 to 31. */
export interface IndexedBranch {
  readonly name: string;
  readonly bit: number;
  /** Hex oid of the commit that is searchable. */
  readonly commit: string;
}

/** How many branches of one repository can be indexed: the width of a branch mask. */
export const branchCountMax = 32;

/** A repository as the catalog records it. */
export interface Repository extends RepositoryConfig {
  /** Stable for the life of the repository's entry; never used again. */
  readonly id: number;
  /** Grows by one each time the repository's searchable state is replaced; 0 before the first. */
  readonly generation: number;
  readonly branches: readonly string[];
  readonly indexedBranches: readonly IndexedBranch[];
  /**
   * What of the metadata was said beside the configuration file; only of a configured repository, whose entry there
   * wins.
   */
  readonly addedMetadata: Readonly<Record<string, string | null>>;
  /** Name of the default branch at the last sync; "" for an empty repository or before the first sync. */
  readonly defaultBranch: string;
  /** RFC 3339; "" before the first sync. */
  readonly lastFetched: string;
  readonly lastChanged: string;
  /** What the last sync failed with; "" when it succeeded. The searchable generation stays. */
  readonly lastError: string;
  readonly documentCount: number;
  /** Bytes of indexed text, each blob counted once. */
  readonly contentBytes: number;
  /** Documents found by path only, by reason. */
  readonly skippedCounts: Readonly<Record<string, number>>;
  /** True when the entry comes from the configuration file, false when from `trawl repo add`. */
  readonly configured: boolean;
  /** RFC 3339: when it vanished from the configuration; "" while it is listed. Nothing finds it meanwhile. */
  readonly removedAt: string;
  /** What of it is not tried again for now; absent when there is nothing. */
  readonly quarantine?: Quarantine | undefined;
}

/** The branch that a detached HEAD is indexed as. */
export const detachedName = "HEAD";

/** The bit of the default branch, or -1 when nothing of it is indexed. */
export function defaultBranchBit(repository: Pick<Repository, "defaultBranch" | "indexedBranches">): number {
  return repository.indexedBranches.find((branch) => branch.name === repository.defaultBranch)?.bit ?? -1;
}

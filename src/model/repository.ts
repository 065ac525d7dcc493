import type { HistoryState } from "./history-record.js";
import type { Quarantine } from "./quarantine.js";

/** Attributes of a repository set by users: searches filter by most of them, and results show them. */
export interface RepositoryAttributes {
  readonly fork: boolean;
  readonly archived: boolean;
  readonly private: boolean;
  /** Names of the users and organizations that may see it while it is private. Site admins always may. */
  readonly readers: readonly string[];
  readonly stars: number;
  readonly description: string;
  readonly topics: readonly string[];
  readonly metadata: Readonly<Record<string, string | null>>;
  /** Which part of its history is indexed: "all", "off", "since 2020-01-31" or "1000 commits". */
  readonly history: string;
}

/** Who named the remote of a repository, if that was not the operator. */
export interface RemoteSource {
  /** The connection that lists it; "" if a site admin has added it on the web. */
  readonly connection: string;
  /**
   * The hosts that it may be fetched from: names and addresses in lower case, and `*` for all whose addresses are public.
   * Absent if it is from a folder or a file of the operator, which may name any place.
   */
  readonly hosts?: readonly string[];
  /** If its uncommitted files are indexed, too: after so many seconds it is looked at again. */
  readonly workingCopySeconds?: number;
  /** Where these files are: a path that had no links when it was listed. */
  readonly workTree?: string;
  /** Whether its code host decides who reads what is private: then nobody does when it does not say so any more. */
  readonly readersFromHost?: true;
}

/** Where the contents of submodules may come from, beside the host of the repository that names them. */
export interface SubmodulePolicy {
  /** Hosts, perhaps with a port; `*` for all with public addresses; absolute paths of folders on this machine. */
  readonly from: readonly string[];
}

/** The configuration of a repository. */
export interface RepositoryConfig extends RepositoryAttributes {
  readonly name: string;
  /** Without user and password once it is in the catalog. */
  readonly url: string;
  /**
   * Location of the secret for the URL: `file:PATH`, `credential:NAME`, or the daemon's reference to a secret that it
   * stores itself; "" if there is none.
   */
  readonly credential: string;
  /** Branches to index in addition to the default branch. */
  readonly branches: readonly string[];
  /** Seconds between two syncs; if 0, the daemon chooses by how often the repository changes. */
  readonly intervalSeconds: number;
  /** Whether the contents of files in Git LFS are indexed instead of their pointers. */
  readonly lfs?: true | undefined;
  /** Absent if the operator has named the URL. */
  readonly source?: RemoteSource | undefined;
  /** Absent if the contents of its submodules are not searchable. */
  readonly submodules?: SubmodulePolicy | undefined;
}

/** Copies only the attributes from an object that has other properties as well. */
export function attributesIn({
  fork,
  archived,
  private: isPrivate,
  readers,
  stars,
  description,
  topics,
  metadata,
  history,
}: RepositoryAttributes): RepositoryAttributes {
  return { fork, archived, private: isPrivate, readers, stars, description, topics, metadata, history };
}

/**
 * Equal for two repositories if and only if the same viewers see them; "" for a public one. A shard contains repositories
 * of one visibility only, so that the work of a search does not depend on text that its viewer may not see.
 */
export function viewersKey(repository: Pick<RepositoryAttributes, "private" | "readers">): string {
  if (!repository.private) return "";
  // Names of readers contain no spaces.
  const readers = new Set(repository.readers.map((reader) => reader.toLowerCase()));
  return ["private", ...[...readers].sort()].join(" ");
}

/** A branch that is indexed. `bit` is its bit in the branch masks of this repository's documents, 0 to 31. */
export interface IndexedBranch {
  readonly name: string;
  readonly bit: number;
  /** Hex oid of the commit that is searchable. */
  readonly commit: string;
  /** When it was committed, in seconds since 1970; absent if that could not be read, or was not recorded. */
  readonly committedSeconds?: number | undefined;
  /** The tree that is searchable, with the contents of submodules; absent if that is the commit's own. */
  readonly contentTree?: string | undefined;
}

/** What of a branch is indexed: the oid of a tree, or of a commit. */
export function indexedTree({ commit, contentTree }: Pick<IndexedBranch, "commit" | "contentTree">): string {
  return contentTree ?? commit;
}

/** Maximum number of indexed branches per repository: the width of a branch mask. */
export const branchCountMax = 32;

/** A repository as the catalog records it. */
export interface Repository extends RepositoryConfig {
  /** Stable for the lifetime of the repository's entry; never reused. */
  readonly id: number;
  /** Incremented each time the repository's searchable state is replaced; 0 before the first. */
  readonly generation: number;
  readonly branches: readonly string[];
  readonly indexedBranches: readonly IndexedBranch[];
  /**
   * Metadata set at run time, only for configured repositories; the entry in the configuration file takes precedence.
   */
  readonly addedMetadata: Readonly<Record<string, string | null>>;
  /** Name of the default branch at the last sync; "" for an empty repository or before the first sync. */
  readonly defaultBranch: string;
  /** RFC 3339; "" before the first sync. */
  readonly lastFetched: string;
  readonly lastChanged: string;
  /** The error of the last sync; "" if it succeeded. The searchable generation is kept. */
  readonly lastError: string;
  readonly documentCount: number;
  /** Bytes of indexed text, each blob counted once. */
  readonly contentBytes: number;
  /** Documents found by path only, by reason. */
  readonly skippedCounts: Readonly<Record<string, number>>;
  /** True if the entry comes from the configuration file, false if from `trawl repo add`. */
  readonly configured: boolean;
  /**
   * RFC 3339: when it was removed from the configuration; "" while it is listed. Searches do not find it while it is
   * set.
   */
  readonly removedAt: string;
  /** What is not retried for now; absent if there is nothing. */
  readonly quarantine?: Quarantine | undefined;
  /** What its remote has not listed any more since a time, so that the index is kept; absent if there is nothing. */
  readonly vanished?: Vanished | undefined;
  /** Identifies where its history is cut because its source is shallow; "" or absent if it is whole. */
  readonly cut?: string | undefined;
  /** The tree of the mirror that lists the contents of Git LFS with which it is indexed; absent if it is without them. */
  readonly lfsTree?: string | undefined;
  /** Sentences about what of the repository is not indexed as one might expect; absent if there are none. */
  readonly warnings?: readonly string[] | undefined;
  /** Absent before its history was first indexed. */
  readonly historyState?: HistoryState | undefined;
  /** Why its history could not be indexed the last time; absent if it could. */
  readonly historyError?: string | undefined;
}

/**
 * Equal as long as its commits have the same files: with contents of Git LFS and of submodules, they have others when some have
 * arrived.
 */
export function filesKey({
  lfsTree = "",
  submodules,
  lastFetched,
}: Pick<Repository, "lfsTree" | "submodules" | "lastFetched">): string {
  return submodules === undefined ? lfsTree : `${lfsTree} ${lastFetched}`;
}

/** All references of a repository, or its default branch without another one that its HEAD names. */
export type VanishedKind = "everything" | "default-branch";

export interface Vanished {
  readonly kind: VanishedKind;
  /** RFC 3339: when it was first missing. Since then, each list of the remote has been the same in this respect. */
  readonly since: string;
}

/** The branch name under which a detached HEAD is indexed. */
export const detachedName = "HEAD";

/** The revision, and the name among the indexed branches, of the uncommitted files of a folder. */
export const workingCopyName = "working-copy";

/** The bit of the default branch, or -1 if it is not indexed. */
export function defaultBranchBit(repository: Pick<Repository, "defaultBranch" | "indexedBranches">): number {
  return repository.indexedBranches.find((branch) => branch.name === repository.defaultBranch)?.bit ?? -1;
}

/** Folder of all mirrors, below the data directory. */
export const mirrorsFolder = "mirrors";

/** Name of a repository's mirror within the mirrors folder. */
export function mirrorName(repositoryId: number): string {
  return `${repositoryId}.git`;
}

/** A change to one metadata pair of a repository; the value is null for a key without a value. */
export type MetadataChange =
  | { readonly kind: "add" | "update"; readonly key: string; readonly value: string | null }
  | { readonly kind: "delete"; readonly key: string };

/** Where repositories are listed. `gitea` is also Forgejo's; `list` is a list of git URLs, `folder` one of repositories. */
export type ConnectionKind = "github" | "gitlab" | "gitea" | "list" | "folder";

/** The configuration of a connection to a code host. */
export interface ConnectionConfig {
  readonly name: string;
  readonly kind: ConnectionKind;
  /** Of the host or its API; a path or URL for `list`, a path for `folder`. */
  readonly url: string;
  /** Where to read the token; "" for none. */
  readonly credential: string;
  /** Organizations, groups and users; if empty, the repositories that the token's owner is a member of. */
  readonly owners: readonly string[];
  /** Regular expressions on names; empty for all. */
  readonly include: readonly string[];
  readonly exclude: readonly string[];
  readonly forks: boolean;
  readonly archived: boolean;
  readonly ssh: boolean;
  /** Further hosts that it may name in URLs; `*` for all with public addresses. */
  readonly hosts: readonly string[];
  /** Who may see the private ones. */
  readonly readers: readonly string[];
  /** Begins the names of repositories. */
  readonly prefix: string;
  readonly intervalSeconds: number;
  readonly maxRepositories: number;
}

/** A repository as a host lists it. Everything in it is untrusted. */
export interface ListedRepository {
  /** Without the prefix: `owner/name`. */
  readonly name: string;
  readonly url: string;
  readonly sshUrl: string;
  readonly fork: boolean;
  readonly archived: boolean;
  readonly private: boolean;
  readonly stars: number;
  readonly description: string;
  readonly topics: readonly string[];
}

/** What a connection lists. */
export interface Listing {
  readonly repositories: readonly ListedRepository[];
  /** Why it is not whole; empty if it is. */
  readonly problems: readonly string[];
  /** Whether a repository that is not in it, with this URL, may be in the part that could not be read. */
  readonly mayHave: (url: string) => boolean;
}

/** A list that was read completely. */
export function wholeListing(repositories: readonly ListedRepository[]): Listing {
  return { repositories, problems: [], mayHave: () => false };
}

/** A repository of which only the address is known. */
export function plainRepository(name: string, url: string): ListedRepository {
  const flags = { fork: false, archived: false, private: false };
  return { name, url, sshUrl: "", ...flags, stars: 0, description: "", topics: [] };
}

/** Code hosts whose API lists repositories. `gitea` is also Forgejo's. */
export type ApiKindName =
  | "github"
  | "gitlab"
  | "gitea"
  | "bitbucket-cloud"
  | "bitbucket-data-center"
  | "azure-devops"
  | "gerrit";

/** Where repositories are listed. `list` is a list of git URLs, `folder` one of repositories, `command` prints a list. */
export type ConnectionKind = ApiKindName | "list" | "folder" | "command";

/** A connection to the API of a code host. */
export type ApiConnection = ConnectionConfig & { readonly kind: ApiKindName };

/** Whether the operator, and not somebody else, has written which repositories there are. */
export function isLocal({ kind }: Pick<ConnectionConfig, "kind">): boolean {
  return kind === "list" || kind === "folder" || kind === "command";
}

/** The configuration of a connection to a code host. */
export interface ConnectionConfig {
  readonly name: string;
  readonly kind: ConnectionKind;
  /** Of the host or its API; a path or URL for `list`, a path for `folder`, the program for `command`. */
  readonly url: string;
  /** The program that prints the list, and its arguments; empty for other kinds. */
  readonly command: readonly string[];
  /** Where to read the token; "" for none. */
  readonly credential: string;
  /** The App ID or client ID of a GitHub App that is used instead of a token; "" for none. */
  readonly app: string;
  /** Where to read its private key. */
  readonly appKey: string;
  /** The number of the installation of the app; "" for those of `owners`, or all. */
  readonly installation: string;
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
  /** Who decides who may see the private ones: `readers`, or the host. */
  readonly permissions: "readers" | "host";
  readonly readers: readonly string[];
  /** How long an answer of the host about readers counts. */
  readonly permissionsSeconds: number;
  /** The identity provider that is the host itself, for whose linked accounts permissions hold; "" for none. */
  readonly permissionsProvider: string;
  /** The names here by those on the host; null for nobody. */
  readonly userNames: Readonly<Record<string, string | null>>;
  /** Begins the names of repositories. */
  readonly prefix: string;
  /** Whether the contents of files in Git LFS are indexed instead of their pointers. */
  readonly lfs: boolean;
  /** Whether the uncommitted files of the repositories of a folder are indexed, and after how long they are looked at again. */
  readonly workingCopies: boolean;
  readonly workingCopySeconds: number;
  /** Whether the contents of submodules are searchable, and where they may come from; see `SubmodulePolicy`. */
  readonly submodules: boolean;
  readonly submodulesFrom: readonly string[];
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
  /** Where its files are, without links; "" if it is not in a folder with its files. */
  readonly workTree: string;
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
  return { name, url, sshUrl: "", ...flags, stars: 0, description: "", topics: [], workTree: "" };
}

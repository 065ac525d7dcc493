import type { ListedRepository } from "./connection.js";

/** An item of a page, as the host sends it. */
export type HostItem = Readonly<Record<string, unknown>>;

/** What differs between the interfaces of code hosts. */
export interface ApiKind {
  /** Of the API, below the URL of the host. */
  readonly base: string;
  readonly pageSize: number;
  readonly pageSizeName: string;
  headers(token: string): Readonly<Record<string, string>>;
  /** The paths to try for an owner, which is an organisation or a user: the next one if the host knows no such one. */
  ownerPaths(owner: string): readonly string[];
  /** The path of the repositories that the token's owner is a member of. */
  readonly ownPath: string;
  read(item: HostItem): ListedRepository;
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");
const integer = (value: unknown): number => (Number.isSafeInteger(value) ? (value as number) : 0);
const texts = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((one) => text(one) !== "") : [];

/** GitHub, and Gitea and Forgejo, whose interface follows it. */
function readHubItem(item: HostItem): ListedRepository {
  return {
    name: text(item["full_name"]),
    url: text(item["clone_url"]),
    sshUrl: text(item["ssh_url"]),
    fork: item["fork"] === true,
    archived: item["archived"] === true,
    private: item["private"] === true || item["visibility"] === "internal",
    stars: integer(item["stargazers_count"] ?? item["stars_count"]),
    description: text(item["description"]),
    topics: texts(item["topics"]),
  };
}

function readLabItem(item: HostItem): ListedRepository {
  return {
    name: text(item["path_with_namespace"]),
    url: text(item["http_url_to_repo"]),
    sshUrl: text(item["ssh_url_to_repo"]),
    fork: typeof item["forked_from_project"] === "object" && item["forked_from_project"] !== null,
    archived: item["archived"] === true,
    // Hosts that do not tell send none; a repository is public only if they say so.
    private: item["visibility"] !== "public",
    stars: integer(item["star_count"]),
    description: text(item["description"]),
    topics: texts(item["topics"]),
  };
}

const escapeName = encodeURIComponent;

export const apiKinds: Readonly<Record<"github" | "gitlab" | "gitea", ApiKind>> = {
  github: {
    base: "",
    pageSize: 100,
    pageSizeName: "per_page",
    headers: (token) => ({
      Accept: "application/vnd.github+json",
      "X-GitHub-Api-Version": "2022-11-28",
      ...(token === "" ? {} : { Authorization: `Bearer ${token}` }),
    }),
    ownerPaths: (owner) => [`orgs/${escapeName(owner)}/repos`, `users/${escapeName(owner)}/repos`],
    ownPath: "user/repos",
    read: readHubItem,
  },
  gitlab: {
    base: "api/v4/",
    pageSize: 100,
    pageSizeName: "per_page",
    headers: (token) => ({ Accept: "application/json", ...(token === "" ? {} : { "PRIVATE-TOKEN": token }) }),
    ownerPaths: (owner) => [
      `groups/${escapeName(owner)}/projects?include_subgroups=true&with_shared=false`,
      `users/${escapeName(owner)}/projects`,
    ],
    ownPath: "projects?membership=true",
    read: readLabItem,
  },
  gitea: {
    base: "api/v1/",
    pageSize: 50,
    pageSizeName: "limit",
    headers: (token) => ({ Accept: "application/json", ...(token === "" ? {} : { Authorization: `token ${token}` }) }),
    ownerPaths: (owner) => [`orgs/${escapeName(owner)}/repos`, `users/${escapeName(owner)}/repos`],
    ownPath: "user/repos",
    read: readHubItem,
  },
};

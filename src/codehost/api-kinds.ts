import { isObject } from "../base/is-object.js";
import type { ApiKindName, ListedRepository } from "./connection.js";
import { azureDevops } from "./hosts/azure-devops.js";
import { bitbucketCloud, bitbucketDataCenter } from "./hosts/bitbucket.js";
import { gerrit } from "./hosts/gerrit.js";
import { type ApiKind, below, escapeName, integer, text } from "./hosts/api-kind.js";
import { type HostItem, numberedPages } from "./hosts/pages.js";

const texts = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((one) => text(one) !== "") : [];

/**
 * A repository is public only if every field that can say otherwise says so: what a host leaves out, and what it writes in
 * another way than expected, counts as private. GitHub has internal repositories, which all members of an enterprise see.
 */
function isPublicOnGithub(item: HostItem): boolean {
  return item["private"] === false && item["visibility"] === "public";
}

/**
 * Gitea and Forgejo have no `visibility` of a repository. Theirs is not private in an organization that is limited to users,
 * or private to its members: the visibility of the owner says so, which they send with the owner, and `internal` for both.
 */
function isPublicOnGitea(item: HostItem): boolean {
  const { owner } = item;
  const isOwnerPublic = isObject(owner) && owner["visibility"] === "public";
  return item["private"] === false && item["internal"] === false && isOwnerPublic;
}

/**
 * In a public project of GitLab, the repository may be for members only. Lists for callers without a token omit that field,
 * and contain only what everybody may fetch.
 */
function isPublicOnGitlab(item: HostItem): boolean {
  const access = item["repository_access_level"];
  return item["visibility"] === "public" && (access === undefined || access === "enabled" || access === "public");
}

/** GitHub, and Gitea and Forgejo, whose interface follows it. */
function readHubItem(item: HostItem, isPublic: boolean): ListedRepository {
  return {
    name: text(item["full_name"]),
    url: text(item["clone_url"]),
    sshUrl: text(item["ssh_url"]),
    fork: item["fork"] === true,
    archived: item["archived"] === true,
    private: !isPublic,
    stars: integer(item["stargazers_count"] ?? item["stars_count"]),
    description: text(item["description"]),
    topics: texts(item["topics"]),
    workTree: "",
  };
}

function readLabItem(item: HostItem): ListedRepository {
  return {
    name: text(item["path_with_namespace"]),
    url: text(item["http_url_to_repo"]),
    sshUrl: text(item["ssh_url_to_repo"]),
    fork: isObject(item["forked_from_project"]),
    archived: item["archived"] === true,
    private: !isPublicOnGitlab(item),
    stars: integer(item["star_count"]),
    description: text(item["description"]),
    topics: texts(item["topics"]),
    workTree: "",
  };
}

/** The API of github.com has a host of its own; other GitHub hosts are configured with the URL of theirs. */
function githubApi(url: URL): URL {
  const isSite = /^(?:www\.)?github\.com$/.test(url.hostname) && url.pathname === "/";
  return isSite ? new URL("https://api.github.com/") : below(url, "");
}

export const apiKinds: Readonly<Record<ApiKindName, ApiKind>> = {
  github: {
    apiUrl: githubApi,
    pages: numberedPages({ per_page: "100", sort: "created", direction: "asc" }),
    headers: (token) => ({
      Accept: "application/vnd.github+json",
      "X-GitHub-Api-Version": "2022-11-28",
      ...(token === "" ? {} : { Authorization: `Bearer ${token}` }),
    }),
    ownerPaths: (owner) => [`orgs/${escapeName(owner)}/repos`, `users/${escapeName(owner)}/repos`],
    ownPath: "user/repos",
    read: (item) => readHubItem(item, isPublicOnGithub(item)),
  },
  gitlab: {
    apiUrl: (url) => below(url, "api/v4/"),
    pages: numberedPages({ per_page: "100", order_by: "id", sort: "asc" }),
    headers: (token) => ({ Accept: "application/json", ...(token === "" ? {} : { "PRIVATE-TOKEN": token }) }),
    ownerPaths: (owner) => [
      `groups/${escapeName(owner)}/projects?include_subgroups=true&with_shared=false`,
      `users/${escapeName(owner)}/projects`,
    ],
    ownPath: "projects?membership=true",
    read: readLabItem,
  },
  gitea: {
    apiUrl: (url) => below(url, "api/v1/"),
    pages: numberedPages({ limit: "50" }),
    headers: (token) => ({ Accept: "application/json", ...(token === "" ? {} : { Authorization: `token ${token}` }) }),
    ownerPaths: (owner) => [`orgs/${escapeName(owner)}/repos`, `users/${escapeName(owner)}/repos`],
    ownPath: "user/repos",
    read: (item) => readHubItem(item, isPublicOnGitea(item)),
  },
  "bitbucket-cloud": bitbucketCloud,
  "bitbucket-data-center": bitbucketDataCenter,
  "azure-devops": azureDevops,
  gerrit,
};

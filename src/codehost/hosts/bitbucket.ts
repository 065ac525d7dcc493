import { isObject } from "../../base/is-object.js";
import type { ListedRepository } from "../connection.js";
import { type ApiKind, authorization, bearer, below, escapeName, text, withoutUser } from "./api-kind.js";
import { type HostItem, type HostPages, itemsIn } from "./pages.js";

/** The parameter `page` of Bitbucket may be a number or an opaque text. A longer one is none. */
const pageLengthMax = 1_000;

/**
 * Each page has the URL of the next one. Only its `page` is used: the token would be sent to the rest. `size` is left out of
 * some lists.
 */
const cloudPages: HostPages = {
  first: { pagelen: "100", sort: "created_on" },
  read: (value) => {
    const items = itemsIn(value, "values");
    if (items === undefined || !isObject(value)) return undefined;
    const { size, next } = value;
    const page = URL.canParse(text(next)) ? (new URL(text(next)).searchParams.get("page") ?? "") : "";
    const isUsable = page !== "" && page.length <= pageLengthMax;
    return {
      items: items.map((item) => ({ ...item, id: item["uuid"] ?? item["full_name"] })),
      total: Number.isSafeInteger(size) ? (size as number) : undefined,
      // A list that goes on at a page that cannot be asked for has not been read: the same page is asked for again, in vain.
      hasNext: next !== undefined && next !== null && next !== "",
      next: isUsable ? { page } : ({} as Readonly<Record<string, string>>),
    };
  },
};

function cloneUrl(item: HostItem, name: string): string {
  const { links } = item;
  const clones = isObject(links) ? links["clone"] : undefined;
  const found = Array.isArray(clones) ? clones.find((one) => isObject(one) && one["name"] === name) : undefined;
  return isObject(found) ? text(found["href"]) : "";
}

function readCloud(item: HostItem): ListedRepository {
  const { project } = item;
  // A project that is private makes its repositories so; its field is left out of short forms.
  const isProjectPublic = !isObject(project) || project["is_private"] === undefined || project["is_private"] === false;
  return {
    name: text(item["full_name"]),
    url: withoutUser(cloneUrl(item, "https")),
    sshUrl: cloneUrl(item, "ssh"),
    fork: isObject(item["parent"]),
    archived: false,
    private: !(item["is_private"] === false && isProjectPublic),
    stars: 0,
    description: text(item["description"]),
    topics: [],
    workTree: "",
  };
}

/** Bitbucket Cloud. An owner is a workspace, as `acme`, or one of its projects, as `acme/KEY`. */
export const bitbucketCloud: ApiKind = {
  apiUrl: (url) =>
    /^(?:www\.)?bitbucket\.org$/.test(url.hostname) && url.pathname === "/"
      ? new URL("https://api.bitbucket.org/2.0/")
      : below(url, "2.0/"),
  pages: cloudPages,
  headers: (token) => authorization(token, bearer),
  ownerPaths: (owner) => {
    const [workspace = "", ...project] = owner.split("/");
    const filter = project.length === 0 ? "" : `?q=${escapeName(`project.key=${JSON.stringify(project.join("/"))}`)}`;
    return [`repositories/${escapeName(workspace)}${filter}`];
  },
  // The list of all workspaces is being withdrawn by Bitbucket.
  ownPath: undefined,
  read: readCloud,
};

/** Pages begin at an index, and tell that of the next one, which need not be the number of items so far. */
const dataCenterPages: HostPages = {
  first: { limit: "100", start: "0" },
  read: (value) => {
    const items = itemsIn(value, "values");
    if (items === undefined || !isObject(value)) return undefined;
    const { isLastPage, nextPageStart } = value;
    const next: Record<string, string> = Number.isSafeInteger(nextPageStart) ? { start: String(nextPageStart) } : {};
    return {
      items,
      total: undefined,
      // A list that does not say that it has ended, and not where it goes on, has not been read.
      hasNext: isLastPage !== true,
      next,
    };
  },
};

function readDataCenter(item: HostItem): ListedRepository {
  const { project, links } = item;
  const key = isObject(project) ? text(project["key"]) : "";
  const clones = isObject(links) && Array.isArray(links["clone"]) ? links["clone"].filter(isObject) : [];
  const url = (name: string): string => text(clones.find((one) => one["name"] === name)?.["href"]);
  return {
    name: `${key}/${text(item["slug"])}`,
    url: url("http"),
    sshUrl: url("ssh"),
    fork: isObject(item["origin"]),
    archived: item["archived"] === true,
    private: item["public"] !== true,
    stars: 0,
    description: text(item["description"]),
    topics: [],
    workTree: "",
  };
}

/** Bitbucket Data Center and Server. An owner is the key of a project, or `~user`. */
export const bitbucketDataCenter: ApiKind = {
  apiUrl: (url) => below(url, "rest/api/latest/"),
  pages: dataCenterPages,
  headers: (token) => authorization(token, bearer),
  ownerPaths: (owner) => [`projects/${escapeName(owner)}/repos`],
  ownPath: "repos",
  read: readDataCenter,
};

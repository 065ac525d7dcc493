import { isObject } from "../../base/is-object.js";
import type { ListedRepository } from "../connection.js";
import { type ApiKind, authorization, bearer, below, escapeName, text } from "./api-kind.js";
import { type HostItem, type HostPages, itemsIn } from "./pages.js";

/** Pages begin at an index, and tell that of the next one, which need not be the number of items so far. */
const pages: HostPages = {
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

function read(item: HostItem): ListedRepository {
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
  pages,
  headers: (token) => authorization(token, bearer),
  ownerPaths: (owner) => [`projects/${escapeName(owner)}/repos`],
  ownPath: "repos",
  read,
};

import { isObject } from "../../base/is-object.js";
import type { ListedRepository } from "../connection.js";
import { type ApiKind, authorization, bearer, escapeName, type ItemPlace, text, withoutSpaces } from "./api-kind.js";
import type { HostItem, HostPages } from "./pages.js";

/** The port at which Gerrit's ssh listens unless somebody has changed it. */
const sshPort = 29418;

/** Projects with the accounts and the rights of the host instead of code. */
const ownProjects: readonly string[] = ["All-Projects", "All-Users"];

/**
 * A page is an object of projects by name; the last one says whether more follow. What precedes the JSON prevents that a page
 * of another site executes it.
 */
const pages: HostPages = {
  first: { n: "500", S: "0", type: "CODE" },
  prologue: ")]}'",
  read: (value, _, __, itemCount) => {
    if (!isObject(value)) return undefined;
    const items = Object.entries(value).flatMap(([name, item]) => (isObject(item) ? [{ ...item, id: name }] : []));
    return {
      items,
      total: undefined,
      hasNext: items.some((item: HostItem) => item["_more_projects"] === true),
      next: { S: String(itemCount + items.length) },
    };
  },
};

/**
 * Gerrit does not say who may read a project. Without a token it lists what everybody may read; with one, all are private.
 * Undefined for the projects of Gerrit itself.
 */
function read(item: HostItem, { apiUrl, hasToken }: ItemPlace): ListedRepository | undefined {
  const name = text(item["id"]);
  if (ownProjects.includes(name)) return undefined;
  const path = name.split("/").map(escapeName).join("/");
  const site = apiUrl.pathname.replace(/\/a\/$/, "/");
  return {
    name: withoutSpaces(name),
    url: new URL(path, apiUrl).href,
    sshUrl: `ssh://${apiUrl.hostname}:${sshPort}${site === "/" ? "/" : site}${path}`,
    fork: false,
    archived: item["state"] === "READ_ONLY",
    private: hasToken || item["state"] === "HIDDEN",
    stars: 0,
    description: text(item["description"]),
    topics: [],
    workTree: "",
  };
}

/** Gerrit. An owner is a folder of projects, such as `plugins` for `plugins/replication`. */
export const gerrit: ApiKind = {
  // With a token, all paths are below `a/`, those of git, too.
  apiUrl: (url, hasToken) => {
    const site = new URL(`${url.href.replace(/\/$/, "").replace(/\/a$/, "")}/`);
    return hasToken ? new URL("a/", site) : site;
  },
  pages,
  headers: (token) => authorization(token, bearer),
  ownerPaths: (owner) => [`projects/?d&p=${escapeName(`${owner.replace(/\/$/, "")}/`)}`],
  ownPath: "projects/?d",
  read,
};

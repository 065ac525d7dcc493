import { isObject } from "../../base/is-object.js";
import type { ListedRepository } from "../connection.js";
import { type ApiKind, authorization, basic, below, escapeName, text, withoutSpaces, withoutUser } from "./api-kind.js";
import { type HostItem, type HostPages, itemsIn } from "./pages.js";

/**
 * The list of repositories has one page with their number. Azure DevOps tells of further pages of its lists by a header, which
 * is obeyed if there is one.
 */
const pages: HostPages = {
  first: { "api-version": "7.0" },
  read: (value, { headers }, number) => {
    const items = itemsIn(value, "value");
    if (items === undefined || !isObject(value)) return undefined;
    const token = headers["x-ms-continuationtoken"];
    const hasNext = typeof token === "string" && token !== "";
    const count = value["count"];
    const next: Record<string, string> = hasNext ? { continuationToken: token } : {};
    const isWhole = number === 1 && !hasNext && Number.isSafeInteger(count);
    return {
      items,
      total: isWhole ? (count as number) : undefined,
      hasNext,
      next,
    };
  },
};

/** Undefined for a repository that is switched off, which nobody may fetch. */
function read(item: HostItem): ListedRepository | undefined {
  if (item["isDisabled"] === true) return undefined;
  const { project } = item;
  const isPublic = isObject(project) && project["visibility"] === "public";
  const [projectName, name] = [isObject(project) ? text(project["name"]) : "", text(item["name"])];
  const url = withoutUser(text(item["remoteUrl"]));
  return {
    name: withoutSpaces(`${organizationIn(url, projectName)}${projectName}/${name}`),
    url,
    sshUrl: text(item["sshUrl"]),
    fork: item["isFork"] === true || isObject(item["parentRepository"]),
    archived: false,
    private: !isPublic,
    stars: 0,
    description: "",
    topics: [],
    workTree: "",
  };
}

/** What precedes the project in the path of a URL, such as `acme/`; the URL of its main repository need not repeat its name. */
function organizationIn(url: string, project: string): string {
  const path = URL.canParse(url) ? decodeSafely(new URL(url).pathname.slice(1)) : "";
  const [before = "", ...rest] = path.split("/_git/");
  if (rest.length === 0) return "";
  const organization = before.endsWith(`/${project}`) ? before.slice(0, -project.length - 1) : before;
  return `${organization}/`;
}

function decodeSafely(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/**
 * Azure DevOps, and Azure DevOps Server. An owner is an organization or a collection, as `acme`, or one of its projects, as
 * `acme/tools`.
 */
export const azureDevops: ApiKind = {
  apiUrl: (url) => below(url, ""),
  pages,
  // A personal access token is a password without a user.
  headers: (token) => authorization(token, (one) => basic(`:${one}`)),
  ownerPaths: (owner) => [`${owner.split("/").map(escapeName).join("/")}/_apis/git/repositories`],
  ownPath: undefined,
  read,
};

import { quoteValue } from "../../query/syntax/quote.js";
import { addressOfQuery, emptyQuery } from "../query/query-state.js";
import { pageUrl, repositoryUrl, type PagePath } from "../../model/page-path.js";

type Place = Pick<PagePath, "name" | "revision">;

export function directoryUrl(place: Place, path: string): string {
  return path === "" ? repositoryUrl(place) : pageUrl(place, "tree", path);
}

function escapeExpression(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** Characters with a meaning in regular expressions are escaped, so that the name stands for itself. */
export function repositoryFilter({ name, revision }: Place): string {
  return `repo:^${escapeExpression(name)}$${revision === "" ? "" : `@${revision}`}`;
}

/** The same for a file, or for all that is in a directory. */
export function pathFilter(path: string): string {
  return `file:${quoteValue(`^${escapeExpression(path)}(/|$)`)}`;
}

export function searchUrl(query: string): string {
  return addressOfQuery({ ...emptyQuery, text: query });
}

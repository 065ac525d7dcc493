import { addressOfQuery, emptyQuery } from "../query/query-state.js";
import { pageUrl, repositoryUrl, type PagePath } from "../../model/page-path.js";

type Place = Pick<PagePath, "name" | "revision">;

export function directoryUrl(place: Place, path: string): string {
  return path === "" ? repositoryUrl(place) : pageUrl(place, "tree", path);
}

/** Characters with a meaning in regular expressions are escaped, so that the name stands for itself. */
export function repositoryFilter({ name, revision }: Place): string {
  const escaped = name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return `repo:^${escaped}$${revision === "" ? "" : `@${revision}`}`;
}

export function searchUrl(query: string): string {
  return addressOfQuery({ ...emptyQuery, text: query });
}

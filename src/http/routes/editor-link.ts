import { escapeUrlPath } from "../../base/path-text.js";
import type { RequestContext } from "../../browse/request-context.js";
import { nameOfCloneUrl, repositoryUrl } from "../../browse/urls.js";
import { escapeRegexp } from "../../base/text.js";

/** The URL that an editor plugin asks for: lines of a file, or a search. Rows and columns are counted from 0. */
export function editorTarget(parameters: URLSearchParams, context: RequestContext): string | undefined {
  const of = (name: string): string => parameters.get(name) ?? "";
  if (of("search") !== "") {
    const name = remoteName(of("search_remote_url"), context);
    const revision = of("search_revision") || of("search_branch");
    const filters = [
      ...(name === undefined ? [] : [`repo:^${escapeRegexp(name)}$${revision === "" ? "" : `@${revision}`}`]),
      ...(of("search_file") === "" ? [] : [`file:^${escapeRegexp(of("search_file"))}$`]),
    ];
    return `/search?${new URLSearchParams({ q: [...filters, of("search")].join(" "), patternType: "literal" })}`;
  }
  const name = remoteName(of("remote_url"), context);
  if (name === undefined || of("file") === "") return undefined;
  const typed = of("revision") || of("branch");
  const isDefault = typed === "HEAD" || typed === context.repositories.byName(name)?.defaultBranch;
  return `${repositoryUrl(name, isDefault ? "" : typed)}/-/blob/${escapeUrlPath(of("file"))}${lineQuery(of)}`;
}

function lineQuery(of: (name: string) => string): string {
  if (!/^\d+$/.test(of("start_row"))) return "";
  const position = (row: string, column: string): string => `${Number(row) + 1}:${(Number(column) || 0) + 1}`;
  const start = position(of("start_row"), of("start_col"));
  const end = /^\d+$/.test(of("end_row")) ? position(of("end_row"), of("end_col")) : start;
  return `?L${start === end ? start : `${start}-${end}`}`;
}

/**
 * The name of the repository with this clone URL: the name made of its host and path, or a repository fetched from it.
 */
function remoteName(url: string, { repositories }: RequestContext): string | undefined {
  const name = nameOfCloneUrl(url);
  if (name === undefined || repositories.byName(name) !== undefined) return name;
  return repositories.values().find((repository) => nameOfCloneUrl(repository.url) === name)?.name ?? name;
}

import type { SearchContext } from "../../model/search-context.js";
import { checkContextQuery } from "../../query/plan/search-contexts.js";
import { QueryError } from "../../query/syntax/query-error.js";
import { contextRevisionLengthMax } from "./options.js";
import { findLine, type ConfigFile } from "./config-file.js";

/** The contexts of the file, with defaults filled in. Adds what is wrong with one to `problems`, with its line. */
export function fileContexts(file: ConfigFile, problems: string[]): SearchContext[] {
  const items = file.content["contexts"];
  if (items === undefined || problems.length > 0 || !Array.isArray(items)) return [];
  const seen = new Set<string>();
  return items.map((item: Partial<SearchContext> & { readonly name: string }, at) => {
    const { name, description = "", public: isPublic = true, query = "" } = item;
    const repositories = (item.repositories ?? []).map((repository) => ({
      ...repository,
      revisions: (repository.revisions as readonly string[] | undefined) ?? [],
    }));
    const where = `${file.path}:${findLine(file, ["contexts", String(at)])}`;
    const context = { name, description, public: isPublic, query, repositories };
    if (seen.has(name)) problems.push(`${where}: a context named ${JSON.stringify(name)} is defined twice`);
    seen.add(name);
    for (const problem of contextProblems(context, item.repositories !== undefined))
      problems.push(`${where}: context ${name}: ${problem}`);
    return context;
  });
}

function contextProblems({ query, repositories }: SearchContext, hasList: boolean): string[] {
  if ((query !== "") === hasList) return [`it needs either "query" or "repositories"${hasList ? ", not both" : ""}`];
  const long = repositories
    .flatMap(({ revisions }) => revisions)
    .find((revision) => revision.length > contextRevisionLengthMax);
  if (long !== undefined)
    return [`the revision ${long.slice(0, 40)}… is longer than ${contextRevisionLengthMax} characters`];
  const names = repositories.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) < at);
  if (twice !== undefined) return [`${JSON.stringify(twice)} is in its list twice; give one entry all revisions`];
  if (query === "") return [];
  try {
    checkContextQuery(query, new Date().getTime());
    return [];
  } catch (error) {
    if (error instanceof QueryError)
      return error
        .printWithCaret()
        .split("\n")
        .filter((line) => line !== "");
    throw error;
  }
}

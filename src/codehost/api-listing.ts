import { TrawlError } from "../base/errors.js";
import { apiKinds } from "./api-kinds.js";
import type { ApiConnection, ListedRepository, Listing } from "./connection.js";
import { fixedToken, PageReader, type Pages } from "./page-reader.js";

/**
 * Lists the repositories of a host through its API, page by page. Throws if any page cannot be read.
 *
 * A page that is shorter than requested is not the last one: hosts cap pages. The pages end where the host says that there is no
 * next one or, if it does not tell, with a page that has nothing new. If the host tells a total, and it changes while pages
 * are read, a repository may have moved to a page that was read already, and all are read again. With fewer repositories
 * than the total, the list is not whole.
 */
export async function listHost(config: ApiConnection, token: string, signal: AbortSignal): Promise<Listing> {
  const kind = apiKinds[config.kind];
  const reader = new PageReader({
    kind,
    url: config.url,
    token: fixedToken(token),
    signal,
    noun: "repositories",
    countMax: config.maxRepositories,
    remedy: ": raise maxRepositories, or name fewer owners",
  });
  const listed = new Map<string, ListedRepository>();
  const problems: string[] = [];
  const owners =
    config.owners.length === 0 ? [[kind.ownPath ?? ""]] : config.owners.map((owner) => kind.ownerPaths(owner));
  for (const paths of owners) {
    const { items, problem } = await readFirst(reader, paths, config);
    for (const item of items) {
      const repository = kind.read(item, reader.place);
      // Two may have one name here, such as `a b` and `a-b`: one of them is chosen as of several lists.
      if (repository !== undefined) listed.set(`${repository.name} ${repository.url}`, repository);
    }
    if (problem !== "") problems.push(problem);
  }
  return { repositories: [...listed.values()], problems, mayHave: () => problems.length > 0 };
}

/** All pages of the first path that the host knows. */
async function readFirst(
  reader: PageReader,
  [path = "", ...others]: readonly string[],
  config: ApiConnection,
): Promise<Pages> {
  try {
    return await reader.read(path);
  } catch (error) {
    if (!(error instanceof TrawlError) || error.code !== "not-found" || others.length === 0)
      throw withHint(error, config);
    return await readFirst(reader, others, config);
  }
}

/** The site of GitHub Enterprise Server answers with pages for people, or leads to them. */
export function withHint(error: unknown, { kind, url }: ApiConnection): unknown {
  const { hostname, pathname, origin } = new URL(url);
  const mayBeSite = kind === "github" && pathname === "/" && !hostname.startsWith("api.");
  const isAnswer =
    error instanceof TrawlError && /answered 404|sent no JSON|sent no list|redirects to/.test(error.message);
  if (!mayBeSite || !isAnswer || hostname === "github.com") return error;
  return new TrawlError(error.code, `${error.message}; if this is GitHub Enterprise Server, use ${origin}/api/v3`);
}

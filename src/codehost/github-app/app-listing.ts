import { TrawlError } from "../../base/errors.js";
import { isObject } from "../../base/is-object.js";
import { apiKinds } from "../api-kinds.js";
import { withHint } from "../api-listing.js";
import type { ApiConnection, ListedRepository, Listing } from "../connection.js";
import { HostError } from "../host-request.js";
import type { ApiKind } from "../hosts/api-kind.js";
import { type HostItem, type HostPages, numberedPages } from "../hosts/pages.js";
import { PageReader } from "../page-reader.js";
import type { GithubApp } from "./github-app.js";

/** The repositories of an installation are a list in an object, which has their number. */
const pages: HostPages = {
  ...numberedPages({ per_page: "100" }),
  read: (value, response, number, itemCount) => {
    if (!isObject(value)) return undefined;
    const page = numberedPages({}).read(value["repositories"], response, number, itemCount);
    const total = value["total_count"];
    return page && { ...page, total: Number.isSafeInteger(total) ? (total as number) : undefined };
  },
};

const kind: ApiKind = { ...apiKinds.github, pages };

/**
 * Lists the repositories that the installations of a GitHub App may read: the configured one, those of the owners, or all. What the
 * repositories of an installation are that cannot be read is not known, so the list is not whole then. Throws if none can be read.
 */
export async function listApp(config: ApiConnection, app: GithubApp, signal: AbortSignal): Promise<Listing> {
  const places = await findInstallations(config, app, signal);
  const listed = new Map<string, ListedRepository>();
  const problems: string[] = [];
  let failure: unknown;
  let readCount = 0;
  for (const place of places) {
    try {
      const { items, problem } = await readInstallation(config, app, await place(), listed.size, signal);
      readCount++;
      for (const item of items) {
        const repository = apiKinds.github.read(item, {
          apiUrl: apiKinds.github.apiUrl(new URL(config.url), true),
          hasToken: true,
        });
        if (repository !== undefined) listed.set(`${repository.name} ${repository.url}`, repository);
      }
      if (problem !== "") problems.push(problem);
    } catch (error) {
      if (!isRefused(error)) throw withHint(error, config);
      failure ??= error;
      problems.push(error.message);
    }
  }
  if (readCount === 0 && failure !== undefined) throw withHint(failure, config);
  return { repositories: [...listed.values()], problems, mayHave: () => problems.length > 0 };
}

/** Functions that resolve with the numbers of the installations to list. */
async function findInstallations(
  { installation, owners }: ApiConnection,
  app: GithubApp,
  signal: AbortSignal,
): Promise<readonly (() => Promise<string>)[]> {
  if (installation !== "") return [() => Promise.resolve(installation)];
  if (owners.length > 0) return owners.map((owner) => () => app.installationIn(owner));
  const all = await app.installations(signal);
  if (all.length === 0)
    throw new TrawlError(
      "not-found",
      "the app is not installed in any account: install it, with the repositories to mirror",
    );
  return all.map((id) => () => Promise.resolve(id));
}

async function readInstallation(
  { url, maxRepositories }: ApiConnection,
  app: GithubApp,
  installation: string,
  listedCount: number,
  signal: AbortSignal,
): Promise<{ readonly items: readonly HostItem[]; readonly problem: string }> {
  const reader = new PageReader({
    kind,
    url,
    token: app.token(installation),
    signal,
    noun: "repositories",
    countMax: maxRepositories - listedCount,
    remedy: ": raise maxRepositories, or choose fewer installations",
  });
  return await reader.read("installation/repositories");
}

/** Whether it is about one installation, and says nothing about others. */
function isRefused(error: unknown): error is HostError {
  return error instanceof HostError && (error.status === 403 || error.status === 404);
}

import { TrawlError } from "../../base/errors.js";
import { isObject } from "../../base/is-object.js";
import { apiKinds } from "../api-kinds.js";
import { withHint } from "../api-listing.js";
import type { ApiConnection, ListedRepository, Listing } from "../connection.js";
import { HostError } from "../host-request.js";
import type { ApiKind } from "../hosts/api-kind.js";
import { type HostItem, type HostPages, numberedPages } from "../hosts/pages.js";
import { PageReader } from "../page-reader.js";
import { mayHaveToken } from "../selection.js";
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
 * repositories of an installation are that cannot be read is not known, so what was known of its account stays then. Throws if none can be
 * read.
 */
export async function listApp(config: ApiConnection, app: GithubApp, signal: AbortSignal): Promise<Listing> {
  const places = await findInstallations(config, app, signal);
  const listed = new Map<string, ListedRepository>();
  const problems: string[] = [];
  let failure: unknown;
  /** The accounts whose lists are whole. */
  const wholeOwners = new Set<string>();
  let readCount = 0;
  for (const place of places) {
    try {
      const { items, problem } = await readInstallation(config, app, await place.find(), listed.size, signal);
      readCount++;
      for (const item of items) {
        const repository = apiKinds.github.read(item, {
          apiUrl: apiKinds.github.apiUrl(new URL(config.url), true),
          hasToken: true,
        });
        if (repository !== undefined) listed.set(`${repository.name} ${repository.url}`, repository);
      }
      if (problem !== "") problems.push(problem);
      else wholeOwners.add(place.owner);
    } catch (error) {
      if (!isRefused(error)) throw withHint(error, config);
      failure ??= error;
      problems.push(error.message);
    }
  }
  if (readCount === 0 && failure !== undefined) throw withHint(failure, config);
  return {
    repositories: [...listed.values()],
    problems,
    mayHave: (url) => problems.length > 0 && !(mayHaveToken(config, url) && wholeOwners.has(ownerIn(url))),
  };
}

/** An installation to list. */
interface Place {
  /** The account, in lower case; "" if it is not known. */
  readonly owner: string;
  /** Resolves with the number of the installation. */
  readonly find: () => Promise<string>;
}

async function findInstallations(
  { installation, owners }: ApiConnection,
  app: GithubApp,
  signal: AbortSignal,
): Promise<readonly Place[]> {
  if (installation !== "") return [{ owner: "", find: () => Promise.resolve(installation) }];
  if (owners.length > 0)
    return owners.map((owner) => ({ owner: owner.toLowerCase(), find: () => app.installationIn(owner) }));
  const all = await app.installations(signal);
  if (all.length === 0)
    throw new TrawlError(
      "not-found",
      "the app is not installed in any account: install it, with the repositories to mirror",
    );
  return all.map(({ id, owner }) => ({ owner, find: () => Promise.resolve(id) }));
}

/** The owner in `https://github.com/OWNER/NAME.git`, in lower case. */
function ownerIn(url: string): string {
  return (new URL(url).pathname.split("/")[1] ?? "").toLowerCase();
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

import type { SourceOf } from "./schema-types.js";
import { TrawlError } from "../../base/errors.js";
import { organizationSource, teamSource, userSource } from "./account-access.js";
import { TokenSource } from "../sources/account-sources.js";
import type { RequestContext } from "../../browse/request-context.js";
import { CommitSource, RefSource } from "../../browse/git-sources.js";
import { parseGlobalId } from "../../browse/ids.js";
import { repositoryPage } from "./repository-lists.js";
import { toRepositorySource, type RepositorySource } from "../../browse/repository-source.js";
import type { ResolversOf } from "./resolver-types.js";
import { ownerFileSource } from "../sources/owner-file-source.js";
import { serviceByKey } from "../sources/external-service-source.js";
import { AggregateSource, SearchSource } from "../sources/search-sources.js";
import { DefaultSettingsSource, siteKey, SiteSource } from "../sources/site-source.js";
import { nameOfCloneUrl } from "../../browse/urls.js";
import { cloneUrlsOf, indexCloneUrls } from "../sources/repository-addresses.js";
import { findContext, contextQueries } from "./contexts.js";
import { serviceQueries } from "./external-services.js";
import { invitationQueries, invitationSource } from "./invitations.js";
import { organizationQueries } from "./organizations.js";
import { ownershipQueries } from "./ownership.js";
import { permissionQueries } from "./permissions.js";
import { savedSearchById, savedSearchQueries } from "./saved-searches.js";
import { preciseIndexById, preciseIndexKind, preciseIndexQueries } from "./precise-indexes.js";
import { searchJobById, searchJobQueries } from "./search-jobs.js";
import { settingsQueries } from "./settings.js";
import { siteQueries } from "./site.js";
import { teamQueries } from "./teams.js";
import { userQueries } from "./users.js";

export const query: ResolversOf<"Query"> = {
  node: (_, { id }, context) => findNode(id, context),
  repository: (_, args, context) =>
    findRepository(args.name ?? args.uri ?? undefined, args.cloneURL ?? undefined, context),
  repositoryRedirect: (_, args, context) => findRepository(args.name ?? undefined, args.cloneURL ?? undefined, context),
  repositories: async (_, args, context) => {
    const { table, lacks } = await context.listRepositories(args.names ?? undefined);
    const { records, totalCount, pageInfo } = await repositoryPage(table, args, context);
    return {
      nodes: records.map(toRepositorySource),
      totalCount,
      pageInfo,
      notListed: lacks.length === 0 ? null : lacks,
    };
  },
  search: (_, { query: text, version, patternType, receipt, strict, duplicates, explain }) =>
    new SearchSource({
      query: text ?? "",
      version: version ?? "V1",
      patternType: patternType ?? undefined,
      receipt: strict === true ? "strict" : receipt === true ? "report" : "none",
      duplicates: duplicates === true,
      explain: explain === true,
    }),
  searchQueryAggregate: (_, { query: text, patternType }) => new AggregateSource(text ?? "", patternType ?? undefined),
  ...contextQueries,
  ...searchJobQueries,
  ...preciseIndexQueries,
  ...siteQueries,
  ...serviceQueries,
  ...ownershipQueries,
  ...userQueries,
  ...permissionQueries,
  ...organizationQueries,
  ...invitationQueries,
  ...teamQueries,
  ...settingsQueries,
  ...savedSearchQueries,
};

/** By name, else by clone URL: a URL from which we fetch, or one whose host and path are the name of a repository. */
async function findRepository(
  name: string | undefined,
  cloneUrl: string | undefined,
  context: RequestContext,
): Promise<RepositorySource | null> {
  if (name === undefined && cloneUrl === undefined)
    throw new TrawlError("bad-request", "neither name nor cloneURL given");
  const record = await context.findRepository(name ?? nameOfCloneUrl(cloneUrl ?? "") ?? "");
  if (record !== undefined) return toRepositorySource(record);
  return cloneUrl === undefined ? null : repositoryByUrl(cloneUrl, context);
}

async function repositoryByUrl(
  cloneUrl: string,
  { repositories, work }: RequestContext,
): Promise<RepositorySource | null> {
  const urls =
    cloneUrlsOf.get(repositories) ??
    (await work.once(`clone URLs of ${repositories.id}`, repositories.count, () => indexCloneUrls(repositories)));
  const record = urls.find(cloneUrl);
  return record === undefined ? null : toRepositorySource(record);
}

async function findNode(id: string, context: RequestContext): Promise<SourceOf<"Node"> | null> {
  const { kind, key } = parseGlobalId(id);
  switch (kind) {
    case "Repository":
      return repositoryById(key, context);
    case "Site":
      return key === siteKey ? new SiteSource() : null;
    case "DefaultSettings":
      return new DefaultSettingsSource();
    case "SearchContext":
      return typeof key === "string" ? findContext(key, context) : null;
    case "GitCommit":
      return commitById(key, context);
    case "GitRef":
      return refById(key, context);
    case preciseIndexKind:
      return preciseIndexById(numberIn(key), context);
    case "SearchJob":
      return searchJobById(numberIn(key), context);
    case "User":
      return userSource(numberIn(key), context);
    case "Org":
      return organizationSource(context.services.accounts.organizations.get(numberIn(key)), context);
    case "Team":
      return teamSource(context.services.accounts.teams.get(numberIn(key)), context);
    case "AccessToken":
      return tokenById(numberIn(key), context);
    case "OrganizationInvitation":
      return invitationSource(numberIn(key), context);
    case "CodeownersIngestedFile":
      return ownerFileSource(context.services.accounts.ownerFiles.get(numberIn(key)), context);
    case "ExternalService":
      context.requireSiteAdmin();
      return serviceByKey(key, context);
    case "SavedSearch":
      return savedSearchById(numberIn(key), context);
    default:
      throw new TrawlError(
        "bad-request",
        `${JSON.stringify(id.slice(0, 200))} is the id of a ${kind.slice(0, 100)}, which no object here is`,
      );
  }
}

/** A key that is not a number refers to nothing. */
function numberIn(key: unknown): number {
  return typeof key === "number" ? key : 0;
}

/** Only their user and site admins may know about tokens. */
function tokenById(id: number, context: RequestContext): TokenSource | null {
  const { accounts } = context.services;
  const token = accounts.accessTokens.get(id);
  const user = token === undefined || !context.mayActFor(token.userId) ? undefined : accounts.user(token.userId);
  return token === undefined || user === undefined ? null : new TokenSource(token, user);
}

async function repositoryById(key: unknown, context: RequestContext): Promise<RepositorySource | null> {
  const record = typeof key === "number" ? await context.findRepository(key) : undefined;
  return record === undefined ? null : toRepositorySource(record);
}

/** The repository identified by the key of a commit or ref. */
async function repositoryOfKey(key: unknown, context: RequestContext): Promise<RepositorySource | null> {
  const { r } = (typeof key === "object" && key !== null ? key : {}) as { readonly r?: unknown };
  if (typeof r !== "string") return null;
  const id = parseGlobalId(r);
  return id.kind === "Repository" ? repositoryById(id.key, context) : null;
}

async function commitById(key: unknown, context: RequestContext): Promise<CommitSource | null> {
  const repository = await repositoryOfKey(key, context);
  const oid = repository === null ? undefined : (key as { readonly c?: unknown }).c;
  if (repository === null || typeof oid !== "string") return null;
  const commit = await context.git.resolve(repository, oid);
  return commit === null ? null : new CommitSource(repository, commit, undefined);
}

async function refById(key: unknown, context: RequestContext): Promise<RefSource | null> {
  const repository = await repositoryOfKey(key, context);
  const name = repository === null ? undefined : (key as { readonly v?: unknown }).v;
  if (repository === null || typeof name !== "string") return null;
  const { refs } = await context.git.run({
    kind: "list-refs",
    repositoryId: repository.record.id,
    prefixes: [name],
    nameText: "",
    order: "name",
    skipCount: 0,
    countMax: 1,
  });
  return refs[0]?.name === name ? new RefSource(repository, refs[0]) : null;
}

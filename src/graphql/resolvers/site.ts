import { visibleError, type RepositoryStatus } from "../../model/repository-status.js";
import type { Viewer } from "../../model/viewer.js";
import { tableRows } from "../../base/html.js";
import { TrawlError } from "../../base/errors.js";
import { tableOfRows } from "../git-sources.js";
import { globalId } from "../ids.js";
import { bothWaysPageOf, emptyPage, pageOf } from "../connections.js";
import type { RequestContext } from "../context.js";
import { parseGlobalId } from "../ids.js";
import type { ResolversOf } from "../resolver-types.js";
import { cascadeOf } from "../settings-sources.js";
import { findSiteUsers, siteUserNodes } from "../site-users.js";
import { SiteSource } from "../site-source.js";
import { buildVersion, productVersion } from "../versions.js";
import { latestSettings } from "./settings.js";
import { tokenPage } from "./tokens.js";

type Query = ResolversOf<"Query">;

/** What is asked about the instance, and about who asks. */
export const siteQueries: Pick<Query, "externalServices" | "highlightCode" | "site" | "statusMessages" | "repositoryStats" | "evaluateFeatureFlag" | "evaluateFeatureFlags" | "evaluatedFeatureFlags"
  | "featureFlags" | "clientConfiguration" | "enterpriseLicenseHasFeature" | "executors" | "repoMeta"> = {
  externalServices: (_, { first, after, repo }, context) => {
    context.requireSiteAdmin();
    const services = repo === undefined || repo === null || parseGlobalId(repo).kind === "Repository" ? [configuredService(context)] : [];
    return pageOf(services, first, after);
  },
  highlightCode: async (_, { code, fuzzyLanguage, disableTimeout }, { git }) => {
    const { lines } = await git.highlight({ text: code, path: "", language: fuzzyLanguage, longLines: false }, disableTimeout);
    return tableOfRows(tableRows(lines, 1));
  },
  site: () => new SiteSource(),
  statusMessages: (_, __, context) => statusMessages(context.statuses(), context.viewer),
  repositoryStats: (_, __, context) => repositoryStats(context.statuses()),
  evaluateFeatureFlag: () => null,
  evaluateFeatureFlags: () => [],
  evaluatedFeatureFlags: () => [],
  featureFlags: () => [],
  clientConfiguration: (_, __, { services }) => ({ contentScriptUrls: [], parentSourcegraph: { url: services.externalUrl } }),
  enterpriseLicenseHasFeature: (_, { feature }) => feature === "code-search",
  executors: (_, __, context) => {
    context.requireSiteAdmin();
    return emptyPage;
  },
  repoMeta: () => ({}),
};

export const site: ResolversOf<"Site"> = {
  siteID: (_, __, { services }) => services.siteId,
  configuration: (_, __, context) => {
    context.requireSiteAdmin();
    return { id: 1, effectiveContents: context.services.configuration(), validationMessages: [], history: bothWaysPageOf([], {}) };
  },
  latestSettings,
  settingsCascade: (source, _, context) => cascadeOf(source, context),
  accessTokens: (_, { first, after }, context) => {
    context.requireSiteAdmin();
    return tokenPage(context.services.accounts.tokens(), first, after, context);
  },
  users: async (_, args, context) => {
    context.requireSiteAdmin();
    return { found: await findSiteUsers(args, context) };
  },
  externalServicesCounts: (_, __, context) => {
    context.requireSiteAdmin();
    return { remoteExternalServicesCount: 1, localExternalServicesCount: 0 };
  },
  productSubscription: (_, __, { services: { accounts } }) =>
    ({ productNameWithBrand: "Trawl", actualUserCount: accounts.userCount, maximumAllowedUserCount: null, noLicenseWarningUserCount: null }),
  usageStatistics: () => ({ daus: [], waus: [], maus: [] }),
  viewerCanAdminister: (_, __, { viewer }) => viewer.isSiteAdmin,
  buildVersion: () => buildVersion,
  productVersion: () => productVersion,
  needsRepositoryConfiguration: (_, __, { repositories }) => repositories.count === 0,
  alerts: () => [],
  codyContextFilters: () => ({ raw: null }),
};

export const siteUsers: ResolversOf<"SiteUsers"> = {
  totalCount: ({ found }) => found.length,
  nodes: ({ found }, args, context) => siteUserNodes(found, args, context),
};

export const siteMutations: Pick<ResolversOf<"Mutation">, "updateSiteConfiguration" | "sendTestEmail"> = {
  updateSiteConfiguration: (_, __, context) => {
    context.requireSiteAdmin();
    throw new TrawlError("forbidden", "the configuration is a file, which the operator edits; repositories and contexts are read again on SIGHUP, all else at the next start");
  },
  sendTestEmail: (_, __, context) => {
    context.requireSiteAdmin();
    throw new TrawlError("forbidden", "no e-mail is sent from here: there is nothing to test");
  },
};

export const defaultSettings: ResolversOf<"DefaultSettings"> = { settingsCascade: (source, _, context) => cascadeOf(source, context) };

export const repoMeta: ResolversOf<"RepoMeta"> = {
  keys: (_, { query, first, after }, context) => pageOf(metadataTexts(context, ({ key }) => key, query), first, after),
  key: (_, { key }, context) => (metadataTexts(context, (pair) => pair.key, undefined).includes(key) ? { key } : null),
};

export const repoMetaKey: ResolversOf<"RepoMetaKey"> = {
  values: ({ key }, { query, first, after }, context) =>
    pageOf(metadataTexts(context, (pair) => (pair.key === key ? pair.value : null), query), first, after),
};

/** Keys or values of all repositories' metadata, each once and in order. */
function metadataTexts({ repositories }: RequestContext, pick: (pair: { key: string; value: string | null }) => string | null, query: string | null | undefined): string[] {
  const texts = new Set<string>();
  for (const { metadata } of repositories.values()) {
    for (const [key, value] of Object.entries(metadata)) {
      const text = pick({ key, value });
      if (text !== null && text.includes(query ?? "")) texts.add(text);
    }
  }
  return [...texts].sort();
}

/** The operator's list of repositories, as the one service that there is. */
function configuredService(context: RequestContext) {
  const { services } = context;
  const statuses = context.statuses();
  const newest = statuses.reduce((latest, { lastFetched }) => (lastFetched > latest ? lastFetched : latest), "");
  const { kind, displayName } = { kind: "OTHER", displayName: "Configured repositories" } as const;
  const date = newest || "1970-01-01T00:00:00Z";
  return {
    __typename: "ExternalService" as const, id: globalId("ExternalService", 1), kind, displayName, config: services.configuration(), createdAt: date, updatedAt: date,
    repoCount: statuses.length, lastSyncAt: newest || null, nextSyncAt: null, lastSyncError: null, warning: null, webhookURL: null,
  };
}

/** What an operator should know; nothing when all is well. */
function statusMessages(statuses: readonly RepositoryStatus[], viewer: Viewer) {
  if (statuses.length === 0) return [{ __typename: "NoRepositoriesDetected" as const, message: "No repositories are configured." }];
  const pending = statuses.filter(({ state }) => state === "pending");
  const failed = statuses.filter(({ error }) => error !== "");
  return [
    ...pending.length > 0 ? [{ __typename: "CloningProgress" as const, message: `${pending.length} ${pending.length === 1 ? "repository is" : "repositories are"} being fetched.` }] : [],
    ...failed.slice(0, listedErrorsMax).map(({ name, error }) => ({ __typename: "SyncError" as const, message: `${name}: ${visibleError(error, viewer)}` })),
  ];
}

const listedErrorsMax = 20;

function repositoryStats(statuses: readonly RepositoryStatus[]) {
  const count = (test: (status: RepositoryStatus) => boolean): number => statuses.filter(test).length;
  const cloned = count(({ lastFetched }) => lastFetched !== "");
  const cloning = count(({ state }) => state === "pending");
  return {
    gitDirBytes: "0", indexedLinesCount: "0", total: statuses.length, cloned, cloning, notCloned: statuses.length - cloned - cloning,
    failedFetch: count(({ error }) => error !== ""), corrupted: 0, indexed: count(({ state }) => state === "searchable"),
  };
}

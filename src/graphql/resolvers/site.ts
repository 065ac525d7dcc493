import { quarantineSentences } from "../../model/quarantine.js";
import { visibleError } from "../../model/repository-status.js";
import type { Repository } from "../../model/repository.js";
import type { Viewer } from "../../model/viewer.js";
import { tableRows } from "../../base/html.js";
import { TrawlError } from "../../base/errors.js";
import { eachInSteps, sortInSteps } from "../../base/yielding.js";
import { tableOfRows } from "../../browse/highlight-source.js";
import { emptyPage, paginate, paginateBothWays } from "./connection-types.js";
import type { RequestContext } from "../../browse/request-context.js";
import type { ResolversOf } from "./resolver-types.js";
import { resolveBatchWorkspaces } from "../sources/batch-workspaces.js";
import { loadCascade } from "../sources/settings-sources.js";
import { repositorySummary, type RepositorySummary } from "../sources/repository-summary.js";
import { findSiteUsers, siteUserNodes } from "./site-users.js";
import { SiteSource } from "../sources/site-source.js";
import { buildVersion, productVersion } from "../../model/versions.js";
import { latestSettings } from "./settings.js";
import { tokenPage } from "./tokens.js";

type Query = ResolversOf<"Query">;

/** Queries about the instance, and about the viewer. */
export const siteQueries: Pick<
  Query,
  | "highlightCode"
  | "renderMarkdown"
  | "site"
  | "statusMessages"
  | "repositoryStats"
  | "evaluateFeatureFlag"
  | "evaluateFeatureFlags"
  | "evaluatedFeatureFlags"
  | "featureFlags"
  | "clientConfiguration"
  | "enterpriseLicenseHasFeature"
  | "executors"
  | "maxUnlicensedChangesets"
  | "batchChanges"
  | "resolveWorkspacesForBatchSpec"
  | "repoMeta"
> = {
  highlightCode: async (_, { code, fuzzyLanguage, disableTimeout }, { git }) => {
    const { lines } = await git.highlight(
      { text: code, path: "", language: fuzzyLanguage, longLines: false },
      disableTimeout,
    );
    return tableOfRows(tableRows(lines, 1));
  },
  renderMarkdown: (_, { markdown }, { git }) => git.renderMarkdown(markdown),
  site: () => new SiteSource(),
  statusMessages: async (_, __, context) => statusMessages(await repositorySummary(context), context.viewer),
  repositoryStats: async (_, __, context) => repositoryStats(await repositorySummary(context)),
  evaluateFeatureFlag: () => null,
  evaluateFeatureFlags: () => [],
  evaluatedFeatureFlags: () => [],
  featureFlags: () => [],
  clientConfiguration: (_, __, { services }) => ({
    contentScriptUrls: [],
    parentSourcegraph: { url: services.externalUrl() },
  }),
  enterpriseLicenseHasFeature: (_, { feature }) => feature === "code-search",
  executors: (_, __, context) => {
    context.requireSiteAdmin();
    return emptyPage;
  },
  maxUnlicensedChangesets: () => 0,
  batchChanges: () => emptyPage,
  resolveWorkspacesForBatchSpec: (_, { batchSpec }, context) => resolveBatchWorkspaces(batchSpec, context),
  repoMeta: () => ({}),
};

/** The configuration with what clients of Sourcegraph look for before they set permissions. Both always hold here. */
function withMapping(text: string): string {
  const mapping =
    '"permissions.userMapping": { "enabled": true, "bindID": "username" },\n  "auth.enableUsernameChanges": false';
  return `${text.trimEnd().slice(0, -1).trimEnd()},\n  ${mapping}\n}\n`;
}

export const siteConfiguration: ResolversOf<"SiteConfiguration"> = {
  id: () => 1,
  effectiveContents: ({ text }, { compatible }) => (compatible === false ? text : withMapping(text)),
  validationMessages: () => [],
  history: () => paginateBothWays([], {}),
};

export const site: ResolversOf<"Site"> = {
  siteID: (_, __, { services }) => services.siteId,
  configuration: (_, __, context) => {
    context.requireSiteAdmin();
    return { text: context.services.configuration() };
  },
  configurationProblems: async (_, { text }, context) => {
    context.requireSiteAdmin();
    return await context.beforeEnd(context.services.checkConfiguration(text), "the check of the configuration");
  },
  latestSettings,
  settingsCascade: (source, _, context) => loadCascade(source, context),
  configurationCascade: (source, _, context) => loadCascade(source, context),
  accessTokens: (_, { first, after }, context) => {
    context.requireSiteAdmin();
    return tokenPage(context.services.accounts.accessTokens.list(), first, after, context);
  },
  users: async (_, args, context) => {
    context.requireSiteAdmin();
    return { found: await findSiteUsers(args, context) };
  },
  externalServicesCounts: (_, __, context) => {
    context.requireSiteAdmin();
    const connections = context.services.connections.details();
    const localExternalServicesCount = connections.filter(({ kind }) => kind === "folder").length;
    // The operator's list counts as one.
    return {
      remoteExternalServicesCount: 1 + connections.length - localExternalServicesCount,
      localExternalServicesCount,
    };
  },
  monitoringStatistics: async (_, { days }, context) => {
    context.requireSiteAdmin();
    return { alerts: await monitoringAlerts(days, context) };
  },
  productSubscription: (_, __, { services: { accounts }, viewer }) => ({
    productNameWithBrand: "Trawl",
    actualUserCount: viewer.isSiteAdmin ? accounts.userCount : 0,
    maximumAllowedUserCount: null,
    noLicenseWarningUserCount: null,
    license: null,
  }),
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
    throw new TrawlError(
      "forbidden",
      "the configuration is a file, which the operator edits; repositories and contexts are reread on SIGHUP, everything else at the next start",
    );
  },
  sendTestEmail: (_, __, context) => {
    context.requireSiteAdmin();
    throw new TrawlError("forbidden", "Trawl does not send e-mail: there is nothing to test");
  },
};

export const defaultSettings: ResolversOf<"DefaultSettings"> = {
  settingsCascade: (source, _, context) => loadCascade(source, context),
  configurationCascade: (source, _, context) => loadCascade(source, context),
};

export const repoMeta: ResolversOf<"RepoMeta"> = {
  keys: async (_, { query, first, after }, context) =>
    paginate(await metadataTexts(context, undefined, query ?? ""), first, after),
  key: async (_, { key }, context) => ((await metadataTexts(context, undefined, "")).includes(key) ? { key } : null),
};

export const repoMetaKey: ResolversOf<"RepoMetaKey"> = {
  values: async ({ key }, { query, first, after }, context) =>
    paginate(await metadataTexts(context, key, query ?? ""), first, after),
};

/** The metadata keys of all repositories that contain a text, or the values of one key; sorted, without duplicates. */
async function metadataTexts(
  { repositories, work }: RequestContext,
  ofKey: string | undefined,
  held: string,
): Promise<readonly string[]> {
  return work.once(work.cacheKey("metadata", { ofKey, held }), repositories.count, function* () {
    const texts = new Set<string>();
    const add = ({ metadata }: Repository): void => {
      const found =
        ofKey === undefined ? Object.keys(metadata) : Object.hasOwn(metadata, ofKey) ? [metadata[ofKey]] : [];
      for (const text of found) if (text?.includes(held)) texts.add(text);
    };
    yield* eachInSteps(repositories.values(), add);
    return yield* sortInSteps([...texts], (a, b) => (a < b ? -1 : 1));
  });
}

/** Limit on the sentences about content that is not indexed in one response. */
const quarantineMessagesMax = 20;

/** Messages for the operator; empty if there are no problems. */
function statusMessages({ total, pending, failures, quarantined }: RepositorySummary, viewer: Viewer) {
  if (total === 0)
    return [{ __typename: "NoRepositoriesDetected" as const, message: "No repositories are configured." }];
  return [
    ...(pending > 0
      ? [
          {
            __typename: "CloningProgress" as const,
            message: `${pending} ${pending === 1 ? "repository is" : "repositories are"} being fetched.`,
          },
        ]
      : []),
    ...failures.map(({ name, lastError }) => ({
      __typename: "SyncError" as const,
      message: `${name}: ${visibleError(lastError, viewer)}`,
    })),
    ...quarantined
      .flatMap(({ name, quarantine }) => quarantineSentences(quarantine).map((sentence) => `${name}: ${sentence}`))
      .slice(0, quarantineMessagesMax)
      .map((message) => ({ __typename: "SyncError" as const, message })),
  ];
}

function repositoryStats({ total, cloned, pending, failed, searchable }: RepositorySummary) {
  return {
    gitDirBytes: "0",
    indexedLinesCount: "0",
    total,
    cloned,
    cloning: pending,
    notCloned: total - cloned - pending,
    failedFetch: failed,
    corrupted: 0,
    indexed: searchable,
  };
}

const dayMs = 86_400_000;

/** Conditions that an operator should look at, newest first. The viewer is a site admin. */
async function monitoringAlerts(days: number | null | undefined, context: RequestContext) {
  const { failures, quarantined } = await repositorySummary(context);
  const connections = context.services.connections
    .details()
    .flatMap(({ name, error, warnings, attempts }) =>
      [...(error === "" ? [] : [error]), ...warnings].map((text) => ({ name, text, attempts })),
    );
  const now = new Date().toISOString();
  const alerts = [
    ...failures.map(({ name, lastError, lastFetched }) =>
      alert("warning", "sync", `${name}: ${lastError}`, lastFetched || now),
    ),
    ...quarantined.flatMap(({ name, quarantine, lastChanged }) =>
      quarantineSentences(quarantine).map((text) =>
        alert("warning", "indexing", `${name}: ${text}`, lastChanged || now),
      ),
    ),
    ...connections.map(({ name, text, attempts }) =>
      alert(
        "warning",
        "connections",
        `${name}: ${text}`,
        attempts.find(({ finishedAt }) => finishedAt !== "")?.finishedAt ?? now,
      ),
    ),
  ];
  const sinceMs = days === undefined || days === null ? 0 : new Date().getTime() - days * dayMs;
  return alerts
    .filter(({ timestamp }) => new Date(timestamp).getTime() >= sinceMs)
    .sort((a, b) => (a.timestamp < b.timestamp ? 1 : -1))
    .slice(0, alertsMax);
}

const alertsMax = 100;

function alert(level: "warning", serviceName: string, text: string, timestamp: string) {
  return { timestamp, name: `${level}: ${serviceName}: ${text}`, serviceName, owner: "", average: 1 };
}

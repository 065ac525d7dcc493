import type { AllResolvers, ResolversOf } from "./resolver-types.js";
import { commit } from "./commit.js";
import { comparison, fileDiff, fileDiffHunk, fileDiffs, revisionRange } from "./comparison.js";
import { contextMutations, searchContext } from "./contexts.js";
import { externalService, serviceMutations } from "./external-services.js";
import { blob, highlighted, tree } from "./files.js";
import { invitation, invitationMutations } from "./invitations.js";
import { organization, organizationMutations } from "./organizations.js";
import { ownershipMutations, person } from "./ownership.js";
import { permissionsInfo } from "./permissions.js";
import { query } from "./query.js";
import { contributor, mirrorInfo, repository, textIndex } from "./repository.js";
import { savedSearch, savedSearchMutations } from "./saved-searches.js";
import { fileMatch, search, searchQueryAggregate, searchReceipt, searchResults, searchResultsStats } from "./search.js";
import { preciseIndex, preciseIndexMutations } from "./precise-indexes.js";
import { searchJob, searchJobMutations } from "./search-jobs.js";
import { configurationCascade, settings, settingsCascade, settingsMutation, settingsMutations } from "./settings.js";
import { defaultSettings, repoMeta, repoMetaKey, site, siteConfiguration, siteMutations, siteUsers } from "./site.js";
import { navigation } from "./symbols.js";
import { team, teamMutations } from "./teams.js";
import { accessToken, tokenMutations } from "./tokens.js";
import { user, userMutations } from "./users.js";
import { repositoryMutations } from "./repository-changes.js";
import { nothing } from "./connection-types.js";

/** Usage data reported by clients is discarded. */
const telemetryMutations: Pick<ResolversOf<"Mutation">, "logEvent" | "logEvents" | "logUserEvent" | "telemetry"> = {
  logEvent: () => nothing,
  logEvents: () => nothing,
  logUserEvent: () => nothing,
  telemetry: () => ({}),
};

const telemetryMutation: ResolversOf<"TelemetryMutation"> = { recordEvents: () => nothing };

/**
 * All mutations. Each checks permissions before it reads anything else, so that an unauthorized viewer learns nothing;
 * and its change is durable before the response.
 */
const mutation: ResolversOf<"Mutation"> = {
  ...telemetryMutations,
  ...repositoryMutations,
  ...serviceMutations,
  ...ownershipMutations,
  ...contextMutations,
  ...searchJobMutations,
  ...preciseIndexMutations,
  ...userMutations,
  ...tokenMutations,
  ...organizationMutations,
  ...invitationMutations,
  ...teamMutations,
  ...settingsMutations,
  ...savedSearchMutations,
  ...siteMutations,
};

/** The resolvers of the whole schema. A field without a resolver or property is a compile error. */
export const allResolvers: AllResolvers = {
  Query: query,
  Mutation: mutation,
  TelemetryMutation: telemetryMutation,
  Repository: repository,
  MirrorRepositoryInfo: mirrorInfo,
  RepositoryTextSearchIndex: textIndex,
  RepositoryContributor: contributor,
  Person: person,
  GitCommit: commit,
  GitTree: tree,
  GitBlob: blob,
  GitBlobLSIFData: navigation,
  HighlightedFile: highlighted,
  RepositoryComparison: comparison,
  GitRevisionRange: revisionRange,
  FileDiffConnection: fileDiffs,
  FileDiff: fileDiff,
  FileDiffHunk: fileDiffHunk,
  Search: search,
  FileMatch: fileMatch,
  SearchResults: searchResults,
  SearchResultsStats: searchResultsStats,
  SearchReceipt: searchReceipt,
  SearchQueryAggregate: searchQueryAggregate,
  SearchJob: searchJob,
  PreciseIndex: preciseIndex,
  SearchContext: searchContext,
  User: user,
  Org: organization,
  OrganizationInvitation: invitation,
  Team: team,
  AccessToken: accessToken,
  SavedSearch: savedSearch,
  SettingsMutation: settingsMutation,
  SettingsCascade: settingsCascade,
  ConfigurationCascade: configurationCascade,
  Settings: settings,
  ExternalService: externalService,
  Site: site,
  SiteConfiguration: siteConfiguration,
  PermissionsInfo: permissionsInfo,
  SiteUsers: siteUsers,
  DefaultSettings: defaultSettings,
  RepoMeta: repoMeta,
  RepoMetaKey: repoMetaKey,
};

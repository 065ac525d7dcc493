import type { AllResolvers } from "../execution/resolver-types.js";
import { commit } from "./commit.js";
import { comparison, fileDiff, fileDiffHunk, fileDiffs, revisionRange } from "./comparison.js";
import { searchContext } from "./contexts.js";
import { externalService } from "./external-services.js";
import { blob, highlighted, tree } from "./files.js";
import { invitation } from "./invitations.js";
import { mutation } from "./mutation.js";
import { organization } from "./organizations.js";
import { person } from "./ownership.js";
import { query } from "./query.js";
import { contributor, mirrorInfo, repository, textIndex } from "./repository.js";
import { savedSearch } from "./saved-searches.js";
import { fileMatch, search, searchReceipt, searchResults, searchResultsStats } from "./search.js";
import { searchJob } from "./search-jobs.js";
import { configurationCascade, settings, settingsCascade, settingsMutation } from "./settings.js";
import { defaultSettings, repoMeta, repoMetaKey, site, siteUsers } from "./site.js";
import { navigation } from "./symbols.js";
import { team } from "./teams.js";
import { telemetryMutation } from "./telemetry.js";
import { accessToken } from "./tokens.js";
import { user } from "./users.js";

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
  SearchJob: searchJob,
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
  SiteUsers: siteUsers,
  DefaultSettings: defaultSettings,
  RepoMeta: repoMeta,
  RepoMetaKey: repoMetaKey,
};

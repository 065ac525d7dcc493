/** Generated from schema.graphql by `make graphql`. */
import type { Sources } from "../sources/sources.js";

export type PermissionsSyncJobState = "QUEUED" | "PROCESSING" | "ERRORED" | "FAILED" | "COMPLETED" | "CANCELED";

export type PermissionsSyncJobReasonGroup = "MANUAL" | "WEBHOOK" | "SCHEDULE" | "SOURCEGRAPH" | "UNKNOWN";

export type PermissionsSyncJobsSearchType = "USER" | "REPOSITORY";

export type PermissionsSyncJobPriority = "LOW" | "MEDIUM" | "HIGH";

export interface MarkdownOptions {
  readonly alwaysNil?: string | null | undefined;
}

export interface SearchContextInput {
  readonly name: string;
  readonly description: string;
  readonly public: boolean;
  readonly namespace?: string | null | undefined;
  readonly query: string;
}

export interface SearchContextEditInput {
  readonly name: string;
  readonly description: string;
  readonly public: boolean;
  readonly query: string;
}

export interface SearchContextRepositoryRevisionsInput {
  readonly repositoryID: string;
  readonly revisions: readonly (string)[];
}

export interface UserPermissionInput {
  readonly bindID: string;
  readonly permission: RepositoryPermission | null;
}

export type RepositoryPermission = "READ";

export interface AddRepositoryPermissionInput {
  readonly repository: string;
}

export type PermissionSource = "API" | "REPO_SYNC" | "USER_SYNC";

export interface AddExternalServiceInput {
  readonly kind: ExternalServiceKind;
  readonly displayName: string;
  readonly config: string;
  readonly namespace?: string | null | undefined;
}

export interface UpdateExternalServiceInput {
  readonly id: string;
  readonly displayName?: string | null | undefined;
  readonly config?: string | null | undefined;
}

export interface TeamMemberInput {
  readonly userID?: string | null | undefined;
  readonly username?: string | null | undefined;
  readonly email?: string | null | undefined;
  readonly externalAccountServiceID?: string | null | undefined;
  readonly externalAccountServiceType?: string | null | undefined;
  readonly externalAccountAccountID?: string | null | undefined;
  readonly externalAccountLogin?: string | null | undefined;
}

export type OrganizationInvitationResponseType = "ACCEPT" | "REJECT";

export interface CodeownersFileInput {
  readonly fileContents: string;
  readonly repoID?: string | null | undefined;
  readonly repoName?: string | null | undefined;
}

export interface DeleteCodeownersFilesInput {
  readonly repoID?: string | null | undefined;
  readonly repoName?: string | null | undefined;
}

export interface SettingsMutationGroupInput {
  readonly subject: string;
  readonly lastID?: number | null | undefined;
}

export interface SettingsEdit {
  readonly keyPath: readonly (KeyPathSegment)[];
  readonly value?: unknown | null | undefined;
  readonly valueIsJSONCEncodedString: boolean | null;
}

export interface ConfigurationEdit {
  readonly keyPath: readonly (KeyPathSegment)[];
  readonly value?: unknown | null | undefined;
  readonly valueIsJSONCEncodedString: boolean | null;
}

export interface KeyPathSegment {
  readonly property?: string | null | undefined;
  readonly index?: number | null | undefined;
}

export interface SavedSearchInput {
  readonly owner: string;
  readonly description: string;
  readonly query: string;
  readonly draft: boolean | null;
  readonly visibility: SavedSearchVisibility | null;
}

export interface SavedSearchUpdateInput {
  readonly description: string;
  readonly query: string;
  readonly draft: boolean | null;
}

export interface TelemetryEventInput {
  readonly feature: string;
  readonly action: string;
  readonly source?: unknown | null | undefined;
  readonly parameters?: unknown | null | undefined;
  readonly timestamp?: string | null | undefined;
  readonly marketingTracking?: unknown | null | undefined;
}

export interface Event {
  readonly event: string;
  readonly userCookieID?: string | null | undefined;
  readonly firstSourceURL?: string | null | undefined;
  readonly lastSourceURL?: string | null | undefined;
  readonly url?: string | null | undefined;
  readonly source?: EventSource | null | undefined;
  readonly cohortID?: string | null | undefined;
  readonly referrer?: string | null | undefined;
  readonly originalReferrer?: string | null | undefined;
  readonly sessionReferrer?: string | null | undefined;
  readonly sessionFirstURL?: string | null | undefined;
  readonly deviceSessionID?: string | null | undefined;
  readonly argument?: string | null | undefined;
  readonly publicArgument?: string | null | undefined;
  readonly deviceID?: string | null | undefined;
  readonly insertID?: string | null | undefined;
  readonly eventID?: number | null | undefined;
  readonly client?: string | null | undefined;
  readonly connectedSiteID?: string | null | undefined;
  readonly hashedLicenseKey?: string | null | undefined;
  readonly billingProductCategory?: string | null | undefined;
  readonly billingEventID?: string | null | undefined;
}

export type EventSource = "WEB" | "CODEHOSTINTEGRATION" | "BACKEND" | "STATICWEB" | "IDEEXTENSION" | "CODY";

export type ExternalServiceKind = "AWSCODECOMMIT" | "AZUREDEVOPS" | "BITBUCKETCLOUD" | "BITBUCKETSERVER" | "GERRIT" | "GITHUB" | "GITLAB" | "GITOLITE" | "GOMODULES" | "JVMPACKAGES" | "NPMPACKAGES" | "OTHER" | "LOCALGIT" | "PAGURE" | "PERFORCE" | "PHABRICATOR" | "PYTHONPACKAGES" | "RUSTPACKAGES" | "RUBYPACKAGES";

export type RepositoryOrderBy = "REPOSITORY_NAME" | "REPO_CREATED_AT" | "REPOSITORY_CREATED_AT" | "SIZE";

export type CloneStatus = "NOT_CLONED" | "CLONING" | "CLONED";

export type RepositorySourceType = "GIT_REPOSITORY" | "PERFORCE_DEPOT";

export type ExternalServiceSyncJobState = "QUEUED" | "PROCESSING" | "ERRORED" | "FAILED" | "COMPLETED" | "CANCELING" | "CANCELED";

export type GitRefType = "GIT_BRANCH" | "GIT_TAG" | "GIT_REF_OTHER";

export type GitRefOrder = "AUTHORED_OR_COMMITTED_AT";

export type GitObjectType = "GIT_COMMIT" | "GIT_TAG" | "GIT_TREE" | "GIT_BLOB" | "GIT_UNKNOWN";

export type OwnershipReasonType = "CODEOWNERS_FILE_ENTRY" | "ASSIGNED_OWNER" | "RECENT_CONTRIBUTOR_OWNERSHIP_SIGNAL" | "RECENT_VIEW_OWNERSHIP_SIGNAL";

export type NavigationPrecision = "PRECISE" | "BY_NAME";

export type PreciseIndexState = "UPLOADING" | "QUEUED" | "PROCESSING" | "COMPLETED" | "ERRORED";

export type DefinitionNearness = "SAME_FILE" | "IMPORTED" | "SAME_REPOSITORY" | "OTHER_REPOSITORY";

export type HighlightResponseFormat = "HTML_PLAINTEXT" | "HTML_HIGHLIGHT" | "JSON_SCIP";

export interface HighlightLineRange {
  readonly startLine: number;
  readonly endLine: number;
}

export type DiffHunkLineType = "ADDED" | "UNCHANGED" | "DELETED";

export type SearchVersion = "V1" | "V2" | "V3";

export type SearchPatternType = "standard" | "literal" | "regexp" | "structural" | "lucky" | "keyword" | "newStandardRC1" | "codycontext" | "nls";

export type SearchAggregationMode = "REPO" | "PATH" | "AUTHOR" | "CAPTURE_GROUP" | "REPO_METADATA" | "LANGUAGE";

export type SearchAggregationNotAvailableReasonType = "INVALID_QUERY" | "INVALID_AGGREGATION_MODE_FOR_QUERY" | "TIMEOUT_EXTENSION_AVAILABLE" | "TIMEOUT_NO_EXTENSION_AVAILABLE" | "ERROR_OCCURRED";

export type SearchJobState = "QUEUED" | "PROCESSING" | "ERRORED" | "FAILED" | "COMPLETED" | "CANCELED";

export type SearchJobsOrderBy = "QUERY" | "CREATED_AT" | "STATE";

export type SymbolKind = "UNKNOWN" | "FILE" | "MODULE" | "NAMESPACE" | "PACKAGE" | "CLASS" | "METHOD" | "PROPERTY" | "FIELD" | "CONSTRUCTOR" | "ENUM" | "INTERFACE" | "FUNCTION" | "VARIABLE" | "CONSTANT" | "STRING" | "NUMBER" | "BOOLEAN" | "ARRAY" | "OBJECT" | "KEY" | "NULL" | "ENUMMEMBER" | "STRUCT" | "EVENT" | "OPERATOR" | "TYPEPARAMETER";

export type SearchContextsOrderBy = "SEARCH_CONTEXT_SPEC" | "SEARCH_CONTEXT_UPDATED_AT";

export type UserActivePeriod = "TODAY" | "THIS_WEEK" | "THIS_MONTH" | "ALL_TIME";

export type SavedSearchVisibility = "PUBLIC" | "SECRET";

export type SavedSearchesOrderBy = "SAVED_SEARCH_DESCRIPTION" | "SAVED_SEARCH_UPDATED_AT";

export type SavedSearchNotificationFormat = "WEBHOOK" | "SLACK" | "TEAMS" | "DISCORD" | "MAIL";

export type SavedSearchDeliveryState = "PENDING" | "DELIVERED" | "FAILED" | "WITHHELD";

export type PermissionsUserMappingBindID = "USERNAME" | "EMAIL";

export interface SiteUsersDateRangeInput {
  readonly gte?: string | null | undefined;
  readonly lte?: string | null | undefined;
  readonly empty?: boolean | null | undefined;
  readonly not?: boolean | null | undefined;
}

export interface SiteUsersNumberRangeInput {
  readonly gte?: number | null | undefined;
  readonly lte?: number | null | undefined;
}

export type SiteUserOrderBy = "USERNAME" | "EMAIL" | "LAST_ACTIVE_AT" | "DELETED_AT" | "EVENTS_COUNT" | "CREATED_AT" | "SITE_ADMIN";

export type AlertType = "INFO" | "WARNING" | "ERROR";

export type CodyContextFiltersVersion = "V1";

/** The fields of each object type. */
export interface ObjectTypes {
  readonly Query: {
    readonly node: { readonly args: { readonly id: string }; readonly result: SourceOf<"Node"> | null };
    readonly repository: { readonly args: { readonly name?: string | null | undefined; readonly cloneURL?: string | null | undefined; readonly uri?: string | null | undefined }; readonly result: SourceOf<"Repository"> | null };
    readonly repositoryRedirect: { readonly args: { readonly name?: string | null | undefined; readonly cloneURL?: string | null | undefined; readonly hashedName?: string | null | undefined }; readonly result: SourceOf<"RepositoryRedirect"> | null };
    readonly repositories: { readonly args: { readonly first?: number | null | undefined; readonly last?: number | null | undefined; readonly query?: string | null | undefined; readonly after?: string | null | undefined; readonly before?: string | null | undefined; readonly names?: readonly (string)[] | null | undefined; readonly cloned: boolean | null; readonly cloneStatus?: CloneStatus | null | undefined; readonly notCloned: boolean | null; readonly indexed: boolean | null; readonly notIndexed: boolean | null; readonly embedded: boolean | null; readonly notEmbedded: boolean | null; readonly failedFetch: boolean | null; readonly corrupted: boolean | null; readonly externalService?: string | null | undefined; readonly orderBy: RepositoryOrderBy | null; readonly descending: boolean | null }; readonly result: SourceOf<"RepositoryConnection"> | null };
    readonly currentUser: { readonly args: NoArguments; readonly result: SourceOf<"User"> | null };
    readonly user: { readonly args: { readonly username?: string | null | undefined; readonly email?: string | null | undefined }; readonly result: SourceOf<"User"> | null };
    readonly users: { readonly args: { readonly first?: number | null | undefined; readonly after?: string | null | undefined; readonly query?: string | null | undefined; readonly tag?: string | null | undefined; readonly activePeriod?: UserActivePeriod | null | undefined; readonly inactiveSince?: string | null | undefined }; readonly result: SourceOf<"UserConnection"> };
    readonly authorizedUserRepositories: { readonly args: { readonly username?: string | null | undefined; readonly email?: string | null | undefined; readonly perm: RepositoryPermission | null; readonly first: number; readonly after?: string | null | undefined }; readonly result: SourceOf<"RepositoryConnection"> };
    readonly usersWithPendingPermissions: { readonly args: NoArguments; readonly result: readonly (string)[] };
    readonly organization: { readonly args: { readonly name: string }; readonly result: SourceOf<"Org"> | null };
    readonly organizations: { readonly args: { readonly first?: number | null | undefined; readonly after?: string | null | undefined; readonly query?: string | null | undefined }; readonly result: SourceOf<"OrgConnection"> };
    readonly invitationByToken: { readonly args: { readonly token: string }; readonly result: SourceOf<"OrganizationInvitation"> };
    readonly pendingInvitations: { readonly args: { readonly organization: string }; readonly result: readonly (SourceOf<"OrganizationInvitation">)[] };
    readonly autocompleteMembersSearch: { readonly args: { readonly organization: string; readonly query: string }; readonly result: readonly (SourceOf<"OrgMemberAutocompleteSearchItem">)[] };
    readonly temporarySettings: { readonly args: NoArguments; readonly result: SourceOf<"TemporarySettings"> };
    readonly team: { readonly args: { readonly name: string }; readonly result: SourceOf<"Team"> | null };
    readonly teams: { readonly args: { readonly first?: number | null | undefined; readonly after?: string | null | undefined; readonly search?: string | null | undefined; readonly exceptAncestor?: string | null | undefined; readonly includeChildTeams: boolean | null }; readonly result: SourceOf<"TeamConnection"> };
    readonly namespace: { readonly args: { readonly id: string }; readonly result: SourceOf<"Namespace"> | null };
    readonly namespaceByName: { readonly args: { readonly name: string }; readonly result: SourceOf<"Namespace"> | null };
    readonly savedSearches: { readonly args: { readonly owner?: string | null | undefined; readonly namespace?: string | null | undefined; readonly query?: string | null | undefined; readonly viewerIsAffiliated?: boolean | null | undefined; readonly includeDrafts: boolean | null; readonly first?: number | null | undefined; readonly last?: number | null | undefined; readonly after?: string | null | undefined; readonly before?: string | null | undefined; readonly orderBy: SavedSearchesOrderBy | null }; readonly result: SourceOf<"SavedSearchConnection"> };
    readonly savedSearchList: { readonly args: NoArguments; readonly result: readonly (SourceOf<"SavedSearch">)[] };
    readonly externalServices: { readonly args: { readonly first?: number | null | undefined; readonly after?: string | null | undefined; readonly repo?: string | null | undefined }; readonly result: SourceOf<"ExternalServiceConnection"> };
    readonly search: { readonly args: { readonly version: SearchVersion | null; readonly patternType?: SearchPatternType | null | undefined; readonly query: string | null; readonly receipt: boolean | null; readonly strict: boolean | null; readonly duplicates: boolean | null; readonly explain: boolean | null }; readonly result: SourceOf<"Search"> | null };
    readonly searchQueryAggregate: { readonly args: { readonly query: string | null; readonly patternType?: SearchPatternType | null | undefined }; readonly result: SourceOf<"SearchQueryAggregate"> };
    readonly searchContexts: { readonly args: { readonly first: number | null; readonly after?: string | null | undefined; readonly query?: string | null | undefined; readonly namespaces: readonly (string | null)[] | null; readonly orderBy: SearchContextsOrderBy | null; readonly descending: boolean | null }; readonly result: SourceOf<"SearchContextConnection"> };
    readonly searchContextBySpec: { readonly args: { readonly spec: string }; readonly result: SourceOf<"SearchContext"> | null };
    readonly isSearchContextAvailable: { readonly args: { readonly spec: string }; readonly result: boolean };
    readonly defaultSearchContext: { readonly args: NoArguments; readonly result: SourceOf<"SearchContext"> | null };
    readonly searchJobs: { readonly args: { readonly first?: number | null | undefined; readonly last?: number | null | undefined; readonly after?: string | null | undefined; readonly before?: string | null | undefined; readonly userIDs?: readonly (string)[] | null | undefined; readonly query?: string | null | undefined; readonly states?: readonly (SearchJobState)[] | null | undefined; readonly orderBy: SearchJobsOrderBy | null; readonly descending: boolean | null }; readonly result: SourceOf<"SearchJobConnection"> };
    readonly preciseIndexes: { readonly args: { readonly repo: string; readonly first?: number | null | undefined; readonly after?: string | null | undefined; readonly states?: readonly (PreciseIndexState)[] | null | undefined }; readonly result: SourceOf<"PreciseIndexConnection"> | null };
    readonly renderMarkdown: { readonly args: { readonly markdown: string; readonly options?: MarkdownOptions | null | undefined }; readonly result: string | null };
    readonly validateSearchJob: { readonly args: { readonly query: string }; readonly result: SourceOf<"EmptyResponse"> | null };
    readonly highlightCode: { readonly args: { readonly code: string; readonly fuzzyLanguage: string; readonly disableTimeout: boolean; readonly isLightTheme?: boolean | null | undefined }; readonly result: string | null };
    readonly settingsSubject: { readonly args: { readonly id: string }; readonly result: SourceOf<"SettingsSubject"> | null };
    readonly viewerSettings: { readonly args: NoArguments; readonly result: SourceOf<"SettingsCascade"> };
    readonly viewerConfiguration: { readonly args: NoArguments; readonly result: SourceOf<"ConfigurationCascade"> };
    readonly site: { readonly args: NoArguments; readonly result: SourceOf<"Site"> };
    readonly statusMessages: { readonly args: NoArguments; readonly result: readonly (SourceOf<"StatusMessage">)[] };
    readonly repositoryStats: { readonly args: NoArguments; readonly result: SourceOf<"RepositoryStats"> };
    readonly evaluateFeatureFlag: { readonly args: { readonly flagName: string }; readonly result: boolean | null };
    readonly evaluateFeatureFlags: { readonly args: { readonly flagNames: readonly (string)[] }; readonly result: readonly (SourceOf<"EvaluatedFeatureFlag">)[] };
    readonly evaluatedFeatureFlags: { readonly args: NoArguments; readonly result: readonly (SourceOf<"EvaluatedFeatureFlag">)[] };
    readonly featureFlags: { readonly args: NoArguments; readonly result: readonly (SourceOf<"FeatureFlag">)[] };
    readonly clientConfiguration: { readonly args: NoArguments; readonly result: SourceOf<"ClientConfiguration"> };
    readonly enterpriseLicenseHasFeature: { readonly args: { readonly feature: string }; readonly result: boolean };
    readonly executors: { readonly args: { readonly query?: string | null | undefined; readonly active?: boolean | null | undefined; readonly first?: number | null | undefined; readonly after?: string | null | undefined }; readonly result: SourceOf<"ExecutorConnection"> };
    readonly maxUnlicensedChangesets: { readonly args: NoArguments; readonly result: number };
    readonly batchChanges: { readonly args: { readonly first?: number | null | undefined; readonly after?: string | null | undefined }; readonly result: SourceOf<"BatchChangeConnection"> };
    readonly resolveWorkspacesForBatchSpec: { readonly args: { readonly batchSpec: string }; readonly result: readonly (SourceOf<"ResolvedBatchSpecWorkspace">)[] };
    readonly codeownersIngestedFiles: { readonly args: { readonly first?: number | null | undefined; readonly after?: string | null | undefined }; readonly result: SourceOf<"CodeownersIngestedFileConnection"> };
    readonly permissionsSyncJobs: { readonly args: { readonly first?: number | null | undefined; readonly last?: number | null | undefined; readonly after?: string | null | undefined; readonly before?: string | null | undefined; readonly state?: PermissionsSyncJobState | null | undefined; readonly reasonGroup?: PermissionsSyncJobReasonGroup | null | undefined; readonly searchType?: PermissionsSyncJobsSearchType | null | undefined; readonly query?: string | null | undefined; readonly userID?: string | null | undefined; readonly repoID?: string | null | undefined; readonly partial: boolean | null }; readonly result: SourceOf<"PermissionsSyncJobConnection"> };
    readonly repoMeta: { readonly args: NoArguments; readonly result: SourceOf<"RepoMeta"> };
  };
  readonly PermissionsSyncJobConnection: {
    readonly nodes: { readonly args: NoArguments; readonly result: readonly (SourceOf<"PermissionsSyncJob">)[] };
    readonly totalCount: { readonly args: NoArguments; readonly result: number };
    readonly pageInfo: { readonly args: NoArguments; readonly result: SourceOf<"ConnectionPageInfo"> };
  };
  readonly PermissionsSyncJobReason: {
    readonly group: { readonly args: NoArguments; readonly result: PermissionsSyncJobReasonGroup };
    readonly reason: { readonly args: NoArguments; readonly result: string | null };
  };
  readonly CodeHostState: {
    readonly providerID: { readonly args: NoArguments; readonly result: string };
    readonly providerType: { readonly args: NoArguments; readonly result: string };
    readonly status: { readonly args: NoArguments; readonly result: string };
    readonly message: { readonly args: NoArguments; readonly result: string };
  };
  readonly PermissionsSyncJob: {
    readonly id: { readonly args: NoArguments; readonly result: string };
    readonly state: { readonly args: NoArguments; readonly result: PermissionsSyncJobState };
    readonly failureMessage: { readonly args: NoArguments; readonly result: string | null };
    readonly reason: { readonly args: NoArguments; readonly result: SourceOf<"PermissionsSyncJobReason"> };
    readonly cancellationReason: { readonly args: NoArguments; readonly result: string | null };
    readonly triggeredByUser: { readonly args: NoArguments; readonly result: SourceOf<"User"> | null };
    readonly queuedAt: { readonly args: NoArguments; readonly result: string };
    readonly startedAt: { readonly args: NoArguments; readonly result: string | null };
    readonly finishedAt: { readonly args: NoArguments; readonly result: string | null };
    readonly processAfter: { readonly args: NoArguments; readonly result: string | null };
    readonly ranForMs: { readonly args: NoArguments; readonly result: number | null };
    readonly numResets: { readonly args: NoArguments; readonly result: number | null };
    readonly numFailures: { readonly args: NoArguments; readonly result: number | null };
    readonly lastHeartbeatAt: { readonly args: NoArguments; readonly result: string | null };
    readonly workerHostname: { readonly args: NoArguments; readonly result: string };
    readonly cancel: { readonly args: NoArguments; readonly result: boolean };
    readonly subject: { readonly args: NoArguments; readonly result: SourceOf<"PermissionsSyncJobSubject"> };
    readonly priority: { readonly args: NoArguments; readonly result: PermissionsSyncJobPriority };
    readonly noPerms: { readonly args: NoArguments; readonly result: boolean };
    readonly invalidateCaches: { readonly args: NoArguments; readonly result: boolean };
    readonly permissionsAdded: { readonly args: NoArguments; readonly result: number };
    readonly permissionsRemoved: { readonly args: NoArguments; readonly result: number };
    readonly permissionsFound: { readonly args: NoArguments; readonly result: number };
    readonly codeHostStates: { readonly args: NoArguments; readonly result: readonly (SourceOf<"CodeHostState">)[] };
    readonly partialSuccess: { readonly args: NoArguments; readonly result: boolean };
    readonly placeInQueue: { readonly args: NoArguments; readonly result: number | null };
  };
  readonly BatchChangeConnection: {
    readonly nodes: { readonly args: NoArguments; readonly result: readonly (SourceOf<"BatchChange">)[] };
    readonly totalCount: { readonly args: NoArguments; readonly result: number };
    readonly pageInfo: { readonly args: NoArguments; readonly result: SourceOf<"PageInfo"> };
  };
  readonly BatchChange: {
    readonly id: { readonly args: NoArguments; readonly result: string };
  };
  readonly ResolvedBatchSpecWorkspace: {
    readonly onlyFetchWorkspace: { readonly args: NoArguments; readonly result: boolean };
    readonly ignored: { readonly args: NoArguments; readonly result: boolean };
    readonly unsupported: { readonly args: NoArguments; readonly result: boolean };
    readonly repository: { readonly args: NoArguments; readonly result: SourceOf<"Repository"> };
    readonly branch: { readonly args: NoArguments; readonly result: SourceOf<"GitRef"> };
    readonly path: { readonly args: NoArguments; readonly result: string };
    readonly searchResultPaths: { readonly args: NoArguments; readonly result: readonly (string)[] };
  };
  readonly ExecutorConnection: {
    readonly nodes: { readonly args: NoArguments; readonly result: readonly (SourceOf<"Executor">)[] };
    readonly totalCount: { readonly args: NoArguments; readonly result: number };
    readonly pageInfo: { readonly args: NoArguments; readonly result: SourceOf<"PageInfo"> };
  };
  readonly Executor: {
    readonly id: { readonly args: NoArguments; readonly result: string };
    readonly hostname: { readonly args: NoArguments; readonly result: string };
  };
  readonly Mutation: {
    readonly createSearchJob: { readonly args: { readonly query: string }; readonly result: SourceOf<"SearchJob"> };
    readonly cancelSearchJob: { readonly args: { readonly id: string }; readonly result: SourceOf<"EmptyResponse"> | null };
    readonly deleteSearchJob: { readonly args: { readonly id: string }; readonly result: SourceOf<"EmptyResponse"> | null };
    readonly deletePreciseIndex: { readonly args: { readonly id: string }; readonly result: SourceOf<"EmptyResponse"> | null };
    readonly retrySearchJob: { readonly args: { readonly id: string }; readonly result: SourceOf<"SearchJob"> };
    readonly logEvent: { readonly args: { readonly event: string; readonly userCookieID: string; readonly firstSourceURL?: string | null | undefined; readonly lastSourceURL?: string | null | undefined; readonly url: string; readonly source: EventSource; readonly cohortID?: string | null | undefined; readonly referrer?: string | null | undefined; readonly argument?: string | null | undefined; readonly publicArgument?: string | null | undefined; readonly deviceID?: string | null | undefined; readonly insertID?: string | null | undefined; readonly eventID?: number | null | undefined; readonly client?: string | null | undefined; readonly connectedSiteID?: string | null | undefined; readonly hashedLicenseKey?: string | null | undefined }; readonly result: SourceOf<"EmptyResponse"> | null };
    readonly logEvents: { readonly args: { readonly events?: readonly (Event)[] | null | undefined }; readonly result: SourceOf<"EmptyResponse"> | null };
    readonly logUserEvent: { readonly args: { readonly event: string; readonly userCookieID: string }; readonly result: SourceOf<"EmptyResponse"> | null };
    readonly telemetry: { readonly args: NoArguments; readonly result: SourceOf<"TelemetryMutation"> };
    readonly addRepoMetadata: { readonly args: { readonly repo: string; readonly key: string; readonly value?: string | null | undefined }; readonly result: SourceOf<"EmptyResponse"> | null };
    readonly updateRepoMetadata: { readonly args: { readonly repo: string; readonly key: string; readonly value?: string | null | undefined }; readonly result: SourceOf<"EmptyResponse"> | null };
    readonly deleteRepoMetadata: { readonly args: { readonly repo: string; readonly key: string }; readonly result: SourceOf<"EmptyResponse"> | null };
    readonly addRepoKeyValuePair: { readonly args: { readonly repo: string; readonly key: string; readonly value?: string | null | undefined }; readonly result: SourceOf<"EmptyResponse"> | null };
    readonly updateRepoKeyValuePair: { readonly args: { readonly repo: string; readonly key: string; readonly value?: string | null | undefined }; readonly result: SourceOf<"EmptyResponse"> | null };
    readonly deleteRepoKeyValuePair: { readonly args: { readonly repo: string; readonly key: string }; readonly result: SourceOf<"EmptyResponse"> | null };
    readonly addRepository: { readonly args: { readonly name: string; readonly cloneURL: string; readonly private: boolean | null }; readonly result: SourceOf<"Repository"> };
    readonly deleteRepository: { readonly args: { readonly repository: string }; readonly result: SourceOf<"EmptyResponse"> | null };
    readonly updateMirrorRepository: { readonly args: { readonly repository: string }; readonly result: SourceOf<"EmptyResponse"> };
    readonly checkMirrorRepositoryConnection: { readonly args: { readonly repository?: string | null | undefined; readonly name?: string | null | undefined }; readonly result: SourceOf<"CheckMirrorRepositoryConnectionResult"> };
    readonly reindexRepository: { readonly args: { readonly repository: string }; readonly result: SourceOf<"EmptyResponse"> };
    readonly recloneRepository: { readonly args: { readonly repo: string }; readonly result: SourceOf<"EmptyResponse"> };
    readonly deleteRepositoryFromDisk: { readonly args: { readonly repo: string }; readonly result: SourceOf<"EmptyResponse"> };
    readonly setRepositoryPermissionsForUsers: { readonly args: { readonly repository: string; readonly userPermissions: readonly (UserPermissionInput)[] }; readonly result: SourceOf<"EmptyResponse"> };
    readonly addRepositoryPermissionForUser: { readonly args: { readonly permission: AddRepositoryPermissionInput; readonly userID: string }; readonly result: SourceOf<"EmptyResponse"> };
    readonly removeRepositoryPermissionForUser: { readonly args: { readonly repository: string; readonly userID: string }; readonly result: SourceOf<"EmptyResponse"> };
    readonly setRepositoryPermissionsUnrestricted: { readonly args: { readonly repositories: readonly (string)[]; readonly unrestricted: boolean }; readonly result: SourceOf<"EmptyResponse"> };
    readonly addCodeownersFile: { readonly args: { readonly input: CodeownersFileInput }; readonly result: SourceOf<"CodeownersIngestedFile"> };
    readonly updateCodeownersFile: { readonly args: { readonly input: CodeownersFileInput }; readonly result: SourceOf<"CodeownersIngestedFile"> };
    readonly deleteCodeownersFiles: { readonly args: { readonly repositories: readonly (DeleteCodeownersFilesInput)[] }; readonly result: SourceOf<"EmptyResponse"> };
    readonly excludeRepoFromExternalServices: { readonly args: { readonly externalServices: readonly (string)[]; readonly repo: string }; readonly result: SourceOf<"EmptyResponse"> };
    readonly addExternalService: { readonly args: { readonly input: AddExternalServiceInput }; readonly result: SourceOf<"ExternalService"> };
    readonly updateExternalService: { readonly args: { readonly input: UpdateExternalServiceInput }; readonly result: SourceOf<"ExternalService"> };
    readonly deleteExternalService: { readonly args: { readonly externalService: string; readonly async: boolean | null }; readonly result: SourceOf<"EmptyResponse"> };
    readonly syncExternalService: { readonly args: { readonly id: string }; readonly result: SourceOf<"EmptyResponse"> };
    readonly createSearchContext: { readonly args: { readonly searchContext: SearchContextInput; readonly repositories: readonly (SearchContextRepositoryRevisionsInput)[] }; readonly result: SourceOf<"SearchContext"> };
    readonly updateSearchContext: { readonly args: { readonly id: string; readonly searchContext: SearchContextEditInput; readonly repositories: readonly (SearchContextRepositoryRevisionsInput)[] }; readonly result: SourceOf<"SearchContext"> };
    readonly deleteSearchContext: { readonly args: { readonly id: string }; readonly result: SourceOf<"EmptyResponse"> };
    readonly createSearchContextStar: { readonly args: { readonly searchContextID: string; readonly userID: string }; readonly result: SourceOf<"EmptyResponse"> };
    readonly deleteSearchContextStar: { readonly args: { readonly searchContextID: string; readonly userID: string }; readonly result: SourceOf<"EmptyResponse"> };
    readonly setDefaultSearchContext: { readonly args: { readonly searchContextID: string; readonly userID: string }; readonly result: SourceOf<"EmptyResponse"> };
    readonly createUser: { readonly args: { readonly username: string; readonly email?: string | null | undefined; readonly verifiedEmail?: boolean | null | undefined }; readonly result: SourceOf<"CreateUserResult"> };
    readonly deleteUser: { readonly args: { readonly user: string; readonly hard?: boolean | null | undefined }; readonly result: SourceOf<"EmptyResponse"> | null };
    readonly deleteUsers: { readonly args: { readonly users: readonly (string)[]; readonly hard?: boolean | null | undefined }; readonly result: SourceOf<"EmptyResponse"> | null };
    readonly recoverUsers: { readonly args: { readonly userIDs: readonly (string)[] }; readonly result: SourceOf<"EmptyResponse"> | null };
    readonly updateUser: { readonly args: { readonly user: string; readonly username?: string | null | undefined; readonly displayName?: string | null | undefined; readonly avatarURL?: string | null | undefined }; readonly result: SourceOf<"User"> };
    readonly setSearchable: { readonly args: { readonly searchable: boolean }; readonly result: SourceOf<"EmptyResponse"> };
    readonly setUserIsSiteAdmin: { readonly args: { readonly userID: string; readonly siteAdmin: boolean }; readonly result: SourceOf<"EmptyResponse"> | null };
    readonly setTag: { readonly args: { readonly node: string; readonly tag: string; readonly present: boolean }; readonly result: SourceOf<"EmptyResponse"> | null };
    readonly addUserEmail: { readonly args: { readonly user: string; readonly email: string }; readonly result: SourceOf<"EmptyResponse"> };
    readonly removeUserEmail: { readonly args: { readonly user: string; readonly email: string }; readonly result: SourceOf<"EmptyResponse"> };
    readonly setUserEmailPrimary: { readonly args: { readonly user: string; readonly email: string }; readonly result: SourceOf<"EmptyResponse"> };
    readonly setUserEmailVerified: { readonly args: { readonly user: string; readonly email: string; readonly verified: boolean }; readonly result: SourceOf<"EmptyResponse"> };
    readonly updatePassword: { readonly args: { readonly oldPassword: string; readonly newPassword: string }; readonly result: SourceOf<"EmptyResponse"> | null };
    readonly createPassword: { readonly args: { readonly newPassword: string }; readonly result: SourceOf<"EmptyResponse"> | null };
    readonly randomizeUserPassword: { readonly args: { readonly user: string }; readonly result: SourceOf<"RandomizeUserPasswordResult"> };
    readonly invalidateSessionsByID: { readonly args: { readonly userID: string }; readonly result: SourceOf<"EmptyResponse"> | null };
    readonly invalidateSessionsByIDs: { readonly args: { readonly userIDs: readonly (string)[] }; readonly result: SourceOf<"EmptyResponse"> | null };
    readonly createAccessToken: { readonly args: { readonly user: string; readonly scopes: readonly (string)[]; readonly note: string; readonly durationSeconds?: number | null | undefined }; readonly result: SourceOf<"CreateAccessTokenResult"> };
    readonly deleteAccessToken: { readonly args: { readonly byID?: string | null | undefined; readonly byToken?: string | null | undefined }; readonly result: SourceOf<"EmptyResponse"> | null };
    readonly deleteExternalAccount: { readonly args: { readonly externalAccount: string }; readonly result: SourceOf<"EmptyResponse"> };
    readonly createOrganization: { readonly args: { readonly name: string; readonly displayName?: string | null | undefined }; readonly result: SourceOf<"Org"> };
    readonly updateOrganization: { readonly args: { readonly id: string; readonly displayName?: string | null | undefined }; readonly result: SourceOf<"Org"> };
    readonly deleteOrganization: { readonly args: { readonly organization: string; readonly hard?: boolean | null | undefined }; readonly result: SourceOf<"EmptyResponse"> | null };
    readonly addUserToOrganization: { readonly args: { readonly organization: string; readonly username: string }; readonly result: SourceOf<"EmptyResponse"> };
    readonly removeUserFromOrganization: { readonly args: { readonly user: string; readonly organization: string }; readonly result: SourceOf<"EmptyResponse"> | null };
    readonly removeUserFromOrg: { readonly args: { readonly orgID: string; readonly userID: string }; readonly result: SourceOf<"EmptyResponse"> | null };
    readonly createTeam: { readonly args: { readonly name: string; readonly displayName?: string | null | undefined; readonly readonly: boolean | null; readonly parentTeam?: string | null | undefined; readonly parentTeamName?: string | null | undefined }; readonly result: SourceOf<"Team"> };
    readonly updateTeam: { readonly args: { readonly id?: string | null | undefined; readonly name?: string | null | undefined; readonly displayName?: string | null | undefined; readonly parentTeam?: string | null | undefined; readonly parentTeamName?: string | null | undefined; readonly makeRoot?: boolean | null | undefined }; readonly result: SourceOf<"Team"> };
    readonly deleteTeam: { readonly args: { readonly id?: string | null | undefined; readonly name?: string | null | undefined }; readonly result: SourceOf<"EmptyResponse"> | null };
    readonly addTeamMembers: { readonly args: { readonly team?: string | null | undefined; readonly teamName?: string | null | undefined; readonly members: readonly (TeamMemberInput)[]; readonly skipUnmatchedMembers: boolean | null }; readonly result: SourceOf<"Team"> };
    readonly setTeamMembers: { readonly args: { readonly team?: string | null | undefined; readonly teamName?: string | null | undefined; readonly members: readonly (TeamMemberInput)[]; readonly skipUnmatchedMembers: boolean | null }; readonly result: SourceOf<"Team"> };
    readonly removeTeamMembers: { readonly args: { readonly team?: string | null | undefined; readonly teamName?: string | null | undefined; readonly members: readonly (TeamMemberInput)[]; readonly skipUnmatchedMembers: boolean | null }; readonly result: SourceOf<"Team"> };
    readonly inviteUserToOrganization: { readonly args: { readonly organization: string; readonly username?: string | null | undefined; readonly email?: string | null | undefined }; readonly result: SourceOf<"InviteUserToOrganizationResult"> };
    readonly respondToOrganizationInvitation: { readonly args: { readonly organizationInvitation: string; readonly responseType: OrganizationInvitationResponseType }; readonly result: SourceOf<"EmptyResponse"> };
    readonly resendOrganizationInvitationNotification: { readonly args: { readonly organizationInvitation: string }; readonly result: SourceOf<"EmptyResponse"> };
    readonly revokeOrganizationInvitation: { readonly args: { readonly organizationInvitation: string }; readonly result: SourceOf<"EmptyResponse"> };
    readonly overwriteTemporarySettings: { readonly args: { readonly contents: string }; readonly result: SourceOf<"EmptyResponse"> };
    readonly editTemporarySettings: { readonly args: { readonly settingsToEdit: string }; readonly result: SourceOf<"EmptyResponse"> };
    readonly settingsMutation: { readonly args: { readonly input: SettingsMutationGroupInput }; readonly result: SourceOf<"SettingsMutation"> | null };
    readonly configurationMutation: { readonly args: { readonly input: SettingsMutationGroupInput }; readonly result: SourceOf<"SettingsMutation"> | null };
    readonly updateSiteConfiguration: { readonly args: { readonly lastID: number; readonly input: string }; readonly result: boolean };
    readonly sendTestEmail: { readonly args: { readonly to: string }; readonly result: string };
    readonly createSavedSearch: { readonly args: { readonly input?: SavedSearchInput | null | undefined; readonly description?: string | null | undefined; readonly query?: string | null | undefined; readonly notifyOwner?: boolean | null | undefined; readonly notifySlack?: boolean | null | undefined; readonly orgID?: string | null | undefined; readonly userID?: string | null | undefined }; readonly result: SourceOf<"SavedSearch"> };
    readonly updateSavedSearch: { readonly args: { readonly id: string; readonly input?: SavedSearchUpdateInput | null | undefined; readonly description?: string | null | undefined; readonly query?: string | null | undefined; readonly notifyOwner?: boolean | null | undefined; readonly notifySlack?: boolean | null | undefined; readonly orgID?: string | null | undefined; readonly userID?: string | null | undefined }; readonly result: SourceOf<"SavedSearch"> };
    readonly deleteSavedSearch: { readonly args: { readonly id: string }; readonly result: SourceOf<"EmptyResponse"> | null };
    readonly transferSavedSearchOwnership: { readonly args: { readonly id: string; readonly newOwner: string }; readonly result: SourceOf<"SavedSearch"> };
    readonly enableSavedSearchNotification: { readonly args: { readonly id: string; readonly url: string; readonly format: SavedSearchNotificationFormat | null }; readonly result: SourceOf<"EnabledNotification"> };
    readonly disableSavedSearchNotification: { readonly args: { readonly id: string }; readonly result: SourceOf<"SavedSearch"> };
    readonly testSavedSearchNotification: { readonly args: { readonly id: string }; readonly result: SourceOf<"SavedSearchDelivery"> };
    readonly changeSavedSearchVisibility: { readonly args: { readonly id: string; readonly newVisibility: SavedSearchVisibility }; readonly result: SourceOf<"SavedSearch"> };
  };
  readonly CheckMirrorRepositoryConnectionResult: {
    readonly error: { readonly args: NoArguments; readonly result: string | null };
  };
  readonly PermissionsInfoRepositoryConnection: {
    readonly nodes: { readonly args: NoArguments; readonly result: readonly (SourceOf<"PermissionsInfoRepositoryNode">)[] };
    readonly totalCount: { readonly args: NoArguments; readonly result: number };
    readonly pageInfo: { readonly args: NoArguments; readonly result: SourceOf<"PageInfo"> };
  };
  readonly PermissionsInfoRepositoryNode: {
    readonly id: { readonly args: NoArguments; readonly result: string };
    readonly repository: { readonly args: NoArguments; readonly result: SourceOf<"Repository"> | null };
    readonly reason: { readonly args: NoArguments; readonly result: string };
    readonly updatedAt: { readonly args: NoArguments; readonly result: string | null };
  };
  readonly CreateUserResult: {
    readonly user: { readonly args: NoArguments; readonly result: SourceOf<"User"> };
    readonly resetPasswordURL: { readonly args: NoArguments; readonly result: string | null };
  };
  readonly RandomizeUserPasswordResult: {
    readonly resetPasswordURL: { readonly args: NoArguments; readonly result: string | null };
    readonly emailSent: { readonly args: NoArguments; readonly result: boolean };
  };
  readonly CreateAccessTokenResult: {
    readonly id: { readonly args: NoArguments; readonly result: string };
    readonly token: { readonly args: NoArguments; readonly result: string };
  };
  readonly InviteUserToOrganizationResult: {
    readonly sentInvitationEmail: { readonly args: NoArguments; readonly result: boolean };
    readonly invitationURL: { readonly args: NoArguments; readonly result: string };
  };
  readonly SettingsMutation: {
    readonly editSettings: { readonly args: { readonly edit: SettingsEdit }; readonly result: SourceOf<"UpdateSettingsPayload"> | null };
    readonly editConfiguration: { readonly args: { readonly edit: ConfigurationEdit }; readonly result: SourceOf<"UpdateSettingsPayload"> | null };
    readonly overwriteSettings: { readonly args: { readonly contents: string }; readonly result: SourceOf<"UpdateSettingsPayload"> | null };
  };
  readonly UpdateSettingsPayload: {
    readonly empty: { readonly args: NoArguments; readonly result: SourceOf<"EmptyResponse"> | null };
  };
  readonly TelemetryMutation: {
    readonly recordEvents: { readonly args: { readonly events: readonly (TelemetryEventInput)[] }; readonly result: SourceOf<"EmptyResponse"> | null };
  };
  readonly EmptyResponse: {
    readonly alwaysNil: { readonly args: NoArguments; readonly result: string | null };
  };
  readonly PageInfo: {
    readonly endCursor: { readonly args: NoArguments; readonly result: string | null };
    readonly hasNextPage: { readonly args: NoArguments; readonly result: boolean };
  };
  readonly ConnectionPageInfo: {
    readonly endCursor: { readonly args: NoArguments; readonly result: string | null };
    readonly startCursor: { readonly args: NoArguments; readonly result: string | null };
    readonly hasNextPage: { readonly args: NoArguments; readonly result: boolean };
    readonly hasPreviousPage: { readonly args: NoArguments; readonly result: boolean };
  };
  readonly Markdown: {
    readonly text: { readonly args: NoArguments; readonly result: string };
    readonly html: { readonly args: NoArguments; readonly result: string };
  };
  readonly Position: {
    readonly line: { readonly args: NoArguments; readonly result: number };
    readonly character: { readonly args: NoArguments; readonly result: number };
  };
  readonly Range: {
    readonly start: { readonly args: NoArguments; readonly result: SourceOf<"Position"> };
    readonly end: { readonly args: NoArguments; readonly result: SourceOf<"Position"> };
  };
  readonly ExternalLink: {
    readonly url: { readonly args: NoArguments; readonly result: string };
    readonly serviceKind: { readonly args: NoArguments; readonly result: ExternalServiceKind | null };
    readonly serviceType: { readonly args: NoArguments; readonly result: string | null };
  };
  readonly Redirect: {
    readonly url: { readonly args: NoArguments; readonly result: string };
  };
  readonly RepositoryConnection: {
    readonly nodes: { readonly args: NoArguments; readonly result: readonly (SourceOf<"Repository">)[] };
    readonly totalCount: { readonly args: NoArguments; readonly result: number };
    readonly pageInfo: { readonly args: NoArguments; readonly result: SourceOf<"ConnectionPageInfo"> };
    readonly notListed: { readonly args: NoArguments; readonly result: readonly (string)[] | null };
  };
  readonly Repository: {
    readonly id: { readonly args: NoArguments; readonly result: string };
    readonly name: { readonly args: NoArguments; readonly result: string };
    readonly uri: { readonly args: NoArguments; readonly result: string };
    readonly sourceType: { readonly args: NoArguments; readonly result: RepositorySourceType };
    readonly description: { readonly args: NoArguments; readonly result: string };
    readonly language: { readonly args: NoArguments; readonly result: string | null };
    readonly createdAt: { readonly args: NoArguments; readonly result: string };
    readonly updatedAt: { readonly args: NoArguments; readonly result: string | null };
    readonly commit: { readonly args: { readonly rev: string; readonly inputRevspec?: string | null | undefined }; readonly result: SourceOf<"GitCommit"> | null };
    readonly firstEverCommit: { readonly args: NoArguments; readonly result: SourceOf<"GitCommit"> | null };
    readonly mirrorInfo: { readonly args: NoArguments; readonly result: SourceOf<"MirrorRepositoryInfo"> };
    readonly externalRepository: { readonly args: NoArguments; readonly result: SourceOf<"ExternalRepository"> };
    readonly isFork: { readonly args: NoArguments; readonly result: boolean };
    readonly isArchived: { readonly args: NoArguments; readonly result: boolean };
    readonly isPrivate: { readonly args: NoArguments; readonly result: boolean };
    readonly permissionsInfo: { readonly args: NoArguments; readonly result: SourceOf<"PermissionsInfo"> | null };
    readonly authorizedUsers: { readonly args: { readonly permission: RepositoryPermission | null; readonly first: number; readonly after?: string | null | undefined }; readonly result: SourceOf<"UserConnection"> | null };
    readonly externalServices: { readonly args: { readonly first?: number | null | undefined }; readonly result: SourceOf<"ExternalServiceConnection"> | null };
    readonly cloneInProgress: { readonly args: NoArguments; readonly result: boolean };
    readonly textSearchIndex: { readonly args: NoArguments; readonly result: SourceOf<"RepositoryTextSearchIndex"> | null };
    readonly historyIndex: { readonly args: NoArguments; readonly result: SourceOf<"RepositoryHistoryIndex"> | null };
    readonly leftOut: { readonly args: NoArguments; readonly result: SourceOf<"RepositoryLeftOut"> };
    readonly url: { readonly args: NoArguments; readonly result: string };
    readonly externalURLs: { readonly args: NoArguments; readonly result: readonly (SourceOf<"ExternalLink">)[] };
    readonly defaultBranch: { readonly args: NoArguments; readonly result: SourceOf<"GitRef"> | null };
    readonly gitRefs: { readonly args: { readonly first?: number | null | undefined; readonly query?: string | null | undefined; readonly type?: GitRefType | null | undefined; readonly orderBy?: GitRefOrder | null | undefined; readonly interactive: boolean | null }; readonly result: SourceOf<"GitRefConnection"> | null };
    readonly branches: { readonly args: { readonly first?: number | null | undefined; readonly query?: string | null | undefined; readonly orderBy?: GitRefOrder | null | undefined; readonly interactive: boolean | null }; readonly result: SourceOf<"GitRefConnection"> | null };
    readonly tags: { readonly args: { readonly first?: number | null | undefined; readonly query?: string | null | undefined }; readonly result: SourceOf<"GitRefConnection"> | null };
    readonly comparison: { readonly args: { readonly base?: string | null | undefined; readonly head?: string | null | undefined; readonly fetchMissing: boolean | null }; readonly result: SourceOf<"RepositoryComparison"> | null };
    readonly contributors: { readonly args: { readonly revisionRange?: string | null | undefined; readonly afterDate?: string | null | undefined; readonly path?: string | null | undefined; readonly first?: number | null | undefined; readonly last?: number | null | undefined; readonly after?: string | null | undefined; readonly before?: string | null | undefined }; readonly result: SourceOf<"RepositoryContributorConnection"> | null };
    readonly viewerCanAdminister: { readonly args: NoArguments; readonly result: boolean };
    readonly label: { readonly args: NoArguments; readonly result: SourceOf<"Markdown"> };
    readonly detail: { readonly args: NoArguments; readonly result: SourceOf<"Markdown"> };
    readonly matches: { readonly args: NoArguments; readonly result: readonly (SourceOf<"SearchResultMatch">)[] };
    readonly stars: { readonly args: NoArguments; readonly result: number };
    readonly topics: { readonly args: NoArguments; readonly result: readonly (string)[] };
    readonly metadata: { readonly args: NoArguments; readonly result: readonly (SourceOf<"KeyValuePair">)[] };
    readonly keyValuePairs: { readonly args: NoArguments; readonly result: readonly (SourceOf<"KeyValuePair">)[] };
    readonly diskSizeBytes: { readonly args: NoArguments; readonly result: string | null };
    readonly embeddingExists: { readonly args: NoArguments; readonly result: boolean };
    readonly codeIntelligenceCommitGraph: { readonly args: NoArguments; readonly result: SourceOf<"CodeIntelligenceCommitGraph"> };
    readonly changelist: { readonly args: { readonly cid: string }; readonly result: SourceOf<"PerforceChangelist"> | null };
    readonly ingestedCodeowners: { readonly args: NoArguments; readonly result: SourceOf<"CodeownersIngestedFile"> | null };
    readonly preciseIndexes: { readonly args: { readonly first?: number | null | undefined; readonly after?: string | null | undefined; readonly states?: readonly (PreciseIndexState)[] | null | undefined }; readonly result: SourceOf<"PreciseIndexConnection"> };
  };
  readonly PermissionsInfo: {
    readonly permissions: { readonly args: NoArguments; readonly result: readonly (RepositoryPermission)[] };
    readonly syncedAt: { readonly args: NoArguments; readonly result: string | null };
    readonly updatedAt: { readonly args: NoArguments; readonly result: string | null };
    readonly closedReason: { readonly args: NoArguments; readonly result: string | null };
    readonly repositories: { readonly args: { readonly first?: number | null | undefined; readonly after?: string | null | undefined; readonly source?: PermissionSource | null | undefined }; readonly result: SourceOf<"PermissionsInfoRepositoryConnection"> | null };
    readonly unrestricted: { readonly args: NoArguments; readonly result: boolean };
  };
  readonly CodeIntelligenceCommitGraph: {
    readonly stale: { readonly args: NoArguments; readonly result: boolean };
    readonly updatedAt: { readonly args: NoArguments; readonly result: string | null };
  };
  readonly CodeownersIngestedFile: {
    readonly id: { readonly args: NoArguments; readonly result: string };
    readonly contents: { readonly args: NoArguments; readonly result: string };
    readonly repository: { readonly args: NoArguments; readonly result: SourceOf<"Repository"> };
    readonly createdAt: { readonly args: NoArguments; readonly result: string };
    readonly updatedAt: { readonly args: NoArguments; readonly result: string };
  };
  readonly CodeownersIngestedFileConnection: {
    readonly nodes: { readonly args: NoArguments; readonly result: readonly (SourceOf<"CodeownersIngestedFile">)[] };
    readonly totalCount: { readonly args: NoArguments; readonly result: number };
    readonly pageInfo: { readonly args: NoArguments; readonly result: SourceOf<"PageInfo"> };
  };
  readonly KeyValuePair: {
    readonly key: { readonly args: NoArguments; readonly result: string };
    readonly value: { readonly args: NoArguments; readonly result: string | null };
  };
  readonly ExternalRepository: {
    readonly id: { readonly args: NoArguments; readonly result: string };
    readonly serviceType: { readonly args: NoArguments; readonly result: string };
    readonly serviceID: { readonly args: NoArguments; readonly result: string };
  };
  readonly RepositoryLeftOut: {
    readonly ignoredFilesCount: { readonly args: NoArguments; readonly result: number };
    readonly lfsFilesCount: { readonly args: NoArguments; readonly result: number };
    readonly submodulesCount: { readonly args: NoArguments; readonly result: number };
    readonly warnings: { readonly args: NoArguments; readonly result: readonly (string)[] };
  };
  readonly MirrorRepositoryInfo: {
    readonly remoteURL: { readonly args: NoArguments; readonly result: string | null };
    readonly cloneInProgress: { readonly args: NoArguments; readonly result: boolean };
    readonly cloneProgress: { readonly args: NoArguments; readonly result: string | null };
    readonly cloned: { readonly args: NoArguments; readonly result: boolean };
    readonly isCorrupted: { readonly args: NoArguments; readonly result: boolean | null };
    readonly corruptionLogs: { readonly args: NoArguments; readonly result: readonly (SourceOf<"CorruptionLog">)[] | null };
    readonly updatedAt: { readonly args: NoArguments; readonly result: string | null };
    readonly lastChanged: { readonly args: NoArguments; readonly result: string | null };
    readonly nextSyncAt: { readonly args: NoArguments; readonly result: string | null };
    readonly updateSchedule: { readonly args: NoArguments; readonly result: SourceOf<"UpdateSchedule"> | null };
    readonly updateQueue: { readonly args: NoArguments; readonly result: SourceOf<"UpdateQueue"> | null };
    readonly lastError: { readonly args: NoArguments; readonly result: string | null };
    readonly lastSyncOutput: { readonly args: NoArguments; readonly result: string | null };
    readonly byteSize: { readonly args: NoArguments; readonly result: string | null };
    readonly shard: { readonly args: NoArguments; readonly result: string | null };
  };
  readonly CorruptionLog: {
    readonly timestamp: { readonly args: NoArguments; readonly result: string };
    readonly reason: { readonly args: NoArguments; readonly result: string };
  };
  readonly UpdateSchedule: {
    readonly intervalSeconds: { readonly args: NoArguments; readonly result: number };
    readonly due: { readonly args: NoArguments; readonly result: string };
    readonly index: { readonly args: NoArguments; readonly result: number };
    readonly total: { readonly args: NoArguments; readonly result: number };
  };
  readonly UpdateQueue: {
    readonly index: { readonly args: NoArguments; readonly result: number };
    readonly updating: { readonly args: NoArguments; readonly result: boolean };
    readonly total: { readonly args: NoArguments; readonly result: number };
  };
  readonly RepositoryTextSearchIndex: {
    readonly repository: { readonly args: NoArguments; readonly result: SourceOf<"Repository"> };
    readonly status: { readonly args: NoArguments; readonly result: SourceOf<"RepositoryTextSearchIndexStatus"> | null };
    readonly refs: { readonly args: NoArguments; readonly result: readonly (SourceOf<"RepositoryTextSearchIndexedRef">)[] | null };
    readonly host: { readonly args: NoArguments; readonly result: SourceOf<"RepositoryIndexserverHost"> | null };
  };
  readonly RepositoryHistoryIndex: {
    readonly wanted: { readonly args: NoArguments; readonly result: string };
    readonly upToDate: { readonly args: NoArguments; readonly result: boolean };
    readonly commitsCount: { readonly args: NoArguments; readonly result: number | null };
    readonly indexedCommitsCount: { readonly args: NoArguments; readonly result: number };
    readonly indexByteSize: { readonly args: NoArguments; readonly result: string };
    readonly lastError: { readonly args: NoArguments; readonly result: string | null };
  };
  readonly RepositoryTextSearchIndexStatus: {
    readonly updatedAt: { readonly args: NoArguments; readonly result: string };
    readonly contentByteSize: { readonly args: NoArguments; readonly result: string };
    readonly contentFilesCount: { readonly args: NoArguments; readonly result: number };
    readonly indexByteSize: { readonly args: NoArguments; readonly result: string };
    readonly indexShardsCount: { readonly args: NoArguments; readonly result: number };
    readonly newLinesCount: { readonly args: NoArguments; readonly result: number };
    readonly defaultBranchNewLinesCount: { readonly args: NoArguments; readonly result: number };
    readonly otherBranchesNewLinesCount: { readonly args: NoArguments; readonly result: number };
  };
  readonly RepositoryTextSearchIndexedRef: {
    readonly ref: { readonly args: NoArguments; readonly result: SourceOf<"GitRef"> };
    readonly indexed: { readonly args: NoArguments; readonly result: boolean };
    readonly current: { readonly args: NoArguments; readonly result: boolean };
    readonly indexedCommit: { readonly args: NoArguments; readonly result: SourceOf<"GitObject"> | null };
    readonly skippedIndexed: { readonly args: NoArguments; readonly result: SourceOf<"SkippedIndexed"> | null };
  };
  readonly SkippedIndexed: {
    readonly count: { readonly args: NoArguments; readonly result: number };
    readonly query: { readonly args: NoArguments; readonly result: string };
  };
  readonly RepositoryIndexserverHost: {
    readonly name: { readonly args: NoArguments; readonly result: string };
  };
  readonly RepoMeta: {
    readonly keys: { readonly args: { readonly query?: string | null | undefined; readonly first?: number | null | undefined; readonly after?: string | null | undefined }; readonly result: SourceOf<"RepoMetaKeys"> };
    readonly key: { readonly args: { readonly key: string }; readonly result: SourceOf<"RepoMetaKey"> | null };
  };
  readonly RepoMetaKeys: {
    readonly nodes: { readonly args: NoArguments; readonly result: readonly (string)[] };
    readonly totalCount: { readonly args: NoArguments; readonly result: number };
    readonly pageInfo: { readonly args: NoArguments; readonly result: SourceOf<"PageInfo"> };
  };
  readonly RepoMetaKey: {
    readonly values: { readonly args: { readonly query?: string | null | undefined; readonly first?: number | null | undefined; readonly after?: string | null | undefined }; readonly result: SourceOf<"RepoMetaKeys"> };
  };
  readonly ExternalServiceConnection: {
    readonly nodes: { readonly args: NoArguments; readonly result: readonly (SourceOf<"ExternalService">)[] };
    readonly totalCount: { readonly args: NoArguments; readonly result: number };
    readonly pageInfo: { readonly args: NoArguments; readonly result: SourceOf<"PageInfo"> };
  };
  readonly ExternalService: {
    readonly id: { readonly args: NoArguments; readonly result: string };
    readonly kind: { readonly args: NoArguments; readonly result: ExternalServiceKind };
    readonly displayName: { readonly args: NoArguments; readonly result: string };
    readonly config: { readonly args: NoArguments; readonly result: string };
    readonly createdAt: { readonly args: NoArguments; readonly result: string };
    readonly updatedAt: { readonly args: NoArguments; readonly result: string };
    readonly repoCount: { readonly args: NoArguments; readonly result: number };
    readonly url: { readonly args: NoArguments; readonly result: string };
    readonly unrestricted: { readonly args: NoArguments; readonly result: boolean };
    readonly suspended: { readonly args: NoArguments; readonly result: boolean };
    readonly hasConnectionCheck: { readonly args: NoArguments; readonly result: boolean };
    readonly supportsRepoExclusion: { readonly args: NoArguments; readonly result: boolean };
    readonly creator: { readonly args: NoArguments; readonly result: SourceOf<"User"> | null };
    readonly lastUpdater: { readonly args: NoArguments; readonly result: SourceOf<"User"> | null };
    readonly lastSyncAt: { readonly args: NoArguments; readonly result: string | null };
    readonly nextSyncAt: { readonly args: NoArguments; readonly result: string | null };
    readonly lastSyncError: { readonly args: NoArguments; readonly result: string | null };
    readonly warning: { readonly args: NoArguments; readonly result: string | null };
    readonly webhookURL: { readonly args: NoArguments; readonly result: string | null };
    readonly syncJobs: { readonly args: { readonly first?: number | null | undefined }; readonly result: SourceOf<"ExternalServiceSyncJobConnection"> };
  };
  readonly ExternalServiceSyncJobConnection: {
    readonly nodes: { readonly args: NoArguments; readonly result: readonly (SourceOf<"ExternalServiceSyncJob">)[] };
    readonly totalCount: { readonly args: NoArguments; readonly result: number };
    readonly pageInfo: { readonly args: NoArguments; readonly result: SourceOf<"PageInfo"> };
  };
  readonly ExternalServiceSyncJob: {
    readonly id: { readonly args: NoArguments; readonly result: string };
    readonly state: { readonly args: NoArguments; readonly result: ExternalServiceSyncJobState };
    readonly startedAt: { readonly args: NoArguments; readonly result: string | null };
    readonly finishedAt: { readonly args: NoArguments; readonly result: string | null };
    readonly failureMessage: { readonly args: NoArguments; readonly result: string | null };
    readonly reposSynced: { readonly args: NoArguments; readonly result: number };
    readonly repoSyncErrors: { readonly args: NoArguments; readonly result: number };
    readonly reposAdded: { readonly args: NoArguments; readonly result: number };
    readonly reposDeleted: { readonly args: NoArguments; readonly result: number };
    readonly reposModified: { readonly args: NoArguments; readonly result: number };
    readonly reposUnmodified: { readonly args: NoArguments; readonly result: number };
  };
  readonly GitRefConnection: {
    readonly nodes: { readonly args: NoArguments; readonly result: readonly (SourceOf<"GitRef">)[] };
    readonly totalCount: { readonly args: NoArguments; readonly result: number };
    readonly pageInfo: { readonly args: NoArguments; readonly result: SourceOf<"PageInfo"> };
  };
  readonly GitRef: {
    readonly id: { readonly args: NoArguments; readonly result: string };
    readonly name: { readonly args: NoArguments; readonly result: string };
    readonly abbrevName: { readonly args: NoArguments; readonly result: string };
    readonly displayName: { readonly args: NoArguments; readonly result: string };
    readonly prefix: { readonly args: NoArguments; readonly result: string };
    readonly type: { readonly args: NoArguments; readonly result: GitRefType };
    readonly target: { readonly args: NoArguments; readonly result: SourceOf<"GitObject"> };
    readonly repository: { readonly args: NoArguments; readonly result: SourceOf<"Repository"> };
    readonly url: { readonly args: NoArguments; readonly result: string };
  };
  readonly GitObject: {
    readonly oid: { readonly args: NoArguments; readonly result: string };
    readonly abbreviatedOID: { readonly args: NoArguments; readonly result: string };
    readonly commit: { readonly args: NoArguments; readonly result: SourceOf<"GitCommit"> | null };
    readonly type: { readonly args: NoArguments; readonly result: GitObjectType };
  };
  readonly GitRevSpecExpr: {
    readonly expr: { readonly args: NoArguments; readonly result: string };
    readonly object: { readonly args: NoArguments; readonly result: SourceOf<"GitObject"> | null };
  };
  readonly Signature: {
    readonly person: { readonly args: NoArguments; readonly result: SourceOf<"Person"> };
    readonly date: { readonly args: NoArguments; readonly result: string };
  };
  readonly Person: {
    readonly name: { readonly args: NoArguments; readonly result: string };
    readonly email: { readonly args: NoArguments; readonly result: string };
    readonly displayName: { readonly args: NoArguments; readonly result: string };
    readonly avatarURL: { readonly args: NoArguments; readonly result: string | null };
    readonly user: { readonly args: NoArguments; readonly result: SourceOf<"User"> | null };
  };
  readonly GitCommit: {
    readonly id: { readonly args: NoArguments; readonly result: string };
    readonly repository: { readonly args: NoArguments; readonly result: SourceOf<"Repository"> };
    readonly oid: { readonly args: NoArguments; readonly result: string };
    readonly abbreviatedOID: { readonly args: NoArguments; readonly result: string };
    readonly author: { readonly args: NoArguments; readonly result: SourceOf<"Signature"> | null };
    readonly committer: { readonly args: NoArguments; readonly result: SourceOf<"Signature"> | null };
    readonly message: { readonly args: NoArguments; readonly result: string | null };
    readonly subject: { readonly args: NoArguments; readonly result: string | null };
    readonly body: { readonly args: NoArguments; readonly result: string | null };
    readonly parents: { readonly args: NoArguments; readonly result: readonly (SourceOf<"GitCommit">)[] | null };
    readonly url: { readonly args: NoArguments; readonly result: string };
    readonly canonicalURL: { readonly args: NoArguments; readonly result: string };
    readonly externalURLs: { readonly args: NoArguments; readonly result: readonly (SourceOf<"ExternalLink">)[] };
    readonly path: { readonly args: { readonly path: string | null }; readonly result: SourceOf<"GitTreeOrBlob"> | null };
    readonly tree: { readonly args: { readonly path: string | null; readonly recursive?: boolean | null | undefined }; readonly result: SourceOf<"GitTree"> | null };
    readonly fileNames: { readonly args: NoArguments; readonly result: readonly (string)[] | null };
    readonly blob: { readonly args: { readonly path: string }; readonly result: SourceOf<"GitBlob"> | null };
    readonly file: { readonly args: { readonly path: string }; readonly result: SourceOf<"File2"> | null };
    readonly languages: { readonly args: NoArguments; readonly result: readonly (string)[] | null };
    readonly languageStatistics: { readonly args: NoArguments; readonly result: readonly (SourceOf<"LanguageStatistics">)[] | null };
    readonly ancestors: { readonly args: { readonly first?: number | null | undefined; readonly query?: string | null | undefined; readonly path?: string | null | undefined; readonly follow: boolean | null; readonly after?: string | null | undefined; readonly afterCursor?: string | null | undefined; readonly before?: string | null | undefined }; readonly result: SourceOf<"GitCommitConnection"> | null };
    readonly behindAhead: { readonly args: { readonly revspec: string }; readonly result: SourceOf<"BehindAheadCounts"> | null };
    readonly symbols: { readonly args: { readonly first?: number | null | undefined; readonly after?: string | null | undefined; readonly query?: string | null | undefined; readonly includePatterns?: readonly (string)[] | null | undefined; readonly excludePatterns?: readonly (string)[] | null | undefined; readonly kinds?: readonly (SymbolKind)[] | null | undefined }; readonly result: SourceOf<"SymbolConnection"> | null };
    readonly diff: { readonly args: { readonly base?: string | null | undefined }; readonly result: SourceOf<"RepositoryComparison"> | null };
    readonly perforceChangelist: { readonly args: NoArguments; readonly result: SourceOf<"PerforceChangelist"> | null };
  };
  readonly PerforceChangelist: {
    readonly cid: { readonly args: NoArguments; readonly result: string };
    readonly canonicalURL: { readonly args: NoArguments; readonly result: string };
    readonly commit: { readonly args: NoArguments; readonly result: SourceOf<"GitCommit"> };
  };
  readonly BehindAheadCounts: {
    readonly behind: { readonly args: NoArguments; readonly result: number };
    readonly ahead: { readonly args: NoArguments; readonly result: number };
  };
  readonly GitCommitConnection: {
    readonly nodes: { readonly args: NoArguments; readonly result: readonly (SourceOf<"GitCommit">)[] };
    readonly totalCount: { readonly args: NoArguments; readonly result: number | null };
    readonly pageInfo: { readonly args: NoArguments; readonly result: SourceOf<"PageInfo"> };
  };
  readonly LanguageStatistics: {
    readonly name: { readonly args: NoArguments; readonly result: string };
    readonly totalBytes: { readonly args: NoArguments; readonly result: number };
    readonly totalLines: { readonly args: NoArguments; readonly result: number };
  };
  readonly Submodule: {
    readonly url: { readonly args: NoArguments; readonly result: string };
    readonly commit: { readonly args: NoArguments; readonly result: string };
    readonly path: { readonly args: NoArguments; readonly result: string };
  };
  readonly TreeLastCommits: {
    readonly nodes: { readonly args: NoArguments; readonly result: readonly (SourceOf<"TreeLastCommit">)[] };
    readonly pageInfo: { readonly args: NoArguments; readonly result: SourceOf<"PageInfo"> };
  };
  readonly TreeLastCommit: {
    readonly name: { readonly args: NoArguments; readonly result: string };
    readonly commit: { readonly args: NoArguments; readonly result: SourceOf<"GitCommit"> };
  };
  readonly GitTree: {
    readonly path: { readonly args: NoArguments; readonly result: string };
    readonly isRoot: { readonly args: NoArguments; readonly result: boolean };
    readonly name: { readonly args: NoArguments; readonly result: string };
    readonly isDirectory: { readonly args: NoArguments; readonly result: boolean };
    readonly commit: { readonly args: NoArguments; readonly result: SourceOf<"GitCommit"> };
    readonly repository: { readonly args: NoArguments; readonly result: SourceOf<"Repository"> };
    readonly url: { readonly args: NoArguments; readonly result: string };
    readonly canonicalURL: { readonly args: NoArguments; readonly result: string };
    readonly externalURLs: { readonly args: NoArguments; readonly result: readonly (SourceOf<"ExternalLink">)[] };
    readonly rawZipArchiveURL: { readonly args: NoArguments; readonly result: string };
    readonly submodule: { readonly args: NoArguments; readonly result: SourceOf<"Submodule"> | null };
    readonly directories: { readonly args: { readonly first?: number | null | undefined; readonly recursive: boolean | null }; readonly result: readonly (SourceOf<"GitTree">)[] | null };
    readonly files: { readonly args: { readonly first?: number | null | undefined; readonly recursive: boolean | null }; readonly result: readonly (SourceOf<"GitBlob">)[] | null };
    readonly entries: { readonly args: { readonly first?: number | null | undefined; readonly recursive: boolean | null; readonly ancestors: boolean | null; readonly recursiveSingleChild: boolean | null }; readonly result: readonly (SourceOf<"TreeEntry">)[] | null };
    readonly isSingleChild: { readonly args: { readonly first?: number | null | undefined; readonly recursive: boolean | null; readonly recursiveSingleChild: boolean | null }; readonly result: boolean | null };
    readonly history: { readonly args: { readonly first?: number | null | undefined; readonly after?: string | null | undefined }; readonly result: SourceOf<"TreeEntryHistory"> | null };
    readonly lastCommits: { readonly args: { readonly after?: string | null | undefined }; readonly result: SourceOf<"TreeLastCommits"> | null };
    readonly symbols: { readonly args: { readonly first?: number | null | undefined; readonly after?: string | null | undefined; readonly query?: string | null | undefined; readonly includePatterns?: readonly (string)[] | null | undefined; readonly excludePatterns?: readonly (string)[] | null | undefined; readonly kinds?: readonly (SymbolKind)[] | null | undefined }; readonly result: SourceOf<"SymbolConnection"> | null };
  };
  readonly GitBlob: {
    readonly path: { readonly args: NoArguments; readonly result: string };
    readonly name: { readonly args: NoArguments; readonly result: string };
    readonly isDirectory: { readonly args: NoArguments; readonly result: boolean };
    readonly content: { readonly args: { readonly startLine?: number | null | undefined; readonly endLine?: number | null | undefined }; readonly result: string | null };
    readonly byteSize: { readonly args: NoArguments; readonly result: number | null };
    readonly totalLines: { readonly args: NoArguments; readonly result: number | null };
    readonly binary: { readonly args: NoArguments; readonly result: boolean | null };
    readonly richHTML: { readonly args: { readonly startLine?: number | null | undefined; readonly endLine?: number | null | undefined }; readonly result: string | null };
    readonly commit: { readonly args: NoArguments; readonly result: SourceOf<"GitCommit"> };
    readonly repository: { readonly args: NoArguments; readonly result: SourceOf<"Repository"> };
    readonly url: { readonly args: NoArguments; readonly result: string };
    readonly canonicalURL: { readonly args: NoArguments; readonly result: string };
    readonly changelistURL: { readonly args: NoArguments; readonly result: string | null };
    readonly externalURLs: { readonly args: NoArguments; readonly result: readonly (SourceOf<"ExternalLink">)[] };
    readonly blame: { readonly args: { readonly startLine: number; readonly endLine: number; readonly ignoreWhitespace: boolean | null }; readonly result: readonly (SourceOf<"Hunk">)[] | null };
    readonly highlight: { readonly args: { readonly disableTimeout: boolean; readonly isLightTheme?: boolean | null | undefined; readonly highlightLongLines: boolean | null; readonly format: HighlightResponseFormat | null; readonly startLine?: number | null | undefined; readonly endLine?: number | null | undefined }; readonly result: SourceOf<"HighlightedFile"> | null };
    readonly submodule: { readonly args: NoArguments; readonly result: SourceOf<"Submodule"> | null };
    readonly isSingleChild: { readonly args: { readonly first?: number | null | undefined; readonly recursive: boolean | null; readonly recursiveSingleChild: boolean | null }; readonly result: boolean | null };
    readonly lfs: { readonly args: NoArguments; readonly result: SourceOf<"LFS"> | null };
    readonly history: { readonly args: { readonly first?: number | null | undefined; readonly after?: string | null | undefined }; readonly result: SourceOf<"TreeEntryHistory"> | null };
    readonly ownership: { readonly args: { readonly first?: number | null | undefined; readonly after?: string | null | undefined; readonly reasons?: readonly (OwnershipReasonType)[] | null | undefined }; readonly result: SourceOf<"OwnershipConnection"> | null };
    readonly lsif: { readonly args: { readonly toolName?: string | null | undefined }; readonly result: SourceOf<"GitBlobLSIFData"> | null };
    readonly languages: { readonly args: NoArguments; readonly result: readonly (string)[] | null };
    readonly contentType: { readonly args: NoArguments; readonly result: string | null };
    readonly symbols: { readonly args: { readonly first?: number | null | undefined; readonly after?: string | null | undefined; readonly query?: string | null | undefined; readonly kinds?: readonly (SymbolKind)[] | null | undefined }; readonly result: SourceOf<"SymbolConnection"> | null };
    readonly symbol: { readonly args: { readonly line: number; readonly character: number }; readonly result: SourceOf<"Symbol"> | null };
    readonly outline: { readonly args: NoArguments; readonly result: readonly (SourceOf<"OutlineItem">)[] | null };
    readonly symbolInfo: { readonly args: { readonly line: number; readonly character: number }; readonly result: SourceOf<"SymbolInfo"> | null };
    readonly hover: { readonly args: { readonly line: number; readonly character: number }; readonly result: SourceOf<"Hover"> | null };
    readonly definitions: { readonly args: { readonly line: number; readonly character: number }; readonly result: SourceOf<"DefinitionList"> | null };
    readonly references: { readonly args: { readonly line: number; readonly character: number }; readonly result: SourceOf<"ReferenceList"> | null };
    readonly implementations: { readonly args: { readonly line: number; readonly character: number }; readonly result: SourceOf<"ReferenceList"> | null };
    readonly localCodeIntel: { readonly args: NoArguments; readonly result: unknown | null };
  };
  readonly OwnershipConnection: {
    readonly nodes: { readonly args: NoArguments; readonly result: readonly (SourceOf<"Ownership">)[] };
    readonly totalCount: { readonly args: NoArguments; readonly result: number };
    readonly totalOwners: { readonly args: NoArguments; readonly result: number };
    readonly pageInfo: { readonly args: NoArguments; readonly result: SourceOf<"PageInfo"> };
  };
  readonly Ownership: {
    readonly owner: { readonly args: NoArguments; readonly result: SourceOf<"Owner"> };
    readonly reasons: { readonly args: NoArguments; readonly result: readonly (SourceOf<"OwnershipReason">)[] };
  };
  readonly CodeownersFileEntry: {
    readonly title: { readonly args: NoArguments; readonly result: string };
    readonly description: { readonly args: NoArguments; readonly result: string };
    readonly codeownersFile: { readonly args: NoArguments; readonly result: SourceOf<"File2"> | null };
    readonly ruleLineMatch: { readonly args: NoArguments; readonly result: number };
  };
  readonly LFS: {
    readonly byteSize: { readonly args: NoArguments; readonly result: string };
  };
  readonly GitBlobLSIFData: {
    readonly hover: { readonly args: { readonly line: number; readonly character: number }; readonly result: SourceOf<"Hover"> | null };
    readonly definitions: { readonly args: { readonly line: number; readonly character: number; readonly filter?: string | null | undefined }; readonly result: SourceOf<"LocationConnection"> | null };
    readonly references: { readonly args: { readonly line: number; readonly character: number; readonly first?: number | null | undefined; readonly after?: string | null | undefined; readonly filter?: string | null | undefined }; readonly result: SourceOf<"LocationConnection"> | null };
    readonly implementations: { readonly args: { readonly line: number; readonly character: number; readonly first?: number | null | undefined; readonly after?: string | null | undefined; readonly filter?: string | null | undefined }; readonly result: SourceOf<"LocationConnection"> | null };
    readonly prototypes: { readonly args: { readonly line: number; readonly character: number; readonly first?: number | null | undefined; readonly after?: string | null | undefined; readonly filter?: string | null | undefined }; readonly result: SourceOf<"LocationConnection"> | null };
  };
  readonly PreciseIndex: {
    readonly id: { readonly args: NoArguments; readonly result: string };
    readonly inputCommit: { readonly args: NoArguments; readonly result: string };
    readonly inputRoot: { readonly args: NoArguments; readonly result: string };
    readonly inputIndexer: { readonly args: NoArguments; readonly result: string };
    readonly indexerVersion: { readonly args: NoArguments; readonly result: string };
    readonly state: { readonly args: NoArguments; readonly result: PreciseIndexState };
    readonly failure: { readonly args: NoArguments; readonly result: string | null };
    readonly uploadedAt: { readonly args: NoArguments; readonly result: string | null };
    readonly processingStartedAt: { readonly args: NoArguments; readonly result: string | null };
    readonly processingFinishedAt: { readonly args: NoArguments; readonly result: string | null };
    readonly documentCount: { readonly args: NoArguments; readonly result: number | null };
    readonly occurrenceCount: { readonly args: NoArguments; readonly result: number | null };
    readonly leftOutDocumentCount: { readonly args: NoArguments; readonly result: number | null };
    readonly leftOutOccurrenceCount: { readonly args: NoArguments; readonly result: number | null };
  };
  readonly PreciseIndexConnection: {
    readonly nodes: { readonly args: NoArguments; readonly result: readonly (SourceOf<"PreciseIndex">)[] };
    readonly totalCount: { readonly args: NoArguments; readonly result: number };
    readonly pageInfo: { readonly args: NoArguments; readonly result: SourceOf<"PageInfo"> };
  };
  readonly DefinitionList: {
    readonly name: { readonly args: NoArguments; readonly result: string };
    readonly range: { readonly args: NoArguments; readonly result: SourceOf<"Range"> };
    readonly precision: { readonly args: NoArguments; readonly result: NavigationPrecision };
    readonly isUnique: { readonly args: NoArguments; readonly result: boolean };
    readonly implementationCount: { readonly args: NoArguments; readonly result: number };
    readonly nodes: { readonly args: NoArguments; readonly result: readonly (SourceOf<"Definition">)[] };
  };
  readonly Definition: {
    readonly symbol: { readonly args: NoArguments; readonly result: SourceOf<"Symbol"> };
    readonly signature: { readonly args: NoArguments; readonly result: string };
    readonly documentation: { readonly args: NoArguments; readonly result: string };
    readonly nearness: { readonly args: NoArguments; readonly result: DefinitionNearness };
  };
  readonly ReferenceList: {
    readonly name: { readonly args: NoArguments; readonly result: string };
    readonly range: { readonly args: NoArguments; readonly result: SourceOf<"Range"> };
    readonly precision: { readonly args: NoArguments; readonly result: NavigationPrecision };
    readonly matchCount: { readonly args: NoArguments; readonly result: number };
    readonly limitHit: { readonly args: NoArguments; readonly result: boolean };
    readonly files: { readonly args: NoArguments; readonly result: readonly (SourceOf<"FileReferences">)[] };
  };
  readonly FileReferences: {
    readonly file: { readonly args: NoArguments; readonly result: SourceOf<"GitBlob"> };
    readonly lines: { readonly args: NoArguments; readonly result: readonly (SourceOf<"ReferenceLine">)[] };
  };
  readonly ReferenceLine: {
    readonly line: { readonly args: NoArguments; readonly result: number };
    readonly preview: { readonly args: NoArguments; readonly result: string };
    readonly ranges: { readonly args: NoArguments; readonly result: readonly (SourceOf<"ReferenceRange">)[] };
    readonly url: { readonly args: NoArguments; readonly result: string };
  };
  readonly ReferenceRange: {
    readonly start: { readonly args: NoArguments; readonly result: number };
    readonly end: { readonly args: NoArguments; readonly result: number };
  };
  readonly LocationConnection: {
    readonly nodes: { readonly args: NoArguments; readonly result: readonly (SourceOf<"Location">)[] };
    readonly pageInfo: { readonly args: NoArguments; readonly result: SourceOf<"PageInfo"> };
  };
  readonly Hover: {
    readonly markdown: { readonly args: NoArguments; readonly result: SourceOf<"Markdown"> };
    readonly range: { readonly args: NoArguments; readonly result: SourceOf<"Range"> };
    readonly precision: { readonly args: NoArguments; readonly result: NavigationPrecision };
  };
  readonly SymbolConnection: {
    readonly nodes: { readonly args: NoArguments; readonly result: readonly (SourceOf<"Symbol">)[] };
    readonly pageInfo: { readonly args: NoArguments; readonly result: SourceOf<"PageInfo"> };
  };
  readonly OutlineItem: {
    readonly symbol: { readonly args: NoArguments; readonly result: SourceOf<"Symbol"> };
    readonly depth: { readonly args: NoArguments; readonly result: number };
  };
  readonly SymbolInfo: {
    readonly definition: { readonly args: NoArguments; readonly result: SourceOf<"SymbolLocation"> };
    readonly hover: { readonly args: NoArguments; readonly result: string | null };
  };
  readonly SymbolLocation: {
    readonly repo: { readonly args: NoArguments; readonly result: string };
    readonly commit: { readonly args: NoArguments; readonly result: string };
    readonly path: { readonly args: NoArguments; readonly result: string };
    readonly range: { readonly args: NoArguments; readonly result: SourceOf<"LineRange"> | null };
  };
  readonly LineRange: {
    readonly line: { readonly args: NoArguments; readonly result: number };
    readonly character: { readonly args: NoArguments; readonly result: number };
    readonly length: { readonly args: NoArguments; readonly result: number };
  };
  readonly TreeEntryHistory: {
    readonly nodes: { readonly args: NoArguments; readonly result: readonly (SourceOf<"TreeEntryChange">)[] };
    readonly pageInfo: { readonly args: NoArguments; readonly result: SourceOf<"PageInfo"> };
  };
  readonly TreeEntryChange: {
    readonly commit: { readonly args: NoArguments; readonly result: SourceOf<"GitCommit"> };
    readonly path: { readonly args: NoArguments; readonly result: string };
  };
  readonly HighlightedFile: {
    readonly aborted: { readonly args: NoArguments; readonly result: boolean };
    readonly html: { readonly args: NoArguments; readonly result: string };
    readonly lsif: { readonly args: NoArguments; readonly result: string };
    readonly lineRanges: { readonly args: { readonly ranges: readonly (HighlightLineRange)[] }; readonly result: readonly (readonly (string)[])[] };
  };
  readonly Hunk: {
    readonly startLine: { readonly args: NoArguments; readonly result: number };
    readonly endLine: { readonly args: NoArguments; readonly result: number };
    readonly startByte: { readonly args: NoArguments; readonly result: number };
    readonly endByte: { readonly args: NoArguments; readonly result: number };
    readonly rev: { readonly args: NoArguments; readonly result: string };
    readonly author: { readonly args: NoArguments; readonly result: SourceOf<"Signature"> };
    readonly message: { readonly args: NoArguments; readonly result: string };
    readonly commit: { readonly args: NoArguments; readonly result: SourceOf<"GitCommit"> };
    readonly filename: { readonly args: NoArguments; readonly result: string };
    readonly previousRev: { readonly args: NoArguments; readonly result: string | null };
    readonly previousFilename: { readonly args: NoArguments; readonly result: string | null };
  };
  readonly RepositoryComparison: {
    readonly baseRepository: { readonly args: NoArguments; readonly result: SourceOf<"Repository"> };
    readonly headRepository: { readonly args: NoArguments; readonly result: SourceOf<"Repository"> };
    readonly range: { readonly args: NoArguments; readonly result: SourceOf<"GitRevisionRange"> | null };
    readonly commits: { readonly args: { readonly first?: number | null | undefined; readonly path?: string | null | undefined }; readonly result: SourceOf<"GitCommitConnection"> | null };
    readonly fileDiffs: { readonly args: { readonly first?: number | null | undefined; readonly after?: string | null | undefined; readonly paths?: readonly (string)[] | null | undefined; readonly ignoreWhitespace: boolean | null }; readonly result: SourceOf<"FileDiffConnection"> | null };
  };
  readonly GitRevisionRange: {
    readonly expr: { readonly args: NoArguments; readonly result: string };
    readonly base: { readonly args: NoArguments; readonly result: SourceOf<"GitRevSpec"> };
    readonly baseRevSpec: { readonly args: NoArguments; readonly result: SourceOf<"GitRevSpecExpr"> | null };
    readonly head: { readonly args: NoArguments; readonly result: SourceOf<"GitRevSpec"> };
    readonly headRevSpec: { readonly args: NoArguments; readonly result: SourceOf<"GitRevSpecExpr"> | null };
    readonly mergeBase: { readonly args: NoArguments; readonly result: SourceOf<"GitObject"> | null };
  };
  readonly FileDiffConnection: {
    readonly nodes: { readonly args: NoArguments; readonly result: readonly (SourceOf<"FileDiff">)[] | null };
    readonly totalCount: { readonly args: NoArguments; readonly result: number | null };
    readonly pageInfo: { readonly args: NoArguments; readonly result: SourceOf<"PageInfo"> };
    readonly diffStat: { readonly args: NoArguments; readonly result: SourceOf<"DiffStat"> | null };
    readonly rawDiff: { readonly args: NoArguments; readonly result: string | null };
  };
  readonly DiffStat: {
    readonly added: { readonly args: NoArguments; readonly result: number };
    readonly deleted: { readonly args: NoArguments; readonly result: number };
  };
  readonly FileDiff: {
    readonly oldPath: { readonly args: NoArguments; readonly result: string | null };
    readonly oldFile: { readonly args: NoArguments; readonly result: SourceOf<"File2"> | null };
    readonly newPath: { readonly args: NoArguments; readonly result: string | null };
    readonly newFile: { readonly args: NoArguments; readonly result: SourceOf<"File2"> | null };
    readonly mostRelevantFile: { readonly args: NoArguments; readonly result: SourceOf<"File2"> };
    readonly hunks: { readonly args: NoArguments; readonly result: readonly (SourceOf<"FileDiffHunk">)[] | null };
    readonly stat: { readonly args: NoArguments; readonly result: SourceOf<"DiffStat"> | null };
    readonly internalID: { readonly args: NoArguments; readonly result: string };
  };
  readonly FileDiffHunk: {
    readonly oldRange: { readonly args: NoArguments; readonly result: SourceOf<"FileDiffHunkRange"> };
    readonly oldNoNewlineAt: { readonly args: NoArguments; readonly result: boolean };
    readonly newRange: { readonly args: NoArguments; readonly result: SourceOf<"FileDiffHunkRange"> };
    readonly section: { readonly args: NoArguments; readonly result: string | null };
    readonly body: { readonly args: NoArguments; readonly result: string };
    readonly highlight: { readonly args: { readonly disableTimeout: boolean; readonly isLightTheme?: boolean | null | undefined; readonly highlightLongLines: boolean | null }; readonly result: SourceOf<"HighlightedDiffHunkBody"> | null };
  };
  readonly HighlightedDiffHunkBody: {
    readonly aborted: { readonly args: NoArguments; readonly result: boolean };
    readonly lines: { readonly args: NoArguments; readonly result: readonly (SourceOf<"HighlightedDiffHunkLine">)[] };
  };
  readonly HighlightedDiffHunkLine: {
    readonly html: { readonly args: NoArguments; readonly result: string };
    readonly kind: { readonly args: NoArguments; readonly result: DiffHunkLineType };
  };
  readonly FileDiffHunkRange: {
    readonly startLine: { readonly args: NoArguments; readonly result: number };
    readonly lines: { readonly args: NoArguments; readonly result: number };
  };
  readonly RepositoryContributorConnection: {
    readonly nodes: { readonly args: NoArguments; readonly result: readonly (SourceOf<"RepositoryContributor">)[] };
    readonly totalCount: { readonly args: NoArguments; readonly result: number };
    readonly pageInfo: { readonly args: NoArguments; readonly result: SourceOf<"ConnectionPageInfo"> };
  };
  readonly RepositoryContributor: {
    readonly person: { readonly args: NoArguments; readonly result: SourceOf<"Person"> };
    readonly count: { readonly args: NoArguments; readonly result: number };
    readonly repository: { readonly args: NoArguments; readonly result: SourceOf<"Repository"> };
    readonly commits: { readonly args: { readonly first?: number | null | undefined }; readonly result: SourceOf<"GitCommitConnection"> | null };
  };
  readonly Search: {
    readonly results: { readonly args: NoArguments; readonly result: SourceOf<"SearchResults"> };
    readonly stats: { readonly args: NoArguments; readonly result: SourceOf<"SearchResultsStats"> };
  };
  readonly SearchQueryAggregate: {
    readonly modeAvailability: { readonly args: NoArguments; readonly result: readonly (SourceOf<"AggregationModeAvailability">)[] };
    readonly aggregations: { readonly args: { readonly mode?: SearchAggregationMode | null | undefined; readonly limit: number; readonly extendedTimeout: boolean | null }; readonly result: SourceOf<"SearchAggregationResult"> };
  };
  readonly AggregationModeAvailability: {
    readonly mode: { readonly args: NoArguments; readonly result: SearchAggregationMode };
    readonly available: { readonly args: NoArguments; readonly result: boolean };
    readonly reasonUnavailable: { readonly args: NoArguments; readonly result: string | null };
    readonly reasonType: { readonly args: NoArguments; readonly result: SearchAggregationNotAvailableReasonType | null };
  };
  readonly ExhaustiveSearchAggregationResult: {
    readonly groups: { readonly args: NoArguments; readonly result: readonly (SourceOf<"AggregationGroup">)[] };
    readonly supportsPersistence: { readonly args: NoArguments; readonly result: boolean | null };
    readonly otherResultCount: { readonly args: NoArguments; readonly result: number | null };
    readonly otherGroupCount: { readonly args: NoArguments; readonly result: number | null };
    readonly mode: { readonly args: NoArguments; readonly result: SearchAggregationMode };
  };
  readonly NonExhaustiveSearchAggregationResult: {
    readonly groups: { readonly args: NoArguments; readonly result: readonly (SourceOf<"AggregationGroup">)[] };
    readonly supportsPersistence: { readonly args: NoArguments; readonly result: boolean | null };
    readonly otherResultCount: { readonly args: NoArguments; readonly result: number | null };
    readonly approximateOtherGroupCount: { readonly args: NoArguments; readonly result: number | null };
    readonly mode: { readonly args: NoArguments; readonly result: SearchAggregationMode };
  };
  readonly SearchAggregationNotAvailable: {
    readonly reason: { readonly args: NoArguments; readonly result: string };
    readonly reasonType: { readonly args: NoArguments; readonly result: SearchAggregationNotAvailableReasonType };
    readonly mode: { readonly args: NoArguments; readonly result: SearchAggregationMode };
  };
  readonly AggregationGroup: {
    readonly label: { readonly args: NoArguments; readonly result: string };
    readonly count: { readonly args: NoArguments; readonly result: number };
    readonly query: { readonly args: NoArguments; readonly result: string | null };
  };
  readonly SearchResultsStats: {
    readonly approximateResultCount: { readonly args: NoArguments; readonly result: string | null };
    readonly sparkline: { readonly args: NoArguments; readonly result: readonly (number)[] | null };
    readonly languages: { readonly args: NoArguments; readonly result: readonly (SourceOf<"LanguageStatistics">)[] | null };
  };
  readonly SearchResults: {
    readonly results: { readonly args: NoArguments; readonly result: readonly (SourceOf<"SearchResult">)[] };
    readonly matchCount: { readonly args: NoArguments; readonly result: number };
    readonly resultCount: { readonly args: NoArguments; readonly result: number };
    readonly approximateResultCount: { readonly args: NoArguments; readonly result: string };
    readonly limitHit: { readonly args: NoArguments; readonly result: boolean };
    readonly sparkline: { readonly args: NoArguments; readonly result: readonly (number)[] };
    readonly repositories: { readonly args: NoArguments; readonly result: readonly (SourceOf<"Repository">)[] };
    readonly repositoriesCount: { readonly args: NoArguments; readonly result: number };
    readonly cloning: { readonly args: NoArguments; readonly result: readonly (SourceOf<"Repository">)[] };
    readonly missing: { readonly args: NoArguments; readonly result: readonly (SourceOf<"Repository">)[] };
    readonly timedout: { readonly args: NoArguments; readonly result: readonly (SourceOf<"Repository">)[] };
    readonly indexUnavailable: { readonly args: NoArguments; readonly result: boolean };
    readonly alert: { readonly args: NoArguments; readonly result: SourceOf<"SearchAlert"> | null };
    readonly elapsedMilliseconds: { readonly args: NoArguments; readonly result: number };
    readonly dynamicFilters: { readonly args: NoArguments; readonly result: readonly (SourceOf<"SearchFilter">)[] };
    readonly skipped: { readonly args: NoArguments; readonly result: readonly (SourceOf<"SearchSkipped">)[] };
    readonly receipt: { readonly args: NoArguments; readonly result: SourceOf<"SearchReceipt"> | null };
    readonly duplicates: { readonly args: NoArguments; readonly result: SourceOf<"SearchDuplicates"> | null };
    readonly explain: { readonly args: NoArguments; readonly result: SourceOf<"SearchCost"> | null };
  };
  readonly SearchCost: {
    readonly plan: { readonly args: NoArguments; readonly result: string };
    readonly estimate: { readonly args: NoArguments; readonly result: SourceOf<"SearchEstimate"> | null };
    readonly took: { readonly args: NoArguments; readonly result: SourceOf<"SearchTook"> };
  };
  readonly SearchEstimate: {
    readonly shards: { readonly args: NoArguments; readonly result: number };
    readonly shardsRuledOut: { readonly args: NoArguments; readonly result: number };
    readonly documents: { readonly args: NoArguments; readonly result: number };
    readonly textBytes: { readonly args: NoArguments; readonly result: string };
  };
  readonly SearchTook: {
    readonly durationMs: { readonly args: NoArguments; readonly result: number };
    readonly workerMs: { readonly args: NoArguments; readonly result: number | null };
    readonly stats: { readonly args: NoArguments; readonly result: unknown | null };
  };
  readonly SearchDuplicates: {
    readonly places: { readonly args: NoArguments; readonly result: number };
    readonly matchesInAllPlaces: { readonly args: NoArguments; readonly result: number };
    readonly complete: { readonly args: NoArguments; readonly result: boolean };
  };
  readonly SearchReceipt: {
    readonly generation: { readonly args: NoArguments; readonly result: string };
    readonly complete: { readonly args: NoArguments; readonly result: boolean };
    readonly matchCount: { readonly args: NoArguments; readonly result: number };
    readonly documentsSearched: { readonly args: NoArguments; readonly result: number };
    readonly digest: { readonly args: NoArguments; readonly result: string };
    readonly digestedMatches: { readonly args: NoArguments; readonly result: number };
    readonly repositories: { readonly args: { readonly first: number | null; readonly from: number | null }; readonly result: SourceOf<"SearchReceiptRepositories"> };
    readonly excluded: { readonly args: { readonly first: number | null; readonly from: number | null }; readonly result: SourceOf<"SearchReceiptOmissions"> };
  };
  readonly SearchReceiptRepositories: {
    readonly count: { readonly args: NoArguments; readonly result: number };
    readonly items: { readonly args: NoArguments; readonly result: readonly (SourceOf<"SearchReceiptRepository">)[] };
  };
  readonly SearchReceiptRepository: {
    readonly repository: { readonly args: NoArguments; readonly result: string };
    readonly generation: { readonly args: NoArguments; readonly result: number };
    readonly revisions: { readonly args: NoArguments; readonly result: readonly (SourceOf<"SearchReceiptRevision">)[] };
  };
  readonly SearchReceiptRevision: {
    readonly revision: { readonly args: NoArguments; readonly result: string };
    readonly commit: { readonly args: NoArguments; readonly result: string };
  };
  readonly SearchReceiptOmissions: {
    readonly count: { readonly args: NoArguments; readonly result: number };
    readonly items: { readonly args: NoArguments; readonly result: readonly (SourceOf<"SearchReceiptOmission">)[] };
  };
  readonly SearchReceiptOmission: {
    readonly reason: { readonly args: NoArguments; readonly result: string };
    readonly repository: { readonly args: NoArguments; readonly result: string | null };
    readonly path: { readonly args: NoArguments; readonly result: string | null };
    readonly detail: { readonly args: NoArguments; readonly result: string | null };
  };
  readonly SearchSkipped: {
    readonly reason: { readonly args: NoArguments; readonly result: string };
    readonly title: { readonly args: NoArguments; readonly result: string };
    readonly message: { readonly args: NoArguments; readonly result: string };
    readonly severity: { readonly args: NoArguments; readonly result: string };
    readonly suggested: { readonly args: NoArguments; readonly result: SourceOf<"SearchSkippedSuggestion"> | null };
  };
  readonly SearchSkippedSuggestion: {
    readonly title: { readonly args: NoArguments; readonly result: string };
    readonly queryExpression: { readonly args: NoArguments; readonly result: string };
  };
  readonly SearchAlert: {
    readonly title: { readonly args: NoArguments; readonly result: string };
    readonly description: { readonly args: NoArguments; readonly result: string | null };
    readonly kind: { readonly args: NoArguments; readonly result: string | null };
    readonly proposedQueries: { readonly args: NoArguments; readonly result: readonly (SourceOf<"SearchQueryDescription">)[] | null };
  };
  readonly SearchQueryDescription: {
    readonly description: { readonly args: NoArguments; readonly result: string | null };
    readonly query: { readonly args: NoArguments; readonly result: string };
    readonly annotations: { readonly args: NoArguments; readonly result: readonly (SourceOf<"SearchQueryAnnotation">)[] | null };
  };
  readonly SearchQueryAnnotation: {
    readonly name: { readonly args: NoArguments; readonly result: string };
    readonly value: { readonly args: NoArguments; readonly result: string };
  };
  readonly SearchFilter: {
    readonly value: { readonly args: NoArguments; readonly result: string };
    readonly label: { readonly args: NoArguments; readonly result: string };
    readonly count: { readonly args: NoArguments; readonly result: number };
    readonly limitHit: { readonly args: NoArguments; readonly result: boolean };
    readonly kind: { readonly args: NoArguments; readonly result: string };
  };
  readonly SearchResultMatch: {
    readonly url: { readonly args: NoArguments; readonly result: string };
    readonly body: { readonly args: NoArguments; readonly result: SourceOf<"Markdown"> };
    readonly highlights: { readonly args: NoArguments; readonly result: readonly (SourceOf<"Highlight">)[] };
  };
  readonly Highlight: {
    readonly line: { readonly args: NoArguments; readonly result: number };
    readonly character: { readonly args: NoArguments; readonly result: number };
    readonly length: { readonly args: NoArguments; readonly result: number };
  };
  readonly HighlightedString: {
    readonly value: { readonly args: NoArguments; readonly result: string };
    readonly highlights: { readonly args: NoArguments; readonly result: readonly (SourceOf<"Highlight">)[] };
  };
  readonly FileMatch: {
    readonly file: { readonly args: NoArguments; readonly result: SourceOf<"GitBlob"> };
    readonly repository: { readonly args: NoArguments; readonly result: SourceOf<"Repository"> };
    readonly revSpec: { readonly args: NoArguments; readonly result: SourceOf<"GitRevSpec"> | null };
    readonly symbols: { readonly args: NoArguments; readonly result: readonly (SourceOf<"Symbol">)[] };
    readonly lineMatches: { readonly args: NoArguments; readonly result: readonly (SourceOf<"LineMatch">)[] };
    readonly chunkMatches: { readonly args: NoArguments; readonly result: readonly (SourceOf<"ChunkMatch">)[] };
    readonly pathMatches: { readonly args: NoArguments; readonly result: readonly (SourceOf<"Range">)[] };
    readonly limitHit: { readonly args: NoArguments; readonly result: boolean };
    readonly places: { readonly args: { readonly first: number | null; readonly from: number | null }; readonly result: SourceOf<"FileMatchPlaces"> };
  };
  readonly FileMatchPlaces: {
    readonly count: { readonly args: NoArguments; readonly result: number };
    readonly files: { readonly args: NoArguments; readonly result: readonly (SourceOf<"GitBlob">)[] };
  };
  readonly LineMatch: {
    readonly preview: { readonly args: NoArguments; readonly result: string };
    readonly lineNumber: { readonly args: NoArguments; readonly result: number };
    readonly offsetAndLengths: { readonly args: NoArguments; readonly result: readonly (readonly (number)[])[] };
    readonly limitHit: { readonly args: NoArguments; readonly result: boolean };
  };
  readonly ChunkMatch: {
    readonly content: { readonly args: NoArguments; readonly result: string };
    readonly contentStart: { readonly args: NoArguments; readonly result: SourceOf<"Position"> };
    readonly ranges: { readonly args: NoArguments; readonly result: readonly (SourceOf<"Range">)[] };
    readonly contentTruncated: { readonly args: NoArguments; readonly result: boolean };
  };
  readonly CommitSearchResult: {
    readonly label: { readonly args: NoArguments; readonly result: SourceOf<"Markdown"> };
    readonly url: { readonly args: NoArguments; readonly result: string };
    readonly detail: { readonly args: NoArguments; readonly result: SourceOf<"Markdown"> };
    readonly matches: { readonly args: NoArguments; readonly result: readonly (SourceOf<"SearchResultMatch">)[] };
    readonly commit: { readonly args: NoArguments; readonly result: SourceOf<"GitCommit"> };
    readonly refs: { readonly args: NoArguments; readonly result: readonly (SourceOf<"GitRef">)[] };
    readonly sourceRefs: { readonly args: NoArguments; readonly result: readonly (SourceOf<"GitRef">)[] };
    readonly messagePreview: { readonly args: NoArguments; readonly result: SourceOf<"HighlightedString"> | null };
    readonly diffPreview: { readonly args: NoArguments; readonly result: SourceOf<"HighlightedString"> | null };
    readonly contentTruncated: { readonly args: NoArguments; readonly result: boolean };
  };
  readonly SearchJobConnection: {
    readonly nodes: { readonly args: NoArguments; readonly result: readonly (SourceOf<"SearchJob">)[] };
    readonly totalCount: { readonly args: NoArguments; readonly result: number };
    readonly pageInfo: { readonly args: NoArguments; readonly result: SourceOf<"ConnectionPageInfo"> };
  };
  readonly SearchJob: {
    readonly id: { readonly args: NoArguments; readonly result: string };
    readonly query: { readonly args: NoArguments; readonly result: string };
    readonly state: { readonly args: NoArguments; readonly result: SearchJobState };
    readonly creator: { readonly args: NoArguments; readonly result: SourceOf<"User"> | null };
    readonly createdAt: { readonly args: NoArguments; readonly result: string };
    readonly startedAt: { readonly args: NoArguments; readonly result: string | null };
    readonly finishedAt: { readonly args: NoArguments; readonly result: string | null };
    readonly URL: { readonly args: NoArguments; readonly result: string | null };
    readonly logURL: { readonly args: NoArguments; readonly result: string | null };
    readonly message: { readonly args: NoArguments; readonly result: string | null };
    readonly repoStats: { readonly args: NoArguments; readonly result: SourceOf<"SearchJobStats"> };
  };
  readonly SearchJobStats: {
    readonly total: { readonly args: NoArguments; readonly result: number };
    readonly completed: { readonly args: NoArguments; readonly result: number };
    readonly failed: { readonly args: NoArguments; readonly result: number };
    readonly inProgress: { readonly args: NoArguments; readonly result: number };
  };
  readonly Symbol: {
    readonly name: { readonly args: NoArguments; readonly result: string };
    readonly containerName: { readonly args: NoArguments; readonly result: string | null };
    readonly kind: { readonly args: NoArguments; readonly result: SymbolKind };
    readonly language: { readonly args: NoArguments; readonly result: string };
    readonly location: { readonly args: NoArguments; readonly result: SourceOf<"Location"> };
    readonly url: { readonly args: NoArguments; readonly result: string };
    readonly canonicalURL: { readonly args: NoArguments; readonly result: string };
    readonly fileLocal: { readonly args: NoArguments; readonly result: boolean };
  };
  readonly Location: {
    readonly resource: { readonly args: NoArguments; readonly result: SourceOf<"GitBlob"> };
    readonly range: { readonly args: NoArguments; readonly result: SourceOf<"Range"> | null };
    readonly url: { readonly args: NoArguments; readonly result: string };
    readonly canonicalURL: { readonly args: NoArguments; readonly result: string };
  };
  readonly SearchContextConnection: {
    readonly nodes: { readonly args: NoArguments; readonly result: readonly (SourceOf<"SearchContext">)[] };
    readonly totalCount: { readonly args: NoArguments; readonly result: number };
    readonly pageInfo: { readonly args: NoArguments; readonly result: SourceOf<"PageInfo"> };
  };
  readonly SearchContext: {
    readonly id: { readonly args: NoArguments; readonly result: string };
    readonly name: { readonly args: NoArguments; readonly result: string };
    readonly namespace: { readonly args: NoArguments; readonly result: SourceOf<"Namespace"> | null };
    readonly description: { readonly args: NoArguments; readonly result: string };
    readonly spec: { readonly args: NoArguments; readonly result: string };
    readonly autoDefined: { readonly args: NoArguments; readonly result: boolean };
    readonly query: { readonly args: NoArguments; readonly result: string };
    readonly repositories: { readonly args: NoArguments; readonly result: readonly (SourceOf<"SearchContextRepositoryRevisions">)[] };
    readonly public: { readonly args: NoArguments; readonly result: boolean };
    readonly updatedAt: { readonly args: NoArguments; readonly result: string };
    readonly viewerCanManage: { readonly args: NoArguments; readonly result: boolean };
    readonly viewerHasAsDefault: { readonly args: NoArguments; readonly result: boolean };
    readonly viewerHasStarred: { readonly args: NoArguments; readonly result: boolean };
  };
  readonly SearchContextRepositoryRevisions: {
    readonly repository: { readonly args: NoArguments; readonly result: SourceOf<"Repository"> };
    readonly revisions: { readonly args: NoArguments; readonly result: readonly (string)[] };
  };
  readonly SettingsCascade: {
    readonly subjects: { readonly args: NoArguments; readonly result: readonly (SourceOf<"SettingsSubject">)[] };
    readonly final: { readonly args: NoArguments; readonly result: string };
    readonly merged: { readonly args: NoArguments; readonly result: SourceOf<"Configuration"> };
  };
  readonly ConfigurationCascade: {
    readonly subjects: { readonly args: NoArguments; readonly result: readonly (SourceOf<"SettingsSubject">)[] };
    readonly merged: { readonly args: NoArguments; readonly result: SourceOf<"Configuration"> };
  };
  readonly Configuration: {
    readonly contents: { readonly args: NoArguments; readonly result: string };
    readonly messages: { readonly args: NoArguments; readonly result: readonly (string)[] };
  };
  readonly Settings: {
    readonly id: { readonly args: NoArguments; readonly result: number };
    readonly subject: { readonly args: NoArguments; readonly result: SourceOf<"SettingsSubject"> };
    readonly author: { readonly args: NoArguments; readonly result: SourceOf<"User"> | null };
    readonly createdAt: { readonly args: NoArguments; readonly result: string };
    readonly contents: { readonly args: NoArguments; readonly result: string };
  };
  readonly DefaultSettings: {
    readonly id: { readonly args: NoArguments; readonly result: string };
    readonly latestSettings: { readonly args: NoArguments; readonly result: SourceOf<"Settings"> | null };
    readonly settingsURL: { readonly args: NoArguments; readonly result: string | null };
    readonly viewerCanAdminister: { readonly args: NoArguments; readonly result: boolean };
    readonly settingsCascade: { readonly args: NoArguments; readonly result: SourceOf<"SettingsCascade"> };
    readonly configurationCascade: { readonly args: NoArguments; readonly result: SourceOf<"ConfigurationCascade"> };
  };
  readonly User: {
    readonly id: { readonly args: NoArguments; readonly result: string };
    readonly databaseID: { readonly args: NoArguments; readonly result: number };
    readonly username: { readonly args: NoArguments; readonly result: string };
    readonly email: { readonly args: NoArguments; readonly result: string };
    readonly displayName: { readonly args: NoArguments; readonly result: string | null };
    readonly avatarURL: { readonly args: NoArguments; readonly result: string | null };
    readonly url: { readonly args: NoArguments; readonly result: string };
    readonly settingsURL: { readonly args: NoArguments; readonly result: string | null };
    readonly createdAt: { readonly args: NoArguments; readonly result: string | null };
    readonly updatedAt: { readonly args: NoArguments; readonly result: string | null };
    readonly siteAdmin: { readonly args: NoArguments; readonly result: boolean | null };
    readonly builtinAuth: { readonly args: NoArguments; readonly result: boolean };
    readonly latestSettings: { readonly args: NoArguments; readonly result: SourceOf<"Settings"> | null };
    readonly settingsCascade: { readonly args: NoArguments; readonly result: SourceOf<"SettingsCascade"> | null };
    readonly configurationCascade: { readonly args: NoArguments; readonly result: SourceOf<"ConfigurationCascade"> | null };
    readonly organizations: { readonly args: NoArguments; readonly result: SourceOf<"OrgConnection"> };
    readonly organizationMemberships: { readonly args: NoArguments; readonly result: SourceOf<"OrganizationMembershipConnection"> };
    readonly organizationInvitations: { readonly args: NoArguments; readonly result: readonly (SourceOf<"OrganizationInvitation">)[] };
    readonly accessTokens: { readonly args: { readonly first?: number | null | undefined; readonly after?: string | null | undefined }; readonly result: SourceOf<"AccessTokenConnection"> | null };
    readonly externalAccounts: { readonly args: { readonly first?: number | null | undefined; readonly after?: string | null | undefined }; readonly result: SourceOf<"ExternalAccountConnection"> };
    readonly teams: { readonly args: { readonly first?: number | null | undefined; readonly after?: string | null | undefined; readonly search?: string | null | undefined }; readonly result: SourceOf<"TeamConnection"> };
    readonly usageStatistics: { readonly args: NoArguments; readonly result: SourceOf<"UserUsageStatistics"> };
    readonly tags: { readonly args: NoArguments; readonly result: readonly (string)[] };
    readonly viewerCanChangeUsername: { readonly args: NoArguments; readonly result: boolean };
    readonly scimControlled: { readonly args: NoArguments; readonly result: boolean };
    readonly codyProEnabled: { readonly args: NoArguments; readonly result: boolean };
    readonly tosAccepted: { readonly args: NoArguments; readonly result: boolean };
    readonly emails: { readonly args: NoArguments; readonly result: readonly (SourceOf<"UserEmail">)[] };
    readonly primaryEmail: { readonly args: NoArguments; readonly result: SourceOf<"UserEmail"> | null };
    readonly hasVerifiedEmail: { readonly args: NoArguments; readonly result: boolean };
    readonly completedPostSignup: { readonly args: NoArguments; readonly result: boolean };
    readonly session: { readonly args: NoArguments; readonly result: SourceOf<"Session"> };
    readonly viewerCanAdminister: { readonly args: NoArguments; readonly result: boolean };
    readonly namespaceName: { readonly args: NoArguments; readonly result: string };
    readonly permissions: { readonly args: NoArguments; readonly result: SourceOf<"PermissionConnection"> };
    readonly eventLogs: { readonly args: { readonly first?: number | null | undefined; readonly after?: string | null | undefined; readonly eventName?: string | null | undefined }; readonly result: SourceOf<"EventLogConnection"> };
    readonly searchable: { readonly args: NoArguments; readonly result: boolean | null };
    readonly roles: { readonly args: { readonly first?: number | null | undefined; readonly last?: number | null | undefined; readonly after?: string | null | undefined; readonly before?: string | null | undefined }; readonly result: SourceOf<"RoleConnection"> };
    readonly permissionsInfo: { readonly args: NoArguments; readonly result: SourceOf<"PermissionsInfo"> | null };
  };
  readonly EventLogConnection: {
    readonly nodes: { readonly args: NoArguments; readonly result: readonly (SourceOf<"EventLog">)[] };
    readonly totalCount: { readonly args: NoArguments; readonly result: number };
    readonly pageInfo: { readonly args: NoArguments; readonly result: SourceOf<"PageInfo"> };
  };
  readonly EventLog: {
    readonly name: { readonly args: NoArguments; readonly result: string };
    readonly user: { readonly args: NoArguments; readonly result: SourceOf<"User"> | null };
    readonly anonymousUserID: { readonly args: NoArguments; readonly result: string };
    readonly url: { readonly args: NoArguments; readonly result: string };
    readonly source: { readonly args: NoArguments; readonly result: EventSource };
    readonly argument: { readonly args: NoArguments; readonly result: string | null };
    readonly version: { readonly args: NoArguments; readonly result: string };
    readonly timestamp: { readonly args: NoArguments; readonly result: string };
  };
  readonly UserEmail: {
    readonly email: { readonly args: NoArguments; readonly result: string };
    readonly isPrimary: { readonly args: NoArguments; readonly result: boolean };
    readonly verified: { readonly args: NoArguments; readonly result: boolean };
    readonly verificationPending: { readonly args: NoArguments; readonly result: boolean };
  };
  readonly Session: {
    readonly canSignOut: { readonly args: NoArguments; readonly result: boolean };
  };
  readonly RoleConnection: {
    readonly nodes: { readonly args: NoArguments; readonly result: readonly (SourceOf<"Role">)[] };
    readonly totalCount: { readonly args: NoArguments; readonly result: number };
    readonly pageInfo: { readonly args: NoArguments; readonly result: SourceOf<"ConnectionPageInfo"> };
  };
  readonly Role: {
    readonly id: { readonly args: NoArguments; readonly result: string };
    readonly name: { readonly args: NoArguments; readonly result: string };
    readonly system: { readonly args: NoArguments; readonly result: boolean };
  };
  readonly PermissionConnection: {
    readonly nodes: { readonly args: NoArguments; readonly result: readonly (SourceOf<"Permission">)[] };
  };
  readonly Permission: {
    readonly id: { readonly args: NoArguments; readonly result: string };
    readonly displayName: { readonly args: NoArguments; readonly result: string };
    readonly namespace: { readonly args: NoArguments; readonly result: string };
    readonly action: { readonly args: NoArguments; readonly result: string };
  };
  readonly UserConnection: {
    readonly nodes: { readonly args: NoArguments; readonly result: readonly (SourceOf<"User">)[] };
    readonly totalCount: { readonly args: NoArguments; readonly result: number };
    readonly pageInfo: { readonly args: NoArguments; readonly result: SourceOf<"PageInfo"> };
  };
  readonly UserUsageStatistics: {
    readonly searchQueries: { readonly args: NoArguments; readonly result: number };
    readonly pageViews: { readonly args: NoArguments; readonly result: number };
    readonly codeIntelligenceActions: { readonly args: NoArguments; readonly result: number };
    readonly findReferencesActions: { readonly args: NoArguments; readonly result: number };
    readonly lastActiveTime: { readonly args: NoArguments; readonly result: string | null };
    readonly lastActiveCodeHostIntegrationTime: { readonly args: NoArguments; readonly result: string | null };
  };
  readonly ExternalAccountConnection: {
    readonly nodes: { readonly args: NoArguments; readonly result: readonly (SourceOf<"ExternalAccount">)[] };
    readonly totalCount: { readonly args: NoArguments; readonly result: number };
    readonly pageInfo: { readonly args: NoArguments; readonly result: SourceOf<"PageInfo"> };
  };
  readonly ExternalAccount: {
    readonly id: { readonly args: NoArguments; readonly result: string };
    readonly serviceType: { readonly args: NoArguments; readonly result: string };
    readonly serviceID: { readonly args: NoArguments; readonly result: string };
    readonly accountID: { readonly args: NoArguments; readonly result: string };
    readonly clientID: { readonly args: NoArguments; readonly result: string };
    readonly accountData: { readonly args: NoArguments; readonly result: unknown | null };
    readonly provider: { readonly args: NoArguments; readonly result: string };
    readonly createdAt: { readonly args: NoArguments; readonly result: string };
  };
  readonly OrganizationMembershipConnection: {
    readonly nodes: { readonly args: NoArguments; readonly result: readonly (SourceOf<"OrganizationMembership">)[] };
    readonly totalCount: { readonly args: NoArguments; readonly result: number };
  };
  readonly OrganizationMembership: {
    readonly organization: { readonly args: NoArguments; readonly result: SourceOf<"Org"> };
    readonly user: { readonly args: NoArguments; readonly result: SourceOf<"User"> };
  };
  readonly AccessTokenConnection: {
    readonly nodes: { readonly args: NoArguments; readonly result: readonly (SourceOf<"AccessToken">)[] };
    readonly totalCount: { readonly args: NoArguments; readonly result: number };
    readonly pageInfo: { readonly args: NoArguments; readonly result: SourceOf<"PageInfo"> };
  };
  readonly AccessToken: {
    readonly id: { readonly args: NoArguments; readonly result: string };
    readonly subject: { readonly args: NoArguments; readonly result: SourceOf<"User"> };
    readonly scopes: { readonly args: NoArguments; readonly result: readonly (string)[] };
    readonly note: { readonly args: NoArguments; readonly result: string };
    readonly creator: { readonly args: NoArguments; readonly result: SourceOf<"User"> };
    readonly createdAt: { readonly args: NoArguments; readonly result: string };
    readonly lastUsedAt: { readonly args: NoArguments; readonly result: string | null };
    readonly expiresAt: { readonly args: NoArguments; readonly result: string | null };
  };
  readonly OrgConnection: {
    readonly nodes: { readonly args: NoArguments; readonly result: readonly (SourceOf<"Org">)[] };
    readonly totalCount: { readonly args: NoArguments; readonly result: number };
  };
  readonly Org: {
    readonly id: { readonly args: NoArguments; readonly result: string };
    readonly name: { readonly args: NoArguments; readonly result: string };
    readonly displayName: { readonly args: NoArguments; readonly result: string | null };
    readonly createdAt: { readonly args: NoArguments; readonly result: string | null };
    readonly members: { readonly args: { readonly first?: number | null | undefined; readonly last?: number | null | undefined; readonly after?: string | null | undefined; readonly before?: string | null | undefined; readonly query?: string | null | undefined }; readonly result: SourceOf<"OrgMemberConnection"> | null };
    readonly latestSettings: { readonly args: NoArguments; readonly result: SourceOf<"Settings"> | null };
    readonly settingsCascade: { readonly args: NoArguments; readonly result: SourceOf<"SettingsCascade"> | null };
    readonly configurationCascade: { readonly args: NoArguments; readonly result: SourceOf<"ConfigurationCascade"> | null };
    readonly viewerCanAdminister: { readonly args: NoArguments; readonly result: boolean };
    readonly viewerIsMember: { readonly args: NoArguments; readonly result: boolean };
    readonly viewerPendingInvitation: { readonly args: NoArguments; readonly result: SourceOf<"OrganizationInvitation"> | null };
    readonly url: { readonly args: NoArguments; readonly result: string };
    readonly settingsURL: { readonly args: NoArguments; readonly result: string | null };
    readonly namespaceName: { readonly args: NoArguments; readonly result: string };
  };
  readonly OrganizationInvitation: {
    readonly id: { readonly args: NoArguments; readonly result: string };
    readonly organization: { readonly args: NoArguments; readonly result: SourceOf<"Org"> };
    readonly sender: { readonly args: NoArguments; readonly result: SourceOf<"User"> | null };
    readonly recipient: { readonly args: NoArguments; readonly result: SourceOf<"User"> | null };
    readonly recipientEmail: { readonly args: NoArguments; readonly result: string | null };
    readonly createdAt: { readonly args: NoArguments; readonly result: string };
    readonly notifiedAt: { readonly args: NoArguments; readonly result: string | null };
    readonly respondedAt: { readonly args: NoArguments; readonly result: string | null };
    readonly responseType: { readonly args: NoArguments; readonly result: OrganizationInvitationResponseType | null };
    readonly respondURL: { readonly args: NoArguments; readonly result: string | null };
    readonly revokedAt: { readonly args: NoArguments; readonly result: string | null };
    readonly expiresAt: { readonly args: NoArguments; readonly result: string | null };
    readonly isVerifiedEmail: { readonly args: NoArguments; readonly result: boolean | null };
  };
  readonly OrgMemberAutocompleteSearchItem: {
    readonly id: { readonly args: NoArguments; readonly result: string };
    readonly username: { readonly args: NoArguments; readonly result: string };
    readonly displayName: { readonly args: NoArguments; readonly result: string | null };
    readonly avatarURL: { readonly args: NoArguments; readonly result: string | null };
    readonly inOrg: { readonly args: NoArguments; readonly result: number };
  };
  readonly TemporarySettings: {
    readonly contents: { readonly args: NoArguments; readonly result: string };
  };
  readonly OrgMemberConnection: {
    readonly nodes: { readonly args: NoArguments; readonly result: readonly (SourceOf<"User">)[] };
    readonly totalCount: { readonly args: NoArguments; readonly result: number };
    readonly pageInfo: { readonly args: NoArguments; readonly result: SourceOf<"ConnectionPageInfo"> };
  };
  readonly TeamMemberConnection: {
    readonly nodes: { readonly args: NoArguments; readonly result: readonly (SourceOf<"TeamMember">)[] };
    readonly totalCount: { readonly args: NoArguments; readonly result: number };
    readonly pageInfo: { readonly args: NoArguments; readonly result: SourceOf<"PageInfo"> };
  };
  readonly TeamConnection: {
    readonly nodes: { readonly args: NoArguments; readonly result: readonly (SourceOf<"Team">)[] };
    readonly totalCount: { readonly args: NoArguments; readonly result: number };
    readonly pageInfo: { readonly args: NoArguments; readonly result: SourceOf<"PageInfo"> };
  };
  readonly Team: {
    readonly id: { readonly args: NoArguments; readonly result: string };
    readonly name: { readonly args: NoArguments; readonly result: string };
    readonly displayName: { readonly args: NoArguments; readonly result: string | null };
    readonly url: { readonly args: NoArguments; readonly result: string };
    readonly avatarURL: { readonly args: NoArguments; readonly result: string | null };
    readonly readonly: { readonly args: NoArguments; readonly result: boolean };
    readonly members: { readonly args: { readonly first?: number | null | undefined; readonly after?: string | null | undefined; readonly search?: string | null | undefined }; readonly result: SourceOf<"TeamMemberConnection"> };
    readonly parentTeam: { readonly args: NoArguments; readonly result: SourceOf<"Team"> | null };
    readonly childTeams: { readonly args: { readonly first?: number | null | undefined; readonly after?: string | null | undefined; readonly search?: string | null | undefined }; readonly result: SourceOf<"TeamConnection"> };
    readonly viewerCanAdminister: { readonly args: NoArguments; readonly result: boolean };
    readonly creator: { readonly args: NoArguments; readonly result: SourceOf<"User"> | null };
    readonly external: { readonly args: NoArguments; readonly result: boolean };
  };
  readonly SavedSearchConnection: {
    readonly nodes: { readonly args: NoArguments; readonly result: readonly (SourceOf<"SavedSearch">)[] };
    readonly totalCount: { readonly args: NoArguments; readonly result: number };
    readonly pageInfo: { readonly args: NoArguments; readonly result: SourceOf<"ConnectionPageInfo"> };
  };
  readonly SavedSearch: {
    readonly id: { readonly args: NoArguments; readonly result: string };
    readonly description: { readonly args: NoArguments; readonly result: string };
    readonly query: { readonly args: NoArguments; readonly result: string };
    readonly draft: { readonly args: NoArguments; readonly result: boolean };
    readonly owner: { readonly args: NoArguments; readonly result: SourceOf<"Namespace"> };
    readonly namespace: { readonly args: NoArguments; readonly result: SourceOf<"Namespace"> };
    readonly visibility: { readonly args: NoArguments; readonly result: SavedSearchVisibility };
    readonly createdBy: { readonly args: NoArguments; readonly result: SourceOf<"User"> | null };
    readonly createdAt: { readonly args: NoArguments; readonly result: string };
    readonly updatedBy: { readonly args: NoArguments; readonly result: SourceOf<"User"> | null };
    readonly updatedAt: { readonly args: NoArguments; readonly result: string };
    readonly url: { readonly args: NoArguments; readonly result: string };
    readonly viewerCanAdminister: { readonly args: NoArguments; readonly result: boolean };
    readonly notify: { readonly args: NoArguments; readonly result: boolean };
    readonly notification: { readonly args: NoArguments; readonly result: SourceOf<"SavedSearchNotification"> | null };
    readonly notifySlack: { readonly args: NoArguments; readonly result: boolean };
    readonly slackWebhookURL: { readonly args: NoArguments; readonly result: string | null };
  };
  readonly SavedSearchNotification: {
    readonly url: { readonly args: NoArguments; readonly result: string };
    readonly format: { readonly args: NoArguments; readonly result: SavedSearchNotificationFormat };
    readonly enabledBy: { readonly args: NoArguments; readonly result: SourceOf<"User"> | null };
    readonly enabledAt: { readonly args: NoArguments; readonly result: string };
    readonly deliveries: { readonly args: NoArguments; readonly result: readonly (SourceOf<"SavedSearchDelivery">)[] };
  };
  readonly SavedSearchDelivery: {
    readonly id: { readonly args: NoArguments; readonly result: string };
    readonly event: { readonly args: NoArguments; readonly result: string };
    readonly state: { readonly args: NoArguments; readonly result: SavedSearchDeliveryState };
    readonly came: { readonly args: NoArguments; readonly result: number };
    readonly went: { readonly args: NoArguments; readonly result: number };
    readonly moved: { readonly args: NoArguments; readonly result: number };
    readonly createdAt: { readonly args: NoArguments; readonly result: string };
    readonly attempts: { readonly args: NoArguments; readonly result: number };
    readonly lastAttemptAt: { readonly args: NoArguments; readonly result: string | null };
    readonly status: { readonly args: NoArguments; readonly result: number | null };
    readonly error: { readonly args: NoArguments; readonly result: string | null };
  };
  readonly EnabledNotification: {
    readonly savedSearch: { readonly args: NoArguments; readonly result: SourceOf<"SavedSearch"> };
    readonly secret: { readonly args: NoArguments; readonly result: string };
  };
  readonly Site: {
    readonly id: { readonly args: NoArguments; readonly result: string };
    readonly siteID: { readonly args: NoArguments; readonly result: string };
    readonly configuration: { readonly args: { readonly returnSafeConfigsOnly?: boolean | null | undefined }; readonly result: SourceOf<"SiteConfiguration"> | null };
    readonly latestSettings: { readonly args: NoArguments; readonly result: SourceOf<"Settings"> | null };
    readonly settingsCascade: { readonly args: NoArguments; readonly result: SourceOf<"SettingsCascade"> };
    readonly configurationCascade: { readonly args: NoArguments; readonly result: SourceOf<"ConfigurationCascade"> };
    readonly settingsURL: { readonly args: NoArguments; readonly result: string | null };
    readonly canReloadSite: { readonly args: NoArguments; readonly result: boolean };
    readonly viewerCanAdminister: { readonly args: NoArguments; readonly result: boolean };
    readonly accessTokens: { readonly args: { readonly first?: number | null | undefined; readonly after?: string | null | undefined }; readonly result: SourceOf<"AccessTokenConnection"> | null };
    readonly monitoringStatistics: { readonly args: { readonly days?: number | null | undefined }; readonly result: SourceOf<"MonitoringStatistics"> | null };
    readonly users: { readonly args: { readonly query?: string | null | undefined; readonly siteAdmin?: boolean | null | undefined; readonly username?: string | null | undefined; readonly email?: string | null | undefined; readonly lastActiveAt?: SiteUsersDateRangeInput | null | undefined; readonly deletedAt?: SiteUsersDateRangeInput | null | undefined; readonly createdAt?: SiteUsersDateRangeInput | null | undefined; readonly eventsCount?: SiteUsersNumberRangeInput | null | undefined }; readonly result: SourceOf<"SiteUsers"> };
    readonly externalServicesCounts: { readonly args: NoArguments; readonly result: SourceOf<"ExternalServicesCounts"> | null };
    readonly productSubscription: { readonly args: NoArguments; readonly result: SourceOf<"ProductSubscriptionStatus"> };
    readonly usageStatistics: { readonly args: { readonly days?: number | null | undefined; readonly weeks?: number | null | undefined; readonly months?: number | null | undefined }; readonly result: SourceOf<"SiteUsageStatistics"> };
    readonly authProviders: { readonly args: NoArguments; readonly result: SourceOf<"AuthProviderConnection"> };
    readonly permissionsUserMappingBindID: { readonly args: NoArguments; readonly result: PermissionsUserMappingBindID };
    readonly configurationProblems: { readonly args: { readonly text: string }; readonly result: readonly (SourceOf<"ConfigurationProblem">)[] | null };
    readonly buildVersion: { readonly args: NoArguments; readonly result: string };
    readonly productVersion: { readonly args: NoArguments; readonly result: string };
    readonly updateCheck: { readonly args: NoArguments; readonly result: SourceOf<"UpdateCheck"> };
    readonly needsRepositoryConfiguration: { readonly args: NoArguments; readonly result: boolean };
    readonly externalServicesFromFile: { readonly args: NoArguments; readonly result: boolean };
    readonly allowEditExternalServicesWithFile: { readonly args: NoArguments; readonly result: boolean };
    readonly allowSiteSettingsEdits: { readonly args: NoArguments; readonly result: boolean };
    readonly freeUsersExceeded: { readonly args: NoArguments; readonly result: boolean };
    readonly alerts: { readonly args: NoArguments; readonly result: readonly (SourceOf<"Alert">)[] };
    readonly hasCodeIntelligence: { readonly args: NoArguments; readonly result: boolean };
    readonly sendsEmailVerificationEmails: { readonly args: NoArguments; readonly result: boolean };
    readonly isCodyEnabled: { readonly args: NoArguments; readonly result: boolean };
    readonly requiresVerifiedEmailForCody: { readonly args: NoArguments; readonly result: boolean };
    readonly codyLLMConfiguration: { readonly args: NoArguments; readonly result: SourceOf<"CodyLLMConfiguration"> | null };
    readonly codyContextFilters: { readonly args: { readonly version: CodyContextFiltersVersion }; readonly result: SourceOf<"CodyContextFilters"> | null };
  };
  readonly SiteConfiguration: {
    readonly id: { readonly args: NoArguments; readonly result: number };
    readonly effectiveContents: { readonly args: { readonly compatible: boolean | null }; readonly result: string };
    readonly validationMessages: { readonly args: NoArguments; readonly result: readonly (string)[] };
    readonly history: { readonly args: { readonly first?: number | null | undefined; readonly last?: number | null | undefined; readonly after?: string | null | undefined; readonly before?: string | null | undefined }; readonly result: SourceOf<"SiteConfigurationChangeConnection"> };
  };
  readonly ConfigurationProblem: {
    readonly line: { readonly args: NoArguments; readonly result: number | null };
    readonly message: { readonly args: NoArguments; readonly result: string };
  };
  readonly SiteConfigurationChangeConnection: {
    readonly nodes: { readonly args: NoArguments; readonly result: readonly (SourceOf<"SiteConfigurationChange">)[] };
    readonly totalCount: { readonly args: NoArguments; readonly result: number };
    readonly pageInfo: { readonly args: NoArguments; readonly result: SourceOf<"ConnectionPageInfo"> };
  };
  readonly SiteConfigurationChange: {
    readonly id: { readonly args: NoArguments; readonly result: string };
    readonly author: { readonly args: NoArguments; readonly result: SourceOf<"User"> | null };
    readonly diff: { readonly args: NoArguments; readonly result: string };
    readonly createdAt: { readonly args: NoArguments; readonly result: string };
  };
  readonly SiteUsers: {
    readonly totalCount: { readonly args: NoArguments; readonly result: number };
    readonly nodes: { readonly args: { readonly limit?: number | null | undefined; readonly offset?: number | null | undefined; readonly orderBy?: SiteUserOrderBy | null | undefined; readonly descending?: boolean | null | undefined }; readonly result: readonly (SourceOf<"SiteUser">)[] };
  };
  readonly SiteUser: {
    readonly id: { readonly args: NoArguments; readonly result: string };
    readonly username: { readonly args: NoArguments; readonly result: string };
    readonly displayName: { readonly args: NoArguments; readonly result: string | null };
    readonly email: { readonly args: NoArguments; readonly result: string | null };
    readonly createdAt: { readonly args: NoArguments; readonly result: string };
    readonly lastActiveAt: { readonly args: NoArguments; readonly result: string | null };
    readonly deletedAt: { readonly args: NoArguments; readonly result: string | null };
    readonly siteAdmin: { readonly args: NoArguments; readonly result: boolean };
    readonly scimControlled: { readonly args: NoArguments; readonly result: boolean };
    readonly eventsCount: { readonly args: NoArguments; readonly result: number };
    readonly locked: { readonly args: NoArguments; readonly result: boolean };
  };
  readonly ExternalServicesCounts: {
    readonly remoteExternalServicesCount: { readonly args: NoArguments; readonly result: number };
    readonly localExternalServicesCount: { readonly args: NoArguments; readonly result: number };
  };
  readonly ProductSubscriptionStatus: {
    readonly productNameWithBrand: { readonly args: NoArguments; readonly result: string };
    readonly actualUserCount: { readonly args: NoArguments; readonly result: number };
    readonly maximumAllowedUserCount: { readonly args: NoArguments; readonly result: number | null };
    readonly noLicenseWarningUserCount: { readonly args: NoArguments; readonly result: number | null };
    readonly license: { readonly args: NoArguments; readonly result: SourceOf<"ProductLicenseInfo"> | null };
  };
  readonly ProductLicenseInfo: {
    readonly productNameWithBrand: { readonly args: NoArguments; readonly result: string };
    readonly tags: { readonly args: NoArguments; readonly result: readonly (string)[] };
    readonly userCount: { readonly args: NoArguments; readonly result: number };
    readonly expiresAt: { readonly args: NoArguments; readonly result: string };
    readonly isValid: { readonly args: NoArguments; readonly result: boolean };
    readonly licenseInvalidityReason: { readonly args: NoArguments; readonly result: string | null };
  };
  readonly MonitoringStatistics: {
    readonly alerts: { readonly args: NoArguments; readonly result: readonly (SourceOf<"MonitoringAlert">)[] };
  };
  readonly MonitoringAlert: {
    readonly timestamp: { readonly args: NoArguments; readonly result: string };
    readonly name: { readonly args: NoArguments; readonly result: string };
    readonly serviceName: { readonly args: NoArguments; readonly result: string };
    readonly owner: { readonly args: NoArguments; readonly result: string };
    readonly average: { readonly args: NoArguments; readonly result: number };
  };
  readonly SiteUsageStatistics: {
    readonly daus: { readonly args: NoArguments; readonly result: readonly (SourceOf<"SiteUsagePeriod">)[] };
    readonly waus: { readonly args: NoArguments; readonly result: readonly (SourceOf<"SiteUsagePeriod">)[] };
    readonly maus: { readonly args: NoArguments; readonly result: readonly (SourceOf<"SiteUsagePeriod">)[] };
  };
  readonly SiteUsagePeriod: {
    readonly startTime: { readonly args: NoArguments; readonly result: string };
    readonly userCount: { readonly args: NoArguments; readonly result: number };
    readonly registeredUserCount: { readonly args: NoArguments; readonly result: number };
    readonly anonymousUserCount: { readonly args: NoArguments; readonly result: number };
  };
  readonly FeatureFlag: {
    readonly name: { readonly args: NoArguments; readonly result: string };
  };
  readonly AuthProviderConnection: {
    readonly nodes: { readonly args: NoArguments; readonly result: readonly (SourceOf<"AuthProvider">)[] };
    readonly totalCount: { readonly args: NoArguments; readonly result: number };
    readonly pageInfo: { readonly args: NoArguments; readonly result: SourceOf<"PageInfo"> };
  };
  readonly AuthProvider: {
    readonly serviceType: { readonly args: NoArguments; readonly result: string };
    readonly serviceID: { readonly args: NoArguments; readonly result: string };
    readonly clientID: { readonly args: NoArguments; readonly result: string };
    readonly configID: { readonly args: NoArguments; readonly result: string };
    readonly displayName: { readonly args: NoArguments; readonly result: string };
    readonly isBuiltin: { readonly args: NoArguments; readonly result: boolean };
    readonly authenticationURL: { readonly args: NoArguments; readonly result: string | null };
  };
  readonly UpdateCheck: {
    readonly pending: { readonly args: NoArguments; readonly result: boolean };
    readonly checkedAt: { readonly args: NoArguments; readonly result: string | null };
    readonly errorMessage: { readonly args: NoArguments; readonly result: string | null };
    readonly updateVersionAvailable: { readonly args: NoArguments; readonly result: string | null };
  };
  readonly Alert: {
    readonly type: { readonly args: NoArguments; readonly result: AlertType };
    readonly message: { readonly args: NoArguments; readonly result: string };
    readonly isDismissibleWithKey: { readonly args: NoArguments; readonly result: string | null };
  };
  readonly CodyLLMConfiguration: {
    readonly chatModel: { readonly args: NoArguments; readonly result: string };
  };
  readonly CodyContextFilters: {
    readonly raw: { readonly args: NoArguments; readonly result: unknown | null };
  };
  readonly GitUpdatesDisabled: {
    readonly message: { readonly args: NoArguments; readonly result: string };
  };
  readonly NoRepositoriesDetected: {
    readonly message: { readonly args: NoArguments; readonly result: string };
  };
  readonly CloningProgress: {
    readonly message: { readonly args: NoArguments; readonly result: string };
  };
  readonly IndexingProgress: {
    readonly notIndexed: { readonly args: NoArguments; readonly result: number };
    readonly indexed: { readonly args: NoArguments; readonly result: number };
  };
  readonly SyncError: {
    readonly message: { readonly args: NoArguments; readonly result: string };
  };
  readonly RepositoryStats: {
    readonly gitDirBytes: { readonly args: NoArguments; readonly result: string };
    readonly indexedLinesCount: { readonly args: NoArguments; readonly result: string };
    readonly total: { readonly args: NoArguments; readonly result: number };
    readonly cloned: { readonly args: NoArguments; readonly result: number };
    readonly cloning: { readonly args: NoArguments; readonly result: number };
    readonly notCloned: { readonly args: NoArguments; readonly result: number };
    readonly failedFetch: { readonly args: NoArguments; readonly result: number };
    readonly corrupted: { readonly args: NoArguments; readonly result: number };
    readonly indexed: { readonly args: NoArguments; readonly result: number };
  };
  readonly EvaluatedFeatureFlag: {
    readonly name: { readonly args: NoArguments; readonly result: string };
    readonly value: { readonly args: NoArguments; readonly result: boolean };
  };
  readonly ClientConfiguration: {
    readonly contentScriptUrls: { readonly args: NoArguments; readonly result: readonly (string)[] };
    readonly parentSourcegraph: { readonly args: NoArguments; readonly result: SourceOf<"ParentSourcegraph"> };
  };
  readonly ParentSourcegraph: {
    readonly url: { readonly args: NoArguments; readonly result: string };
  };
}

/** The members of each interface and union. */
export interface AbstractTypes {
  readonly PermissionsSyncJobSubject: "Repository" | "User";
  readonly Node: "PermissionsSyncJob" | "Repository" | "CodeownersIngestedFile" | "ExternalService" | "ExternalServiceSyncJob" | "GitRef" | "GitCommit" | "PreciseIndex" | "SearchJob" | "SearchContext" | "DefaultSettings" | "User" | "AccessToken" | "Org" | "OrganizationInvitation" | "Team" | "SavedSearch" | "Site";
  readonly RepositoryRedirect: "Repository" | "Redirect";
  readonly GitRevSpec: "GitRef" | "GitRevSpecExpr" | "GitObject";
  readonly GitTreeOrBlob: "GitTree" | "GitBlob";
  readonly TreeEntry: "GitTree" | "GitBlob";
  readonly File2: "GitBlob";
  readonly CodeIntelGitBlob: "GitBlob";
  readonly CodeIntelCommit: "GitCommit";
  readonly CodeIntelRepository: "Repository";
  readonly Owner: "Person" | "Team";
  readonly OwnershipReason: "CodeownersFileEntry";
  readonly SearchAggregationResult: "ExhaustiveSearchAggregationResult" | "NonExhaustiveSearchAggregationResult" | "SearchAggregationNotAvailable";
  readonly SearchResult: "FileMatch" | "CommitSearchResult" | "Repository";
  readonly GenericSearchResultInterface: "Repository" | "CommitSearchResult";
  readonly Namespace: "User" | "Org";
  readonly SettingsSubject: "DefaultSettings" | "User" | "Org" | "Site";
  readonly TeamMember: "User";
  readonly StatusMessage: "GitUpdatesDisabled" | "NoRepositoriesDetected" | "CloningProgress" | "IndexingProgress" | "SyncError";
}

/** The source object of a GraphQL type. The source of an interface or union names its type in `__typename`. */
export type SourceOf<T extends keyof ObjectTypes | keyof AbstractTypes> = T extends keyof Sources
  ? Sources[T]
  : T extends keyof AbstractTypes
    ? MemberOf<AbstractTypes[T]>
    : T extends keyof ObjectTypes
      ? Plain<T>
      : never;

type MemberOf<T> = T extends keyof ObjectTypes ? SourceOf<T> & { readonly __typename: T } : never;

type Plain<T extends keyof ObjectTypes> = {
  readonly [F in keyof ObjectTypes[T]]: ObjectTypes[T][F] extends { readonly result: infer Result } ? Result : never;
};

export type NoArguments = Readonly<Record<never, never>>;

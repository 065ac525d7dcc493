import type { User } from "../../account/identity/user.js";
import type {
  OrganizationSource,
  SavedSearchSource,
  TeamSource,
  TokenSource,
  UserSource,
  InvitationSource,
} from "./account-sources.js";
import type {
  BlobSource,
  CommitSource,
  ContributorSource,
  PersonSource,
  ObjectSource,
  RefSource,
  TreeSource,
  ComparisonSource,
  FileDiffSource,
  FileDiffsSource,
  HunkSource,
} from "../../browse/git-sources.js";
import type { HighlightSource } from "../../browse/highlight-source.js";
import type { RepositorySource, TextIndexSource } from "../../browse/repository-source.js";
import type { AggregateSource, ReceiptSource, SearchSource, SearchResultsSource } from "./search-sources.js";
import type { CommitMatchSource, FileMatchSource, SymbolSource } from "./match-sources.js";
import type { ExternalServiceSource } from "./external-service-source.js";
import type { BatchWorkspace } from "./batch-workspaces.js";
import type { OwnerFileSource } from "./owner-file-source.js";
import type { ContextSource } from "./context-source.js";
import type { CascadeSource, SettingsChangeSource, SettingsSource } from "./settings-sources.js";
import type { DefaultSettingsSource, SiteSource } from "./site-source.js";
import type { PreciseIndexRecord } from "../../model/precise-index.js";
import type { JobRecord } from "../../jobs/job-record.js";

/** A search job as GraphQL shows it. */
export class SearchJobSource {
  readonly __typename = "SearchJob";
  readonly job: JobRecord;

  constructor(job: JobRecord) {
    this.job = job;
  }
}

/** An uploaded index as GraphQL shows it. */
export class PreciseIndexSource {
  readonly __typename = "PreciseIndex";
  readonly record: PreciseIndexRecord;

  constructor(record: PreciseIndexRecord) {
    this.record = record;
  }
}

/** The permissions of a repository or of a user. */
export interface PermissionsSource {
  readonly unrestricted: boolean;
  /** RFC 3339: when the code host was asked who reads the repository; null if it is not asked, or was not yet. */
  readonly syncedAt: string | null;
  readonly closedReason: string | null;
  /** Undefined for a repository. */
  readonly user: User | undefined;
}

/** The source objects of resolvers, by type. A type that is not listed is plain data with the fields of the schema. */
export interface Sources {
  readonly Query: undefined;
  readonly Mutation: undefined;
  readonly TelemetryMutation: Readonly<Record<never, never>>;
  readonly RepoMeta: Readonly<Record<never, never>>;
  readonly RepoMetaKey: { readonly key: string };
  readonly Repository: RepositorySource;
  readonly MirrorRepositoryInfo: RepositorySource;
  readonly RepositoryTextSearchIndex: TextIndexSource;
  readonly GitRef: RefSource;
  readonly GitObject: ObjectSource;
  readonly GitCommit: CommitSource;
  readonly GitTree: TreeSource;
  readonly GitBlob: BlobSource;
  readonly GitBlobLSIFData: BlobSource;
  readonly Symbol: SymbolSource;
  readonly HighlightedFile: HighlightSource;
  readonly RepositoryComparison: ComparisonSource;
  readonly GitRevisionRange: ComparisonSource;
  readonly FileDiffConnection: FileDiffsSource;
  readonly FileDiff: FileDiffSource;
  readonly FileDiffHunk: HunkSource;
  readonly RepositoryContributor: ContributorSource;
  readonly Person: PersonSource;
  readonly Search: SearchSource;
  readonly SearchResults: SearchResultsSource;
  readonly SearchResultsStats: SearchSource;
  readonly SearchJob: SearchJobSource;
  readonly PreciseIndex: PreciseIndexSource;
  readonly SearchReceipt: ReceiptSource;
  readonly SearchQueryAggregate: AggregateSource;
  readonly FileMatch: FileMatchSource;
  readonly CommitSearchResult: CommitMatchSource;
  readonly SearchContext: ContextSource;
  readonly CodeownersIngestedFile: OwnerFileSource;
  readonly ResolvedBatchSpecWorkspace: BatchWorkspace;
  readonly ExternalService: ExternalServiceSource;
  readonly Site: SiteSource;
  readonly DefaultSettings: DefaultSettingsSource;
  readonly User: UserSource;
  readonly Org: OrganizationSource;
  readonly OrganizationInvitation: InvitationSource;
  readonly Team: TeamSource;
  readonly AccessToken: TokenSource;
  readonly SavedSearch: SavedSearchSource;
  readonly SettingsCascade: CascadeSource;
  readonly ConfigurationCascade: CascadeSource;
  readonly Settings: SettingsSource;
  readonly SettingsMutation: SettingsChangeSource;
  readonly SiteConfiguration: { readonly text: string };
  readonly PermissionsInfo: PermissionsSource;
  readonly SiteUsers: { readonly found: readonly User[] };
}

import type { SavedSearch } from "../account/settings/saved-searches.js";
import type { MatchChange } from "../model/match-change.js";

/** Limits on the matches in one delivery; there are links and counts for the rest. */
export const payloadMatchesMax = 100;
export const payloadBytesMax = 128 * 1024;

/** Repositories listed in one delivery; the changes of the others are only in the sums. */
const listedRepositoriesMax = 200;

/** If more repositories have changes, these are not sent: the receiver is told to look. */
export const changedRepositoriesMax = 10_000;

/** UTF-16 units of the message of a commit, and of what a diff found in it. */
export const messageLengthMax = 2_000;
export const contentLengthMax = 4_000;

export type ChangeCounts = Readonly<Record<MatchChange["change"], number>>;

export const noChanges: ChangeCounts = { came: 0, went: 0, moved: 0 };

/** The changes of one repository. */
export interface ChangedRepository extends ChangeCounts {
  readonly id: number;
}

/** A commit that a search over histories has found. */
export interface NewCommit {
  readonly repository: string;
  readonly repositoryID: number;
  readonly commit: string;
  readonly authorName: string;
  readonly authorDate: string;
  /** Its beginning. */
  readonly message: string;
  /** The beginning of the diff, if the search was for diffs. */
  readonly diff?: string;
  /** The path of its page. */
  readonly url: string;
}

/** What is stored until it is delivered. */
export interface StoredPayload {
  readonly event: "search.changes" | "search.commits" | "search.failed" | "ping";
  /** Those with changes. */
  readonly repositories: readonly ChangedRepository[];
  /** The first of those that came. */
  readonly matches: readonly MatchChange[];
  /** The first of those that came, if the search is for commits. */
  readonly commits?: readonly NewCommit[];
  /** Of the newer state; undefined if the search failed, and of a ping. */
  readonly receipt?: DeliveredReceipt;
  /** Why the changes, or some of them, are not known. */
  readonly error?: string;
}

/** The part of a receipt that says nothing about single repositories. */
export interface DeliveredReceipt {
  readonly generation: string;
  readonly complete: boolean;
  readonly documentsSearched: number;
}

/** What a body says about its search and its delivery. */
export interface BodyHeader {
  readonly id: string;
  readonly createdAt: string;
  readonly search: Pick<SavedSearch, "id" | "description" | "query">;
  /** Name of the user or organization. */
  readonly owner: string;
  /** The id of the saved search in GraphQL. */
  readonly searchId: string;
  readonly url: string;
  /** What precedes the paths of pages. */
  readonly baseUrl: string;
}

export function sumCounts(repositories: readonly ChangeCounts[]): ChangeCounts {
  const sum = { came: 0, went: 0, moved: 0 };
  for (const { came, went, moved } of repositories) {
    sum.came += came;
    sum.went += went;
    sum.moved += moved;
  }
  return sum;
}

/**
 * The part of a payload that its owner may see at the time of delivery; undefined if there is none. Delivery may come hours
 * after evaluation, and the owner may have lost access to a repository meanwhile.
 */
export function visiblePart(
  payload: StoredPayload,
  isVisible: (repositoryId: number) => boolean,
): StoredPayload | undefined {
  const repositories = payload.repositories.filter(({ id }) => isVisible(id));
  if (repositories.length === payload.repositories.length) return payload;
  if (repositories.length === 0) return undefined;
  const { receipt: _, commits, ...rest } = payload;
  const matches = payload.matches.filter(({ repositoryID }) => isVisible(repositoryID));
  const seen = commits?.filter(({ repositoryID }) => isVisible(repositoryID));
  return { ...rest, repositories, matches, ...(seen === undefined ? {} : { commits: seen }) };
}

/** The JSON that is sent; docs/notifications.md describes it. */
export function toBody(
  { id, createdAt, search, owner, searchId, url, baseUrl }: BodyHeader,
  { event, repositories, matches, commits, receipt, error }: StoredPayload,
  nameOf: (repositoryId: number) => string,
): Buffer {
  const counts = sumCounts(repositories);
  const body = {
    id,
    event,
    createdAt,
    search: { id: searchId, description: search.description, query: search.query, owner, url },
    ...(error === undefined ? {} : { error }),
    counts,
    repositories: repositories
      .slice(0, listedRepositoriesMax)
      .map(({ id: repositoryId, ...changes }) => ({ repository: nameOf(repositoryId), ...changes })),
    ...(commits === undefined
      ? { matches, matchesOmitted: counts.came - matches.length }
      : {
          commits: commits.map((commit) => ({ ...commit, url: baseUrl + commit.url })),
          commitsOmitted: counts.came - commits.length,
        }),
    ...(receipt === undefined ? {} : { generation: receipt.generation, receipt }),
  };
  return Buffer.from(JSON.stringify(body));
}

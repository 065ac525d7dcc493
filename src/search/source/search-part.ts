import { addStats, noStats, type SearchStats } from "../../protocol/search-options.js";

/** Of a list that may be long: how many items it has, and the first of them. */
export interface Listed<T> {
  readonly count: number;
  /** All, or as many as its maximum allows. */
  readonly first: readonly T[];
}

/** Names of repositories in one list of a part. */
export const namesMax = 10_000;

/** Sentences, files and others of which a message shows some. */
export const sentencesMax = 1_000;

const nothing: Listed<never> = { count: 0, first: [] };

export function listed<T>(all: readonly T[], firstMax: number): Listed<T> {
  return all.length === 0 ? nothing : { count: all.length, first: all.slice(0, firstMax) };
}

/** A repository that is not searched, because information about it could not be obtained. */
export interface ExcludedRepository {
  readonly repository: string;
  /** Follows its name, as in "there was not enough time to read it". */
  readonly reason: string;
  readonly isLate: boolean;
  /** Whether it is on a node that could not be searched. */
  readonly isOfLostNode?: boolean;
}

/** A revision that a repository does not have. */
export interface MissingRevision {
  readonly repository: string;
  readonly revision: string;
  /** True if several commits have ids that begin so. */
  readonly isAmbiguous?: boolean;
}

/** Numbers of the repositories that one basic query chooses. */
export interface ChoiceCounts {
  readonly chosen: number;
  /** Those of them that were never indexed. */
  readonly cloning: number;
  readonly missing: number;
  /** Whether the query names one of the missing ones in full. */
  readonly namesMissing: boolean;
}

/** What a search of texts examines at most. */
export interface CostEstimate {
  readonly shards: number;
  readonly shardsRuledOut: number;
  readonly documents: number;
  readonly textBytes: number;
}

/** Parts of histories that were not searched. */
export interface HistoryGaps {
  /** Names of the repositories, sorted. */
  readonly repositories: Listed<string>;
  /** Names of those with shallow sources, which lack the older part, sorted. */
  readonly cutRepositories: Listed<string>;
  /** Commits that their mirrors do not have, or cannot read completely. */
  readonly brokenCommits: number;
  /** Changed files whose changes exceed the limit. */
  readonly largeFiles: number;
  /** Commits with a message that exceeds the limit: its end was not searched. */
  readonly cutMessages: number;
}

/**
 * What one source says about its part of a search, apart from results: what it searches, what it costs, and what was
 * left out and why. Plain data, of which filters, progress and alerts are made.
 *
 * It is bounded, whatever is searched: no list has more than `namesMax` items. `mergeParts` adds those of several
 * sources, of which each has repositories of its own: numbers of repositories are sums, and no name is in two parts.
 */
export interface SearchPart {
  /** Repositories that exist for the viewer. */
  readonly visibleCount: number;
  /** Whether the viewer sees all repositories. */
  readonly seesAll: boolean;
  /** By basic query of the plan. */
  readonly choices: readonly ChoiceCounts[];
  /** Names of repositories that were not searched, or not completely. */
  readonly missing: Listed<string>;
  readonly cloning: Listed<string>;
  readonly timedOut: Listed<string>;
  /** Of searched repositories with files whose contents a thread could not index; empty until the last event. */
  readonly quarantined: Listed<string>;
  /** Of searched repositories with missing git objects; empty until the last event. */
  readonly incomplete: Listed<string>;
  /** The repositories that are in at least one of these two lists. */
  readonly partlyIndexedCount: number;
  readonly excludedForkCount: number;
  readonly excludedArchivedCount: number;
  readonly excluded: Listed<ExcludedRepository>;
  /** Each once; empty until the last event. */
  readonly missingRevisions: Listed<MissingRevision>;
  /** The repositories that lack one of them. */
  readonly missingRevisionRepositoryCount: number;
  /** Sentences. */
  readonly failures: Listed<string>;
  readonly historyGaps: HistoryGaps;
  /** Files in which matching the pattern takes too much work, each described with its repository and the reason. */
  readonly costlyFiles: Listed<string>;
  /** Files for which ctags has failed, likewise. */
  readonly filesWithoutSymbols: Listed<string>;
  /** Why symbols of revisions that are not indexed could not be extracted: some of the reasons. */
  readonly symbolFaults: readonly string[];
  /** Shards whose symbols are not known. */
  readonly shardsWithoutSymbols: number;
  /** Shards that were still being searched when the search ended. */
  readonly unfinishedShards: Listed<number>;
  readonly stats: SearchStats;
  /** What was to be expected, if the client asked for it. */
  readonly estimate: CostEstimate;
  /** Whether the results stay the same as long as what is indexed does not change. */
  readonly isRepeatable: boolean;
}

/** Distinct reasons in `symbolFaults`. */
export const symbolFaultsMax = 10;

/**
 * The parts as one. Sums and sorted lists are the same in any order of the parts; other lists have the items of the
 * first part first, so the parts are merged in the order of the sources, not in that in which they answer.
 */
export function mergeParts(parts: readonly SearchPart[]): SearchPart {
  return parts.length === 1 ? parts[0] : parts.reduce(mergeTwo);
}

function mergeTwo(a: SearchPart, b: SearchPart): SearchPart {
  const names = (list: NameList): Listed<string> => join(a[list], b[list], namesMax);
  const sentences = (list: SentenceList): Listed<string> => join(a[list], b[list], sentencesMax);
  const sum = (count: Count): number => a[count] + b[count];
  return {
    visibleCount: sum("visibleCount"),
    seesAll: a.seesAll && b.seesAll,
    choices: a.choices.map((choice, i) => mergeChoices(choice, b.choices[i])),
    missing: names("missing"),
    cloning: names("cloning"),
    timedOut: names("timedOut"),
    quarantined: names("quarantined"),
    incomplete: names("incomplete"),
    partlyIndexedCount: sum("partlyIndexedCount"),
    excludedForkCount: sum("excludedForkCount"),
    excludedArchivedCount: sum("excludedArchivedCount"),
    excluded: join(a.excluded, b.excluded, sentencesMax),
    missingRevisions: join(a.missingRevisions, b.missingRevisions, sentencesMax),
    missingRevisionRepositoryCount: sum("missingRevisionRepositoryCount"),
    failures: sentences("failures"),
    historyGaps: mergeGaps(a.historyGaps, b.historyGaps),
    costlyFiles: sentences("costlyFiles"),
    filesWithoutSymbols: sentences("filesWithoutSymbols"),
    symbolFaults: [...new Set([...a.symbolFaults, ...b.symbolFaults])].slice(0, symbolFaultsMax),
    shardsWithoutSymbols: sum("shardsWithoutSymbols"),
    unfinishedShards: join(a.unfinishedShards, b.unfinishedShards, sentencesMax),
    stats: sumStats(a.stats, b.stats),
    estimate: mergeEstimates(a.estimate, b.estimate),
    isRepeatable: a.isRepeatable && b.isRepeatable,
  };
}

type NameList = "missing" | "cloning" | "timedOut" | "quarantined" | "incomplete";
type SentenceList = "failures" | "costlyFiles" | "filesWithoutSymbols";
type Count =
  | "visibleCount"
  | "partlyIndexedCount"
  | "excludedForkCount"
  | "excludedArchivedCount"
  | "missingRevisionRepositoryCount"
  | "shardsWithoutSymbols";

/** The items of `b` follow those of `a`. Associative, because each list has as many of its items as it may have. */
export function join<T>(a: Listed<T>, b: Listed<T>, firstMax: number): Listed<T> {
  if (a.count === 0) return b;
  if (b.count === 0) return a;
  return { count: a.count + b.count, first: [...a.first, ...b.first].slice(0, firstMax) };
}

/** Like `join`, of sorted lists. */
function joinSorted(a: Listed<string>, b: Listed<string>): Listed<string> {
  return { count: a.count + b.count, first: [...a.first, ...b.first].sort().slice(0, namesMax) };
}

function mergeChoices(a: ChoiceCounts, b: ChoiceCounts): ChoiceCounts {
  return {
    chosen: a.chosen + b.chosen,
    cloning: a.cloning + b.cloning,
    missing: a.missing + b.missing,
    namesMissing: a.namesMissing || b.namesMissing,
  };
}

function mergeGaps(a: HistoryGaps, b: HistoryGaps): HistoryGaps {
  return {
    repositories: joinSorted(a.repositories, b.repositories),
    cutRepositories: joinSorted(a.cutRepositories, b.cutRepositories),
    brokenCommits: a.brokenCommits + b.brokenCommits,
    largeFiles: a.largeFiles + b.largeFiles,
    cutMessages: a.cutMessages + b.cutMessages,
  };
}

function mergeEstimates(a: CostEstimate, b: CostEstimate): CostEstimate {
  return {
    shards: a.shards + b.shards,
    shardsRuledOut: a.shardsRuledOut + b.shardsRuledOut,
    documents: a.documents + b.documents,
    textBytes: a.textBytes + b.textBytes,
  };
}

function sumStats(a: SearchStats, b: SearchStats): SearchStats {
  const sum = noStats();
  addStats(sum, a);
  addStats(sum, b);
  return sum;
}

/** Whether something was not searched, without the time limits and the limit on results. */
export function hasGaps(part: SearchPart): boolean {
  const { repositories, cutRepositories } = part.historyGaps;
  return (
    part.shardsWithoutSymbols +
      part.failures.count +
      part.excluded.count +
      part.costlyFiles.count +
      part.filesWithoutSymbols.count +
      repositories.count +
      cutRepositories.count >
    0
  );
}

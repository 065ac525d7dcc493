import { TrawlError } from "../../base/errors.js";
import { type GroupKind, groupCountMax, type WantedGroups } from "../../model/result-groups.js";
import { lineBytesUnlimited, type ReceiptMode, type SearchRequest } from "../../model/search-request.js";
import type { RequestContext } from "../../browse/request-context.js";
import { RepositorySource, toRepositorySource } from "../../browse/repository-source.js";
import { type Alert, pathOfMatch, type Receipt, type Skipped, type StreamMatch } from "../../model/stream-events.js";
import { type Collected, SearchCollector } from "./search-collector.js";
import { CommitMatchSource, FileMatchSource } from "./match-sources.js";
import type { SearchReceipt } from "../../search/report/search-receipt.js";

/** Matches after which a search stops when its query has no `count:`. */
const defaultCount = 30;

/** Most repository names in the lists of what was not searched. */
const listedRepositoriesMax = 1000;

export interface SearchArguments {
  readonly query: string;
  readonly version: "V1" | "V2" | "V3";
  readonly patternType: string | undefined;
  readonly receipt: ReceiptMode;
  readonly duplicates?: boolean;
  readonly explain?: boolean;
  /** Whether an alert offers something near if nothing is found; the default. */
  readonly near?: boolean;
  /** Longer lines are cut around their matches. */
  readonly lineBytesMax?: number;
}

/** A search that runs once, when a field of its results is first requested. */
export class SearchSource {
  readonly #arguments: SearchArguments;
  #results: Promise<SearchResultsSource> | undefined;

  constructor(given: SearchArguments) {
    this.#arguments = given;
  }

  results(context: RequestContext): Promise<SearchResultsSource> {
    this.#results ??= context.searches.run(() => this.#run(context));
    return this.#results;
  }

  async #run(context: RequestContext): Promise<SearchResultsSource> {
    const {
      query,
      version,
      patternType,
      receipt,
      duplicates = false,
      explain = false,
      near = true,
      lineBytesMax = lineBytesUnlimited,
    } = this.#arguments;
    const requested = requestFor(query, version, patternType, context);
    const collected = await collect(
      { ...requested, lineBytesMax, cutsAround: true, receipt, duplicates, explain, near },
      context,
    );
    if (collected.error !== undefined) throw new TrawlError("bad-request", collected.error);
    const known = new Map<number | undefined, RepositorySource | undefined>();
    return new SearchResultsSource(collected, (match) => {
      const { repositoryID: id } = match;
      if (!known.has(id)) {
        const record = context.repositoryOf(match);
        known.set(id, record && toRepositorySource(record));
      }
      return known.get(id);
    });
  }
}

function requestFor(
  query: string,
  version: SearchArguments["version"],
  patternType: string | undefined,
  { viewer, client, origin }: RequestContext,
): SearchRequest {
  return {
    isForAllNodes: true,
    query,
    version,
    patternType: patternType === undefined ? "" : patternType === "nls" ? "keyword" : patternType,
    display: undefined,
    chunkMatches: true,
    contextLines: 0,
    lineBytesMax: lineBytesUnlimited,
    diffType: "commit",
    defaultCount,
    debug: false,
    receipt: "none",
    viewer,
    client,
    origin,
  };
}

/** Runs a search to its end. Throws `overloaded`, or `cancelled` if the client has disconnected. */
async function collect(request: SearchRequest, context: RequestContext): Promise<Collected> {
  if (context.isCancelled)
    throw new TrawlError("cancelled", "the search was not started, because its client has disconnected");
  const { searcher } = context.services;
  const refusal = searcher.admit(context.client);
  if (refusal !== undefined) throw new TrawlError("overloaded", refusal.message);
  const collector = new SearchCollector((byteCount) => context.searches.takeBytes(byteCount));
  const forget = context.onCancel(() => collector.end());
  searcher.run(request, collector, (end) => collector.recordEnd(end));
  const collected = await collector.collected();
  forget();
  if (context.isCancelled)
    throw new TrawlError("cancelled", "the search was stopped, because its client has disconnected");
  return collected;
}

/** What the values of `SearchAggregationMode` count; undefined for what repositories here do not have. */
const aggregationKinds = {
  REPO: "repository",
  PATH: "path",
  AUTHOR: "author",
  CAPTURE_GROUP: "capture",
  REPO_METADATA: undefined,
  LANGUAGE: "language",
} as const satisfies Readonly<Record<string, GroupKind | undefined>>;

export type AggregationMode = keyof typeof aggregationKinds;

const aggregationModes = Object.keys(aggregationKinds) as AggregationMode[];

/** A mode that counts the matches of a query, or why it cannot. */
export interface ModeAvailability {
  readonly mode: AggregationMode;
  readonly available: boolean;
  readonly reasonUnavailable: string | null;
  readonly reasonType: "INVALID_QUERY" | "INVALID_AGGREGATION_MODE_FOR_QUERY" | null;
}

/** A query of which the matches are counted. */
export class AggregateSource {
  readonly #query: string;
  readonly #patternType: string | undefined;

  constructor(query: string, patternType: string | undefined) {
    this.#query = query;
    this.#patternType = patternType;
  }

  async modes(context: RequestContext): Promise<ModeAvailability[]> {
    return await Promise.all(aggregationModes.map((mode) => this.#find(mode, context)));
  }

  async #find(mode: AggregationMode, context: RequestContext): Promise<ModeAvailability> {
    const by = aggregationKinds[mode];
    const no = (reasonUnavailable: string, reasonType: ModeAvailability["reasonType"]): ModeAvailability => ({
      mode,
      available: false,
      reasonUnavailable,
      reasonType,
    });
    if (by === undefined) return no("repositories have no metadata", "INVALID_AGGREGATION_MODE_FOR_QUERY");
    try {
      await context.services.searcher.requireCountable(this.#request(by, 1, context));
      return { mode, available: true, reasonUnavailable: null, reasonType: null };
    } catch (error) {
      if (!(error instanceof TrawlError) || error.code === "internal") throw error;
      return no(error.message, error.code === "bad-query" ? "INVALID_QUERY" : "INVALID_AGGREGATION_MODE_FOR_QUERY");
    }
  }

  #request(
    by: GroupKind,
    countMax: number,
    context: RequestContext,
  ): SearchRequest & { readonly groups: WantedGroups } {
    return { ...requestFor(this.#query, "V3", this.#patternType, context), groups: { by, countMax } };
  }

  /** The groups in the mode; without one, in the mode that says most about the query. */
  async groups(wanted: AggregationMode | undefined, limit: number, context: RequestContext) {
    if (limit < 1 || limit > groupCountMax)
      throw new TrawlError("bad-request", `limit must be from 1 to ${groupCountMax}, and is ${limit}`);
    const modes = wanted === undefined ? preferredModes : [wanted];
    const found = await Promise.all(modes.map((mode) => this.#find(mode, context)));
    const { mode, reasonUnavailable, reasonType } = found.find(({ available }) => available) ?? found[found.length - 1];
    const by = aggregationKinds[mode];
    if (reasonType !== null || by === undefined)
      return notAvailable(mode, reasonUnavailable ?? "", reasonType ?? "ERROR_OCCURRED");
    const { groups, error } = await context.searches.run(() => collect(this.#request(by, limit, context), context));
    if (groups === undefined) return notAvailable(mode, error ?? "the search has failed", "ERROR_OCCURRED");
    const common = {
      mode,
      groups: groups.groups.map(({ label, count, query = null }) => ({ label, count: intCount(count), query })),
      supportsPersistence: false,
      otherResultCount: intCount(groups.otherMatches),
    };
    if (!groups.complete)
      return {
        __typename: "NonExhaustiveSearchAggregationResult" as const,
        ...common,
        approximateOtherGroupCount: intCount(groups.otherGroups),
      };
    return {
      __typename: "ExhaustiveSearchAggregationResult" as const,
      ...common,
      otherGroupCount: intCount(groups.otherGroups),
    };
  }
}

/** As other servers choose, but for the path, which they take for a single repository. */
const preferredModes: readonly AggregationMode[] = ["CAPTURE_GROUP", "AUTHOR", "REPO"];

function notAvailable(
  mode: AggregationMode,
  reason: string,
  reasonType: "INVALID_QUERY" | "INVALID_AGGREGATION_MODE_FOR_QUERY" | "ERROR_OCCURRED",
) {
  return { __typename: "SearchAggregationNotAvailable" as const, mode, reason, reasonType };
}

/** Why there may be more matches than were found. */
const limitReasons: ReadonlySet<string> = new Set(["shard-match-limit", "document-match-limit"]);

/** Gaps for which clients read other fields: `missing`, `timedout`. */
const namedReasons: ReadonlySet<string> = new Set(["repository-missing", "shard-timeout"]);

/** Clients that do not request `skipped` would otherwise take an incomplete answer for a complete one. */
function gapAlert(skipped: readonly Skipped[]): Alert | undefined {
  const gaps = skipped.filter(({ reason, severity }) => severity === "warn" && !namedReasons.has(reason));
  if (gaps.length === 0) return undefined;
  return {
    title: `Results may be missing: ${gaps.map(({ title }) => title).join(", ")}`,
    description: gaps.map(({ message }) => message).join("\n"),
    proposedQueries: null,
  };
}

type RepositoryLookup = (match: StreamMatch) => RepositorySource | undefined;

/** What a search found. */
export class SearchResultsSource {
  readonly indexUnavailable = false;
  readonly sparkline: readonly number[] = [];
  readonly results: readonly (FileMatchSource | CommitMatchSource | RepositorySource)[];
  readonly repositories: readonly RepositorySource[];
  readonly #collected: Collected;

  constructor(collected: Collected, repositoryOf: RepositoryLookup) {
    this.#collected = collected;
    this.results = groupResults(collected.matches, repositoryOf);
    const byId = new Map(collected.matches.map((match) => [match.repositoryID ?? -1, match]));
    const ordered = [...byId].sort(([a], [b]) => a - b);
    this.repositories = ordered.flatMap(([, match]) => repositoryOf(match) ?? []);
  }

  get matchCount(): number {
    return intCount(this.#matches);
  }

  get #matches(): number {
    return this.#collected.progress?.matchCount ?? 0;
  }

  get resultCount(): number {
    return this.matchCount;
  }

  get approximateResultCount(): string {
    const { end } = this.#collected;
    const mayBeMore =
      this.limitHit ||
      (end !== undefined && (end.notSearched.cloning.length > 0 || end.notSearched.timedOut.length > 0));
    return `${this.#matches}${mayBeMore ? "+" : ""}`;
  }

  get limitHit(): boolean {
    return this.#collected.isCut || this.skipped.some(({ reason }) => limitReasons.has(reason));
  }

  get repositoriesCount(): number {
    return this.repositories.length;
  }

  get elapsedMilliseconds(): number {
    return this.#collected.progress?.durationMs ?? 0;
  }

  get alert() {
    const alert = this.#collected.alert ?? gapAlert(this.#collected.progress?.skipped ?? []);
    if (alert === undefined) return null;
    const proposedQueries =
      alert.proposedQueries?.map(({ description, query }) => ({
        description: description ?? null,
        query,
        annotations: null,
      })) ?? null;
    return { title: alert.title, description: alert.description ?? null, kind: null, proposedQueries };
  }

  get dynamicFilters() {
    return this.#collected.filters.map(({ value, label, count, limitHit, kind }) => ({
      value,
      label,
      count: intCount(count),
      limitHit,
      kind,
    }));
  }

  get skipped() {
    return (this.#collected.progress?.skipped ?? []).map(({ reason, title, message, severity, suggested }) => ({
      reason,
      title,
      message,
      severity,
      suggested: suggested ?? null,
    }));
  }

  get receipt() {
    const receipt = this.#collected.end?.receipt;
    return receipt === undefined ? null : new ReceiptSource(receipt);
  }

  get explain() {
    const { explain } = this.#collected.progress ?? {};
    if (explain === undefined) return null;
    const { plan, estimate, took } = explain;
    return {
      plan,
      estimate:
        estimate === undefined
          ? null
          : { ...estimate, documents: intCount(estimate.documents), textBytes: String(estimate.textBytes) },
      took: { ...took, workerMs: took.workerMs ?? null, stats: took.stats ?? null },
    };
  }

  get duplicates() {
    const { duplicates } = this.#collected.progress ?? {};
    if (duplicates === undefined) return null;
    const { places, matchesInAllPlaces, complete } = duplicates;
    return { places: intCount(places), matchesInAllPlaces: intCount(matchesInAllPlaces), complete };
  }

  /** Names of repositories that were not searched, or not completely. */
  notSearched(why: "cloning" | "missing" | "timedOut"): readonly string[] {
    return (this.#collected.end?.notSearched[why] ?? []).slice(0, listedRepositoriesMax);
  }

  /** Lines that match, by language. */
  get languages() {
    return this.#collected.filters.flatMap(({ kind, label, count }) =>
      kind === "lang" ? [{ name: label, totalBytes: 0, totalLines: intCount(count) }] : [],
    );
  }
}

function groupResults(
  matches: readonly StreamMatch[],
  repositoryOf: RepositoryLookup,
): (FileMatchSource | CommitMatchSource | RepositorySource)[] {
  const results: (FileMatchSource | CommitMatchSource | RepositorySource)[] = [];
  const fileOf = new Map<string, FileMatchSource>();
  const firstOf = new Map<string, FileMatchSource>();
  const duplicates: (readonly [key: string, file: FileMatchSource])[] = [];
  for (const match of matches) {
    const repository = repositoryOf(match);
    // It is an owner, for which the schema has no result, or the repository was removed while the search ran.
    if (repository === undefined) continue;
    const revision = match.branches?.[0] ?? "";
    if (match.type === "repo")
      results.push(new RepositorySource(repository.record, revision === "" ? undefined : revision));
    else if (match.type === "commit") results.push(new CommitMatchSource(repository, match));
    else if (match.path !== undefined) {
      // A file with many matches is sent as several match objects.
      const key = `${match.repositoryID}@${revision}:${pathOfMatch(match)}`;
      const known = fileOf.get(key);
      if (known !== undefined) {
        known.add(match);
        continue;
      }
      const file = new FileMatchSource(repository, revision, match);
      fileOf.set(key, file);
      if (match.contentKey !== undefined && match.duplicate === true) duplicates.push([match.contentKey, file]);
      else {
        if (match.contentKey !== undefined) firstOf.set(match.contentKey, file);
        results.push(file);
      }
    }
  }
  // The first result of a content may come after those that refer to it. One that did not fit leaves them on their own.
  for (const [key, file] of duplicates) {
    const first = firstOf.get(key);
    if (first === undefined) {
      firstOf.set(key, file);
      results.push(file);
    } else first.places.push(file.file);
  }
  return results;
}

/** The receipt of a search, whose lists are read in pages. */
export class ReceiptSource {
  readonly generation: string;
  readonly complete: boolean;
  readonly matchCount: number;
  readonly documentsSearched: number;
  readonly digest: string;
  readonly digestedMatches: number;
  readonly lists: Pick<SearchReceipt, "repositories" | "excluded">;

  constructor(receipt: SearchReceipt) {
    const summary: Receipt = receipt.summary("");
    this.generation = summary.generation;
    this.complete = summary.complete;
    this.matchCount = intCount(summary.matchCount);
    this.documentsSearched = intCount(summary.documentsSearched);
    this.digest = summary.digest;
    this.digestedMatches = intCount(summary.digestedMatches);
    this.lists = receipt;
  }
}

/** The largest value of GraphQL's type `Int`. */
const intMax = 2 ** 31 - 1;

/** A count as an `Int`: a larger one is the largest `Int`, because anything else would make the whole answer an error. */
function intCount(count: number): number {
  return Math.min(count, intMax);
}

import { sleep } from "../base/deadline.js";
import { LiveMap } from "../base/live-map.js";
import { FairSemaphore, refusalMessage, type Release, type ShareLimits } from "../base/fair-semaphore.js";
import { errorMessage, TrawlError } from "../base/errors.js";
import { resultWhileYielding } from "../base/yielding.js";
import type { Log } from "../base/log.js";
import type { Metrics } from "../base/metrics.js";
import type { Catalog } from "../catalog/catalog.js";
import type { CatalogView } from "../catalog/live-shards.js";
import type { BaseRevisions } from "../model/match-change.js";
import type { Quota } from "../model/client.js";
import type { Repository } from "../model/repository.js";
import { BaseListener, type ChangeListener, type SearchListener } from "../model/search-listener.js";
import { originFields } from "../model/request-origin.js";
import { ownRequest, type SearchRequest } from "../model/search-request.js";
import type { WantedGroups } from "../model/result-groups.js";
import { requireCountable } from "./results/group-counts.js";
import { operatorViewer, type Viewer } from "../model/viewer.js";
import { QueryError } from "../query/syntax/query-error.js";
import { choosePatternType } from "../query/syntax/parse.js";
import { toRequestedPatterns } from "../query/plan/pattern-set.js";
import { PlanCache } from "../query/plan/plan-query.js";
import type { SearchContexts } from "../query/plan/search-contexts.js";
import type { SearchPool } from "../pool/search-pool.js";
import type { SearchPlan, PersonFilter, RepositoryFilter } from "../query/plan/plan.js";
import { type ReceiptRange, ReceiptStore, TraceStore, traceWriter } from "./report/latest-searches.js";
import {
  type ChangeOutcome,
  type ChangeProgress,
  type ChangeRequest,
  type ChangeServices,
  type WatchedKind,
  watchedKind,
  requireComparable,
  sendChanges,
} from "./changes/change-search.js";
import { watchFlips } from "./changes/change-watch.js";
import { explainQuery } from "./explain.js";
import { LocalSource, type SourceServices } from "./partition/local-source.js";
import { firstWords } from "./partition/source-record.js";
import {
  chooseIds,
  type Resolution,
  resolveInSteps,
  restrictTo,
  takeInTime,
} from "./repositories/repository-resolver.js";
import { type RootEnvironment, RunningSearch, type RootedSearch, type RunningSummary } from "./root/running-search.js";
import type { SearchReceipt } from "./report/search-receipt.js";
import type { SearchEnd } from "./report/search-report.js";
import type { ChosenHere, PinnedRevision, SearchFleet } from "./source/search-fleet.js";
import { type SearchSpan, toSpan } from "./report/search-span.js";
import { SlowSearches, type SlowSearchLimits } from "./report/slow-searches.js";
import { searchLimits } from "./limits/search-limits.js";
import { rehearseReading } from "./revisions/revision-batches.js";
import { restoreInSteps, type SnapshotUse } from "./snapshot/search-snapshot.js";
import { answerError } from "./report/alerts.js";
import { escapeRegexp } from "../base/text.js";

/** Limit on the running searches that are described at once. */
const describedMax = 100;

/** How long a refused client is asked to wait, in seconds. */
const retryAfterSeconds = 1;

/** Why a search is not admitted. */
export interface Refusal {
  /** 429 if the client has used up its share, 503 if the limit for all clients has been reached. */
  readonly status: 429 | 503;
  readonly message: string;
  readonly retryAfterSeconds: number;
}

/** Services of the daemon that searches use, and its limits: each part of a search asks for those that it uses. */
export interface SearchEnvironment extends SourceServices, RootEnvironment {
  readonly catalog: Catalog;
  readonly pool: SearchPool;
  readonly log: Log;
  /** Which searches are logged. */
  readonly slowSearches: SlowSearchLimits;
  /** Called with the span of each search that has ended; undefined if nobody wants it. */
  readonly onSpan?: ((span: SearchSpan) => void) | undefined;
}

type SharedEnvironment = Omit<SearchEnvironment, "traceUrl" | "receiptUrl">;

/** What is different in each search. */
interface OwnEnvironment extends Pick<SearchEnvironment, "traceUrl" | "receiptUrl"> {
  readonly origin: SearchRequest["origin"];
}

/**
 * Returns a function that makes the environment of a search. Its log names the request, and is made for a line, because most searches
 * write none.
 *
 * All have one getter. With an object literal that has one, V8 made a hidden class for each search, which lies in the old generation,
 * and kept alive what the getter refers to, the whole search, until the next full collection.
 */
function shareEnvironment(environment: SharedEnvironment): (own: OwnEnvironment) => SearchEnvironment {
  const shared = Object.create(environment, {
    log: {
      get(this: OwnEnvironment): Log {
        return environment.log.child(originFields(this.origin));
      },
    },
  }) as SharedEnvironment;
  return (own) => Object.assign(Object.create(shared) as SharedEnvironment, own);
}

/** What to search for, and where. */
type ChosenSearch = HereSearch | SpreadSearch;

/** A search of several nodes, of which each chooses. */
interface SpreadSearch {
  readonly plan: SearchPlan;
  readonly fleet: SearchFleet;
}

/** A search in this process. */
interface HereSearch {
  readonly plan: SearchPlan;
  readonly fleet: undefined;
  readonly view: CatalogView;
  /** By basic query of the plan. */
  readonly resolutions: readonly Resolution[];
  /** Undefined unless the search may have to be repeated. */
  readonly snapshot: SnapshotUse | undefined;
}

/**
 * Admits searches, starts them, and counts them.
 *
 * Up to `search.concurrent` searches run; up to `search.queue` more wait, and their clients are served round-robin; a
 * further one is refused before its stream starts. One client may use a share of both.
 */
export class Searcher {
  readonly #environment: SharedEnvironment;
  readonly #environmentFor: (own: OwnEnvironment) => SearchEnvironment;
  readonly #permits: FairSemaphore;
  readonly #metrics: Metrics;
  readonly #plans = new PlanCache();
  readonly #slowSearches: SlowSearches;
  readonly #traces = new TraceStore();
  readonly #receipts: ReceiptStore;
  readonly #running = new LiveMap<number, RunningSearch>();
  #nextId = 1;
  #isStopping = false;
  #baseUrl = "";
  /** The search contexts that a viewer may use. Running searches keep those they began with. */
  contextsOf: (viewer: Viewer) => SearchContexts = () => new Map();
  /** The other nodes; undefined on a single host. */
  fleet: SearchFleet | undefined;
  /** What `author:@name` refers to. */
  addressesOf: AddressLookup = () => undefined;

  constructor(environment: SharedEnvironment, limits: ShareLimits, metrics: Metrics) {
    this.#environment = environment;
    this.#environmentFor = shareEnvironment(environment);
    this.#receipts = new ReceiptStore((viewer) => environment.catalog.repositoryTable(viewer));
    this.#slowSearches = new SlowSearches(environment.slowSearches, environment.log);
    this.#permits = new FairSemaphore(limits);
    this.#metrics = metrics;
  }

  /** The base of trace URLs, known once the server listens. */
  get baseUrl(): string {
    return this.#baseUrl;
  }

  set baseUrl(url: string) {
    this.#baseUrl = url;
  }

  /** Must be called before `run`. */
  admit(client: string): Refusal | undefined {
    if (this.#isStopping) return this.#refuse(503, "The daemon is stopping.");
    const spent = this.#environment.budgets.refusal(client);
    if (spent !== undefined) return this.#refuse(429, spent.message, spent.retryAfterSeconds);
    const full = this.#permits.refusal(client);
    if (full === undefined) return undefined;
    if (full === "client") return this.#refuse(429, refusalMessage(full, "searches"));
    return this.#refuse(
      503,
      `Too many searches: ${this.#permits.count} are running and ${this.#permits.waitingCount} are waiting (search.concurrent and search.queue). Try again in a moment.`,
    );
  }

  /** The limits on the searches of a client, and what is left once another one has begun. */
  quotas(client: string): readonly Quota[] {
    const { countMax, left } = this.#permits.room(client);
    const begun: Quota = { name: "searches", unit: "concurrent-requests", countMax, left: Math.max(0, left - 1) };
    return [begun, ...this.#environment.budgets.quotas(client)];
  }

  /**
   * `onEnd` is called with the outcome of the search, right after its last event; not if the query is invalid. With a
   * `snapshot`, the search can be repeated in the state that it searches.
   */
  run(request: SearchRequest, sink: SearchListener, onEnd?: (end: SearchEnd) => void, snapshot?: SnapshotUse): void {
    const leave = this.#permits.acquire(request.client, (release) => {
      this.#countWaiting();
      try {
        this.#start(request, sink, onEnd, release, snapshot);
      } catch (error) {
        this.#fail(request, sink, error, release);
      }
    });
    sink.onClosed(() => {
      leave();
      this.#countWaiting();
    });
    this.#countWaiting();
  }

  /** Like `run`, for what changed since an earlier search; the caller ends the sink. Never rejects. */
  sendChanges(request: ChangeRequest, sink: ChangeListener, progress: ChangeProgress): Promise<ChangeOutcome> {
    const { maxTimeoutMs: timeoutMs, revisions } = this.#environment;
    const run: ChangeServices["run"] = (given, collector, onEnd) => this.run(given, collector, onEnd);
    const forget: ChangeServices["forget"] = (receipt) => this.forgetReceipt(receipt);
    return sendChanges(request, sink, { run, reads: revisions.reads, timeoutMs, forget }, progress);
  }

  /** Nobody will ask for this receipt. */
  forgetReceipt(receipt: SearchReceipt): void {
    this.#receipts.forget(receipt);
  }

  /**
   * The revisions that a receipt lists; undefined if it is no longer available, or not visible to this viewer. Throws `bad-request` if
   * other nodes have told only some of them.
   */
  receiptRevisions(id: string, viewer: Viewer): BaseRevisions | undefined {
    return this.#receipts.revisions(id, viewer);
  }

  /** Calls back whenever repositories of this node have been indexed that the viewer may see. Returns a function that ends it. */
  watchFlips(viewer: Viewer, onFlip: () => void): () => void {
    return watchFlips(this.#environment.catalog.watchers, viewer, onFlip);
  }

  #countWaiting(): void {
    this.#metrics.searchesQueued.set(this.#permits.waitingCount);
  }

  /** The text of `trawl explain`. Throws `bad-query` with a caret under the position. */
  explain({ query, patternType }: { readonly query: string; readonly patternType: string }): Promise<string> {
    return explainQuery(query, patternType, this.contextsOf(operatorViewer), this.#nextId++, this.#environment);
  }

  get isSearching(): boolean {
    return this.#running.size > 0;
  }

  /** Searches that are waiting for a permit. */
  get waitingCount(): number {
    return this.#permits.waitingCount;
  }

  /** The searches that have been running longest. */
  running(): readonly RunningSummary[] {
    return this.#running
      .values()
      .slice(0, describedMax)
      .map((search) => search.describe());
  }

  /** Entries of the maps of all searches. */
  get mapSizes(): Readonly<Record<"traces" | "receipts" | "plans" | "budgets", number>> {
    return {
      traces: this.#traces.size,
      receipts: this.#receipts.size,
      plans: this.#plans.size,
      budgets: this.#environment.budgets.size,
    };
  }

  trace(id: string, viewer: Viewer): string | undefined {
    return this.#traces.get(id, viewer, this.#environment.catalog.seesAll(viewer));
  }

  /** Part of a list of a receipt; undefined if it is no longer available, or not visible to this viewer. */
  receiptPage(id: string, range: ReceiptRange, viewer: Viewer): ReturnType<ReceiptStore["page"]> {
    return this.#receipts.page(id, range, viewer);
  }

  /**
   * Ends all searches with the results so far; waiting ones are answered with an alert. Resolves when none is running.
   */
  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const search of this.#running.values()) search.stop(stopMessage);
    this.#permits.startAll();
    while (this.#permits.count > 0) await new Promise((resolve) => setImmediate(resolve));
  }

  #refuse(status: Refusal["status"], message: string, seconds: number = retryAfterSeconds): Refusal {
    this.#metrics.searches.inc({ outcome: "refused" });
    return { status, message, retryAfterSeconds: seconds };
  }

  #start(
    request: SearchRequest,
    sink: SearchListener,
    onEnd: ((end: SearchEnd) => void) | undefined,
    release: Release,
    snapshot: SnapshotUse | undefined,
  ): void {
    const finish = (end: SearchEnd): void => {
      onEnd?.(end);
      release();
    };
    const begin = (chosen: ChosenSearch): void => {
      const countResults: RootedSearch["countResults"] = (query, stopped) =>
        this.#countResults({ ...request, query, patternType: "", near: false }, stopped);
      this.#begin(request, chosen, snapshot === undefined ? countResults : undefined, sink, finish);
    };
    void resultWhileYielding(this.#startInSteps(request, sink, begin, snapshot)).then(
      (hasBegun) => {
        if (!hasBegun) release();
      },
      (error: unknown) => this.#fail(request, sink, error, release),
    );
  }

  /**
   * Planning a query of 64 KiB takes up to 200 ms, and so does choosing among many repositories, so other work is
   * interleaved. Returns whether the search has been started.
   */
  *#startInSteps(
    request: SearchRequest,
    sink: SearchListener,
    begin: (chosen: ChosenSearch) => void,
    snapshot: SnapshotUse | undefined,
  ): Generator<void, boolean> {
    if (sink.closed) return false;
    const pinned = snapshot?.pinned;
    const plan = pinned?.plan ?? (yield* this.#plan(request));
    if (request.since !== undefined) requireComparable(plan);
    if (request.groups !== undefined) requireCountable(plan, request.groups.by);
    if (request.refusesOwners === true) requireNoOwners(plan, request.query);
    const fleet = this.#findFleet(plan, request, snapshot !== undefined);
    if (fleet !== undefined) {
      fleet.requireSearchable(request);
      begin({ plan, fleet });
      return true;
    }
    const { catalog } = this.#environment;
    const view = catalog.view();
    let isTaken = false;
    try {
      const table = catalog.repositoryTable(request.viewer);
      const filters = repositoryFilters(plan, request);
      const work = pinned === undefined ? resolveInSteps(table, filters) : restoreInSteps(pinned, table);
      const chosen = yield* takeInTime(work, {
        timeoutMs: Math.max(...searchLimits(plan, request, this.#environment).timeoutsMs),
        isWanted: () => !sink.closed,
        isStopping: () => this.#isStopping,
      });
      if (chosen === undefined) return false;
      const resolutions = restrictTo(chosen, request.scope?.repositoryIds);
      isTaken = true;
      begin({ plan, view, resolutions, snapshot, fleet: undefined });
      return true;
    } finally {
      if (!isTaken) view.release();
    }
  }

  /** The nodes that are to be asked; undefined if this one searches alone. One that has everything answers what has to be repeatable. */
  #findFleet(plan: SearchPlan, request: SearchRequest, isRepeatable: boolean): SearchFleet | undefined {
    const { fleet } = this;
    if (request.isForAllNodes !== true || fleet === undefined || fleet.searchesHere(plan, request)) return undefined;
    return isRepeatable && fleet.hasAll ? undefined : fleet;
  }

  /**
   * The number of results of a search that is part of another one: it has the permit of that one, and leaves neither a
   * trace nor a receipt. Undefined if the query is invalid, or the search does not end normally.
   */
  async #countResults(request: SearchRequest, stopped: Promise<unknown>): Promise<number | undefined> {
    const sink = new BaseListener();
    void stopped.then(() => sink.end());
    const environment = { ...this.#environment, traceUrl: "", receiptUrl: "" };
    try {
      return await new Promise<number | undefined>((resolve, reject) => {
        const onEnd = ({ outcome, matchCount }: SearchEnd): void => {
          resolve(outcome === "complete" || outcome === "limit" ? matchCount : undefined);
        };
        const begin = (chosen: ChosenSearch): void => {
          const counted = { ...request, receipt: "none", explain: false, duplicates: false } as const;
          const rooted = this.#toRooted(this.#nextId++, chosen, undefined, environment);
          void new RunningSearch(counted, rooted, environment, sink, onEnd).run();
        };
        resultWhileYielding(this.#startInSteps(request, sink, begin, undefined)).then((hasBegun) => {
          if (!hasBegun) resolve(undefined);
        }, reject);
      });
    } catch (error) {
      if (error instanceof TrawlError) return undefined;
      throw error;
    }
  }

  *#plan({ query, version, patternType, viewer, patterns }: SearchRequest): Generator<void, SearchPlan> {
    const type = choosePatternType(query, version, patternType);
    const requested = patterns && toRequestedPatterns(patterns, type);
    const planned = yield* this.#plans.planInSteps(query, type, this.contextsOf(viewer), requested);
    return replaceUsers(planned, this.addressesOf);
  }

  /**
   * Runs a search as the page does, and drops its results, so that the code that the first client's search needs on this
   * thread is compiled. It takes no permit, and is not counted. It ends early when `stop` is aborted.
   */
  async warmUp(query: string, stop: AbortSignal): Promise<void> {
    const request = ownRequest(query, operatorViewer, "");
    const shown = { patternType: "keyword", display: warmUpDisplay, chunkMatches: true, contextLines: 1 } as const;
    const done = new AbortController();
    try {
      const stopped = sleep(warmUpMs, AbortSignal.any([stop, done.signal]));
      await this.#countResults({ ...request, ...shown, near: false }, stopped);
    } finally {
      done.abort();
    }
  }

  /**
   * Lets the read threads do what the first search of a commit that is not indexed makes them do, with one of the
   * repositories of the view. Does nothing if none is large enough. It ends early when `stop` is aborted.
   */
  async warmUpReads(view: CatalogView, stop: AbortSignal): Promise<void> {
    const { catalog, revisions, log } = this.#environment;
    const repositories = catalog.repositoryTable(operatorViewer);
    const ids = new Set(view.shards.flatMap(({ record }) => record.repositoryIds.slice(0, 1)).slice(0, warmUpChoices));
    const known = [...ids].map((id) => repositories.byId(id)).filter((one) => one !== undefined);
    const repository = known
      .filter(({ documentCount }) => documentCount <= warmUpDocuments)
      .reduce<Repository | undefined>(
        (best, one) => (one.documentCount > (best?.documentCount ?? 0) ? one : best),
        undefined,
      );
    if (repository === undefined || stop.aborted) return;
    const word = new Int32Array(new SharedArrayBuffer(4));
    const end = (): void => void Atomics.store(word, 0, 1);
    stop.addEventListener("abort", end);
    try {
      await rehearseReading(repository, view, revisions, word);
    } catch (error) {
      // A search of such a commit will report the same.
      log.info({ repository: repository.name, error: errorMessage(error) }, "reading a commit in advance failed");
    } finally {
      stop.removeEventListener("abort", end);
    }
  }

  /** The repositories that a search chooses, by id. Throws `bad-query`. */
  async chooseRepositories(request: SearchRequest): Promise<readonly number[]> {
    const plan = await resultWhileYielding(this.#plan(request));
    return resultWhileYielding(chooseIds(plan, this.#environment.catalog.repositoryTable(request.viewer)));
  }

  /** Throws `bad-query`, or `bad-request` if its matches cannot be counted by what the request names. */
  async requireCountable(request: SearchRequest & { readonly groups: WantedGroups }): Promise<void> {
    requireCountable(await resultWhileYielding(this.#plan(request)), request.groups.by);
  }

  /**
   * What the results are of a search that is repeated to tell what is new. Throws `bad-query`, or `bad-request` if the new ones cannot
   * be told from the others.
   */
  async watchedKind(request: SearchRequest): Promise<WatchedKind> {
    return watchedKind(await resultWhileYielding(this.#plan(request)));
  }

  /** An error thrown by a search before it runs must release its permit. */
  #fail(request: SearchRequest, sink: SearchListener, error: unknown, release: Release): void {
    answerError(request, sink, error, this.#environment.log);
    this.#metrics.searches.inc({ outcome: "failed" });
    release();
  }

  /** A search of what was chosen in this process, which is its only source. */
  #toRooted(
    id: number,
    chosen: ChosenSearch,
    countResults: RootedSearch["countResults"],
    environment: SourceServices,
  ): RootedSearch {
    if (chosen.fleet !== undefined) return this.#toSpread(chosen, countResults);
    const { plan, view, resolutions, snapshot } = chosen;
    const choice = { id, view, resolutions, snapshot, idBase: 0 };
    const here: RootedSearch = {
      plan,
      openSources: (search, root) => [new LocalSource(search, choice, environment, root)],
      countResults,
    };
    return this.fleet?.searchesHere(plan) !== false ? here : { ...here, isAlone: true, countResults: undefined };
  }

  /** A search of which this node is the coordinator. */
  #toSpread({ plan, fleet }: SpreadSearch, countResults: RootedSearch["countResults"]): RootedSearch {
    return {
      plan,
      openSources: (search, root) => {
        const { catalog } = this.#environment;
        const areNone = catalog.repositoryTable(operatorViewer).count === 0;
        const table = catalog.repositoryTable(search.request.viewer);
        return fleet.openSources(search, root, { areNone, has: (name) => table.byName(name) !== undefined });
      },
      countResults,
    };
  }

  /** All of this node, whoever may see them. */
  repositories(): readonly Repository[] {
    return this.#environment.catalog.repositoryTable(operatorViewer).records();
  }

  /** Chooses what this node searches for another one, as far as the viewer may see it. */
  async chooseHere(
    plan: SearchPlan,
    request: SearchRequest,
    timeoutMs: number,
    isWanted: () => boolean,
    pinned: readonly PinnedRevision[],
    partitions: readonly number[] | undefined,
  ): Promise<ChosenHere | undefined> {
    const { catalog } = this.#environment;
    const { viewer } = request;
    const { idBase = 0 } = this.fleet ?? {};
    const share = partitions && catalog.partitions.share(partitions);
    if (share !== undefined) await resultWhileYielding(catalog.shareInSteps(viewer, share));
    const table = catalog.repositoryTable(viewer, share);
    const view = catalog.view();
    let resolutions: readonly Resolution[] | undefined;
    try {
      const settings = { timeoutMs, isWanted, isStopping: () => this.#isStopping };
      const chosen = await resultWhileYielding(
        takeInTime(resolveInSteps(table, repositoryFilters(plan, request)), settings),
      );
      const ids = request.scope?.repositoryIds;
      const ownIds = ids && new Set([...ids].map((id) => id - idBase));
      resolutions = chosen && restrictTo(chosen, ownIds);
    } finally {
      if (resolutions === undefined) view.release();
    }
    if (resolutions === undefined) return undefined;
    const lent = { ...view, release: () => undefined };
    const choice = { view: lent, resolutions, snapshot: undefined, idBase, pinned, share };
    const state = { visibleCount: table.count, seesAll: catalog.seesAll(viewer), isRepeatable: false };
    let last: LocalSource | undefined;
    let ranking: LocalSource["ranking"];
    return {
      first: () => firstWords(plan, choice.resolutions, state),
      open: (search, root, from) => {
        ranking = last?.ranking ?? ranking;
        const continued = from === undefined ? undefined : { ranking, from };
        last = new LocalSource(search, { ...choice, id: this.#nextId++, continued }, this.#environment, root);
        return last;
      },
      release: () => view.release(),
    };
  }

  #begin(
    request: SearchRequest,
    chosen: ChosenSearch,
    countResults: RootedSearch["countResults"],
    sink: SearchListener,
    onEnd: (end: SearchEnd) => void,
  ): void {
    const id = this.#nextId++;
    const traceId = this.#traces.newId();
    const environment = this.#environmentFor({
      origin: request.origin,
      traceUrl: `${this.#baseUrl}/.api/search/trace/${traceId}`,
      receiptUrl: `${this.#baseUrl}/.api/search/receipt/${traceId}`,
    });
    const rooted = this.#toRooted(id, chosen, countResults, environment);
    const search = new RunningSearch(request, rooted, environment, sink, (end) => {
      this.#recordEnd(id, traceId, request, chosen.plan, end);
      onEnd(end);
    });
    this.#running.set(id, search);
    this.#metrics.searchesRunning.set(this.#running.size);
    void search.run();
    if (this.#isStopping) search.stop(stopMessage);
  }

  #recordSpan(traceId: string, request: SearchRequest, end: SearchEnd): void {
    const { onSpan } = this.#environment;
    if (onSpan === undefined) return;
    const span = toSpan(request, end, `${this.#baseUrl}/.api/search/trace/${traceId}`);
    if (span !== undefined) onSpan(span);
  }

  #recordEnd(id: number, traceId: string, request: SearchRequest, plan: SearchPlan, end: SearchEnd): void {
    this.#running.delete(id);
    this.#metrics.searchesRunning.set(this.#running.size);
    this.#metrics.searches.inc({ outcome: end.outcome });
    this.#metrics.searchMatches.inc(end.matchCount);
    this.#metrics.searchBytesScanned.inc(end.stats.scannedBytes);
    this.#metrics.searchShardScans.inc(end.stats.shardsSearched);
    this.#metrics.searchSeconds.observe({ lane: end.lane }, end.durationMs / 1000);
    if (end.stoppingMs !== undefined) this.#metrics.searchStopSeconds.observe(end.stoppingMs / 1000);
    if (end.firstMatchesMs !== undefined)
      this.#metrics.searchFirstMatchesSeconds.observe({ lane: end.lane }, end.firstMatchesMs / 1000);
    this.#recordSpan(traceId, request, end);
    // Nobody asks for those of the daemon's own searches, which would displace others.
    if (request.scope !== undefined) return;
    this.#slowSearches.record(request, end, `/.api/search/trace/${traceId}`);
    // The statistics of a search reveal information about repositories that its viewer may not see, because they share
    // shards with others.
    if (end.receipt !== undefined) this.#receipts.add(traceId, end.receipt, request.viewer);
    const seesAll = this.#environment.catalog.seesAll(request.viewer);
    this.#traces.add(traceId, traceWriter(request, plan, end, seesAll), request.viewer);
  }
}

/** A commit with more documents takes too long to compare in a warm-up, which chooses among this many repositories. */
const warmUpDocuments = 100_000;
const warmUpChoices = 64;

/** Results that a warm-up asks for, and after how long it is given up. */
const warmUpDisplay = 50;
const warmUpMs = 1_000;

const stopMessage = "the daemon is stopping";

/** The verified addresses of a user; undefined if there is no such user. */
export type AddressLookup = (userName: string) => readonly string[] | undefined;

const matchesNothing = String.raw`[^\x00-\x{10FFFF}]`;

/**
 * Replaces `author:@ann` and `committer:@ann` by the addresses of the user ann, whatever `case:` says. A name that no
 * user has remains a regexp.
 */
export function replaceUsers(plan: SearchPlan, addressesOf: AddressLookup): SearchPlan {
  const isNamed = plan.basicQueries.some(({ history }) => history.some(({ persons }) => persons.some(namesUser)));
  if (!isNamed) return plan;
  return {
    ...plan,
    basicQueries: plan.basicQueries.map((basic) => ({
      ...basic,
      history: basic.history.map((history) => ({
        ...history,
        persons: history.persons.map((filter) => (namesUser(filter) ? replaceUser(filter, addressesOf) : filter)),
      })),
    })),
  };
}

function namesUser({ source }: PersonFilter): boolean {
  return /^@[\w.-]+$/.test(source);
}

function replaceUser(filter: PersonFilter, addressesOf: AddressLookup): PersonFilter {
  const addresses = addressesOf(filter.source.slice(1));
  if (addresses === undefined) return filter;
  const source = addresses.length === 0 ? matchesNothing : `^(?:${addresses.map(escapeRegexp).join("|")})$`;
  return { ...filter, source, foldCase: true };
}

/** By basic query, which repositories it chooses. */
function repositoryFilters({ basicQueries }: SearchPlan, { scope }: SearchRequest): readonly RepositoryFilter[] {
  return basicQueries.map(({ repositories }) =>
    scope?.onlyIndexedRevisions === true ? { ...repositories, onlyIndexedRevisions: true } : repositories,
  );
}

/** Throws a `QueryError` if results are owners. */
function requireNoOwners({ resultOptions }: SearchPlan, query: string): void {
  if (!resultOptions.some(({ select }) => select === "file.owners")) return;
  const from = Math.max(0, query.toLowerCase().indexOf("file.owners"));
  throw new QueryError(
    "select:file.owners has results of the type person, at which this client ends with an error; search with " +
      "another one, such as trawl search; if it knows all types, the operator can set search.diffType to diff",
    query,
    { from, to: query.length === 0 ? 0 : from + "file.owners".length },
  );
}

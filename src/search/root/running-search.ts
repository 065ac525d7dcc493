import { assert } from "../../base/assert.js";
import { callAfter, type PendingCall } from "../../base/deadline.js";
import { errorMessage } from "../../base/errors.js";
import type { Log } from "../../base/log.js";
import { resultWhileYielding } from "../../base/yielding.js";
import type { SearchListener } from "../../model/search-listener.js";
import type { ResultGroups } from "../../model/result-groups.js";
import type { SearchRequest } from "../../model/search-request.js";
import type { Alert, ExplainedCost } from "../../model/stream-events.js";
import { ContentClaims } from "../../protocol/content-claims.js";
import { ControlBlock, endTaking } from "../../protocol/control-block.js";
import type { FoundCommit } from "../../protocol/commit-page.js";
import type { SearchPlan } from "../../query/plan/plan.js";
import { choosePatternType } from "../../query/syntax/parse.js";
import { printPlan, printPlanWithoutLists } from "../../query/plan/print.js";
import {
  type CostBudgets,
  CostWatch,
  creditBytes,
  creditWaitMs,
  type LimitDefaults,
  SearchClocks,
  searchLimits,
  type SearchLimits,
} from "../limits/search-limits.js";
import { findNear, leftOut } from "../report/near-results.js";
import { visibleMs } from "../report/omissions.js";
import { SearchCourse, type SearchEnd, SearchReport } from "../report/search-report.js";
import { SearchReceipt } from "../report/search-receipt.js";
import { EventStream, ResultCounts, SearchResults } from "../results/search-results.js";
import { type FoundChanges, mergeChanges, untoldRevisions } from "../source/found-changes.js";
import { untoldPart } from "../source/receipt-part.js";
import { mergeParts, type SearchPart } from "../source/search-part.js";
import type {
  FoundResult,
  SourcedBatch,
  SourcedSearch,
  SearchSource,
  SourceListener,
  SourceRoot,
} from "../source/search-source.js";

/**
 * A stopped search waits this long for its slices, and then ends without them. They check the stop flag every 5 ms, so
 * only a slice in a long call of RE2, or one that waits for the disk or a processor, is later.
 */
const stopWaitMs = 500;

/** UTF-16 units of a query that the operator is shown. */
const describedLength = 200;

/** A search that is running, as the operator sees it. */
export interface RunningSummary {
  /** Its beginning. */
  readonly query: string;
  readonly user: string;
  /** The address of the client, or what the search belongs to. */
  readonly from: string;
  readonly lane: SearchLimits["lane"];
  readonly durationMs: number;
  readonly workerMs: number;
  readonly scannedBytes: number;
  readonly matchCount: number;
}

/** What to search for, and where. */
export interface RootedSearch {
  readonly plan: SearchPlan;
  /** Makes the sources of the results, which are merged in this order. At least one. */
  readonly openSources: (search: SourcedSearch, root: SourceRoot) => readonly SearchSource[];
  /** Whether only one node of several is searched. */
  readonly isAlone?: boolean;
  /**
   * How many results another query has for the same viewer; undefined if it is not known. Ends early when `stopped`
   * resolves. Absent for a search that itself only counts, or that is repeated.
   */
  readonly countResults: ((query: string, stopped: Promise<unknown>) => Promise<number | undefined>) | undefined;
}

/** Services and limits of the daemon that the root of a search uses. */
export interface RootEnvironment extends LimitDefaults {
  /** Its threads search. */
  readonly pool: { readonly workerCount: number };
  /** What the searches of each client may cost. */
  readonly budgets: CostBudgets;
  readonly log: Log;
  /** The `trace` URL of progress events. */
  readonly traceUrl: string;
  /** The `url` of receipts. */
  readonly receiptUrl: string;
}

/**
 * One search from its plan to its last event: the root of its parts, of which each knows only those before it.
 *
 *     control block, limits        what all threads of the search share
 *     ResultCounts, SearchCourse   plain state: what was found, and how the search goes
 *     SearchReport                 filters, progress, alert and receipt, made from this state and the parts of the sources
 *     EventStream                  passes matches and reports to the listener, at its pace
 *     SearchResults                counts results, and hands their bytes to the stream
 *     SearchSource, one or more    find them, and deliver to this object (`SourceListener`)
 *
 * It knows neither repositories nor shards: what it says about them comes from its sources, of which a search in one
 * process has one.
 *
 * No slice delays the last event: it is sent within `stopWaitMs` of the timeout, or of the end of the client's connection. Passing on
 * results that were found before then may take `stopWaitMs` more.
 * What slices read stays in memory until the last of them has ended.
 */
export class RunningSearch implements SourceListener {
  readonly #request: SearchRequest;
  readonly #rooted: RootedSearch;
  readonly #environment: RootEnvironment;
  readonly #listener: SearchListener;
  readonly #onEnd: (end: SearchEnd) => void;
  readonly #limits: SearchLimits;
  readonly #control: ControlBlock;
  readonly #counts: ResultCounts;
  readonly #course = new SearchCourse();
  readonly #report: SearchReport;
  readonly #stream: EventStream;
  readonly #results: SearchResults;
  readonly #sources: readonly SearchSource[];
  readonly #clocks: SearchClocks;
  /** Undefined if nothing is limited, or the search is part of a job. */
  readonly #costWatch: CostWatch | undefined;
  readonly #stop = new StopMoment();
  readonly #notice: Alert | undefined;
  #isEnded = false;

  constructor(
    request: SearchRequest,
    rooted: RootedSearch,
    environment: RootEnvironment,
    listener: SearchListener,
    onEnd: (end: SearchEnd) => void,
  ) {
    this.#request = request;
    this.#rooted = rooted;
    this.#environment = environment;
    this.#listener = listener;
    this.#onEnd = onEnd;
    const { plan } = rooted;
    const { pool, budgets, traceUrl } = environment;
    const { client, scope } = request;
    const startedMs = performance.now();
    const limits = searchLimits(plan, request, environment);
    this.#notice = scope === undefined && rooted.isAlone === true ? notice : undefined;
    const control = ControlBlock.allocate(pool.workerCount, creditBytes, creditWaitMs);
    const claims = request.duplicates === true ? ContentClaims.allocate().memory : undefined;
    const counts = new ResultCounts(
      limits,
      control,
      { receipt: request.receipt !== "none", claims },
      request.groups?.by,
    );
    const nameOf = (repositoryId: number): string => this.#nameOf(repositoryId);
    this.#limits = limits;
    this.#control = control;
    this.#counts = counts;
    this.#report = new SearchReport({
      queryText: request.query,
      plan,
      limits,
      counts,
      course: this.#course,
      part: (isLast) => this.#mergeParts(isLast),
      nameOf,
      startedMs,
      traceUrl,
    });
    this.#stream = new EventStream(listener, this.#report);
    this.#results = new SearchResults(limits, control, counts, nameOf, this.#stream);
    this.#sources = rooted.openSources(
      { request, plan, limits, control, claims, startedMs },
      { listener: this, pace: this.#stream, stopped: this.#stop.stopped, late: this.#course.late },
    );
    if (budgets.isOn && scope === undefined)
      this.#costWatch = new CostWatch(control, budgets, client, (message) => this.#exceedBudget(message));
    this.#clocks = new SearchClocks(limits.timeoutsMs, {
      onExpired: () => this.#expire(),
      onOptionsExpired: (optionsIndex) => this.#expireOptions(optionsIndex),
    });
  }

  /** Runs the search to its last event, and then until all its work has ended. Never rejects. */
  async run(): Promise<void> {
    this.#listener.onClosed(() => this.#cancel());
    this.#listener.onDrain(() => this.advanced());
    const work = this.#runSources();
    await Promise.race([work, this.#stop.grace(stopWaitMs)]);
    if (this.#sources.some(({ isPassingOn }) => isPassingOn)) await Promise.race([work, this.#stop.grace(stopWaitMs)]);
    // Most searches need none of these, and each of them would wait.
    const { receipt: wantedReceipt, groups: wantedGroups } = this.#request;
    if (this.#counts.matchCount === 0) await this.#findNear();
    const receipt = wantedReceipt === "none" ? undefined : await this.#makeReceipt();
    const groups = wantedGroups === undefined ? undefined : await this.#makeGroups();
    this.#finish(receipt, groups);
    await work;
    for (const source of this.#sources) source.release();
  }

  async #runSources(): Promise<void> {
    await Promise.all(this.#sources.map((source) => this.#runSource(source)));
  }

  async #runSource(source: SearchSource): Promise<void> {
    try {
      await source.run();
    } catch (error) {
      this.#environment.log.error({ error: errorMessage(error) }, "a search failed");
      this.stop(errorMessage(error));
    }
  }

  #mergeParts(isLast: boolean): SearchPart {
    const { late } = this.#course;
    return mergeParts(this.#sources.map((source) => source.part(late, isLast)));
  }

  #nameOf(repositoryId: number): string {
    for (const source of this.#sources) {
      const name = source.nameOf(repositoryId);
      if (name !== undefined) return name;
    }
    return "";
  }

  /** Whether a thread works for the search, or the main thread does. */
  get #isActive(): boolean {
    return this.#sources.some(({ isActive }) => isActive);
  }

  /** What the search has done so far. */
  describe(): RunningSummary {
    const { query, viewer, origin, client } = this.#request;
    const { scannedBytes, workerMs } = this.#control.cost;
    return {
      query: query.slice(0, describedLength),
      user: viewer.name,
      from: origin?.remoteAddress || client,
      lane: this.#limits.lane,
      durationMs: this.#report.durationMs,
      workerMs,
      scannedBytes,
      matchCount: this.#counts.matchCount,
    };
  }

  /** Ends the search early with what was found; `reason` is shown to the client. */
  stop(reason: string): void {
    this.#course.failures.push(reason);
    this.#requestStop();
  }

  batch(batch: SourcedBatch, release: () => void): void {
    this.#results.addBatch(batch, release);
  }

  found(result: FoundResult): void {
    this.#results.addFound(result);
  }

  commit(found: FoundCommit, repositoryId: number, nowMs: number): void {
    this.#results.addCommit(found, repositoryId, nowMs);
  }

  sendCommits(): void {
    this.#results.sendCommits();
  }

  refused(sentence: string): void {
    this.#course.queryError = sentence;
    this.#requestStop();
  }

  scheduled(): void {
    this.#clocks.resume();
  }

  advanced(): void {
    for (const source of this.#sources) source.goOn();
  }

  /** Time in which the search only waits for the client does not count. */
  parked(): void {
    if (!this.#isActive) this.#clocks.pause();
  }

  /**
   * Looks for what may have been meant, if nothing was found. Other queries are tried only for interactive searches, and
   * within the time limit of this one.
   */
  async #findNear(): Promise<void> {
    const { countResults: count, plan } = this.#rooted;
    const { query, since, patterns, scope, near = true } = this.#request;
    if (count === undefined || !near || since !== undefined || patterns !== undefined || scope !== undefined) return;
    if (this.#control.isStopped || this.#listener.closed || this.#report.outcome(false) !== "complete") return;
    this.#clocks.stop();
    const leftMs = Math.max(...this.#limits.timeoutsMs) - this.#report.durationMs;
    const mayTry = this.#limits.lane === "interactive" && leftMs > 0;
    let timer: PendingCall | undefined;
    const stopped = Promise.race([
      this.#stop.stopped,
      new Promise<void>((resolve) => {
        timer = callAfter(Math.max(0, leftMs), resolve);
      }),
    ]);
    try {
      this.#report.near = await findNear(
        query,
        plan,
        mayTry ? (text) => count(text, stopped) : undefined,
        leftOut(plan, this.#report.wholePart),
      );
    } catch (error) {
      this.#environment.log.error({ error: errorMessage(error) }, "queries near to one without results failed");
    } finally {
      timer?.cancel();
    }
  }

  get #changesOfSources(): readonly (FoundChanges | undefined)[] {
    return this.#sources.map(({ changes }) => changes);
  }

  /** Whether some of the sources may be lost, and the search is as it should be. */
  get #areNodes(): boolean {
    return this.#sources.some(({ isNode }) => isNode === true);
  }

  async #makeReceipt(): Promise<SearchReceipt | undefined> {
    if (this.#listener.closed) return undefined;
    const { digest, duplicates, matchCount } = this.#counts;
    const root = {
      omissions: this.#report.omissions(),
      digest: digest.sum,
      digestedMatches: digest.matchCount,
      matchCount: duplicates?.matchesInAllPlaces ?? matchCount,
    };
    const parts = await Promise.all(this.#sources.map((source) => source.receipt(this.#course.late)));
    const { since } = this.#request;
    const untold = since !== undefined && this.#areNodes ? untoldRevisions(this.#changesOfSources, since) : undefined;
    return new SearchReceipt(root, untold === undefined || untold.size === 0 ? parts : [...parts, untoldPart(untold)]);
  }

  async #makeGroups(): Promise<ResultGroups | undefined> {
    const { query, version, patternType, groups: wanted } = this.#request;
    const { groups, matchCount } = this.#counts;
    if (wanted === undefined || groups === undefined || this.#listener.closed) return undefined;
    const isComplete = this.#report.coversAll;
    return await resultWhileYielding(
      groups.largest({
        queryText: query,
        type: choosePatternType(query, version, patternType),
        wanted,
        matchCount,
        isComplete,
      }),
    );
  }

  #exceedBudget(message: string): void {
    if (this.#control.isStopped) return;
    this.#course.budgetError = message;
    this.#requestStop();
  }

  #expire(): void {
    this.#course.late.all = true;
    this.#requestStop();
  }

  /** The timeout of some basic queries is over: the others continue. */
  #expireOptions(optionsIndex: number): void {
    if (this.#limits.resultLimits === undefined) return;
    this.#course.late.options.add(optionsIndex);
    endTaking(this.#limits.resultLimits, optionsIndex);
  }

  /** The client has disconnected: the results are no longer wanted. */
  #cancel(): void {
    this.#requestStop();
    for (const source of this.#sources) source.giveUp();
  }

  /** Stops searching, and abandons parked slices. */
  #requestStop(): void {
    this.#control.cancel();
    for (const source of this.#sources) source.drop();
    this.#stop.request();
  }

  /** Sends the last event, and stops slices that are still running. */
  #finish(receipt: SearchReceipt | undefined, groups: ResultGroups | undefined): void {
    assert(!this.#isEnded, "a search has one last event");
    this.#isEnded = true;
    this.#stop.endGrace();
    this.#clocks.stop();
    for (const source of this.#sources) source.finish();
    this.#report.end();
    const { durationMs } = this.#report;
    const isCancelled = this.#listener.closed;
    this.#report.receipt = receipt?.summary(this.#environment.receiptUrl);
    this.#costWatch?.end();
    if (this.#request.explain === true) this.#report.explained = this.#explain();
    const isRefused = this.#request.receipt === "strict" && receipt?.isComplete === false;
    if (!isCancelled)
      this.#stream.finish(
        groups,
        this.#report.alert(durationMs) ?? (this.#counts.matchCount > 0 ? this.#notice : undefined),
        isRefused ? receipt.gaps : this.#course.budgetError,
      );
    this.#onEnd(this.#end(durationMs, isCancelled, receipt));
  }

  #end(durationMs: number, isCancelled: boolean, receipt: SearchReceipt | undefined): SearchEnd {
    const outcome = this.#report.outcome(isCancelled);
    const { firstMatchesMs } = this.#stream;
    const { since } = this.#request;
    const mayComeLater = this.#areNodes && this.#course.fatalError === undefined;
    const changes = since && mergeChanges(this.#changesOfSources, since, mayComeLater);
    const { stats, isRepeatable } = this.#report.wholePart;
    return {
      outcome,
      lane: this.#limits.lane,
      matchCount: this.#counts.matchCount,
      durationMs,
      firstMatchesMs: firstMatchesMs === undefined ? undefined : firstMatchesMs - this.#report.startedMs,
      stoppingMs: this.#stop.passedMs,
      workerMs: this.#control.cost.workerMs,
      stats,
      shardFailures: this.#report.failures,
      notSearched: this.#report.notSearched(),
      isRepeatable: isRepeatable && this.#mayRepeat(outcome),
      receipt,
      changes: changes && { ...changes, progress: () => this.#report.progress(true) },
    };
  }

  #mayRepeat(outcome: SearchEnd["outcome"]): boolean {
    if (outcome !== "complete" && outcome !== "limit") return false;
    const { since, query } = this.#request;
    // What a search context stands for is not in the catalog.
    return since === undefined && !/context:/i.test(query);
  }

  /**
   * For viewers who do not see all repositories, without the work: how long it takes also depends on what others have
   * stored and search for.
   */
  #explain(): ExplainedCost {
    const { durationMs } = this.#report;
    const { plan } = this.#rooted;
    const { seesAll, estimate, stats } = this.#report.wholePart;
    if (!seesAll) return { plan: printPlanWithoutLists(plan), took: { durationMs: visibleMs(durationMs, false) } };
    const { workerMs } = this.#control.cost;
    return {
      plan: printPlan(plan),
      estimate,
      took: { durationMs, workerMs, stats: { ...stats } },
    };
  }
}

/** What the client of a node should know of the answer, although nothing is wrong with it. */
const notice: Alert = {
  title: "Only one node was searched",
  description: "The results are those of one node of this fleet. The stream of search results searches all of them.",
  proposedQueries: null,
};

/** When a search was stopped, for those who wait for that. */
class StopMoment {
  #resolve: () => void = () => undefined;
  /** Resolves when the search is stopped. */
  readonly stopped = new Promise<undefined>((resolve) => {
    this.#resolve = () => resolve(undefined);
  });
  #requestedMs: number | undefined;
  #wait: PendingCall | undefined;
  #isOver = false;

  request(): void {
    this.#requestedMs ??= performance.now();
    this.#resolve();
  }

  /** Milliseconds since the first request; undefined if there was none. */
  get passedMs(): number | undefined {
    return this.#requestedMs === undefined ? undefined : performance.now() - this.#requestedMs;
  }

  /** Resolves this long after the search is stopped; never if it is not stopped, or has ended before. */
  async grace(waitMs: number): Promise<void> {
    await this.stopped;
    if (this.#isOver) return;
    await new Promise<void>((resolve) => {
      this.#wait = callAfter(waitMs, resolve);
    });
  }

  endGrace(): void {
    this.#isOver = true;
    this.#wait?.cancel();
  }
}

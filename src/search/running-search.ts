import { assert } from "../base/assert.js";
import { callAfter, type PendingCall } from "../base/deadline.js";
import { errorMessage } from "../base/errors.js";
import { resultWhileYielding } from "../base/yielding.js";
import type { CatalogView } from "../catalog/live-shards.js";
import type { SearchListener } from "../model/search-listener.js";
import type { ResultGroups } from "../model/result-groups.js";
import type { SearchRequest } from "../model/search-request.js";
import type { ExplainedCost } from "../model/stream-events.js";
import { ControlBlock, endTaking } from "../protocol/control-block.js";
import type { FoundCommit } from "../protocol/commit-page.js";
import type { FinishedWork } from "../protocol/messages.js";
import type { SearchPlan } from "../query/plan/plan.js";
import { choosePatternType } from "../query/syntax/parse.js";
import { printPlan, printPlanWithoutLists } from "../query/plan/print.js";
import {
  type CostBudgets,
  CostWatch,
  type LimitDefaults,
  SearchClocks,
  searchLimits,
  type SearchLimits,
  searchOptions,
} from "./limits/search-limits.js";
import { LocalSource, type SourceServices } from "./local-source.js";
import { findNear, leftOut } from "./report/near-results.js";
import { visibleMs } from "./report/omissions.js";
import { type SearchEnd, SearchRecord, SearchReport } from "./report/search-report.js";
import { SearchReceipt } from "./report/search-receipt.js";
import type { SearchSpan } from "./report/search-span.js";
import type { SlowSearchLimits } from "./report/slow-searches.js";
import type { Resolution } from "./repositories/repository-resolver.js";
import { EventStream, ResultCounts, SearchResults } from "./results/search-results.js";
import { creditBytes, creditWaitMs, recordShardFailure, type ShardRepairs } from "./slices/search-slices.js";
import type { FoundResult, SourcedBatch, SourceListener } from "./source/search-source.js";
import type { SnapshotUse } from "./snapshot/search-snapshot.js";
import type { Catalog } from "../catalog/catalog.js";

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
export interface ChosenSearch {
  readonly plan: SearchPlan;
  readonly view: CatalogView;
  /** By basic query of the plan. */
  readonly resolutions: readonly Resolution[];
  /** Undefined unless the search may have to be repeated. */
  readonly snapshot?: SnapshotUse | undefined;
  /**
   * How many results another query has for the same viewer; undefined if it is not known. Ends early when `stopped`
   * resolves. Absent for a search that itself only counts.
   */
  readonly countResults?: (query: string, stopped: Promise<unknown>) => Promise<number | undefined>;
}

/**
 * One search from its plan to its last event: the root of its parts, of which each knows only those before it.
 *
 *     control block, limits        what all threads of the search share
 *     ResultCounts, SearchRecord   plain state: what was found, and what was left out
 *     SearchReport                 filters, progress, alert and receipt, made from this state
 *     EventStream                  passes matches and reports to the listener, at its pace
 *     SearchResults                counts results, and hands their bytes to the stream
 *     LocalSource                  finds them, and delivers to this object (`SourceListener`)
 *
 * The last event is sent at most `stopWaitMs` after the timeout or after the client has left, whatever a slice does.
 * What slices read stays in memory until the last of them has ended.
 */
export class RunningSearch implements SourceListener {
  readonly #request: SearchRequest;
  readonly #chosen: ChosenSearch;
  readonly #environment: SearchEnvironment;
  readonly #listener: SearchListener;
  readonly #onEnd: (end: SearchEnd) => void;
  readonly #limits: SearchLimits;
  readonly #control: ControlBlock;
  readonly #counts: ResultCounts;
  readonly #record = new SearchRecord();
  readonly #report: SearchReport;
  readonly #stream: EventStream;
  readonly #results: SearchResults;
  readonly #source: LocalSource;
  readonly #clocks: SearchClocks;
  /** Undefined if nothing is limited, or the search is part of a job. */
  readonly #costWatch: CostWatch | undefined;
  readonly #stop = new StopMoment();
  #isEnded = false;

  /** `resolutions` reflect the moment at which the view was taken, which the search releases. */
  constructor(
    id: number,
    request: SearchRequest,
    chosen: ChosenSearch,
    environment: SearchEnvironment,
    listener: SearchListener,
    onEnd: (end: SearchEnd) => void,
  ) {
    this.#request = request;
    this.#chosen = chosen;
    this.#environment = environment;
    this.#listener = listener;
    this.#onEnd = onEnd;
    const { plan, view, resolutions, snapshot } = chosen;
    const { catalog, pool, budgets, traceUrl } = environment;
    const { viewer, client, scope } = request;
    const startedMs = performance.now();
    const limits = searchLimits(plan, request, environment);
    const control = ControlBlock.allocate(pool.workerCount, creditBytes, creditWaitMs);
    const selections = resolutions.map(({ selection }) => selection);
    const options = searchOptions(plan, request, limits, selections);
    const counts = new ResultCounts(limits, control, options, request.groups?.by);
    const record = this.#record;
    const repositories = () => catalog.repositoryTable(viewer);
    this.#limits = limits;
    this.#control = control;
    this.#counts = counts;
    this.#report = new SearchReport({
      queryText: request.query,
      plan,
      limits,
      counts,
      record,
      resolutions: () => this.#source.resolutions,
      repositories,
      startedMs,
      traceUrl,
      seesAll: catalog.seesAll(viewer),
    });
    this.#stream = new EventStream(listener, this.#report);
    const nameOf = (id: number): string => repositories().byId(id)?.name ?? "";
    this.#results = new SearchResults(limits, control, counts, nameOf, this.#stream);
    this.#source = new LocalSource(
      { id, request, plan, view, snapshot, limits, control, startedMs },
      { resolutions, options },
      environment,
      { listener: this, pace: this.#stream, record, stopped: this.#stop.stopped },
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
    const work = this.#source.run().catch((error: unknown) => {
      this.#environment.log.error({ error: errorMessage(error) }, "a search failed");
      this.stop(errorMessage(error));
    });
    await Promise.race([work, this.#stop.grace(stopWaitMs)]);
    await this.#findNear();
    const receipt = await this.#makeReceipt();
    const groups = await this.#makeGroups();
    this.#finish(receipt, groups);
    await work;
    this.#source.release();
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
    this.failed(reason);
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

  work(work: FinishedWork): void {
    this.#record.addWork(work);
    for (const failure of work.failures) {
      const { code, message } = failure.error;
      // Only workers detect it: RE2 rejects a regexp as too large.
      if (code === "bad-query") {
        this.#record.queryError = message;
        this.#requestStop();
        continue;
      }
      this.failed(message);
      recordShardFailure(this.#environment, failure);
    }
  }

  failed(sentence: string): void {
    this.#record.failures.push(sentence);
  }

  scheduled(): void {
    this.#clocks.resume();
  }

  advanced(): void {
    this.#source.goOn();
  }

  /** Time in which the search only waits for the client does not count. */
  parked(): void {
    if (!this.#source.isActive) this.#clocks.pause();
  }

  /**
   * Looks for what may have been meant, if nothing was found. Other queries are tried only for interactive searches, and
   * within the time limit of this one.
   */
  async #findNear(): Promise<void> {
    const { countResults: count, plan, resolutions, snapshot } = this.#chosen;
    const { query, since, patterns, scope, near = true } = this.#request;
    if (count === undefined || !near || since !== undefined || patterns !== undefined || scope !== undefined) return;
    if (this.#control.isStopped || this.#listener.closed || this.#report.outcome(false) !== "complete") return;
    if (this.#counts.matchCount > 0 || snapshot !== undefined) return;
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
        leftOut(plan, resolutions),
      );
    } catch (error) {
      this.#environment.log.error({ error: errorMessage(error) }, "queries near to one without results failed");
    } finally {
      timer?.cancel();
    }
  }

  async #makeReceipt(): Promise<SearchReceipt | undefined> {
    if (this.#request.receipt === "none" || this.#listener.closed) return undefined;
    return await resultWhileYielding(SearchReceipt.inSteps(this.#report.receiptSource(), this.#record.coverage));
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
    this.#record.budgetError = message;
    this.#requestStop();
  }

  #expire(): void {
    this.#record.isTimedOut = true;
    this.#requestStop();
  }

  /** The timeout of some basic queries is over: the others continue. */
  #expireOptions(optionsIndex: number): void {
    if (this.#limits.resultLimits === undefined) return;
    this.#record.timedOutOptions.add(optionsIndex);
    endTaking(this.#limits.resultLimits, optionsIndex);
  }

  /** The client has disconnected: the results are no longer wanted. */
  #cancel(): void {
    this.#requestStop();
    this.#source.giveUp();
  }

  /** Stops searching, and abandons parked slices. */
  #requestStop(): void {
    this.#control.cancel();
    this.#source.drop();
    this.#stop.request();
  }

  /** Sends the last event, and stops slices that are still running. */
  #finish(receipt: SearchReceipt | undefined, groups: ResultGroups | undefined): void {
    assert(!this.#isEnded, "a search has one last event");
    this.#isEnded = true;
    this.#stop.endGrace();
    this.#clocks.stop();
    // A slice that is still running has told what it scanned, but has not returned its counters.
    const { stats } = this.#record;
    if (this.#source.isActive) stats.scannedBytes = Math.max(stats.scannedBytes, this.#control.cost.scannedBytes);
    this.#record.unfinishedShards = this.#source.finish();
    const { durationMs } = this.#report;
    const isCancelled = this.#listener.closed;
    this.#report.receipt = receipt?.summary(this.#environment.receiptUrl);
    this.#costWatch?.end();
    if (this.#request.explain === true) this.#report.explained = this.#explain();
    const isRefused = this.#request.receipt === "strict" && receipt?.isComplete === false;
    if (!isCancelled)
      this.#stream.finish(groups, this.#report.alert(durationMs), isRefused ? receipt.gaps : this.#record.budgetError);
    this.#onEnd(this.#end(durationMs, isCancelled, receipt));
  }

  #end(durationMs: number, isCancelled: boolean, receipt: SearchReceipt | undefined): SearchEnd {
    const outcome = this.#report.outcome(isCancelled);
    const { firstMatchesMs } = this.#stream;
    const { changes } = this.#source;
    return {
      outcome,
      lane: this.#limits.lane,
      matchCount: this.#counts.matchCount,
      durationMs,
      firstMatchesMs: firstMatchesMs === undefined ? undefined : firstMatchesMs - this.#report.startedMs,
      stoppingMs: this.#stop.passedMs,
      workerMs: this.#control.cost.workerMs,
      stats: this.#record.stats,
      shardFailures: this.#record.failures,
      notSearched: this.#report.notSearched(),
      isRepeatable: this.#isRepeatable(outcome),
      receipt,
      changes: changes && { ...changes, progress: () => this.#report.progress(true) },
    };
  }

  #isRepeatable(outcome: SearchEnd["outcome"]): boolean {
    if (outcome !== "complete" && outcome !== "limit") return false;
    const { since, query } = this.#request;
    // What a search context stands for is not in the catalog.
    if (since !== undefined || /context:/i.test(query) || !this.#source.isRepeatable) return false;
    return this.#record.excluded.length + this.#record.unfinishedShards.length === 0;
  }

  /**
   * For viewers who do not see all repositories, without the work: how long it takes also depends on what others have
   * stored and search for.
   */
  #explain(): ExplainedCost {
    const { durationMs } = this.#report;
    const { plan } = this.#chosen;
    if (!this.#environment.catalog.seesAll(this.#request.viewer))
      return { plan: printPlanWithoutLists(plan), took: { durationMs: visibleMs(durationMs, false) } };
    const { workerMs } = this.#control.cost;
    return {
      plan: printPlan(plan),
      estimate: this.#source.estimate,
      took: { durationMs, workerMs, stats: { ...this.#record.stats } },
    };
  }
}

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

/** Services of the daemon that searches use, and its limits: each part of a search asks for those that it uses. */
export interface SearchEnvironment extends SourceServices, LimitDefaults, ShardRepairs {
  readonly catalog: Catalog;
  /** The `trace` URL of progress events. */
  readonly traceUrl: string;
  /** The `url` of receipts. */
  readonly receiptUrl: string;
  /** What the searches of each client may cost. */
  readonly budgets: CostBudgets;
  /** Which searches are logged. */
  readonly slowSearches: SlowSearchLimits;
  /** Called with the span of each search that has ended; undefined if nobody wants it. */
  readonly onSpan?: ((span: SearchSpan) => void) | undefined;
}

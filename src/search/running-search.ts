import { callAfter, type PendingCall } from "../base/deadline.js";
import { errorMessage } from "../base/errors.js";
import type { CatalogView } from "../catalog/live-shards.js";
import type { RepositoryTable } from "../catalog/repository-table.js";
import { resultWhileYielding } from "../base/yielding.js";
import type { BaseRevisions } from "../model/match-change.js";
import type { SearchListener } from "../model/search-listener.js";
import type { SearchRequest } from "../model/search-request.js";
import type { ExplainedCost } from "../model/stream-events.js";
import type { SearchPlan } from "../query/plan/plan.js";
import { printPlan, printPlanWithoutLists } from "../query/plan/print.js";
import { endTaking } from "../protocol/result-limits.js";
import type { SearchOptions } from "../protocol/search-options.js";
import { ControlBlock } from "../protocol/control-block.js";
import { EventStream } from "./stream/event-stream.js";
import { contextOfEnvironment } from "./history/environment-context.js";
import { CostWatch } from "./cost-watch.js";
import { SearchClocks } from "./search-clocks.js";
import type { SearchChanges } from "./changes/revision-changes.js";
import { searchesHistory } from "./history/history-choice.js";
import { HistorySearches } from "./history/history-searches.js";
import { findNear } from "./near-results.js";
import { PacedWork } from "./paced-work.js";
import { repositoryResults } from "./repositories/repository-results.js";
import { indexedSelection, type Resolution } from "./repositories/repository-resolver.js";
import type { PhaseQueue } from "./revisions/phase-queue.js";
import type { SearchEnd, SearchEnvironment } from "./search-environment.js";
import { searchLimits, searchOptions, type SearchLimits } from "./search-limits.js";
import { SearchPreparation } from "./search-preparation.js";
import { SearchReceipt } from "./receipt/search-receipt.js";
import { visibleMs } from "./stream/progress.js";
import { SearchReport } from "./stream/search-report.js";
import { SearchResults } from "./stream/search-results.js";
import { isRanked } from "./ranking/ranked-search.js";
import { RankedPass } from "./ranking/ranked-pass.js";
import { creditBytes, creditWaitMs, SearchSlices, type SlicedWork } from "./search-slices.js";
import { chooseShards, estimateCost, textChoices } from "./shard-choice.js";
import type { SnapshotUse } from "./snapshot/search-snapshot.js";

/**
 * A stopped search waits this long for its slices, and then ends without them. They check the stop flag every 5 ms, so
 * only a slice in a long call of RE2, or one that waits for the disk or a processor, is later.
 */
const stopWaitMs = 500;

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
 * One search from its plan to its last event.
 *
 * It runs as slices, at most one for each worker: a slice takes shards from the counter in the control block, posts
 * batches while it runs, and ends when there is no more, when others wait, or when the client has not read what was
 * sent (credit). In the last case the slice is parked, without a worker, and resumes when the sink has drained, so a
 * slow client costs neither a thread nor more memory than its credit.
 *
 * `run` does everything in order: it looks up what the choice of repositories depends on, searches indexed branches,
 * then commits that are not indexed, in phases, each prepared while the previous one runs, and sends the last event.
 *
 * The last event is sent at most `stopWaitMs` after the timeout or after the client has left, whatever a slice does.
 * What slices read stays in memory until the last of them has ended.
 */
export class RunningSearch {
  readonly #id: number;
  readonly #request: SearchRequest;
  readonly #plan: SearchPlan;
  readonly #environment: SearchEnvironment;
  readonly #sink: SearchListener;
  readonly #onEnd: (end: SearchEnd) => void;
  readonly #startedMs = performance.now();
  readonly #view: CatalogView;
  readonly #limits: SearchLimits;
  readonly #control: ControlBlock;
  #options: SearchOptions;
  readonly #stream: EventStream;
  readonly #results: SearchResults;
  readonly #report: SearchReport;
  readonly #slices: SearchSlices;
  readonly #preparation: SearchPreparation;
  /** Undefined before the search begins. */
  #repositoryWork: PacedWork | undefined;
  /** Undefined before the search of histories begins. */
  #histories: HistorySearches | undefined;
  /** Undefined if everything that is searched is indexed. */
  #phases: PhaseQueue | undefined;
  /** Undefined unless the search is for changes. */
  #changes: SearchChanges | undefined;
  /** Undefined if nothing is limited, or the search is part of a job. */
  readonly #costWatch: CostWatch | undefined;
  /** What is indexed and may contain a result. */
  #estimate = { shards: 0, shardsRuledOut: 0, documents: 0, textBytes: 0 };
  readonly #clocks: SearchClocks;
  /** Whether the results depend on more than the query and what is indexed. */
  #dependsOnMore = false;
  #ended = false;
  #resolveStopped: () => void = () => undefined;
  /** Resolves when the search is stopped. */
  readonly #stopped = new Promise<undefined>((resolve) => {
    this.#resolveStopped = () => resolve(undefined);
  });
  #stoppedMs: number | undefined;
  #firstMatchesMs: number | undefined;
  #stopWait: PendingCall | undefined;
  readonly #countResults: ChosenSearch["countResults"];
  readonly #isPinned: boolean;

  /** `resolutions` reflect the moment at which the view was taken, which the search releases. */
  constructor(
    id: number,
    request: SearchRequest,
    { plan, view, resolutions, snapshot, countResults }: ChosenSearch,
    environment: SearchEnvironment,
    sink: SearchListener,
    onEnd: (end: SearchEnd) => void,
  ) {
    this.#id = id;
    this.#request = request;
    this.#plan = plan;
    this.#environment = environment;
    this.#sink = sink;
    this.#onEnd = onEnd;
    this.#view = view;
    this.#countResults = countResults;
    this.#isPinned = snapshot !== undefined;
    this.#limits = searchLimits(plan, request, environment);
    this.#control = ControlBlock.allocate(environment.pool.workerCount, creditBytes, creditWaitMs);
    this.#options = searchOptions(
      plan,
      request,
      this.#limits,
      resolutions.map(({ selection }) => selection),
    );
    this.#stream = new EventStream(
      sink,
      { filters: (final) => this.#report.filters(final), progress: (done) => this.#report.progress(done) },
      () => {
        this.#firstMatchesMs = this.#report.durationMs;
      },
    );
    const repositories = (): RepositoryTable => this.#repositories;
    this.#results = new SearchResults(plan, this.#limits, this.#control, repositories, this.#stream, this.#options);
    this.#report = new SearchReport(
      {
        queryText: request.query,
        plan,
        limits: this.#limits,
        results: this.#results,
        repositories,
        startedMs: this.#startedMs,
        traceUrl: environment.traceUrl,
        seesAll: environment.catalog.seesAll(request.viewer),
      },
      resolutions,
    );
    this.#slices = this.#makeSlices();
    this.#costWatch = this.#watchCost();
    this.#preparation = this.#makePreparation(snapshot);
    this.#clocks = new SearchClocks(this.#limits.timeoutsMs, {
      onExpired: () => this.#expire(),
      onOptionsExpired: (optionsIndex) => this.#expireOptions(optionsIndex),
    });
  }

  #watchCost(): CostWatch | undefined {
    const { budgets } = this.#environment;
    if (!budgets.isOn || this.#request.scope !== undefined) return undefined;
    return new CostWatch(this.#control, budgets, this.#request.client, (message) => this.#exceedBudget(message));
  }

  #makeSlices(): SearchSlices {
    return new SearchSlices({
      id: this.#id,
      environment: this.#environment,
      view: this.#view,
      control: this.#control,
      lane: this.#limits.lane,
      client: this.#request.client,
      unreadBytes: () => this.#unreadBytes,
      onFailure: (sentence) => this.#report.failures.push(sentence),
      onBadQuery: (sentence) => this.#refuseQuery(sentence),
      onWork: (work) => this.#report.recordWork(work),
      onBatch: (batch, release) => this.#results.addBatch(batch, release),
      onScheduled: () => this.#clocks.resume(),
      onProgress: () => this.#goOn(),
      onParked: () => this.#pauseClocks(),
    });
  }

  #makePreparation(snapshot: SnapshotUse | undefined): SearchPreparation {
    return new SearchPreparation({
      request: this.#request,
      plan: this.#plan,
      view: this.#view,
      snapshot,
      environment: this.#environment,
      control: this.#control,
      limits: this.#limits,
      startedMs: this.#startedMs,
      report: this.#report,
      slices: this.#slices,
      repositories: () => this.#repositories,
    });
  }

  /** Runs the search to its last event, and then until all its work has ended. Never rejects. */
  async run(): Promise<void> {
    this.#sink.onClosed(() => this.#cancel());
    this.#sink.onDrain(() => this.#goOn());
    const work = this.#searchAll();
    await Promise.race([work, this.#graceAfterStop()]);
    await this.#findNear();
    const receipt = await this.#makeReceipt();
    this.#finish(receipt);
    await work;
    this.#phases?.end();
    this.#view.release();
  }

  /**
   * Looks for what may have been meant, if nothing was found. Other queries are tried only for interactive searches, and
   * within the time limit of this one.
   */
  async #findNear(): Promise<void> {
    const count = this.#countResults;
    const { query, since, patterns, scope, near = true } = this.#request;
    if (count === undefined || !near || since !== undefined || patterns !== undefined || scope !== undefined) return;
    if (this.#isStopped || this.#sink.closed || this.#report.outcome(false) !== "complete") return;
    if (this.#results.matchCount > 0 || this.#isPinned) return;
    this.#clocks.stop();
    const leftMs = Math.max(...this.#limits.timeoutsMs) - this.#report.durationMs;
    const mayTry = this.#limits.lane === "interactive" && leftMs > 0;
    let timer: PendingCall | undefined;
    const stopped = Promise.race([
      this.#stopped,
      new Promise<void>((resolve) => {
        timer = callAfter(Math.max(0, leftMs), resolve);
      }),
    ]);
    try {
      this.#report.near = await findNear(query, this.#plan, mayTry ? (text) => count(text, stopped) : undefined);
    } catch (error) {
      this.#environment.log.error({ error: errorMessage(error) }, "queries near to one without results failed");
    } finally {
      timer?.cancel();
    }
  }

  async #makeReceipt(): Promise<SearchReceipt | undefined> {
    if (this.#request.receipt === "none" || this.#sink.closed) return undefined;
    const source = this.#report.receiptSource();
    return await resultWhileYielding(SearchReceipt.inSteps(source, this.#report.coverage));
  }

  /** Ends the search early with what was found; `reason` is shown to the client. */
  stop(reason: string): void {
    this.#report.failures.push(reason);
    this.#requestStop();
  }

  #exceedBudget(message: string): void {
    if (this.#isStopped) return;
    this.#report.budgetError = message;
    this.#requestStop();
  }

  async #searchAll(): Promise<void> {
    try {
      if (this.#request.since !== undefined) await this.#findChanges(this.#request.since);
      else await this.#searchAtOnce();
      if (this.#phases !== undefined) await this.#searchPhases(this.#phases);
      if (searchesHistory(this.#plan) && !this.#isStopped) await this.#searchHistories();
    } catch (error) {
      this.#environment.log.error({ error: errorMessage(error) }, "a search failed");
      this.#report.failures.push(errorMessage(error));
      this.#requestStop();
    }
  }

  /** Searches what is indexed, and prepares the search of what is not. */
  async #searchAtOnce(): Promise<void> {
    if (this.#preparation.isNeeded) {
      this.#dependsOnMore = true;
      await this.#prepare();
    } else await this.#preparation.recordSnapshot();
    const repositories = this.#ended ? Promise.resolve() : this.#sendRepositories();
    if (!this.#ended) await Promise.all([repositories, this.#searchIndexed(repositories)]);
  }

  /** Finds what differs from an earlier search; the phases search it. */
  async #findChanges(base: BaseRevisions): Promise<void> {
    const { changes, phases } = await this.#preparation.findChanges(base);
    this.#changes = changes;
    this.#phases = phases;
  }

  /** Resolves `stopWaitMs` after the search is stopped; never if it is not stopped. */
  async #graceAfterStop(): Promise<void> {
    await this.#stopped;
    if (this.#ended) return;
    await new Promise<void>((resolve) => {
      this.#stopWait = callAfter(stopWaitMs, resolve);
    });
  }

  /** Ends a search that cannot be run. */
  #refuseQuery(sentence: string): void {
    this.#report.queryError = sentence;
    this.#requestStop();
  }

  /** Looks up what the choice of repositories depends on, and begins to prepare what is not indexed. */
  async #prepare(): Promise<void> {
    try {
      const { resolutions, selections, people, excluded } = await this.#preparation.run();
      if (this.#isStopped) return;
      this.#report.resolutions = resolutions;
      this.#report.excluded.push(...excluded);
      this.#options = { ...this.#options, people, selections: selections.map(indexedSelection) };
      this.#phases = this.#preparation.phases(selections);
    } catch (error) {
      this.#environment.log.error({ error: errorMessage(error) }, "a search could not be prepared");
      this.#report.failures.push(errorMessage(error));
      this.#requestStop();
    }
  }

  /** Sends repositories that are results, in steps, because all repositories may be results. */
  #sendRepositories(): Promise<void> {
    this.#repositoryWork = new PacedWork(
      repositoryResults(this.#plan, this.#report.resolutions, this.#repositories, this.#results),
      {
        isStopped: () => this.#isStopped,
        hasRoom: () => this.#unreadBytes < creditBytes,
        onFailure: (sentence) => this.#report.failures.push(sentence),
        onParked: () => this.#pauseClocks(),
      },
    );
    return this.#repositoryWork.run();
  }

  #searchIndexed(repositories: Promise<void>): Promise<void> {
    const rows = this.#isStopped ? new Uint32Array(0) : this.#chooseRows();
    return this.#searchRows({ options: this.#options, rows, cached: [], ranked: undefined }, repositories);
  }

  /** Searches texts. Ranked results are sent when `earlier` is, because those that are no texts come first. */
  async #searchRows(work: SlicedWork, earlier: Promise<void>): Promise<void> {
    if (!isRanked(this.#plan, this.#limits)) return this.#slices.run(work);
    const slices = this.#slices;
    const { first, written, rest, hasFailed } = await new RankedPass(
      {
        id: this.#id,
        environment: this.#environment,
        view: this.#view,
        control: this.#control,
        lane: this.#limits.lane,
        client: this.#request.client,
        debug: this.#request.debug,
        slices,
      },
      work,
    ).run(slices.stats);
    if (hasFailed) this.#dependsOnMore = true;
    await earlier;
    if (this.#ended) return slices.dropHeld();
    await (written === undefined ? slices.run(first) : slices.continue(first, written));
    if (!this.#ended) await slices.run(rest);
  }

  async #searchPhases(phases: PhaseQueue): Promise<void> {
    while (!this.#isStopped) {
      this.#clocks.resume();
      const phase = await Promise.race([phases.take(), this.#stopped]);
      if (phase === undefined) return;
      this.#options = { ...this.#options, selections: phase.selections, commitSets: phase.commitSets };
      const { rows, cached } = phase;
      await this.#searchRows({ options: this.#options, rows, cached, ranked: undefined }, Promise.resolve());
    }
  }

  async #searchHistories(): Promise<void> {
    this.#clocks.resume();
    const { client, diffType } = this.#request;
    const nowMs = new Date().getTime();
    const view = this.#environment.catalog.historyView();
    try {
      const context = contextOfEnvironment(this.#environment, view, {
        client,
        control: this.#control,
        lane: this.#limits.lane,
        nowMs,
        diffType,
        useIndex: this.#options.useIndex,
        matchesLeft: () => this.#limits.matchCountMax - this.#results.matchCount,
        report: this.#report,
      });
      this.#histories = new HistorySearches(this.#plan, {
        context,
        results: this.#results,
        hasRoom: () => this.#unreadBytes < creditBytes,
        onParked: () => this.#pauseClocks(),
        onFailure: (repository, reason) => this.#report.excluded.push({ repository, reason, isLate: false }),
        nowMs,
      });
      await this.#histories.run(this.#report.resolutions);
    } finally {
      view.release();
    }
  }

  #chooseRows(): Uint32Array {
    const choices = textChoices(this.#plan, this.#options.selections);
    const { rows, ruledOutCount, unopenedCount } = chooseShards(this.#view, choices, this.#options.receipt);
    // All shards share the budget of ranking, and some of these will be ruled out from now on.
    if (unopenedCount > 0 && isRanked(this.#plan, this.#limits)) this.#dependsOnMore = true;
    this.#slices.stats.shardsRuledOut += ruledOutCount;
    if (this.#request.explain === true) this.#estimate = estimateCost(this.#view, rows, ruledOutCount);
    return rows;
  }

  /** Lets work that waits for the client continue, as far as the client has read. */
  #goOn(): void {
    if (this.#ended) return;
    this.#slices.grantCredit();
    if (this.#repositoryWork?.isParked === true && this.#sink.pendingBytes === 0) {
      this.#clocks.resume();
      this.#repositoryWork.resume();
    }
    if (this.#histories?.isParked === true && this.#sink.pendingBytes === 0) {
      this.#clocks.resume();
      this.#histories.resume();
    }
    this.#slices.goOn();
  }

  /** Time in which the search only waits for the client does not count. */
  #pauseClocks(): void {
    if (this.#slices.isActive || this.#repositoryWork?.isActive === true) return;
    this.#clocks.pause();
  }

  #expire(): void {
    this.#report.isTimedOut = true;
    this.#requestStop();
  }

  /** The timeout of some basic queries is over: the others continue. */
  #expireOptions(optionsIndex: number): void {
    if (this.#limits.resultLimits === undefined) return;
    this.#report.timedOutOptions.add(optionsIndex);
    endTaking(this.#limits.resultLimits, optionsIndex);
  }

  /** The client has disconnected: the results are no longer wanted. */
  #cancel(): void {
    this.#requestStop();
    this.#slices.giveUp();
  }

  /** Stops searching, and abandons parked slices. */
  #requestStop(): void {
    this.#control.cancel();
    this.#slices.drop();
    this.#repositoryWork?.drop();
    this.#histories?.resume();
    this.#stoppedMs ??= performance.now();
    this.#resolveStopped();
  }

  /** Sends the last event, and stops slices that are still running. */
  #finish(receipt: SearchReceipt | undefined): void {
    this.#ended = true;
    this.#stopWait?.cancel();
    this.#clocks.stop();
    this.#report.unfinishedShards.push(...this.#slices.shardsInWork());
    // Data read for later phases is no longer needed.
    if (this.#phases !== undefined) this.#control.cancel();
    // Later batches are dropped there, and their memory is returned to its worker.
    this.#environment.pool.forget(this.#id);
    this.#slices.giveUp();
    const { durationMs } = this.#report;
    const isCancelled = this.#sink.closed;
    this.#report.receipt = receipt?.summary(this.#environment.receiptUrl);
    this.#costWatch?.end();
    if (this.#request.explain === true) this.#report.explained = this.#explain();
    const isRefused = this.#request.receipt === "strict" && receipt?.isComplete === false;
    if (!isCancelled)
      this.#stream.finish(this.#report.alert(durationMs), isRefused ? receipt.gaps : this.#report.budgetError);
    const outcome = this.#report.outcome(isCancelled);
    this.#onEnd({
      outcome,
      lane: this.#limits.lane,
      matchCount: this.#results.matchCount,
      durationMs,
      firstMatchesMs: this.#firstMatchesMs,
      stoppingMs: this.#stoppedMs === undefined ? undefined : performance.now() - this.#stoppedMs,
      stats: this.#slices.stats,
      shardFailures: this.#report.failures,
      notSearched: this.#report.notSearched(),
      isRepeatable: this.#isRepeatable(outcome),
      receipt,
      changes: this.#changes,
    });
  }

  #isRepeatable(outcome: SearchEnd["outcome"]): boolean {
    if (outcome !== "complete" && outcome !== "limit") return false;
    const { since, query } = this.#request;
    // What a search context stands for is not in the catalog.
    if (since !== undefined || /context:/i.test(query)) return false;
    if (this.#dependsOnMore || this.#phases !== undefined || searchesHistory(this.#plan)) return false;
    return this.#report.excluded.length + this.#report.unfinishedShards.length === 0;
  }

  /**
   * For viewers who do not see all repositories, without the work: how long it takes also depends on what others have
   * stored and search for.
   */
  #explain(): ExplainedCost {
    const { durationMs } = this.#report;
    if (!this.#environment.catalog.seesAll(this.#request.viewer))
      return { plan: printPlanWithoutLists(this.#plan), took: { durationMs: visibleMs(durationMs, false) } };
    const { workerMs } = this.#control.cost;
    return {
      plan: printPlan(this.#plan),
      estimate: this.#estimate,
      took: { durationMs, workerMs, stats: { ...this.#slices.stats } },
    };
  }

  /** All repositories that exist for this search. */
  get #repositories(): RepositoryTable {
    return this.#environment.catalog.repositoryTable(this.#request.viewer);
  }

  get #isStopped(): boolean {
    return this.#control.isStopped;
  }

  /** Bytes of results that the client has not read. */
  get #unreadBytes(): number {
    return this.#stream.unreadBytes;
  }
}

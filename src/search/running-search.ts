// This file is longer than others because one search, from its first step to its last, is best read in one piece.
import { callAfter, type PendingCall } from "../base/deadline.js";
import { errorMessage } from "../base/errors.js";
import type { CatalogView } from "../catalog/live-shards.js";
import type { RepositoryTable } from "../catalog/repository-table.js";
import { resultWhileYielding } from "../base/yielding.js";
import type { EventSink } from "../model/event-sink.js";
import type { BaseRevisions } from "../model/match-change.js";
import type { SearchRequest } from "../model/search-request.js";
import type { ExplainedCost } from "../model/stream-events.js";
import type { SearchPlan } from "../query/plan/plan.js";
import { printPlan } from "../query/plan/print.js";
import { endTaking } from "../protocol/result-limits.js";
import type { RepositorySelection, SearchOptions } from "../protocol/search-options.js";
import { ControlBlock } from "../protocol/control-block.js";
import { EventStream, SearchClock } from "./stream/event-stream.js";
import { contextOfEnvironment } from "./history/environment-context.js";
import { CostWatch } from "./cost-watch.js";
import { changePhases } from "./changes/change-phases.js";
import { findRevisionChanges, type RevisionChange, type SearchChanges } from "./changes/revision-changes.js";
import { searchesHistory } from "./history/history-choice.js";
import { HistorySearches } from "./history/history-searches.js";
import { PacedWork } from "./paced-work.js";
import { needsPreparation, prepare } from "./preparation.js";
import type { Preparation } from "./preparation-context.js";
import { repositoryResults } from "./repositories/repository-results.js";
import { indexedSelection, readOpenRevisions, type Resolution } from "./repositories/repository-resolver.js";
import { phasesOfPlan } from "./revisions/plan-phases.js";
import { PhaseQueue } from "./revisions/phase-queue.js";
import type { PhaseContext } from "./revisions/search-phase.js";
import { hasUnindexed } from "./revisions/revision-phases.js";
import type { SearchEnd, SearchEnvironment } from "./search-environment.js";
import { searchLimits, searchOptions, type SearchLimits } from "./search-limits.js";
import { SearchReceipt } from "./receipt/search-receipt.js";
import { SearchReport } from "./stream/search-report.js";
import { SearchResults } from "./stream/search-results.js";
import { isRanked } from "./ranking/ranked-search.js";
import { RankedPass } from "./ranking/ranked-pass.js";
import { creditBytes, creditWaitMs, SearchSlices, type SlicedWork } from "./search-slices.js";
import { chooseShards, estimateCost, textChoices } from "./shard-choice.js";
import { recordInSteps, type SnapshotUse } from "./snapshot/search-snapshot.js";

/** The part of its time that a search may spend on reading mirrors before it searches anything. */
const preparationShare = 0.6;

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
  readonly #sink: EventSink;
  readonly #onEnd: (end: SearchEnd) => void;
  readonly #startedMs = performance.now();
  readonly #view: CatalogView;
  readonly #snapshot: SnapshotUse | undefined;
  readonly #limits: SearchLimits;
  readonly #control: ControlBlock;
  #options: SearchOptions;
  readonly #stream: EventStream;
  readonly #results: SearchResults;
  readonly #report: SearchReport;
  readonly #slices: SearchSlices;
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
  /** One for the search, and one for each element of `resultOptions` with a shorter timeout. */
  readonly #clocks: readonly SearchClock[];
  #ended = false;
  #resolveStopped: () => void = () => undefined;
  /** Resolves when the search is stopped. */
  readonly #stopped = new Promise<undefined>((resolve) => {
    this.#resolveStopped = () => resolve(undefined);
  });
  #stoppedMs: number | undefined;
  #firstMatchesMs: number | undefined;
  #stopWait: PendingCall | undefined;

  /** `resolutions` reflect the moment at which the view was taken, which the search releases. */
  constructor(
    id: number,
    request: SearchRequest,
    { plan, view, resolutions, snapshot }: ChosenSearch,
    environment: SearchEnvironment,
    sink: EventSink,
    onEnd: (end: SearchEnd) => void,
  ) {
    this.#id = id;
    this.#request = request;
    this.#plan = plan;
    this.#environment = environment;
    this.#sink = sink;
    this.#onEnd = onEnd;
    this.#view = view;
    this.#snapshot = snapshot;
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
    this.#results = new SearchResults(
      plan,
      this.#limits,
      this.#control,
      repositories,
      this.#stream,
      this.#options.receipt,
    );
    this.#report = new SearchReport(
      {
        queryText: request.query,
        plan,
        limits: this.#limits,
        results: this.#results,
        repositories,
        startedMs: this.#startedMs,
        traceUrl: environment.traceUrl,
      },
      resolutions,
    );
    this.#slices = this.#makeSlices();
    this.#costWatch = this.#watchCost();
    const { timeoutsMs } = this.#limits;
    this.#clocks = [
      new SearchClock(this.#timeoutMs, () => this.#expire()),
      ...timeoutsMs.flatMap((timeoutMs, optionsIndex) =>
        timeoutMs < this.#timeoutMs ? [new SearchClock(timeoutMs, () => this.#expireOptions(optionsIndex))] : [],
      ),
    ];
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
      onScheduled: () => this.#resumeClocks(),
      onProgress: () => this.#goOn(),
      onParked: () => this.#pauseClocks(),
    });
  }

  /** Runs the search to its last event, and then until all its work has ended. Never rejects. */
  async run(): Promise<void> {
    this.#sink.onClosed(() => this.#cancel());
    this.#sink.onDrain(() => this.#goOn());
    const work = this.#searchAll();
    await Promise.race([work, this.#graceAfterStop()]);
    const receipt = await this.#makeReceipt();
    this.#finish(receipt);
    await work;
    this.#phases?.end();
    this.#view.release();
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
      if (this.#request.since !== undefined) await this.#prepareChanges(this.#request.since);
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
    if (this.#needsPreparation) await this.#prepare();
    else await this.#recordSnapshot();
    const repositories = this.#ended ? Promise.resolve() : this.#sendRepositories();
    if (!this.#ended) await Promise.all([repositories, this.#searchIndexed(repositories)]);
  }

  /** Compares the revisions with those of an earlier search; the phases search what differs. */
  async #prepareChanges(base: BaseRevisions): Promise<void> {
    await this.#readRevisions();
    const { resolutions } = this.#report;
    const found = await resultWhileYielding(findRevisionChanges(resolutions, base, this.#repositories));
    const basesGone: RevisionChange[] = [];
    this.#changes = { ...found, basesGone, progress: () => this.#report.progress(true) };
    const phases = changePhases(found.changes, {
      ...this.#phaseServices(),
      texts: this.#plan.basicQueries.map(({ text }) => text),
      repositories: this.#repositories,
      onBaseGone: (change) => {
        basesGone.push(change);
        this.#report.missingRevisions.push({ repository: change.repository.name, revision: change.base ?? "" });
      },
    });
    this.#phases = new PhaseQueue(phases);
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

  /** Whether something must be looked up before it is known what is searched. A snapshot has commits that were indexed. */
  get #needsPreparation(): boolean {
    const { resolutions } = this.#report;
    return (
      needsPreparation(this.#plan) ||
      resolutions.some(({ open }) => open.length > 0) ||
      (this.#snapshot?.pinned !== undefined && hasUnindexed(resolutions.map(({ selection }) => selection)))
    );
  }

  /** The commits are known, and there is no result yet. */
  async #recordSnapshot(): Promise<void> {
    if (this.#snapshot === undefined || this.#snapshot.pinned !== undefined) return;
    await resultWhileYielding(recordInSteps(this.#plan, this.#report.resolutions, this.#snapshot));
  }

  /** Looks up what the choice of repositories depends on. */
  async #prepare(): Promise<void> {
    try {
      await this.#readRevisions();
      await this.#recordSnapshot();
      const preparation = await this.#prefetch();
      if (!this.#isStopped) this.#take(preparation);
    } catch (error) {
      this.#environment.log.error({ error: errorMessage(error) }, "a search could not be prepared");
      this.#report.failures.push(errorMessage(error));
      this.#requestStop();
    }
  }

  /** Resolves from the mirrors the revisions that are not known in memory. */
  async #readRevisions(): Promise<void> {
    const { revisions, maxTimeoutMs } = this.#environment;
    this.#report.resolutions = await Promise.all(
      this.#report.resolutions.map(async (open) => {
        const { resolution, failures } = await readOpenRevisions(open, revisions.reads, {
          stop: this.#control.memory,
          timeoutMs: maxTimeoutMs,
          client: this.#request.client,
        });
        this.#report.failures.push(...failures);
        return resolution;
      }),
    );
  }

  #prefetch(): Promise<Preparation> {
    const { pool, scheduler, commitAttributes, ownersOf, revisions } = this.#environment;
    return prepare(this.#plan, this.#report.resolutions, {
      pool,
      scheduler,
      commitAttributes,
      ownersOf,
      limits: revisions.limits,
      view: this.#view,
      control: this.#control,
      lane: this.#limits.lane,
      client: this.#request.client,
      deadlineMs: this.#startedMs + this.#timeoutMs * preparationShare,
      onResult: (result) => this.#slices.addWork(result),
      onLost: (error) => this.#slices.recordLostWorker("looking for repositories", undefined, error),
    });
  }

  #take({ resolutions, selections, people, excluded }: Preparation): void {
    this.#report.resolutions = resolutions;
    this.#report.excluded.push(...excluded);
    this.#options = { ...this.#options, people, selections: selections.map(indexedSelection) };
    this.#preparePhases(selections);
  }

  /** Starts to prepare the search of commits that are not indexed, if there are any. */
  #preparePhases(selections: readonly RepositorySelection[]): void {
    const phases = phasesOfPlan(this.#plan, selections, this.#report.resolutions, this.#phaseServices());
    if (phases !== undefined) this.#phases = new PhaseQueue(phases);
  }

  #phaseServices(): Omit<PhaseContext, "texts" | "repositories"> {
    const { revisions, maxTimeoutMs } = this.#environment;
    return {
      ...revisions,
      view: this.#view,
      control: this.#control,
      coversAll: this.#options.receipt,
      timeoutMs: maxTimeoutMs,
      client: this.#request.client,
      onFailure: (sentence) => this.#report.failures.push(sentence),
      onIncomplete: (name) => this.#report.incompleteRevisions.add(name),
      onSymbolsMissing: (reason) => this.#report.symbolFaults.add(reason),
    };
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
    const { first, rest } = await new RankedPass(
      {
        id: this.#id,
        environment: this.#environment,
        view: this.#view,
        control: this.#control,
        lane: this.#limits.lane,
        client: this.#request.client,
        debug: this.#request.debug,
      },
      work,
    ).run(this.#slices.stats);
    await earlier;
    if (!this.#ended) await this.#slices.run(first);
    if (!this.#ended) await this.#slices.run(rest);
  }

  async #searchPhases(phases: PhaseQueue): Promise<void> {
    while (!this.#isStopped) {
      this.#resumeClocks();
      const phase = await Promise.race([phases.take(), this.#stopped]);
      if (phase === undefined) return;
      this.#options = { ...this.#options, selections: phase.selections, commitSets: phase.commitSets };
      const { rows, cached } = phase;
      await this.#searchRows({ options: this.#options, rows, cached, ranked: undefined }, Promise.resolve());
    }
  }

  async #searchHistories(): Promise<void> {
    this.#resumeClocks();
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
    const { rows, ruledOutCount } = chooseShards(this.#view, choices, this.#options.receipt);
    this.#slices.stats.shardsRuledOut += ruledOutCount;
    if (this.#request.explain === true) this.#estimate = estimateCost(this.#view, rows, ruledOutCount);
    return rows;
  }

  /** Lets work that waits for the client continue, as far as the client has read. */
  #goOn(): void {
    if (this.#ended) return;
    this.#slices.grantCredit();
    if (this.#repositoryWork?.isParked === true && this.#sink.pendingBytes === 0) {
      this.#resumeClocks();
      this.#repositoryWork.resume();
    }
    if (this.#histories?.isParked === true && this.#sink.pendingBytes === 0) {
      this.#resumeClocks();
      this.#histories.resume();
    }
    this.#slices.goOn();
  }

  /** Time in which the search only waits for the client does not count. */
  #pauseClocks(): void {
    if (this.#slices.isActive || this.#repositoryWork?.isActive === true) return;
    for (const clock of this.#clocks) clock.pause();
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
    for (const clock of this.#clocks) clock.stop();
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
    this.#onEnd({
      outcome: this.#report.outcome(isCancelled),
      lane: this.#limits.lane,
      matchCount: this.#results.matchCount,
      durationMs,
      firstMatchesMs: this.#firstMatchesMs,
      stoppingMs: this.#stoppedMs === undefined ? undefined : performance.now() - this.#stoppedMs,
      stats: this.#slices.stats,
      shardFailures: this.#report.failures,
      notSearched: this.#report.notSearched(),
      receipt,
      changes: this.#changes,
    });
  }

  /** Statistics reveal something about repositories that share shards with those that the viewer sees. */
  #explain(): ExplainedCost {
    const seesAll = this.#environment.catalog.seesAll(this.#request.viewer);
    const { durationMs } = this.#report;
    const { workerMs } = this.#control.cost;
    return {
      plan: printPlan(this.#plan),
      ...(seesAll ? { estimate: this.#estimate } : {}),
      took: { durationMs, workerMs, ...(seesAll ? { stats: { ...this.#slices.stats } } : {}) },
    };
  }

  #resumeClocks(): void {
    for (const clock of this.#clocks) clock.resume();
  }

  /** All repositories that exist for this search. */
  get #repositories(): RepositoryTable {
    return this.#environment.catalog.repositoryTable(this.#request.viewer);
  }

  get #isStopped(): boolean {
    return this.#control.isStopped;
  }

  /** How long the search may take as a whole. */
  get #timeoutMs(): number {
    return Math.max(...this.#limits.timeoutsMs);
  }

  /** Bytes of results that the client has not read. */
  get #unreadBytes(): number {
    return this.#stream.gatheredBytes + this.#sink.pendingBytes;
  }
}

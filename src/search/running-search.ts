import { callAfter, type PendingCall } from "../base/deadline.js";
import { errorMessage } from "../base/errors.js";
import type { CatalogView } from "../catalog/catalog.js";
import type { Repository } from "../model/repository.js";
import type { RepositoryTable } from "../catalog/repository-table.js";
import type { EventSink } from "../model/event-sink.js";
import type { SearchRequest } from "../model/search-request.js";
import type { SearchPlan } from "../query/plan/plan.js";
import { endRules } from "../protocol/result-limits.js";
import type { RepositorySelection, SearchOptions } from "../protocol/search-options.js";
import { ControlBlock } from "../protocol/control-block.js";
import { EventStream, SearchClock } from "./stream/event-stream.js";
import { PacedWork } from "./paced-work.js";
import { needsPreparation, prepare, type Preparation } from "./preparation.js";
import { repositoryResults } from "./repositories/repository-results.js";
import { indexedSelection, readOpenRevisions, type Resolution } from "./repositories/repository-resolver.js";
import { hasUnindexed, revisionPhases, type SearchPhase } from "./revisions/revision-phases.js";
import { PhaseQueue } from "./revisions/phase-queue.js";
import type { SearchEnd, SearchEnvironment } from "./search-environment.js";
import { searchLimits, searchOptions, type SearchLimits } from "./search-limits.js";
import { SearchReport } from "./stream/search-report.js";
import { SearchResults } from "./stream/search-results.js";
import { creditBytes, creditWaitMs, SearchSlices } from "./search-slices.js";
import { chooseShards } from "./shard-choice.js";

/** The part of its time that a search spends on reading mirrors at most, before it has looked for anything. */
const preparationShare = 0.6;

/**
 * A search that is stopped waits so long for its slices, and then ends without them. They look at the stop flag every 5
 * ms, so only one that is inside a long call of RE2 or waits for the disk or for a processor is later.
 */
const stopWaitMs = 500;

/** What a search is to look for, and where. */
export interface ChosenSearch {
  readonly plan: SearchPlan;
  readonly view: CatalogView;
  /** By alternative of the plan. */
  readonly resolutions: readonly Resolution[];
}

/**
 * One search from its plan to its last event.
 *
 * It runs as slices, at most one for each worker: a slice takes shards from the counter in the control block, posts
 * batches while it runs, and ends when there is no more, when others wait, or when the client has not read what was
 * sent (credit). In the last case the slice is parked, without a worker, and goes on once the sink has
 * drained, so a slow client costs neither a thread nor more than its credit of memory.
 *
 * Slices come in rounds, of which most searches have one: what is indexed. Commits that are not indexed are searched in
 * further rounds, each prepared while the one before it runs. A round begins when all slices of the last one have
 * ended.
 *
 * Its last event is at most `stopWaitMs` after its time is over or its client has left, whatever a slice does then.
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
  readonly #limits: SearchLimits;
  readonly #control: ControlBlock;
  #options: SearchOptions;
  readonly #stream: EventStream;
  readonly #results: SearchResults;
  readonly #report: SearchReport;
  readonly #slices: SearchSlices;
  /** Undefined before the search begins. */
  #repositoryWork: PacedWork | undefined;
  /** Undefined when there are no further rounds. */
  #rounds: PhaseQueue | undefined;
  /** One for the search, and one for each set of rules whose time is shorter. */
  readonly #clocks: readonly SearchClock[];
  #ended = false;
  /** Runs from the moment when the search is stopped. */
  #stopWait: PendingCall | undefined;
  #stoppedMs: number | undefined;
  #isReleased = false;
  #firstMatchesMs: number | undefined;

  /** `resolutions` are of the moment at which the view was taken, which the search releases. */
  constructor(
    id: number,
    request: SearchRequest,
    { plan, view, resolutions }: ChosenSearch,
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
    this.#results = new SearchResults(plan, this.#limits, this.#control, repositories, this.#stream);
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
    this.#slices = new SearchSlices({
      id,
      environment,
      view: this.#view,
      control: this.#control,
      lane: this.#limits.lane,
      client: request.client,
      unreadBytes: () => this.#unreadBytes,
      onFailure: (sentence) => this.#report.failures.push(sentence),
      onBadQuery: (sentence) => this.#refuseQuery(sentence),
      onLeftOut: (files) => this.#report.recordLeftOut(files),
      onBatch: (batch, release) => this.#results.addBatch(batch, release),
      onScheduled: () => this.#resumeClocks(),
      onProgress: () => this.#goOn(),
      onRest: () => this.#endIfDone(),
    });
    const { timeoutsMs } = this.#limits;
    this.#clocks = [
      new SearchClock(this.#timeoutMs, () => this.#expire()),
      ...timeoutsMs.flatMap((timeoutMs, rules) =>
        timeoutMs < this.#timeoutMs ? [new SearchClock(timeoutMs, () => this.#expireRules(rules))] : [],
      ),
    ];
  }

  start(): void {
    this.#sink.onClosed(() => this.#cancel());
    this.#sink.onDrain(() => this.#goOn());
    if (needsPreparation(this.#plan) || this.#report.resolutions.some(({ open }) => open.length > 0))
      void this.#prepare();
    else this.#begin();
  }

  /** Ends the search early with what was found; `reason` is shown to the client. */
  stop(reason: string): void {
    this.#report.failures.push(reason);
    this.#requestStop();
    this.#endIfDone();
  }

  /** Ends a search that cannot be run. */
  #refuseQuery(sentence: string): void {
    this.#report.queryError = sentence;
    this.#requestStop();
    this.#endIfDone();
  }

  /** Finds out what the choice of repositories depends on, and then begins. */
  async #prepare(): Promise<void> {
    this.#slices.hold();
    try {
      await this.#readRevisions();
      const preparation = await this.#prefetch();
      if (!this.#isStopped) this.#take(preparation);
    } catch (error) {
      this.#environment.log.error({ error: errorMessage(error) }, "a search could not be prepared");
      this.#report.failures.push(errorMessage(error));
      this.#requestStop();
    }
    if (!this.#ended) this.#begin();
    this.#slices.release();
  }

  /** Asks the mirrors for the revisions that memory does not know. */
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
    const { pool, scheduler, commitAttributes, revisions } = this.#environment;
    return prepare(this.#plan, this.#report.resolutions, {
      pool,
      scheduler,
      commitAttributes,
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

  #take({ resolutions, selections, people, leftOut }: Preparation): void {
    this.#report.resolutions = resolutions;
    this.#report.leftOut.push(...leftOut);
    this.#options = { ...this.#options, people, selections: selections.map(indexedSelection) };
    this.#planRounds(selections);
  }

  /** Begins to prepare the search of commits that are not indexed, if there are any. */
  #planRounds(selections: readonly RepositorySelection[]): void {
    const texts = this.#plan.basicQueries.map(({ text }) => text);
    const ofTexts = selections.map((selection, i) => (texts[i] === undefined ? noRepositories : selection));
    if (!hasUnindexed(ofTexts)) return;
    const { revisions, maxTimeoutMs } = this.#environment;
    const records = new Map<number, Repository>();
    for (const {
      repositories,
      selection: { revisions: chosen },
    } of this.#report.resolutions) {
      if (chosen !== undefined)
        for (const repository of repositories) if (chosen.has(repository.id)) records.set(repository.id, repository);
    }
    this.#rounds = new PhaseQueue(
      revisionPhases(ofTexts, {
        ...revisions,
        texts,
        repositories: { byId: (id) => records.get(id) },
        view: this.#view,
        control: this.#control,
        timeoutMs: maxTimeoutMs,
        client: this.#request.client,
        onFailure: (sentence) => this.#report.failures.push(sentence),
        onIncomplete: (name) => this.#report.incompleteRevisions.add(name),
      }),
    );
  }

  /**
   * Sends repositories that are results, in turns, as there may be as many as repositories, and searches what is
   * indexed.
   */
  #begin(): void {
    // Whatever is done at once, the search is not done before all of it is begun.
    this.#slices.hold();
    this.#repositoryWork = new PacedWork(
      repositoryResults(this.#plan, this.#report.resolutions, this.#repositories, this.#results),
      {
        isStopped: () => this.#isStopped,
        hasRoom: () => this.#unreadBytes < creditBytes,
        onFailure: (sentence) => this.#report.failures.push(sentence),
        onRest: () => this.#slices.release(),
      },
    );
    this.#runRepositoryWork(this.#repositoryWork);
    this.#slices.start({
      options: this.#options,
      rows: this.#isStopped ? new Uint32Array(0) : this.#chooseRows(),
      cached: [],
    });
    this.#slices.release();
  }

  #runRepositoryWork(work: PacedWork): void {
    this.#slices.hold();
    work.run();
  }

  #chooseRows(): Uint32Array {
    const choices = this.#plan.basicQueries.flatMap(({ text }, i) =>
      text === undefined ? [] : [{ text, selection: this.#options.selections[i] }],
    );
    const { rows, ruledOutCount } = chooseShards(this.#view, choices);
    this.#slices.stats.shardsRuledOut += ruledOutCount;
    return rows;
  }

  /** Goes on to the next round when it is ready. */
  #advance(rounds: PhaseQueue): void {
    this.#resumeClocks();
    void rounds.advance((round) => this.#startRound(round));
  }

  /** After the last round the search ends. */
  #startRound(round: SearchPhase | undefined): void {
    if (round === undefined) {
      this.#rounds = undefined;
      return this.#endIfDone();
    }
    this.#options = { ...this.#options, selections: round.selections, commitSets: round.commitSets };
    this.#slices.start({ options: this.#options, rows: round.rows, cached: round.cached });
  }

  /** Lets what waits for the client go on, as far as it has read. */
  #goOn(): void {
    if (this.#ended) return;
    this.#slices.grantCredit();
    if (this.#repositoryWork?.isParked === true && this.#sink.pendingBytes === 0) {
      this.#resumeClocks();
      this.#runRepositoryWork(this.#repositoryWork);
    }
    this.#slices.goOn();
  }

  #endIfDone(): void {
    if (this.#ended) this.#releaseIfIdle();
    if (this.#slices.isActive || this.#ended) return;
    if (this.#slices.isParked || this.#repositoryWork?.isParked === true) {
      for (const clock of this.#clocks) clock.pause();
      return;
    }
    if (this.#slices.awaitsBatches && !this.#sink.closed) return;
    if (this.#rounds !== undefined && !this.#isStopped) this.#advance(this.#rounds);
    else this.#finish();
  }

  #expire(): void {
    this.#report.isTimedOut = true;
    this.#requestStop();
    this.#endIfDone();
  }

  /** The time of some alternatives is over: the others go on. */
  #expireRules(rules: number): void {
    if (this.#limits.ruleLimits === undefined) return;
    this.#report.timedOutRules.add(rules);
    endRules(this.#limits.ruleLimits, rules);
  }

  #cancel(): void {
    this.#requestStop();
    if (!this.#slices.isActive) this.#finish();
  }

  /** No more is looked for, and what is parked is given up. */
  #requestStop(): void {
    this.#control.cancel();
    this.#slices.drop();
    this.#repositoryWork?.drop();
    if (this.#ended) return;
    this.#stoppedMs ??= performance.now();
    this.#stopWait ??= callAfter(stopWaitMs, () => this.#finish());
  }

  #finish(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#stopWait?.cancel();
    for (const clock of this.#clocks) clock.stop();
    if (this.#rounds !== undefined) this.#requestStop();
    this.#report.unfinishedShards.push(...this.#slices.shardsInWork());
    // Batches that come later are dropped there, and their memory goes back to its worker.
    this.#environment.pool.forget(this.#id);
    const { durationMs } = this.#report;
    const isCancelled = this.#sink.closed;
    if (!isCancelled) this.#stream.finish(this.#report.alert(durationMs), undefined);
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
    });
    this.#releaseIfIdle();
  }

  /** Lets go of what the slices of an ended search read, once none of them runs. */
  #releaseIfIdle(): void {
    if (this.#slices.isActive || this.#isReleased) return;
    this.#isReleased = true;
    this.#rounds?.end();
    this.#view.release();
  }

  #resumeClocks(): void {
    for (const clock of this.#clocks) clock.resume();
  }

  /** All that there is for this search. */
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

  /** Bytes of results that the client has not taken. */
  get #unreadBytes(): number {
    return this.#stream.gatheredBytes + this.#sink.pendingBytes;
  }
}

const noRepositories: RepositorySelection = { repositoryIds: new Uint32Array(0), revisions: undefined };

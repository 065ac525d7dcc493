import type { Log } from "../base/log.js";
import { messageOf } from "../base/errors.js";
import { takeTurn } from "../base/steps.js";
import type { Catalog, CatalogView } from "../catalog/catalog.js";
import type { RepositoryTable } from "../catalog/repository-table.js";
import { giveCredit } from "../task/credit.js";
import { addStats, controlWordCount, controlWords, isStopped, noStats, stopAtLimit, stopReasons, type RepositorySelection, type SearchOptions, type SearchStats } from "../task/search-options.js";
import { endRules, makeRuleLimits, takeMatches, type RuleLimits } from "../task/rule-limits.js";
import type { ResultBatch } from "../eval/result-writer.js";
import { addTally, emptyTally } from "../task/tally.js";
import type { EventSink } from "../model/event-sink.js";
import { lineBytesUnlimited, type SearchRequest } from "../model/search-request.js";
import type { RepositoryNamePlan, SearchPlan } from "../query/plan.js";
import { firstSlotWord, type BatchMessage, type Lane, type SearchPlace, type SearchTaskResult } from "../worker/messages.js";
import type { SearchPool } from "../worker/pools.js";
import { chooseAlert } from "./alerts.js";
import type { CommitFactReader } from "./commit-facts.js";
import { EventStream, SearchClock, type Progress } from "./event-stream.js";
import { makeFilters, type Filter } from "./filters.js";
import { needsPreparation, prepare, type LeftOut, type Preparation } from "./preparation.js";
import { makeSkipped, type NotSearched, type Skipped } from "./progress.js";
import { NameHighlighter, repositoriesByName, repositoryMatch } from "./repository-results.js";
import { indexedSelection, readOpenRevisions, resolveRepositories, type Resolution } from "./repository-resolver.js";
import { hasUnindexed, roundsOf, type RevisionReading, type Round } from "./revision-rounds.js";
import { chooseShards } from "./shard-choice.js";
import type { SliceScheduler } from "./slice-scheduler.js";

/**
 * Bytes of results that a search may have made and its client not read. With at most one more batch from each worker,
 * and buffers at most twice as large as what they hold, a stream that nobody reads stays below 2 MiB on two cores.
 */
const creditBytes = 512 * 1024;

/** A worker without credit waits this long for it: a client that keeps up is rarely slower. */
const creditWaitMs = 5;

/** A line's text is cut at this size, so that no event passes 10 MiB however its bytes are escaped. */
const lineTextBytesMax = 1_500_000;

/** Above this limit a search counts as exhaustive, and gives way to those that a person waits for. */
const interactiveCountMax = 100_000;

/** The part of its time that a search spends on reading mirrors at most, before it has looked for anything. */
const preparationShare = 0.6;

/** What a search borrows from the daemon. */
export interface SearchEnvironment {
  readonly catalog: Catalog;
  readonly pool: SearchPool;
  readonly scheduler: SliceScheduler;
  readonly commitFacts: CommitFactReader;
  /** How revisions are searched that are not indexed. */
  readonly revisions: RevisionReading;
  readonly log: Log;
  readonly defaultCount: number;
  readonly defaultTimeoutMs: number;
  readonly maxTimeoutMs: number;
  /** Begins the `trace` URL of progress events. */
  readonly traceUrl: (searchId: number) => string;
  readonly onShardFailure: (shardId: number) => void;
  readonly onWorkerLost: () => void;
}

/** How a search ended. */
export type SearchOutcome = "complete" | "limit" | "timeout" | "cancelled" | "failed";

export interface SearchEnd {
  readonly outcome: SearchOutcome;
  readonly matchCount: number;
  readonly durationMs: number;
  /** Milliseconds to the first matches event; undefined when there was none. */
  readonly firstMatchesMs: number | undefined;
  readonly stats: SearchStats;
  readonly shardFailures: readonly string[];
  readonly notSearched: NotSearched;
}

/**
 * One search from its plan to its last event.
 *
 * It runs as slices, at most one for each worker: a slice takes shards from the counter in the control block, posts
 * batches while it runs, and ends when there is no more, when others wait, or when the client has not read what was
 * sent (credit). In the last case the slice is parked here, without a worker, and goes on once the sink has
 * drained, so a slow client costs neither a thread nor more than its credit of memory.
 *
 * Slices come in rounds, of which most searches have one: what is indexed. Commits that are not indexed are searched in further
 * rounds, each prepared while the one before it runs. A round begins when all slices of the last one have ended.
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
  #resolutions: readonly Resolution[];
  #leftOut: LeftOut[] = [];
  readonly #timeoutMs: number;
  readonly #namePlans: readonly RepositoryNamePlan[];
  /** Made for the first repository result. */
  #highlighter: NameHighlighter | undefined;
  /** Repository results that wait for the client to read. */
  #parkedRepositories: Iterator<undefined, void> | undefined;
  readonly #matchCountMax: number;
  /** True when a larger count is of use to all alternatives alike. */
  readonly #isSuggestible: boolean;
  readonly #ruleLimits: RuleLimits | undefined;
  /** By rules: keys of the results that the main thread has counted for them. */
  readonly #seenByRules = new Map<number, Set<string>>();
  readonly #expiredRules = new Set<number>();
  readonly #displayCountMax: number;
  readonly #control: Int32Array;
  #options: SearchOptions;
  /** Places of the shards to search: in the view's table, then in the round's kept shards. */
  #places: Uint32Array = new Uint32Array(0);
  /** Undefined when there are no further rounds. */
  #rounds: AsyncGenerator<Round, undefined> | undefined;
  /** The round after the one that runs, or undefined in place of it. */
  #nextRound: Promise<Round | undefined> | undefined;
  #round: Round | undefined;
  /** True while the next round is awaited. */
  #isAdvancing = false;
  readonly #lane: Lane;
  readonly #stream: EventStream;
  /** One for the search, and one for each set of rules whose time is shorter. */
  readonly #clocks: readonly SearchClock[];
  readonly #tally = emptyTally();
  readonly #stats = noStats();
  readonly #seenKeys = new Set<string>();
  readonly #repositoriesWithResults = new Set<number>();
  readonly #shardFailures: string[] = [];
  #repositoryResultCount = 0;
  /** Slices that have a worker or wait for one, and one more while the search is being prepared. */
  #activeSlices = 0;
  readonly #parked: { slot: number; place: SearchPlace }[] = [];
  #sliceCount = 0;
  /** By slice: batches that it says it has posted, less those that arrived. Slices that are even are not in it. */
  readonly #missingBatches = new Map<number, number>();
  /** Slices whose worker died: how many batches they had posted is not known, and those that arrive are not awaited. */
  readonly #lostSlices = new Set<number>();
  /** Bytes that the workers' credit lacks and the sink has not taken yet. */
  #owedBytes = 0;
  #timedOut = false;
  #ended = false;
  #firstMatchesMs: number | undefined;

  constructor(id: number, request: SearchRequest, plan: SearchPlan, environment: SearchEnvironment, sink: EventSink,
    onEnd: (end: SearchEnd) => void) {
    this.#id = id;
    this.#request = request;
    this.#plan = plan;
    this.#environment = environment;
    this.#sink = sink;
    this.#onEnd = onEnd;
    const { catalog, pool } = environment;
    const counts = plan.rules.map(({ count }) => count ?? request.defaultCount ?? environment.defaultCount);
    this.#matchCountMax = Math.max(...counts);
    this.#isSuggestible = counts.every((count) => count === this.#matchCountMax);
    // Rules that several alternatives share have the same limit as the whole search, which sees to it.
    this.#ruleLimits = counts.length === 1 ? undefined : makeRuleLimits(counts.map((count) => (count < this.#matchCountMax ? count : undefined)));
    this.#displayCountMax = Math.min(request.display ?? this.#matchCountMax, this.#matchCountMax);
    this.#lane = this.#matchCountMax > interactiveCountMax ? "exhaustive" : "interactive";
    this.#control = new Int32Array(new SharedArrayBuffer(4 * (Math.max(controlWordCount, firstSlotWord) + pool.workerCount)));
    this.#control[controlWords.credit] = creditBytes;
    this.#control[controlWords.creditWaitMs] = creditWaitMs;
    this.#view = catalog.view();
    this.#resolutions = plan.alternatives.map((alternative) => resolveRepositories(this.#repositories, alternative.repositories));
    this.#namePlans = plan.alternatives.flatMap((alternative) => alternative.repositoryNames ?? []);
    this.#options = {
      plan,
      chunkMatches: request.chunkMatches,
      contextLines: request.contextLines,
      lineBytesMax: Math.min(request.chunkMatches ? request.lineBytesMax : lineBytesUnlimited, lineTextBytesMax),
      matchCountMax: this.#matchCountMax,
      displayCountMax: this.#displayCountMax,
      ruleLimits: this.#ruleLimits,
      people: undefined,
      selections: this.#resolutions.map((resolution) => resolution.selection),
      useIndex: plan.alternatives.every(({ repositories }) => repositories.index !== "no"),
      commitSets: undefined,
    };
    this.#stream = new EventStream(sink, { filters: (final) => this.#filters(final), progress: (done) => this.#progress(done) },
      () => { this.#firstMatchesMs = performance.now() - this.#startedMs; });
    const timeouts = plan.rules.map(({ timeoutMs, count }) =>
      Math.min(timeoutMs ?? (count === undefined ? environment.defaultTimeoutMs : environment.maxTimeoutMs), environment.maxTimeoutMs));
    const longest = Math.max(...timeouts);
    this.#timeoutMs = longest;
    this.#clocks = [
      new SearchClock(longest, () => this.#expire()),
      ...timeouts.flatMap((timeoutMs, rules) => (timeoutMs < longest ? [new SearchClock(timeoutMs, () => this.#expireRules(rules))] : [])),
    ];
  }

  start(): void {
    this.#sink.onClosed(() => this.#cancel());
    this.#sink.onDrain(() => this.#grantCredit());
    this.#environment.pool.onBatch(this.#id, (message, giveBack) => this.#receive(message, giveBack));
    if (needsPreparation(this.#plan) || this.#resolutions.some(({ open }) => open.length > 0)) void this.#prepare();
    else this.#begin();
  }

  /** Finds out what the choice of repositories depends on, and then begins. */
  async #prepare(): Promise<void> {
    this.#activeSlices++;
    try {
      await this.#readRevisions();
      const preparation = await this.#findOut();
      if (!this.#isStopped) this.#take(preparation);
    } catch (error) {
      this.#environment.log.error({ error: messageOf(error) }, "a search could not be prepared");
      this.#shardFailures.push(messageOf(error));
      this.#requestStop();
    }
    this.#activeSlices--;
    this.#begin();
  }

  /** Asks the mirrors for the revisions that memory does not know. */
  async #readRevisions(): Promise<void> {
    const { revisions, maxTimeoutMs } = this.#environment;
    this.#resolutions = await Promise.all(this.#resolutions.map(async (open) => {
      const { resolution, failures } = await readOpenRevisions(open, revisions.reads, this.#control, maxTimeoutMs);
      this.#shardFailures.push(...failures);
      return resolution;
    }));
  }

  #findOut(): Promise<Preparation> {
    const { pool, scheduler, commitFacts, revisions } = this.#environment;
    return prepare(this.#plan, this.#resolutions, {
      pool, scheduler, commitFacts, limits: revisions.limits, view: this.#view, control: this.#control, lane: this.#lane,
      deadlineMs: this.#startedMs + this.#timeoutMs * preparationShare,
      onResult: (result) => this.#addWork(result),
      onLost: (error) => this.#noteLostWorker("looking for repositories", undefined, error),
    });
  }

  #take({ resolutions, people, leftOut }: Preparation): void {
    this.#resolutions = resolutions;
    this.#leftOut.push(...leftOut);
    const selections = resolutions.map((resolution) => resolution.selection);
    this.#options = { ...this.#options, people, selections: selections.map(indexedSelection) };
    this.#planRounds(selections);
  }

  /** Begins to prepare the search of commits that are not indexed, if there are any. */
  #planRounds(selections: readonly RepositorySelection[]): void {
    const texts = this.#plan.alternatives.map(({ text }) => text);
    const ofTexts = selections.map((selection, i) => (texts[i] === undefined ? noRepositories : selection));
    if (!hasUnindexed(ofTexts)) return;
    const { revisions, maxTimeoutMs } = this.#environment;
    this.#rounds = roundsOf(ofTexts, {
      ...revisions, texts, repositories: this.#repositories, view: this.#view, control: this.#control, timeoutMs: maxTimeoutMs, onFailure: (sentence) => this.#shardFailures.push(sentence),
    });
    this.#prepareRound();
  }

  #prepareRound(): void {
    this.#nextRound = this.#rounds?.next().then(({ value }) => value ?? undefined);
  }

  /** Goes on to the next round when it is ready; after the last one the search ends. */
  async #advance(): Promise<void> {
    if (this.#isAdvancing) return;
    this.#isAdvancing = true;
    for (const clock of this.#clocks) clock.resume();
    this.#round?.release();
    this.#round = await this.#nextRound;
    this.#isAdvancing = false;
    if (this.#ended) return this.#round?.release();
    if (this.#round === undefined) {
      this.#rounds = undefined;
      return this.#endIfDone();
    }
    this.#prepareRound();
    this.#options = { ...this.#options, selections: this.#round.selections, commitSets: this.#round.commitSets };
    this.#places = this.#round.places;
    Atomics.store(this.#control, controlWords.nextShard, 0);
    this.#startSlices();
  }

  #begin(): void {
    if (!this.#isStopped) this.#places = this.#choosePlaces();
    // Whatever is done at once, the search is not done before all of it is begun.
    this.#activeSlices++;
    this.#sendRepositories();
    this.#startSlices();
    this.#endSlice();
  }

  #startSlices(): void {
    const sliceCount = this.#isStopped ? 0 : Math.min(this.#environment.pool.workerCount, this.#places.length);
    for (let slot = 0; slot < sliceCount; slot++) this.#scheduleSlice(slot, undefined);
    this.#endIfDone();
  }

  /** Ends the search early with what was found; `reason` is shown to the client. */
  stop(reason: string): void {
    this.#shardFailures.push(reason);
    this.#requestStop();
    this.#parked.length = 0;
    this.#parkedRepositories = undefined;
    this.#endIfDone();
  }

  /** All that there is for this search. */
  get #repositories(): RepositoryTable {
    return this.#environment.catalog.repositoryTable(this.#request.viewer);
  }

  get #isStopped(): boolean {
    return isStopped(this.#control);
  }

  /** False when a slice that goes on at `place` would have nothing to do: after the limit only what is counted is written. */
  #isWanted(place: SearchPlace | undefined): boolean {
    const reason = Atomics.load(this.#control, controlWords.stop);
    return reason === stopReasons.none || (reason === stopReasons.limit && place?.position.counted !== undefined);
  }

  #requestStop(): void {
    Atomics.store(this.#control, controlWords.stop, stopReasons.cancelled);
  }

  #choosePlaces(): Uint32Array {
    const choices = this.#plan.alternatives.flatMap(({ text }, i) => (text === undefined ? [] : [{ text, selection: this.#options.selections[i] }]));
    const { places, ruledOutCount } = chooseShards(this.#view, choices);
    this.#stats.shardsRuledOut += ruledOutCount;
    return places;
  }

  /** Begins with the repository results; they are made in turns, as there may be as many as repositories. */
  #sendRepositories(): void {
    this.#activeSlices++;
    this.#goOnWithRepositories(this.#makeRepositoryResults());
  }

  #goOnWithRepositories(work: Iterator<undefined, void>): void {
    if (this.#isStopped || this.#takeTurn(work)) return this.#endSlice();
    if (this.#sink.pendingBytes + this.#stream.gatheredBytes < creditBytes) {
      setImmediate(() => this.#goOnWithRepositories(work));
      return;
    }
    this.#parkedRepositories = work;
    this.#endSlice();
  }

  /** True when the work is done, or cannot go on. */
  #takeTurn(work: Iterator<undefined, void>): boolean {
    try {
      return takeTurn(work).done === true;
    } catch (error) {
      this.#shardFailures.push(messageOf(error));
      return true;
    }
  }

  *#makeRepositoryResults(): Generator<undefined, void> {
    for (const [i, alternative] of this.#plan.alternatives.entries()) {
      const { select } = this.#plan.rules[alternative.rules];
      if (alternative.repositoryNames === undefined || (select !== undefined && select !== "repo")) continue;
      const { repositories, selection: { revisions } } = this.#resolutions[i];
      const table = this.#repositories;
      for (const repository of yield* repositoriesByName(alternative.repositoryNames, table, repositories)) {
        const typed = revisions?.get(repository.id)?.map((choice) => choice.typed) ?? [undefined];
        for (const revision of typed) this.#addRepository(repository.id, revision, alternative.rules);
        yield;
      }
    }
  }

  #addRepository(repositoryId: number, revision: string | undefined, rules: number): void {
    const repository = this.#repositories.byId(repositoryId);
    if (repository === undefined || !this.#countNew(`${repositoryId}@${revision ?? ""}`, rules)) return;
    this.#repositoryResultCount++;
    this.#repositoriesWithResults.add(repositoryId);
    if (this.#showOne()) this.#stream.addMatches(Buffer.from(repositoryMatch(repository, revision, this.#highlighter ??= new NameHighlighter(this.#namePlans))));
  }

  /**
   * Counts a result of the main thread, first for its rules and then for the search; false when it is one that the
   * search has already, or one too many.
   */
  #countNew(key: string, rules: number): boolean {
    if (this.#ruleLimits !== undefined) {
      const seen = this.#seenByRules.get(rules) ?? new Set();
      this.#seenByRules.set(rules, seen);
      if (seen.has(key)) return false;
      seen.add(key);
      if (takeMatches(this.#ruleLimits, rules, 1, this.#control) === 0) return false;
    }
    if (this.#seenKeys.has(key)) return false;
    this.#seenKeys.add(key);
    return this.#countOne();
  }

  /** Counts one match that the main thread found; false when the limit was reached before it. */
  #countOne(): boolean {
    if (Atomics.add(this.#control, controlWords.matchCount, 1) < this.#matchCountMax) return true;
    stopAtLimit(this.#control);
    return false;
  }

  #showOne(): boolean {
    return Atomics.add(this.#control, controlWords.displayCount, 1) < this.#displayCountMax;
  }

  #scheduleSlice(slot: number, place: SearchPlace | undefined): void {
    this.#activeSlices++;
    for (const clock of this.#clocks) clock.resume();
    this.#environment.scheduler.schedule(this.#lane, () => this.#runSlice(slot, place));
  }

  async #runSlice(slot: number, place: SearchPlace | undefined): Promise<void> {
    if (!this.#isWanted(place)) return this.#endSlice();
    const slice = this.#sliceCount++;
    try {
      const result = await this.#environment.pool.run({
        searchId: this.#id, slice, options: this.#options, table: this.#view.table.memory, filter: this.#view.filter.memory, places: this.#places,
        kept: this.#round?.kept ?? [], control: this.#control, slot, lane: this.#lane, resume: place, explain: false,
      });
      this.#countBatches(slice, result.batchCount);
      this.#takeResult(slot, result);
    } catch (error) {
      this.#loseWorker(slot, slice, error);
    }
    this.#endSlice();
  }

  #takeResult(slot: number, result: SearchTaskResult): void {
    this.#addWork(result);
    if (result.resume === undefined || !this.#isWanted(result.resume)) return;
    if (Atomics.load(this.#control, controlWords.credit) > 0) this.#scheduleSlice(slot, result.resume);
    else this.#park(slot, result.resume);
  }

  /** Adds up what a slice did, and notes the shards that failed. */
  #addWork({ stats, failures }: Pick<SearchTaskResult, "stats" | "failures">): void {
    addStats(this.#stats, stats);
    for (const failure of failures) {
      this.#shardFailures.push(failure.error.message);
      this.#environment.log.error({ shard: failure.shardId, code: failure.error.code }, failure.error.message);
      // Another error is a bug of ours: building the shard again would not help, and would repeat with each search.
      if (failure.error.code === "corrupt-shard" || failure.error.code === "format-version") this.#environment.onShardFailure(failure.shardId);
    }
  }

  #park(slot: number, place: SearchPlace): void {
    this.#parked.push({ slot, place });
    this.#grantCredit();
  }

  /** A worker died in this slice: what it had not sent of its shard is lost, and another slice takes the rest. */
  #loseWorker(slot: number, slice: number, error: unknown): void {
    const place = this.#places[Atomics.load(this.#control, firstSlotWord + slot) - 1] as number | undefined;
    const shardId = place === undefined ? undefined : this.#shardIdAt(place);
    const where = shardId === undefined ? "before its first shard" : `in shard ${shardId}`;
    this.#noteLostWorker(where, shardId, error);
    this.#missingBatches.delete(slice);
    this.#lostSlices.add(slice);
    const hasMore = Atomics.load(this.#control, controlWords.nextShard) < this.#places.length;
    if (hasMore && !this.#isStopped) this.#scheduleSlice(slot, undefined);
  }

  #shardIdAt(place: number): number | undefined {
    const { table } = this.#view;
    return place < table.count ? table.idOf(place) : this.#round?.kept[place - table.count]?.id;
  }

  #noteLostWorker(where: string, shardId: number | undefined, error: unknown): void {
    this.#shardFailures.push(`a search worker died ${where}: ${messageOf(error)}`);
    this.#environment.log.error({ shard: shardId, error: messageOf(error) }, "a search worker died; it is replaced");
    this.#environment.onWorkerLost();
  }

  #endSlice(): void {
    this.#activeSlices--;
    this.#endIfDone();
  }

  #countBatches(slice: number, count: number): void {
    if (this.#lostSlices.has(slice)) return;
    const missing = (this.#missingBatches.get(slice) ?? 0) + count;
    if (missing === 0) this.#missingBatches.delete(slice);
    else this.#missingBatches.set(slice, missing);
  }

  #receive({ slice, batch }: BatchMessage, giveBack: () => void): void {
    this.#countBatches(slice, -1);
    this.#addBatch(batch, giveBack);
    this.#grantCredit();
    this.#endIfDone();
  }

  #addBatch(batch: ResultBatch, giveBack: () => void): void {
    addTally(this.#tally, batch.tally);
    for (const key of batch.tally.repositories.keys()) this.#repositoriesWithResults.add(Number(key.slice(0, key.indexOf("@"))));
    this.#owedBytes += batch.bytes.length;
    if (batch.bytes.length > 0) this.#stream.addMatches({ bytes: batch.bytes, giveBack });
    for (const { key, rules, repositoryId, revision, json } of batch.selected) {
      if (json === "") this.#addRepository(repositoryId, revision, rules);
      else if (this.#countNew(key, rules)) {
        this.#repositoriesWithResults.add(repositoryId);
        if (this.#showOne()) this.#stream.addMatches(Buffer.from(json));
      }
    }
  }

  /** Gives the workers back the credit of all that the socket took, and lets parked slices go on. */
  #grantCredit(): void {
    if (this.#ended) return;
    const free = this.#owedBytes - this.#stream.gatheredBytes - this.#sink.pendingBytes;
    if (free > 0) {
      this.#owedBytes -= free;
      giveCredit(this.#control, free);
    }
    if (this.#parkedRepositories !== undefined && this.#sink.pendingBytes === 0) this.#unparkRepositories(this.#parkedRepositories);
    if (Atomics.load(this.#control, controlWords.credit) <= 0) return;
    for (const { slot, place } of this.#parked.splice(0)) this.#scheduleSlice(slot, place);
  }

  #unparkRepositories(work: Iterator<undefined, void>): void {
    this.#parkedRepositories = undefined;
    this.#activeSlices++;
    for (const clock of this.#clocks) clock.resume();
    this.#goOnWithRepositories(work);
  }

  #expire(): void {
    this.#timedOut = true;
    this.#requestStop();
    this.#parked.length = 0;
    this.#parkedRepositories = undefined;
    this.#endIfDone();
  }

  /** The time of some alternatives is over: the others go on. */
  #expireRules(rules: number): void {
    if (this.#ruleLimits === undefined) return;
    this.#expiredRules.add(rules);
    endRules(this.#ruleLimits, rules);
  }

  #cancel(): void {
    this.#requestStop();
    this.#parked.length = 0;
    this.#parkedRepositories = undefined;
    if (this.#activeSlices === 0) this.#finish();
  }

  #endIfDone(): void {
    if (this.#activeSlices > 0 || this.#ended) return;
    if (this.#parked.length > 0 || this.#parkedRepositories !== undefined) {
      for (const clock of this.#clocks) clock.pause();
      return;
    }
    if (this.#missingBatches.size > 0 && !this.#sink.closed) return;
    if (this.#rounds !== undefined && !this.#isStopped) void this.#advance();
    else this.#finish();
  }

  #finish(): void {
    if (this.#ended) return;
    this.#ended = true;
    for (const clock of this.#clocks) clock.stop();
    this.#endRounds();
    this.#view.release();
    this.#environment.pool.forget(this.#id);
    const durationMs = performance.now() - this.#startedMs;
    const isCancelled = this.#sink.closed;
    if (!isCancelled) this.#stream.finish(this.#alert(durationMs), undefined);
    this.#onEnd({
      outcome: this.#outcome(isCancelled), matchCount: this.#matchCount, durationMs, firstMatchesMs: this.#firstMatchesMs, stats: this.#stats, shardFailures: this.#shardFailures,
      notSearched: this.#notSearched(),
    });
  }

  /** Lets go of what rounds hold. What is being read for them ends by the stop word. */
  #endRounds(): void {
    this.#round?.release();
    if (this.#rounds === undefined) return;
    this.#requestStop();
    // While the next round is awaited there, it is released there.
    if (!this.#isAdvancing) void this.#nextRound?.then((round) => round?.release());
    void this.#rounds.return(undefined);
  }

  #outcome(isCancelled: boolean): SearchOutcome {
    if (isCancelled) return "cancelled";
    if (this.#hasTimedOut) return "timeout";
    if (this.#shardFailures.length > 0) return "failed";
    return this.#isLimitHit ? "limit" : "complete";
  }

  get #matchCount(): number {
    return Math.min(Atomics.load(this.#control, controlWords.matchCount), this.#matchCountMax);
  }

  get #hasTimedOut(): boolean {
    return this.#timedOut || this.#expiredRules.size > 0;
  }

  get #isLimitHit(): boolean {
    return Atomics.load(this.#control, controlWords.limitHit) !== 0;
  }

  #alert(durationMs: number): ReturnType<typeof chooseAlert> {
    return chooseAlert({
      queryText: this.#request.query, plan: this.#plan, resolutions: this.#resolutions, leftOut: this.#leftOut,
      unownedResults: this.#tally.unownedResults,
      repositoryCount: this.#repositories.count, hasResults: this.#matchCount > 0,
      timedOutAfterMs: this.#hasTimedOut ? durationMs : undefined,
    });
  }

  #filters(final: boolean): Filter[] {
    const isComplete = final && !this.#isLimitHit && !this.#hasTimedOut && this.#shardFailures.length + this.#leftOut.length === 0;
    return makeFilters({
      tally: this.#tally,
      repositoryResultCount: this.#repositoryResultCount,
      excludedForkCount: countOfAll(this.#resolutions, ({ excludedForks }) => excludedForks),
      excludedArchivedCount: countOfAll(this.#resolutions, ({ excludedArchived }) => excludedArchived),
      nameOf: (id) => this.#repositories.byId(id)?.name ?? "",
    }, isComplete);
  }

  #timedOutRepositories(): string[] {
    if (!this.#hasTimedOut) return [];
    const late = this.#resolutions.filter((_, i) => this.#timedOut || this.#expiredRules.has(this.#plan.alternatives[i].rules));
    return unique(late.flatMap(({ repositories }) => repositories.map(({ name }) => name)));
  }

  #progress(done: boolean): Progress {
    const repositoriesCount = this.#repositoriesWithResults.size;
    return {
      done,
      ...(done && repositoriesCount > 0 ? { repositoriesCount } : {}),
      matchCount: this.#matchCount,
      durationMs: Math.round(performance.now() - this.#startedMs),
      skipped: this.#skipped(done),
      trace: this.#environment.traceUrl(this.#id),
    };
  }

  #leftOutNames(isLate: boolean): readonly string[] {
    return this.#leftOut.filter((one) => one.isLate === isLate).map(({ repository }) => repository);
  }

  #notSearched(): NotSearched {
    return {
      missing: unique([...this.#resolutions.flatMap((resolution) => resolution.missing), ...this.#leftOutNames(false)]),
      cloning: unique(this.#resolutions.flatMap((resolution) => resolution.cloning)),
      timedOut: unique([...this.#timedOutRepositories(), ...this.#leftOutNames(true)]),
    };
  }

  #skipped(done: boolean): Skipped[] {
    return makeSkipped({
      ...this.#notSearched(),
      limitHit: this.#isLimitHit,
      matchCountMax: this.#isSuggestible ? this.#matchCountMax : undefined,
      shardFailures: this.#shardFailures,
      excludedForkCount: countOfAll(this.#resolutions, ({ excludedForks }) => excludedForks),
      excludedArchivedCount: countOfAll(this.#resolutions, ({ excludedArchived }) => excludedArchived),
      displayLimitHit: done && this.#displayCountMax < this.#matchCount ? this.#displayCountMax : undefined,
    });
  }
}

const noRepositories: RepositorySelection = { repositoryIds: new Uint32Array(0), revisions: undefined };

/** How many repositories are in the lists of all resolutions together. */
function countOfAll(resolutions: readonly Resolution[], listOf: (resolution: Resolution) => readonly number[]): number {
  return resolutions.length === 1 ? listOf(resolutions[0]).length : new Set(resolutions.flatMap(listOf)).size;
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)];
}

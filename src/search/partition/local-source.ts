import { assert } from "../../base/assert.js";
import { errorMessage } from "../../base/errors.js";
import { resultWhileYielding, workInSteps } from "../../base/yielding.js";
import type { Catalog } from "../../catalog/catalog.js";
import type { CatalogView } from "../../catalog/live-shards.js";
import type { PartitionShare } from "../../catalog/partitions.js";
import type { RepositoryTable } from "../../catalog/repository-table.js";
import type { BaseRevisions } from "../../model/match-change.js";
import type { Repository } from "../../model/repository.js";
import type { FinishedWork } from "../../protocol/messages.js";
import type { ResultBatch, Tally } from "../../protocol/result-batch.js";
import type { SearchOptions } from "../../protocol/search-options.js";
import { contextOfEnvironment, type HistoryServices } from "../history/history-context.js";
import { searchesHistory } from "../history/history-choice.js";
import { HistorySearches } from "../history/history-searches.js";
import { isRanked, isShared, matchesLeft, searchOptions } from "../limits/search-limits.js";
import { type PreparationServices, SearchPreparation } from "../preparation/search-preparation.js";
import { RankedPass, type Ranking } from "../ranking/ranked-pass.js";
import { repositoryResults, RepositoryWriter } from "../repositories/repository-results.js";
import { indexedSelection, pinRevisions, type Resolution } from "../repositories/repository-resolver.js";
import type { PhaseQueue } from "../revisions/revision-phases.js";
import {
  recordShardFailure,
  SearchSlices,
  type ShardRepairs,
  type SlicedWork,
  type SliceListener,
  type SliceServices,
} from "../slices/search-slices.js";
import { chooseShards, estimateCost, textChoices } from "../slices/shard-choice.js";
import type { SnapshotUse } from "../snapshot/search-snapshot.js";
import type { FoundChanges } from "../source/found-changes.js";
import { nodeIdSpan, type PinnedRevision } from "../source/search-fleet.js";
import type { SearchPart } from "../source/search-part.js";
import type {
  FoundResult,
  LateQueries,
  SourcedBatch,
  SourcedSearch,
  SearchSource,
  SourceListener,
  SourceOrder,
  SourceRoot,
} from "../source/search-source.js";
import { type Covered, SourceReceipt } from "./source-receipt.js";
import { repositoriesOfAll, SourceRecord, SourceReport } from "./source-record.js";

/** The services of the daemon that the search of its own shards and mirrors uses. */
export type SourceServices = SliceServices &
  HistoryServices &
  PreparationServices &
  ShardRepairs & { readonly catalog: Pick<Catalog, "repositoryTable" | "historyView" | "seesAll"> };

/** What is searched in this process. */
export interface LocalChoice {
  /** Of the search in this process. */
  readonly id: number;
  /** The live shards, which the source releases. */
  readonly view: CatalogView;
  /** By basic query of the plan, as of the moment at which the view was taken. */
  readonly resolutions: readonly Resolution[];
  /** Undefined unless the search may have to be repeated. */
  readonly snapshot: SnapshotUse | undefined;
  /** What is added to the ids of repositories in what it delivers: 0 unless several nodes search. */
  readonly idBase: number;
  /** Only what is in these partitions is searched; absent for all that there is. */
  readonly share?: PartitionShare | undefined;
  /** What another node has begun to search: no other commits of it may be searched. Absent for nothing. */
  readonly pinned?: readonly PinnedRevision[];
  /** Undefined unless an earlier source of the same search was stopped after the first of its results. */
  readonly continued?: ContinuedSource | undefined;
}

/** What an earlier source has delivered: its repositories, and of the documents that it ranked those before `from`. */
export interface ContinuedSource {
  /** Undefined if it has ranked none. */
  readonly ranking: Ranking | undefined;
  readonly from: number;
}

/**
 * The source of results of one search in this process: its shards, its mirrors and its histories.
 *
 * `run` does everything in order: it looks up what the choice of repositories depends on, searches indexed branches,
 * then commits that are not indexed, in phases, each prepared while the previous one runs, and then histories.
 *
 * It runs as slices, at most one for each worker: a slice takes shards from the counter in the control block, posts
 * batches while it runs, and ends when there is no more, when others wait, or when the client has not read what was
 * sent (credit). In the last case the slice is parked, without a worker, and resumes when the client has read, so a slow
 * client costs neither a thread nor more memory than its credit.
 */
export class LocalSource implements SearchSource {
  readonly #search: SourcedSearch;
  readonly #choice: LocalChoice;
  readonly #services: SourceServices;
  readonly #root: SourceRoot;
  readonly #slices: SearchSlices;
  readonly #preparation: SearchPreparation;
  readonly #writer: RepositoryWriter;
  readonly #record = new SourceRecord();
  readonly #report: SourceReport;
  readonly #seesAll: boolean;
  #options: SearchOptions;
  #resolutions: readonly Resolution[];
  /** Undefined before the search begins. */
  #repositoryWork: PacedWork | undefined;
  /** Undefined before the search of histories begins. */
  #histories: HistorySearches | undefined;
  /** Undefined if everything that is searched is indexed. */
  #phases: PhaseQueue | undefined;
  #isOver = false;
  /** Undefined unless the search is for changes. */
  changes: FoundChanges | undefined;
  /** Of what is indexed, if it was ranked. */
  ranking: Ranking | undefined;
  /** Whether the results depend on more than the query and what is indexed. */
  #dependsOnMore = false;

  constructor(search: SourcedSearch, choice: LocalChoice, services: SourceServices, root: SourceRoot) {
    this.#search = search;
    this.#choice = choice;
    this.#services = services;
    this.#root = root;
    const { request, plan, control, limits, claims, startedMs } = search;
    const { id, view, resolutions, snapshot } = choice;
    const { client, viewer } = request;
    this.#resolutions = resolutions;
    const selections = resolutions.map(({ selection }) => selection);
    const { idBase } = choice;
    const { marks, batchBytesMax } = search;
    const tellsContents = claims !== undefined && root.order !== undefined;
    const own = { claims, idBase, marks, batchBytesMax, tellsContents };
    this.#options = searchOptions(plan, request, limits, selections, own);
    this.#seesAll = services.catalog.seesAll(viewer);
    this.#writer = new RepositoryWriter(plan, () => this.#repositories, choice.idBase);
    this.#report = new SourceReport(plan, this.#record, () => this.#resolutions);
    const owner = { listener: this.#sliceListener(root.listener), pace: root.pace };
    this.#slices = new SearchSlices({ id, view, control, lane: limits.lane, client }, services, owner);
    const unprepared = { request, plan, view, snapshot, control, limits, startedMs };
    this.#preparation = new SearchPreparation(unprepared, services, {
      onResult: (work) => this.#addWork(work),
      onLost: (error) => this.#slices.recordLostWorker("looking for repositories", undefined, error),
    });
  }

  #sliceListener(listener: SourceListener): SliceListener {
    return {
      batch: (batch, release) => listener.batch(this.#named(batch), release),
      work: (work) => this.#addWork(work),
      failed: (sentence) => this.#fail(sentence),
      scheduled: () => listener.scheduled(),
      advanced: () => listener.advanced(),
      parked: () => listener.parked(),
    };
  }

  /** Threads know the ids of repositories, and leave results that are repositories to be written here. */
  #named(batch: ResultBatch): SourcedBatch {
    const { bytes, digest, selected, contents, ranked } = batch;
    const { idBase } = this.#choice;
    const tally = idBase === 0 ? batch.tally : withIdBase(batch.tally, idBase);
    const marks = batch.marks && { ...batch.marks, commits: addIdBase(batch.marks.commits, idBase) };
    if (selected.length === 0) return { bytes, tally, digest, selected: [], marks, contents, ranked };
    const found = selected.map(({ kind, key, optionsIndex, repositoryId, revision, json }): FoundResult | undefined => {
      if (kind === "repository") return this.#writer.find(repositoryId, revision, optionsIndex);
      const repository = this.#repositories.byId(repositoryId)?.name ?? "";
      const id = idBase + repositoryId;
      const ownKey = kind === "owner" || idBase === 0 ? key : `${id}${key.slice(key.indexOf("@"))}`;
      return { kind, key: ownKey, optionsIndex, repositoryId: id, revision, repository, json: () => json };
    });
    return { bytes, tally, digest, selected: found.filter((one) => one !== undefined), marks, contents, ranked };
  }

  #addWork(work: FinishedWork): void {
    this.#record.addWork(work);
    for (const failure of work.failures) {
      const { code, message } = failure.error;
      // Only workers detect it: RE2 rejects a regexp as too large.
      if (code === "bad-query") {
        this.#root.listener.refused(message);
        continue;
      }
      this.#fail(message);
      recordShardFailure(this.#services, failure);
    }
  }

  #fail(sentence: string): void {
    this.#record.failures.push(sentence);
  }

  part(late: LateQueries, isLast: boolean): SearchPart {
    return this.#report.part(late, isLast, {
      visibleCount: this.#repositories.count,
      seesAll: this.#seesAll,
      isRepeatable: this.#isRepeatable,
    });
  }

  receipt(late: LateQueries): Promise<SourceReceipt> {
    const covered: Covered = {
      resolutions: this.#resolutions,
      repositories: repositoriesOfAll(this.#resolutions),
      names: this.#report.names(late),
      missingRevisions: this.#report.missingRevisions(),
      record: this.#record,
      nameOf: (id) => this.#repositories.byId(id)?.name ?? "",
    };
    return resultWhileYielding(SourceReceipt.inSteps(covered));
  }

  nameOf(repositoryId: number): string | undefined {
    return this.#repositories.byId(repositoryId - this.#choice.idBase)?.name;
  }

  /** Resolves when nothing more comes. */
  async run(): Promise<void> {
    const { since } = this.#search.request;
    if (since !== undefined) await this.#findChanges(since);
    else await this.#searchAtOnce();
    if (this.#phases !== undefined) await this.#searchPhases(this.#phases);
    if (searchesHistory(this.#search.plan) && !this.#isStopped) await this.#searchHistories();
  }

  readonly isPassingOn = false;

  /** Whether a thread works for the search, or the main thread does. */
  get isActive(): boolean {
    return this.#slices.isActive || this.#repositoryWork?.isActive === true;
  }

  /** Lets work that waits for the client continue, as far as the client has read. */
  goOn(): void {
    if (this.#isOver) return;
    this.#slices.grantCredit();
    const { listener, pace } = this.#root;
    for (const parked of [this.#repositoryWork, this.#histories]) {
      if (parked?.isParked !== true || pace.pendingBytes > 0) continue;
      listener.scheduled();
      parked.resume();
    }
    this.#slices.goOn();
  }

  /** The search was stopped: abandons what is parked. */
  drop(): void {
    this.#slices.drop();
    this.#repositoryWork?.drop();
    this.#histories?.resume();
  }

  /** Batches are no longer wanted, because the client has left. */
  giveUp(): void {
    this.#slices.giveUp();
  }

  /** Drops whatever arrives from now on. */
  finish(): void {
    this.#isOver = true;
    const { control } = this.#search;
    // A slice that is still running has told what it scanned, but has not returned its counters.
    const { stats } = this.#record;
    if (this.isActive) stats.scannedBytes = Math.max(stats.scannedBytes, control.cost.scannedBytes);
    this.#record.unfinishedShards = this.#slices.shardsInWork();
    // Data read for later phases is no longer needed.
    if (this.#phases !== undefined) control.cancel();
    // Later batches are dropped there, and their memory is returned to its worker.
    this.#services.pool.forget(this.#choice.id);
    this.#slices.giveUp();
  }

  /** To be called when `run` has resolved: nobody reads the shards any more. */
  release(): void {
    this.#phases?.end();
    this.#choice.view.release();
  }

  get #isRepeatable(): boolean {
    return !this.#dependsOnMore && this.#phases === undefined && !searchesHistory(this.#search.plan);
  }

  get #isStopped(): boolean {
    return this.#search.control.isStopped;
  }

  get #repositories(): RepositoryTable {
    return this.#services.catalog.repositoryTable(this.#search.request.viewer, this.#choice.share);
  }

  /** Searches what is indexed, and prepares the search of what is not. */
  async #searchAtOnce(): Promise<void> {
    if (this.#pinned.length > 0 || this.#preparation.isNeeded(this.#resolutions)) {
      this.#dependsOnMore = true;
      await this.#prepare();
    } else if (this.#choice.snapshot !== undefined) await this.#preparation.recordSnapshot(this.#resolutions);
    if (this.#isOver) return;
    if (this.#root.order !== undefined) return this.#searchInOrder(this.#root.order);
    const repositories = this.#sendRepositories();
    // Otherwise it would be chance which of them a limit leaves.
    if (isShared(this.#search.limits)) {
      await repositories;
      if (this.#isOver) return;
    }
    await Promise.all([repositories, this.#searchIndexed()]);
  }

  /** The same for one of several sources: their repositories come before everything else. */
  async #searchInOrder(order: SourceOrder): Promise<void> {
    const { continued } = this.#choice;
    if (continued === undefined) await this.#sendRepositories();
    if (this.#isOver) return;
    if (continued?.ranking === undefined) await this.#searchIndexed();
    else await this.#sendRanked(continued.ranking, continued.from);
    order.others();
  }

  get #pinned(): readonly PinnedRevision[] {
    return this.#choice.pinned ?? [];
  }

  /** Looks up what the choice of repositories depends on, and begins to prepare what is not indexed. */
  async #prepare(): Promise<void> {
    await this.#readRevisions();
    await this.#pinRevisions();
    await this.#preparation.recordSnapshot(this.#resolutions);
    const { resolutions, selections, people, excluded } = await this.#preparation.lookUp(this.#resolutions);
    if (this.#isStopped) return;
    this.#resolutions = resolutions;
    this.#record.excluded.push(...excluded);
    this.#options = { ...this.#options, people, selections: selections.map(indexedSelection) };
    this.#phases = this.#preparation.phases(selections, resolutions, this.#record);
  }

  /** Resolves from the mirrors the revisions that are not known in memory. */
  async #readRevisions(): Promise<void> {
    const { resolutions, failures } = await this.#preparation.readRevisions(this.#resolutions);
    this.#resolutions = resolutions;
    for (const failure of failures) this.#fail(failure);
  }

  /** Searches the commits that another node has begun to search, of which some results are known. */
  async #pinRevisions(): Promise<void> {
    if (this.#pinned.length === 0) return;
    const { resolutions, gone } = await resultWhileYielding(pinRevisions(this.#resolutions, this.#pinned));
    this.#resolutions = resolutions;
    for (const { repository, typed } of gone)
      this.#record.excluded.push({
        repository,
        reason: `the rest of it could not be searched on another node, which has no ${typed === "" ? "such repository" : `revision ${typed} of it`} for this search`,
        isLate: false,
      });
  }

  /** Finds what differs from an earlier search; the phases search it. */
  async #findChanges(base: BaseRevisions): Promise<void> {
    await this.#readRevisions();
    this.#root.order?.others();
    const { sideFrom = 0 } = this.#search;
    const found = await this.#preparation.findChanges(
      this.#resolutions,
      base,
      this.#repositories,
      this.#record,
      sideFrom,
    );
    this.changes = found.changes;
    this.#phases = found.phases;
  }

  /** Sends repositories that are results, in steps, because all repositories may be results. */
  #sendRepositories(): Promise<void> {
    const { listener, pace } = this.#root;
    const { order } = this.#root;
    const onFound = (found: FoundResult, basicQuery: number, repository: Repository): void => {
      order?.repository(basicQuery, repository);
      listener.found(found);
    };
    this.#repositoryWork = new PacedWork(
      repositoryResults(this.#search.plan, this.#resolutions, this.#repositories, this.#writer, onFound),
      {
        isStopped: () => this.#isStopped,
        hasRoom: () => pace.unreadBytes < pace.creditBytes,
        onFailure: (sentence) => this.#fail(sentence),
        onParked: () => listener.parked(),
      },
    );
    return this.#repositoryWork.run();
  }

  #searchIndexed(): Promise<void> {
    const rows = this.#isStopped ? new Uint32Array(0) : this.#chooseRows();
    const work = { options: this.#options, rows, cached: [], ranked: undefined };
    const { plan, limits } = this.#search;
    if (this.#root.order !== undefined && isRanked(plan, limits)) return this.#rankInOrder(work, this.#root.order);
    if (this.#root.order !== undefined) this.#root.order.others();
    return this.#searchRows(work);
  }

  /** Ranks as a part of all sources. */
  async #rankInOrder(work: SlicedWork, order: SourceOrder): Promise<void> {
    const sharedShards = await order.shareBudget(work.rows.length);
    if (this.#isOver) return;
    this.ranking = await this.#rankedPass(work, sharedShards).run();
    if (this.ranking.hasFailed) this.#dependsOnMore = true;
    await this.#sendRanked(this.ranking, 0);
  }

  /**
   * Sends the ranked documents from this one on, and then what is left, within the limits of this source, which may go on where another
   * one has ranked.
   */
  async #sendRanked({ best, firstFrom, written, rest }: Ranking, from: number): Promise<void> {
    const { limits } = this.#search;
    const { matchCountMax, displayCountMax } = limits;
    const { marks, claims } = this.#options;
    const slices = this.#slices;
    if (this.#isOver) return slices.dropHeld();
    const limited = ({ options, ...work }: SlicedWork): SlicedWork => ({
      ...work,
      options: { ...options, matchCountMax, displayCountMax, marks, claims },
    });
    const { order } = this.#root;
    order?.ranked(best, from);
    const first = limited(firstFrom(from));
    await (written === undefined || this.#choice.continued !== undefined
      ? slices.run(first)
      : slices.continue(first, written));
    if (this.#isOver) return;
    order?.others();
    await slices.run(limited(rest(slices.counted, this.#record.stats)));
  }

  #chooseRows(): Uint32Array {
    const { plan, request, limits } = this.#search;
    const { view } = this.#choice;
    const choices = textChoices(plan, this.#options.selections);
    const { rows, ruledOutCount, unopenedCount } = chooseShards(view, choices, this.#options.receipt);
    // All shards share the budget of ranking, and some of these will be ruled out from now on.
    if (unopenedCount > 0 && isRanked(plan, limits)) this.#dependsOnMore = true;
    this.#record.stats.shardsRuledOut += ruledOutCount;
    if (request.explain === true) this.#record.estimate = estimateCost(view, rows, ruledOutCount);
    return rows;
  }

  async #searchRows(work: SlicedWork): Promise<void> {
    const { plan, limits } = this.#search;
    const slices = this.#slices;
    if (work.rows.length === 0) return;
    if (!isRanked(plan, limits)) return slices.run(work);
    const { first, written, rest, hasFailed } = await this.#rankedPass(work, undefined).run();
    if (hasFailed) this.#dependsOnMore = true;
    if (this.#isOver) return slices.dropHeld();
    await (written === undefined ? slices.run(first) : slices.continue(first, written));
    if (this.#isOver) return;
    const left = rest(slices.counted, this.#record.stats);
    if (left.rows.length > 0) await slices.run(left);
  }

  #rankedPass(work: SlicedWork, sharedShards: number | undefined): RankedPass {
    const { limits, control, request } = this.#search;
    const { id, view } = this.#choice;
    const { lane } = limits;
    const { client, debug } = request;
    const [environment, slices, keptMatches] = [this.#services, this.#slices, this.#search.rankedMatchesMax];
    return new RankedPass(
      { id, environment, view, control, lane, client, debug, slices, sharedShards, keptMatches },
      work,
    );
  }

  async #searchPhases(phases: PhaseQueue): Promise<void> {
    while (!this.#isStopped) {
      this.#root.listener.scheduled();
      const phase = await Promise.race([phases.take(), this.#root.stopped]);
      if (phase === undefined) return;
      this.#options = { ...this.#options, selections: phase.selections, commitSets: phase.commitSets };
      const { rows, cached } = phase;
      await this.#searchRows({ options: this.#options, rows, cached, ranked: undefined });
    }
  }

  async #searchHistories(): Promise<void> {
    const { listener, pace, order } = this.#root;
    const record = this.#record;
    listener.scheduled();
    const { plan, request, control, limits } = this.#search;
    const nowMs = new Date().getTime();
    const view = this.#services.catalog.historyView();
    try {
      const context = contextOfEnvironment(this.#services, view, {
        client: request.client,
        control,
        lane: limits.lane,
        nowMs,
        diffType: request.diffType,
        useIndex: this.#options.useIndex,
        matchesLeft: () => matchesLeft(limits, control),
        record,
      });
      this.#histories = new HistorySearches(plan, {
        context,
        results: {
          addCommit: (found, repositoryId) => listener.commit(found, this.#choice.idBase + repositoryId, nowMs),
          sendCommits: () => listener.sendCommits(),
          begin: order && ((repository) => order.history(repository)),
          addRepository: (repositoryId, optionsIndex) => {
            const found = this.#writer.find(repositoryId, undefined, optionsIndex);
            if (found !== undefined) listener.found(found);
          },
        },
        hasRoom: () => pace.unreadBytes < pace.creditBytes,
        onParked: () => listener.parked(),
        onFailure: (repository, reason) => record.excluded.push({ repository, reason, isLate: false }),
        base: request.scope?.historyBase,
      });
      await this.#histories.run(this.#resolutions);
    } finally {
      view.release();
    }
  }
}

function withIdBase(tally: Tally, idBase: number): Tally {
  return { ...tally, repositories: addIdBase(tally.repositories, idBase) };
}

/** With the ids that repositories have for all nodes. */
function addIdBase<T>(byRevision: ReadonlyMap<string, T>, idBase: number): Map<string, T> {
  const based = new Map<string, T>();
  for (const [key, value] of byRevision) {
    const at = key.indexOf("@");
    const id = Number(key.slice(0, at));
    assert(id < nodeIdSpan, "a node has fewer repositories than its ids reach");
    based.set(`${idBase + id}${key.slice(at)}`, value);
  }
  return based;
}

/** The search for which the work is done. */
export interface PacedWorkOwner {
  readonly isStopped: () => boolean;
  /** False if the client has to read before more results are produced. */
  readonly hasRoom: () => boolean;
  readonly onFailure: (sentence: string) => void;
  /** Called whenever the work is parked. */
  readonly onParked: () => void;
}

/** Work on the main thread that produces results: it is done in steps, and parked while the client does not read. */
export class PacedWork {
  readonly #work: Iterator<undefined, void>;
  readonly #owner: PacedWorkOwner;
  #state: "active" | "parked" | "done" = "done";
  #resolve: () => void = () => undefined;

  constructor(work: Iterator<undefined, void>, owner: PacedWorkOwner) {
    this.#work = work;
    this.#owner = owner;
  }

  get isActive(): boolean {
    return this.#state === "active";
  }

  get isParked(): boolean {
    return this.#state === "parked";
  }

  /** Does the work. Resolves when it is done, has failed, or has been abandoned; never rejects. */
  run(): Promise<void> {
    return new Promise((resolve) => {
      this.#resolve = resolve;
      this.#goOn();
    });
  }

  /** Continues after it was parked. */
  resume(): void {
    if (this.isParked) this.#goOn();
  }

  /** Abandons parked work. */
  drop(): void {
    if (this.isParked) this.#end();
  }

  #goOn(): void {
    this.#state = "active";
    workInSteps({ step: () => this.#step() });
  }

  /** Returns true if the work is done, cannot continue, or is parked. */
  #step(): boolean {
    if (this.#owner.isStopped() || this.#advance()) {
      this.#end();
      return true;
    }
    if (this.#owner.hasRoom()) return false;
    this.#state = "parked";
    this.#owner.onParked();
    return true;
  }

  /** Returns true if the work is done or cannot continue. */
  #advance(): boolean {
    try {
      return this.#work.next().done === true;
    } catch (error) {
      this.#owner.onFailure(errorMessage(error));
      return true;
    }
  }

  #end(): void {
    this.#state = "done";
    this.#resolve();
  }
}

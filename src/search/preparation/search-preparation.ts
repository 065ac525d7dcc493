import { resultWhileYielding } from "../../base/yielding.js";
import type { CatalogView } from "../../catalog/live-shards.js";
import type { RepositoryTable } from "../../catalog/repository-table.js";
import type { BaseRevisions } from "../../model/match-change.js";
import type { SearchRequest } from "../../model/search-request.js";
import type { ControlBlock } from "../../protocol/control-block.js";
import type { RepositorySelection } from "../../protocol/search-options.js";
import type { SearchPlan } from "../../query/plan/plan.js";
import type { SearchLimits } from "../limits/search-limits.js";
import type { FindContext } from "../repositories/find.js";
import { readOpenRevisions, type Resolution } from "../repositories/repository-resolver.js";
import { type ChangeProblems, changePhases } from "../revisions/change-phases.js";
import { PhaseQueue } from "../revisions/phase-queue.js";
import { phasesOfPlan } from "../revisions/plan-phases.js";
import { findRevisionChanges, type FoundChanges, type RevisionChange } from "../revisions/revision-changes.js";
import { hasUnindexed } from "../revisions/revision-phases.js";
import type { PhaseContext, PhaseProblems, RevisionReading } from "../revisions/search-phase.js";
import { recordInSteps, type SnapshotUse } from "../snapshot/search-snapshot.js";
import { needsPreparation, prepare, type Preparation, type PrepareContext } from "./look-ups.js";

/** The part of its time that a search may spend on reading mirrors before it searches anything. */
const preparationShare = 0.6;

/** The services of the daemon that are used. */
export interface PreparationServices
  extends Pick<PrepareContext, "pool" | "scheduler" | "commitAttributes" | "ownersOf"> {
  /** How revisions that are not indexed are searched. */
  readonly revisions: RevisionReading;
  readonly maxTimeoutMs: number;
}

/** The search that is prepared. */
export interface UnpreparedSearch {
  readonly request: SearchRequest;
  readonly plan: SearchPlan;
  readonly view: CatalogView;
  /** Undefined unless the search may have to be repeated. */
  readonly snapshot: SnapshotUse | undefined;
  readonly control: ControlBlock;
  readonly limits: SearchLimits;
  /** On the clock of `performance.now()`. */
  readonly startedMs: number;
}

/**
 * Determines what one search searches before it searches anything: commits that only mirrors know, the snapshot, what
 * the choice of repositories depends on, and the phases for commits that are not indexed. Returns what could not be
 * determined, except for phases, which are prepared while the search runs.
 */
export class SearchPreparation {
  readonly #search: UnpreparedSearch;
  readonly #services: PreparationServices;
  readonly #work: Pick<FindContext, "onResult" | "onLost">;

  /** `work` gets what look-ups in shards report besides their results. */
  constructor(search: UnpreparedSearch, services: PreparationServices, work: Pick<FindContext, "onResult" | "onLost">) {
    this.#search = search;
    this.#services = services;
    this.#work = work;
  }

  /** Whether something must be looked up before it is known what is searched. A snapshot has commits that were indexed. */
  isNeeded(resolutions: readonly Resolution[]): boolean {
    const { plan, snapshot } = this.#search;
    return (
      needsPreparation(plan) ||
      resolutions.some(({ open }) => open.length > 0) ||
      (snapshot?.pinned !== undefined && hasUnindexed(resolutions.map(({ selection }) => selection)))
    );
  }

  /** Resolves from the mirrors the revisions that are not known in memory. */
  async readRevisions(
    resolutions: readonly Resolution[],
  ): Promise<{ readonly resolutions: readonly Resolution[]; readonly failures: readonly string[] }> {
    const { control, request } = this.#search;
    const { revisions, maxTimeoutMs: timeoutMs } = this.#services;
    const limits = { stop: control.memory, timeoutMs, client: request.client };
    const read = await Promise.all(resolutions.map((open) => readOpenRevisions(open, revisions.reads, limits)));
    return {
      resolutions: read.map(({ resolution }) => resolution),
      failures: read.flatMap(({ failures }) => failures),
    };
  }

  /** Records a new snapshot, if there is to be one: the commits are known, and there is no result yet. */
  async recordSnapshot(resolutions: readonly Resolution[]): Promise<void> {
    const { plan, snapshot } = this.#search;
    if (snapshot === undefined || snapshot.pinned !== undefined) return;
    await resultWhileYielding(recordInSteps(plan, resolutions, snapshot));
  }

  /** Looks up what the choice of repositories depends on. */
  lookUp(resolutions: readonly Resolution[]): Promise<Preparation> {
    const { plan, view, control, limits, request, startedMs } = this.#search;
    const { pool, scheduler, commitAttributes, ownersOf, revisions } = this.#services;
    return prepare(plan, resolutions, {
      pool,
      scheduler,
      commitAttributes,
      ownersOf,
      limits: revisions.limits,
      view,
      control,
      lane: limits.lane,
      client: request.client,
      deadlineMs: startedMs + Math.max(...limits.timeoutsMs) * preparationShare,
      ...this.#work,
    });
  }

  /** Compares the revisions with those of an earlier search; the phases search what differs. */
  async findChanges(
    resolutions: readonly Resolution[],
    base: BaseRevisions,
    repositories: RepositoryTable,
    problems: ChangeProblems,
  ): Promise<{ readonly changes: FoundChanges; readonly phases: PhaseQueue }> {
    const { plan } = this.#search;
    const found = await resultWhileYielding(findRevisionChanges(resolutions, base, repositories));
    const basesGone: RevisionChange[] = [];
    const texts = plan.basicQueries.map(({ text }) => text);
    const context = { ...this.#phaseServices(), texts, repositories, problems, basesGone };
    return { changes: { ...found, basesGone }, phases: new PhaseQueue(changePhases(found.changes, context)) };
  }

  /** Starts to prepare the search of commits that are not indexed; undefined if there are none. */
  phases(
    selections: readonly RepositorySelection[],
    resolutions: readonly Resolution[],
    problems: PhaseProblems,
  ): PhaseQueue | undefined {
    const context = { ...this.#phaseServices(), problems };
    const phases = phasesOfPlan(this.#search.plan, selections, resolutions, context);
    return phases === undefined ? undefined : new PhaseQueue(phases);
  }

  #phaseServices(): Omit<PhaseContext, "texts" | "repositories" | "problems"> {
    const { control, request, view } = this.#search;
    const { revisions, maxTimeoutMs } = this.#services;
    return {
      ...revisions,
      view,
      control,
      coversAll: request.receipt !== "none",
      timeoutMs: maxTimeoutMs,
      client: request.client,
    };
  }
}

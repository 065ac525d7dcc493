import { resultWhileYielding } from "../base/yielding.js";
import type { CatalogView } from "../catalog/live-shards.js";
import type { RepositoryTable } from "../catalog/repository-table.js";
import type { BaseRevisions } from "../model/match-change.js";
import type { SearchRequest } from "../model/search-request.js";
import type { ControlBlock } from "../protocol/control-block.js";
import type { RepositorySelection } from "../protocol/search-options.js";
import type { SearchPlan } from "../query/plan/plan.js";
import { changePhases } from "./changes/change-phases.js";
import { findRevisionChanges, type RevisionChange, type SearchChanges } from "./changes/revision-changes.js";
import { needsPreparation, prepare } from "./preparation.js";
import type { Preparation } from "./preparation-context.js";
import { readOpenRevisions } from "./repositories/repository-resolver.js";
import { PhaseQueue } from "./revisions/phase-queue.js";
import { phasesOfPlan } from "./revisions/plan-phases.js";
import { hasUnindexed } from "./revisions/revision-phases.js";
import type { PhaseContext } from "./revisions/search-phase.js";
import type { SearchEnvironment } from "./search-environment.js";
import type { SearchLimits } from "./search-limits.js";
import type { SearchSlices } from "./search-slices.js";
import { recordInSteps, type SnapshotUse } from "./snapshot/search-snapshot.js";
import type { SearchReport } from "./stream/search-report.js";

/** The part of its time that a search may spend on reading mirrors before it searches anything. */
const preparationShare = 0.6;

/** The search that is prepared. */
export interface UnpreparedSearch {
  readonly request: SearchRequest;
  readonly plan: SearchPlan;
  readonly view: CatalogView;
  /** Undefined unless the search may have to be repeated. */
  readonly snapshot: SnapshotUse | undefined;
  readonly environment: SearchEnvironment;
  readonly control: ControlBlock;
  readonly limits: SearchLimits;
  /** On the clock of `performance.now()`. */
  readonly startedMs: number;
  readonly report: SearchReport;
  readonly slices: Pick<SearchSlices, "addWork" | "recordLostWorker">;
  /** All repositories that exist for the search. */
  readonly repositories: () => RepositoryTable;
}

/**
 * Determines what one search searches before it searches anything: commits that only mirrors know, the snapshot, what
 * the choice of repositories depends on, and the phases for commits that are not indexed. What could not be determined
 * is added to the search's report.
 */
export class SearchPreparation {
  readonly #search: UnpreparedSearch;

  constructor(search: UnpreparedSearch) {
    this.#search = search;
  }

  /** Whether something must be looked up before it is known what is searched. A snapshot has commits that were indexed. */
  get isNeeded(): boolean {
    const { plan, report, snapshot } = this.#search;
    const { resolutions } = report;
    return (
      needsPreparation(plan) ||
      resolutions.some(({ open }) => open.length > 0) ||
      (snapshot?.pinned !== undefined && hasUnindexed(resolutions.map(({ selection }) => selection)))
    );
  }

  /** Looks up what the choice of repositories depends on. */
  async run(): Promise<Preparation> {
    await this.#readRevisions();
    await this.recordSnapshot();
    return await this.#prefetch();
  }

  /** Records a new snapshot, if there is to be one: the commits are known, and there is no result yet. */
  async recordSnapshot(): Promise<void> {
    const { plan, report, snapshot } = this.#search;
    if (snapshot === undefined || snapshot.pinned !== undefined) return;
    await resultWhileYielding(recordInSteps(plan, report.resolutions, snapshot));
  }

  /** Compares the revisions with those of an earlier search; the phases search what differs. */
  async findChanges(base: BaseRevisions): Promise<{ readonly changes: SearchChanges; readonly phases: PhaseQueue }> {
    await this.#readRevisions();
    const { plan, report, repositories } = this.#search;
    const table = repositories();
    const found = await resultWhileYielding(findRevisionChanges(report.resolutions, base, table));
    const basesGone: RevisionChange[] = [];
    const phases = changePhases(found.changes, {
      ...this.#phaseServices(),
      texts: plan.basicQueries.map(({ text }) => text),
      repositories: table,
      onBaseGone: (change) => {
        basesGone.push(change);
        report.missingRevisions.push({ repository: change.repository.name, revision: change.base ?? "" });
      },
    });
    const changes = { ...found, basesGone, progress: () => report.progress(true) };
    return { changes, phases: new PhaseQueue(phases) };
  }

  /** Starts to prepare the search of commits that are not indexed; undefined if there are none. */
  phases(selections: readonly RepositorySelection[]): PhaseQueue | undefined {
    const { plan, report } = this.#search;
    const phases = phasesOfPlan(plan, selections, report.resolutions, this.#phaseServices());
    return phases === undefined ? undefined : new PhaseQueue(phases);
  }

  /** Resolves from the mirrors the revisions that are not known in memory. */
  async #readRevisions(): Promise<void> {
    const { control, environment, report, request } = this.#search;
    const { revisions, maxTimeoutMs } = environment;
    report.resolutions = await Promise.all(
      report.resolutions.map(async (open) => {
        const { resolution, failures } = await readOpenRevisions(open, revisions.reads, {
          stop: control.memory,
          timeoutMs: maxTimeoutMs,
          client: request.client,
        });
        report.failures.push(...failures);
        return resolution;
      }),
    );
  }

  #prefetch(): Promise<Preparation> {
    const { plan, report, environment, view, control, limits, request, startedMs, slices } = this.#search;
    const { pool, scheduler, commitAttributes, ownersOf, revisions } = environment;
    return prepare(plan, report.resolutions, {
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
      onResult: (result) => slices.addWork(result),
      onLost: (error) => slices.recordLostWorker("looking for repositories", undefined, error),
    });
  }

  #phaseServices(): Omit<PhaseContext, "texts" | "repositories"> {
    const { control, environment, report, request, view } = this.#search;
    const { revisions, maxTimeoutMs } = environment;
    return {
      ...revisions,
      view,
      control,
      coversAll: request.receipt !== "none",
      timeoutMs: maxTimeoutMs,
      client: request.client,
      onFailure: (sentence) => report.failures.push(sentence),
      onIncomplete: (name) => report.incompleteRevisions.add(name),
      onSymbolsMissing: (reason) => report.symbolFaults.add(reason),
    };
  }
}

import { resultWhileYielding } from "../../base/yielding.js";
import type { CatalogView } from "../../catalog/live-shards.js";
import type { RepositoryTable } from "../../catalog/repository-table.js";
import type { BaseRevisions } from "../../model/match-change.js";
import type { SearchRequest } from "../../model/search-request.js";
import type { ControlBlock } from "../../protocol/control-block.js";
import type { FindCondition, RepositorySelection } from "../../protocol/search-options.js";
import type { BasicQueryPlan, SearchPlan, TextPlan } from "../../query/plan/plan.js";
import type { SearchLimits } from "../limits/search-limits.js";
import { applyConditions, emptyResults, find, type FindContext } from "../repositories/repository-conditions.js";
import {
  collectCommits,
  commitAt,
  commitKey,
  keepRevisions,
  readOpenRevisions,
  type Resolution,
} from "../repositories/repository-resolver.js";
import {
  changePhases,
  type ChangeProblems,
  hasUnindexed,
  PhaseQueue,
  phasesOfPlan,
} from "../revisions/revision-phases.js";
import { findRevisionChanges } from "../revisions/revision-changes.js";
import type { FoundChanges, RevisionChange } from "../source/found-changes.js";
import type { PhaseContext, PhaseProblems, RevisionReading } from "../revisions/revision-batches.js";
import { recordInSteps, type SnapshotUse } from "../snapshot/search-snapshot.js";
import type { IndexLimits } from "../../protocol/ingest-messages.js";
import type { CommitQuestion } from "../../protocol/read-messages.js";
import type {
  AttributeAnswers,
  AttributeFailure,
  CommitAttributeReader,
  KnownAttribute,
} from "../revisions/commit-attributes.js";
import type { ExcludedRepository } from "../source/search-part.js";
import { analyseRegexp } from "../../regexp/analysis/analyse.js";
import { contributorFilters, type PeopleOfCommit, PeopleTable } from "../../protocol/people-table.js";

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
    sideFrom: number,
  ): Promise<{ readonly changes: FoundChanges; readonly phases: PhaseQueue }> {
    const { plan } = this.#search;
    const found = await resultWhileYielding(findRevisionChanges(resolutions, base, repositories, sideFrom));
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

function needsPreparation(plan: SearchPlan): boolean {
  return (
    asksPeople(plan) ||
    plan.basicQueries.some(
      ({ repositories }) => repositories.conditions.length + repositories.committedAfter.length > 0,
    )
  );
}

/**
 * Looks up information that is not in the index, or not directly: which repositories satisfy conditions on their
 * contents, then which satisfy those on their history, then the owners and authors of files that may be results. Each
 * step examines only what the previous one has left.
 */
export async function prepare(
  plan: SearchPlan,
  resolutions: readonly Resolution[],
  context: PrepareContext,
): Promise<Preparation> {
  const excluded = new ExcludedRepositories(resolutions);
  let left: readonly Resolution[] = await applyConditions(
    plan.basicQueries.map(({ repositories }) => repositories),
    resolutions,
    context,
  );
  left = await Promise.all(
    plan.basicQueries.map((basicQuery, i) => keepWithFiles(basicQuery, left[i], excluded, context)),
  );
  left = await Promise.all(
    plan.basicQueries.map((basicQuery, i) => keepCommittedAfter(basicQuery, left[i], excluded, context)),
  );
  if (!asksPeople(plan) || context.control.isStopped) {
    return {
      resolutions: left,
      selections: left.map(({ selection }) => selection),
      people: undefined,
      excluded: excluded.all,
    };
  }
  return { resolutions: left, ...(await preparePeople(plan, left, excluded, context)), excluded: excluded.all };
}

/** Keeps the commits that are not indexed and satisfy the conditions, which only the mirrors can determine. */
async function keepWithFiles(
  { repositories: { conditions } }: BasicQueryPlan,
  resolution: Resolution,
  excluded: ExcludedRepositories,
  context: PrepareContext,
): Promise<Resolution> {
  let left = resolution;
  for (const { file, negated } of conditions) {
    const unindexed = keepRevisions(left, (_, choice) => choice.unindexed !== undefined);
    if (unindexed.repositories.length === 0) return left;
    const path = file.fileFilters.flatMap((filter) => (filter.kind === "path" ? [filter.source] : []))[0] ?? "";
    const content = file.leaves.length === 0 ? "" : file.leaves[0].source;
    const attributes = await ask(
      { kind: "has-file", path, content, limits: context.limits },
      [unindexed],
      excluded,
      context,
    );
    left = keepRevisions(left, (repository, choice) => {
      const commit = commitAt(repository, choice);
      const attribute =
        choice.unindexed === undefined || commit === undefined ? undefined : attributes.get(commitKey(commit));
      return choice.unindexed === undefined || (attribute !== undefined && attribute.holds !== negated);
    });
  }
  return left;
}

/**
 * The date of a history is that of the searched commit: like `git log --since`, which does not look beyond a commit
 * that is too old. Therefore a single date, which never changes, answers the question for every point in time.
 */
async function keepCommittedAfter(
  { repositories: { committedAfter } }: BasicQueryPlan,
  resolution: Resolution,
  excluded: ExcludedRepositories,
  context: PrepareContext,
): Promise<Resolution> {
  let left = resolution;
  for (const { unixSeconds, negated } of committedAfter) {
    const attributes = await ask({ kind: "commit-date" }, [left], excluded, context);
    left = keepRevisions(left, (repository, choice) => {
      const commit = commitAt(repository, choice);
      // A repository without commits has none after the date.
      if (commit === undefined) return negated;
      const attribute = attributes.get(commitKey(commit));
      return attribute?.unixSeconds !== undefined && attribute.unixSeconds > unixSeconds !== negated;
    });
  }
  return left;
}

/** The code owners that were set for a repository, for commits without a CODEOWNERS file; undefined if there are none. */
export type OwnersLookup = (
  repositoryId: number,
) => { readonly bytes: Uint8Array; readonly version: number } | undefined;

/** Services and settings for the preparation of a search. */
export interface PrepareContext extends FindContext {
  readonly ownersOf: OwnersLookup;
  readonly commitAttributes: CommitAttributeReader;
  /** Determines which files have searchable content, as in the index. */
  readonly limits: IndexLimits;
  /** Deadline for reading mirrors, on the clock of `performance.now()`. */
  readonly deadlineMs: number;
}

/** The input of a search. */
export interface Preparation {
  /** The repositories chosen by the filters, by basic query. */
  readonly resolutions: readonly Resolution[];
  /** The part of it that is searched: smaller if the look-up of people has shown that the rest has no results. */
  readonly selections: readonly RepositorySelection[];
  /** Memory of a `PeopleTable`; undefined if the query has no conditions on people. */
  readonly people: SharedArrayBuffer | undefined;
  readonly excluded: readonly ExcludedRepository[];
}

/** Keeps the revisions found in the index, and those that the index does not know. */
function keepFound(resolution: Resolution, found: Int32Array | undefined): Resolution {
  return keepRevisions(
    resolution,
    ({ id }, { bit, unindexed }) =>
      unindexed !== undefined || (found !== undefined && bit >= 0 && ((found[id] >>> bit) & 1) === 1),
  );
}

/** Answers about all commits of the resolutions; repositories without an answer are excluded. */
export async function ask(
  question: CommitQuestion,
  resolutions: readonly Resolution[],
  excluded: ExcludedRepositories,
  { commitAttributes, deadlineMs, control, client }: PrepareContext,
): Promise<AttributeAnswers["attributes"]> {
  const { attributes, failures } = await commitAttributes.ask(question, collectCommits(resolutions), {
    deadlineMs,
    stop: control.memory,
    client,
  });
  for (const failure of failures) excluded.note(failure);
  return attributes;
}

class ExcludedRepositories {
  readonly #all = new Map<number, ExcludedRepository>();
  readonly #nameOf: ReadonlyMap<number, string>;

  constructor(resolutions: readonly Resolution[]) {
    this.#nameOf = new Map(resolutions.flatMap(({ repositories }) => repositories).map(({ id, name }) => [id, name]));
  }

  get all(): readonly ExcludedRepository[] {
    return [...this.#all.values()];
  }

  has(repositoryId: number): boolean {
    return this.#all.has(repositoryId);
  }

  /** The first reason is kept. */
  note({ repositoryId, reason, isLate }: AttributeFailure): void {
    if (!this.has(repositoryId))
      this.#all.set(repositoryId, { repository: this.#nameOf.get(repositoryId) ?? "", reason, isLate });
  }
}

/** Limit on the data about people in one search. */
const peopleBytesMax = 128 * 1024 * 1024;

function asksPeople(plan: SearchPlan): boolean {
  return plan.basicQueries.some((basicQuery) => asksOwners(plan, basicQuery) || asksContributors(basicQuery));
}

function asksOwners(plan: SearchPlan, { text, optionsIndex }: BasicQueryPlan): boolean {
  return (
    text !== undefined &&
    (plan.resultOptions[optionsIndex].select === "file.owners" || text.people.some(({ kind }) => kind === "owner"))
  );
}

function asksContributors({ text }: BasicQueryPlan): boolean {
  return text?.people.some(({ kind }) => kind === "contributor") ?? false;
}

/** Reduces the choice to what may have results, and looks up the people of its commits. */
async function preparePeople(
  plan: SearchPlan,
  resolutions: readonly Resolution[],
  excluded: ExcludedRepositories,
  context: PrepareContext,
): Promise<Pick<Preparation, "selections" | "people">> {
  const asking = plan.basicQueries.map((basicQuery) => asksOwners(plan, basicQuery) || asksContributors(basicQuery));
  const searched = resolutions
    .map((resolution, i) => ({
      file: plan.basicQueries[i].text,
      selection: resolution.selection,
      found: emptyResults(resolution, 1)[0],
    }))
    .filter(({ file }, i) => file !== undefined && asking[i]) as FindCondition[];
  const owning = searched.map(({ selection, found }) => ({
    file: codeOwnersFile,
    selection,
    found: new Int32Array(new SharedArrayBuffer(found.byteLength)),
  }));
  await find([...searched, ...owning], context);
  const foundOf = new Map(
    searched.map(({ selection, found }, i) => [selection, { results: found, owners: owning[i].found }]),
  );
  const withResults = resolutions.map((resolution, i) =>
    asking[i] ? keepFound(resolution, foundOf.get(resolution.selection)?.results) : resolution,
  );
  const withOwners = resolutions.flatMap((resolution, i) =>
    asksOwners(plan, plan.basicQueries[i])
      ? [keepFound(withResults[i], foundOf.get(resolution.selection)?.owners)]
      : [],
  );
  const owners = await ask({ kind: "code-owners" }, withOwners, excluded, context);
  const filters = contributorFilters(plan).map(({ source, foldCase }) => ({ source, foldCase }));
  const written = withResults.filter((_, i) => asksContributors(plan.basicQueries[i]));
  const contributors =
    filters.length === 0
      ? new Map<string, KnownAttribute>()
      : await ask({ kind: "contributors", filters }, written, excluded, context);
  const people = bound(
    collectPeople(
      withResults.filter((_, i) => asking[i]),
      owners,
      contributors,
      context.ownersOf,
    ),
    excluded,
  );
  return {
    selections: withResults.map(
      (resolution, i) => (asking[i] ? keepRevisions(resolution, ({ id }) => !excluded.has(id)) : resolution).selection,
    ),
    people: PeopleTable.of(people).memory,
  };
}

function collectPeople(
  resolutions: readonly Resolution[],
  owners: ReadonlyMap<string, KnownAttribute>,
  contributors: ReadonlyMap<string, KnownAttribute>,
  ownersOf: OwnersLookup,
): PeopleOfCommit[] {
  return collectCommits(resolutions).map((commit) => {
    const key = commitKey(commit);
    const own = owners.get(key)?.bytes;
    const set = own === undefined ? ownersOf(commit.repositoryId) : undefined;
    return {
      ...commit,
      codeOwners: own ?? set?.bytes,
      ownersVersion: set?.version ?? 0,
      contributors: contributors.get(key)?.bytes,
    };
  });
}

/** Keeps as much as one search may use; the last repositories are excluded. */
function bound(people: readonly PeopleOfCommit[], excluded: ExcludedRepositories): PeopleOfCommit[] {
  let byteCount = 0;
  return people.filter(({ repositoryId, codeOwners, contributors }) => {
    byteCount += (codeOwners?.length ?? 0) + (contributors?.length ?? 0);
    if (byteCount <= peopleBytesMax) return true;
    excluded.note({
      repositoryId,
      reason: `with it, data about people would exceed ${peopleBytesMax} bytes`,
      isLate: false,
    });
    return false;
  });
}

const codeOwnersPath = String.raw`\A(?:(?:\.github|\.gitlab|docs)/)?CODEOWNERS\z`;

const codeOwnersFile: TextPlan = {
  symbols: undefined,
  content: true,
  path: true,
  pattern: undefined,
  leaves: [],
  people: [],
  fileFilters: [
    {
      kind: "path",
      negated: false,
      source: codeOwnersPath,
      foldCase: false,
      highlighted: false,
      label: "CODEOWNERS",
      analysis: analyseRegexp(codeOwnersPath, false),
    },
  ],
};

import { clearBit } from "../../base/bits.js";
import { TrawlError } from "../../base/errors.js";
import { resultAtOnce } from "../../base/yielding.js";
import type { RepositoryTable } from "../../catalog/repository-table.js";
import { defaultBranchBit, filesKey, type Repository } from "../../model/repository.js";
import type { RepositorySelection, RevisionChoice } from "../../protocol/search-options.js";
import type { RepositoryFilter, SearchPlan } from "../../query/plan/plan.js";
import type { ReadLimits, ReadPool } from "../../pool/read-pool.js";
import type { CommitOfRepository, ResolvedRevisions, RevisionsOfRepository } from "../../protocol/read-messages.js";
import { chooseRepositories, type RepositoryChoice, toBitmap } from "./repository-choice.js";
import type { RevisionSpec } from "../../model/revision-syntax.js";
import type { PinnedRevision } from "../source/search-fleet.js";
import type { MissingRevision } from "../source/search-part.js";

/** The choice of a repository filter, and the problems to report to the user. */
export interface Resolution {
  /** The table that it was chosen from: information about repositories of one table does not apply to another. */
  readonly tableId: number;
  /** More stars first, then newer ones first. */
  readonly repositories: readonly Repository[];
  /** The choice in the form that workers use. */
  readonly selection: RepositorySelection;
  /** Ids of repositories that match but are forks or archived, respectively, if the query does not mention these. */
  readonly excludedForks: readonly number[];
  readonly excludedArchived: readonly number[];
  /** Revisions that only the mirrors can resolve: `withRevisions` adds them. */
  readonly open: readonly OpenRevisions[];
  readonly missingRevisions: readonly MissingRevision[];
  /** Chosen repositories that have never been indexed, because no sync has finished or none has succeeded. */
  readonly cloning: readonly string[];
  readonly missing: readonly string[];
}

/**
 * Limit on revision look-ups (summed over repositories) for one query. Each result is stored until the search has
 * ended.
 */
const revisionLookupsMax = 1_000_000;

/**
 * Resolutions without revisions, by the records of a table and by choice: searches without a filter share one. A table
 * copies its records when one of them changes, so a resolution is valid for as long as the table has these records.
 */
const keptResolutions = new WeakMap<readonly Repository[], WeakMap<RepositoryChoice, Resolution>>();

/**
 * Chooses the repositories of each basic query, and the revisions to search in each. Yields between steps; the choice
 * reflects the time of the call. Throws `bad-query` if it is too large.
 */
export function* resolveInSteps(
  table: RepositoryTable,
  filters: readonly RepositoryFilter[],
): Generator<undefined, readonly Resolution[]> {
  const records = table.records();
  const plain = keptResolutions.get(records) ?? new WeakMap<RepositoryChoice, Resolution>();
  keptResolutions.set(records, plain);
  const choices = yield* chooseRepositories(table, filters);
  const lookupCount = choices.reduce((sum, { rows }, i) => sum + rows.length * revisionCount(filters[i]), 0);
  if (lookupCount > revisionLookupsMax) {
    throw new TrawlError(
      "bad-query",
      `the query requests ${lookupCount} revisions, summed over all repositories; the limit is ${revisionLookupsMax}: choose fewer repositories or revisions`,
    );
  }
  const resolutions: Resolution[] = [];
  for (const [i, choice] of choices.entries()) {
    const hasRevisions = revisionCount(filters[i]) > 0;
    const resolution =
      (hasRevisions ? undefined : plain.get(choice)) ?? (yield* resolve(table, records, choice, filters[i]));
    if (!hasRevisions) plain.set(choice, resolution);
    // What is learned about the selection of one basic query does not apply to that of another, so it is copied.
    resolutions.push({ ...resolution, selection: { ...resolution.selection } });
    yield;
  }
  return resolutions;
}

function revisionCount({ include }: RepositoryFilter): number {
  return include.reduce((sum, { revisions }) => sum + revisions.length, 0);
}

function* resolve(
  table: RepositoryTable,
  records: readonly Repository[],
  choice: RepositoryChoice,
  filter: RepositoryFilter,
): Generator<undefined, Resolution> {
  const repositories = choice.rows.map((row) => records[row]);
  const { revisions, open, missing, without } = yield* resolveInMemory(repositories, filter);
  const chosen = without.size === 0 ? repositories : repositories.filter((repository) => !without.has(repository.id));
  const unindexed = chosen.filter(({ generation }) => generation === 0);
  const idBits = without.size === 0 ? choice.idBits : toBitmap(chosen.map(({ id }) => id));
  return {
    tableId: table.id,
    repositories: chosen,
    selection: {
      repositoryIds: table.isWhole && chosen.length === table.count ? undefined : idBits,
      revisions: revisions.size === 0 ? undefined : revisions,
    },
    excludedForks: choice.excludedForks,
    excludedArchived: choice.excludedArchived,
    open,
    missingRevisions: missing,
    cloning: unindexed.filter(({ lastError }) => lastError === "").map(({ name }) => name),
    missing: unindexed.filter(({ lastError }) => lastError !== "").map(({ name }) => name),
  };
}

/** Like `resolveInSteps`, for one basic query, without yielding. */
export function resolveRepositories(table: RepositoryTable, filter: RepositoryFilter): Resolution {
  return resultAtOnce(resolveInSteps(table, [filter]))[0];
}

/** Resolves the open revisions from the mirrors. Also returns a sentence for each mirror that could not be read. */
export async function readOpenRevisions(
  resolution: Resolution,
  reads: Pick<ReadPool, "run">,
  limits: ReadLimits,
): Promise<{ resolution: Resolution; failures: string[] }> {
  if (resolution.open.length === 0) return { resolution, failures: [] };
  const answers = await readRevisions(resolution.open, reads, limits);
  const failures = resolution.open.flatMap(({ repository }) => {
    const error = answers.get(repository.id)?.error;
    return error === undefined ? [] : [`revisions of ${repository.name} could not be read: ${error.message}`];
  });
  return { resolution: withRevisions(resolution, answers), failures };
}

/** The resolution with the mirrors' answers about its open revisions. */
export function withRevisions(resolution: Resolution, answers: ReadonlyMap<number, RevisionsOfRepository>): Resolution {
  const revisions = new Map(resolution.selection.revisions);
  const chosen = new Set(resolution.repositories);
  const missingRevisions = [...resolution.missingRevisions];
  for (const { repository } of resolution.open) {
    const answer = answers.get(repository.id);
    if (answer === undefined) continue;
    const known = revisions.get(repository.id) ?? [];
    const found = revisionChoices(repository, answer).filter(
      ({ typed }) => !known.some((choice) => choice.typed === typed),
    );
    missingRevisions.push(
      ...[...answer.missing, ...answer.malformed].map((revision) => ({ repository: repository.name, revision })),
      ...answer.ambiguous.map((revision) => ({ repository: repository.name, revision, isAmbiguous: true })),
    );
    if (known.length + found.length === 0) continue;
    revisions.set(repository.id, [...known, ...found]);
    chosen.add(repository);
  }
  const repositories = [...chosen].sort((a, b) => b.stars - a.stars || b.id - a.id);
  return {
    ...resolution,
    repositories,
    selection: { repositoryIds: toBitmap(repositories.map(({ id }) => id)), revisions },
    open: [],
    missingRevisions,
  };
}

/** The part of the selection that the index alone can answer. */
export function indexedSelection(selection: RepositorySelection): RepositorySelection {
  const { repositoryIds, revisions } = selection;
  if (revisions === undefined || repositoryIds === undefined) return selection;
  const ids = new Uint32Array(repositoryIds);
  const left = new Map([...revisions].map(([id, choices]) => [id, choices.filter(({ bit }) => bit >= 0)]));
  for (const [id, choices] of left) if (choices.length === 0) clearBit(ids, id);
  return { repositoryIds: ids, revisions: left };
}

/** The resolution without the revisions that fail, and without repositories that have no other. */
export function keepRevisions(
  resolution: Resolution,
  holds: (repository: Repository, choice: RevisionChoice) => boolean,
): Resolution {
  const { selection } = resolution;
  const revisions = new Map<number, readonly RevisionChoice[]>();
  const repositories = resolution.repositories.filter((repository) => {
    const left = searchedChoices(resolution, repository).filter((choice) => holds(repository, choice));
    if (left.length > 0 && selection.revisions?.has(repository.id) === true) revisions.set(repository.id, left);
    return left.length > 0;
  });
  return {
    ...resolution,
    repositories,
    selection: {
      repositoryIds: toBitmap(repositories.map(({ id }) => id)),
      revisions: revisions.size === 0 ? undefined : revisions,
    },
  };
}

/** The revisions of a repository that are searched; the default branch has bit -1 if it is not indexed. */
export function searchedChoices({ selection }: Resolution, repository: Repository): readonly RevisionChoice[] {
  return (
    selection.revisions?.get(repository.id) ?? [{ typed: "", bit: defaultBranchBit(repository), unindexed: undefined }]
  );
}

interface ChoiceBounds {
  /** Of the search, which starts when the repositories are chosen; choosing them may take as long at most. */
  readonly timeoutMs: number;
  readonly isWanted: () => boolean;
  /** Whether the daemon stops. */
  readonly isStopping: () => boolean;
}

/** Chooses the repositories of a search; undefined if it is no longer wanted. Throws `shutting-down` or `cancelled`. */
export function* takeInTime(
  work: Iterator<undefined, readonly Resolution[]>,
  { timeoutMs, isWanted, isStopping }: ChoiceBounds,
): Generator<void, readonly Resolution[] | undefined> {
  const endMs = performance.now() + timeoutMs;
  while (isWanted()) {
    const step = work.next();
    if (step.done === true) return step.value;
    if (isStopping()) throw new TrawlError("shutting-down", "the daemon is stopping");
    if (performance.now() > endMs)
      throw new TrawlError(
        "cancelled",
        `the repositories could not be chosen within ${timeoutMs} ms; use fewer or simpler repo: filters, or a longer timeout:`,
      );
    yield;
  }
  return undefined;
}

/** The parts of the resolutions that are about these repositories; all of them if `ids` is undefined. */
export function restrictTo(
  resolutions: readonly Resolution[],
  ids: ReadonlySet<number> | undefined,
): readonly Resolution[] {
  return ids === undefined ? resolutions : resolutions.map((resolution) => restrict(resolution, ids));
}

function restrict(resolution: Resolution, ids: ReadonlySet<number>): Resolution {
  const has = ({ id }: Repository): boolean => ids.has(id);
  const repositories = resolution.repositories.filter(has);
  const { revisions } = resolution.selection;
  const names = new Set(repositories.map(({ name }) => name));
  const open = resolution.open.filter(({ repository }) => has(repository));
  for (const { repository } of open) names.add(repository.name);
  return {
    ...resolution,
    repositories,
    selection: {
      repositoryIds: toBitmap(repositories.map(({ id }) => id)),
      revisions: revisions && new Map([...revisions].filter(([id]) => ids.has(id))),
    },
    excludedForks: [],
    excludedArchived: [],
    open,
    missingRevisions: resolution.missingRevisions.filter(({ repository }) => names.has(repository)),
    cloning: resolution.cloning.filter((name) => names.has(name)),
    missing: resolution.missing.filter((name) => names.has(name)),
  };
}

/** The repositories that a search chooses: their ids, ascending. */
export function* chooseIds({ basicQueries }: SearchPlan, table: RepositoryTable): Generator<void, readonly number[]> {
  const filters = basicQueries.map(({ repositories }) => repositories);
  const ids = new Set<number>();
  for (const { repositories, open } of yield* resolveInSteps(table, filters)) {
    for (const { id } of repositories) ids.add(id);
    for (const { repository } of open) ids.add(repository.id);
  }
  return [...ids].sort((a, b) => a - b);
}

/** Revisions of one repository that only its mirror can resolve. */
export interface OpenRevisions {
  readonly repository: Repository;
  readonly specs: readonly RevisionSpec[];
}

/** The revisions of a filter, as far as they can be resolved from memory. */
export interface RevisionsInMemory {
  /** By repository id. */
  readonly revisions: ReadonlyMap<number, readonly RevisionChoice[]>;
  readonly open: readonly OpenRevisions[];
  readonly missing: readonly MissingRevision[];
  /** Ids of the repositories that have none of them, as far as known in memory. */
  readonly without: ReadonlySet<number>;
}

/** Repositories per read: enough to be efficient, few enough to stop soon. */
const repositoriesPerRead = 32;

/** Revisions looked up per step: a tenth of a millisecond. */
const lookupsOfStep = 512;

/** Revisions by repository: those requested by every include that has revisions. Yields between steps. */
function* resolveInMemory(
  repositories: readonly Repository[],
  { include, onlyIndexedRevisions }: RepositoryFilter,
): Generator<undefined, RevisionsInMemory> {
  const revisions = new Map<number, RevisionChoice[]>();
  const open: OpenRevisions[] = [];
  const missing: MissingRevision[] = [];
  const without = new Set<number>();
  const asked = include.filter((filter) => filter.revisions.length > 0).map((filter) => filter.revisions);
  if (asked.length === 0) return { revisions, open, missing, without };
  const common = commonRevisions(asked);
  // A repository without commits has no HEAD, but is chosen nevertheless: it contains nothing to find.
  const isHead = common.length > 0 && common.every(({ typed }) => typed === "HEAD");
  let lookupCount = 0;
  for (const repository of repositories) {
    if ((lookupCount += common.length + 1) > lookupsOfStep) {
      lookupCount = 0;
      yield;
    }
    const choices: RevisionChoice[] = [];
    const unknown: RevisionSpec[] = [];
    for (const spec of common) {
      const bit = spec.kind === "name" ? bitOfRevision(repository, spec.typed) : -1;
      if (bit >= 0) choices.push({ typed: spec.typed, bit, unindexed: undefined });
      else if (spec.typed !== "HEAD" && repository.generation > 0) unknown.push(spec);
    }
    if (common.length === 0)
      missing.push({
        repository: repository.name,
        revision: asked
          .flat()
          .map(({ typed }) => typed)
          .join(":"),
      });
    else if (onlyIndexedRevisions)
      missing.push(...unknown.map(({ typed }) => ({ repository: repository.name, revision: typed })));
    else if (unknown.length > 0) open.push({ repository, specs: unknown });
    if (choices.length > 0) revisions.set(repository.id, choices);
    else if (!isHead) without.add(repository.id);
  }
  return { revisions, open, missing, without };
}

/** Elements that are in all lists, without duplicates. */
function commonRevisions(asked: readonly (readonly RevisionSpec[])[]): readonly RevisionSpec[] {
  const others = asked.slice(1).map((specs) => new Set(specs.map(({ typed }) => typed)));
  const firsts = new Map(asked[0].map((spec) => [spec.typed, spec]).reverse() as [string, RevisionSpec][]);
  return asked[0].filter((spec) => firsts.get(spec.typed) === spec && others.every((typed) => typed.has(spec.typed)));
}

/**
 * The indexed branch to which a revision refers: by branch name, full ref, HEAD, or its commit; -1 if there is none.
 */
function bitOfRevision(repository: Repository, revision: string): number {
  if (revision === "" || revision === "HEAD") return defaultBranchBit(repository);
  const name = revision.replace(/^refs\/heads\//, "");
  const branch = repository.indexedBranches.find(
    (indexed) => indexed.name === name || indexed.commit === revision.toLowerCase(),
  );
  return branch?.bit ?? -1;
}

/** Resolves revisions from the mirrors, some repositories at a time. The limits apply to each read. */
export async function readRevisions(
  open: readonly OpenRevisions[],
  pool: Pick<ReadPool, "run">,
  limits: ReadLimits,
): Promise<Map<number, RevisionsOfRepository>> {
  const chunks: OpenRevisions[][] = [];
  for (let i = 0; i < open.length; i += repositoriesPerRead) chunks.push(open.slice(i, i + repositoriesPerRead));
  const answers: ResolvedRevisions[] = [];
  const runChunks = async (): Promise<void> => {
    for (let chunk = chunks.shift(); chunk !== undefined; chunk = chunks.shift()) {
      const repositories = chunk.map(({ repository, specs }) => ({ repositoryId: repository.id, specs }));
      answers.push(await pool.run<"resolve-revisions">({ kind: "resolve-revisions", repositories }, limits));
    }
  };
  // As many concurrent reads as there are threads by default; more would only wait in the pool.
  await Promise.all([runChunks(), runChunks()]);
  return new Map(answers.flatMap(({ repositories }) => repositories).map((found) => [found.repositoryId, found]));
}

/**
 * The choices represented by a mirror's answer. An indexed branch is searched at its indexed commit, and a commit that
 * is indexed on a branch is searched there, whatever its name.
 */
function revisionChoices(repository: Repository, { revisions }: RevisionsOfRepository): RevisionChoice[] {
  return revisions.map(({ typed, commit }) => {
    const known = bitOfRevision(repository, typed);
    const bit = known >= 0 ? known : bitOfRevision(repository, commit);
    return { typed, bit, unindexed: bit >= 0 ? undefined : { commit, number: -1 } };
  });
}

/** Resolutions with other commits. */
interface PinnedResolutions {
  readonly resolutions: readonly Resolution[];
  /** Those of which no revision was found. */
  readonly gone: readonly PinnedRevision[];
}

/** The resolutions with these commits instead of those that were found, in steps: there may be hundreds of thousands. */
export function* pinRevisions(
  resolutions: readonly Resolution[],
  pinned: readonly PinnedRevision[],
): Generator<undefined, PinnedResolutions> {
  /** By the name of the repository, and the revision as typed. */
  const byName = new Map<string, Map<string, PinnedRevision>>();
  for (const pin of pinned) {
    const own = byName.get(pin.repository) ?? new Map<string, PinnedRevision>();
    byName.set(pin.repository, own.set(pin.typed, pin));
    yield;
  }
  const found = new Set<PinnedRevision>();
  const changed: Resolution[] = [];
  for (const resolution of resolutions) {
    const others = new Map<number, readonly RevisionChoice[]>();
    for (const repository of resolution.repositories) {
      const own = byName.get(repository.name);
      yield;
      if (own === undefined) continue;
      let isOther = false;
      const choices: RevisionChoice[] = [];
      for (const choice of searchedChoices(resolution, repository)) {
        yield;
        const pin = own.get(choice.typed);
        if (pin !== undefined) found.add(pin);
        const isSame = pin === undefined || commitAt(repository, choice)?.commit === pin.commit;
        choices.push(isSame ? choice : chooseCommit(repository, pin));
        if (!isSame) isOther = true;
      }
      if (isOther) others.set(repository.id, choices);
    }
    const { repositories, selection } = resolution;
    const revisions = new Map([...(selection.revisions ?? []), ...others]);
    const repositoryIds = toBitmap(repositories.map(({ id }) => id));
    changed.push(others.size === 0 ? resolution : { ...resolution, selection: { repositoryIds, revisions } });
  }
  return { resolutions: changed, gone: pinned.filter((pin) => !found.has(pin)) };
}

/** A commit that is indexed on some branch is searched there. */
export function chooseCommit(
  { indexedBranches }: Repository,
  { typed, commit }: Pick<PinnedRevision, "typed" | "commit">,
): RevisionChoice {
  const bit = commit === "" ? -1 : (indexedBranches.find((branch) => branch.commit === commit)?.bit ?? -1);
  return { typed, bit, unindexed: bit >= 0 || commit === "" ? undefined : { commit, number: -1 } };
}

/** Equal for equal commits of the same repository. */
export function commitKey({ repositoryId, commit }: CommitOfRepository): string {
  return `${repositoryId}@${commit}`;
}

/** The commits that are searched, without duplicates. */
export function collectCommits(resolutions: readonly Resolution[]): readonly CommitOfRepository[] {
  const commits = new Map<string, CommitOfRepository>();
  for (const resolution of resolutions) {
    for (const repository of resolution.repositories) {
      for (const choice of searchedChoices(resolution, repository)) {
        const commit = commitAt(repository, choice);
        if (commit !== undefined) commits.set(commitKey(commit), commit);
      }
    }
  }
  return [...commits.values()];
}

export function commitAt(repository: Repository, { bit, unindexed }: RevisionChoice): CommitOfRepository | undefined {
  const { id, indexedBranches, lfsTree } = repository;
  const commit = unindexed?.commit ?? indexedBranches.find((branch) => branch.bit === bit)?.commit;
  return commit === undefined ? undefined : { repositoryId: id, commit, lfsTree, files: filesKey(repository) };
}

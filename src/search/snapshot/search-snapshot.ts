import { TrawlError } from "../../base/errors.js";
import type { RepositoryTable } from "../../catalog/repository-table.js";
import { defaultBranchBit, type Repository } from "../../model/repository.js";
import type { RevisionChoice } from "../../protocol/search-options.js";
import type { SearchPlan } from "../../query/plan/plan.js";
import { countAll } from "../../query/syntax/parse.js";
import { searchesHistory } from "../history/history-choice.js";
import { toBitmap } from "../repositories/repository-choice.js";
import { chooseCommit, type Resolution, searchedChoices, commitAt } from "../repositories/repository-resolver.js";

/**
 * What a search searches, as plain data: its plan, and the repositories and commits that each basic query chooses. It
 * can be stored, and searched again when other commits are indexed: commits that no longer are, are searched like any
 * other commit that is not indexed.
 */
export interface SearchSnapshot {
  readonly plan: SearchPlan;
  readonly parts: readonly SnapshotPart[];
}

/** A part of the choice of one basic query. Its first part has the problems, and further ones have repositories. */
export interface SnapshotPart {
  /** Index of the basic query. */
  readonly query: number;
  readonly problems?: SnapshotProblems;
  readonly repositories?: readonly PinnedRepository[];
}

type SnapshotProblems = Pick<
  Resolution,
  "excludedForks" | "excludedArchived" | "missingRevisions" | "cloning" | "missing"
>;

interface PinnedRepository {
  readonly id: number;
  /** False for the default branch of a query that names no revision. */
  readonly isChosen: boolean;
  /** The revisions as typed, and their commits; "" for a branch without commits. */
  readonly revisions: readonly (readonly [typed: string, commit: string])[];
}

/** How the snapshot of a search is used. */
export interface SnapshotUse {
  /** The snapshot that the search searches; undefined if it takes a new one. */
  readonly pinned: SearchSnapshot | undefined;
  /** Called once for a new snapshot, before the first result, with the plan, and then with each part. */
  recordPlan(plan: SearchPlan): void;
  recordPart(part: SnapshotPart): void;
  /** Called after the last part. */
  recordEnd(): void;
}

/** Repositories in one part, and in one step. */
const partRepositoriesMax = 512;

/** Records what is searched. Revisions that only mirrors can resolve are resolved already. */
export function* recordInSteps(
  plan: SearchPlan,
  resolutions: readonly Resolution[],
  use: SnapshotUse,
): Generator<void, void> {
  use.recordPlan(plan);
  for (const [query, resolution] of resolutions.entries()) {
    const { excludedForks, excludedArchived, missingRevisions, cloning, missing, repositories } = resolution;
    use.recordPart({ query, problems: { excludedForks, excludedArchived, missingRevisions, cloning, missing } });
    for (let from = 0; from < repositories.length; from += partRepositoriesMax) {
      const some = repositories.slice(from, from + partRepositoriesMax);
      use.recordPart({ query, repositories: some.map((repository) => pin(resolution, repository)) });
      yield;
    }
  }
  use.recordEnd();
}

function pin(resolution: Resolution, repository: Repository): PinnedRepository {
  return {
    id: repository.id,
    isChosen: resolution.selection.revisions?.has(repository.id) === true,
    revisions: searchedChoices(resolution, repository).map((choice) => [
      choice.typed,
      commitAt(repository, choice)?.commit ?? "",
    ]),
  };
}

/**
 * The choice that was recorded, with the repositories as they are now. Throws `gone` if one of them does not exist any
 * more for the viewer, or if its commits are not all known.
 */
export function* restoreInSteps(
  { plan, parts }: SearchSnapshot,
  table: RepositoryTable,
): Generator<undefined, readonly Resolution[]> {
  const readsHistory = searchesHistory(plan);
  if (readsHistory && plan.basicQueries.some(leavesOutHistory)) throw gone("its query leaves out a history");
  const choices = plan.basicQueries.map(() => new RestoredChoice(table));
  for (const part of parts) {
    choices[part.query].add(part, readsHistory);
    yield;
  }
  return choices.map((choice) => choice.resolution());
}

/**
 * Why a stream of this plan cannot always be continued after a crash; "" if it can. Clients are told before the first
 * result.
 */
export function describeRestriction(plan: SearchPlan): string {
  const { basicQueries, resultOptions } = plan;
  if (searchesHistory(plan) && basicQueries.some(leavesOutHistory))
    return "after a crash or a restart of the daemon this stream is gone, because its query leaves out a history (rev:^…)";
  if (resultOptions.every(({ count }) => count === countAll)) return "";
  return (
    "after a crash or a restart of the daemon this stream goes on only if the search does not reach its limit of matches; " +
    "with count:all it always does"
  );
}

/** `rev:^main` is resolved while the search runs, so it is not part of the snapshot. */
function leavesOutHistory({ repositories }: SearchPlan["basicQueries"][number]): boolean {
  return repositories.include.some(({ withoutHistoryOf }) => withoutHistoryOf.length > 0);
}

class RestoredChoice {
  readonly #table: RepositoryTable;
  readonly #repositories: Repository[] = [];
  readonly #revisions = new Map<number, readonly RevisionChoice[]>();
  #problems: SnapshotProblems | undefined;

  constructor(table: RepositoryTable) {
    this.#table = table;
  }

  add({ problems, repositories = [] }: SnapshotPart, readsHistory: boolean): void {
    this.#problems ??= problems;
    for (const pinned of repositories) {
      const repository = this.#table.byId(pinned.id);
      if (repository === undefined) throw gone("one of its repositories was removed, or is no longer visible to you");
      // Its history would be that of a branch that had no commits then.
      if (readsHistory && repository.generation > 0 && pinned.revisions.some(([, commit]) => commit === ""))
        throw gone(`the branches of ${repository.name} were not indexed`);
      this.#repositories.push(repository);
      const choices = pinned.revisions.map(([typed, commit]) => chooseCommit(repository, { typed, commit }));
      const isSame = choices.length === 1 && choices[0].bit === defaultBranchBit(repository);
      if (pinned.isChosen || !isSame) this.#revisions.set(pinned.id, choices);
    }
  }

  resolution(): Resolution {
    const { excludedForks, excludedArchived, missingRevisions, cloning, missing } = this.#problems as SnapshotProblems;
    return {
      tableId: this.#table.id,
      repositories: this.#repositories,
      selection: { repositoryIds: toBitmap(this.#repositories.map(({ id }) => id)), revisions: this.#revisions },
      excludedForks,
      excludedArchived,
      open: [],
      missingRevisions,
      cloning,
      missing,
    };
  }
}

/** Whether all repositories of a snapshot still exist for the viewer whose table this is. */
export function* isVisibleInSteps(parts: readonly SnapshotPart[], table: RepositoryTable): Generator<void, boolean> {
  for (const { repositories = [] } of parts) {
    if (repositories.some(({ id }) => table.byId(id) === undefined)) return false;
    yield;
  }
  return true;
}

function gone(reason: string): TrawlError {
  return new TrawlError("gone", `the snapshot of this search is gone: ${reason}; search again`);
}

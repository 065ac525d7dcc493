import { clearBit, setBit } from "../base/bits.js";
import type { RepositoryTable } from "../catalog/repository-table.js";
import { defaultBranchBit, type Repository } from "../model/repository.js";
import type { RepositorySelection, RevisionChoice } from "../task/search-options.js";
import type { RepositoryFilter } from "../query/plan.js";
import type { ReadLimits, ReadPool } from "../worker/pools.js";
import type { RevisionsOfRepository } from "../worker/read-messages.js";
import { chooseRepositories } from "./repository-choice.js";
import { choicesOf, readRevisions, resolveInMemory, type MissingRevision, type OpenRevisions } from "./revision-resolver.js";

/** What a repository filter chose, and what the user has to hear of. */
export interface Resolution {
  /** Of the table that it was chosen from: what was found out among the repositories of one is not known of another's. */
  readonly tableId: number;
  /** Those with more stars first, then the newer ones. */
  readonly repositories: readonly Repository[];
  /** The choice as workers take it. */
  readonly selection: RepositorySelection;
  /** Ids of repositories that matched but for being forks resp. archived, where the query says nothing of these. */
  readonly excludedForks: readonly number[];
  readonly excludedArchived: readonly number[];
  /** Revisions that only the mirrors know: `withRevisions` adds them. */
  readonly open: readonly OpenRevisions[];
  readonly missingRevisions: readonly MissingRevision[];
  /** Chosen repositories that were never indexed, because no sync has ended, or none succeeded. */
  readonly cloning: readonly string[];
  readonly missing: readonly string[];
}

/** Chooses the repositories of one basic query, and the revisions to search of each. */
export function resolveRepositories(table: RepositoryTable, filter: RepositoryFilter): Resolution {
  const { repositories, excludedForks, excludedArchived } = chooseRepositories(table, filter);
  const { revisions, open, missing, without } = resolveInMemory(repositories, filter);
  const chosen = without.size === 0 ? repositories : repositories.filter((repository) => !without.has(repository.id));
  const unindexed = chosen.filter(({ generation }) => generation === 0);
  return {
    tableId: table.id,
    repositories: chosen,
    selection: {
      repositoryIds: table.isWhole && chosen.length === table.count ? undefined : bitsOf(chosen),
      revisions: revisions.size === 0 ? undefined : revisions,
    },
    excludedForks,
    excludedArchived,
    open,
    missingRevisions: missing,
    cloning: unindexed.filter(({ lastError }) => lastError === "").map(({ name }) => name),
    missing: unindexed.filter(({ lastError }) => lastError !== "").map(({ name }) => name),
  };
}

/** Asks the mirrors for the open revisions. Returns a sentence for each mirror that could not be read, too. */
export async function readOpenRevisions(resolution: Resolution, reads: Pick<ReadPool, "run">, limits: ReadLimits): Promise<{ resolution: Resolution; failures: string[] }> {
  if (resolution.open.length === 0) return { resolution, failures: [] };
  const answers = await readRevisions(resolution.open, reads, limits);
  const failures = resolution.open.flatMap(({ repository }) => {
    const error = answers.get(repository.id)?.error;
    return error === undefined ? [] : [`revisions of ${repository.name} could not be read: ${error.message}`];
  });
  return { resolution: withRevisions(resolution, answers), failures };
}

/** The resolution with what mirrors answered about its open revisions. */
export function withRevisions(resolution: Resolution, answers: ReadonlyMap<number, RevisionsOfRepository>): Resolution {
  const revisions = new Map(resolution.selection.revisions);
  const chosen = new Set(resolution.repositories);
  const missingRevisions = [...resolution.missingRevisions];
  for (const { repository } of resolution.open) {
    const answer = answers.get(repository.id);
    if (answer === undefined) continue;
    const known = revisions.get(repository.id) ?? [];
    const found = choicesOf(repository, answer).filter(({ typed }) => !known.some((choice) => choice.typed === typed));
    missingRevisions.push(...[...answer.missing, ...answer.malformed].map((revision) => ({ repository: repository.name, revision })));
    if (known.length + found.length === 0) continue;
    revisions.set(repository.id, [...known, ...found]);
    chosen.add(repository);
  }
  const repositories = [...chosen].sort((a, b) => b.stars - a.stars || b.id - a.id);
  return { ...resolution, repositories, selection: { repositoryIds: bitsOf(repositories), revisions }, open: [], missingRevisions };
}

/** What the index alone can answer of the selection. */
export function indexedSelection(selection: RepositorySelection): RepositorySelection {
  const { repositoryIds, revisions } = selection;
  if (revisions === undefined || repositoryIds === undefined) return selection;
  const ids = new Uint32Array(repositoryIds);
  const left = new Map([...revisions].map(([id, choices]) => [id, choices.filter(({ bit }) => bit >= 0)]));
  for (const [id, choices] of left) if (choices.length === 0) clearBit(ids, id);
  return { repositoryIds: ids, revisions: left };
}

/** The resolution less the revisions that fail, and the repositories that have no other. */
export function keepRevisions(resolution: Resolution, holds: (repository: Repository, choice: RevisionChoice) => boolean): Resolution {
  const { selection } = resolution;
  const revisions = new Map<number, readonly RevisionChoice[]>();
  const repositories = resolution.repositories.filter((repository) => {
    const left = searchedChoices(resolution, repository).filter((choice) => holds(repository, choice));
    if (left.length > 0 && selection.revisions?.has(repository.id) === true) revisions.set(repository.id, left);
    return left.length > 0;
  });
  return { ...resolution, repositories, selection: { repositoryIds: bitsOf(repositories), revisions: revisions.size === 0 ? undefined : revisions } };
}

/** The revisions that are searched of a repository; the default branch has bit -1 where nothing of it is indexed. */
export function searchedChoices({ selection }: Resolution, repository: Repository): readonly RevisionChoice[] {
  return selection.revisions?.get(repository.id) ?? [{ typed: "", bit: defaultBranchBit(repository), unindexed: undefined }];
}

/** A bit for each repository, by its id. */
function bitsOf(repositories: readonly Repository[]): Uint32Array {
  const idMax = repositories.reduce((max, repository) => Math.max(max, repository.id), 0);
  const bits = new Uint32Array((idMax >>> 5) + 1);
  for (const { id } of repositories) setBit(bits, id);
  return bits;
}

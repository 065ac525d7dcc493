import { clearBit } from "../../base/bits.js";
import { TrawlError } from "../../base/errors.js";
import { resultAtOnce } from "../../base/yielding.js";
import type { RepositoryTable } from "../../catalog/repository-table.js";
import { defaultBranchBit, type Repository } from "../../model/repository.js";
import type { RepositorySelection, RevisionChoice } from "../../protocol/search-options.js";
import type { RepositoryFilter } from "../../query/plan/plan.js";
import type { ReadLimits, ReadPool } from "../../pool/read-pool.js";
import type { RevisionsOfRepository } from "../../protocol/read-messages.js";
import { toBitmap, chooseRepositories, type RepositoryChoice } from "./repository-choice.js";
import {
  revisionChoices,
  readRevisions,
  resolveInMemory,
  type MissingRevision,
  type OpenRevisions,
} from "../revisions/revision-resolver.js";

/** What a repository filter chose, and what the user has to hear of. */
export interface Resolution {
  /**
   * Of the table that it was chosen from: what was found out among the repositories of one is not known of another's.
   */
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

/** Repositories times revisions that are looked up for one query. Each is kept until the search has ended. */
const revisionLookupsMax = 1_000_000;

/**
 * Chooses the repositories of each basic query, and the revisions to search of each. Yields between pieces of work;
 * what is chosen is of the moment of the call. Throws `bad-query` when it is too much.
 */
export function* resolveInSteps(
  table: RepositoryTable,
  filters: readonly RepositoryFilter[],
): Generator<undefined, readonly Resolution[]> {
  const records = table.records();
  const choices = yield* chooseRepositories(table, filters);
  const lookupCount = choices.reduce((sum, { rows }, i) => sum + rows.length * revisionCount(filters[i]), 0);
  if (lookupCount > revisionLookupsMax) {
    throw new TrawlError(
      "bad-query",
      `the query asks for ${lookupCount} revisions, each of each repository counted; more than ${revisionLookupsMax} are too many: choose fewer repositories or revisions`,
    );
  }
  const plain = new Map<RepositoryChoice, Resolution>();
  const resolutions: Resolution[] = [];
  for (const [i, choice] of choices.entries()) {
    const hasRevisions = revisionCount(filters[i]) > 0;
    const resolution =
      (hasRevisions ? undefined : plain.get(choice)) ?? (yield* resolve(table, records, choice, filters[i]));
    if (!hasRevisions) plain.set(choice, resolution);
    // What is found out about one basic query's selection is not known of another's.
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

/** The same of one basic query, at once. */
export function resolveRepositories(table: RepositoryTable, filter: RepositoryFilter): Resolution {
  return resultAtOnce(resolveInSteps(table, [filter]))[0];
}

/** Asks the mirrors for the open revisions. Returns a sentence for each mirror that could not be read, too. */
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

/** The resolution with what mirrors answered about its open revisions. */
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

/** The revisions that are searched of a repository; the default branch has bit -1 where nothing of it is indexed. */
export function searchedChoices({ selection }: Resolution, repository: Repository): readonly RevisionChoice[] {
  return (
    selection.revisions?.get(repository.id) ?? [{ typed: "", bit: defaultBranchBit(repository), unindexed: undefined }]
  );
}

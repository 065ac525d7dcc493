import { defaultBranchBit, type Repository } from "../../model/repository.js";
import type { RevisionSpec } from "../../model/revision.js";
import type { RepositoryFilter } from "../../query/plan/plan.js";
import type { RevisionChoice } from "../../protocol/search-options.js";
import type { ResolvedRevisions, RevisionsOfRepository } from "../../protocol/read-messages.js";
import type { ReadLimits, ReadPool } from "../../pool/read-pool.js";

/** Revisions of one repository that only its mirror can resolve. */
export interface OpenRevisions {
  readonly repository: Repository;
  readonly specs: readonly RevisionSpec[];
}

export interface MissingRevision {
  readonly repository: string;
  readonly revision: string;
  /** True if several commits have ids that begin so. */
  readonly isAmbiguous?: boolean;
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
export function* resolveInMemory(
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
export function revisionChoices(repository: Repository, { revisions }: RevisionsOfRepository): RevisionChoice[] {
  return revisions.map(({ typed, commit }) => {
    const known = bitOfRevision(repository, typed);
    const bit = known >= 0 ? known : bitOfRevision(repository, commit);
    return { typed, bit, unindexed: bit >= 0 ? undefined : { commit, number: -1 } };
  });
}

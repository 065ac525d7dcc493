import type { RepositorySelection } from "../../protocol/search-options.js";
import type { IndexLimits } from "../../protocol/ingest-messages.js";
import type { CommitQuestion } from "../../protocol/read-messages.js";
import type { CommitAttributeReader, AttributeAnswers, AttributeFailure } from "../revisions/commit-attributes.js";
import type { ExcludedRepository } from "../report/omissions.js";
import type { FindContext } from "../repositories/find.js";
import { keepRevisions, type Resolution } from "../repositories/repository-resolver.js";
import { collectCommits } from "../repositories/searched-commits.js";

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
export function keepFound(resolution: Resolution, found: Int32Array | undefined): Resolution {
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

export class ExcludedRepositories {
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

import type { RepositorySelection } from "../protocol/search-options.js";
import type { IndexLimits } from "../protocol/messages.js";
import type { CommitQuestion } from "../protocol/read-messages.js";
import type { CommitAttributeReader, AttributeAnswers, AttributeFailure } from "./revisions/commit-attributes.js";
import type { FindContext } from "./repositories/find.js";
import { keepRevisions, type Resolution } from "./repositories/repository-resolver.js";
import { collectCommits } from "./searched-commits.js";

/** What finding out before a search needs. */
export interface PrepareContext extends FindContext {
  readonly commitAttributes: CommitAttributeReader;
  /** Which files have content that is searched: as in the index. */
  readonly limits: IndexLimits;
  /** When reading mirrors ends, as of `performance.now()`. */
  readonly deadlineMs: number;
}

/** What a search begins with. */
export interface Preparation {
  /** What the filters on repositories chose, by basic query. */
  readonly resolutions: readonly Resolution[];
  /** What of it is searched: less, where the search for people has shown that the rest has no results. */
  readonly selections: readonly RepositorySelection[];
  /** Memory of a `PeopleTable`; undefined when nobody asks for people. */
  readonly people: SharedArrayBuffer | undefined;
  readonly leftOut: readonly ExcludedRepository[];
}

/** A repository that is not searched, as something about it could not be found out. */
export interface ExcludedRepository {
  readonly repository: string;
  /** Follows its name, as in "there was not enough time". */
  readonly reason: string;
  readonly isLate: boolean;
}

/** What is found in the index, and what the index does not know. */
export function keepFound(resolution: Resolution, found: Int32Array | undefined): Resolution {
  return keepRevisions(
    resolution,
    ({ id }, { bit, unindexed }) =>
      unindexed !== undefined || (found !== undefined && bit >= 0 && ((found[id] >>> bit) & 1) === 1),
  );
}

/** The answers about all commits of the resolutions; a repository without an answer is left out. */
export async function ask(
  question: CommitQuestion,
  resolutions: readonly Resolution[],
  leftOut: ExcludedRepositories,
  { commitAttributes, deadlineMs, control, client }: PrepareContext,
): Promise<AttributeAnswers["attributes"]> {
  const { attributes, failures } = await commitAttributes.ask(question, collectCommits(resolutions), {
    deadlineMs,
    stop: control.memory,
    client,
  });
  for (const failure of failures) leftOut.note(failure);
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

  /** The first reason counts. */
  note({ repositoryId, reason, isLate }: AttributeFailure): void {
    if (!this.has(repositoryId))
      this.#all.set(repositoryId, { repository: this.#nameOf.get(repositoryId) ?? "", reason, isLate });
  }
}

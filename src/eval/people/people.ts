import { BoundedMap } from "../../base/bounded-map.js";
import type { PeopleFilter, SearchPlan } from "../../query/plan/plan.js";
import { type PathMasks, contributorFilters, contributorKey, PeopleTable } from "../../protocol/people-table.js";
import { CodeOwners, isSameOwner, readOwner, type Owner } from "./code-owners.js";

/** Maximum number of parsed files cached per thread, for the most recently used commits. */
const codeOwnersKeptMax = 64;

/** By repository, commit and version. */
const keptCodeOwners = new BoundedMap<string, CodeOwners>(codeOwnersKeptMax, () => 1);

const noRules = new CodeOwners("");

/** The commit of one repository at which a document is evaluated. */
export interface CommitId {
  readonly repositoryId: number;
  readonly commit: string;
}

/** Owners and authors of the files of a search's commits. */
export class People {
  readonly #table: PeopleTable;
  /** The bit of each contributor filter of the plan. */
  readonly #bitOf: ReadonlyMap<string, number>;
  readonly #contributors = new Map<string, PathMasks | undefined>();

  constructor(memory: SharedArrayBuffer, plan: SearchPlan) {
    this.#table = new PeopleTable(memory);
    this.#bitOf = new Map(contributorFilters(plan).map((filter, bit) => [contributorKey(filter), bit]));
  }

  /** The owners of the file; none if no rule names one. */
  owners(position: CommitId, path: Buffer): readonly Owner[] {
    return this.#codeOwners(position).match(path.toString());
  }

  /** Whether each filter holds for the file. */
  hold(filters: readonly PeopleFilter[], position: CommitId, path: Buffer): boolean {
    return filters.every(
      (filter) =>
        (filter.kind === "owner"
          ? this.#isOwned(filter.owner, position, path)
          : this.#isContributed(contributorKey(filter), position, path)) !== filter.negated,
    );
  }

  #isOwned(text: string, position: CommitId, path: Buffer): boolean {
    const owners = this.owners(position, path);
    if (text === "") return owners.length > 0;
    const wanted = readOwner(text);
    return owners.some((owner) => isSameOwner(owner, wanted));
  }

  #isContributed(key: string, { repositoryId, commit }: CommitId, path: Buffer): boolean {
    const position = `${repositoryId}@${commit}`;
    if (!this.#contributors.has(position))
      this.#contributors.set(position, this.#table.contributors(repositoryId, commit));
    const mask = this.#contributors.get(position)?.lookup(path) ?? 0;
    return ((mask >>> (this.#bitOf.get(key) ?? 0)) & 1) === 1;
  }

  #codeOwners({ repositoryId, commit }: CommitId): CodeOwners {
    const key = `${repositoryId}@${commit} ${this.#table.ownersVersion(repositoryId, commit)}`;
    const kept = keptCodeOwners.get(key);
    if (kept !== undefined) return kept;
    const text = this.#table.codeOwners(repositoryId, commit);
    if (text === undefined) return noRules;
    const rules = new CodeOwners(text);
    keptCodeOwners.set(key, rules);
    return rules;
  }
}

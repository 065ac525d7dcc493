import { hasBit } from "../../base/bits.js";
import { commitAtBit, decodeSummary, type RepositorySummary } from "../../protocol/repository-summaries.js";
import type { CommitSets, RepositorySelection, RevisionChoice } from "../../protocol/search-options.js";
import type { ShardReader } from "../../shard/shard-reader.js";

/** The one revision at which the documents of a repository are searched. */
export interface SearchedRepository {
  readonly summary: RepositorySummary;
  readonly choice: RevisionChoice;
}

/** What is searched of a repository. */
export interface RankedRepository {
  /** Undefined if the repository is hidden. */
  readonly summary: RepositorySummary | undefined;
  /** A bit for each branch. */
  readonly branches: number;
}

/** A shard with more repositories holds few documents of each. */
const singleRevisionsMax = 32;

const noChoices: readonly RevisionChoice[] = [];

/**
 * Which revisions of the documents of one shard a basic query searches: the branches and commits that it selects, in
 * the repositories that it selects, without the documents that a tombstone hides.
 *
 * Repositories are given by their number in the shard.
 */
export class SearchedRevisions {
  readonly #reader: ShardReader;
  readonly #visibility: ShardVisibility;
  readonly #selection: RepositorySelection;
  /** Indexed revisions by repository number; an element is computed when it is first needed. */
  readonly #indexed: (readonly RevisionChoice[] | undefined)[];
  readonly #summaries: (RepositorySummary | undefined)[];
  /** By commit set; an element is computed when it is first needed. All documents of a set belong to one repository. */
  readonly #unindexedOfSet: (readonly RevisionChoice[] | undefined)[] = [];

  constructor(reader: ShardReader, visibility: ShardVisibility, selection: RepositorySelection) {
    this.#reader = reader;
    this.#visibility = visibility;
    this.#selection = selection;
    this.#indexed = new Array(reader.repositories.length);
    this.#summaries = new Array(reader.repositories.length);
  }

  /** True if some repository of the shard is searched. */
  get hasRepositories(): boolean {
    return this.#reader.repositories.some(
      (_, number) => this.#indexedRevisions(number).length > 0 || this.#unindexedRevisions(number).length > 0,
    );
  }

  /** Stops searching the branches of `branchMask` of a repository. Returns false when no branch is left. */
  excludeBranches(number: number, branchMask: number): boolean {
    const left = this.#indexedRevisions(number).filter((choice) => ((branchMask >>> choice.bit) & 1) === 0);
    this.#indexed[number] = left;
    return left.length > 0;
  }

  /**
   * By repository number, the one revision at which its documents are searched, or undefined if it is not searched.
   * Undefined if documents may have several, or if there are so many repositories that this would take too long.
   */
  singleRevisions(): (SearchedRepository | undefined)[] | undefined {
    const repositoryCount = this.#reader.repositories.length;
    if (this.#visibility.sets !== undefined || repositoryCount > singleRevisionsMax) return undefined;
    const found: (SearchedRepository | undefined)[] = [];
    for (let number = 0; number < repositoryCount; number++) {
      const choices = this.#indexedRevisions(number);
      if (choices.length > 1) return undefined;
      const summary = this.#summary(number);
      found.push(choices.length === 0 || summary === undefined ? undefined : { summary, choice: choices[0] });
    }
    return found;
  }

  /**
   * By repository number, on which branches its documents are searched. Undefined if documents have revisions that are not
   * indexed, or if there are so many repositories that this would take too long.
   */
  searchedRepositories(): RankedRepository[] | undefined {
    const { repositories } = this.#reader;
    if (this.#visibility.sets !== undefined || repositories.length > singleRevisionsMax) return undefined;
    return Array.from(repositories, (_, number) => ({
      summary: this.#summary(number),
      branches: this.#indexedRevisions(number).reduce((mask, { bit }) => mask | (1 << bit), 0) >>> 0,
    }));
  }

  /** True only if every document is searched at some revision; found without looking at each. */
  get seesAll(): boolean {
    const { sets, tombstones } = this.#visibility;
    if (sets !== undefined || tombstones !== undefined || this.#reader.repositories.length > singleRevisionsMax)
      return false;
    const common = branchesOfAll(this.#reader);
    return this.#reader.repositories.every((_, number) =>
      this.#indexedRevisions(number).some(({ bit }) => ((common >>> bit) & 1) === 1),
    );
  }

  /** Whether the document is searched at some revision. */
  isVisible(document: number): boolean {
    if (this.#visibility.sets !== undefined && this.#unindexedAt(document).length > 0) return true;
    if (this.#isDead(document)) return false;
    const mask = this.#reader.documentBranches[document];
    const choices = this.#indexedRevisions(this.#reader.documentRepository[document]);
    for (let i = 0; i < choices.length; i++) if (((mask >>> choices[i].bit) & 1) === 1) return true;
    return false;
  }

  /** The revisions at which the document is searched. */
  revisions(document: number): readonly RevisionChoice[] {
    const choices = this.#indexedRevisions(this.#reader.documentRepository[document]);
    if (this.#visibility.sets === undefined)
      return choices.length === 1 ? choices : choices.filter((choice) => this.#hasBranch(document, choice.bit));
    const unindexed = this.#unindexedAt(document);
    if (choices.length === 0 || this.#isDead(document)) return unindexed;
    return [...choices.filter((choice) => this.#hasBranch(document, choice.bit)), ...unindexed];
  }

  /** The summary of the repository of a visible document. */
  repositorySummary(document: number): RepositorySummary {
    return this.#summary(this.#reader.documentRepository[document]) as RepositorySummary;
  }

  /** Called for each document, so `hasBit` is inlined by hand: measured at 1.5 ns, and at 2.2 ns with `hasBit`. */
  #isDead(document: number): boolean {
    const { tombstones } = this.#visibility;
    return tombstones !== undefined && ((tombstones[document >>> 5] >>> (document & 31)) & 1) === 1;
  }

  #hasBranch(document: number, bit: number): boolean {
    return ((this.#reader.documentBranches[document] >>> bit) & 1) === 1;
  }

  /** The unindexed revisions that have the document. It may be dead: a tombstone applies only to indexed branches. */
  #unindexedAt(document: number): readonly RevisionChoice[] {
    const { sets } = this.#visibility;
    const set = sets?.ofDocuments[document] ?? 0;
    if (sets === undefined || set === 0) return noChoices;
    return (this.#unindexedOfSet[set] ??= this.#unindexedRevisions(this.#reader.documentRepository[document]).filter(
      ({ unindexed }) => unindexed !== undefined && isInSet(sets, set, unindexed.number),
    ));
  }

  /** The selected revisions of a repository that are not indexed; none if it is hidden or not selected. */
  #unindexedRevisions(number: number): readonly RevisionChoice[] {
    if (this.#visibility.sets === undefined || this.#summary(number) === undefined) return noChoices;
    return (
      this.#selection.revisions
        ?.get(this.#reader.repositories[number])
        ?.filter(({ unindexed }) => unindexed !== undefined) ?? noChoices
    );
  }

  /** The selected revisions of a repository that are indexed; none if it is hidden or not selected. */
  #indexedRevisions(number: number): readonly RevisionChoice[] {
    return (this.#indexed[number] ??= this.#findIndexed(number));
  }

  #findIndexed(number: number): readonly RevisionChoice[] {
    const id = this.#reader.repositories[number];
    const { repositoryIds, revisions } = this.#selection;
    if (repositoryIds !== undefined && !hasBit(repositoryIds, id)) return [];
    const summary = this.#summary(number);
    if (summary === undefined) return [];
    const chosen = revisions?.get(id);
    if (chosen !== undefined)
      return chosen.every(({ bit }) => bit >= 0) ? chosen : chosen.filter(({ bit }) => bit >= 0);
    return summary.defaultBit < 0 ? noChoices : [{ typed: "", bit: summary.defaultBit, unindexed: undefined }];
  }

  #summary(number: number): RepositorySummary | undefined {
    return (this.#summaries[number] ??= decodeSummary(this.#visibility.summaries, number));
  }
}

const branchesOfReader = new WeakMap<ShardReader, number>();

/** The branches that every document of the shard is on, as a mask. */
function branchesOfAll(reader: ShardReader): number {
  let common = branchesOfReader.get(reader);
  if (common === undefined) {
    common = reader.documentBranches.reduce((mask, branches) => mask & branches, ~0);
    branchesOfReader.set(reader, common);
  }
  return common;
}

/** What a search sees of a live shard, apart from its bytes. */
export interface ShardVisibility {
  readonly summaries: Uint8Array;
  readonly tombstones: Uint32Array | undefined;
  /** For searches of commits that are not indexed: the commit set of each document, and the sets themselves. */
  readonly sets: DocumentSets | undefined;
}

/** `CommitSets` of one shard. */
export interface DocumentSets extends Pick<CommitSets, "setStarts" | "setRanges"> {
  readonly ofDocuments: Uint32Array;
}

/** Whether set `set` contains the commit with this number. */
export function isInSet({ setStarts, setRanges }: DocumentSets, set: number, commit: number): boolean {
  for (let i = setStarts[set]; i < setStarts[set + 1]; i++)
    if (setRanges[2 * i] <= commit && commit < setRanges[2 * i + 1]) return true;
  return false;
}

/** The commit that a choice refers to; "" if none. */
export function commitOfChoice(summary: RepositorySummary, { bit, unindexed }: RevisionChoice): string {
  return unindexed?.commit ?? commitAtBit(summary, bit);
}

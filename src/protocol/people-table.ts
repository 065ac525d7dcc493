import type { ContributorFilter, SearchPlan } from "../query/plan/plan.js";
import { PathMasks } from "./path-masks.js";
import { lowerBoundBy } from "../base/sorted-search.js";

/** What is known of the people of one commit's files. */
export interface PeopleOfCommit {
  readonly repositoryId: number;
  /** Hex oid. */
  readonly commit: string;
  /** The text of the CODEOWNERS file; undefined when there is none, or nobody asks. */
  readonly codeOwners: Uint8Array | undefined;
  /** `encodePathMasks` with bit i for a path that contributor filter i matches; undefined when nobody asks. */
  readonly contributors: Uint8Array | undefined;
}

/** Words of one commit, after a word that counts them. Places are in bytes from the start, equal ones for nothing. */
const entryWords = {
  repositoryId: 0,
  commitHigh: 1,
  commitLow: 2,
  ownersFrom: 3,
  ownersTo: 4,
  contributorsFrom: 5,
  contributorsTo: 6,
} as const;
const entryWordCount = 7;

/**
 * The people of all commits that a search is about, in one piece of shared memory: a task carries a reference to it,
 * however many there are. A commit is known by its repository and the first 16 digits of its oid.
 */
export class PeopleTable {
  readonly memory: SharedArrayBuffer;
  readonly #words: Uint32Array;

  constructor(memory: SharedArrayBuffer) {
    this.memory = memory;
    this.#words = new Uint32Array(memory);
  }

  static of(people: readonly PeopleOfCommit[]): PeopleTable {
    const sorted = [...people].sort((a, b) => a.repositoryId - b.repositoryId || (a.commit < b.commit ? -1 : 1));
    const sizeOf = (bytes: Uint8Array | undefined): number => Math.ceil((bytes?.length ?? 0) / 4) * 4;
    const headBytes = 4 * (1 + sorted.length * entryWordCount);
    const byteCount = sorted.reduce((sum, one) => sum + sizeOf(one.codeOwners) + sizeOf(one.contributors), headBytes);
    const table = new PeopleTable(new SharedArrayBuffer(byteCount));
    const bytes = new Uint8Array(table.memory);
    let at = headBytes;
    const append = (more: Uint8Array | undefined): [from: number, to: number] => {
      const from = at;
      if (more !== undefined) bytes.set(more, at);
      at += sizeOf(more);
      return [from, from + (more?.length ?? 0)];
    };
    table.#words[0] = sorted.length;
    sorted.forEach((one, i) => {
      table.#words.set(
        [one.repositoryId, ...commitWords(one.commit), ...append(one.codeOwners), ...append(one.contributors)],
        1 + i * entryWordCount,
      );
    });
    return table;
  }

  /** The text of the commit's CODEOWNERS file; undefined when it has none. */
  codeOwners(repositoryId: number, commit: string): string | undefined {
    return this.#findBytes(repositoryId, commit, entryWords.ownersFrom)?.toString();
  }

  /** By path of the commit, a bit for each contributor filter; undefined when nobody asked. */
  contributors(repositoryId: number, commit: string): PathMasks | undefined {
    const bytes = this.#findBytes(repositoryId, commit, entryWords.contributorsFrom);
    return bytes === undefined ? undefined : new PathMasks(bytes);
  }

  #findBytes(repositoryId: number, commit: string, word: number): Buffer | undefined {
    const entry = this.#find(repositoryId, commit);
    if (entry === undefined) return undefined;
    const from = this.#words[entry + word];
    const to = this.#words[entry + word + 1];
    return from === to ? undefined : Buffer.from(this.memory, from, to - from);
  }

  /** The first word of the commit's entry. */
  #find(repositoryId: number, commit: string): number | undefined {
    const wanted = [repositoryId, ...commitWords(commit)];
    const entryAt = (i: number): number => 1 + i * entryWordCount;
    const order = (entry: number): number =>
      wanted[0] - this.#words[entry] || wanted[1] - this.#words[entry + 1] || wanted[2] - this.#words[entry + 2];
    const count = this.#words[0];
    const index = lowerBoundBy(count, (i) => order(entryAt(i)) > 0);
    return index < count && order(entryAt(index)) === 0 ? entryAt(index) : undefined;
  }
}

/** The distinct contributor filters of a plan, in the order of their bits. */
export function contributorFilters(plan: SearchPlan): readonly ContributorFilter[] {
  const distinct = new Map<string, ContributorFilter>();
  for (const { text } of plan.basicQueries) {
    for (const filter of text?.people ?? [])
      if (filter.kind === "contributor") distinct.set(contributorKey(filter), filter);
  }
  return [...distinct.values()];
}

/** Equal for filters that ask the same, negated or not. */
export function contributorKey({ source, foldCase }: ContributorFilter): string {
  return `${foldCase}${source}`;
}

function commitWords(commit: string): [high: number, low: number] {
  return [Number.parseInt(commit.slice(0, 8), 16), Number.parseInt(commit.slice(8, 16), 16)];
}

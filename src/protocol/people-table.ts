import type { ContributorFilter, SearchPlan } from "../query/plan/plan.js";
import { lowerBoundBy } from "../base/sorted-search.js";

/** Owners and authors of the files of one commit. */
export interface PeopleOfCommit {
  readonly repositoryId: number;
  /** Hex oid. */
  readonly commit: string;
  /**
   * The text of its CODEOWNERS file or, if it has none, of the rules that were set for the repository; undefined if there
   * are none, or they are not needed.
   */
  readonly codeOwners: Uint8Array | undefined;
  /** Of rules that were set for the repository; 0 for a file of the commit, which never changes. */
  readonly ownersVersion: number;
  /** `encodePathMasks` with bit i set for paths that contributor filter i matches; undefined if not needed. */
  readonly contributors: Uint8Array | undefined;
}

/**
 * Words of one commit's entry; the entries follow a word with their count. Offsets are in bytes from the start; equal
 * offsets mean no value.
 */
const entryWords = {
  repositoryId: 0,
  commitHigh: 1,
  commitLow: 2,
  ownersFrom: 3,
  ownersTo: 4,
  contributorsFrom: 5,
  contributorsTo: 6,
  ownersVersion: 7,
} as const;
const entryWordCount = 8;

/**
 * Owners and authors for all commits of a search, in one block of shared memory: tasks contain a reference to it,
 * regardless of the number of commits. A commit is identified by its repository and the first 16 digits of its oid.
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
        [
          one.repositoryId,
          ...commitWords(one.commit),
          ...append(one.codeOwners),
          ...append(one.contributors),
          one.ownersVersion,
        ],
        1 + i * entryWordCount,
      );
    });
    return table;
  }

  /** The text of the rules that apply to the commit; undefined if there are none. */
  codeOwners(repositoryId: number, commit: string): string | undefined {
    return this.#findBytes(repositoryId, commit, entryWords.ownersFrom)?.toString();
  }

  /** The version of that text; 0 for a file of the commit. */
  ownersVersion(repositoryId: number, commit: string): number {
    const entry = this.#find(repositoryId, commit);
    return entry === undefined ? 0 : this.#words[entry + entryWords.ownersVersion];
  }

  /** By path of the commit, one bit per contributor filter; undefined if not needed. */
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

/** Equal for filters with the same condition, negated or not. */
export function contributorKey({ source, foldCase }: ContributorFilter): string {
  return `${foldCase}${source}`;
}

function commitWords(commit: string): [high: number, low: number] {
  return [Number.parseInt(commit.slice(0, 8), 16), Number.parseInt(commit.slice(8, 16), 16)];
}

/*
 * A set of paths with a 32-bit mask each, as bytes that can be sent between threads: a word for the count n, n masks, n
 * + 1 starts, then the concatenated paths in byte order. Starts are relative to the beginning of the paths.
 */

/** Each character of a path represents one byte. */
export function encodePathMasks(masks: ReadonlyMap<string, number>): Uint8Array {
  const paths = [...masks.keys()].sort((a, b) => (a < b ? -1 : 1));
  const headWords = 2 + 2 * paths.length;
  const byteCount = paths.reduce((sum, path) => sum + path.length, headWords * 4);
  const bytes = Buffer.from(new SharedArrayBuffer(Math.ceil(byteCount / 4) * 4));
  const words = new Uint32Array(bytes.buffer, 0, headWords);
  words[0] = paths.length;
  let at = 0;
  paths.forEach((path, i) => {
    words[1 + i] = masks.get(path) ?? 0;
    words[1 + paths.length + i] = at;
    bytes.write(path, headWords * 4 + at, "latin1");
    at += path.length;
  });
  words[1 + 2 * paths.length] = at;
  return bytes;
}

/** Reads the output of `encodePathMasks`. */
export class PathMasks {
  readonly #count: number;
  readonly #masks: Uint32Array;
  readonly #starts: Uint32Array;
  readonly #paths: Buffer;

  /** `bytes` start at a multiple of four. */
  constructor(bytes: Uint8Array) {
    this.#count = new Uint32Array(bytes.buffer, bytes.byteOffset, 1)[0];
    this.#masks = new Uint32Array(bytes.buffer, bytes.byteOffset + 4, this.#count);
    this.#starts = new Uint32Array(bytes.buffer, bytes.byteOffset + 4 * (1 + this.#count), this.#count + 1);
    this.#paths = Buffer.from(bytes.buffer, bytes.byteOffset + 4 * (2 + 2 * this.#count), this.#starts[this.#count]);
  }

  /** The input of `encodePathMasks`. */
  decode(): Map<string, number> {
    const masks = new Map<string, number>();
    for (let i = 0; i < this.#count; i++)
      masks.set(this.#paths.toString("latin1", this.#starts[i], this.#starts[i + 1]), this.#masks[i]);
    return masks;
  }

  /** Returns 0 for a path that is not in the set. */
  lookup(path: Buffer): number {
    const order = (i: number): number => path.compare(this.#paths, this.#starts[i], this.#starts[i + 1]);
    const index = lowerBoundBy(this.#count, (i) => order(i) > 0);
    return index < this.#count && order(index) === 0 ? this.#masks[index] : 0;
  }
}

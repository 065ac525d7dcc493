import type { Repository } from "../model/repository.js";

/** Bits of `RepositoryTable.flags`. */
export const repositoryFlags = { fork: 1, archived: 2, private: 4 } as const;

let tableCount = 0;

/**
 * Repositories in the order of results, those with more stars first and then the newer ones, with what choosing
 * among them reads: all names in one piece of memory, and a byte of flags for each.
 *
 * A place is a number in this order. Order, names and facts never change; a change of those makes a new table, so what was
 * worked out from them holds as long as the table.
 */
export class RepositoryTable {
  /** No other table has it. */
  readonly id = ++tableCount;
  readonly count: number;
  /** True when it holds all repositories, false when the shards hold others, which are not to be seen. */
  readonly isWhole: boolean;
  readonly hasPrivate: boolean;
  /** `repositoryFlags`, by place. */
  readonly flags: Uint8Array;
  /** Each name and a newline, which no name holds. */
  readonly names: Buffer;
  /** Where a name starts, by place, and at last the end of all. */
  readonly nameStart: Uint32Array;
  readonly #repositories: Repository[];
  readonly #nameViews: (Buffer | undefined)[];
  readonly #descriptionViews: (Buffer | undefined)[];
  readonly #placeOf = new Map<number, number>();
  #placeOfName: ReadonlyMap<string, number> | undefined;
  #placesByName: readonly number[] | undefined;
  /** Places in the order in which an earlier table has the names, as far as it is known. */
  readonly #nearlyByName: readonly number[];

  /**
   * `earlier` is a table with most of these repositories, if there is one: its orders are nearly those of this table, so
   * that sorting 10,000 repositories takes a tenth of the 20 to 30 ms that it takes otherwise.
   */
  constructor(repositories: Iterable<Repository>, isWhole: boolean, earlier: RepositoryTable | undefined) {
    this.isWhole = isWhole;
    this.#repositories = inOrderOf(earlier, repositories).sort((a, b) => b.stars - a.stars || b.id - a.id);
    this.count = this.#repositories.length;
    this.#nameViews = new Array<Buffer | undefined>(this.count);
    this.#descriptionViews = new Array<Buffer | undefined>(this.count);
    this.flags = Uint8Array.from(this.#repositories, flagsOf);
    this.hasPrivate = this.flags.some((flags) => (flags & repositoryFlags.private) !== 0);
    this.nameStart = new Uint32Array(this.count + 1);
    this.#repositories.forEach(({ id, name }, place) => {
      this.#placeOf.set(id, place);
      this.nameStart[place + 1] = this.nameStart[place] + Buffer.byteLength(name) + 1;
    });
    this.names = Buffer.from(this.#repositories.map(({ name }) => `${name}\n`).join(""));
    this.#nearlyByName = earlier === undefined ? [] : this.#placesIn(earlier);
  }

  /** In the table's order. */
  values(): readonly Repository[] {
    return this.#repositories;
  }

  byId(repositoryId: number): Repository | undefined {
    const place = this.#placeOf.get(repositoryId);
    return place === undefined ? undefined : this.#repositories[place];
  }

  byName(name: string): Repository | undefined {
    const place = this.placeOfName(name);
    return place === undefined ? undefined : this.#repositories[place];
  }

  at(place: number): Repository {
    return this.#repositories[place];
  }

  /** Kept, as a view costs as much as to match a name. */
  nameAt(place: number): Buffer {
    return this.#nameViews[place] ??= this.names.subarray(this.nameStart[place], this.nameStart[place + 1] - 1);
  }

  /** The description as bytes, which is what a regexp takes; kept like the names. */
  descriptionAt(place: number): Buffer {
    return this.#descriptionViews[place] ??= Buffer.from(this.#repositories[place].description);
  }

  placeOf(repositoryId: number): number | undefined {
    return this.#placeOf.get(repositoryId);
  }

  placeOfName(name: string): number | undefined {
    this.#placeOfName ??= new Map(this.#repositories.map((repository, place) => [repository.name, place]));
    return this.#placeOfName.get(name);
  }

  /** All places in the order of names. */
  placesByName(): readonly number[] {
    this.#placesByName ??= this.#sortedByName();
    return this.#placesByName;
  }

  #sortedByName(): readonly number[] {
    const names = this.#repositories.map(({ name }) => name);
    const places = this.#nearlyByName.length === this.count ? [...this.#nearlyByName] : names.map((_, place) => place);
    return places.sort((a, b) => (names[a] < names[b] ? -1 : 1));
  }

  /** Every place of this table, in the order of names as far as `earlier` has it. */
  #placesIn(earlier: RepositoryTable): readonly number[] {
    const known = (earlier.#placesByName ?? earlier.#nearlyByName).flatMap((place) => this.#placeOf.get(earlier.at(place).id) ?? []);
    const others = this.#repositories.flatMap(({ id }, place) => (earlier.placeOf(id) === undefined ? [place] : []));
    return [...known, ...others];
  }

  /** The place whose name holds this byte; expects one at or after the start of `from`. */
  placeAtByte(offset: number, from: number): number {
    let place = from;
    while (this.nameStart[place + 1] <= offset) place++;
    return place;
  }

  /** Takes a newer record of a repository. False when that needs another table. */
  replace(repository: Repository): boolean {
    const place = this.#placeOf.get(repository.id);
    if (place === undefined) return false;
    const known = this.#repositories[place];
    if (known.name !== repository.name || !hasSameFacts(known, repository)) return false;
    this.#repositories[place] = repository;
    return true;
  }
}

/** The repositories as `earlier` has them, and those that it has not behind them. */
function inOrderOf(earlier: RepositoryTable | undefined, repositories: Iterable<Repository>): Repository[] {
  if (earlier === undefined) return [...repositories];
  const known = new Array<Repository | undefined>(earlier.count);
  const others: Repository[] = [];
  for (const repository of repositories) {
    const place = earlier.placeOf(repository.id);
    if (place === undefined) others.push(repository);
    else known[place] = repository;
  }
  return [...known.filter((repository) => repository !== undefined), ...others];
}

/** Records that crossed threads are equal without being the same. */
function hasSameFacts(a: Repository, b: Repository): boolean {
  if (a.removedAt !== b.removedAt || a.stars !== b.stars || flagsOf(a) !== flagsOf(b) || a.description !== b.description) return false;
  if (a.topics === b.topics && a.metadata === b.metadata && a.readers === b.readers) return true;
  return JSON.stringify([a.topics, a.metadata, a.readers]) === JSON.stringify([b.topics, b.metadata, b.readers]);
}

function flagsOf(repository: Repository): number {
  return (repository.fork ? repositoryFlags.fork : 0) | (repository.archived ? repositoryFlags.archived : 0)
    | (repository.private ? repositoryFlags.private : 0);
}

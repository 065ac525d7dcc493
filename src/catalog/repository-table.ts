import { isAscii } from "node:buffer";
import { lazy } from "../base/lazy.js";
import { eachInSteps, mapInSteps, resultAtOnce, sortInSteps } from "../base/yielding.js";
import type { Repository } from "../model/repository.js";

/** Longer names are not made a text: that is done without a pause, and takes the main thread 2 ms a MiB. */
const asciiBytesMax = 2 * 1024 * 1024;

/** Bits of `RepositoryTable.flags`. */
export const repositoryFlags = { fork: 1, archived: 2, private: 4 } as const;

let tableCount = 0;

/**
 * Repositories in result order (more stars first, then newer ones first), with the data used to choose among them: all
 * names in one block of memory, and a byte of flags each.
 *
 * A row is an index in this order. Order, names and attributes never change; a change of those creates a new table, so
 * data derived from them is valid as long as the table exists.
 */
export class RepositoryTable {
  /** Unique to this table. */
  readonly id = ++tableCount;
  readonly count: number;
  /** True if it contains all repositories; false if the shards contain others, which must not be visible. */
  readonly isWhole: boolean;
  readonly hasPrivate: boolean;
  /** `repositoryFlags`, by row. */
  readonly flags: Uint8Array;
  /** Each name followed by a newline, which no name contains. */
  readonly names: Buffer;
  /** Start of each name, by row, followed by the end of the last. */
  readonly nameStart: Uint32Array;
  #repositories: Repository[];
  /** Whether the array has been handed out, so that it must not be modified. */
  #areRecordsKept = false;
  readonly #nameViews: (Buffer | undefined)[];
  readonly #descriptionViews: (Buffer | undefined)[];
  readonly #asciiNames = lazy(() =>
    this.names.length <= asciiBytesMax && isAscii(this.names) ? this.names.toString("latin1") : undefined,
  );
  readonly #lowerNames = lazy(() => this.#asciiNames()?.toLowerCase());
  readonly #placeOf: ReadonlyMap<number, number>;
  #placeOfName: ReadonlyMap<string, number> | undefined;
  #placesByName: readonly number[] | undefined;
  /** Row indexes in the name order of an earlier table, as far as known. */
  readonly #nearlyByName: readonly number[];

  private constructor(columns: Columns, isWhole: boolean) {
    this.isWhole = isWhole;
    this.#repositories = columns.repositories;
    this.count = columns.repositories.length;
    this.#nameViews = new Array<Buffer | undefined>(this.count);
    this.#descriptionViews = new Array<Buffer | undefined>(this.count);
    this.flags = columns.flags;
    this.hasPrivate = columns.flags.some((flags) => (flags & repositoryFlags.private) !== 0);
    this.nameStart = columns.nameStart;
    this.names = columns.names;
    this.#placeOf = columns.placeOf;
    this.#nearlyByName = columns.nearlyByName;
  }

  /**
   * `earlier` is a table with most of these repositories, if there is one: its orders are nearly those of this table,
   * which makes sorting faster.
   */
  static of(
    repositories: Iterable<Repository>,
    isWhole: boolean,
    earlier: RepositoryTable | undefined,
  ): RepositoryTable {
    return resultAtOnce(RepositoryTable.inSteps([...repositories], isWhole, earlier));
  }

  /** Like `of`, in steps: 10,000 repositories take 20 to 60 ms. */
  static *inSteps(
    repositories: readonly Repository[],
    isWhole: boolean,
    earlier: RepositoryTable | undefined,
  ): Generator<void, RepositoryTable> {
    const ordered = yield* inOrder(earlier === undefined ? repositories : yield* sortedRows(earlier, repositories));
    const { names, nameStart } = yield* collectNames(ordered);
    const flags = new Uint8Array(ordered.length);
    const findRow = new Map<number, number>();
    yield* eachInSteps(ordered, (repository) => {
      flags[findRow.size] = encodeFlags(repository);
      findRow.set(repository.id, findRow.size);
    });
    const nearlyByName = earlier === undefined ? [] : yield* placesIn(earlier, ordered, findRow);
    return new RepositoryTable(
      { repositories: ordered, flags, names, nameStart, placeOf: findRow, nearlyByName },
      isWhole,
    );
  }

  /** In the table's order. */
  values(): readonly Repository[] {
    return this.#repositories;
  }

  /**
   * The current records, by row: later records, which `values` returns, are not included. The array is copied only if a
   * later record arrives.
   */
  records(): readonly Repository[] {
    this.#areRecordsKept = true;
    return this.#repositories;
  }

  byId(repositoryId: number): Repository | undefined {
    const row = this.#placeOf.get(repositoryId);
    return row === undefined ? undefined : this.#repositories[row];
  }

  byName(name: string): Repository | undefined {
    const row = this.findRowByName(name);
    return row === undefined ? undefined : this.#repositories[row];
  }

  at(row: number): Repository {
    return this.#repositories[row];
  }

  /** Cached, because creating a view takes as long as matching a name. */
  nameAt(row: number): Buffer {
    return (this.#nameViews[row] ??= this.names.subarray(this.nameStart[row], this.nameStart[row + 1] - 1));
  }

  /** `names` as text, in lower case if `isLower`, with the same offsets; undefined if one is not ASCII, or they are long. */
  asciiNames(isLower: boolean): string | undefined {
    return isLower ? this.#lowerNames() : this.#asciiNames();
  }

  /** The description as bytes, as needed by regexps; cached like the names. */
  descriptionAt(row: number): Buffer {
    return (this.#descriptionViews[row] ??= Buffer.from(this.#repositories[row].description));
  }

  findRow(repositoryId: number): number | undefined {
    return this.#placeOf.get(repositoryId);
  }

  findRowByName(name: string): number | undefined {
    this.#placeOfName ??= new Map(this.#repositories.map((repository, row) => [repository.name, row]));
    return this.#placeOfName.get(name);
  }

  /** All rows, ordered by name. */
  rowsByName(): readonly number[] {
    this.#placesByName ??= resultAtOnce(this.#sortedByName());
    return this.#placesByName;
  }

  /** Computes the name order in steps. */
  *sortByName(): Generator<void, void> {
    this.#placesByName ??= yield* this.#sortedByName();
  }

  *#sortedByName(): Generator<void, readonly number[]> {
    const names: string[] = [];
    yield* eachInSteps(this.#repositories, ({ name }) => names.push(name));
    const rows = this.#nearlyByName.length === this.count ? this.#nearlyByName : names.map((_, row) => row);
    return yield* sortInSteps(rows, (a, b) => (names[a] < names[b] ? -1 : 1));
  }

  /** Rows of this table in name order, as far as known. */
  get nearlyByName(): readonly number[] {
    return this.#placesByName ?? this.#nearlyByName;
  }

  /** The row whose name contains this byte; expects it at or after the start of `from`. */
  placeAtByte(offset: number, from: number): number {
    let row = from;
    while (this.nameStart[row + 1] <= offset) row++;
    return row;
  }

  /** Whether a newer record of a repository can be stored without a new table. */
  canTake(repository: Repository): boolean {
    const known = this.byId(repository.id);
    return known !== undefined && known.name === repository.name && hasSameAttributes(known, repository);
  }

  /** Stores a newer record of a repository. Returns false if that requires a new table. */
  replace(repository: Repository): boolean {
    const row = this.#placeOf.get(repository.id);
    if (row === undefined || !this.canTake(repository)) return false;
    if (this.#areRecordsKept) this.#repositories = [...this.#repositories];
    this.#areRecordsKept = false;
    this.#repositories[row] = repository;
    return true;
  }
}

/** The columns of a table, each by row. */
interface Columns {
  readonly repositories: Repository[];
  readonly flags: Uint8Array;
  readonly names: Buffer;
  readonly nameStart: Uint32Array;
  readonly placeOf: ReadonlyMap<number, number>;
  readonly nearlyByName: readonly number[];
}

/**
 * More stars first, then newer ones first. Sorts numbers, because comparing records takes several times as long: each
 * comparison reads two of them.
 */
function* inOrder(repositories: readonly Repository[]): Generator<void, Repository[]> {
  const stars = new Float64Array(repositories.length);
  const ids = new Float64Array(repositories.length);
  const order: number[] = [];
  yield* eachInSteps(repositories, (repository) => {
    stars[order.length] = repository.stars;
    ids[order.length] = repository.id;
    order.push(order.length);
  });
  const sorted = yield* sortInSteps(order, (a, b) => stars[b] - stars[a] || ids[b] - ids[a]);
  return yield* mapInSteps(sorted, (i) => repositories[i]);
}

/** All names, each followed by a newline, and the start of each. */
function* collectNames(repositories: readonly Repository[]): Generator<void, Pick<Columns, "names" | "nameStart">> {
  const nameStart = new Uint32Array(repositories.length + 1);
  const parts: Buffer[] = [];
  let row = 0;
  yield* eachInSteps(repositories, ({ name }) => {
    const part = Buffer.from(`${name}\n`);
    parts.push(part);
    nameStart[row + 1] = nameStart[row] + part.length;
    row++;
  });
  return { names: Buffer.concat(parts), nameStart };
}

/** All rows, ordered by name as far as `earlier` knows it. */
function* placesIn(
  earlier: RepositoryTable,
  repositories: readonly Repository[],
  placeOf: ReadonlyMap<number, number>,
): Generator<void, readonly number[]> {
  const rows: number[] = [];
  yield* eachInSteps(earlier.nearlyByName, (row) => {
    const now = placeOf.get(earlier.at(row).id);
    if (now !== undefined) rows.push(now);
  });
  let row = 0;
  yield* eachInSteps(repositories, ({ id }) => {
    if (earlier.findRow(id) === undefined) rows.push(row);
    row++;
  });
  return rows;
}

/** The repositories in the order of `earlier`, followed by those that it does not contain. */
function* sortedRows(
  earlier: RepositoryTable,
  repositories: readonly Repository[],
): Generator<void, readonly Repository[]> {
  const known = new Array<Repository | undefined>(earlier.count);
  const others: Repository[] = [];
  yield* eachInSteps(repositories, (repository) => {
    const row = earlier.findRow(repository.id);
    if (row === undefined) others.push(repository);
    else known[row] = repository;
  });
  return [...known.filter((repository) => repository !== undefined), ...others];
}

/** Records that were sent between threads are equal but not identical. */
function hasSameAttributes(a: Repository, b: Repository): boolean {
  if (
    a.removedAt !== b.removedAt ||
    a.stars !== b.stars ||
    encodeFlags(a) !== encodeFlags(b) ||
    a.description !== b.description
  )
    return false;
  if (a.topics === b.topics && a.metadata === b.metadata && a.readers === b.readers) return true;
  return JSON.stringify([a.topics, a.metadata, a.readers]) === JSON.stringify([b.topics, b.metadata, b.readers]);
}

function encodeFlags(repository: Repository): number {
  return (
    (repository.fork ? repositoryFlags.fork : 0) |
    (repository.archived ? repositoryFlags.archived : 0) |
    (repository.private ? repositoryFlags.private : 0)
  );
}

import { eachInSteps, filterInSteps, resultAtOnce } from "../base/yielding.js";
import type { Repository } from "../model/repository.js";
import type { Viewer } from "../model/viewer.js";
import type { PartitionShare } from "./partitions.js";
import { RepositoryTable } from "./repository-table.js";

/**
 * Limits on cached tables, apart from the whole table: the number of tables, and the number of repositories in all of
 * them together, about 100 bytes each.
 */
const keptTablesMax = 256;
const keptRepositoriesMax = 1_000_000;

/** The same for parts of tables that are searched for other nodes. */
const keptSharesMax = 64;

/**
 * For each viewer, a table of the repositories that it may see.
 *
 * This is where private repositories are hidden from viewers who may not read them, and, with `maySee`, the only way from
 * a viewer to repositories. Everything derived from such a table (choices, counts, alerts, proposals, "not found") is the same as
 * for a store without the hidden repositories. Viewers with the same names share a table.
 */
export class VisibleTables {
  readonly #repositories: () => Iterable<Repository>;
  /** Undefined after a change that it cannot store, until it is next needed. */
  #whole: RepositoryTable | undefined;
  /** The table before that change. */
  #earlier: RepositoryTable | undefined;
  /** By the names under which viewers read; least recently used first. */
  readonly #parts = new Map<string, RepositoryTable>();
  /** What is in some partitions, of tables of viewers; least recently used first. */
  readonly #shares = new Map<RepositoryTable, Map<PartitionShare, RepositoryTable>>();
  /** Records that arrived while a table is being prepared. */
  #replacedMeanwhile: Map<number, Repository> | undefined;
  /**
   * Their keys in that map: a viewer in thousands of organizations has a long key, and it is needed for each result of
   * a search.
   */
  readonly #keys = new WeakMap<readonly string[], string>();

  constructor(repositories: () => Iterable<Repository>) {
    this.#repositories = repositories;
  }

  /** Of what the viewer may see, what is in a share of the partitions. */
  ofShare(viewer: Viewer, share: PartitionShare): RepositoryTable {
    return resultAtOnce(this.shareInSteps(viewer, share));
  }

  /** The same in steps, after which it is known. */
  *shareInSteps(viewer: Viewer, share: PartitionShare): Generator<void, RepositoryTable> {
    const visible = this.of(viewer);
    const known = this.#shares.get(visible)?.get(share);
    if (known !== undefined) return known;
    const inside = yield* filterInSteps([...visible.values()], ({ id }) => share.has(id));
    const isAll = inside.length === visible.count;
    const table = isAll ? visible : yield* RepositoryTable.inSteps(inside, false, visible);
    // It was replaced meanwhile.
    if (this.of(viewer) !== visible) return yield* this.shareInSteps(viewer, share);
    // Records may have been, too.
    if (!isAll) for (const { id } of inside) this.#renew(table, visible, id);
    const shares = this.#shares.get(visible) ?? new Map<PartitionShare, RepositoryTable>();
    this.#shares.delete(visible);
    this.#shares.set(visible, shares.set(share, table));
    this.#shrinkShares();
    return table;
  }

  #renew(table: RepositoryTable, visible: RepositoryTable, id: number): void {
    const record = visible.byId(id);
    if (record !== undefined && record !== table.byId(id)) table.replace(record);
  }

  #shrinkShares(): void {
    let [count, repositoryCount] = [0, 0];
    for (const shares of this.#shares.values())
      for (const table of shares.values()) [count, repositoryCount] = [count + 1, repositoryCount + table.count];
    for (const [visible, shares] of this.#shares)
      for (const [share, { count: size }] of shares) {
        if (count === 1 || (count <= keptSharesMax && repositoryCount <= keptRepositoriesMax)) return;
        shares.delete(share);
        if (shares.size === 0) this.#shares.delete(visible);
        [count, repositoryCount] = [count - 1, repositoryCount - size];
      }
  }

  of(viewer: Viewer): RepositoryTable {
    this.#whole ??= resultAtOnce(listed([...this.#repositories()], this.#earlier));
    this.#earlier = undefined;
    const isLimited = viewer.narrowed?.repositories !== undefined;
    if (!isLimited && (seesPrivate(viewer) || !this.#whole.hasPrivate)) return this.#whole;
    const key = isLimited ? limitedKey(viewer) : this.#cacheKey(viewer.readerNames);
    const known = this.#parts.get(key);
    const part = known ?? filterVisible(this.#whole, viewer);
    this.#parts.delete(key);
    this.#parts.set(key, part);
    if (known === undefined) this.#shrink();
    return part;
  }

  #cacheKey(readerNames: readonly string[]): string {
    // Names contain no spaces.
    const key = this.#keys.get(readerNames) ?? readerNames.join(" ");
    this.#keys.set(readerNames, key);
    return key;
  }

  seesAll(viewer: Viewer): boolean {
    return this.of(viewer) === this.#whole;
  }

  /**
   * Builds the whole table for the state after a change, in steps, before the change becomes visible; `take` installs
   * it. Undefined if the change requires no new table.
   */
  *prepare(
    changed: readonly Repository[],
    removedIds: readonly number[],
  ): Generator<void, RepositoryTable | undefined> {
    const whole = this.#whole;
    if (whole !== undefined && removedIds.length === 0 && changed.every((repository) => whole.canTake(repository)))
      return undefined;
    const next = new Map(changed.map((repository) => [repository.id, repository]));
    const removed = new Set(removedIds);
    const all: Repository[] = [];
    this.#replacedMeanwhile = new Map();
    yield* eachInSteps([...this.#repositories()], (repository) => {
      if (!removed.has(repository.id)) all.push(next.get(repository.id) ?? repository);
      next.delete(repository.id);
    });
    const table = yield* listed([...all, ...next.values()], whole ?? this.#earlier);
    yield* table.sortByName();
    return table;
  }

  /**
   * Installs `prepared` as the whole table. Caller guarantees: the repositories are those for which it was prepared, or
   * newer records of them.
   */
  take(prepared: RepositoryTable): void {
    const newer = this.#replacedMeanwhile ?? new Map<number, Repository>();
    this.#replacedMeanwhile = undefined;
    this.clear();
    for (const repository of newer.values()) if (!prepared.replace(repository)) return;
    this.#whole = prepared;
  }

  /** Stores a newer record of a repository, or rebuilds the tables if necessary. */
  replace(repository: Repository): void {
    this.#replacedMeanwhile?.set(repository.id, repository);
    if (this.#whole?.replace(repository) === false) return this.clear();
    for (const part of this.#parts.values()) part.replace(repository);
    for (const shares of this.#shares.values()) for (const part of shares.values()) part.replace(repository);
  }

  clear(): void {
    this.#earlier = this.#whole ?? this.#earlier;
    this.#whole = undefined;
    this.#parts.clear();
    this.#shares.clear();
  }

  /** The most recently used table is kept. */
  #shrink(): void {
    let repositoryCount = 0;
    for (const { count } of this.#parts.values()) repositoryCount += count;
    for (const [key, { count }] of this.#parts) {
      if (this.#parts.size === 1 || (this.#parts.size <= keptTablesMax && repositoryCount <= keptRepositoriesMax))
        return;
      this.#parts.delete(key);
      repositoryCount -= count;
    }
  }
}

/** Removed repositories are in no table. */
function* listed(all: readonly Repository[], earlier: RepositoryTable | undefined): Generator<void, RepositoryTable> {
  const visible = yield* filterInSteps(all, ({ removedAt }) => removedAt === "");
  return yield* RepositoryTable.inSteps(visible, visible.length === all.length, earlier);
}

/** Equal to no key of a whole view: it begins with a newline, which no name contains. */
function limitedKey(viewer: Viewer): string {
  const readers = seesPrivate(viewer) ? "*" : viewer.readerNames.join(" ");
  return ["", readers, ...(viewer.narrowed?.repositories ?? [])].join("\n");
}

function seesPrivate({ isSiteAdmin, narrowed }: Viewer): boolean {
  return isSiteAdmin || narrowed?.seesPrivate === true;
}

function filterVisible(whole: RepositoryTable, viewer: Viewer): RepositoryTable {
  const names = new Set(viewer.readerNames);
  const only = viewer.narrowed?.repositories;
  if (only !== undefined) {
    const found = only.flatMap((name) => whole.byName(name) ?? []).filter((one) => maySee(one, viewer));
    return found.length === whole.count ? whole : RepositoryTable.of(found, false, undefined);
  }
  const visible = whole.values().filter((repository) => mayRead(repository, names));
  return visible.length === whole.count ? whole : RepositoryTable.of(visible, false, whole);
}

function mayRead({ private: isPrivate, readers }: Repository, names: ReadonlySet<string>): boolean {
  return !isPrivate || readers.some((reader) => names.has(reader.toLowerCase()));
}

/** Whether the viewer may read the repository. */
export function maySee(repository: Repository, viewer: Viewer): boolean {
  const only = viewer.narrowed?.repositories;
  if (only !== undefined && !only.includes(repository.name)) return false;
  return seesPrivate(viewer) || mayRead(repository, new Set(viewer.readerNames));
}

/** Whether a change may hide the repository from someone who could read it before. */
export function mayHide(before: Repository, after: Repository): boolean {
  if (!after.private || (before.readers === after.readers && before.private)) return false;
  return !before.private || before.readers.some((reader) => !after.readers.includes(reader));
}

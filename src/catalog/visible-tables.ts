import { eachInSteps, filterInSteps, resultAtOnce } from "../base/yielding.js";
import type { Repository } from "../model/repository.js";
import type { Viewer } from "../model/viewer.js";
import { RepositoryTable } from "./repository-table.js";

/**
 * What is kept at most beside the whole table: so many tables, of so many repositories together, some 100 bytes each.
 */
const keptTablesMax = 256;
const keptRepositoriesMax = 1_000_000;

/**
 * The repositories as each viewer may see them: a table without the others.
 *
 * This is where private repositories are kept from those who may not read them, and the only way from a viewer to
 * repositories. Whatever is made from such a table (choices, counts, alerts, proposals, "not found") is what a store
 * without the hidden repositories would give. Viewers with the same names share a table.
 */
export class VisibleTables {
  readonly #repositories: () => Iterable<Repository>;
  /** Undefined after a change that it cannot take, until it is asked for. */
  #whole: RepositoryTable | undefined;
  /** The one before that change. */
  #earlier: RepositoryTable | undefined;
  /** By the names that viewers read as; the least recently used first. */
  readonly #parts = new Map<string, RepositoryTable>();
  /** Records that came since a table was begun to be prepared. */
  #replacedMeanwhile: Map<number, Repository> | undefined;
  /**
   * Their keys in that map: a viewer in thousands of organisations has a long one, and each result of a search asks.
   */
  readonly #keys = new WeakMap<readonly string[], string>();

  constructor(repositories: () => Iterable<Repository>) {
    this.#repositories = repositories;
  }

  of(viewer: Viewer): RepositoryTable {
    this.#whole ??= resultAtOnce(listed([...this.#repositories()], this.#earlier));
    this.#earlier = undefined;
    if (viewer.isSiteAdmin || !this.#whole.hasPrivate) return this.#whole;
    const key = this.#cacheKey(viewer.readerNames);
    const known = this.#parts.get(key);
    const part = known ?? filterVisible(this.#whole, viewer);
    this.#parts.delete(key);
    this.#parts.set(key, part);
    if (known === undefined) this.#shrink();
    return part;
  }

  #cacheKey(readerNames: readonly string[]): string {
    // No name holds a space.
    const key = this.#keys.get(readerNames) ?? readerNames.join(" ");
    this.#keys.set(readerNames, key);
    return key;
  }

  seesAll(viewer: Viewer): boolean {
    return this.of(viewer) === this.#whole;
  }

  /**
   * Makes the whole table as of after a change, in steps, before anybody sees the change; `take` puts it to use.
   * Undefined where the change needs no other table.
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
   * From here on `prepared` is the whole table. Caller guarantees: the repositories are those that it was prepared for,
   * or newer records of them.
   */
  take(prepared: RepositoryTable): void {
    const newer = this.#replacedMeanwhile ?? new Map<number, Repository>();
    this.#replacedMeanwhile = undefined;
    this.clear();
    for (const repository of newer.values()) if (!prepared.replace(repository)) return;
    this.#whole = prepared;
  }

  /** Takes a newer record of a repository, or makes the tables anew when that is not enough. */
  replace(repository: Repository): void {
    this.#replacedMeanwhile?.set(repository.id, repository);
    if (this.#whole?.replace(repository) === false) return this.clear();
    for (const part of this.#parts.values()) part.replace(repository);
  }

  clear(): void {
    this.#earlier = this.#whole ?? this.#earlier;
    this.#whole = undefined;
    this.#parts.clear();
  }

  /** The table that was asked for last stays. */
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

/** Repositories that are removed are in no table. */
function* listed(all: readonly Repository[], earlier: RepositoryTable | undefined): Generator<void, RepositoryTable> {
  const visible = yield* filterInSteps(all, ({ removedAt }) => removedAt === "");
  return yield* RepositoryTable.inSteps(visible, visible.length === all.length, earlier);
}

function filterVisible(whole: RepositoryTable, { readerNames }: Viewer): RepositoryTable {
  const names = new Set(readerNames);
  const visible = whole.values().filter((repository) => mayRead(repository, names));
  return visible.length === whole.count ? whole : RepositoryTable.of(visible, false, whole);
}

function mayRead({ private: isPrivate, readers }: Repository, names: ReadonlySet<string>): boolean {
  return !isPrivate || readers.some((reader) => names.has(reader.toLowerCase()));
}

/** Whether the viewer may read the repository. */
export function maySee(repository: Repository, viewer: Viewer): boolean {
  return viewer.isSiteAdmin || mayRead(repository, new Set(viewer.readerNames));
}

/** Whether somebody may read the repository as it was, and may not as it is. */
export function mayHide(before: Repository, after: Repository): boolean {
  if (!after.private || (before.readers === after.readers && before.private)) return false;
  return !before.private || before.readers.some((reader) => !after.readers.includes(reader));
}

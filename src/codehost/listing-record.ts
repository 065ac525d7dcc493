import type { RepositoryConfig } from "../model/repository.js";

/** An attempt to list the repositories of a connection. */
export interface ListingAttempt {
  /** Counts the attempts of all connections since the start of the program, from 1. */
  readonly number: number;
  readonly state: "running" | "completed" | "failed" | "cancelled";
  /** RFC 3339. */
  readonly startedAt: string;
  /** "" while it is running. */
  readonly finishedAt: string;
  /** Why it failed, or what it left out; "" if nothing is wrong. */
  readonly error: string;
  readonly changes: ListChanges;
}

/** How a list differs from the previous one, in numbers of repositories. */
export interface ListChanges {
  readonly added: number;
  readonly removed: number;
  readonly modified: number;
  readonly unmodified: number;
}

const noChanges: ListChanges = { added: 0, removed: 0, modified: 0, unmodified: 0 };

/** ListingRecord that are kept for each connection: two days of them, at the shortest sensible interval of an hour. */
const keptMax = 50;

/** The latest attempts of one connection, newest first. */
export class ListingRecord {
  #list: readonly ListingAttempt[] = [];

  list(): readonly ListingAttempt[] {
    return this.#list;
  }

  begin(number: number): void {
    const startedAt = new Date().toISOString();
    const begun: ListingAttempt = {
      number,
      state: "running",
      startedAt,
      finishedAt: "",
      error: "",
      changes: noChanges,
    };
    this.#list = [begun, ...this.#list].slice(0, keptMax);
  }

  /** Ends the attempt that was begun last. */
  end(state: "completed" | "failed" | "cancelled", error: string, changes: ListChanges = noChanges): void {
    const [begun, ...earlier] = this.#list;
    this.#list = [{ ...begun, state, error, changes, finishedAt: new Date().toISOString() }, ...earlier];
  }
}

export function compareLists(before: readonly RepositoryConfig[], after: readonly RepositoryConfig[]): ListChanges {
  const texts = new Set(before.map((repository) => JSON.stringify(repository)));
  const changed = after.filter((repository) => !texts.delete(JSON.stringify(repository)));
  const unmodified = after.length - changed.length;
  // Several may have the same name: each of those that are left stands for one that has changed.
  const left = new Map<string, number>();
  for (const repository of before)
    if (texts.has(JSON.stringify(repository))) left.set(repository.name, (left.get(repository.name) ?? 0) + 1);
  let modified = 0;
  for (const { name } of changed) {
    const count = left.get(name) ?? 0;
    if (count === 0) continue;
    left.set(name, count - 1);
    modified++;
  }
  return { added: changed.length - modified, removed: before.length - modified - unmodified, modified, unmodified };
}

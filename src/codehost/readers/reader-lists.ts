import { createHash } from "node:crypto";
import { eachInSteps, resultWhileYielding, sortInSteps } from "../../base/yielding.js";
import type { HostUser } from "./reader-sources.js";

/** A list of readers that at least one repository has. */
export interface ReaderList {
  readonly users: readonly HostUser[];
  /** Those of them who have an account here, by their names here. It stays the same array as long as they do. */
  readonly names: readonly string[];
}

interface CountedList extends ReaderList {
  readonly key: string;
  names: readonly string[];
  useCount: number;
}

/** Who of a list has an account here, sorted. */
export type NameFinder = (users: readonly HostUser[]) => Iterator<void, readonly string[]>;

/**
 * The lists of readers of a connection, each once, because most repositories of a team have the same one. A list is kept as long as it
 * is used. Names are looked up in steps: 3,000 lists of 500 users take half a second.
 */
export class ReaderLists {
  readonly #findNames: NameFinder;
  readonly #lists = new Map<string, CountedList>();
  /** Counts how often the accounts here have changed. */
  #version = 0;

  constructor(findNames: NameFinder) {
    this.#findNames = findNames;
  }

  get size(): number {
    return this.#lists.size;
  }

  /** Changes with each `expire`. */
  get version(): number {
    return this.#version;
  }

  /** Resolves with the list of these users, which has one use more. The order of users makes no difference. */
  async take(users: readonly HostUser[]): Promise<ReaderList> {
    const key = await resultWhileYielding(keyInSteps(users));
    for (;;) {
      const known = this.#lists.get(key);
      if (known !== undefined) {
        known.useCount++;
        return known;
      }
      const version = this.#version;
      const names = await resultWhileYielding(this.#findNames(users));
      if (version === this.#version && !this.#lists.has(key)) this.#lists.set(key, { key, users, names, useCount: 0 });
    }
  }

  /** Ends a use. */
  release(list: ReaderList): void {
    const counted = list as CountedList;
    if (--counted.useCount === 0) this.#lists.delete(counted.key);
  }

  /** The accounts here have changed: what is looked up from here on is right. */
  expire(): void {
    this.#version++;
  }

  /** Looks up all names again, and resolves with the lists that have others than before. */
  async lookUpAgain(signal: AbortSignal): Promise<ReadonlySet<ReaderList>> {
    const changed = new Set<ReaderList>();
    for (const list of [...this.#lists.values()]) {
      if (signal.aborted) break;
      const names = await resultWhileYielding(this.#findNames(list.users));
      if (isSame(names, list.names)) continue;
      list.names = names;
      changed.add(list);
    }
    return changed;
  }
}

export function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a === b || (a.length === b.length && a.every((name, i) => name === b[i]));
}

/** The names belong to it: who is renamed on the host may be somebody else here. */
function* keyInSteps(users: readonly HostUser[]): Generator<void, string> {
  const hash = createHash("sha256");
  const sorted = yield* sortInSteps(users, (a, b) => Number(a.id) - Number(b.id));
  yield* eachInSteps(sorted, ({ id, name }) => hash.update(`${id} ${name}\n`));
  return hash.digest("base64");
}

/** The names of all lists that the browser keeps begin with this. */
const namePrefix = "trawl-kept-";

/** What a kept list accepts. */
export interface KeptLimits {
  readonly count: number;
  /** Of the JSON of the whole list, in UTF-16 units. */
  readonly length: number;
}

/** A short list that this browser keeps for its user, the newest first: what was searched, and what was seen then. */
export class KeptList<T> {
  readonly #name: string;
  readonly #limits: KeptLimits;
  readonly #isItem: (value: unknown) => value is T;

  /** `isItem` decides what is read: a browser keeps what older versions and other programs wrote. */
  constructor(name: string, limits: KeptLimits, isItem: (value: unknown) => value is T) {
    this.#name = namePrefix + name;
    this.#limits = limits;
    this.#isItem = isItem;
  }

  read(): readonly T[] {
    try {
      const found: unknown = JSON.parse(localStorage.getItem(this.#name) ?? "[]");
      return Array.isArray(found) ? found.filter(this.#isItem) : [];
    } catch {
      // Storage may be switched off.
      return [];
    }
  }

  /** Adds an item in the place of those that are the same; the oldest make room for it. Returns the list. */
  add(item: T, isSame: (other: T) => boolean): readonly T[] {
    const all = [item, ...this.read().filter((other) => !isSame(other))].slice(0, this.#limits.count);
    while (all.length > 0 && JSON.stringify(all).length > this.#limits.length) all.pop();
    return this.write(all);
  }

  write(all: readonly T[]): readonly T[] {
    try {
      localStorage.setItem(this.#name, JSON.stringify(all));
    } catch {
      // It is then kept for as long as the page is.
    }
    return all;
  }
}

/** Forgets all lists: the next person at this browser sees none of them. */
export function forgetKeptLists(): void {
  try {
    for (const name of Object.keys(localStorage)) if (name.startsWith(namePrefix)) localStorage.removeItem(name);
  } catch {
    // Without storage there is nothing to forget.
  }
}

/** The names of all lists that the browser keeps begin with this. */
const namePrefix = "trawl-kept-";

/** The user whose lists they are is beside them. */
const ownerName = `${namePrefix}for`;

/** Storage of the browser, or of the tab. The browser may refuse it, by throwing. */
type FindStorage = () => Storage;

const storages: readonly FindStorage[] = [() => localStorage, () => sessionStorage];

/** Who looks at this page; undefined until it is known. */
let viewerName: string | undefined;

/** What a kept list accepts. */
export interface KeptLimits {
  readonly count: number;
  /** Of the JSON of the whole list, in UTF-16 units. */
  readonly length: number;
}

/**
 * A short list that this browser, or a tab, keeps for its user, the newest first: what was searched, what was seen then, and
 * which folders are open.
 */
export class KeptList<T> {
  readonly #name: string;
  readonly #limits: KeptLimits;
  readonly #isItem: (value: unknown) => value is T;
  readonly #storage: FindStorage;

  /** `isItem` decides what is read: a browser keeps what older versions and other programs wrote. */
  constructor(
    name: string,
    limits: KeptLimits,
    isItem: (value: unknown) => value is T,
    storage: FindStorage = () => localStorage,
  ) {
    this.#storage = storage;
    this.#name = namePrefix + name;
    this.#limits = limits;
    this.#isItem = isItem;
  }

  read(): readonly T[] {
    try {
      const storage = this.#storage();
      if (!isForViewer(storage)) return [];
      const found: unknown = JSON.parse(storage.getItem(this.#name) ?? "[]");
      return Array.isArray(found) ? found.filter(this.#isItem) : [];
    } catch {
      // Storage may be switched off.
      return [];
    }
  }

  /** Adds an item in the place of those that are the same; the oldest make room for it. Returns the list. */
  add(item: T, isSame: (other: T) => boolean): readonly T[] {
    const all = [item, ...this.read().filter((other) => !isSame(other))].slice(0, this.#limits.count);
    // Of the JSON of the list: one bracket, then each item with a comma or the other bracket.
    let length = 1;
    const end = all.findIndex((one) => {
      length += JSON.stringify(one).length + 1;
      return length > this.#limits.length;
    });
    return this.write(end < 0 ? all : all.slice(0, end));
  }

  write(all: readonly T[]): readonly T[] {
    try {
      const storage = this.#storage();
      if (isForViewer(storage)) storage.setItem(this.#name, JSON.stringify(all));
    } catch {
      // It is then kept for as long as the page is.
    }
    return all;
  }
}

/** Another tab may have signed out, or in: what this page still shows is then kept for nobody. */
function isForViewer(storage: Storage): boolean {
  return viewerName === undefined || storage.getItem(ownerName) === viewerName;
}

/**
 * Keeps lists for this user from now on; "" is anyone who is not signed in. Those of another user are forgotten, whichever
 * way that session ended: without a page of Trawl, too, as when it expired.
 */
export function keepListsFor(name: string): void {
  viewerName = name;
  for (const find of storages)
    onStorage(find, (storage) => {
      if (storage.getItem(ownerName) === name) return;
      forgetLists(storage);
      storage.setItem(ownerName, name);
    });
}

/** Forgets all lists: the next person at this browser sees none of them. */
export function forgetKeptLists(): void {
  for (const find of storages) onStorage(find, forgetLists);
}

function forgetLists(storage: Storage): void {
  for (const name of Object.keys(storage)) if (name.startsWith(namePrefix)) storage.removeItem(name);
}

function onStorage(find: FindStorage, act: (storage: Storage) => void): void {
  try {
    act(find());
  } catch {
    // Without storage there is nothing to forget.
  }
}

/** What someone has chosen for all pages in this browser. Undefined also where it keeps nothing: it may refuse the storage itself. */
export function readChoice(key: string): string | undefined {
  try {
    return localStorage.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

export function storeChoice(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // It is full or switched off: the choice is then forgotten with the page.
  }
}

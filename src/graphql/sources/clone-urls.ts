import type { RepositoryTable } from "../../catalog/repository-table.js";
import type { Repository } from "../../model/repository.js";
import { nameOfCloneUrl } from "../../browse/urls.js";

/** Repositories made in one step: of each two regular expressions read the URL. */
const repositoriesOfStep = 64;

/** Finds repositories by the URL that they are fetched from, or another one that means the same host and path. */
export class CloneUrls {
  readonly #table: RepositoryTable;
  readonly #placeOfUrl = new Map<string, number>();
  readonly #placeOfName = new Map<string, number>();

  constructor(table: RepositoryTable) {
    this.#table = table;
  }

  /** Of several the first one in the order of results. */
  find(cloneUrl: string): Repository | undefined {
    const row = Math.min(
      this.#placeOfUrl.get(cloneUrl) ?? Infinity,
      this.#placeOfName.get(nameOfCloneUrl(cloneUrl) ?? "") ?? Infinity,
    );
    return row === Infinity ? undefined : this.#table.at(row);
  }

  /** Caller guarantees: rows come in order. */
  add(row: number): void {
    const { url } = this.#table.at(row);
    const name = nameOfCloneUrl(url);
    if (!this.#placeOfUrl.has(url)) this.#placeOfUrl.set(url, row);
    if (name !== undefined && !this.#placeOfName.has(name)) this.#placeOfName.set(name, row);
  }
}

/** Cached while the table is: a repository with another URL is another repository, which makes another table. */
export const cloneUrlsOf = new WeakMap<RepositoryTable, CloneUrls>();

/** Makes the index of a table, in steps, and caches it. */
export function* indexCloneUrls(table: RepositoryTable): Generator<void, CloneUrls> {
  const urls = new CloneUrls(table);
  for (let row = 0; row < table.count; row++) {
    urls.add(row);
    if (row % repositoriesOfStep === 0) yield;
  }
  cloneUrlsOf.set(table, urls);
  return urls;
}

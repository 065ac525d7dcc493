import { trimEndChars, withoutSuffix } from "../../base/text.js";
import type { RepositoryTable } from "../../catalog/repository-table.js";
import type { Repository } from "../../model/repository.js";
import { nameOfCloneUrl } from "../../browse/urls.js";

/**
 * Finds repositories by external addresses: a clone URL in any form, the address of a page, a name. Case is ignored.
 */
export class RepositoryAddresses {
  readonly #currentTable: () => RepositoryTable;
  /** The table to which the addresses below belong. */
  #tableId = 0;
  #placesOf: ReadonlyMap<string, readonly number[]> = new Map();

  constructor(currentTable: () => RepositoryTable) {
    this.#currentTable = currentTable;
  }

  /** The repositories to which any of the addresses refers, without duplicates. */
  find(addresses: readonly string[]): readonly Repository[] {
    const table = this.#currentTable();
    if (table.id !== this.#tableId) {
      this.#placesOf = placesByAddress(table);
      this.#tableId = table.id;
    }
    const rows = new Set(addresses.flatMap((address) => this.#placesOf.get(addressKey(address)) ?? []));
    return [...rows].map((row) => table.at(row));
  }
}

function placesByAddress(table: RepositoryTable): Map<string, number[]> {
  const placesOf = new Map<string, number[]>();
  table.values().forEach(({ name, url }, row) => {
    for (const key of new Set([addressKey(name), addressKey(url)])) {
      const rows = placesOf.get(key);
      if (rows === undefined) placesOf.set(key, [row]);
      else rows.push(row);
    }
  });
  return placesOf;
}

/** `host/path` if the address contains a host; otherwise the address unchanged. */
function addressKey(address: string): string {
  return (nameOfCloneUrl(address) ?? withoutSuffix(trimEndChars(address, "/"), ".git")).toLowerCase();
}

/** Repositories processed in one step: for each, two regular expressions parse the URL. */
const repositoriesOfStep = 64;

/** Finds repositories by the URL from which they are fetched, or another URL with the same host and path. */
class CloneUrls {
  readonly #table: RepositoryTable;
  readonly #placeOfUrl = new Map<string, number>();
  readonly #placeOfName = new Map<string, number>();

  constructor(table: RepositoryTable) {
    this.#table = table;
  }

  /** Of several, the first one in result order. */
  find(cloneUrl: string): Repository | undefined {
    const row = Math.min(
      this.#placeOfUrl.get(cloneUrl) ?? Infinity,
      this.#placeOfName.get(nameOfCloneUrl(cloneUrl) ?? "") ?? Infinity,
    );
    return row === Infinity ? undefined : this.#table.at(row);
  }

  /** Caller guarantees: rows are ascending. */
  add(row: number): void {
    const { url } = this.#table.at(row);
    const name = nameOfCloneUrl(url);
    if (!this.#placeOfUrl.has(url)) this.#placeOfUrl.set(url, row);
    if (name !== undefined && !this.#placeOfName.has(name)) this.#placeOfName.set(name, row);
  }
}

/** Cached as long as the table exists: changing the URL of a repository creates another table. */
export const cloneUrlsOf = new WeakMap<RepositoryTable, CloneUrls>();

/** Creates the index of a table, in steps, and caches it. */
export function* indexCloneUrls(table: RepositoryTable): Generator<void, CloneUrls> {
  const urls = new CloneUrls(table);
  for (let row = 0; row < table.count; row++) {
    urls.add(row);
    if (row % repositoriesOfStep === 0) yield;
  }
  cloneUrlsOf.set(table, urls);
  return urls;
}

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

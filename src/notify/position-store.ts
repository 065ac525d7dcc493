import type { SavedSearch } from "../account/settings/saved-searches.js";
import type { AddedRecords } from "../catalog/catalog-change.js";
import type { RecordChange, Records } from "../store/records.js";
import type { ChangeJournal } from "./change-journal.js";

const prefix = "notification-position/";

/** How far in the journal of changes a saved search has been evaluated. */
export interface SearchPosition {
  /** Of the notification. */
  readonly key: string;
  /** Of the last change that is covered. */
  readonly number: number;
  /** Commits of repositories that were compared at a later state than that, by repository id. */
  readonly ahead: readonly (readonly [repositoryId: number, commits: readonly (readonly [string, string])[]])[];
  /**
   * The last commits that were told, as `toldKey` writes them: a branch may be moved away from a commit and back. Absent unless the search
   * is for commits.
   */
  readonly told?: readonly string[];
}

/**
 * The positions of saved searches. One that is stored too late costs an evaluation again: it is stored with the
 * delivery that it belongs to, if there is one, and otherwise after a round, with those of other searches.
 */
export class PositionStore {
  readonly #store: Records;
  readonly #positions = new Map<number, SearchPosition>();
  readonly #unstored = new Set<number>();

  constructor(store: Records) {
    this.#store = store;
  }

  /** Loads the stored records, in steps. */
  *load(): Generator<void, void> {
    for (const batch of this.#store.batchesWithPrefix(prefix)) {
      for (const { key, value } of batch)
        this.#positions.set(Number(key.slice(prefix.length)), JSON.parse(value.toString()) as SearchPosition);
      yield;
    }
  }

  /** Caller guarantees: the search has a notification. */
  of({ id, notification }: SavedSearch): SearchPosition {
    const known = this.#positions.get(id);
    const { key = "", position = 0 } = notification ?? {};
    return known?.key === key ? known : { key, number: position, ahead: [] };
  }

  /** Not stored yet. */
  set({ id }: SavedSearch, position: SearchPosition): void {
    this.#positions.set(id, position);
    this.#unstored.add(id);
  }

  /** The record to store with a delivery. */
  setting(search: SavedSearch, position: SearchPosition): AddedRecords {
    return {
      records: [toRecord(search.id, position)],
      show: () => {
        this.#positions.set(search.id, position);
        this.#unstored.delete(search.id);
      },
    };
  }

  /** Stores what is not stored yet, and removes what these searches do not need any more, from the journal as well. */
  async store(
    searchIds: ReadonlySet<number>,
    journal: ChangeJournal,
    search: (id: number) => SavedSearch | undefined,
  ): Promise<void> {
    const changes: RecordChange[] = [];
    for (const id of this.#unstored) {
      const position = this.#positions.get(id);
      if (position !== undefined && searchIds.has(id)) changes.push(toRecord(id, position));
    }
    const gone = [...this.#positions.keys()].filter((id) => !searchIds.has(id));
    changes.push(...gone.map((id) => ({ key: `${prefix}${id}`, value: undefined })));
    const found = [...searchIds].flatMap((id) => search(id) ?? []);
    const covered = found.reduce((least, one) => Math.min(least, this.of(one).number), journal.position);
    const trimmed = journal.removingUpTo(covered);
    const stored = [...this.#unstored];
    await this.#store.apply([...changes, ...trimmed.records]);
    trimmed.show();
    for (const id of stored) this.#unstored.delete(id);
    for (const id of gone) this.#positions.delete(id);
  }
}

function toRecord(id: number, position: SearchPosition): RecordChange {
  return { key: `${prefix}${id}`, value: Buffer.from(JSON.stringify(position)) };
}

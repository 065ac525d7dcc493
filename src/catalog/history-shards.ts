import type { HistoryShardRecord } from "../model/history-record.js";
import { ShardPins } from "./live-shards.js";

/** The history shards as they were when a search began. They stay readable until `release`. */
export interface HistoryView {
  /** By repository, the oldest first; repositories without history shards are absent. */
  readonly shards: ReadonlyMap<number, readonly HistoryShardRecord[]>;
  release(): void;
}

/** The live history shards, and the views that pin them. */
export class HistoryShards {
  readonly #pins = new ShardPins();
  readonly #onRetired: (shardIds: number[]) => void;
  readonly #shards = new Map<number, HistoryShardRecord>();
  /** Copied before a change if a view holds it: 10,000 repositories are indexed one after the other. */
  #byRepository = new Map<number, readonly HistoryShardRecord[]>();
  #isViewed = false;

  /** `onRetired` is called with the ids of removed shards that no view holds any more. */
  constructor(onRetired: (shardIds: number[]) => void) {
    this.#onRetired = onRetired;
  }

  get(id: number): HistoryShardRecord | undefined {
    return this.#shards.get(id);
  }

  /** In no particular order. */
  values(): IterableIterator<HistoryShardRecord> {
    return this.#shards.values();
  }

  forRepository(repositoryId: number): readonly HistoryShardRecord[] {
    return this.#byRepository.get(repositoryId) ?? [];
  }

  /** Pins the shards; the caller releases the view when its last reader has ended. */
  view(): HistoryView {
    const shards = this.#byRepository;
    this.#isViewed = true;
    const generation = this.#pins.pin();
    let released = false;
    return {
      shards,
      release: () => {
        if (released) return;
        released = true;
        this.#retire(this.#pins.unpin(generation));
      },
    };
  }

  /** Adds a shard while the catalog is loaded. */
  load(record: HistoryShardRecord): void {
    this.#add(record);
  }

  replace(added: readonly HistoryShardRecord[], removedIds: readonly number[]): void {
    for (const record of added) this.#add(record);
    this.#retire(this.#pins.advance(removedIds.filter((id) => this.#remove(id))));
  }

  #add(record: HistoryShardRecord): void {
    this.#shards.set(record.id, record);
    const { repositoryId } = record;
    this.#setGroup(
      repositoryId,
      [...this.forRepository(repositoryId), record].sort((a, b) => a.id - b.id),
    );
  }

  /** Returns false if there is no such shard. */
  #remove(id: number): boolean {
    const record = this.#shards.get(id);
    if (record === undefined) return false;
    this.#shards.delete(id);
    const { repositoryId } = record;
    this.#setGroup(
      repositoryId,
      this.forRepository(repositoryId).filter((other) => other !== record),
    );
    return true;
  }

  #setGroup(repositoryId: number, records: readonly HistoryShardRecord[]): void {
    if (this.#isViewed) this.#byRepository = new Map(this.#byRepository);
    this.#isViewed = false;
    if (records.length === 0) this.#byRepository.delete(repositoryId);
    else this.#byRepository.set(repositoryId, records);
  }

  #retire(shardIds: number[]): void {
    if (shardIds.length > 0) this.#onRetired(shardIds);
  }
}

import type { HistoryShardRecord } from "../model/history-record.js";
import { ShardPins } from "./shard-pins.js";

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
  /** Replaced by each change, because views hold it. */
  #byRepository: ReadonlyMap<number, readonly HistoryShardRecord[]> | undefined;

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
    return this.#groups().get(repositoryId) ?? [];
  }

  /** Pins the shards; the caller releases the view when its last reader has ended. */
  view(): HistoryView {
    const shards = this.#groups();
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
    this.#shards.set(record.id, record);
    this.#byRepository = undefined;
  }

  replace(added: readonly HistoryShardRecord[], removedIds: readonly number[]): void {
    for (const record of added) this.#shards.set(record.id, record);
    this.#byRepository = undefined;
    this.#retire(this.#pins.advance(removedIds.filter((id) => this.#shards.delete(id))));
  }

  #groups(): ReadonlyMap<number, readonly HistoryShardRecord[]> {
    if (this.#byRepository !== undefined) return this.#byRepository;
    const groups = new Map<number, HistoryShardRecord[]>();
    for (const record of [...this.#shards.values()].sort((a, b) => a.id - b.id)) {
      const group = groups.get(record.repositoryId);
      if (group === undefined) groups.set(record.repositoryId, [record]);
      else group.push(record);
    }
    return (this.#byRepository = groups);
  }

  #retire(shardIds: number[]): void {
    if (shardIds.length > 0) this.#onRetired(shardIds);
  }
}

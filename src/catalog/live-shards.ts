import { totalmem } from "node:os";
import type { LiveShard } from "../model/shard-record.js";
import { FilterColumns, type ShardFilter } from "../protocol/shard-filter.js";
import { ShardTable } from "../protocol/shard-table.js";
import { assert } from "../base/assert.js";

/** The shards as they were when a search began. They stay readable until `release`. */
export interface CatalogView {
  readonly shards: readonly LiveShard[];
  /** The same shards, in the same order, for the workers. */
  readonly table: ShardTable;
  /** Excludes some of the shards before they are opened. */
  readonly filter: ShardFilter;
  release(): void;
}

/** The live shards, and the views that pin them. */
export class LiveShards {
  readonly #shards = new Map<number, LiveShard>();
  readonly #pins = new ShardPins();
  readonly #columns = new FilterColumns(filterBytesMax());
  readonly #onRetired: (shardIds: number[]) => void;
  #ordered: readonly LiveShard[] | undefined;
  #byRepository: ReadonlyMap<number, readonly LiveShard[]> | undefined;
  #table: ShardTable | undefined;
  /** False after a flip, until a view needs the table. */
  #isTableCurrent = false;

  /** `onRetired` is called with the ids of removed shards that no view holds any more. */
  constructor(onRetired: (shardIds: number[]) => void) {
    this.#onRetired = onRetired;
  }

  get(id: number): LiveShard | undefined {
    return this.#shards.get(id);
  }

  /** In no particular order. */
  values(): IterableIterator<LiveShard> {
    return this.#shards.values();
  }

  /** Shards of repositories with more stars first, then older ones first. */
  ordered(): readonly LiveShard[] {
    this.#ordered ??= [...this.#shards.values()].sort((a, b) => b.stars - a.stars || a.record.id - b.record.id);
    return this.#ordered;
  }

  /** Shards that hold documents of the repository. */
  forRepository(repositoryId: number): readonly LiveShard[] {
    this.#byRepository ??= groupByRepository(this.#shards.values());
    return this.#byRepository.get(repositoryId) ?? [];
  }

  /** Pins the shards; the caller releases the view when its last reader has ended. */
  view(): CatalogView {
    const shards = this.ordered();
    const generation = this.#pins.pin();
    if (this.#table === undefined) this.#columns.reserve(shards.length);
    if (this.#table === undefined || !this.#isTableCurrent)
      this.#table = ShardTable.of(shards, this.#table, (shardId) => this.#columns.shardColumn(shardId));
    this.#isTableCurrent = true;
    let released = false;
    return {
      shards,
      table: this.#table,
      filter: this.#columns.filter,
      release: () => {
        if (released) return;
        released = true;
        this.#retire(this.#pins.unpin(generation));
      },
    };
  }

  /** Adds a shard while the catalog is loaded. */
  load(shard: LiveShard): void {
    this.#shards.set(shard.record.id, shard);
    this.#ordered = undefined;
  }

  /** Replaces or adds `shards`, and removes others. */
  replace(shards: ReadonlyMap<number, LiveShard>, removedIds: readonly number[]): void {
    for (const [id, shard] of shards) this.#shards.set(id, shard);
    this.#ordered = undefined;
    this.#byRepository = undefined;
    this.#isTableCurrent = false;
    this.#retire(this.#pins.advance(removedIds.filter((id) => this.#shards.delete(id))));
  }

  #retire(shardIds: number[]): void {
    for (const id of shardIds) this.#columns.release(id);
    if (shardIds.length > 0) this.#onRetired(shardIds);
  }
}

/**
 * A sixteenth of the memory of the host, and at least what 2,048 shards need. A column is a two-thousandth of the text of a
 * large shard, so that only a host with very many small shards has some without a column.
 */
function filterBytesMax(): number {
  return Math.max(2 ** 26 + 2 ** 20, totalmem() / 16);
}

function groupByRepository(shards: Iterable<LiveShard>): Map<number, LiveShard[]> {
  const groups = new Map<number, LiveShard[]>();
  for (const shard of shards) {
    for (const id of new Set(shard.record.repositoryIds)) {
      const group = groups.get(id);
      if (group === undefined) groups.set(id, [shard]);
      else group.push(shard);
    }
  }
  return groups;
}

/**
 * Which removed shards are still pinned by a view. A view pins the shards of one generation, and the shards that a flip
 * removes are pinned by the views of all earlier generations: so acquiring and releasing a view take constant time,
 * regardless of the number of shards.
 */
export class ShardPins {
  #generation = 0;
  /** Number of views by generation. Only the newest generation is pinned, so the oldest comes first. */
  readonly #viewCounts = new Map<number, number>();
  /** Shards that flips removed, with the last generation that contains them; oldest first. */
  readonly #removed: { readonly generation: number; readonly shardIds: readonly number[] }[] = [];

  /** Returns the argument for `unpin`. */
  pin(): number {
    this.#viewCounts.set(this.#generation, (this.#viewCounts.get(this.#generation) ?? 0) + 1);
    return this.#generation;
  }

  /** Returns the shards that are no longer pinned. */
  unpin(generation: number): number[] {
    const count = (this.#viewCounts.get(generation) ?? 0) - 1;
    assert(count >= 0, "a generation is released as often as it is pinned");
    if (count > 0) this.#viewCounts.set(generation, count);
    else this.#viewCounts.delete(generation);
    return this.#takeFree();
  }

  /**
   * Called by a flip: begins the next generation, without these shards. Returns the shards that are no longer pinned.
   */
  advance(removedShardIds: readonly number[]): number[] {
    if (removedShardIds.length > 0) this.#removed.push({ generation: this.#generation, shardIds: removedShardIds });
    this.#generation++;
    return this.#takeFree();
  }

  #takeFree(): number[] {
    const [oldest = Infinity] = this.#viewCounts.keys();
    const held = this.#removed.findIndex(({ generation }) => generation >= oldest);
    return this.#removed.splice(0, held === -1 ? this.#removed.length : held).flatMap(({ shardIds }) => shardIds);
  }
}

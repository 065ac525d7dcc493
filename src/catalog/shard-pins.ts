import { assert } from "../base/assert.js";

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

import { assert } from "../base/assert.js";

/**
 * Which removed shards are still held by a view. A view holds the shards of one generation, and the shards that a flip
 * removes are held by the views of all generations before it: so to take a view and to release it costs the same
 * however many shards there are.
 */
export class ShardPins {
  #generation = 0;
  /** Views by their generation. Only the newest is pinned, so the oldest comes first. */
  readonly #viewCounts = new Map<number, number>();
  /** What flips removed, with the last generation that has it; the oldest first. */
  readonly #removed: { readonly generation: number; readonly shardIds: readonly number[] }[] = [];

  /** Returns what to `unpin`. */
  pin(): number {
    this.#viewCounts.set(this.#generation, (this.#viewCounts.get(this.#generation) ?? 0) + 1);
    return this.#generation;
  }

  /** Returns the shards that nobody holds any more. */
  unpin(generation: number): number[] {
    const count = (this.#viewCounts.get(generation) ?? 0) - 1;
    assert(count >= 0, "a generation is released as often as it is pinned");
    if (count > 0) this.#viewCounts.set(generation, count);
    else this.#viewCounts.delete(generation);
    return this.#takeFree();
  }

  /** A flip begins the next generation, without these shards. Returns the shards that nobody holds any more. */
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

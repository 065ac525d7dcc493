/** A map that evicts the least recently used entries when the total weight of its entries exceeds `weightMax`. */
export class BoundedMap<Key, Value> {
  readonly #weightMax: number;
  readonly #weigh: (value: Value) => number;
  /** Oldest first. */
  readonly #values = new Map<Key, Value>();
  #weight = 0;

  constructor(weightMax: number, weigh: (value: Value) => number) {
    this.#weightMax = weightMax;
    this.#weigh = weigh;
  }

  /** The total weight of all entries. */
  get weight(): number {
    return this.#weight;
  }

  get size(): number {
    return this.#values.size;
  }

  get(key: Key): Value | undefined {
    const value = this.#values.get(key);
    if (value === undefined) return undefined;
    this.#values.delete(key);
    this.#values.set(key, value);
    return value;
  }

  /** A value that weighs more than `weightMax` is not stored. */
  set(key: Key, value: Value): void {
    this.delete(key);
    const weight = this.#weigh(value);
    if (weight > this.#weightMax) return;
    this.#values.set(key, value);
    this.#weight += weight;
    for (const [oldest] of this.#values) {
      if (this.#weight <= this.#weightMax) return;
      this.delete(oldest);
    }
  }

  /** The least recently used ones first. What is deleted meanwhile is left out. */
  entries(): IterableIterator<[Key, Value]> {
    return this.#values.entries();
  }

  clear(): void {
    this.#values.clear();
    this.#weight = 0;
  }

  delete(key: Key): void {
    const value = this.#values.get(key);
    if (value === undefined) return;
    this.#values.delete(key);
    this.#weight -= this.#weigh(value);
  }
}

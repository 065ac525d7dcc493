/** A map that forgets what was longest not asked for, once its entries together weigh more than `weightMax`. */
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

  /** Of all entries. */
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

  /** A value that weighs more than the whole map may is not kept. */
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

  delete(key: Key): void {
    const value = this.#values.get(key);
    if (value === undefined) return;
    this.#values.delete(key);
    this.#weight -= this.#weigh(value);
  }
}

/**
 * A map of a few values that come and go, such as running searches, in the order in which they came. A look-up takes some nanoseconds
 * for each of them, and less for those that came last.
 *
 * A `Map` keeps such values in memory: whenever as many keys have come and gone as it has room for, V8 gives it another table, and
 * the former one refers to it. If a former one is in the old generation, where each full collection moves the tables of that time, it
 * keeps all that come after it until the next full collection, and everything that was in them: of 11 MiB that searches had
 * allocated, each young collection of the main thread moved 2.8 to the old generation, and moves 1.3 without such maps.
 */
export class LiveMap<Key, Value> {
  readonly #keys: Key[] = [];
  readonly #values: Value[] = [];

  get size(): number {
    return this.#keys.length;
  }

  has(key: Key): boolean {
    return this.#keys.lastIndexOf(key) >= 0;
  }

  get(key: Key): Value | undefined {
    const at = this.#keys.lastIndexOf(key);
    return at < 0 ? undefined : this.#values[at];
  }

  set(key: Key, value: Value): void {
    const at = this.#keys.lastIndexOf(key);
    if (at >= 0) {
      this.#values[at] = value;
      return;
    }
    this.#keys.push(key);
    this.#values.push(value);
  }

  /** Returns false if there is no such key. */
  delete(key: Key): boolean {
    const at = this.#keys.lastIndexOf(key);
    if (at < 0) return false;
    this.#keys.splice(at, 1);
    this.#values.splice(at, 1);
    return true;
  }

  /** As they are now: what comes and goes meanwhile changes nothing. */
  entries(): (readonly [Key, Value])[] {
    return this.#keys.map((key, at) => [key, this.#values[at]] as const);
  }

  values(): Value[] {
    return [...this.#values];
  }
}

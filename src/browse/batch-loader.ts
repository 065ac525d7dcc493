/** Loads values for keys of one group; answers in the keys' order. */
export type LoadGroup<Key, Value> = (group: string, keys: readonly Key[]) => Promise<readonly Value[]>;

interface Waiting<Key, Value> {
  readonly key: Key;
  readonly resolve: (value: Value) => void;
  readonly reject: (error: unknown) => void;
}

/** More keys of one group go as a further load. */
const keysMax = 500;

/** Gathers the keys that are asked for in one turn of the event loop, and loads those of a group together. */
export class BatchLoader<Key, Value> {
  readonly #load: LoadGroup<Key, Value>;
  #waiting = new Map<string, Waiting<Key, Value>[]>();

  constructor(load: LoadGroup<Key, Value>) {
    this.#load = load;
  }

  get(group: string, key: Key): Promise<Value> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.size === 0) setImmediate(() => this.#loadAll());
      const waiting = this.#waiting.get(group);
      if (waiting === undefined) this.#waiting.set(group, [{ key, resolve, reject }]);
      else waiting.push({ key, resolve, reject });
    });
  }

  #loadAll(): void {
    const groups = this.#waiting;
    this.#waiting = new Map();
    for (const [group, waiting] of groups) {
      for (let at = 0; at < waiting.length; at += keysMax) void this.#loadGroup(group, waiting.slice(at, at + keysMax));
    }
  }

  async #loadGroup(group: string, waiting: readonly Waiting<Key, Value>[]): Promise<void> {
    try {
      const values = await this.#load(
        group,
        waiting.map(({ key }) => key),
      );
      waiting.forEach(({ resolve }, at) => resolve(values[at]));
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  }
}

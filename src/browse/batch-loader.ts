import DataLoader from "dataloader";

/** Loads values for keys of one group; returns them in the order of the keys. */
export type LoadGroup<Key, Value> = (group: string, keys: readonly Key[]) => Promise<readonly Value[]>;

/** Further keys of a group are loaded by another call. */
const keysMax = 500;

/** Collects the keys requested in one iteration of the event loop, and loads those of a group together. Caches nothing. */
export class BatchLoader<Key, Value> {
  readonly #load: LoadGroup<Key, Value>;
  readonly #groups = new Map<string, DataLoader<Key, Value>>();

  constructor(load: LoadGroup<Key, Value>) {
    this.#load = load;
  }

  get(group: string, key: Key): Promise<Value> {
    let loader = this.#groups.get(group);
    if (loader === undefined) {
      loader = new DataLoader((keys) => this.#loadGroup(group, keys), {
        cache: false,
        maxBatchSize: keysMax,
        batchScheduleFn: setImmediate,
      });
      this.#groups.set(group, loader);
    }
    return loader.load(key);
  }

  /** A group's loader is needed for one batch; a request may ask for thousands of groups. */
  #loadGroup(group: string, keys: readonly Key[]): Promise<readonly Value[]> {
    this.#groups.delete(group);
    return this.#load(group, keys);
  }
}

/**
 * A queue that is fair between clients: clients are served round-robin, each in the order of its items. A client that
 * queues a thousand items delays another client by one item at a time.
 */
export class FairQueue<Item> {
  /** The client to be served next comes first. Each has at least one item; the oldest item comes first. */
  readonly #items = new Map<string, Set<Item>>();
  #size = 0;

  /** The number of queued items. */
  get size(): number {
    return this.#size;
  }

  count(client: string): number {
    return this.#items.get(client)?.size ?? 0;
  }

  /** The item must not be in the queue yet. */
  push(client: string, item: Item): void {
    const items = this.#items.get(client);
    if (items === undefined) this.#items.set(client, new Set([item]));
    else items.add(item);
    this.#size++;
  }

  /** Removes and returns the next item for which `isReady` is true; undefined if there is none. */
  take(isReady: (client: string, item: Item) => boolean = () => true): Item | undefined {
    for (const [client, items] of this.#items) {
      for (const item of items) {
        if (!isReady(client, item)) continue;
        this.remove(client, item);
        this.#putLast(client, items);
        return item;
      }
    }
    return undefined;
  }

  /** Does nothing if the item is not queued. */
  remove(client: string, item: Item): void {
    const items = this.#items.get(client);
    if (items?.delete(item) !== true) return;
    this.#size--;
    if (items.size === 0) this.#items.delete(client);
  }

  #putLast(client: string, items: Set<Item>): void {
    if (items.size === 0) return;
    this.#items.delete(client);
    this.#items.set(client, items);
  }
}

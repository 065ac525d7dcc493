/**
 * What clients wait for, in an order that is fair between them: the clients are served one after the other, each with
 * what it has waited for longest. So a client that asks for a thousand things delays another client by one.
 */
export class FairQueue<Item> {
  /** The client that is served next comes first. Each has at least one item, the oldest first. */
  readonly #items = new Map<string, Set<Item>>();
  #size = 0;

  /** Items that wait. */
  get size(): number {
    return this.#size;
  }

  count(client: string): number {
    return this.#items.get(client)?.size ?? 0;
  }

  /** An item must not be in the queue yet. */
  push(client: string, item: Item): void {
    const items = this.#items.get(client);
    if (items === undefined) this.#items.set(client, new Set([item]));
    else items.add(item);
    this.#size++;
  }

  /** The next item, or the next of those that may be taken; undefined when there is none. */
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

  /** Does nothing with an item that does not wait. */
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

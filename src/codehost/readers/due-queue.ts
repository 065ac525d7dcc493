interface Entry {
  readonly key: string;
  readonly dueMs: number;
}

/**
 * Keys by the time at which they are due, the earliest first: a binary heap. An entry whose key has another time by now stays in the
 * heap until it is first, and is left out then.
 */
export class DueQueue {
  readonly #dueMs = new Map<string, number>();
  #heap: Entry[] = [];

  keys(): Iterable<string> {
    return this.#dueMs.keys();
  }

  /** Replaces the time of a key that waits already. */
  set(key: string, dueMs: number): void {
    if (this.#dueMs.get(key) === dueMs) return;
    this.#dueMs.set(key, dueMs);
    // What was replaced must not take more memory than what waits.
    if (this.#heap.length > 2 * this.#dueMs.size + 100) this.#rebuild();
    else this.#add({ key, dueMs });
  }

  delete(key: string): void {
    this.#dueMs.delete(key);
  }

  /** Takes the key that has been due for the longest time; undefined if none is due. */
  take(nowMs: number): string | undefined {
    for (let first = this.#heap[0]; first !== undefined && first.dueMs <= nowMs; first = this.#heap[0]) {
      this.#removeFirst();
      if (this.#dueMs.get(first.key) !== first.dueMs) continue;
      this.#dueMs.delete(first.key);
      return first.key;
    }
    return undefined;
  }

  #rebuild(): void {
    this.#heap = [];
    for (const [key, dueMs] of this.#dueMs) this.#add({ key, dueMs });
  }

  #add(entry: Entry): void {
    const heap = this.#heap;
    let at = heap.push(entry) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (heap[parent].dueMs <= entry.dueMs) break;
      heap[at] = heap[parent];
      at = parent;
    }
    heap[at] = entry;
  }

  #removeFirst(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (let child = 1; child < heap.length; child = 2 * at + 1) {
      if (child + 1 < heap.length && heap[child + 1].dueMs < heap[child].dueMs) child++;
      if (heap[child].dueMs >= last.dueMs) break;
      heap[at] = heap[child];
      at = child;
    }
    heap[at] = last;
  }
}

import type { RecordChange, Records, StoredRecord } from "../../src/store/records.js";

/** Records in memory: what survives is what the object has. */
export class MemoryRecords implements Records {
  readonly #stored = new Map<string, Buffer>();

  async apply(changes: readonly RecordChange[]): Promise<void> {
    await Promise.resolve();
    this.write(changes);
  }

  /** The same at once. */
  write(changes: readonly RecordChange[]): void {
    for (const { key, value } of changes)
      if (value === undefined) this.#stored.delete(key);
      else this.#stored.set(key, value);
  }

  get(key: string): Buffer | undefined {
    return this.#stored.get(key);
  }

  withPrefix(prefix: string): readonly StoredRecord[] {
    return [...this.#stored]
      .filter(([key]) => key.startsWith(prefix))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, value]) => ({ key, value }));
  }

  *batchesWithPrefix(prefix: string): Generator<readonly StoredRecord[]> {
    const all = this.withPrefix(prefix);
    if (all.length > 0) yield all;
  }
}

/** The ids of records by the ids of those that they belong to, as of organisations by their members. */
export class GroupIndex {
  readonly #ids = new Map<number, Set<number>>();

  /** In the order of their ids. */
  of(owner: number): readonly number[] {
    return [...this.#ids.get(owner) ?? []].sort((a, b) => a - b);
  }

  countOf(owner: number): number {
    return this.#ids.get(owner)?.size ?? 0;
  }

  /** The record belonged to `before`, and belongs to `after`. */
  change(id: number, before: readonly number[], after: readonly number[]): void {
    for (const owner of before) this.#remove(owner, id);
    for (const owner of after) this.#add(owner, id);
  }

  #add(owner: number, id: number): void {
    const ids = this.#ids.get(owner);
    if (ids === undefined) this.#ids.set(owner, new Set([id]));
    else ids.add(id);
  }

  #remove(owner: number, id: number): void {
    const ids = this.#ids.get(owner);
    ids?.delete(id);
    if (ids?.size === 0) this.#ids.delete(owner);
  }
}

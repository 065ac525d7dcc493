/** The ids of records by the ids of those that they belong to, as of organisations by their members. */
export class GroupIndex<T extends { readonly id: number }> {
  readonly #ownersOf: (record: T) => readonly number[];
  readonly #ids = new Map<number, Set<number>>();

  constructor(ownersOf: (record: T) => readonly number[]) {
    this.#ownersOf = ownersOf;
  }

  /** In the order of their ids. */
  of(owner: number): readonly number[] {
    return [...(this.#ids.get(owner) ?? [])].sort((a, b) => a - b);
  }

  count(owner: number): number {
    return this.#ids.get(owner)?.size ?? 0;
  }

  /** A record has come, changed or gone, as an observer of its table is told. */
  change(before: T | undefined, after: T | undefined): void {
    if (before !== undefined) for (const owner of this.#ownersOf(before)) this.#remove(owner, before.id);
    if (after !== undefined) for (const owner of this.#ownersOf(after)) this.#add(owner, after.id);
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

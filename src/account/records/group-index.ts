/** The ids of records by the ids of their owners or members, such as organizations by member. */
export class GroupIndex<T extends { readonly id: number }> {
  readonly #ownersOf: (record: T) => readonly number[];
  readonly #ids = new Map<number, Set<number>>();

  constructor(ownersOf: (record: T) => readonly number[]) {
    this.#ownersOf = ownersOf;
  }

  /** Ordered by id. */
  of(owner: number): readonly number[] {
    return [...(this.#ids.get(owner) ?? [])].sort((a, b) => a - b);
  }

  count(owner: number): number {
    return this.#ids.get(owner)?.size ?? 0;
  }

  /** Called when a record was added, changed or removed, with the arguments of a table observer. */
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

/**
 * Places for work that lasts as long as its client reads: so many at a time, and so many of them for one client, so that
 * nobody who reads slowly keeps all others out.
 */
export class Places {
  readonly #countMax: number;
  readonly #countOfClientMax: number;
  readonly #countOf = new Map<string, number>();
  #count = 0;

  constructor(countMax: number, countOfClientMax: number) {
    this.#countMax = countMax;
    this.#countOfClientMax = countOfClientMax;
  }

  /** What gives the place back, to be called once; undefined when there is none. */
  take(client: string): (() => void) | undefined {
    const taken = this.#countOf.get(client) ?? 0;
    if (this.#count >= this.#countMax || taken >= this.#countOfClientMax) return undefined;
    this.#count++;
    this.#countOf.set(client, taken + 1);
    return () => {
      this.#count--;
      const left = (this.#countOf.get(client) ?? 0) - 1;
      if (left > 0) this.#countOf.set(client, left);
      else this.#countOf.delete(client);
    };
  }
}

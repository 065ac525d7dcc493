/** Distinct texts, numbered in the order of their first use. One character per byte. */
export class StringTable {
  readonly #numbers = new Map<string, number>();

  add(text: string): number {
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    const number = this.#numbers.size;
    this.#numbers.set(text, number);
    return number;
  }

  /** Start of each text in `bytes`; the last element is the end. */
  starts(): number[] {
    const starts = [0];
    let end = 0;
    for (const text of this.#numbers.keys()) starts.push((end += text.length + 1));
    return starts;
  }

  /** Each text followed by a zero byte. */
  bytes(): Buffer {
    return Buffer.from([...this.#numbers.keys()].map((text) => `${text}\0`).join(""), "latin1");
  }
}

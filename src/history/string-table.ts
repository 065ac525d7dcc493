/** Texts, numbered in the order in which they were added. One character per byte. */
export class StringTable {
  readonly #numbers = new Map<string, number>();
  readonly #texts: string[] = [];

  /** The number of the text, which is added if it is not in the table. */
  add(text: string): number {
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    const number = this.append(text);
    this.#numbers.set(text, number);
    return number;
  }

  /** Adds the text even if it is in the table. */
  append(text: string): number {
    return this.#texts.push(text) - 1;
  }

  texts(): readonly string[] {
    return this.#texts;
  }

  /** Start of each text in `bytes`; the last element is the end. */
  starts(): number[] {
    const starts = [0];
    let end = 0;
    for (const text of this.#texts) starts.push((end += text.length + 1));
    return starts;
  }

  /** Each text followed by a zero byte. */
  bytes(): Buffer {
    return Buffer.from(this.#texts.map((text) => `${text}\0`).join(""), "latin1");
  }
}

/** Traces of the latest searches are kept, so many of them. */
const traceCountMax = 256;

/** What recent searches did, as text, by search id. */
export class TraceStore {
  readonly #texts = new Map<number, string>();

  add(id: number, text: string): void {
    this.#texts.set(id, text);
    if (this.#texts.size <= traceCountMax) return;
    const [oldest] = this.#texts.keys();
    this.#texts.delete(oldest);
  }

  get(id: number): string | undefined {
    return this.#texts.get(id);
  }
}

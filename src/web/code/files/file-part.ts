/** Consecutive lines of a file. */
export interface FilePart {
  /** 1-based. */
  readonly firstLine: number;
  readonly lines: readonly string[];
  /** Whether the file ends with them. */
  readonly isEnd: boolean;
}

const lineFeed = 0x0a;

/** A longer line is cut, as on the page of a smaller file. */
const lineBytesMax = 20_000;

/**
 * Reads lines from the one with the number `from` (1-based) on from the pieces of a file, at most `count`, and then no
 * further: only these lines are in memory, however large the file is.
 */
export async function readFilePart(pieces: AsyncIterable<Uint8Array>, from: number, count: number): Promise<FilePart> {
  const reader = new PartReader(from, count);
  for await (const piece of pieces) {
    reader.add(piece);
    if (reader.isFull) return reader.part(false);
  }
  return reader.part(true);
}

class PartReader {
  readonly #from: number;
  readonly #count: number;
  readonly #lines: string[] = [];
  #number = 1;
  #line: number[] = [];

  constructor(from: number, count: number) {
    this.#from = from;
    this.#count = count;
  }

  get isFull(): boolean {
    return this.#lines.length >= this.#count;
  }

  add(piece: Uint8Array): void {
    for (let at = 0; at < piece.length && !this.isFull; ) {
      const next = piece.indexOf(lineFeed, at);
      const end = next < 0 ? piece.length : next;
      if (this.#number >= this.#from) {
        const room = lineBytesMax + 1 - this.#line.length;
        if (room > 0) this.#line.push(...piece.subarray(at, Math.min(end, at + room)));
      }
      if (next >= 0) this.#endLine();
      at = end + 1;
    }
  }

  part(isEnd: boolean): FilePart {
    if (isEnd && this.#line.length > 0 && !this.isFull) this.#endLine();
    return { firstLine: this.#from, lines: this.#lines, isEnd };
  }

  #endLine(): void {
    if (this.#number >= this.#from) {
      const isCut = this.#line.length > lineBytesMax;
      const text = new TextDecoder().decode(new Uint8Array(this.#line.slice(0, lineBytesMax)));
      this.#lines.push(isCut ? `${text} …` : text);
      this.#line = [];
    }
    this.#number++;
  }
}

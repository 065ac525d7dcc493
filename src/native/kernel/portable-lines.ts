/** A line of one content: `[start, end)` without its newline, and its 0-based number. */
export interface Line {
  readonly start: number;
  readonly end: number;
  readonly number: number;
}

/** Walks over the lines of one content `[from, to)`. A newline belongs to the line it ends. */
export class Lines {
  readonly #text: Uint8Array;
  readonly #from: number;
  readonly #to: number;

  constructor(text: Uint8Array, from: number, to: number) {
    this.#text = text;
    this.#from = from;
    this.#to = to;
  }

  lineAt(start: number, number: number): Line {
    return { start, end: this.newlineAfter(start, this.#to), number };
  }

  /** Position of the first newline in `[at, to)`, or `to`. */
  newlineAfter(at: number, to: number): number {
    while (at < to && this.#text[at] !== 10) at++;
    return at;
  }

  /** The line that contains `position`, which must not be before `line.start`. */
  seek(line: Line, position: number): Line {
    while (position > line.end) line = this.next(line);
    return line;
  }

  /** False on the last line. The empty string after a final newline is not a line. */
  hasNext(line: Line): boolean {
    return line.end + 1 < this.#to;
  }

  next(line: Line): Line {
    return this.lineAt(line.end + 1, line.number + 1);
  }

  hasPrevious(line: Line): boolean {
    return line.start > this.#from;
  }

  previous(line: Line): Line {
    const end = line.start - 1;
    let start = end;
    while (start > this.#from && this.#text[start - 1] !== 10) start--;
    return { start, end, number: line.number - 1 };
  }
}

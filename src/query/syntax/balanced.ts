import { isSpaceAt } from "./characters.js";
import { fieldAt } from "../fields/fields.js";

const operatorWord = /(?:and|or|not) /iy;

const unknown = 0;
const refused = -1;

/**
 * Finds words that contain balanced parentheses, such as `foo(a, b)`, and rejects those that look like a group of the
 * query language, such as `(a or b)`.
 *
 * A rejected scan may have examined all of the rest of the text, and the next word starts inside that part. To remain
 * linear, results are cached: how far each parenthesis reaches and, for each position that a scan passed outside
 * parentheses, where the word ends that contains it.
 */
export class BalancedScanner {
  readonly #text: string;
  /** By position of a `(`: the index after its `)`, `refused` or `unknown`. */
  readonly #groupEnds: Int32Array;
  /** By position: the end of the word plus one, `refused` or `unknown`. */
  readonly #wordEnds: Int32Array;
  /** Positions of `(` that no `)` closes, whatever is between. */
  readonly #unclosed = new Set<number>();

  constructor(text: string) {
    this.#text = text;
    this.#groupEnds = new Int32Array(text.length);
    this.#wordEnds = new Int32Array(text.length + 1);
  }

  /**
   * The end of the word that starts at `from`: the first space outside parentheses, or the first unmatched `)`.
   * Undefined if a parenthesis remains open, or if a field or an operator occurs where a group could start.
   */
  wordEnd(from: number): number | undefined {
    return this.#looksLikeQuery(from) ? undefined : this.restOfWordEnd(from);
  }

  /** The same for a position within a word, where neither a field nor an operator begins. */
  restOfWordEnd(from: number): number | undefined {
    const passed: number[] = [];
    let at = from;
    let end = this.#wordEnds[at];
    while (end === unknown) {
      passed.push(at);
      const next = this.#step(at);
      if (next === at) end = at + 1;
      else if (next === refused) end = refused;
      else end = this.#wordEnds[(at = next)];
    }
    for (const index of passed) this.#wordEnds[index] = end;
    return end === refused ? undefined : end - 1;
  }

  /** The next position outside parentheses; `at` itself where the word ends. */
  #step(at: number): number {
    const character = this.#text[at];
    if (character === undefined || character === ")" || isSpaceAt(this.#text, at)) return at;
    if (character === "\\") return Math.min(at + 2, this.#text.length);
    if (character !== "(") return at + 1;
    if (this.#groupEnds[at] === unknown) this.#findGroupEnds(at);
    return this.#groupEnds[at];
  }

  /** Finds the end of the group at `from`, and of all groups in it. */
  #findGroupEnds(from: number): void {
    const open: number[] = [];
    for (let at = from; at < this.#text.length; at++) {
      const character = this.#text[at];
      if (character === "\\") {
        at++;
      } else if (character === "(") {
        const known = this.#groupEnds[at];
        if (known === unknown) open.push(at);
        if (known === refused || this.#looksLikeQuery(at + 1)) break;
        if (known !== unknown) at = known - 1;
      } else if (character === ")") {
        this.#groupEnds[open.pop() ?? from] = at + 1;
        if (open.length === 0) return;
      } else if (isSpaceAt(this.#text, at) && this.#looksLikeQuery(at + 1)) {
        break;
      }
    }
    for (const index of open) this.#groupEnds[index] = refused;
  }

  /** The index after the `)` that closes the `(` at `from`, whatever is between; undefined if none does. */
  groupEnd(from: number): number | undefined {
    const open: number[] = [];
    for (let at = from; at < this.#text.length; at++) {
      const character = this.#text[at];
      if (character === "\\") {
        at++;
      } else if (character === "(") {
        if (this.#unclosed.has(at)) break;
        open.push(at);
      } else if (character === ")") {
        open.pop();
        if (open.length === 0) return at + 1;
      }
    }
    for (const index of open) this.#unclosed.add(index);
    return undefined;
  }

  #looksLikeQuery(at: number): boolean {
    operatorWord.lastIndex = at;
    return operatorWord.test(this.#text) || fieldAt(this.#text, at) !== undefined;
  }
}

import { isSpaceAt } from "./characters.js";
import { fieldAt } from "./fields.js";

const operatorWord = /(?:and|or|not) /iy;

/**
 * Finds words that hold balanced parentheses, such as `foo(a, b)`, and refuses those that look like a group of the
 * query language, such as `(a or b)`.
 *
 * A refused scan may have looked at all of the rest of the text, and the next word starts inside what it saw. To stay
 * linear it remembers the parentheses that were open when it gave up: a scan that enters one of them meets the same end.
 */
export class BalancedScanner {
  readonly #text: string;
  /** Places of `(` from which no word closes. */
  readonly #hopeless = new Set<number>();
  /** Places of `(` that no `)` closes, whatever stands between. */
  readonly #unclosed = new Set<number>();

  constructor(text: string) {
    this.#text = text;
  }

  /**
   * The end of the word that starts at `from`: the first space outside parentheses, or the first `)` without a partner.
   * Undefined when a parenthesis stays open, or when a field or an operator stands where a group could start one.
   */
  wordEnd(from: number): number | undefined {
    if (this.#looksLikeQuery(from)) return undefined;
    const open: number[] = [];
    let at = from;
    for (; at < this.#text.length; at++) {
      const character = this.#text[at];
      if (character === "\\") {
        at++;
      } else if (character === "(") {
        open.push(at);
        if (this.#hopeless.has(at) || this.#looksLikeQuery(at + 1)) return this.#giveUp(open);
      } else if (character === ")") {
        if (open.pop() === undefined) return at;
      } else if (isSpaceAt(this.#text, at)) {
        if (open.length === 0) return at;
        if (this.#looksLikeQuery(at + 1)) return this.#giveUp(open);
      }
    }
    return open.length === 0 ? this.#text.length : this.#giveUp(open);
  }

  /** The index after the `)` that closes the `(` at `from`, whatever stands between; undefined when none does. */
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
    for (const place of open) this.#unclosed.add(place);
    return undefined;
  }

  #looksLikeQuery(at: number): boolean {
    operatorWord.lastIndex = at;
    return operatorWord.test(this.#text) || fieldAt(this.#text, at) !== undefined;
  }

  #giveUp(open: readonly number[]): undefined {
    for (const place of open) this.#hopeless.add(place);
    return undefined;
  }
}

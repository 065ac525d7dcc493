import RE2 from "re2";
import { lazy } from "../../base/lazy.js";

/**
 * A pattern of our own for text of others. RE2 takes time linear in the text, whatever both are; it knows no lookaround
 * and no references. Compiled when it is first asked.
 *
 * Where RE2 differs from JavaScript: only `\n` ends a line, `\s` is `[\t\n\f\r ]`.
 */
export class TextPattern {
  readonly #compiled: () => RE2;

  constructor(source: string, flags: "" | "i" | "m" | "im" = "") {
    this.#compiled = lazy(() => new RE2(source, flags));
  }

  test(text: string): boolean {
    return this.#compiled().test(text);
  }

  /** The groups of the leftmost match, the whole of it first. */
  exec(text: string): readonly (string | undefined)[] | undefined {
    return this.#compiled().exec(text) ?? undefined;
  }
}

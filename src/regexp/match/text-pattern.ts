import RE2 from "re2";
import { lazy } from "../../base/lazy.js";

/**
 * One of Trawl's own patterns, for matching untrusted text. RE2 takes time linear in the text, whatever both are; it
 * supports neither lookaround nor back-references. Compiled at the first use.
 *
 * Where RE2 differs from JavaScript: only `\n` ends a line, `\s` is `[\t\n\f\r ]`.
 */
export class TextPattern {
  readonly #group: string;
  readonly #compiled: () => RE2;

  constructor(source: string, flags: "" | "i" | "m" | "im" = "") {
    this.#group = `(?${flags}:${source})`;
    this.#compiled = lazy(() => new RE2(source, flags));
  }

  /** Matches what any of the patterns matches, in one pass. */
  static union(patterns: readonly TextPattern[]): TextPattern {
    return new TextPattern(patterns.map((pattern) => pattern.#group).join("|"));
  }

  /** Bytes are examined as UTF-8, without being copied. */
  test(text: string | Buffer): boolean {
    return this.#compiled().test(text);
  }

  /** The groups of the leftmost match, beginning with the whole match. */
  exec(text: string): readonly (string | undefined)[] | undefined {
    return this.#compiled().exec(text) ?? undefined;
  }
}

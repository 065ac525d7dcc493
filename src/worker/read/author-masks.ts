import { personTexts } from "../../history/history-reader.js";
import { compileRegexp } from "../../regexp/match/matcher.js";
import type { AuthorFilter } from "../../protocol/history-messages.js";

/** Limit on the paths of one history whose authors are looked up. */
export const authoredPathsMax = 2_000_000;

/** Which filters match an author: one bit per filter. */
export class AuthorMasks {
  readonly #matchers: ReturnType<typeof compileRegexp>[];
  readonly #known = new Map<string, number>();

  /** At most 32 filters. */
  constructor(filters: readonly AuthorFilter[]) {
    this.#matchers = filters.map(({ source, foldCase }) => compileRegexp(source, foldCase));
  }

  /** A filter matches one of the texts of `personTexts`. */
  mask(name: string, email: string): number {
    const author = `${name}\0${email}`;
    const known = this.#known.get(author);
    if (known !== undefined) return known;
    const texts = personTexts({ name: Buffer.from(name), email: Buffer.from(email) });
    const mask = this.#matchers.reduce(
      (bits, matcher, i) => (texts.some((text) => matcher.test(text)) ? bits | (1 << i) : bits),
      0,
    );
    this.#known.set(author, mask);
    return mask;
  }
}

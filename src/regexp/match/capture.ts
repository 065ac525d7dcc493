import RE2 from "re2";

/**
 * What the first group of a regexp captures in a text that matches. RE2 gets the regexp as it was typed, because the form in
 * which matches are found has no groups; that the whole text matches is checked.
 */
export class Capture {
  readonly #regexp: RE2;

  /** Throws RE2's error if the regexp is too large for it. */
  constructor(source: string, foldCase: boolean) {
    this.#regexp = new RE2(source, foldCase ? "umiy" : "umy");
  }

  /**
   * The captured bytes of the match `[from, text.length)`; undefined if the group has captured nothing. A byte before the match
   * is for anchors. Nothing need follow it: where the match ends is decided, and a `$` or `\b` there matches at the end of the
   * text as well.
   */
  find(text: Buffer, from: number): Buffer | undefined {
    this.#regexp.lastIndex = from;
    // The types of re2 leave out the groups.
    const found = this.#regexp.exec(text) as readonly (Buffer | undefined)[] | null;
    const [whole, value] = found ?? [];
    return whole?.length === text.length - from ? value : undefined;
  }
}

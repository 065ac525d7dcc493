import { compileRegexp } from "../../regexp/match/compile.js";
import type { MatchWork } from "../../regexp/match/match-work.js";
import type { Matcher } from "../../regexp/match/matcher.js";
import { toPlainForm, type PlainForm } from "../../regexp/analysis/plain-form.js";
import type { PathTable } from "../../shard/text-index.js";
import type { Rows } from "./rows.js";

/**
 * Finds one pattern in the paths of a shard. Paths are so short that a call of RE2 costs more than the search itself:
 * for a filter on 3,654 results in Linux the highlights took 9 ms, and for `file:.` 380 ms. Therefore plain regexps are
 * found in plain paths without RE2, and so is `.`, which matches each character.
 */
export class PathFinder {
  readonly #reader: PathTable;
  readonly #source: string;
  readonly #foldCase: boolean;
  readonly #isDot: boolean;
  /** Null before it is needed. */
  #form: PlainForm | undefined | null = null;
  #compiled: Matcher | undefined;

  readonly #work: MatchWork;

  constructor(reader: PathTable, source: string, foldCase: boolean, work: MatchWork) {
    this.#reader = reader;
    this.#work = work;
    this.#source = source;
    this.#foldCase = foldCase;
    this.#isDot = source === ".";
  }

  test(document: number): boolean {
    const text = this.#pathText(document);
    if (text === undefined) return this.#matcher.test(this.#reader.path(document));
    return this.#isDot ? text.length > 0 : this.#plain?.test(text) === true;
  }

  /** Adds the ranges of all non-empty matches. */
  findAll(document: number, rows: Rows): void {
    const text = this.#isDot || this.#plain?.findsRanges === true ? this.#pathText(document) : undefined;
    if (text === undefined) this.#matcher.findAll(this.#reader.path(document), 0, rows, this.#work);
    else if (this.#isDot) for (let i = 0; i < text.length; i++) rows.push(i, i + 1);
    else this.#plain?.findAll(text, rows);
  }

  /** The path in the form that the plain form requires; undefined if RE2 must be used. */
  #pathText(document: number): string | undefined {
    const text = this.#isDot || this.#plain !== undefined ? this.#reader.plainPath(document) : undefined;
    return this.#foldCase ? text?.toLowerCase() : text;
  }

  get #plain(): PlainForm | undefined {
    if (this.#form === null) this.#form = toPlainForm(this.#source, this.#foldCase);
    return this.#form;
  }

  get #matcher(): Matcher {
    return (this.#compiled ??= compileRegexp(this.#source, this.#foldCase));
  }
}

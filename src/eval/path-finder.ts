import { isAscii } from "node:buffer";
import type { RegexpAnalysis } from "../regexp/analysis.js";
import { compileRegexp, type Matcher } from "../regexp/compile.js";
import type { Rows } from "./rows.js";

const newline = 10;

/**
 * Finds one pattern in paths, which are so short that calls of RE2 cost more than its search: a filter on 3,654 results
 * of Linux took 9 ms for their highlights, and `file:.` 380 ms. So in a path of ASCII a literal is found without it, and
 * so is `.`, which is every character by itself.
 */
export class PathFinder {
  readonly #source: string;
  readonly #foldCase: boolean;
  readonly #literal: string | undefined;
  readonly #isDot: boolean;
  #compiled: Matcher | undefined;

  constructor(source: string, foldCase: boolean, literal: RegexpAnalysis["literal"]) {
    this.#source = source;
    this.#foldCase = foldCase;
    this.#literal = literal;
    this.#isDot = source === ".";
  }

  test(path: Buffer): boolean {
    if (this.#literal !== undefined && isAscii(path)) return this.#textOf(path).includes(this.#literal);
    return (this.#isDot && path.length > 0 && path[0] < 0x80 && path[0] !== newline) || this.#matcher.test(path);
  }

  /** Adds the ranges of all matches that are not empty. */
  findAll(path: Buffer, rows: Rows): void {
    if ((this.#literal === undefined && !this.#isDot) || !isAscii(path)) this.#matcher.findAll(path, 0, rows);
    else if (this.#literal === undefined) addCharacters(path, rows);
    else addPlaces(this.#textOf(path), this.#literal, rows);
  }

  /** Sound for ASCII: nothing outside of it, into which the case of a letter could reach, is in the path. */
  #textOf(path: Buffer): string {
    const text = path.toString("latin1");
    return this.#foldCase ? text.toLowerCase() : text;
  }

  get #matcher(): Matcher {
    return this.#compiled ??= compileRegexp(this.#source, this.#foldCase);
  }
}

function addCharacters(path: Buffer, rows: Rows): void {
  for (let i = 0; i < path.length; i++) if (path[i] !== newline) rows.push(i, i + 1);
}

function addPlaces(text: string, literal: string, rows: Rows): void {
  for (let at = text.indexOf(literal); at >= 0; at = text.indexOf(literal, at + literal.length)) rows.push(at, at + literal.length);
}

import { analyseLiteral, analyseRegexp } from "../regexp/analyse.js";
import type { RegexpAnalysis } from "../regexp/analysis.js";
import type { PatternNode } from "./ast.js";
import type { Place } from "./characters.js";
import { locateErrors, QueryError } from "./query-error.js";

/**
 * The analyses of one query's patterns and filters, each made once: validating and planning ask for the same ones, and
 * so does every basic query that shares a filter.
 */
export class Analyses {
  readonly #text: string;
  readonly #made = new Map<string, RegexpAnalysis>();

  constructor(text: string) {
    this.#text = text;
  }

  /** Throws a `QueryError` at the place when this is no regexp. */
  regexp(source: string, foldCase: boolean, place: Place): RegexpAnalysis {
    return this.#once(`/${foldCase}/${source}`, place, () => analyseRegexp(source, foldCase));
  }

  isRegexp(source: string, foldCase: boolean, place: Place): boolean {
    try {
      this.regexp(source, foldCase, place);
      return true;
    } catch (error) {
      if (error instanceof QueryError) return false;
      throw error;
    }
  }

  pattern({ form, value, place }: PatternNode, foldCase: boolean): RegexpAnalysis {
    if (form === "regexp") return this.regexp(value, foldCase, place);
    return this.#once(`"${foldCase}"${value}`, place, () => analyseLiteral(value, foldCase));
  }

  #once(key: string, place: Place, make: () => RegexpAnalysis): RegexpAnalysis {
    const found = this.#made.get(key);
    if (found !== undefined) return found;
    const made = locateErrors(this.#text, place, make);
    this.#made.set(key, made);
    return made;
  }
}

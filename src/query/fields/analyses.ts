import { analyseLiteral, analyseRegexp } from "../../regexp/analysis/analyse.js";
import type { RegexpAnalysis } from "../../regexp/analysis/analysis.js";
import type { PatternNode } from "../syntax/ast.js";
import type { Span } from "../syntax/characters.js";
import { locateErrors, QueryError } from "../syntax/query-error.js";

/**
 * Caches the analyses of one query's patterns and filters: validating and planning need the same ones, and so does
 * every basic query that shares a filter.
 */
export class Analyses {
  readonly #text: string;
  readonly #made = new Map<string, RegexpAnalysis>();

  constructor(text: string) {
    this.#text = text;
  }

  /** Throws a `QueryError` at the position if this is not a valid regexp. */
  regexp(source: string, foldCase: boolean, span: Span): RegexpAnalysis {
    return this.#once(`/${foldCase}/${source}`, span, () => analyseRegexp(source, foldCase));
  }

  isRegexp(source: string, foldCase: boolean, span: Span): boolean {
    try {
      this.regexp(source, foldCase, span);
      return true;
    } catch (error) {
      if (error instanceof QueryError) return false;
      throw error;
    }
  }

  pattern({ form, value, span }: PatternNode, foldCase: boolean): RegexpAnalysis {
    if (form === "regexp") return this.regexp(value, foldCase, span);
    return this.#once(`"${foldCase}"${value}`, span, () => analyseLiteral(value, foldCase));
  }

  #once(key: string, span: Span, make: () => RegexpAnalysis): RegexpAnalysis {
    const found = this.#made.get(key);
    if (found !== undefined) return found;
    const made = locateErrors(this.#text, span, make);
    this.#made.set(key, made);
    return made;
  }
}

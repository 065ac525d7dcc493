import type { RegexpAnalysis } from "../../regexp/analysis/analysis.js";

/** A `file:` or `lang:` filter: the path must match or, if `negated`, must not. */
export interface PathFilter {
  readonly negated: boolean;
  /** RE2 source: as typed for `file:`, derived from the language's extensions and file names for `lang:`. */
  readonly source: string;
  /** Whether case is ignored; always for `lang:`. */
  readonly foldCase: boolean;
  /** True for `file:`, whose matches in the path are highlighted unless it is negated; false for `lang:`. */
  readonly highlighted: boolean;
  /** The filter in its printed form, for example `-file:/_test\.go$/i` or `lang:Go`. */
  readonly label: string;
  /** What `source` requires of a path. */
  readonly analysis: RegexpAnalysis;
}

export type TextNode =
  | { readonly kind: "leaf"; readonly leaf: number }
  | { readonly kind: "not"; readonly child: TextNode }
  | { readonly kind: "and" | "or"; readonly children: readonly TextNode[] };

/**
 * One pattern, or several alternative texts: a document satisfies it by a match in its content or in its path, as far
 * as these may match.
 */
export interface Leaf {
  /** RE2 source: a regexp as typed, a literal with its operators escaped. */
  readonly source: string;
  /**
   * RE2 sources of the texts of an `or` that this leaf represents. Each is found as if it were a separate leaf, so
   * ranges of two may overlap, and `source` only determines whether one of them matches. Empty for a single pattern.
   */
  readonly either: readonly string[];
  readonly foldCase: boolean;
  /**
   * Where it may match, according to the query's types and `content:`. Both are false for `content:x` in a query for
   * paths: no document satisfies it, and every document satisfies its negation.
   */
  readonly inContent: boolean;
  readonly inPath: boolean;
  /** False for `file:has.content(...)`: a document has to satisfy it, and its matches are not reported. */
  readonly highlighted: boolean;
  /** What `source` requires of a text. */
  readonly analysis: RegexpAnalysis;
}

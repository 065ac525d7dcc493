import type { PatternTable } from "../../native/kernel/pattern-kernel.js";
import type { RegexpAnalysis } from "../../regexp/analysis/analysis.js";

/** A condition on a file that its content's matches have no influence on. */
export type FileFilter = PathFilter | LanguageFilter;

/** A `lang:` filter: the file must be in the language or, if `negated`, must not. */
export interface LanguageFilter {
  readonly kind: "language";
  readonly negated: boolean;
  /** As shards name it. */
  readonly language: string;
  /** The filter in its printed form: `lang:Go`. */
  readonly label: string;
}

/** A `file:` filter: the path must match or, if `negated`, must not. */
export interface PathFilter {
  readonly kind: "path";
  readonly negated: boolean;
  /** RE2 source. */
  readonly source: string;
  readonly foldCase: boolean;
  /** Whether matches in the path are highlighted, unless the filter is negated. */
  readonly highlighted: boolean;
  /** The filter in its printed form, for example `-file:/_test\.go$/i`. */
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
  /** The patterns of a set, any of which satisfies it; `source` is then empty. Undefined for other leaves. */
  readonly set?: PatternSet;
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

/**
 * Many patterns that are searched for in one pass: plain data for the workers. A literal of the table locates patterns:
 * either it is one, or a regexp cannot match a text without it.
 */
export interface PatternSet {
  /** Number of patterns. They are numbered as in the request. */
  readonly count: number;
  readonly table: PatternTable;
  /**
   * What literal i of the table locates: `targets[targetStarts[i]]` to before `targets[targetStarts[i + 1]]`. A number
   * below `count` is a pattern that is this literal; `count + j` is regexp j.
   */
  readonly targetStarts: Uint32Array;
  readonly targets: Uint32Array;
  readonly regexps: readonly SetRegexp[];
}

export interface SetRegexp {
  /** Its number among all patterns. */
  readonly pattern: number;
  /** RE2 source. */
  readonly source: string;
  /** False if it is tried on every content. */
  readonly isLocated: boolean;
}

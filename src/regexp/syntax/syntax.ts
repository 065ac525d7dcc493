/**
 * A regexp as a tree. Everything that depends on flags or on the notation is resolved: a node specifies itself whether
 * it folds case, which anchor it is and whether it is lazy. There are no group nodes, because captures are not needed
 * and the tree represents the grouping.
 */
export type Regexp =
  | { readonly kind: "empty" }
  | LiteralNode
  | ClassNode
  /** Any character; `newline` tells whether that includes a newline. */
  | { readonly kind: "any"; readonly newline: boolean }
  | { readonly kind: "anchor"; readonly at: Anchor }
  /** Two children or more. */
  | { readonly kind: "concat" | "alternate"; readonly children: readonly Regexp[] }
  | RepeatNode;

/** One or more consecutive characters. */
export interface LiteralNode {
  readonly kind: "literal";
  readonly text: string;
  readonly fold: boolean;
}

/** One character of a set: the ranges and the named sets or, if `negated`, any character outside both. */
export interface ClassNode {
  readonly kind: "class";
  /** Pairs of code points (first, last), sorted, neither touching nor overlapping. */
  readonly ranges: readonly number[];
  /** Sets that are not expanded, in RE2 syntax: `\pL`, `\P{Greek}`, `\W`, `[:^alpha:]`. Sorted, distinct. */
  readonly named: readonly string[];
  readonly negated: boolean;
  /** Folding is applied before negation: with it `[^k]` excludes k, K and U+212A. */
  readonly fold: boolean;
}

export interface RepeatNode {
  readonly kind: "repeat";
  readonly child: Regexp;
  readonly min: number;
  /** `Infinity` if there is no upper bound. */
  readonly max: number;
  readonly lazy: boolean;
}

export type Anchor = "line-start" | "line-end" | "text-start" | "text-end" | "word-boundary" | "no-word-boundary";

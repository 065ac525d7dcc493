import { combine, isOperator, type FieldNode, type PatternNode, type QueryNode } from "./ast.js";
import type { QueryType } from "./query-type.js";

/** The value of `count:all`: more matches than any search finds. */
export const countAll = 99_999_999;

/**
 * Turns `content:` into a pattern and `count:all` into its number, escapes parentheses in regexps that are meant as
 * text, and drops patterns without text, which match nothing that is reported. Undefined if nothing is left.
 */
export function normalise(node: QueryNode, type: QueryType): QueryNode | undefined {
  if (isOperator(node)) {
    const children = node.children.map((child) => normalise(child, type)).filter((child) => child !== undefined);
    return children.length === 0 ? undefined : combine(node.kind, children);
  }
  const leaf = node.kind === "field" ? normaliseField(node, type) : node;
  return leaf.kind === "pattern" ? normalisePattern(leaf, type) : leaf;
}

function normaliseField(field: FieldNode, type: QueryType): FieldNode | PatternNode {
  const { name, value, negated, span } = field;
  if (name === "content") {
    const form = type === "regexp" ? "regexp" : "literal";
    return { kind: "pattern", form, value, negated, contentOnly: true, span };
  }
  if (name === "count" && value.toLowerCase() === "all") return { ...field, value: String(countAll) };
  return field;
}

function normalisePattern(pattern: PatternNode, type: QueryType): PatternNode | undefined {
  if (pattern.value === "") return undefined;
  if (type !== "regexp" || pattern.form !== "regexp") return pattern;
  return { ...pattern, value: escapeTextParentheses(pattern.value) };
}

/** In a regexp, `()` and a `(` at the very end are meant as text: `main()` and `open(` are typical input. */
function escapeTextParentheses(source: string): string {
  return source.replace(/\\.|\(\)|\($/gs, (piece) => {
    if (piece === "()") return "\\(\\)";
    return piece === "(" ? "\\(" : piece;
  });
}

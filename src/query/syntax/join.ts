import { combine, isOperator, type OperatorNode, type PatternNode, type QueryNode } from "./ast.js";
import type { QueryType } from "./query-type.js";
import { unreachable } from "../../base/assert.js";
import { escapeRegexp } from "../../base/escape-regexp.js";

/**
 * Replaces each `concat` according to the pattern type. Adjacent patterns that are not negated form a run; a negated
 * pattern or a group ends it, and the pieces are combined by `and`. If the first one is negated, nothing is joined:
 * `NOT a b c` requires b and c anywhere.
 */
export function joinPatterns(node: QueryNode, type: QueryType): QueryNode {
  if (!isOperator(node)) return node;
  if (node.kind === "concat") return combine("and", joinConcat(node, type));
  return combine(
    node.kind,
    node.children.map((child) => joinPatterns(child, type)),
  );
}

function joinConcat(concat: OperatorNode, type: QueryType): QueryNode[] {
  const [first] = concat.children;
  if (first?.kind === "pattern" && first.negated) return concat.children.map((child) => joinPatterns(child, type));
  const joined: QueryNode[] = [];
  let run: PatternNode[] = [];
  const endRun = (): void => {
    joined.push(...joinRun(run, type));
    run = [];
  };
  for (const child of concat.children) {
    if (child.kind === "pattern" && !child.negated) {
      run.push(child);
      continue;
    }
    endRun();
    joined.push(joinPatterns(child, type));
  }
  endRun();
  return joined;
}

function joinRun(run: readonly PatternNode[], type: QueryType): PatternNode[] {
  if (run.length < 2) return [...run];
  switch (type) {
    case "keyword":
      return [...run];
    case "standard":
      return joinLiterals(run);
    case "literal":
    case "structural":
      return [withSpaces(run)];
    case "regexp":
      return [merge(run, "regexp", run.map((pattern) => `(?:${regexpSource(pattern)})`).join(".*?"))];
    default:
      return unreachable(type);
  }
}

/** Joins adjacent literals; a regexp between them remains separate. */
function joinLiterals(run: readonly PatternNode[]): PatternNode[] {
  const joined: PatternNode[] = [];
  let literals: PatternNode[] = [];
  for (const pattern of run) {
    if (pattern.form === "literal") {
      literals.push(pattern);
      continue;
    }
    if (literals.length > 0) joined.push(withSpaces(literals));
    joined.push(pattern);
    literals = [];
  }
  if (literals.length > 0) joined.push(withSpaces(literals));
  return joined;
}

function withSpaces(patterns: readonly PatternNode[]): PatternNode {
  return merge(patterns, "literal", patterns.map((pattern) => pattern.value).join(" "));
}

/** One pattern instead of several; expects at least one. */
function merge(patterns: readonly PatternNode[], form: PatternNode["form"], value: string): PatternNode {
  const first = patterns[0] as PatternNode;
  const last = patterns.at(-1) as PatternNode;
  return { ...first, form, value, span: { from: first.span.from, to: last.span.to } };
}

function regexpSource(pattern: PatternNode): string {
  return pattern.form === "regexp" ? pattern.value : escapeRegexp(pattern.value);
}

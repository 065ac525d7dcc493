import { combine, isOperator, type OperatorNode, type PatternNode, type QueryNode } from "./ast.js";
import { isSpaceAt, skipSpaces } from "./characters.js";
import type { QueryType } from "./scan.js";
import { unreachable } from "../../base/assert.js";
import { escapeRegexp } from "../../base/text.js";

/**
 * Replaces each `concat` in a query with this text according to the pattern type. Adjacent patterns that are not negated form a run; a negated
 * pattern or a group ends it, and the pieces are combined by `and`. If the first one is negated, nothing is joined:
 * `NOT a b c` requires b and c anywhere.
 */
export function joinPatterns(node: QueryNode, text: string, type: QueryType): QueryNode {
  if (!isOperator(node)) return node;
  if (node.kind === "concat") return combine("and", joinConcat(node, text, type));
  return combine(
    node.kind,
    node.children.map((child) => joinPatterns(child, text, type)),
  );
}

function joinConcat(concat: OperatorNode, text: string, type: QueryType): QueryNode[] {
  const [first] = concat.children;
  if (first?.kind === "pattern" && first.negated)
    return concat.children.map((child) => joinPatterns(child, text, type));
  const joined: QueryNode[] = [];
  let run: PatternNode[] = [];
  const endRun = (): void => {
    joined.push(...joinRun(run, text, type));
    run = [];
  };
  for (const child of concat.children) {
    if (child.kind === "pattern" && !child.negated) {
      run.push(child);
      continue;
    }
    endRun();
    joined.push(joinPatterns(child, text, type));
  }
  endRun();
  return joined;
}

function joinRun(run: readonly PatternNode[], text: string, type: QueryType): PatternNode[] {
  if (run.length < 2) return [...run];
  switch (type) {
    case "keyword":
      return [...run];
    case "standard":
      return joinLiterals(run, text);
    case "literal":
    case "structural":
      return [withSpaces(run, text)];
    case "regexp":
      return [merge(run, "regexp", run.map((pattern) => `(?:${regexpSource(pattern)})`).join(".*?"))];
    default:
      return unreachable(type);
  }
}

/** Joins adjacent literals; a regexp between them remains separate. */
function joinLiterals(run: readonly PatternNode[], text: string): PatternNode[] {
  const joined: PatternNode[] = [];
  let literals: PatternNode[] = [];
  for (const pattern of run) {
    if (pattern.form === "literal") {
      literals.push(pattern);
      continue;
    }
    if (literals.length > 0) joined.push(withSpaces(literals, text));
    joined.push(pattern);
    literals = [];
  }
  if (literals.length > 0) joined.push(withSpaces(literals, text));
  return joined;
}

/** The literals as one, with the space between them as it was typed. */
function withSpaces(patterns: readonly PatternNode[], text: string): PatternNode {
  const pieces = patterns.flatMap(({ value, span }, i) =>
    i === 0 ? [value] : [spaceBetween(text, patterns[i - 1].span.to, span.from), value],
  );
  return merge(patterns, "literal", pieces.join(""));
}

/**
 * The space between two words. Where filters stand between them, it is the longer one of the space before and after
 * those, because removing a filter leaves one space too many: `a  b` may become `a  file:x b` as well as `a file:x  b`.
 */
export function spaceBetween(text: string, from: number, to: number): string {
  const before = text.slice(from, Math.min(skipSpaces(text, from), to));
  if (before.length === to - from) return before;
  let afterFrom = to;
  while (isSpaceAt(text, afterFrom - 1)) afterFrom--;
  const after = text.slice(afterFrom, to);
  return after.length > before.length || (after.length === before.length && before === " ") ? after : before;
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

import type { Span } from "./characters.js";
import type { FieldName } from "./fields.js";
import type { QueryType, Predicate } from "./scan.js";

/** A parsed query, normalised and without `concat` nodes. */
export interface QueryTree {
  readonly text: string;
  readonly type: QueryType;
  /** Undefined for a query without fields and patterns. */
  readonly root: QueryNode | undefined;
}

export type QueryNode = FieldNode | PatternNode | OperatorNode;

export interface FieldNode {
  readonly kind: "field";
  readonly name: FieldName;
  readonly negated: boolean;
  /** The value without its quotes. */
  readonly value: string;
  readonly predicate: Predicate | undefined;
  readonly span: Span;
  /** True for a filter of the query's context; its position is that of the `context:` field. */
  readonly fromContext?: true;
}

export interface PatternNode {
  readonly kind: "pattern";
  readonly form: "literal" | "regexp";
  readonly value: string;
  readonly negated: boolean;
  /** True for a pattern from `content:`, which never matches a path. */
  readonly contentOnly: boolean;
  readonly span: Span;
}

/** `concat` is adjacent patterns; its meaning depends on the pattern type, and `join.ts` replaces it. */
export interface OperatorNode {
  readonly kind: "and" | "or" | "concat";
  /** Two or more; none has the kind of its parent. */
  readonly children: readonly QueryNode[];
}

/** One operator over the nodes, flattened; the node itself if there is only one. Expects one or more. */
export function combine(kind: OperatorNode["kind"], nodes: readonly QueryNode[]): QueryNode {
  const children = nodes.flatMap((node) => (node.kind === kind ? node.children : [node]));
  const [first, second] = children;
  return first !== undefined && second === undefined ? first : { kind, children };
}

export function isOperator(node: QueryNode): node is OperatorNode {
  return node.kind !== "field" && node.kind !== "pattern";
}

export function hasPattern(node: QueryNode): boolean {
  return isOperator(node) ? node.children.some(hasPattern) : node.kind === "pattern";
}

/** All fields and patterns below the node, in tree order. */
export function collectLeaves(node: QueryNode): (FieldNode | PatternNode)[] {
  const found: (FieldNode | PatternNode)[] = [];
  const visit = (at: QueryNode): void => {
    if (isOperator(at)) at.children.forEach(visit);
    else found.push(at);
  };
  visit(node);
  return found;
}

/** From the first to the last leaf below the node. */
export function nodeSpan(node: QueryNode): Span {
  if (!isOperator(node)) return node.span;
  return node.children.map(nodeSpan).reduce((a, b) => ({ from: Math.min(a.from, b.from), to: Math.max(a.to, b.to) }));
}

import { fields } from "../fields/fields.js";
import { collectLeaves, combine, hasPattern, isOperator, type FieldNode, type QueryNode } from "./ast.js";

/** The terms of one operand, in text order: filters, patterns and groups. */
export type Terms = readonly QueryNode[];

/**
 * The tree of an expression, the whole query or a group. `sides` are what `or` separates, each as the operands that
 * `and` separates.
 *
 * Filters before the expression apply to all of it, and then so do filters after it: `repo:r a or b and c file:f`
 * searches for the whole expression with both. This holds whatever the operands are, words or groups. A filter between
 * patterns or groups keeps the operands apart, as in `a or repo:r b`, and so does an operand of filters only. Filters at
 * the end of a query that begins with a pattern apply to its last side; a group says where it ends.
 *
 * A later group that says for itself where to search, or how, keeps that: `repo:r a or (repo:s b)` is two searches. See
 * `replaces`.
 */
export function hoist(sides: readonly (readonly Terms[])[], isGroup: boolean): QueryNode {
  const operands = sides.flat();
  if (sides.length === 1) return combineSide(operands);
  const before = leadingFilters(operands[0]);
  const after = leadingFilters([...(operands.at(-1) ?? [])].reverse()).reverse();
  const inner = operands.map((terms, i) =>
    terms.slice(i === 0 ? before.length : 0, i === operands.length - 1 ? terms.length - after.length : undefined),
  );
  const isApart = inner.some((terms) => terms.some(isFilter)) || (before.length === 0 && !isGroup);
  if (isApart || inner.some((terms) => terms.length === 0)) return combineSides(sides);
  let at = 0;
  const trees = sides.map((side) => combineSide(inner.slice(at, (at += side.length))));
  const homes = new Map([
    ...before.map((filter) => [filter, 0] as const),
    ...after.map((filter) => [filter, trees.length - 1] as const),
  ]);
  // A `rev:` looks for the names of repositories that groups have, and must not find those that are added here.
  const isRevision = (filter: QueryNode): boolean => filter.kind === "field" && filter.name === "rev";
  for (const filter of [...homes.keys()].sort((a, b) => Number(isRevision(b)) - Number(isRevision(a))))
    if (separate(filter, trees, homes.get(filter) ?? 0)) homes.delete(filter);
  const shared = [...homes.keys()];
  return combine("and", [...shared, combine("or", trees)]);
}

/** Filters up to the first pattern, or to the first group with one. */
function leadingFilters(terms: Terms): QueryNode[] {
  const end = terms.findIndex((term) => !isFilter(term));
  return terms.slice(0, end === -1 ? terms.length : end);
}

/** A field, or a group of fields. `content:` is a pattern. */
function isFilter(node: QueryNode): boolean {
  return collectLeaves(node).every((leaf) => leaf.kind === "field" && leaf.name !== "content");
}

function combineSides(sides: readonly (readonly Terms[])[]): QueryNode {
  return combine("or", sides.map(combineSide));
}

function combineSide(operands: readonly Terms[]): QueryNode {
  return combine("and", operands.map(partitionTerms));
}

function partitionTerms(terms: Terms): QueryNode {
  const patterns = terms.filter(hasPattern);
  const others = terms.filter((term) => !hasPattern(term));
  if (patterns.length === 0) return combine("and", others);
  return combine("and", [...others, combine("concat", patterns)]);
}

/**
 * Adds the filter, which stands on the side `home`, to each side, without those parts that have a replacement of their
 * own. Does nothing and returns false if there are none, or if the filter's own side has one: `repo:r (repo:s a) or b`
 * searches in repositories that have both names.
 */
function separate(filter: QueryNode, trees: QueryNode[], home: number): boolean {
  if (filter.kind !== "field" || filter.negated) return false;
  const replacing = new Set<QueryNode>();
  const found = trees.map((tree) => collectReplacing(tree, filter, replacing));
  if (found[home] || !found.includes(true)) return false;
  for (const [i, tree] of trees.entries()) trees[i] = addTo(tree, filter, replacing);
  return true;
}

/** Adds the nodes in which the filter is replaced to the set. */
function collectReplacing(node: QueryNode, filter: FieldNode, replacing: Set<QueryNode>): boolean {
  const found = isOperator(node)
    ? node.children.map((child) => collectReplacing(child, filter, replacing)).includes(true)
    : node.kind === "field" && replaces(node, filter);
  if (found) replacing.add(node);
  return found;
}

function addTo(node: QueryNode, filter: FieldNode, replacing: ReadonlySet<QueryNode>): QueryNode {
  if (!replacing.has(node)) return combine("and", [filter, node]);
  if (!isOperator(node)) return node;
  if (node.kind !== "or" && node.children.some((child) => child.kind === "field" && replacing.has(child))) return node;
  return combine(
    node.kind,
    node.children.map((child) =>
      node.kind === "or" || replacing.has(child) ? addTo(child, filter, replacing) : child,
    ),
  );
}

/**
 * Whether the field of a group stands for the filter outside of it: a name of repositories, a type of results, or
 * anything that may be given only once. Other filters are conditions, and all of them must hold.
 */
function replaces(own: FieldNode, outer: FieldNode): boolean {
  if (own.negated || own.predicate !== undefined || outer.predicate !== undefined) return false;
  if (outer.name === "rev" && own.name === "repo") return true;
  return own.name === outer.name && (own.name === "repo" || own.name === "type" || fields[own.name].once);
}

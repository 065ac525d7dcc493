import { combine, hasField, isOperator, type FieldNode, type QueryNode } from "../syntax/ast.js";

/**
 * `hoist` for the whole query and, where that changes nothing, for each of its groups: `(lang:go a or b) count:all`
 * searches for both with `lang:go`.
 */
export function hoistGroups(node: QueryNode, textFrom: number): QueryNode {
  const hoisted = hoist(node, textFrom);
  if (hoisted !== node || !isOperator(node) || !hasField(node)) return hoisted;
  return combine(
    node.kind,
    node.children.map((child) => hoistGroups(child, textFrom)),
  );
}

/**
 * Applies fields at either end of an expression to all of it: `repo:r a or b and c` and `repo:r a or b file:f` search
 * for the whole expression with both filters. This assumption is made only for the sequence fields with a pattern, pure
 * patterns, a pattern with fields; a field between patterns keeps the operands separate, as in `a or repo:r b`. Returns
 * the node itself if it has another form.
 *
 * `textFrom` is where the query starts. A query that starts with a pattern is not hoisted: a first operand without
 * fields counts as having one at the very start, where the pattern is.
 */
function hoist(root: QueryNode, textFrom: number): QueryNode {
  if (root.kind !== "and" && root.kind !== "or") return root;
  const first = partition(root.children[0] as QueryNode);
  const last = partition(root.children.at(-1) as QueryNode);
  if (first === undefined || last === undefined) return root;
  const middle = root.children.slice(1, -1);
  if (middle.some(hasField) || !fieldsThenPattern(first, textFrom) || !patternThenFields(last)) return root;
  const pattern = combine(root.kind, [first.pattern, ...middle, last.pattern]);
  return combine("and", [...first.fields, ...last.fields, pattern]);
}

interface Operand {
  readonly fields: readonly FieldNode[];
  readonly pattern: QueryNode;
}

/** The operand as fields and a pattern; undefined if it is not a plain `and` of those, or has no pattern. */
function partition(node: QueryNode): Operand | undefined {
  if (!hasField(node)) return { fields: [], pattern: node };
  if (node.kind !== "and") return undefined;
  const fields = node.children.filter((child) => child.kind === "field");
  const patterns = node.children.filter((child) => !hasField(child));
  if (patterns.length === 0 || fields.length + patterns.length < node.children.length) return undefined;
  return { fields, pattern: combine("and", patterns) };
}

function fieldsThenPattern({ fields, pattern }: Operand, textFrom: number): boolean {
  const lastField = fields.reduce((last, field) => Math.max(last, field.span.from), textFrom);
  return lastField < firstPosition(pattern);
}

function patternThenFields({ fields, pattern }: Operand): boolean {
  const from = lastPosition(pattern);
  return fields.every((field) => from < field.span.from);
}

function firstPosition(node: QueryNode): number {
  return isOperator(node) ? firstPosition(node.children[0] as QueryNode) : node.span.from;
}

function lastPosition(node: QueryNode): number {
  return isOperator(node) ? lastPosition(node.children.at(-1) as QueryNode) : node.span.from;
}

import { assert } from "../../base/assert.js";
import {
  collectLeaves,
  combine,
  type FieldNode,
  hasPattern,
  isOperator,
  nodeSpan,
  type PatternNode,
  type QueryNode,
} from "./ast.js";
import { isSpaceAt, type Span } from "./characters.js";
import { queryLimits } from "./limits.js";
import type { FieldToken, PatternToken, QueryType, Token } from "./scan.js";
import { IncompleteError, QueryError } from "./query-error.js";
import { fields } from "./fields.js";

/**
 * Parses tokens with the grammar
 *
 *     or    = and { OR and }
 *     and   = terms { AND terms }
 *     terms = one or more of: field, pattern, NOT field, NOT pattern, "(" or ")"
 *
 * Within terms, fields and groups without a pattern are combined by `and`; two or more patterns, and groups with
 * patterns, form a `concat`. Filters around an expression apply to all of it. The result is not yet normalised nor
 * joined, and undefined if there are no tokens.
 */
export function readTokens(text: string, type: QueryType, tokens: readonly Token[]): QueryNode | undefined {
  return new GrammarReader(text, type, tokens).all();
}

class GrammarReader {
  readonly #text: string;
  readonly #type: QueryType;
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;
  #termCount = 0;

  constructor(text: string, type: QueryType, tokens: readonly Token[]) {
    this.#text = text;
    this.#type = type;
    this.#tokens = tokens;
  }

  all(): QueryNode | undefined {
    if (this.#tokens.length === 0) return undefined;
    const root = this.#or();
    assert(this.#peek() === undefined, "the grammar reads all tokens");
    return root;
  }

  #or(): QueryNode {
    const sides = [this.#and()];
    while (this.#accept("or")) sides.push(this.#and());
    return hoist(sides, this.#depth > 0);
  }

  #and(): readonly Terms[] {
    const operands = [this.#terms()];
    while (this.#accept("and")) operands.push(this.#terms());
    return operands;
  }

  #terms(): Terms {
    const terms: QueryNode[] = [];
    for (let term = this.#term(); term !== undefined; term = this.#term()) {
      terms.push(term);
      if (++this.#termCount > queryLimits.termCountMax) {
        throw this.#error(`the query has more than ${queryLimits.termCountMax} terms`, nodeSpan(term));
      }
    }
    if (terms.length === 0) throw this.#expectedOperand();
    return terms;
  }

  /** The next term; undefined before an operator, a `)` that ends the group, and the end. */
  #term(): QueryNode | undefined {
    const token = this.#peek();
    if (token === undefined) return undefined;
    switch (token.kind) {
      case "and":
      case "or":
        return undefined;
      case "close":
        if (this.#depth === 0) throw this.#error(this.#unclearParentheses(), token.span);
        return undefined;
      case "broken":
        throw this.#error(token.message, token.span);
      case "open":
        return this.#group(token.span);
      case "not":
        return this.#negation(token.span);
      case "field":
      case "pattern":
        this.#at++;
        return toNode(token);
    }
  }

  #group(open: Span): QueryNode {
    this.#at++;
    const empty = this.#peek();
    if (this.#accept("close")) return emptyGroup({ from: open.from, to: empty?.span.to ?? open.to });
    if (++this.#depth > queryLimits.groupDepthMax) {
      throw this.#error(`parentheses are nested more than ${queryLimits.groupDepthMax} deep`, open);
    }
    const inner = this.#or();
    if (!this.#accept("close")) throw new IncompleteError("unbalanced expression", this.#text, open);
    this.#depth--;
    return inner;
  }

  #negation(not: Span): QueryNode {
    this.#at++;
    const operand = this.#peek();
    if (operand?.kind === "open") throw this.#error(groupAfterNot, { from: not.from, to: operand.span.to });
    if (operand?.kind === "broken") throw this.#error(operand.message, operand.span);
    if (operand?.kind !== "field" && operand?.kind !== "pattern") throw this.#expectedOperand();
    this.#at++;
    const span = { from: not.from, to: operand.span.to };
    if (operand.kind === "field" && operand.negated) {
      const typed = this.#text.slice(operand.span.from, operand.span.to);
      throw this.#error(`unexpected NOT before "${typed}". Remove NOT and try again`, span);
    }
    return { ...toNode(operand), negated: true, span };
  }

  #peek(): Token | undefined {
    return this.#tokens[this.#at];
  }

  #accept(kind: Token["kind"]): boolean {
    if (this.#peek()?.kind !== kind) return false;
    this.#at++;
    return true;
  }

  /** The position of the next token, or the empty span after the last one. */
  #here(): Span {
    const next = this.#peek()?.span;
    if (next !== undefined) return next;
    let end = this.#text.length;
    while (end > 0 && isSpaceAt(this.#text, end - 1)) end--;
    return { from: end, to: end };
  }

  /** A `)` that ends no group is the greater error: without it, the parentheses might be text. */
  #expectedOperand(): QueryError {
    const stray = this.#strayClose();
    if (stray !== undefined) return this.#error(this.#unclearParentheses(), stray);
    const here = this.#here();
    const error = new IncompleteError("expected operand", this.#text, here);
    return new IncompleteError(`expected operand at ${error.from}`, this.#text, here);
  }

  #strayClose(): Span | undefined {
    let depth = 0;
    return this.#tokens.find(({ kind }) => {
      if (kind === "open") depth++;
      else if (kind === "close") depth--;
      return depth < 0;
    })?.span;
  }

  #unclearParentheses(): string {
    return this.#type === "keyword" ? unclearKeywordParentheses : unclearParentheses;
  }

  #error(message: string, span: Span): QueryError {
    return new QueryError(message, this.#text, span);
  }
}

const groupAfterNot =
  "it looks like you tried to use an expression after NOT. The NOT operator can only be used with simple search " +
  "patterns or filters, and is not supported for expressions or subqueries";

const unclearKeywordParentheses =
  "unsupported expression. The combination of parentheses in the query has an unclear meaning. " +
  'Use "..." to quote patterns that contain parentheses';

const unclearParentheses =
  "unsupported expression. The combination of parentheses in the query have an unclear meaning. " +
  "Try using the content: filter to quote patterns that contain parentheses";

function toNode(token: FieldToken | PatternToken): FieldNode | PatternNode {
  const { value, span } = token;
  if (token.kind === "pattern") {
    return { kind: "pattern", form: token.form, value, negated: false, contentOnly: false, span };
  }
  return { kind: "field", name: token.name, negated: token.negated, value, predicate: token.predicate, span };
}

/** `()` is the text of two parentheses, because it is common in code and an empty group has no meaning. */
function emptyGroup(span: Span): PatternNode {
  return { kind: "pattern", form: "literal", value: "()", negated: false, contentOnly: false, span };
}

/** The terms of one operand, in text order: filters, patterns and groups. */
type Terms = readonly QueryNode[];

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
function hoist(sides: readonly (readonly Terms[])[], isGroup: boolean): QueryNode {
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

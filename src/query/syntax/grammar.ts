import { assert } from "../../base/assert.js";
import { nodeSpan, type FieldNode, type PatternNode, type QueryNode } from "./ast.js";
import { isSpaceAt, type Span } from "./characters.js";
import { hoist, type Terms } from "./hoist.js";
import { queryLimits } from "./limits.js";
import type { QueryType } from "./query-type.js";
import { IncompleteError, QueryError } from "./query-error.js";
import type { FieldToken, PatternToken, Token } from "./scan.js";

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

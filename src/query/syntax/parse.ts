import { utf8Length } from "../../base/text.js";
import { isOperator, nodeSpan, type QueryNode, type QueryTree } from "./ast.js";
import { readTokens } from "./grammar.js";
import { joinPatterns } from "./join.js";
import { queryLimits } from "./limits.js";
import { normalise } from "./normalise.js";
import type { QueryType } from "./query-type.js";
import { IncompleteError, QueryError } from "./query-error.js";
import { scan } from "./scan.js";

/** Text to tree: tokens, grammar, hoisting, normalising, joining. Throws a `QueryError`. */
export function parseQuery(text: string, type: QueryType): QueryTree {
  const raw = parseRaw(text, type);
  const normal = raw && normalise(raw, type);
  return { text, type, root: normal && joinPatterns(normal, text, type) };
}

/** The tree as the grammar reads it, hoisted: `content:` still is a field, and neighbours still are a `concat`. */
export function parseRaw(text: string, type: QueryType): QueryNode | undefined {
  if (utf8Length(text) > queryLimits.textBytesMax) {
    throw new QueryError(`the query is longer than ${queryLimits.textBytesMax} bytes`, text, {
      from: 0,
      to: text.length,
    });
  }
  try {
    return parseGroups(text, type);
  } catch (error) {
    if (!(error instanceof IncompleteError)) throw error;
    return parseWithoutGroups(text, type, error);
  }
}

function parseGroups(text: string, type: QueryType): QueryNode | undefined {
  const root = readTokens(text, type, scan(text, type, false));
  if (root !== undefined && type !== "keyword" && type !== "regexp") refuseMixedGroups(text, root);
  return root;
}

/** Reads all parentheses as text, as in `open (`. When that fails too, the error of the first try tells more. */
function parseWithoutGroups(text: string, type: QueryType, firstError: IncompleteError): QueryNode | undefined {
  try {
    return readTokens(text, type, scan(text, type, true));
  } catch (error) {
    if (error instanceof QueryError) throw firstError;
    throw error;
  }
}

/** Where side by side means one text, a group beside a word has no meaning: `(a or b) c`. */
function refuseMixedGroups(text: string, node: QueryNode): void {
  if (!isOperator(node)) return;
  if (node.kind === "concat" && node.children.some((child) => child.kind === "and" || child.kind === "or")) {
    throw new QueryError(mixedGroups, text, nodeSpan(node));
  }
  for (const child of node.children) refuseMixedGroups(text, child);
}

const mixedGroups =
  "i'm having trouble understanding that query. The combination of parentheses is the problem. " +
  "Try using the content: filter to quote patterns that contain parentheses";

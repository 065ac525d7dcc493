import { utf8Length } from "../../base/text.js";
import {
  collectLeaves,
  combine,
  type FieldNode,
  isOperator,
  nodeSpan,
  type PatternNode,
  type QueryNode,
  type QueryTree,
} from "./ast.js";
import { readTokens } from "./grammar.js";
import { joinPatterns } from "./join.js";
import { queryLimits } from "./limits.js";
import { type QueryType, scan } from "./scan.js";
import { IncompleteError, QueryError } from "./query-error.js";
import { TrawlError } from "../../base/errors.js";

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

/** The value of `count:all`, as in the clients of Sourcegraph: it stands for no limit, and any other number for itself. */
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

/** The names that a request may specify, including those of older servers. */
const typesOfRequest: ReadonlyMap<string, QueryType> = new Map([
  ["keyword", "keyword"],
  ["standard", "standard"],
  ["lucky", "standard"],
  ["literal", "literal"],
  ["regexp", "regexp"],
  ["structural", "structural"],
  ["newStandardRC1", "keyword"],
  ["codycontext", "keyword"],
]);

const typesOfQuery: ReadonlyMap<string, QueryType> = new Map([...typesOfRequest, ["regex", "regexp"]]);

const typesOfVersion: ReadonlyMap<string, QueryType> = new Map([
  ["V1", "regexp"],
  ["V2", "literal"],
  ["V3", "standard"],
  ["V4-rc1", "keyword"],
]);

/**
 * Determines how to parse the query: its own `patternType:`, else the request's pattern type, else its version, else
 * `standard`. An empty version or pattern type counts as absent. Throws `bad-request` if the request specifies an
 * unknown one, even if the query overrides it; an unknown one in the query is ignored.
 */
export function choosePatternType(query: string, version: string, patternType: string): QueryType {
  const requested = patternType === "" ? typeOfVersion(version) : typeOfName(patternType);
  return typeInQuery(query) ?? requested;
}

function typeOfName(name: string): QueryType {
  const type = typesOfRequest.get(name);
  if (type === undefined) throw new TrawlError("bad-request", `unrecognized patternType ${JSON.stringify(name)}`);
  return type;
}

function typeOfVersion(version: string): QueryType {
  const type = typesOfVersion.get(version === "" ? "V3" : version);
  if (type !== undefined) return type;
  throw new TrawlError("bad-request", `unrecognized version: want "V1", "V2", or "V3", got ${JSON.stringify(version)}`);
}

/**
 * Parses the query once as literal, which accepts most texts; the last `patternType:` counts. Most queries have none.
 */
function typeInQuery(query: string): QueryType | undefined {
  if (!/patterntype/i.test(query)) return undefined;
  try {
    const root = parseRaw(query, "literal");
    const leaves = root === undefined ? [] : collectLeaves(root);
    const types = leaves.map((leaf) => (leaf.kind === "field" && leaf.name === "patterntype" ? leaf.value : ""));
    return types.map((name) => typesOfQuery.get(name)).findLast((type) => type !== undefined);
  } catch (error) {
    if (error instanceof QueryError) return undefined;
    throw error;
  }
}

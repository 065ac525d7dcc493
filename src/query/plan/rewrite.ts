import type { FieldName } from "../syntax/fields.js";
import { spaceBetween } from "../syntax/join.js";
import { type QueryType, scan, type Token } from "../syntax/scan.js";

/** How a query is changed to propose another one. */
export interface Rewrite {
  /** Fields to remove, wherever they occur. */
  readonly without: readonly FieldName[];
  /** Filters to add before and after the query, respectively, "" for none. They apply to all of it. */
  readonly before: string;
  readonly after: string;
}

/**
 * The query with changed filters, as a user could type it: it includes its pattern type, so that it has the same
 * meaning in any client. `isUnion` means that there are operators between its filters; it is then put in parentheses.
 */
export function rewriteQuery(
  text: string,
  type: QueryType,
  isUnion: boolean,
  { without, before, after }: Rewrite,
): string {
  const kept = withoutFields(text, type, [...without, "patterntype"]);
  const inner = isUnion || after !== "" ? enclose(kept, type, isUnion) : kept;
  return [before, inner, after, `patternType:${type}`].filter((part) => part !== "").join(" ");
}

/** The query with filters that apply to all of it. */
export function addFilters(text: string, type: QueryType, filters: string): string {
  return `${enclose(text.trim(), type, false)} ${filters}`.trim();
}

/**
 * The query in parentheses if it is an `or`, so that filters behind it apply to all of it. Those at its own end apply to
 * its last side, unless it begins with filters, so that side is then in parentheses, too.
 */
function enclose(text: string, type: QueryType, isUnion: boolean): string {
  const tokens = scan(text, type, false);
  const tops: Token[] = [];
  let depth = 0;
  for (const token of tokens) {
    if (token.kind === "close") depth--;
    if (depth === 0 && token.kind !== "close") tops.push(token);
    if (token.kind === "open") depth++;
  }
  const lastOr = tops.findLastIndex(({ kind }) => kind === "or");
  // Parentheses that do not match are text, and would not be beside others.
  if (depth !== 0 || (lastOr < 0 && !isUnion)) return text;
  const begins = tops[0]?.kind === "not" ? tops[1] : tops[0];
  if (lastOr < 0 || begins.kind === "field" || tops.at(-1)?.kind !== "field") return `(${text})`;
  return `(${text.slice(0, tops[lastOr].span.to)} (${text.slice(tops[lastOr].span.to).trim()}))`;
}

/** The text without these fields, and with the space between its words as it was typed. */
function withoutFields(text: string, type: QueryType, names: readonly FieldName[]): string {
  const tokens = scan(text, type, false);
  const removed = new Set(tokens.filter((token) => token.kind === "field" && names.includes(token.name)));
  if (removed.size === 0) return text.trim();
  removeParentheses(tokens, type, removed);
  let kept = "";
  let last: Token | undefined;
  let isAfterRemoved = false;
  for (const token of tokens) {
    if (removed.has(token)) {
      isAfterRemoved = true;
      continue;
    }
    if (last !== undefined) kept += separator(text, last, token, isAfterRemoved);
    kept += text.slice(token.span.from, token.span.to);
    last = token;
    isAfterRemoved = false;
  }
  return kept;
}

function separator(text: string, last: Token, next: Token, isAfterRemoved: boolean): string {
  if (!isAfterRemoved) return text.slice(last.span.to, next.span.from);
  if (last.kind === "open" || next.kind === "close") return "";
  return spaceBetween(text, last.span.to, next.span.from) || " ";
}

/** Also removes parentheses that would be text, because what made a group of them is removed. */
function removeParentheses(tokens: readonly Token[], type: QueryType, removed: Set<Token>): void {
  const open: { readonly token: Token; isGroup: boolean; isEmpty: boolean; hasRemoved: boolean }[] = [];
  for (const token of tokens) {
    const inner = open.at(-1);
    if (token.kind === "open") {
      open.push({ token, isGroup: type === "keyword", isEmpty: true, hasRemoved: false });
    } else if (token.kind === "close") {
      const group = open.pop();
      if (group === undefined) continue;
      const isText = group.hasRemoved && (group.isEmpty || !group.isGroup);
      if (isText) removed.add(group.token).add(token);
      const around = open.at(-1);
      if (around === undefined) continue;
      around.hasRemoved ||= isText;
      around.isEmpty &&= group.isEmpty && isText;
      around.isGroup ||= !isText;
    } else if (inner !== undefined) {
      if (removed.has(token)) inner.hasRemoved = true;
      else inner.isEmpty = false;
      if (token.kind !== "pattern" && !removed.has(token)) inner.isGroup = true;
    }
  }
}

import { fields, type FieldName } from "../../../query/syntax/fields.js";
import { scan } from "../../../query/syntax/scan.js";
import type { PatternType } from "../query-state.js";

/** What is being typed at the cursor. */
export type CompletionPlace =
  | { readonly kind: "word"; readonly from: number; readonly prefix: string; readonly negation: "" | "-" }
  | { readonly kind: "value"; readonly from: number; readonly prefix: string; readonly field: FieldName };

/** The part of the query that ends at the cursor; undefined between words and in quotes. */
export function findPlace(text: string, cursor: number, type: PatternType): CompletionPlace | undefined {
  const token = scan(text.slice(0, cursor), type, false).at(-1);
  if (token === undefined || token.span.to < cursor) return undefined;
  if (token.kind === "field") {
    const from = text.indexOf(":", token.span.from) + 1;
    const prefix = text.slice(from, cursor);
    if (token.predicate !== undefined || prefix.startsWith('"')) return undefined;
    return { kind: "value", from, prefix, field: token.name };
  }
  if (token.kind !== "pattern" || /["'/]/.test(text.charAt(token.span.from))) return undefined;
  const { from } = token.span;
  const negation = text.charAt(from) === "-" ? "-" : "";
  return { kind: "word", from: from + negation.length, prefix: text.slice(from + negation.length, cursor), negation };
}

/** Fields that can be excluded, for a word that begins with a minus. */
export function isNegatable(field: FieldName): boolean {
  return fields[field].negatable;
}

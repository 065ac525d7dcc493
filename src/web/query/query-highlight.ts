import { scan, type Token } from "../../query/syntax/scan.js";
import type { PatternType } from "./query-state.js";

/** A part of the query text with one meaning. UTF-16 code units; `to` is exclusive. */
export interface Segment {
  readonly kind: SegmentKind;
  readonly from: number;
  readonly to: number;
}

export type SegmentKind = "space" | "operator" | "field" | "value" | "pattern" | "regexp" | "broken";

/** Longer texts are not highlighted: the server refuses them anyway. */
const highlightedLengthMax = 20_000;

/** The whole text in segments, with the same scanner as the daemon's. */
export function splitQuery(text: string, type: PatternType): readonly Segment[] {
  if (text.length > highlightedLengthMax) return [{ kind: "pattern", from: 0, to: text.length }];
  const segments: Segment[] = [];
  let at = 0;
  const add = (kind: SegmentKind, to: number): void => {
    if (to > at) segments.push({ kind, from: at, to });
    at = Math.max(at, to);
  };
  for (const token of scan(text, type, false)) {
    add("space", token.span.from);
    addToken(token, text, add);
  }
  add("space", text.length);
  return segments;
}

function addToken(token: Token, text: string, add: (kind: SegmentKind, to: number) => void): void {
  const { from, to } = token.span;
  switch (token.kind) {
    case "open":
    case "close":
    case "and":
    case "or":
    case "not":
      return add("operator", to);
    case "field":
      add("field", text.indexOf(":", from) + 1);
      return add("value", to);
    case "pattern":
      return add(token.form === "regexp" ? "regexp" : "pattern", to);
    case "broken":
      return add("broken", to);
  }
}

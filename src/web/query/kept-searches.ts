import { isObject } from "../../base/is-object.js";
import { KeptList } from "../ui/kept-list.js";
import type { PatternType, QueryState } from "./query-state.js";

/** A query that was run in this browser. */
export interface KeptSearch extends QueryState {
  /** By the clock of the server. */
  readonly ranMs: number;
}

const kept = new KeptList<KeptSearch>("searches", { count: 50, length: 100_000 }, isKeptSearch);

function isKeptSearch(value: unknown): value is KeptSearch {
  if (!isObject(value)) return false;
  const { text, patternType, caseSensitive, ranMs } = value;
  const isType = (["keyword", "standard", "regexp", "literal"] satisfies PatternType[]).some(
    (type) => type === patternType,
  );
  return typeof text === "string" && isType && typeof caseSensitive === "boolean" && typeof ranMs === "number";
}

/** What was searched, the newest first; those whose text contains `part`. */
export function keptSearches(part = ""): readonly KeptSearch[] {
  const wanted = part.trim().toLowerCase();
  return kept.read().filter(({ text }) => text.toLowerCase().includes(wanted));
}

export function keepSearch({ text, patternType, caseSensitive }: QueryState, ranMs: number): void {
  const search = { text: text.trim(), patternType, caseSensitive, ranMs };
  kept.add(search, (other) => other.text === search.text && other.patternType === patternType);
}

export function forgetSearches(): void {
  kept.write([]);
}

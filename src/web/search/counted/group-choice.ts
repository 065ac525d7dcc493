import type { GroupKind, ResultGroups } from "../../../model/result-groups.js";
import { addFilters } from "../../../query/plan/rewrite.js";
import { scan } from "../../../query/syntax/scan.js";
import { addressOfQuery, type QueryState } from "../../query/query-state.js";
import { formatAmount, formatCount } from "../../ui/numbers.js";

interface KindText {
  /** What is chosen. */
  readonly title: string;
  readonly one: string;
  readonly many: string;
  /** Matches that belong to no group. */
  readonly none: string;
}

export const kindTexts: Readonly<Record<GroupKind, KindText>> = {
  repository: { title: "Repository", one: "repository", many: "repositories", none: "in no repository" },
  path: { title: "Path", one: "path", many: "paths", none: "without a path" },
  language: { title: "Language", one: "language", many: "languages", none: "without a known language" },
  author: { title: "Author", one: "author", many: "authors", none: "without an author" },
  capture: { title: "Captured group", one: "text", many: "texts", none: "in which the group captures nothing" },
};

/** By what the matches of the query can be counted, the most telling first. The server says more of one that cannot. */
export function offeredKinds({ text, patternType }: QueryState): readonly GroupKind[] {
  const tokens = scan(text, patternType, false);
  const isHistory = tokens.some(
    (token) => token.kind === "field" && token.name === "type" && /^(?:commit|diff)$/i.test(token.value),
  );
  if (isHistory) return ["author", "repository"];
  const captures = tokens.some(
    (token) => token.kind === "pattern" && token.form === "regexp" && capturesText(token.value),
  );
  return captures ? ["capture", "repository", "path", "language"] : ["repository", "path", "language"];
}

/** Whether a regular expression has a group that captures. */
export function capturesText(source: string): boolean {
  let isInClass = false;
  for (let at = 0; at < source.length; at++) {
    const character = source.charAt(at);
    if (character === "\\") at++;
    else if (isInClass) isInClass = character !== "]";
    else if (character === "[") isInClass = true;
    else if (character === "(" && (source.charAt(at + 1) !== "?" || /^\(\?P?<\w/.test(source.slice(at, at + 5))))
      return true;
  }
  return false;
}

/** The address of the matches of one group; undefined if no filter finds those alone. */
export function addressOfGroup(query: QueryState, groupQuery: string | undefined): string | undefined {
  if (groupQuery === undefined) return undefined;
  if (!query.caseSensitive) return addressOfQuery({ ...query, text: groupQuery });
  // The filter follows what was sent, in which the toggle is a field.
  const sent = addFilters(query.text, query.patternType, "case:yes");
  const filter = groupQuery.slice(sent.length).trim();
  return addressOfQuery({ ...query, text: addFilters(query.text, query.patternType, filter) });
}

/** How many matches there are, in how many groups. */
export function totalText({ by, groups, otherGroups, otherMatches }: ResultGroups): string {
  const { one, many } = kindTexts[by];
  const count = groups.reduce((sum, group) => sum + group.count, otherMatches);
  return `${formatAmount(count, "match", "matches")}, ${formatAmount(groups.length + otherGroups, one, many)}`;
}

/** What is not in the list; undefined if everything is. */
export function othersText({ by, otherGroups, otherMatches }: ResultGroups): string | undefined {
  if (otherMatches === 0) return undefined;
  const matches = formatAmount(otherMatches, "match", "matches");
  if (otherGroups === 0) return `${matches} ${kindTexts[by].none}`;
  return `${matches} in ${formatCount(otherGroups)} more, or ${kindTexts[by].none}`;
}

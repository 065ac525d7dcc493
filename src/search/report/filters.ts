import type { HistoryTally, Tally } from "../../protocol/tally.js";
import { fileKinds } from "../../model/file-kind.js";
import type { SearchPlan } from "../../query/plan/plan.js";
import { escapeRegexp } from "../../base/text.js";
import type { Filter } from "../../model/stream-events.js";

/** Maximum number of repository filters, and of other filters. */
const filterCountMax = 1000;

const importantKinds = new Set<Filter["kind"]>(["utility", "type"]);

export interface FilterSource {
  readonly plan: SearchPlan;
  readonly tally: Tally;
  readonly history: HistoryTally;
  readonly repositoryResultCount: number;
  readonly excludedForkCount: number;
  readonly excludedArchivedCount: number;
  readonly nameOf: (repositoryId: number) => string;
}

/** The filters for the results so far: important kinds first, then by count, then by value. */
export function makeFilters(source: FilterSource, exhaustive: boolean): Filter[] {
  const all = [
    ...utilityFilters(source),
    ...typeFilters(source),
    ...languageFilters(source),
    ...repositoryFilters(source),
    ...fileFilters(source),
    ...symbolFilters(source),
    ...authorFilters(source),
    ...ageFilters(source),
  ].map(({ value, label, count, kind }) => ({ value, label, count, kind, exhaustive, limitHit: !exhaustive }));
  all.sort(
    (a, b) =>
      Number(importantKinds.has(b.kind)) - Number(importantKinds.has(a.kind)) ||
      b.count - a.count ||
      compare(a.value, b.value),
  );
  let repositoryCount = 0;
  let otherCount = 0;
  return all.filter((filter) => (filter.kind === "repo" ? ++repositoryCount : ++otherCount) <= filterCountMax);
}

type Suggestion = Pick<Filter, "value" | "label" | "count" | "kind">;

function utilityFilters(source: FilterSource): Suggestion[] {
  const suggestions: Suggestion[] = [
    { value: "fork:yes", label: "Include forked repos", count: source.excludedForkCount, kind: "utility" },
    { value: "archived:yes", label: "Include archived repos", count: source.excludedArchivedCount, kind: "utility" },
  ];
  return suggestions.filter((suggestion) => suggestion.count > 0);
}

/** Whether the number of files with a match in their path is that of the results of the query with `type:path`. */
function knowsPaths({ basicQueries }: SearchPlan, { contentMatches, symbolMatches }: Tally): boolean {
  if (contentMatches + symbolMatches === 0) return true;
  // A range in the path may be of a filter, or of one of several patterns, which need not all match in the path.
  return basicQueries.every(
    ({ text }) =>
      text === undefined ||
      (text.path &&
        text.leaves.length === 1 &&
        text.fileFilters.every((filter) => filter.kind !== "path" || filter.negated || !filter.highlighted)),
  );
}

function typeFilters({ plan, tally, history, repositoryResultCount }: FilterSource): Suggestion[] {
  const suggestions: Suggestion[] = [
    { value: "type:file", label: "Code", count: tally.contentMatches, kind: "type" },
    { value: "type:symbol", label: "Symbols", count: tally.symbolMatches, kind: "type" },
    { value: "type:path", label: "Paths", count: knowsPaths(plan, tally) ? tally.pathMatches : 0, kind: "type" },
    { value: "type:repo", label: "Repositories", count: repositoryResultCount, kind: "type" },
    { value: "type:commit", label: "Commits", count: history.commitMatches, kind: "type" },
    { value: "type:diff", label: "Diffs", count: history.diffMatches, kind: "type" },
  ];
  return suggestions.filter((suggestion) => suggestion.count > 0);
}

function languageFilters({ tally }: FilterSource): Suggestion[] {
  return [...tally.languages].map(([label, count]) => {
    const name = label.toLowerCase();
    return { value: `lang:${name.includes(" ") ? JSON.stringify(name) : name}`, label, count, kind: "lang" };
  });
}

function repositoryFilters({ tally, nameOf }: FilterSource): Suggestion[] {
  return [...tally.repositories].map(([key, count]) => {
    const at = key.indexOf("@");
    const name = nameOf(Number(key.slice(0, at)));
    const revision = key.slice(at + 1);
    return {
      value: `repo:^${escapeRegexp(name)}$${revision === "" ? "" : `@${revision}`}`,
      label: name,
      count,
      kind: "repo",
    };
  });
}

function fileFilters({ tally }: FilterSource): Suggestion[] {
  return fileKinds.flatMap((kind, i): Suggestion[] =>
    tally.fileKinds[i] > 0 ? [{ value: kind.value, label: kind.label, count: tally.fileKinds[i], kind: "file" }] : [],
  );
}

function symbolFilters({ tally }: FilterSource): Suggestion[] {
  return [...tally.symbolKinds].map(([kind, count]) => {
    const label = kind.replace(/(?:^|-)[a-z]/g, (start) => start.toUpperCase());
    return { value: `select:symbol.${kind}`, label, count, kind: "symbol type" };
  });
}

function authorFilters({ history }: FilterSource): Suggestion[] {
  return [...history.authors].map(([email, { name, count }]) => {
    const regexp = escapeRegexp(email);
    return {
      value: `author:${/[\s"]/.test(regexp) ? JSON.stringify(regexp) : regexp}`,
      label: name,
      count,
      kind: "author",
    };
  });
}

const ageSuggestions = [
  { value: "after:yesterday", label: "Last 24 hours" },
  { value: 'before:"1 week ago"', label: "Last week" },
  { value: 'before:"1 month ago"', label: "Last month" },
  { value: 'before:"2 months ago"', label: "Older than 2 months" },
] as const;

function ageFilters({ history }: FilterSource): Suggestion[] {
  return ageSuggestions.flatMap((suggestion, i): Suggestion[] =>
    history.ages[i] > 0 ? [{ ...suggestion, count: history.ages[i], kind: "commit date" }] : [],
  );
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

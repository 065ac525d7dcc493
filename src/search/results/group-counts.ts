import type { GroupKind, ResultGroup, ResultGroups, WantedGroups } from "../../model/result-groups.js";
import type { FoundCommit } from "../../protocol/commit-page.js";
import type { Tally } from "../../protocol/result-batch.js";
import { isDocumentSelect, onlyLeaf, type SearchPlan } from "../../query/plan/plan.js";
import { addFilters } from "../../query/plan/rewrite.js";
import { quoteValue } from "../../query/syntax/quote.js";
import type { QueryType } from "../../query/syntax/scan.js";
import { TrawlError } from "../../base/errors.js";
import { escapeRegexp } from "../../base/text.js";
import { hasCapture } from "../../regexp/syntax/parse.js";

/** Memory for the values of the groups of one search: about 300,000 paths. */
const valueBytesMax = 32 * 1024 * 1024;

/** Of a group besides its value. */
const entryBytes = 64;

/** Groups that are looked at in one step: a tenth of a millisecond. */
const groupsOfStep = 1000;

/** The search whose matches are counted. */
interface GroupedSearch {
  readonly queryText: string;
  readonly type: QueryType;
  readonly wanted: WantedGroups;
  readonly matchCount: number;
  /** Whether everything that may contain a match was searched. */
  readonly isComplete: boolean;
}

/** Counts the matches of a search by what they have in common. */
export class GroupCounts {
  readonly #by: GroupKind;
  readonly #counts = new Map<string, number>();
  /** Names of authors by address. */
  readonly #names = new Map<string, string>();
  #bytes = 0;
  /** Whether groups were left out for want of memory. */
  #isCut = false;

  constructor(by: GroupKind) {
    this.#by = by;
  }

  /** Adds what workers have counted. */
  addBatch(tally: Tally, nameOf: (repositoryId: number) => string): void {
    if (this.#by === "repository")
      for (const [key, count] of tally.repositories) this.#add(nameOf(Number(key.slice(0, key.indexOf("@")))), count);
    else if (this.#by === "language") for (const [name, count] of tally.languages) this.#add(name, count);
    else for (const [value, count] of tally.groups) this.#add(value, count);
  }

  /** Adds a commit or a diff. */
  addCommit({ authorEmail, authorName }: FoundCommit, repository: string, matchCount: number): void {
    if (this.#by === "repository") this.#add(repository, matchCount);
    if (this.#by !== "author") return;
    this.#add(authorEmail, matchCount);
    if (this.#counts.has(authorEmail)) this.#names.set(authorEmail, authorName);
  }

  /** Adds a repository that is a result. */
  addRepository(name: string): void {
    if (this.#by === "repository") this.#add(name, 1);
  }

  #add(value: string, count: number): void {
    const known = this.#counts.get(value);
    if (known === undefined) {
      const bytes = this.#bytes + value.length + entryBytes;
      if (bytes > valueBytesMax) {
        this.#isCut = true;
        return;
      }
      this.#bytes = bytes;
    }
    this.#counts.set(value, (known ?? 0) + count);
  }

  /** The largest groups, in steps. */
  *largest({ queryText, type, wanted, matchCount, isComplete }: GroupedSearch): Generator<void, ResultGroups> {
    const { by, countMax } = wanted;
    let best: [value: string, count: number][] = [];
    let seen = 0;
    for (const entry of this.#counts) {
      best.push(entry);
      if (best.length >= 2 * countMax + groupsOfStep) best = keepLargest(best, countMax);
      if (++seen % groupsOfStep === 0) yield;
    }
    // Enclosed, so that filters behind it apply to all of it.
    const enclosed = addFilters(queryText, type, "");
    const groups = keepLargest(best, countMax).map(([value, count]): ResultGroup => {
      const label = this.#names.get(value) ?? value;
      const filter = filterOfGroup(by, value);
      return filter === undefined
        ? { value, label, count }
        : { value, label, count, query: `${enclosed} ${filter}`.trim() };
    });
    const shown = groups.reduce((sum, { count }) => sum + count, 0);
    return {
      by,
      groups,
      otherGroups: this.#counts.size - groups.length,
      otherMatches: Math.max(0, matchCount - shown),
      complete: isComplete && !this.#isCut,
    };
  }
}

function keepLargest(entries: [value: string, count: number][], countMax: number): [value: string, count: number][] {
  return entries.sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1)).slice(0, countMax);
}

/** Finds one group alone; undefined for a captured text, which is a part of what matches. */
function filterOfGroup(by: GroupKind, value: string): string | undefined {
  switch (by) {
    case "repository":
      return `repo:${quoteValue(`^${escapeRegexp(value)}$`)}`;
    case "path":
      return `file:${quoteValue(`^(?-i:${escapeRegexp(value)})$`)}`;
    case "language":
      return `lang:${quoteValue(value.toLowerCase())}`;
    case "author":
      return `author:${quoteValue(escapeRegexp(value))}`;
    case "capture":
      return undefined;
  }
}

/** Throws `bad-request` if the matches of the search cannot be counted by this. */
export function requireCountable(plan: SearchPlan, by: GroupKind): void {
  const { basicQueries, resultOptions } = plan;
  const refuse = (reason: string, instead: string): never => {
    throw new TrawlError("bad-request", `group=${by}: ${reason}; ${instead}`);
  };
  if (resultOptions.some(({ select }) => isDocumentSelect(select)))
    refuse("the results of this select: are not matches", "remove it from the query");
  const hasHistory = basicQueries.some(({ history }) => history.length > 0);
  const hasOthers = basicQueries.some((one) => one.text !== undefined || one.repositoryNames !== undefined);
  if (by === "repository") return;
  if (by === "author") {
    if (!hasHistory || hasOthers) refuse("only commits and diffs have an author", "add type:commit or type:diff");
    return;
  }
  if (hasHistory) refuse("commits and diffs have none", "remove type:commit and type:diff, or use group=author");
  if (basicQueries.some(({ text }) => text === undefined)) refuse("repositories have none", "remove type:repo");
  if (by !== "capture") return;
  const leaf = onlyLeaf(plan);
  if (leaf === undefined || leaf.either.length > 0 || leaf.set !== undefined || !hasCapture(leaf.source))
    refuse("the query must have one pattern, a regular expression with a group", "as in /version = (\\d+)/");
}

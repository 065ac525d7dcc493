import { nothingFoundTitle, type Alert, type ProposedQuery } from "../../model/stream-events.js";
import { findMisspellings } from "../../query/fields/misspellings.js";
import type { FieldName } from "../../query/syntax/fields.js";
import type { SearchPlan } from "../../query/plan/plan.js";
import { rewriteQuery } from "../../query/plan/rewrite.js";
import { collectLeaves, type PatternNode } from "../../query/syntax/ast.js";
import { parsedTree } from "../../query/plan/plan-query.js";
import type { SearchPart } from "../source/search-part.js";
import { type QueryType, scan } from "../../query/syntax/scan.js";

/** At most so many queries are tried, one after another. */
const triedCountMax = 6;

/** All of them together may take this long, in milliseconds. */
const triedMsMax = 2_000;

/** Counting ends here. */
const countMax = 1_000;

/** Longer queries, in UTF-16 code units, are not varied. */
const queryLengthMax = 1_000;

/** The number of results that a query has for the viewer of the search; undefined if it is not known. */
export type CountResults = (query: string) => Promise<number | undefined>;

/** Whether repositories were left out because the query does not ask for them. */
export interface LeftOut {
  readonly forks: boolean;
  readonly archived: boolean;
}

export function leftOut(
  plan: SearchPlan,
  { excludedForkCount, excludedArchivedCount }: Pick<SearchPart, "excludedForkCount" | "excludedArchivedCount">,
): LeftOut {
  const filters = plan.basicQueries.map(({ repositories }) => repositories);
  return {
    forks: excludedForkCount > 0 && filters.every(({ forkGiven }) => !forkGiven),
    archived: excludedArchivedCount > 0 && filters.every(({ archivedGiven }) => !archivedGiven),
  };
}

/** A query that may have been meant instead of one that found nothing. */
interface NearQuery {
  readonly query: string;
  /** What it is, before a colon and the number of its results. */
  readonly description: string;
  /** Whether it is proposed without being tried, if queries are not tried. */
  readonly isLikely: boolean;
  /** Whether it is tried only if nothing before it has results. */
  readonly isLast?: true;
}

/** What can be said about a query that found nothing, and what could be searched for instead. */
interface Nearby {
  readonly sentences: readonly string[];
  readonly queries: readonly NearQuery[];
}

/**
 * The alert of a search that found nothing, if the query was probably not what was meant, or if a similar one has
 * results. Without `count`, no query is tried: only what is known from the text is said.
 */
export async function findNear(
  queryText: string,
  plan: SearchPlan,
  count: CountResults | undefined,
  left: LeftOut,
): Promise<Alert | undefined> {
  if (queryText.length > queryLengthMax) return undefined;
  const { sentences, queries } = varyQuery(queryText, plan, left);
  const proposals =
    count === undefined ? queries.filter(({ isLikely }) => isLikely) : await tryAll(queries, plan, count);
  if (sentences.length + proposals.length === 0) return undefined;
  const description =
    sentences.length > 0
      ? sentences.map((text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`.replace("?.", "?")).join("\n")
      : "No results, but similar queries have some.";
  return {
    title: nothingFoundTitle,
    description,
    proposedQueries:
      proposals.length === 0
        ? null
        : proposals.map(({ query, description }): ProposedQuery => ({ query, description })),
  };
}

async function tryAll(queries: readonly NearQuery[], plan: SearchPlan, count: CountResults): Promise<NearQuery[]> {
  const found: NearQuery[] = [];
  const endMs = performance.now() + triedMsMax;
  for (const near of queries.slice(0, triedCountMax)) {
    if (near.isLast === true && found.length > 0) continue;
    const leftMs = Math.floor(endMs - performance.now());
    if (leftMs < 1) return found;
    const counted = countedQuery(near.query, plan, leftMs);
    const number = await count(counted.query);
    if (number === undefined || number === 0) continue;
    const amount = number >= countMax ? `${countMax.toLocaleString("en")} or more` : String(number);
    const [one, many] = counted.noun;
    found.push({ ...near, description: `${near.description}: ${amount} ${number === 1 ? one : many}` });
  }
  return found;
}

/** The query with limits; where its results are in files, it counts these. */
function countedQuery(
  query: string,
  plan: SearchPlan,
  timeoutMs: number,
): { readonly query: string; readonly noun: readonly [one: string, many: string] } {
  const hasFiles = plan.basicQueries.some(({ text }) => text !== undefined) && !/\bselect:/i.test(query);
  const before = `count:${countMax} timeout:${timeoutMs}ms${hasFiles ? " select:file" : ""}`;
  const isUnion = plan.basicQueries.length > 1;
  const type = typeAtEnd.exec(query)?.[1] as QueryType;
  const limited = rewriteQuery(query, type, isUnion, { without: ["count", "timeout"], before, after: "" });
  return { query: limited, noun: hasFiles ? ["file", "files"] : ["match", "matches"] };
}

/** What `rewriteQuery` writes last. */
const typeAtEnd = / patternType:([a-z]+)$/;

const nothing = { without: [], before: "", after: "" } as const;

function varyQuery(text: string, plan: SearchPlan, { forks, archived }: LeftOut): Nearby {
  const type = plan.patternType;
  const tree = parsedTree(text, plan);
  const leaves = tree.root === undefined ? [] : collectLeaves(tree.root);
  const literals = leaves.filter((leaf): leaf is PatternNode => leaf.kind === "pattern" && leaf.form === "literal");
  const sentences: string[] = [];
  const queries: NearQuery[] = [];
  const rewritten = (changed: string, to: QueryType = type): string => rewriteQuery(changed, to, false, nothing);

  for (const { sentence, typed, meant } of findMisspellings(tree)) {
    sentences.push(sentence);
    const at = text.toLowerCase().indexOf(typed.toLowerCase());
    if (meant === undefined || at < 0) continue;
    const query = rewritten(text.slice(0, at) + meant + text.slice(at + typed.length));
    queries.push({ query, description: `with ${meant}`, isLikely: true });
  }
  const regexps = type === "regexp" ? [] : literals.filter(({ value }) => value.split(/\s/).some(looksLikeRegexp));
  if (regexps.length > 0) {
    const shown = regexps.map(({ value }) => value).join(", ");
    sentences.push(`${shown} was searched for as text, because the pattern type is ${type}`);
    queries.push({ query: rewritten(text, "regexp"), description: "as a regular expression", isLikely: true });
  }
  if (type === "regexp" && leaves.some((leaf) => leaf.kind === "pattern" && leaf.form === "regexp"))
    queries.push({ query: rewritten(text, "literal"), description: "as text", isLikely: false });
  if (type !== "keyword" && literals.some(({ value, contentOnly }) => !contentOnly && /\s/.test(value)))
    queries.push({ query: rewritten(text, "keyword"), description: "all of the words, anywhere", isLikely: false });
  const words = wordsOfPhrases(text, type);
  if (words !== undefined)
    queries.push({
      query: rewritten(words, "keyword"),
      description: "the words of the phrase, anywhere",
      isLikely: false,
    });
  const any = anyWord(text, type);
  if (any !== undefined)
    queries.push({ query: rewritten(any, type), description: "any of the words", isLikely: false });
  if (plan.basicQueries.length === 1) {
    const isHistory = plan.basicQueries[0].history.length > 0;
    const present = removable.filter(
      ([name]) =>
        // Without its repositories, a search of histories reads all of them.
        !(isHistory && name === "repo") && leaves.some((leaf) => leaf.kind === "field" && leaf.name === name),
    );
    const alone = present.map((filter) => [filter]);
    for (const filters of present.length > 1 ? [...alone, present] : alone) {
      const without = filters.flatMap(([, names]) => names);
      const query = rewriteQuery(text, type, false, { without, before: "", after: "" });
      const description = `without ${filters.map(([name]) => `${name}:`).join(" and ")}`;
      if (/^patternType:/.test(query)) continue;
      queries.push({ query, description, isLikely: false, ...(filters.length > 1 ? { isLast: true } : {}) });
    }
  }
  const wider = [...(forks ? ["fork:yes"] : []), ...(archived ? ["archived:yes"] : [])].join(" ");
  if (wider !== "") {
    const query = rewriteQuery(text, type, plan.basicQueries.length > 1, { without: [], before: "", after: wider });
    queries.push({ query, description: `with ${wider}`, isLikely: false });
  }
  return { sentences, queries };
}

/** The query with the words of its quoted phrases instead of these; undefined if it has none. */
function wordsOfPhrases(text: string, type: QueryType): string | undefined {
  if (type !== "keyword" && type !== "regexp") return undefined;
  let changed = "";
  let at = 0;
  for (const token of scan(text, type, false)) {
    if (token.kind !== "pattern" || token.form !== "literal") continue;
    const { from, to } = token.span;
    if (!/^["']/.test(text.slice(from, to)) || !/\S\s+\S/.test(token.value)) continue;
    changed += text.slice(at, from) + token.value;
    at = to;
  }
  return at === 0 ? undefined : changed + text.slice(at);
}

/** More words are not varied: almost every file has one of them. */
const wordCountMax = 8;

/** The query with `or` between its words; undefined if it is not two words or more, with nothing but filters beside them. */
function anyWord(text: string, type: QueryType): string | undefined {
  const tokens = scan(text, type, false);
  if (type !== "keyword" || tokens.some(({ kind }) => kind !== "field" && kind !== "pattern")) return undefined;
  const take = (wanted: "field" | "pattern"): string[] =>
    tokens.flatMap(({ kind, span }) => (kind === wanted ? [text.slice(span.from, span.to)] : []));
  const words = take("pattern");
  if (words.length < 2 || words.length > wordCountMax) return undefined;
  return [...take("field"), `(${words.join(" or ")})`].join(" ");
}

/** The filters that are left out, with those that need them. */
const removable: readonly (readonly [name: FieldName, without: readonly FieldName[]])[] = [
  ["lang", ["lang"]],
  ["file", ["file"]],
  ["repo", ["repo", "rev"]],
  ["case", ["case"]],
  ["context", ["context"]],
  ["author", ["author"]],
  ["after", ["after"]],
  ["before", ["before"]],
];

/** Whether the word has what only a regular expression needs. */
function looksLikeRegexp(word: string): boolean {
  return /^\^.|.\$$|\.[*+?]|\\[bBdDsSwW]|[^|]\|[^|]/.test(word);
}

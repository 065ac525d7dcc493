import { type FieldName, fieldNames, fields } from "../../../query/syntax/fields.js";
import type { PatternType, QueryState } from "../query-state.js";
import { scan } from "../../../query/syntax/scan.js";

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
function isNegatable(field: FieldName): boolean {
  return fields[field].negatable;
}

/** A proposal for the text at the cursor. */
export interface Completion {
  readonly label: string;
  readonly note: string;
  /** What replaces the part of the query that was typed. */
  readonly insert: string;
  /** Present for one that was run before, which replaces all of the query. */
  readonly search?: QueryState;
}

export const proposedMax = 8;

/** Proposals that need no request. */
export function proposeAtOnce(place: CompletionPlace): readonly Completion[] {
  const prefix = place.prefix.toLowerCase();
  if (place.kind === "value")
    return (fieldValues[place.field] ?? [])
      .filter((value) => value.startsWith(prefix) && value !== prefix)
      .map((value) => ({ label: value, note: "", insert: `${value} ` }));
  return fieldNames
    .filter((name) => name.startsWith(prefix) && (place.negation === "" || isNegatable(name)))
    .flatMap((name) => {
      const note = fieldHelp[name];
      return note === undefined ? [] : [{ label: `${place.negation}${name}:`, note, insert: `${name}:` }];
    })
    .slice(0, proposedMax);
}

/** What each field is for, in a few words; fields without a line here are not proposed. */
const fieldHelp: Readonly<Partial<Record<FieldName, string>>> = {
  repo: "repositories with this name",
  file: "files with this path",
  lang: "files in this language",
  type: "the kind of results",
  case: "whether case counts",
  content: "a text, whatever it looks like",
  rev: "a branch, tag or commit",
  context: "a set of repositories",
  select: "what the results are",
  count: "at most this number of matches",
  timeout: "at most this time",
  fork: "whether forks are searched",
  archived: "whether archived repositories are searched",
  visibility: "public or private repositories",
  patterntype: "how patterns are read",
  author: "commits of this person",
  committer: "commits committed by this person",
  before: "commits before a date",
  after: "commits after a date",
  message: "commits with this message",
  index: "whether only indexed revisions are searched",
};

const yesNo: readonly string[] = ["yes", "no"];
const yesNoOnly: readonly string[] = ["yes", "no", "only"];

/** Values that are words of the language. */
const fieldValues: Readonly<Partial<Record<FieldName, readonly string[]>>> = {
  type: ["file", "path", "symbol", "repo", "commit", "diff"],
  case: yesNo,
  fork: yesNoOnly,
  archived: yesNoOnly,
  index: yesNoOnly,
  visibility: ["any", "public", "private"],
  patterntype: ["standard", "keyword", "regexp", "literal"],
  count: ["all", "100", "1000"],
  timeout: ["10s", "60s"],
  before: ['"1 week ago"', '"1 month ago"', "yesterday"],
  after: ['"1 week ago"', '"1 month ago"', "yesterday"],
  select: [
    "repo",
    "file",
    "file.path",
    "file.directory",
    "file.owners",
    "content",
    "symbol",
    "symbol.function",
    "symbol.class",
    "symbol.method",
    "commit.diff.added",
    "commit.diff.removed",
  ],
};

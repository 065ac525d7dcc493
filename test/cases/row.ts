/** How the text is read when the query does not say. */
export type CaseType = "standard" | "keyword" | "literal" | "regexp" | "structural";

/**
 * One question and its answer.
 *
 * An answer is one string for each result, in any order: `repository:path:L3,L7` for a content result with the lines
 * that hold a match, `repository:path` for a path result, `repository` for a repository result. A revision that was
 * asked for follows the repository, as in `parser@dev:README.md:L1`. `alert: title: description` and `error: message`
 * are answers too; one that ends in "…" tells how the text begins.
 */
export interface CaseRow {
  readonly name: string;
  readonly query: string;
  /** The request's other parameters, as in a URL: `t=keyword`. */
  readonly request: string;
  readonly want: readonly string[];
  /** Reasons of the last progress; undefined where they are not the point. */
  readonly skipped: readonly string[] | undefined;
}

export type GivenRow = readonly [name: string, query: string, want: readonly string[], skipped?: readonly string[]];

/** Rows whose request names the pattern type. */
export function rows(group: string, type: CaseType, given: readonly GivenRow[]): readonly CaseRow[] {
  return requestRows(`${group}, ${type}`, `t=${type}`, given);
}

/** Rows with any parameters of the request. */
export function requestRows(group: string, request: string, given: readonly GivenRow[]): readonly CaseRow[] {
  return given.map(([name, query, want, skipped]) => ({ name: `${group}: ${name}`, query, request, want, skipped }));
}

/** Answers from the repository `acme/tools`. */
export function tools(...answers: string[]): readonly string[] {
  return answers.map((answer) => `acme/tools:${answer}`);
}

/** Answers from the repository `parser`. */
export function parser(...answers: string[]): readonly string[] {
  return answers.map((answer) => `parser:${answer}`);
}

/** How an alert about the query's text begins. */
export const unable = "alert: Unable To Process Query: ";

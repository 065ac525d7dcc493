import { escapeUrlPath } from "../../base/escape-url-path.js";
import type { HistoryKind } from "../../query/plan/history-plan.js";
import type { RepositorySummary } from "../../protocol/repository-summaries.js";

/** A commit or a diff that a search of history found: plain data. Text that is not UTF-8 has U+FFFD instead. */
export interface CommitResult {
  readonly kind: HistoryKind;
  readonly oid: string;
  readonly author: PersonAndTime;
  readonly committer: PersonAndTime;
  /** Without newlines at its end, like `text`. */
  readonly message: string;
  /**
   * For "commit" the message; for "diff" the changes that satisfy the query. Each file begins with a line of its old and
   * its new path, `/dev/null` for none, then follow its hunks: `@@ -1,2 +3,4 @@ section` and lines with their signs.
   */
  readonly text: string;
  /** Line of `text` from 0, first code point in the line from 0, number of code points. In this order, none is empty. */
  readonly ranges: readonly (readonly [line: number, from: number, length: number])[];
}

export interface PersonAndTime {
  readonly name: string;
  readonly email: string;
  readonly unixSeconds: number;
}

/** How results are written for a client. */
export interface CommitMatchForm {
  /** The `type` of diffs: some clients accept only "commit". */
  readonly diffType: "commit" | "diff";
  /** For "2 days ago". */
  readonly nowMs: number;
}

/** The result as a match object of the stream, in JSON. */
export function encodeCommitMatch(
  result: CommitResult,
  { id, name, stars, lastFetched }: Pick<RepositorySummary, "id" | "name" | "stars" | "lastFetched">,
  { diffType, nowMs }: CommitMatchForm,
): string {
  const { kind, oid, author, committer, message, text, ranges } = result;
  const repositoryUrl = `/${escapeUrlPath(name)}`;
  const url = `${repositoryUrl}/-/commit/${oid}`;
  const [subject] = message.split("\n", 1);
  const title = `[${author.name}](${url}): [${subject}](${url})`;
  const detail = `[\`${oid.slice(0, 7)}\` ${timeAgo(author.unixSeconds, nowMs)}](${url})`;
  const messageJson = quote(message);
  // Most texts are ASCII, and a string of them takes one byte per character: so the only other character is escaped.
  const parts = [
    `{"type":"${kind === "diff" ? diffType : "commit"}"`,
    `"label":"${quote(`[${shortName(name)}](${repositoryUrl})`)} \\u203a ${quote(title)}"`,
    `"url":"${quote(url)}"`,
    `"detail":"${quote(detail)}"`,
    `"repositoryID":${id}`,
    `"repository":"${quote(name)}"`,
    ...(stars > 0 ? [`"repoStars":${stars}`] : []),
    ...(lastFetched === "" ? [] : [`"repoLastFetched":"${lastFetched}"`]),
    `"oid":"${oid}"`,
    `"message":"${messageJson}"`,
    `"authorName":"${quote(author.name)}"`,
    `"authorDate":"${formatDate(author.unixSeconds)}"`,
    `"committerName":"${quote(committer.name)}"`,
    `"committerDate":"${formatDate(committer.unixSeconds)}"`,
    `"content":"\`\`\`${kind === "commit" ? "COMMIT_EDITMSG" : "diff"}\\n${text === message ? messageJson : quote(text)}\\n\`\`\`"`,
    `"ranges":${encodeRanges(ranges)}}`,
  ];
  return parts.join(",");
}

/** The text as it is between the quotation marks of a string in JSON. */
function quote(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** The fence of the content is line 0. */
function encodeRanges(ranges: CommitResult["ranges"]): string {
  return `[${ranges.map(([line, from, length]) => `[${line + 1},${from},${length}]`).join(",")}]`;
}

/** A result with more ranges than the limit leaves has the first ones only. */
export function cutRanges(result: CommitResult, countMax: number): CommitResult {
  return result.ranges.length <= countMax ? result : { ...result, ranges: result.ranges.slice(0, countMax) };
}

/** The name without its host: `github.com/a/b` is `a/b`. */
function shortName(name: string): string {
  const parts = name.split("/");
  return parts.length >= 3 && parts[0].includes(".") ? parts.slice(1).join("/") : name;
}

/** RFC 3339 in UTC. A commit may have a time that no date can show. */
function formatDate(unixSeconds: number): string {
  const date = new Date(unixSeconds * 1000);
  const isShown = date.getUTCFullYear() >= 0 && date.getUTCFullYear() <= 9999;
  return isShown ? date.toISOString().replace(".000Z", "Z") : "1970-01-01T00:00:00Z";
}

const periods: readonly (readonly [seconds: number, one: string, several: string])[] = [
  [1, "about a second", "seconds"],
  [60, "about a minute", "minutes"],
  [3600, "about an hour", "hours"],
  [86_400, "one day", "days"],
  [30 * 86_400, "one month", "months"],
  [365 * 86_400, "one year", "years"],
];

/** The time since then in its largest unit, rounded. */
export function timeAgo(unixSeconds: number, nowMs: number): string {
  const seconds = Math.abs(nowMs / 1000 - unixSeconds);
  const index = periods.findLastIndex(([unit]) => seconds >= unit);
  const [unit, one, several] = periods[Math.max(0, index)];
  const count = Math.round(seconds / unit);
  const text = count <= 1 ? one : `${count} ${several}`;
  return nowMs / 1000 < unixSeconds ? `in ${text}` : `${text} ago`;
}

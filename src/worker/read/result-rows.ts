import { escapeUrlPath } from "../../base/path-text.js";
import { pathOfMatch, type ChunkMatch, type StreamMatch, type StreamRange } from "../../model/stream-events.js";

/**
 * Longer texts and lists of ranges are cut: a cell of a spreadsheet holds as many characters (UTF-16 units), and the text of
 * a result may be a file in one line.
 */
export const cellCharsMax = 32_767;

/** One result as a row. Values that a result does not have are undefined. Documented in docs/query-syntax.md. */
export interface ResultRow {
  /** content, path, symbol, commit, diff, repository, or the type of another match object. */
  readonly kind: string;
  readonly repository?: string;
  /** The searched revision; a commit's own id is in `commit`. */
  readonly revision?: string;
  readonly commit?: string;
  readonly path?: string;
  readonly language?: string;
  /** From 1. */
  readonly line?: number;
  readonly matchCount: number;
  /** `LINE:COLUMN-LINE:COLUMN`, separated by blanks; lines and columns (code points) from 1, the end exclusive. */
  readonly ranges?: string;
  readonly text?: string;
  /** Whether `text` or `ranges` is not whole. */
  readonly isCut: boolean;
  readonly symbol?: string;
  readonly symbolKind?: string;
  readonly author?: string;
  readonly date?: string;
  readonly url?: string;
}

type Values = Omit<ResultRow, "isCut" | "ranges"> & {
  readonly ranges?: readonly string[];
  /** Of what was searched, whether a part is in the match object. */
  readonly isPart?: boolean;
};

/** The rows of a match object: one for each chunk, each symbol, and anything else that was found. */
export function* makeRows(match: StreamMatch, baseUrl: string): Generator<ResultRow> {
  const { type, repository, branches, commit, path, language } = match;
  const of = { kind: type, repository, revision: branches?.[0], commit, path, language };
  if (type === "commit" || type === "diff") return yield makeRow(commitValues(match, baseUrl));
  if (path === undefined) return yield makeRow(otherValues(match, baseUrl));
  const url = fileUrl(match, baseUrl);
  for (const { name, kind, line, url: symbolPath } of match.symbols ?? [])
    yield makeRow({ ...of, line, matchCount: 1, symbol: name, symbolKind: kind, url: baseUrl + symbolPath });
  for (const chunk of match.chunkMatches ?? []) yield makeRow({ ...of, ...chunkValues(chunk, url) });
  if (match.symbols !== undefined || match.chunkMatches !== undefined) return;
  const ranges = match.pathMatches ?? [];
  yield makeRow({ ...of, matchCount: Math.max(1, ranges.length), ranges: ranges.map(formatRange), url });
}

function chunkValues({ content, contentStart, ranges, contentTruncated }: ChunkMatch, url: string) {
  const line = contentStart.line + 1;
  return {
    line,
    matchCount: ranges.length,
    ranges: ranges.map(formatRange),
    text: content,
    isPart: contentTruncated === true,
    url: `${url}?L${line}`,
  };
}

/** The `content` of a commit is its message or its diff between two lines of a fence. */
function commitValues(match: StreamMatch, baseUrl: string): Values {
  const { repository, oid, authorName, authorDate, url = "", content = "", ranges = [], contentTruncated } = match;
  const [fence = ""] = /^```\w*\n/.exec(content) ?? [];
  const text = content.slice(fence.length, content.endsWith("\n```") ? -"\n```".length : undefined);
  return {
    kind: fence === "```diff\n" ? "diff" : "commit",
    repository,
    commit: oid,
    matchCount: Math.max(1, ranges.length),
    // Their lines count the fence as line 0.
    ranges: ranges.map(([line, from, length]) => `${line}:${from + 1}-${line}:${from + length + 1}`),
    text,
    isPart: contentTruncated === true,
    author: authorName,
    date: authorDate,
    url: baseUrl + url,
  };
}

function otherValues(match: StreamMatch, baseUrl: string): Values {
  const { type, repository, branches, repositoryMatches = [], description, handle, email } = match;
  return {
    kind: type === "repo" ? "repository" : type,
    repository,
    revision: branches?.[0],
    matchCount: Math.max(1, repositoryMatches.length),
    ranges: repositoryMatches.map(formatRange),
    text: description ?? handle ?? email,
    url: repository === undefined ? undefined : `${baseUrl}/${escapeUrlPath(repository)}`,
  };
}

function fileUrl(match: StreamMatch, baseUrl: string): string {
  const { repository = "", commit, branches } = match;
  const revision = commit ?? branches?.[0] ?? "";
  const at = revision === "" ? "" : `@${escapeUrlPath(revision)}`;
  return `${baseUrl}/${escapeUrlPath(repository)}${at}/-/blob/${escapeUrlPath(pathOfMatch(match))}`;
}

function formatRange({ start, end }: StreamRange): string {
  return `${start.line + 1}:${start.column + 1}-${end.line + 1}:${end.column + 1}`;
}

function makeRow({ ranges, text, isPart = false, ...others }: Values): ResultRow {
  const shownRanges = joinRanges(ranges ?? []);
  const shownText = text === undefined || text.length <= cellCharsMax ? text : cutText(text);
  const isCut = isPart || shownText !== text || shownRanges.count < (ranges?.length ?? 0);
  return { ...others, ranges: shownRanges.text, text: shownText, isCut };
}

/** As many whole ranges as a cell holds. */
function joinRanges(ranges: readonly string[]): { readonly text: string | undefined; readonly count: number } {
  let length = 0;
  let count = 0;
  while (count < ranges.length && (length += ranges[count].length + 1) <= cellCharsMax + 1) count++;
  return { text: count === 0 ? undefined : ranges.slice(0, count).join(" "), count };
}

/** Does not divide a character that has two units. */
function cutText(text: string): string {
  const last = text.charCodeAt(cellCharsMax - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? cellCharsMax - 1 : cellCharsMax);
}

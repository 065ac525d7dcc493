import { toJson } from "../../base/text.js";
import { uninitializedBytes } from "../../base/bytes.js";
import { escapeUrlPath } from "../../base/path-text.js";
import type { Kernel } from "../../native/kernel/kernel.js";
import type { HistoryKind } from "../../query/plan/plan.js";
import type { RepositorySummary } from "../../protocol/repository-summaries.js";

const newlineByte = 10;

/** A commit or a diff that a search of history found: plain data. Text that is not UTF-8 has U+FFFD instead. */
export interface CommitResult {
  readonly kind: HistoryKind;
  readonly oid: string;
  readonly author: PersonAndTime;
  readonly committer: PersonAndTime;
  /** Valid UTF-8, without newlines at its end. */
  readonly message: Uint8Array;
  /**
   * Of a diff: the changes that satisfy the query, without a newline at the end. Each file begins with a line of its old
   * and its new path, `/dev/null` for none, then follow its hunks: `@@ -1,2 +3,4 @@ section` and lines with their signs.
   */
  readonly diff: string;
  /**
   * In the message of a commit, or in the diff: line from 0, first code point in the line from 0, number of code points.
   * In this order, none is empty.
   */
  readonly ranges: readonly (readonly [line: number, from: number, length: number])[];
  /** Whether a part of the diff or some ranges were left out. */
  readonly isCut: boolean;
}

export interface PersonAndTime {
  readonly name: string;
  readonly email: string;
  readonly unixSeconds: number;
}

/** The repository of results. */
export type CommitRepository = Pick<RepositorySummary, "id" | "name" | "stars" | "lastFetched">;

/** How results are written for a client. */
export interface CommitMatchForm {
  /** The `type` of diffs: some clients accept only "commit". */
  readonly diffType: "commit" | "diff";
  /** For "2 days ago". */
  readonly nowMs: number;
}

/** The output grows from this size; most pages of results have a tenth of it to a few times as much. */
const outputBytesFirst = 128 * 1024;

/** A character takes at most this many bytes in UTF-8. */
const unitBytesMax = 3;

/**
 * Writes results as match objects of the stream, in JSON, each followed by a comma, into one buffer. Messages are escaped by the
 * kernel as bytes: as strings, `JSON.stringify` takes 10 µs per KB, more than everything else.
 */
export class CommitWriter {
  readonly #kernel: Pick<Kernel, "writeJson">;
  readonly #form: CommitMatchForm;
  readonly #repositoryUrl: string;
  /** What precedes the title in the label, and the members of the repository. */
  readonly #shortName: string;
  readonly #repositoryMembers: string;
  readonly #quoted = new Map<string, string>();
  #out = uninitializedBytes(outputBytesFirst);
  #at = 0;

  constructor(kernel: Pick<Kernel, "writeJson">, repository: CommitRepository, form: CommitMatchForm) {
    const { id, name, stars, lastFetched } = repository;
    this.#kernel = kernel;
    this.#form = form;
    this.#repositoryUrl = quote(`/${escapeUrlPath(name)}`);
    this.#shortName = quote(shortName(name));
    const starsMember = stars > 0 ? `,"repoStars":${stars}` : "";
    const fetchedMember = lastFetched === "" ? "" : `,"repoLastFetched":"${lastFetched}"`;
    this.#repositoryMembers = `"repositoryID":${id},"repository":"${quote(name)}"${starsMember}${fetchedMember}`;
  }

  /** Number of bytes written. */
  get byteCount(): number {
    return this.#at;
  }

  /** What was written. */
  get bytes(): Buffer {
    return this.#out.subarray(0, this.#at);
  }

  write({ kind, oid, author, committer, message, diff, ranges, isCut }: CommitResult): void {
    const { diffType, nowMs } = this.#form;
    const repositoryUrl = this.#repositoryUrl;
    const url = `${repositoryUrl}/-/commit/${oid}`;
    const authorName = this.#quote(author.name);
    // Most texts are ASCII, and a string of them takes one byte per character: so the only other character is escaped.
    const label = `[${this.#shortName}](${repositoryUrl}) \\u203a [${authorName}](${url}): [`;
    this.#text(`{"type":"${kind === "diff" ? diffType : "commit"}","label":"${label}`);
    const newline = message.indexOf(newlineByte);
    this.#escaped(message, 0, newline < 0 ? message.length : newline);
    const detail = `[\`${oid.slice(0, 7)}\` ${timeAgo(author.unixSeconds, nowMs)}](${url})`;
    const members = this.#repositoryMembers;
    this.#text(`](${url})","url":"${url}","detail":"${detail}",${members},"oid":"${oid}","message":"`);
    const from = this.#at;
    this.#escaped(message, 0, message.length);
    const to = this.#at;
    const authorMembers = `"authorName":"${authorName}","authorDate":"${formatDate(author.unixSeconds)}"`;
    const committerName = this.#quote(committer.name);
    const committerMembers = `"committerName":"${committerName}","committerDate":"${formatDate(committer.unixSeconds)}"`;
    const fence = `\`\`\`${kind === "commit" ? "COMMIT_EDITMSG" : "diff"}\\n`;
    this.#text(`",${authorMembers},${committerMembers},"content":"${fence}`);
    if (kind === "commit") this.#again(from, to);
    else {
      const bytes = Buffer.from(diff);
      this.#escaped(bytes, 0, bytes.length);
    }
    this.#text(`\\n\`\`\`","ranges":${encodeRanges(ranges)}${isCut ? ',"contentTruncated":true' : ""}},`);
  }

  #quote(name: string): string {
    let quoted = this.#quoted.get(name);
    if (quoted === undefined) this.#quoted.set(name, (quoted = quote(name)));
    return quoted;
  }

  #text(text: string): void {
    this.#reserve(text.length * unitBytesMax);
    this.#at += this.#out.write(text, this.#at);
  }

  #escaped(text: Uint8Array, from: number, to: number): void {
    this.#reserve(to - from);
    for (;;) {
      const end = this.#kernel.writeJson(text, from, to, this.#out, this.#at);
      if (end <= this.#out.length) {
        this.#at = end;
        return;
      }
      this.#reserve(this.#out.length);
    }
  }

  /** Writes again what is at `[from, to)`. */
  #again(from: number, to: number): void {
    this.#reserve(to - from);
    this.#out.copyWithin(this.#at, from, to);
    this.#at += to - from;
  }

  #reserve(byteCount: number): void {
    if (this.#at + byteCount <= this.#out.length) return;
    const grown = uninitializedBytes(Math.max(this.#at + byteCount, this.#out.length * 2));
    this.#out.copy(grown, 0, 0, this.#at);
    this.#out = grown;
  }
}

/** The text as it is between the quotation marks of a string in JSON. */
function quote(text: string): string {
  return toJson(text).slice(1, -1);
}

/** The fence of the content is line 0. */
function encodeRanges(ranges: CommitResult["ranges"]): string {
  return `[${ranges.map(([line, from, length]) => `[${line + 1},${from},${length}]`).join(",")}]`;
}

/** The name without its host: `github.com/a/b` is `a/b`. */
function shortName(name: string): string {
  const parts = name.split("/");
  return parts.length >= 3 && parts[0].includes(".") ? parts.slice(1).join("/") : name;
}

/** The years 0 to 9999. */
const shownSecondsMin = Date.UTC(-1, 12) / 1000;
const shownSecondsEnd = Date.UTC(10_000, 0) / 1000;

/** RFC 3339 in UTC. A commit may have a time that no date can show. */
function formatDate(unixSeconds: number): string {
  const isShown = unixSeconds >= shownSecondsMin && unixSeconds < shownSecondsEnd;
  return isShown ? `${new Date(unixSeconds * 1000).toISOString().slice(0, -".000Z".length)}Z` : "1970-01-01T00:00:00Z";
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

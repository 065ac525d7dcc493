import { escapeUrlPath } from "../base/path-text.js";
import { oneLine, withoutReordering } from "../base/text.js";
import type { MatchChange } from "../model/match-change.js";
import { type BodyHeader, type NewCommit, type StoredPayload, sumCounts } from "./payload.js";

/** UTF-16 units of what is shown of a text of others. */
const textLengthMax = 200;

/** A longer URL is refused by chats: that of a path of thousands of characters, or of a long query. */
const urlLengthMax = 1_500;

/** One result, in a message for people. None of its texts has line ends, control characters, or characters that reorder text. */
export interface AnnouncedItem {
  /** Where it is. */
  readonly label: string;
  /** "" if it is too long. */
  readonly url: string;
  /** What it says. */
  readonly text: string;
}

/** What a chat or a mail says. Its texts are those of others, as they are: each format escapes them. */
export interface Announcement {
  readonly title: string;
  /** Which search found it. */
  readonly origin: string;
  /** Why something is not known; "" if there is nothing of that kind. */
  readonly problem: string;
  /** The page of all results; of a long query, the page that lists saved searches. */
  readonly url: string;
  readonly items: readonly AnnouncedItem[];
  /** How many results came. */
  readonly count: number;
}

export function announce(
  { search, owner, url, baseUrl }: BodyHeader,
  { event, repositories, matches, commits, error = "" }: StoredPayload,
): Announcement {
  const { came, went, moved } = sumCounts(repositories);
  const description = toShown(search.description);
  const items =
    commits === undefined
      ? matches.map((match) => matchItem(match, baseUrl))
      : commits.map((commit) => commitItem(commit, baseUrl));
  const news = {
    ping: "A test",
    "search.failed": "Not evaluated",
    "search.commits": `${came} new ${came === 1 ? "commit" : "commits"}`,
    "search.changes": listChanges([
      ["came", came],
      ["went", went],
      ["moved", moved],
    ]),
  }[event];
  const origin = `The saved search of ${toShown(owner)}: ${toShown(search.query)}`;
  const page = url.length > urlLengthMax ? `${baseUrl}/search` : url;
  return { title: `${news}: ${description}`, origin, problem: toShown(error), url: page, items, count: came };
}

/** What is said of the results that are not listed; "" if all are. */
export function describeRest({ count }: Announcement, listedCount: number): string {
  const left = count - listedCount;
  return left <= 0 ? "" : listedCount === 0 ? `${left} in total` : `and ${left} more`;
}

/** The message with as many of the items as fit: `build` is called with fewer and fewer of them. */
export function buildFitting<T>(
  announcement: Announcement,
  itemsMax: number,
  build: (announcement: Announcement) => T,
  fits: (message: T) => boolean,
): T {
  for (let count = Math.min(itemsMax, announcement.items.length); ; count--) {
    const message = build({ ...announcement, items: announcement.items.slice(0, count) });
    if (count === 0 || fits(message)) return message;
  }
}

function listChanges(changes: readonly (readonly [word: string, count: number])[]): string {
  return changes.flatMap(([word, count]) => (count === 0 ? [] : [`${count} ${word}`])).join(", ");
}

function toShown(text: string): string {
  return withoutReordering(oneLine(text, textLengthMax));
}

function toUrl(url: string): string {
  return url.length > urlLengthMax ? "" : url;
}

function commitItem({ repository, commit, authorName, message, url }: NewCommit, baseUrl: string): AnnouncedItem {
  const [subject = ""] = message.split("\n", 1);
  const label = toShown(`${repository} ${commit.slice(0, 10)}`);
  return { label, url: toUrl(baseUrl + url), text: toShown(`${subject} (${authorName})`) };
}

function matchItem(match: MatchChange, baseUrl: string): AnnouncedItem {
  const { repository, commit, path, lineNumber, line, symbol } = match;
  const at = lineNumber === undefined ? "" : `:${lineNumber + 1}`;
  const fragment = lineNumber === undefined ? "" : `?L${lineNumber + 1}`;
  const url = `${baseUrl}/${escapeUrlPath(repository)}@${commit}/-/blob/${escapeUrlPath(path)}${fragment}`;
  return { label: toShown(`${repository} ${path}${at}`), url: toUrl(url), text: toShown(line ?? symbol?.name ?? "") };
}

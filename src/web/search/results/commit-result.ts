import type { StreamMatch } from "../../../model/stream-events.js";
import { button, element } from "../../ui/element.js";
import { markedText, matchingTokens, unitIndex, type TextRange, type Token } from "../../ui/text-range.js";
import { diffClass, noFile, shortLine, sidesOfDiff } from "./diff-sides.js";
import { ownUrl, repositoryLink, resultFrame } from "./result-frame.js";
import type { ResultContext } from "./result-context.js";
import { formatDay } from "../../ui/numbers.js";

const linesShownMax = 30;

/** A commit whose message or changes match. */
export function commitResult(match: StreamMatch, key: string, context: ResultContext): HTMLElement {
  const { message = "", authorName = "", url = "", oid = "" } = match;
  const [subject = ""] = message.split("\n", 1);
  const title = element(
    "h2",
    {},
    repositoryLink(match),
    element("span", { class: "soft", "aria-hidden": "true" }, " › "),
    element("a", { class: "path", href: ownUrl(url) }, subject === "" ? oid.slice(0, 10) : subject),
  );
  const date = (match as { readonly authorDate?: string }).authorDate;
  const body = element("div", { class: "chunks" }, byline(authorName, oid, date), commitText(match, key, context));
  return resultFrame({ title, label: subject, note: "", body, fold: { state: context.state(key) } });
}

function byline(author: string, oid: string, date: string | undefined): HTMLElement {
  const made = element("p", { class: "byline" }, element("strong", {}, author));
  if (date !== undefined) made.append(element("time", { datetime: date, title: date }, formatDay(date)));
  made.append(element("code", {}, oid.slice(0, 10)));
  return made;
}

/** The text between the fences: a message, or the changed lines. Ranges count the first fence as line 0. */
function commitText(match: StreamMatch, key: string, context: ResultContext): HTMLElement {
  const [fence = "", ...all] = (match.content ?? "").split("\n");
  const lines = all.slice(0, -1);
  const isDiff = fence.endsWith("diff");
  const marks = marksByLine(match.ranges ?? []);
  const made = element("div", { class: isDiff ? "diff" : "message" });
  const line = (at: number, tokens: readonly Token[]): HTMLElement =>
    commitLine(lines[at] ?? "", marks.get(at + 1) ?? [], isDiff, tokens);
  const show = (from: number, to: number): void => {
    for (let at = from; at < Math.min(to, lines.length); at++) made.append(line(at, []));
    if (!isDiff) return;
    for (const { isOld, path, parts } of sidesOfDiff(lines.slice(0, to))) {
      const added = parts.filter(({ rows }) => (rows.at(-1) ?? 0) >= from);
      if (added.length === 0) continue;
      const file = { repository: match.repository ?? "", commit: `${match.oid ?? ""}${isOld ? "^" : ""}`, path };
      const spans = added.map(({ span }) => span);
      context.highlight(file, spans, (index, read) => {
        for (const [i, row] of added[index]?.rows.entries() ?? []) {
          const tokens = matchingTokens(read[i], lines[row]?.slice(1) ?? "");
          if (tokens.length > 0) made.children[row]?.replaceWith(line(row, tokens.map(afterSign)));
        }
      });
    }
  };
  const state = context.state(key);
  show(0, state.isWhole === true ? lines.length : linesShownMax);
  const cut = element("p", { class: "soft" }, isDiff ? "Shown in part" : "Some highlights are left out");
  const end = match.contentTruncated === true ? [cut] : [];
  if (lines.length <= linesShownMax || state.isWhole === true) return element("div", {}, made, ...end);
  const more = button("more", `${lines.length - linesShownMax} more lines`, () => {
    state.isWhole = true;
    more.remove();
    show(linesShownMax, lines.length);
  });
  return element("div", {}, made, more, ...end);
}

/** A line of a diff has its sign in front of the text. */
function afterSign({ from, to, kind }: Token): Token {
  return { from: from + 1, to: to + 1, kind };
}

type CommitRange = readonly [line: number, character: number, length: number];

function marksByLine(ranges: readonly CommitRange[]): ReadonlyMap<number, readonly CommitRange[]> {
  const found = new Map<number, CommitRange[]>();
  for (const range of ranges) found.set(range[0], [...(found.get(range[0]) ?? []), range]);
  return found;
}

function commitLine(
  line: string,
  ranges: readonly CommitRange[],
  isDiff: boolean,
  tokens: readonly Token[],
): HTMLElement {
  const text = isDiff ? shortLine(line) : line;
  // What a shortened line leaves out at its start is not counted.
  const before = line.startsWith(`${noFile} `) && text !== line ? noFile.length + 1 : 0;
  const marks: TextRange[] = ranges.map(([, character, length]) => ({
    from: unitIndex(text, Math.max(0, character - before)),
    to: unitIndex(text, Math.max(0, character + length - before)),
  }));
  const code = element("code", { class: isDiff ? diffClass(line) : undefined });
  code.append(markedText(text, marks, tokens));
  return code;
}

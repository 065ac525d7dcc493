import type { Receipt } from "../../../model/stream-events.js";
import type { MatchChange } from "../../../model/match-change.js";
import { withoutReordering } from "../../../base/text.js";
import { formatAmount, formatCount } from "../../ui/numbers.js";
import { mergeRanges, unitIndex } from "../../ui/text-range.js";

interface ReasonText {
  readonly text: string;
  /** Whether what was left out may contain a result that the query asks for. */
  readonly isGap: boolean;
}

function gap(text: string): ReasonText {
  return { text, isGap: true };
}

function choice(text: string): ReasonText {
  return { text, isGap: false };
}

/** Why something was left out, by the reasons of a receipt. */
const reasonTexts: Readonly<Record<string, ReasonText>> = {
  "match-limit": gap("The limit of matches was reached"),
  "display-limit": gap("Matches that were found and not sent"),
  timeout: gap("Repositories for which there was not enough time"),
  budget: gap("The searches of this user have reached their budget"),
  failure: gap("Parts of the search that failed"),
  costly: gap("Files that take too much work to search"),
  symbols: gap("Files whose symbols are not known yet"),
  "symbols-failed": gap("Files whose symbols could not be found"),
  history: gap("Repositories whose history is not read completely yet"),
  "history-cut": gap("Repositories whose source has only a part of the history"),
  "repository-missing": gap("Repositories that do not exist"),
  "repository-cloning": gap("Repositories that are being fetched for the first time"),
  "repository-excluded": gap("Repositories that could not be read"),
  "repository-quarantined": gap("Repositories with files that could not be indexed"),
  "objects-missing": gap("Repositories whose mirror lacks objects"),
  "revision-missing": gap("Revisions that do not exist"),
  "too-large": gap("Files that are too large to index"),
  "too-many-trigrams": gap("Files that are no text for people"),
  missing: gap("Files that the mirror lacks"),
  lfs: gap("Files in Git LFS whose contents are not here"),
  submodule: gap("Submodules whose contents could not be fetched"),
  quarantined: gap("Files that took too much time or memory to index"),
  binary: choice("Files that are not text"),
  "not-regular": choice("Symbolic links and submodules"),
  "not-decoded": choice("Files in an unknown encoding, searched byte by byte"),
  ignored: choice("Files whose text is left out by .sourcegraph/ignore"),
  fork: choice("Forks, which the query does not choose"),
  archived: choice("Archived repositories, which the query does not choose"),
};

export function reasonText(reason: string): ReasonText {
  return reasonTexts[reason] ?? gap(reason);
}

/** The id of a receipt, from its address. */
export function receiptId({ url }: Pick<Receipt, "url">): string {
  return url.slice(url.lastIndexOf("/") + 1);
}

/** How many matches came, went and moved; only what there is. */
export function countsText({ came, went, moved }: Readonly<Record<MatchChange["change"], number>>): string {
  return Object.entries({ came, went, moved })
    .filter(([, count]) => count > 0)
    .map(([what, count], at) => `${at === 0 ? formatAmount(count, "match", "matches") : formatCount(count)} ${what}`)
    .join(", ");
}

interface LinePart {
  readonly text: string;
  readonly isMatch: boolean;
}

/** The line of a change in parts, or its symbol; a path has none. */
export function changeParts({ line, offsetAndLengths = [], symbol }: MatchChange): readonly LinePart[] {
  if (symbol !== undefined) return [{ text: `${symbol.kind.toLowerCase()} ${symbol.name}`, isMatch: false }];
  if (line === undefined) return [];
  const shown = withoutReordering(line);
  const ranges = mergeRanges(
    offsetAndLengths.map(([start, length]) => ({
      from: unitIndex(shown, start),
      to: unitIndex(shown, start + length),
    })),
  );
  const parts: LinePart[] = [];
  let at = 0;
  for (const { from, to } of ranges) {
    if (from > at) parts.push({ text: shown.slice(at, from), isMatch: false });
    parts.push({ text: shown.slice(from, to), isMatch: true });
    at = to;
  }
  if (at < shown.length) parts.push({ text: shown.slice(at), isMatch: false });
  return parts;
}

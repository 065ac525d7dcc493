import type { MatchChange } from "../../../model/match-change.js";
import { withoutReordering } from "../../../base/text.js";
import { formatAmount, formatCount } from "../../ui/numbers.js";
import { mergeRanges, unitIndex } from "../../ui/text-range.js";

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

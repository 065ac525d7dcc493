import type { FoundCommit } from "../../protocol/commit-page.js";
import type { HistoryTally } from "../../protocol/tally.js";

const dayMs = 86_400_000;

/** Limits of the first ages in a `HistoryTally`. */
const agesMs = [dayMs, 7 * dayMs, 30 * dayMs];

/** Counts a result for the filters. */
export function countCommit(tally: HistoryTally, found: FoundCommit, matchCount: number, nowMs: number): void {
  if (found.kind === "commit") tally.commitMatches += matchCount;
  else tally.diffMatches += matchCount;
  const author = tally.authors.get(found.authorEmail);
  if (author === undefined) tally.authors.set(found.authorEmail, { name: found.authorName, count: 1 });
  else author.count++;
  const age = agesMs.findIndex((limit) => nowMs - found.committed * 1000 < limit);
  tally.ages[age < 0 ? agesMs.length : age]++;
}

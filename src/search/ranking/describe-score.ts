import { assert } from "../../base/assert.js";
import type { RankedDocument, RankingParts } from "../../protocol/rank-messages.js";

/** The parts whose sum is multiplied, in the order of docs/internals/ranking.md. */
const partNames = [
  "symbol",
  "fileName",
  "folders",
  "line",
  "wholeWords",
  "phrase",
  "matches",
] as const satisfies readonly (keyof RankingParts)[];

/**
 * How a document was scored, and what decides between equal scores:
 *
 *     score 1113 = (symbol 1040 + fileName 0 + … + matches 8) × fileFactor 1; stars 3; committed 2024-05-01T12:00:00Z
 */
export function describeScore({ score, parts, stars, committedSeconds }: RankedDocument): string {
  assert(parts !== undefined, "parts are wanted");
  const sum = partNames.map((name) => `${name} ${rounded(parts[name])}`).join(" + ");
  const date = committedSeconds === 0 ? "" : `; committed ${describeDate(committedSeconds)}`;
  return `score ${score} = (${sum}) × fileFactor ${rounded(parts.fileFactor)}; stars ${stars}${date}`;
}

/** At most two decimals. */
function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}

function describeDate(unixSeconds: number): string {
  const date = new Date(unixSeconds * 1000);
  return Number.isNaN(date.getTime()) ? `${unixSeconds} seconds after 1970` : date.toISOString().replace(".000Z", "Z");
}

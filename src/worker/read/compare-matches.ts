import { assert } from "../../base/assert.js";
import { TrawlError } from "../../base/errors.js";
import type { MatchChange, MatchPlace } from "../../model/match-change.js";
import type { StreamMatch } from "../../model/stream-events.js";
import {
  type ComparedMatches,
  type ComparedRevision,
  type CompareMatches,
  parseSideName,
} from "../../protocol/change-messages.js";
import type { ReadContext } from "./context.js";
import { type MatchPair, pairMatches, type PlacedMatch, placedMatches } from "./match-changes.js";

/** A piece is complete with this many characters. */
const pieceLengthMin = 64 * 1024;

/** Matches on both sides of one revision. */
interface Sides {
  readonly before: PlacedMatch[];
  readonly after: PlacedMatch[];
}

/** Compares the matches of each revision, and encodes what changed, in the order of the revisions. */
export function answerCompareMatches(
  { matches, revisions }: CompareMatches,
  { stop }: Pick<ReadContext, "stop">,
): ComparedMatches {
  const sides = revisions.map((): Sides => ({ before: [], after: [] }));
  for (const bytes of matches) {
    if (stop()) throw new TrawlError("cancelled", "the search was stopped");
    for (const match of JSON.parse(Buffer.from(bytes).toString()) as StreamMatch[]) {
      const { index, isNew } = parseSideName(match.branches?.[0] ?? "");
      assert(index < sides.length, "a match is of a revision that is compared");
      const { before, after } = sides[index];
      const side = isNew ? after : before;
      for (const placed of placedMatches(match)) side.push(placed);
    }
  }
  const counts = { came: 0, went: 0, moved: 0 };
  const pieces: Uint8Array[] = [];
  let text = "";
  for (const [i, { before, after }] of sides.entries()) {
    if (stop()) throw new TrawlError("cancelled", "the search was stopped");
    for (const pair of pairMatches(before, after)) {
      const change = describe(pair, revisions[i]);
      counts[change.change]++;
      text += `${text === "" ? "" : ","}${JSON.stringify(change)}`;
      if (text.length < pieceLengthMin) continue;
      pieces.push(Buffer.from(text));
      text = "";
    }
  }
  if (text !== "") pieces.push(Buffer.from(text));
  return { pieces, ...counts };
}

function describe({ before, after }: MatchPair, compared: ComparedRevision): MatchChange {
  const match = (after ?? before) as PlacedMatch;
  return {
    change: before === undefined ? "came" : after === undefined ? "went" : "moved",
    ...match.content,
    repository: compared.repository,
    repositoryID: compared.repositoryId,
    revision: compared.revision,
    ...place(match),
    ...(before === undefined || after === undefined ? {} : { from: place(before) }),
  };
}

function place({ commit, path, lineNumber }: PlacedMatch): MatchPlace {
  return lineNumber < 0 ? { commit, path } : { commit, path, lineNumber };
}

import type { StreamMatch } from "../model/stream-events.js";

/** The match object with at most this many ranges. */
export function cutCommitMatch(json: string, rangeCountMax: number): string {
  // Most have few ranges: each takes at least this many characters.
  if (json.length < rangeCountMax * "[1,0,1],".length) return json;
  const match = JSON.parse(json) as StreamMatch;
  if ((match.ranges?.length ?? 0) <= rangeCountMax) return json;
  return JSON.stringify({ ...match, ranges: match.ranges?.slice(0, rangeCountMax) });
}

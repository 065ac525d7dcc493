import type { StreamMatch } from "../model/stream-events.js";
import type { FoundCommit } from "./history-messages.js";

/** The match object with at most this many ranges. */
export function cutCommitMatch({ json, rangeCount }: FoundCommit, rangeCountMax: number): Uint8Array {
  if (rangeCount <= rangeCountMax) return json;
  const match = JSON.parse(Buffer.from(json).toString("utf8")) as StreamMatch;
  return Buffer.from(JSON.stringify({ ...match, ranges: match.ranges?.slice(0, rangeCountMax) }));
}

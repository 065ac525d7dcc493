import { toJson } from "../base/text.js";
import type { StreamMatch } from "../model/stream-events.js";
import type { FoundCommit } from "./commit-page.js";

/** The match object with at most this many ranges. */
export function cutCommitMatch({ json, from, to, rangeCount }: FoundCommit, rangeCountMax: number): Uint8Array {
  const whole = json.subarray(from, to);
  if (rangeCount <= rangeCountMax) return whole;
  const match = JSON.parse(Buffer.from(whole).toString("utf8")) as StreamMatch;
  return Buffer.from(toJson({ ...match, ranges: match.ranges?.slice(0, rangeCountMax) }));
}

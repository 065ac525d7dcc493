import type { BenchQuery } from "./queries.js";
import type { LineId, ResultSet } from "./result-set.js";

/**
 * A tool or server that searches the corpus; our daemon is one of them.
 *
 * Contract: `time` and `results` do the same work, to the end of the whole answer. One call at a time.
 */
export interface Peer {
  readonly name: string;
  /** As it reports itself, or a checksum of its program. */
  readonly version: string;
  /** Wall milliseconds until everything that a query finds was read. */
  readonly time: (query: BenchQuery) => Promise<number>;
  readonly results: (query: BenchQuery) => Promise<Answer>;
  /** Why this peer, by design, need not agree with others about a line; undefined where it should. */
  readonly explain: (line: LineId) => string | undefined;
  /** Why it is not asked a query; undefined where it is. */
  readonly declines: (query: BenchQuery) => string | undefined;
}

/** For the longest answers ripgrep is enough: no target compares our time with the other tools'. */
export function declineHuge({ isHuge }: BenchQuery): string | undefined {
  return isHuge ? "an answer of gigabytes would take up much of the run" : undefined;
}

export interface Answer {
  readonly lines: ResultSet;
  /** Bytes that the peer wrote. */
  readonly bytes: number;
}

/** A peer, or why there is none. */
export type Found<T> =
  | { readonly kind: "found"; readonly peer: T }
  | { readonly kind: "missing"; readonly name: string; readonly reason: string };

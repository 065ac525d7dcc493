import type { BenchQuery } from "./queries.js";
import type { Place, ResultSet } from "./result-set.js";

/**
 * What searches the corpus: a tool of others, a server of others, or our own daemon.
 *
 * Contract: `time` and `results` do the same work, to the end of the whole answer. One call at a time.
 */
export interface Peer {
  readonly name: string;
  /** As it says itself, or what its program file is. */
  readonly version: string;
  /** Wall milliseconds in which everything that a query finds was read. */
  readonly time: (query: BenchQuery) => Promise<number>;
  readonly results: (query: BenchQuery) => Promise<Answer>;
  /** Why this peer, as it is made, need not agree with others about a place; undefined where it should. */
  readonly causeOf: (place: Place) => string | undefined;
  /** Why it is not asked this; undefined where it is. */
  readonly declines: (query: BenchQuery) => string | undefined;
}

/** One tool beside us is enough for what takes longest, as nothing is asked of our time in proportion to theirs. */
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

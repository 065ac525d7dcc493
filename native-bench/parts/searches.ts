import { TrawlError } from "../../src/base/errors.js";
import type { Causes } from "../peers/causes.js";
import type { Peer } from "../peers/peer.js";
import type { BenchQuery } from "../peers/queries.js";
import { compare, type Difference } from "../peers/result-set.js";
import { alternate } from "../system/measure.js";

/** What came of one query. */
export interface SearchOutcome {
  readonly query: BenchQuery;
  /** The peer that the others' results are compared with. */
  readonly reference: string;
  /** That the reference found. */
  readonly lineCount: number;
  /** By the names of the peers that were asked, ourselves too. */
  readonly peers: ReadonlyMap<string, PeerOutcome>;
}

export interface PeerOutcome {
  readonly bytes: number;
  /** Of each round that counts. */
  readonly timesMs: readonly number[];
  /** Nothing differs at the reference. */
  readonly difference: Difference;
}

/**
 * Asks every peer for its result set, compares each with that of the first one, and then measures them in turn. Reading
 * the result sets is the round that warms everybody and does not count; so all are read at a time.
 */
export async function measureSearch(
  peers: readonly Peer[],
  causes: Causes,
  query: BenchQuery,
  rounds: number,
): Promise<SearchOutcome> {
  const asked = peers.filter((peer) => peer.declines(query) === undefined);
  const [reference, ...others] = asked;
  if (reference === undefined) throw new TrawlError("internal", "there is nobody to ask");
  const [expected, answered] = await Promise.all([
    reference.results(query),
    Promise.all(others.map(async (peer) => ({ peer, ...(await peer.results(query)) }))),
  ]);
  const compared = [{ bytes: expected.bytes, difference: equal }];
  for (const { peer, lines, bytes } of answered) {
    const causeOf = await causes.of(query, { peer, lines }, { peer: reference, lines: expected.lines });
    compared.push({
      bytes,
      difference: compare({ name: peer.name, lines }, { name: reference.name, lines: expected.lines }, causeOf),
    });
  }
  const times = await alternate(
    rounds,
    asked.map((peer) => () => peer.time(query)),
  );
  const outcomes = compared.map((each, i) => [asked[i]?.name ?? "", { ...each, timesMs: times[i] ?? [] }] as const);
  return { query, reference: reference.name, lineCount: expected.lines.count, peers: new Map(outcomes) };
}

const equal: Difference = { explained: {}, unexplained: 0, examples: [] };

/** Whether the times of two peers for a query may be put side by side: both have found what the reference has. */
export function areComparable({ peers }: SearchOutcome, one: string, other: string): boolean {
  return [one, other].every((name) => peers.get(name)?.difference.unexplained === 0);
}

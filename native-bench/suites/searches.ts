import { TrawlError } from "../../src/base/errors.js";
import type { KnownDifferences } from "../peers/known-differences.js";
import type { Peer } from "../peers/peer.js";
import type { BenchQuery } from "../peers/queries.js";
import { compare, type Difference } from "../peers/result-set.js";
import { alternate } from "../system/measure.js";

/** The results and times of one query. */
export interface SearchOutcome {
  readonly query: BenchQuery;
  /** The peer that the others' results are compared with, and how many lines it found. */
  readonly reference: string;
  readonly lineCount: number;
  /** By name, of the peers that were asked, our daemon included. */
  readonly peers: ReadonlyMap<string, PeerOutcome>;
}

export interface PeerOutcome {
  readonly bytes: number;
  /** Of each round that counts. */
  readonly timesMs: readonly number[];
  /** From the reference's results; nothing for the reference itself. */
  readonly difference: Difference;
}

/**
 * Asks every peer for its result set, compares each with that of the first one, and then measures them in turn. Reading
 * the result sets is the warm-up round, so they may be read concurrently.
 */
export async function measureSearch(
  peers: readonly Peer[],
  differences: KnownDifferences,
  query: BenchQuery,
  rounds: number,
): Promise<SearchOutcome> {
  const asked = peers.filter((peer) => peer.declines(query) === undefined);
  const answered = await Promise.all(asked.map(async (peer) => ({ peer, ...(await peer.results(query)) })));
  const [reference, ...others] = answered;
  if (reference === undefined) throw new TrawlError("internal", "there is no peer to ask");
  const compared = [{ bytes: reference.bytes, difference: noDifference }];
  for (const other of others) {
    const explain = await differences.of(query, other, reference);
    const [theirs, expected] = [other, reference].map(({ peer, lines }) => ({ name: peer.name, lines }));
    compared.push({ bytes: other.bytes, difference: compare(theirs, expected, explain) });
  }
  const measures = asked.map((peer) => () => peer.time(query));
  const times = await alternate(rounds, measures);
  const outcomes = compared.map((each, i) => [asked[i]?.name ?? "", { ...each, timesMs: times[i] ?? [] }] as const);
  return { query, reference: reference.peer.name, lineCount: reference.lines.count, peers: new Map(outcomes) };
}

const noDifference: Difference = { explained: {}, unexplained: 0, examples: [] };

/** Whether the times of two peers for a query may be compared: both found what the reference found. */
export function areComparable({ peers }: SearchOutcome, one: string, other: string): boolean {
  return [one, other].every((name) => peers.get(name)?.difference.unexplained === 0);
}

import type { Corpus } from "../corpus/corpus.js";
import type { Peers } from "../peers/peers.js";
import { median } from "../system/measure.js";
import type { ClientRound } from "./clients.js";
import type { IndexRun } from "./indexing.js";
import { areComparable, type SearchOutcome } from "./searches.js";

/** What the suite measured. Peers that are not installed have no times. */
export interface PeersMeasured {
  readonly corpus: Corpus;
  readonly peers: Peers;
  readonly isQuick: boolean;
  readonly index: IndexRun;
  readonly searches: readonly SearchOutcome[];
  /** Milliseconds of an HTTP answer without a search, by server. */
  readonly floors: ReadonlyMap<string, readonly number[]>;
  readonly first: readonly FirstResults[];
  readonly clients: readonly ClientsOf[];
}

export type Server = "trawl" | "zoekt";

/** To the end of an answer with the first results of `return`. */
export interface FirstResults {
  readonly server: Server;
  readonly asked: string;
  readonly timesMs: readonly number[];
}

export interface ClientsOf {
  readonly server: Server;
  readonly rounds: readonly ClientRound[];
}

export const ours = "trawl";

/** The peer's median divided by ours; undefined where the results differ or one of them was not asked. */
export function timeRatio(outcome: SearchOutcome, name: string): number | undefined {
  return areComparable(outcome, name, ours) ? medianTime(outcome, name) / medianTime(outcome, ours) : undefined;
}

export function medianTime({ peers }: SearchOutcome, name: string): number {
  return median(peers.get(name)?.timesMs ?? []);
}

export interface Build {
  readonly name: string;
  readonly seconds: number;
  /** Resident, of the process and its children, at one moment. */
  readonly peakBytes: number;
  readonly diskBytes: number;
}

export function indexBuilds({ peers, index }: PeersMeasured): Build[] {
  const peakBytes = Math.max(...index.history.map(({ residentBytes, childrenBytes }) => residentBytes + childrenBytes));
  const build: Build = { name: ours, seconds: index.seconds, peakBytes, diskBytes: index.dataBytes };
  return peers.zoekt === undefined ? [build] : [{ name: "zoekt", ...peers.zoekt.build }, build];
}

import { queryName, type QueryLimits } from "../peers/queries.js";
import { ratio } from "../report/build.js";
import { short } from "../report/numbers.js";
import type { Limits, Target } from "../report/run-report.js";
import { atLeast, atMost, limits } from "../report/targets.js";
import { median } from "../system/measure.js";
import { clientCount, resultsWanted } from "./clients.js";
import {
  indexBuilds,
  medianTime,
  ours,
  timeRatio,
  type Build,
  type PeersMeasured,
  type Server,
} from "./peers-measured.js";
import type { SearchOutcome } from "./searches.js";

/** The figures that are compared with the peers', and their limits. */
export function peersTargets(measured: PeersMeasured): Target[] {
  const { searches } = measured;
  return [
    ...searches.flatMap((outcome) => searchTargets(outcome, searches)),
    ...firstTargets(measured),
    ...clientTargets(measured),
    ...indexTargets(measured),
  ];
}

function searchTargets(outcome: SearchOutcome, searches: readonly SearchOutcome[]): Target[] {
  const { query, peers } = outcome;
  const name = queryName(query);
  const heldTo = (key: keyof QueryLimits): Limits => ({ must: query.must[key], aim: query.aim[key] });
  const isHeld = (key: keyof QueryLimits): boolean => query.must[key] !== undefined || query.aim[key] !== undefined;
  const median = medianTime(outcome, ours);
  const targets = (["rg", "csearch", "zoekt"] as const).filter(isHeld).map((peer) => {
    const value = peers.has(peer) ? timeRatio(outcome, peer) : undefined;
    const times = `${short(medianTime(outcome, peer))} ms against ${short(median)}`;
    const note = !peers.has(peer) ? `${peer} is not measured` : value === undefined ? "the results differ" : times;
    return atLeast(`${name}: time of ${peer} ÷ ours`, "x", value, heldTo(peer), note);
  });
  if (isHeld("ms")) targets.push(atMost(`${name}: time`, "ms", median, heldTo("ms"), ""));
  const dense = searches.find((other) => queryName(other.query) === "return");
  if (isHeld("timesReturn") && dense !== undefined) {
    const note = `${short(median)} ms against ${short(medianTime(dense, ours))}`;
    const value = median / medianTime(dense, ours);
    targets.push(atMost(`${name}: time ÷ that of return`, "x", value, heldTo("timesReturn"), note));
  }
  return targets;
}

function firstTargets({ first, isQuick }: PeersMeasured): Target[] {
  const findTimes = (server: Server) => first.find((row) => row.server === server)?.timesMs;
  const [own, their] = [findTimes("trawl"), findTimes("zoekt")];
  if (own === undefined || their === undefined) return [];
  const what = `first ${resultsWanted} matches of return: time of zoekt ÷ ours`;
  const note = `${short(median(their))} ms against ${short(median(own))}`;
  return [atLeast(what, "x", ratio(their, own), limits(isQuick, 5, 20), note)];
}

function clientTargets({ clients, isQuick }: PeersMeasured): Target[] {
  const findValues = (server: Server, field: "requestsPerSecond" | "p99Ms"): number[] =>
    clients.find((row) => row.server === server)?.rounds.map((round) => round[field]) ?? [];
  if (findValues("zoekt", "p99Ms").length === 0) return [];
  const [own, their] = [median(findValues("trawl", "p99Ms")), median(findValues("zoekt", "p99Ms"))];
  const value = ratio(findValues("trawl", "requestsPerSecond"), findValues("zoekt", "requestsPerSecond"));
  const what = `${clientCount} clients: our requests/s ÷ zoekt's, at equal or better p99`;
  const note = `p99 ${short(own)} ms against ${short(their)}`;
  return own <= their
    ? [atLeast(what, "x", value, limits(isQuick, 3, 10), note)]
    : [atLeast(what, "x", undefined, limits(isQuick, 3, 10), `${note}; the rate would be ${short(value)}x`)];
}

function indexTargets(measured: PeersMeasured): Target[] {
  const [their, own] = indexBuilds(measured);
  if (their === undefined || own === undefined) return [];
  const { index, isQuick } = measured;
  const pair = (field: keyof Omit<Build, "name">, what: string): string => {
    const unit = field === "seconds" ? 1 : 1e6;
    return `${short(own[field] / unit)} ${what} against ${short(their[field] / unit)}`;
  };
  const anonymous = `${short(index.peak.anonymousBytes / 1e6)} of the daemon's are anonymous`;
  const memory = `${pair("peakBytes", "MB resident, git's processes included,")}; ${anonymous}`;
  const [times, bytes] = [their.seconds / own.seconds, own.diskBytes / their.diskBytes];
  const peaks = own.peakBytes / their.peakBytes;
  return [
    atLeast("index build: time of zoekt ÷ ours", "x", times, limits(isQuick, 3, 5), pair("seconds", "s")),
    atMost("index build: our peak memory ÷ zoekt's", "x", peaks, limits(isQuick, 0.7, 0.5), memory),
    atMost("index on disk: ours ÷ zoekt's", "x", bytes, limits(isQuick, 0.65, 0.5), pair("diskBytes", "MB")),
  ];
}

import { runGit, type StopSignal } from "../git/run/run.js";
import { localCommand } from "../git/objects/objects.js";
import type { PreciseCandidate } from "../model/precise-index.js";

/** Commits between an index and what is asked, beyond which an index is not used. */
const distanceMax = 100;

/** Indexes of later commits that are tried, if none of an earlier one is near. */
const laterTriedMax = 4;

export interface NearbyIndex extends PreciseCandidate {
  /** Commits that lie between; 0 for the same commit. */
  readonly distance: number;
}

/**
 * The indexes that are near a commit: of the commit itself, then of its ancestors and of its descendants, the nearest first.
 */
export async function findNearbyIndexes(
  directory: string,
  commit: string,
  candidates: readonly PreciseCandidate[],
  stop: StopSignal,
): Promise<readonly NearbyIndex[]> {
  const found: NearbyIndex[] = [];
  const others: PreciseCandidate[] = [];
  for (const candidate of candidates)
    if (candidate.commit === commit) found.push({ ...candidate, distance: 0 });
    else others.push(candidate);
  if (others.length === 0) return found;
  const ancestors = await listAncestors(directory, commit, stop);
  const later = new Map<string, number>();
  for (const candidate of others) {
    const { commit: indexed } = candidate;
    const distance = ancestors.get(indexed);
    if (distance !== undefined) {
      found.push({ ...candidate, distance });
      continue;
    }
    if (!later.has(indexed) && later.size < laterTriedMax)
      later.set(indexed, (await listAncestors(directory, indexed, stop)).get(commit) ?? Infinity);
    const laterDistance = later.get(indexed) ?? Infinity;
    if (laterDistance <= distanceMax) found.push({ ...candidate, distance: laterDistance });
  }
  // Of two that are as near, the newer upload comes first, as it did before.
  return found.sort((a, b) => a.distance - b.distance);
}

/** The nearest ancestors of a commit with how many commits lie between; none if the mirror does not have it. */
async function listAncestors(
  directory: string,
  commit: string,
  stop: StopSignal,
): Promise<ReadonlyMap<string, number>> {
  const { stdout, code } = await runGit({
    ...localCommand(stop),
    args: [`--git-dir=${directory}`, "rev-list", `--max-count=${distanceMax + 1}`, "--end-of-options", commit],
    exitCodes: [128],
  });
  if (code !== 0) return new Map();
  const oids = stdout.toString("latin1").trim().split("\n");
  return new Map(oids.map((oid, i) => [oid, i]));
}

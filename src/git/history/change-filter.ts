import { existsSync } from "node:fs";
import { join } from "node:path";
import type { StopSignal } from "../../base/stop-signal.js";
import { StoredObjects } from "../objects/stored-objects.js";
import type { CommitList } from "./commit-list.js";

/** Commits per call: about 10 ms. */
const commitsPerCall = 64;

/**
 * The indexes of commits of the list that can have changed a line that contains one of the texts, ascending: all that did,
 * and all about which this cannot be told without git.
 *
 * `texts` are as in `Packs.filterChanges`. Throws `cancelled` if stopped.
 */
export function filterChanges(
  directory: string,
  list: CommitList,
  from: number,
  to: number,
  { texts, foldCase }: { readonly texts: readonly Uint8Array[]; readonly foldCase: boolean },
  stop: StopSignal,
): Uint32Array {
  const { oids, oidBytes } = list;
  const verdicts = new Uint8Array(to - from).fill(1);
  // In a shallow mirror, git takes a commit whose parents are missing for one without parents.
  const objects = existsSync(join(directory, "shallow"))
    ? undefined
    : StoredObjects.open(directory, oidBytes * 2, stop);
  try {
    for (let at = from; objects !== undefined && at < to; at += commitsPerCall) {
      const end = Math.min(to, at + commitsPerCall);
      const commits = oids.subarray(at * oidBytes, end * oidBytes);
      objects.filterChanges(commits, texts, foldCase, verdicts.subarray(at - from, end - from));
    }
  } finally {
    objects?.close();
  }
  const candidates = new Uint32Array(verdicts.reduce((count, verdict) => count + verdict, 0));
  let count = 0;
  verdicts.forEach((verdict, i) => {
    if (verdict !== 0) candidates[count++] = from + i;
  });
  return candidates;
}

import { localCommand } from "../objects/objects.js";
import { detachedHeadRef } from "../objects/refs.js";
import { runGit, type StopSignal } from "../run/run.js";

/** A branch or tag of a mirror. */
export interface RefData {
  /** For example `refs/heads/main`. */
  readonly name: string;
  /** The oid of its object, which for an annotated tag is the tag object. */
  readonly oid: string;
  readonly type: string;
  /** The commit to which it resolves; null if it is not a commit. */
  readonly commit: string | null;
  /** When the tag was created, or the commit committed. */
  readonly unixSeconds: number;
}

/** All branches and tags, by name. Throws `git` if the mirror is damaged, `cancelled` if stopped. */
export async function listRefs(directory: string, stop: StopSignal): Promise<RefData[]> {
  const format = "%(objectname) %(objecttype) %(*objectname) %(*objecttype) %(creatordate:unix) %(refname)";
  const { stdout } = await runGit({
    ...localCommand(stop),
    args: [`--git-dir=${directory}`, "for-each-ref", `--format=${format}`],
    exitCodes: [],
  });
  return stdout.toString("utf8").split("\n").flatMap(parseRef);
}

export function parseRef(line: string): RefData[] {
  const [oid, type, peeledOid, peeledType, seconds, ...name] = line.split(" ");
  if (name.length === 0 || name.join(" ") === detachedHeadRef) return [];
  const commit = type === "commit" ? oid : peeledType === "commit" ? peeledOid : null;
  return [{ name: name.join(" "), oid, type, commit, unixSeconds: Number(seconds) || 0 }];
}

import { BoundedMap } from "../../base/bounded-map.js";
import { readEntries } from "../../git/objects/directories.js";
import { type CommitRules, readCommitRules } from "../../indexer/rules/commit-rules.js";
import type { StopSignal } from "../../git/run/run.js";

const attributesName = ".gitattributes";

/** The oids of attribute files, "" where there is none, by commit and path. */
const keptOids = new BoundedMap<string, string>(20_000, () => 1);

/**
 * The rules of a commit for these files, which say what is in the `.gitattributes` files above them; the ignore file is not read.
 * Throws `git`, `cancelled`.
 */
export async function readAttributesAbove(
  mirror: string,
  commit: string,
  paths: readonly string[],
  stop: StopSignal,
): Promise<CommitRules> {
  const wanted = new Set<string>([attributesName]);
  for (const path of paths)
    for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1))
      wanted.add(`${path.slice(0, end)}/${attributesName}`);
  const keyOf = (path: string): string => `${mirror}@${commit}/${path}`;
  const unknown = [...wanted].filter((path) => keptOids.get(keyOf(path)) === undefined);
  const found = unknown.length === 0 ? [] : await readEntries(mirror, commit, unknown, stop);
  const oids = new Map(unknown.map((path, i) => [path, found[i]?.kind === "file" ? found[i].oid : ""]));
  for (const [path, oid] of oids) keptOids.set(keyOf(path), oid);
  const files = new Map<string, string>();
  for (const path of wanted) {
    const oid = oids.get(path) ?? keptOids.get(keyOf(path)) ?? "";
    if (oid !== "") files.set(Buffer.from(path).toString("latin1"), oid);
  }
  return await readCommitRules(mirror, files, stop);
}

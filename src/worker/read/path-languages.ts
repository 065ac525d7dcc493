import { BoundedMap } from "../../base/bounded-map.js";
import { TrawlError } from "../../base/errors.js";
import { contentTree } from "../../git/objects/composed-tree.js";
import { type EntryData, readEntries } from "../../git/objects/directories.js";
import { isRegular } from "../../git/objects/objects.js";
import { type CommitRules, noCommitRules, readCommitRules } from "../../indexer/rules/commit-rules.js";
import type { StopSignal } from "../../git/run/run.js";

const attributesName = ".gitattributes";

/** Directories above a file that are looked at, from the root on. */
export const directoriesMax = 64;

interface KeptOid {
  /** "" where there is no attribute file. */
  readonly oid: string;
  /** Estimated memory. */
  readonly byteCount: number;
}

/** The oids of attribute files by commit and path. */
const keptOids = new BoundedMap<string, KeptOid>(8 << 20, ({ byteCount }) => byteCount);

/**
 * The rules of a commit for these files, which say what is in the `.gitattributes` files above them; the ignore file is not read.
 * If git cannot read the directories, there are none. Throws `cancelled`.
 */
export async function readAttributesAbove(
  mirror: string,
  commit: string,
  paths: readonly string[],
  stop: StopSignal,
): Promise<CommitRules> {
  try {
    return await readCommitRules(mirror, await findFilesAbove(mirror, commit, paths, stop), stop);
  } catch (error) {
    if (error instanceof TrawlError && error.code === "git") return noCommitRules;
    throw error;
  }
}

/** The language of each file by the attributes of its commit; "" if they say nothing. */
export async function readGivenLanguages(
  mirror: string,
  commit: string,
  paths: readonly string[],
  stop: StopSignal,
): Promise<readonly string[]> {
  const rules = await readAttributesAbove(mirror, commit, paths, stop);
  return paths.map((path) => rules.at(Buffer.from(path)).language);
}

async function findFilesAbove(
  mirror: string,
  commit: string,
  paths: readonly string[],
  stop: StopSignal,
): Promise<ReadonlyMap<string, string>> {
  const oids = new Map<string, string>();
  const unknown: string[] = [];
  const tree = await contentTree(mirror, commit, stop);
  const keyAt = (path: string): string => `${mirror}@${tree}/${path}`;
  for (const path of new Set(paths.flatMap(attributePaths))) {
    const kept = keptOids.get(keyAt(path));
    if (kept === undefined) unknown.push(path);
    else oids.set(path, kept.oid);
  }
  const found = unknown.length === 0 ? [] : await readEntries(mirror, tree, unknown, stop);
  unknown.forEach((path, i) => {
    const oid = fileOid(found[i]);
    const key = keyAt(path);
    oids.set(path, oid);
    keptOids.set(key, { oid, byteCount: 200 + 2 * key.length });
  });
  return new Map([...oids].flatMap(([path, oid]) => (oid === "" ? [] : [[Buffer.from(path).toString("latin1"), oid]])));
}

/** Where there may be attributes of a file. */
function attributePaths(path: string): string[] {
  const found = [attributesName];
  for (let end = path.indexOf("/"); end > 0 && found.length <= directoriesMax; end = path.indexOf("/", end + 1))
    found.push(`${path.slice(0, end)}/${attributesName}`);
  return found;
}

/** A link to an attribute file has no effect, as in git. */
function fileOid(entry: EntryData | null): string {
  return entry?.kind === "file" && isRegular(entry.mode) ? entry.oid : "";
}

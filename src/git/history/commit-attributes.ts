import { assert } from "../../base/assert.js";
import { parseCommitHeader } from "../objects/commit-header.js";
import { fileMode, localCommand } from "../objects/objects.js";
import { StoredObjects } from "../objects/stored-objects.js";
import { isOid } from "../objects/refs.js";
import { runGit, type StopSignal } from "../run/run.js";

/** Possible locations of a CODEOWNERS file; the first that exists counts. */
const codeOwnersPaths = ["CODEOWNERS", ".github/CODEOWNERS", ".gitlab/CODEOWNERS", "docs/CODEOWNERS"];

/** A larger file is ignored; this is also GitHub's limit. */
export const codeOwnersBytesMax = 3 * 1024 * 1024;

/**
 * The commit date, in seconds since 1970. Usually reads the mirror without a process: less than 1 ms, where git takes
 * 12 ms. Throws `git`, `cancelled`.
 */
export async function readCommitDate(directory: string, commit: string, stop: StopSignal): Promise<number> {
  assert(isOid(commit), "a commit is read by oid");
  return (
    parseCommitHeader(readCommit(directory, commit, stop) ?? "")?.committedSeconds ??
    (await readDateByGit(directory, commit, stop))
  );
}

function readCommit(directory: string, commit: string, stop: StopSignal): string | undefined {
  const objects = StoredObjects.open(directory, commit.length, stop);
  try {
    return objects?.readCommit(commit);
  } finally {
    objects?.close();
  }
}

async function readDateByGit(directory: string, commit: string, stop: StopSignal): Promise<number> {
  const args = [`--git-dir=${directory}`, "rev-list", "--max-count=1", "--timestamp", "--end-of-options", commit];
  const { stdout } = await runGit({ ...localCommand(stop), args, exitCodes: [] });
  return Number.parseInt(stdout.toString("latin1"), 10);
}

/** A CODEOWNERS file of a commit. */
export interface CodeOwnersFile {
  readonly path: string;
  readonly text: Buffer;
}

/** The commit's CODEOWNERS file; null if it has none. Throws `git`, `cancelled`. */
export async function readCodeOwners(
  directory: string,
  commit: string,
  stop: StopSignal,
): Promise<CodeOwnersFile | null> {
  assert(isOid(commit), "a tree is read by oid");
  const list = ["ls-tree", "--long", "-z", "--full-tree", "--end-of-options", commit, ...codeOwnersPaths];
  const { stdout } = await runGit({ ...localCommand(stop), args: [`--git-dir=${directory}`, ...list], exitCodes: [] });
  const entries = stdout
    .toString("utf8")
    .split("\0")
    .flatMap((line) => {
      const [, mode, oid, size, path] = /^(\d+) \w+ ([0-9a-f]+) +(\d+|-)\t(.*)$/s.exec(line) ?? [];
      const isFile = mode !== undefined && (Number.parseInt(mode, 8) & 0o170000) === (fileMode.regular & 0o170000);
      return isFile ? [{ oid, byteCount: Number(size), rank: codeOwnersPaths.indexOf(path) }] : [];
    });
  const first = entries.sort((a, b) => a.rank - b.rank)[0] as (typeof entries)[0] | undefined;
  if (first === undefined || first.byteCount > codeOwnersBytesMax) return null;
  const blob = await runGit({
    ...localCommand(stop),
    args: [`--git-dir=${directory}`, "cat-file", "blob", first.oid],
    exitCodes: [],
  });
  return { path: codeOwnersPaths[first.rank], text: blob.stdout };
}

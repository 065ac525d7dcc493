import { assert } from "../../base/assert.js";
import { contentReadLimits } from "../run/child-limits.js";
import { localEnvironment } from "../run/environment.js";
import { isOid } from "./refs.js";
import { GitChild, type GitOutput, neverStop, toGitOutput } from "../run/run.js";

export type ArchiveFormat = "zip" | "tar";

/** git is considered hung if it could write but does not for this long. */
const silenceMs = 60_000;

/**
 * The bytes of a blob, as the standard output of a child process. A blob beyond `core.bigFileThreshold` is never held
 * in memory completely.
 */
export function openBlob(directory: string, oid: string): GitOutput {
  assert(isOid(oid), "a blob is read by oid");
  return open(directory, ["cat-file", "blob", oid]);
}

/** An archive of a commit, or of one path in it; "" means all. Paths in the archive begin at the root. */
export function openArchive(directory: string, commit: string, format: ArchiveFormat, path: string): GitOutput {
  assert(isOid(commit), "a tree is read by oid");
  return open(directory, ["archive", `--format=${format}`, commit, "--", ...(path === "" ? [] : [path])]);
}

/** Runs until its output has ended or it is killed: the reader's pace is not limited here. */
function open(directory: string, args: readonly string[]): GitOutput {
  const command = {
    args: [`--git-dir=${directory}`, "--literal-pathspecs", ...args],
    environment: localEnvironment(),
    directory: "/",
  };
  const limits = { timeoutMs: Infinity, silenceMs, process: contentReadLimits, stop: neverStop };
  return toGitOutput(new GitChild(command, limits, null));
}

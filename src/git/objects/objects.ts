import { assert } from "../../base/assert.js";
import { TrawlError } from "../../base/errors.js";
import { revisionProblem } from "../../model/revision-syntax.js";
import { readLimits } from "../run/child-limits.js";
import { localEnvironment } from "../run/environment.js";
import { isOid } from "../mirror/refs.js";
import { runGit, type StopSignal } from "../run/run.js";

/** File modes as git stores them. */
export const fileMode = {
  regular: 0o100644,
  executable: 0o100755,
  symlink: 0o120000,
  /** A submodule: the oid is a commit of another repository, and no object of this one. */
  gitlink: 0o160000,
} as const;

/** One file of a commit. Directories are not listed. */
export interface TreeEntry {
  /** See `fileMode`; old repositories hold others, such as 0o100664. */
  readonly mode: number;
  readonly oid: string;
  /** Size of the blob in bytes; -1 when it was not asked for, and for a gitlink. */
  readonly size: number;
  /** From the root, with slashes; bytes as they are in the repository. Shares memory with its siblings. */
  readonly path: Buffer;
}

/** A path whose content or mode differs between two commits. */
export interface TreeChange {
  /** `modified` includes a change of type, from file to symlink for one. Renames are a deletion and an addition. */
  readonly status: "added" | "modified" | "deleted";
  /** 0 when added. */
  readonly oldMode: number;
  /** Null when added. */
  readonly oldOid: string | null;
  /** 0 when deleted. */
  readonly newMode: number;
  /** Null when deleted. */
  readonly newOid: string | null;
  readonly path: Buffer;
}

/**
 * Linux has 78,635 files and lists in 5.6 MB; this is room for 1.8 million files, which the heap of a thread is not.
 * Trees that hold one another list without end. While a list is put together, it is in memory twice.
 */
const listingBytesMax = 128 << 20;
const listingTimeoutMs = 300_000;

/**
 * All files of a commit (or tree), in the order of their paths' bytes. With sizes the list of Linux takes 250 ms,
 * without 120 ms, as git then opens each object.
 *
 * Throws `git` when the mirror or the commit is damaged or missing, `cancelled` when stopped.
 */
export async function listTree(
  directory: string,
  commit: string,
  sizes: "with-sizes" | "without-sizes",
  stop: StopSignal,
): Promise<TreeEntry[]> {
  assert(isOid(commit), "a tree is listed by oid");
  const format = sizes === "with-sizes" ? ["--long"] : [];
  const args = ["ls-tree", "-r", "-z", "--full-tree", ...format, "--end-of-options", commit];
  return parseTree(await readListing(directory, args, stop));
}

/**
 * What changed between two commits (or trees), in the order of their paths' bytes. Throws as `listTree`.
 */
export async function diffTrees(
  directory: string,
  oldCommit: string,
  newCommit: string,
  stop: StopSignal,
): Promise<TreeChange[]> {
  assert(isOid(oldCommit) && isOid(newCommit), "trees are compared by oid");
  const flags = ["-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff", "--ignore-submodules=none"];
  const args = ["diff-tree", ...flags, "--end-of-options", oldCommit, newCommit];
  return parseChanges(await readListing(directory, args, stop));
}

/**
 * The commit that a revision stands for: a branch, tag, full ref, oid or its start, `HEAD~2` and the like. Null when
 * there is none, and for what `revisionProblem` refuses. Throws `git` when the mirror is damaged, `cancelled` when
 * stopped.
 */
export async function resolveRevision(directory: string, revision: string, stop: StopSignal): Promise<string | null> {
  if (revisionProblem(revision) !== null) return null;
  const { stdout, code } = await runGit({
    args: [`--git-dir=${directory}`, "rev-parse", "--quiet", "--verify", "--end-of-options", `${revision}^{commit}`],
    ...localCommand(stop),
    exitCodes: [1, 128],
  });
  const oid = stdout.toString("latin1").trim();
  return code === 0 && isOid(oid) ? oid : null;
}

async function readListing(directory: string, args: readonly string[], stop: StopSignal): Promise<Buffer> {
  const options = { args: [`--git-dir=${directory}`, ...args], ...localCommand(stop), exitCodes: [] };
  return (await runGit(options)).stdout;
}

export function localCommand(stop: StopSignal) {
  return {
    environment: localEnvironment(),
    directory: "/",
    timeoutMs: listingTimeoutMs,
    silenceMs: Infinity,
    outputBytesMax: listingBytesMax,
    process: readLimits,
    stop,
    stdin: null,
    onErrorLine: null,
  };
}

const tab = 9;
const space = 32;
const nul = 0;

/** Reads `MODE TYPE OID[ SIZE]\tPATH\0` records. */
export function parseTree(output: Buffer): TreeEntry[] {
  const entries: TreeEntry[] = [];
  const modes = new ModeReader(output);
  for (let start = 0; start < output.length; ) {
    const tabAt = output.indexOf(tab, start);
    const end = output.indexOf(nul, tabAt);
    if (tabAt < 0 || end < 0) throw malformed("ls-tree");
    const oidAt = output.indexOf(space, start + 7) + 1;
    // Without this a text that is no list is read to its end for each record.
    if (oidAt === 0 || oidAt > tabAt) throw malformed("ls-tree");
    const spaceAt = output.indexOf(space, oidAt);
    const oidEnd = spaceAt < 0 || spaceAt > tabAt ? tabAt : spaceAt;
    const size = oidEnd === tabAt ? -1 : parseSize(output.toString("latin1", oidEnd + 1, tabAt));
    const oid = output.toString("latin1", oidAt, oidEnd);
    entries.push({ mode: modes.at(start, start + 6), oid, size, path: output.subarray(tabAt + 1, end) });
    start = end + 1;
  }
  return entries;
}

/** Reads `:OLDMODE NEWMODE OLDOID NEWOID STATUS\0PATH\0` records. */
export function parseChanges(output: Buffer): TreeChange[] {
  const changes: TreeChange[] = [];
  for (let start = 0; start < output.length; ) {
    const headEnd = output.indexOf(nul, start);
    const end = output.indexOf(nul, headEnd + 1);
    if (headEnd < 0 || end < 0) throw malformed("diff-tree");
    const fields = output.toString("latin1", start + 1, headEnd).split(" ");
    const [oldMode = "", newMode = "", oldOid = "", newOid = "", status = ""] = fields;
    const path = output.subarray(headEnd + 1, end);
    changes.push(treeChange(status, parseInt(oldMode, 8), oldOid, parseInt(newMode, 8), newOid, path));
    start = end + 1;
  }
  return changes;
}

function treeChange(
  letter: string,
  oldMode: number,
  oldOid: string,
  newMode: number,
  newOid: string,
  path: Buffer,
): TreeChange {
  switch (letter) {
    case "A":
      return { status: "added", oldMode: 0, oldOid: null, newMode, newOid, path };
    case "D":
      return { status: "deleted", oldMode, oldOid, newMode: 0, newOid: null, path };
    case "M":
    case "T":
      return { status: "modified", oldMode, oldOid, newMode, newOid, path };
    default:
      throw malformed("diff-tree");
  }
}

/** Reads octal modes; nearly all files of a repository have the same one. */
class ModeReader {
  readonly #output: Buffer;
  readonly #known = new Map<string, number>();

  constructor(output: Buffer) {
    this.#output = output;
  }

  at(start: number, end: number): number {
    const text = this.#output.toString("latin1", start, end);
    let mode = this.#known.get(text);
    if (mode === undefined) {
      mode = parseInt(text, 8);
      this.#known.set(text, mode);
    }
    return mode;
  }
}

/** A gitlink has `-` for its size. */
function parseSize(text: string): number {
  const trimmed = text.trim();
  return trimmed === "-" ? -1 : Number(trimmed);
}

function malformed(command: string): TrawlError {
  return new TrawlError("git", `git ${command} wrote unexpected output`);
}

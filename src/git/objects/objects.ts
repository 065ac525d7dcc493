import { assert } from "../../base/assert.js";
import { TrawlError } from "../../base/errors.js";
import { revisionProblem } from "../../model/revision-syntax.js";
import { objectKinds } from "../../native/packs/packs.js";
import { readLimits } from "../run/child-limits.js";
import { localEnvironment } from "../run/environment.js";
import { parseCommitHeader } from "./commit-header.js";
import { isOid } from "./refs.js";
import { runGit, type StopSignal } from "../run/run.js";
import { StoredObjects } from "./stored-objects.js";

/** File modes as git stores them. */
export const fileMode = {
  regular: 0o100644,
  executable: 0o100755,
  symlink: 0o120000,
  /** A submodule: the oid is a commit of another repository, and not an object of this one. */
  gitlink: 0o160000,
} as const;

const fileTypeMask = 0o170000;

/** True for a file, which may have other permission bits in old repositories; false for a symbolic link, a submodule or a directory. */
export function isRegular(mode: number): boolean {
  return (mode & fileTypeMask) === (fileMode.regular & fileTypeMask);
}

/** One file of a commit. Directories are not listed. */
export interface TreeEntry {
  /** See `fileMode`; old repositories contain others, such as 0o100664. */
  readonly mode: number;
  readonly oid: string;
  /** Size of the blob in bytes; -1 if it was not requested, for a gitlink, and if the mirror lacks the blob. */
  readonly size: number;
  /** From the root, with slashes; the bytes as they are in the repository. Shares memory with other entries. */
  readonly path: Buffer;
}

/** A path whose content or mode differs between two commits. */
export interface TreeChange {
  /**
   * `modified` includes a change of type, for example from file to symbolic link. Renames are a deletion and an
   * addition.
   */
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
 * The listing of Linux, with 78,635 files, has 5.6 MB; this limit allows 1.8 million files, which exceed the heap of a
 * thread. Trees that contain one another produce endless listings. While a listing is being joined, it is in memory
 * twice.
 */
const listingBytesMax = 128 << 20;
const smallListingBytesMax = 64 << 10;
const listingTimeoutMs = 300_000;

/**
 * All files of a commit (or tree), in the byte order of their paths. Listing Linux takes 250 ms with sizes, and 120 ms
 * without, because git opens each object for its size.
 *
 * Throws `git` if the mirror or the commit is damaged or missing, `cancelled` if stopped.
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
 * The changes between two commits (or trees), in the byte order of their paths. Usually reads only the trees that differ, without a
 * process, which keeps the thread busy: 1 ms for one file of Linux, where git takes 9 ms. Throws like `listTree`.
 */
export async function diffTrees(
  directory: string,
  oldCommit: string,
  newCommit: string,
  stop: StopSignal,
): Promise<TreeChange[]> {
  assert(isOid(oldCommit) && isOid(newCommit), "trees are compared by oid");
  const listing = diffStored(directory, oldCommit, newCommit, listingBytesMax, stop, () => true);
  if (listing !== undefined) return parseChanges(listing);
  const flags = ["-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff", "--ignore-submodules=none"];
  const args = ["diff-tree", ...flags, "--end-of-options", oldCommit, newCommit];
  return parseChanges(await readListing(directory, args, stop));
}

/**
 * Whether the mirror has every tree and blob of the new commit that the old one lacks, which git may still be writing.
 * False too for a difference of more than some hundred paths.
 */
export function hasChanges(directory: string, oldCommit: string, newCommit: string, stop: StopSignal): boolean {
  const areThere = (listing: Buffer, objects: StoredObjects): boolean => {
    const blobs = parseChanges(listing).flatMap(({ newOid, newMode }) =>
      newOid === null || newMode === fileMode.gitlink ? [] : [newOid],
    );
    return objects.kinds(blobs).every((kind) => kind === objectKinds.blob);
  };
  return diffStored(directory, oldCommit, newCommit, smallListingBytesMax, stop, areThere) !== undefined;
}

/** Whether the mirror has the commit. False too for one that only git can read. */
export function hasStoredCommit(directory: string, oid: string, stop: StopSignal): boolean {
  const objects = StoredObjects.open(directory, oid.length, stop);
  try {
    return objects?.kinds([oid])[0] === objectKinds.commit;
  } finally {
    objects?.close();
  }
}

/**
 * The output of `git diff-tree`, if it satisfies `isGood`; undefined if not, if it is longer than `bytesMax`, or if an
 * object must be read by git.
 */
function diffStored(
  directory: string,
  oldCommit: string,
  newCommit: string,
  bytesMax: number,
  stop: StopSignal,
  isGood: (listing: Buffer, objects: StoredObjects) => boolean,
): Buffer | undefined {
  const objects = StoredObjects.open(directory, newCommit.length, stop);
  if (objects === undefined) return undefined;
  try {
    const [before, after] = [oldCommit, newCommit].map((oid) =>
      objects.kinds([oid])[0] === objectKinds.tree ? oid : parseCommitHeader(objects.readCommit(oid) ?? "")?.tree,
    );
    if (before === undefined || after === undefined) return undefined;
    const pieces: Buffer[] = [];
    let byteCount = 0;
    const isWhole = objects.diffTrees(before, after, (piece) => {
      byteCount += piece.length;
      pieces.push(Buffer.from(piece));
      return byteCount <= bytesMax;
    });
    if (!isWhole || byteCount > bytesMax) return undefined;
    const listing = Buffer.concat(pieces);
    return isGood(listing, objects) ? listing : undefined;
  } finally {
    objects.close();
  }
}

/**
 * The commit to which a revision resolves: a branch, tag, full ref, oid or its prefix, `HEAD~2` and similar. Null if
 * there is none, and for texts that `revisionProblem` rejects. Throws `git` if the mirror is damaged, `cancelled` if
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

/** Parses `MODE TYPE OID[ SIZE]\tPATH\0` records. */
export function parseTree(output: Buffer): TreeEntry[] {
  const entries: TreeEntry[] = [];
  const modes = new ModeReader(output);
  for (let start = 0; start < output.length; ) {
    const tabAt = output.indexOf(tab, start);
    const end = output.indexOf(nul, tabAt);
    if (tabAt < 0 || end < 0) throw malformed("ls-tree");
    const oidAt = output.indexOf(space, start + 7) + 1;
    // Otherwise, text that is not a listing would be scanned to its end for each record.
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

/** Parses `:OLDMODE NEWMODE OLDOID NEWOID STATUS\0PATH\0` records. */
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

/** Parses octal modes, remembering the last one, because nearly all files of a repository have the same mode. */
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

/** The size of a gitlink is `-`, and that of a blob that the mirror lacks is `BAD`. */
function parseSize(text: string): number {
  const trimmed = text.trim();
  return /^\d+$/.test(trimmed) ? Number(trimmed) : -1;
}

function malformed(command: string): TrawlError {
  return new TrawlError("git", `git ${command} wrote unexpected output`);
}

import { assert } from "../base/assert.js";
import { TrawlError } from "../base/errors.js";
import { localCommand } from "./objects.js";
import { isOid } from "./refs.js";
import { runGit, type StopSignal } from "./run.js";

/** What lies at a path from one commit of a chain on, until the next state of that path. */
export interface PathState {
  /** Place of the commit in the chain; -1 for the base. */
  readonly from: number;
  /** Null where there is nothing. */
  readonly oid: string | null;
  /** False for a symbolic link or a submodule. */
  readonly isFile: boolean;
}

/** Commits in the order of their dates, and where they differ from the base and from each other. */
export interface TreeChain {
  /** The commits that are covered, the oldest first; at least one. */
  readonly commits: readonly string[];
  /** By path, one byte a character: its states, ascending, the base's first. Paths that are alike everywhere are left out. */
  readonly paths: ReadonlyMap<string, readonly PathState[]>;
}

/** Trees are compared by as many pairs a process as give no more than so many bytes, as far as the last ones tell. */
const outputBytesAimed = 8 << 20;
const outputBytesMax = 1 << 30;

const emptyTrees = { 40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904", 64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321" } as const;

/**
 * Compares `base` (nothing when undefined) with the oldest of the commits, that one with the next, and so on. Commits of
 * one history mostly differ little from their neighbours by date, so that many cost little more than one.
 *
 * Ends after a commit with which `stateCountMax` is passed: memory is bounded by that and by one comparison.
 * Throws `git` when a commit is missing, `cancelled` when stopped.
 */
export async function compareAlong(directory: string, base: string | undefined, commits: readonly string[], stateCountMax: number,
  stop: StopSignal): Promise<TreeChain> {
  assert(commits.length > 0 && commits.every(isOid), "trees are compared by oid");
  const trees = await treesOf(directory, base === undefined ? commits : [...commits, base], stop);
  const wanted = new Set(commits);
  const ordered = [...trees.keys()].filter((commit) => wanted.has(commit)).reverse();
  const chain = new ChainBuilder();
  let before = base === undefined ? emptyTrees[commits[0].length as 40 | 64] : trees.get(base) ?? "";
  let pairCount = 1;
  let done = 0;
  while (done < ordered.length && chain.stateCount < stateCountMax) {
    const part = ordered.slice(done, done + pairCount).map((commit) => trees.get(commit) ?? "");
    const { stdout } = await runGit({
      ...localCommand(stop),
      args: [`--git-dir=${directory}`, "diff-tree", "--stdin", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff", "--ignore-submodules=none"],
      stdin: part.map((tree, i) => `${i === 0 ? before : part[i - 1]} ${tree}\n`).join(""),
      outputBytesMax,
      exitCodes: [],
    });
    chain.add(stdout, done);
    done += part.length;
    before = part[part.length - 1];
    pairCount = stdout.length * 2 <= outputBytesAimed ? pairCount * 2 : Math.max(1, pairCount >> 1);
  }
  return { commits: ordered.slice(0, done), paths: chain.paths };
}

/** Trees by commit, the youngest commit first. */
async function treesOf(directory: string, commits: readonly string[], stop: StopSignal): Promise<Map<string, string>> {
  const { stdout } = await runGit({
    ...localCommand(stop),
    args: [`--git-dir=${directory}`, "log", "--no-walk=sorted", "--stdin", "--format=%H %T"],
    stdin: commits.map((commit) => `${commit}\n`).join(""),
    exitCodes: [],
  });
  return new Map(stdout.toString("latin1").split("\n").filter((line) => line !== "").map((line) => line.split(" ") as [string, string]));
}

const colon = 58;
const lineFeed = 10;
const nul = 0;

class ChainBuilder {
  readonly paths = new Map<string, PathState[]>();
  stateCount = 0;

  /** Reads `TREE TREE\n`, then `:MODE MODE OID OID LETTER\0PATH\0` for each difference; the first pair leads to commit `first`. */
  add(output: Buffer, first: number): void {
    let commit = first - 1;
    for (let at = 0; at < output.length;) {
      if (output[at] !== colon) {
        commit++;
        at = output.indexOf(lineFeed, at) + 1;
        if (at === 0) throw malformed();
        continue;
      }
      const headEnd = output.indexOf(nul, at);
      const end = output.indexOf(nul, headEnd + 1);
      if (headEnd < 0 || end < 0) throw malformed();
      this.#addChange(output.toString("latin1", at + 1, headEnd), output.toString("latin1", headEnd + 1, end), commit);
      at = end + 1;
    }
  }

  #addChange(head: string, path: string, commit: number): void {
    const [oldMode, newMode, oldOid, newOid, letter] = head.split(" ");
    const before = stateOf(-1, oldMode, oldOid, letter === "A");
    const after = stateOf(commit, newMode, newOid, letter === "D");
    if (before.oid === after.oid && before.isFile === after.isFile) return;
    const states = this.paths.get(path);
    if (states === undefined) this.paths.set(path, [before, after]);
    else states.push(after);
    this.stateCount++;
  }
}

function stateOf(from: number, mode: string, oid: string, isAbsent: boolean): PathState {
  return { from, oid: isAbsent ? null : oid, isFile: mode.startsWith("100") };
}

/** Sizes of blobs in the order asked, -1 for what is missing or no blob. */
export async function blobSizes(directory: string, oids: readonly string[], stop: StopSignal): Promise<number[]> {
  if (oids.length === 0) return [];
  const { stdout } = await runGit({
    ...localCommand(stop),
    args: [`--git-dir=${directory}`, "cat-file", "--buffer", "--batch-check=%(objecttype) %(objectsize)"],
    stdin: oids.map((oid) => `${oid}\n`).join(""),
    exitCodes: [],
  });
  const sizes = stdout.toString("latin1").split("\n").slice(0, -1).map((line) => (line.startsWith("blob ") ? Number(line.slice("blob ".length)) : -1));
  if (sizes.length !== oids.length) throw new TrawlError("git", "git cat-file: an unexpected number of answers");
  return sizes;
}

function malformed(): TrawlError {
  return new TrawlError("git", "git diff-tree wrote something we do not understand");
}

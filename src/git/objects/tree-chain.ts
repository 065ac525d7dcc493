import { assert } from "../../base/assert.js";
import { TrawlError } from "../../base/errors.js";
import { parseCommitHeader } from "./commit-header.js";
import { localCommand } from "./objects.js";
import { StoredObjects } from "./stored-objects.js";
import { isOid } from "./refs.js";
import { GitChild, runGit, type StopSignal } from "../run/run.js";

/** The state of a path from one commit of a chain on, until its next state. */
export interface PathState {
  /** Index of the commit in the chain; -1 for the base. */
  readonly from: number;
  /** Null if there is nothing. */
  readonly oid: string | null;
  /** False for a symbolic link or a submodule. */
  readonly isFile: boolean;
  readonly isSubmodule: boolean;
}

/** Commits ordered by date, and how they differ from the base and from each other. */
export interface TreeChain {
  /** The commits covered, oldest first; at least one. */
  readonly commits: readonly string[];
  /**
   * By path, one character per byte: its states, ascending, the base's first. Paths that are the same everywhere are
   * omitted.
   */
  readonly paths: ReadonlyMap<string, readonly PathState[]>;
}

const emptyTrees = {
  40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
  64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
} as const;

/** Trees that are compared instead of those of the commits. */
export interface ChainContents {
  readonly base: string | undefined;
  /** In the order of the commits. */
  readonly trees: readonly string[];
}

/** Two trees to compare; undefined stands for an empty one. */
interface TreePair {
  readonly before: string | undefined;
  readonly after: string;
}

/**
 * Compares `base` (an empty tree if undefined) with the oldest of the commits, that one with the next, and so on.
 * Commits of the same history usually differ little from their neighbours by date, so many commits cost little more
 * than one.
 *
 * Trees are read without git if all of them can be; otherwise git compares all. For half of Linux, the former takes a
 * third of the time.
 *
 * Stops after a commit with which `stateCountMax` is exceeded: memory is limited by that and by one comparison. Throws
 * `git` if a commit is missing, `cancelled` if stopped.
 */
export async function compareAlong(
  directory: string,
  base: string | undefined,
  commits: readonly string[],
  stateCountMax: number,
  stop: StopSignal,
  contents?: ChainContents,
): Promise<TreeChain> {
  assert(commits.length > 0 && commits.every(isOid), "trees are compared by oid");
  const wanted = new Set(commits);
  const all = base === undefined ? [...wanted] : [...wanted, base];
  const objects = StoredObjects.open(directory, commits[0].length, stop);
  try {
    const trees = storedTrees(objects, all) ?? (await readRootTrees(directory, all, stop));
    const ordered = [...trees.keys()].filter((commit) => wanted.has(commit)).reverse();
    const others = new Map(contents?.trees.flatMap((tree, i) => (tree === commits[i] ? [] : [[commits[i], tree]])));
    const chained = [
      base === undefined ? undefined : (contents?.base ?? trees.get(base)),
      ...ordered.map((commit) => others.get(commit) ?? trees.get(commit) ?? ""),
    ];
    const pairs = ordered.map((_, i) => ({ before: chained[i], after: chained[i + 1] ?? "" }));
    const chain =
      storedChain(objects, pairs, stateCountMax) ?? (await chainByGit(directory, pairs, stateCountMax, stop));
    return { commits: ordered.slice(0, chain.commitCount), paths: chain.paths };
  } finally {
    objects?.close();
  }
}

/** Undefined if a tree must be read by git. */
function storedChain(
  objects: StoredObjects | undefined,
  pairs: readonly TreePair[],
  stateCountMax: number,
): ChainBuilder | undefined {
  if (objects === undefined) return undefined;
  const chain = new ChainBuilder(pairs[0].after.length, stateCountMax);
  for (const { before, after } of pairs) {
    chain.beginPair();
    if (chain.isFull) return chain;
    const isWhole = objects.diffTrees(before, after, (piece) => {
      chain.push(piece);
      return true;
    });
    if (!isWhole) return undefined;
  }
  chain.end();
  return chain;
}

async function chainByGit(
  directory: string,
  pairs: readonly TreePair[],
  stateCountMax: number,
  stop: StopSignal,
): Promise<ChainBuilder> {
  const oidLength = pairs[0].after.length as 40 | 64;
  const chain = new ChainBuilder(oidLength, stateCountMax);
  await readPairs(
    directory,
    pairs.map(({ before, after }) => `${before ?? emptyTrees[oidLength]} ${after}\n`).join(""),
    chain,
    stop,
  );
  return chain;
}

/** Trees by commit, youngest commit first; undefined if a commit must be read by git. */
function storedTrees(objects: StoredObjects | undefined, commits: readonly string[]): Map<string, string> | undefined {
  const found: { commit: string; tree: string; committedSeconds: number }[] = [];
  for (const commit of commits) {
    const header = parseCommitHeader(objects?.readCommit(commit) ?? "");
    if (header === undefined) return undefined;
    found.push({ commit, ...header });
  }
  found.sort((a, b) => b.committedSeconds - a.committedSeconds);
  return new Map(found.map(({ commit, tree }) => [commit, tree]));
}

/** Reads git's output as it compares, and stops git when the chain is full. */
async function readPairs(directory: string, pairs: string, chain: ChainBuilder, stop: StopSignal): Promise<void> {
  const command = {
    ...localCommand(stop),
    args: [
      `--git-dir=${directory}`,
      "diff-tree",
      "--stdin",
      "-r",
      "-z",
      "--raw",
      "--no-renames",
      "--no-abbrev",
      "--no-ext-diff",
      "--ignore-submodules=none",
    ],
  };
  const child = new GitChild(command, command, null);
  child.stdout.on("data", (chunk: Buffer) => {
    if (chain.isFull) return;
    try {
      chain.push(chunk);
    } catch (error) {
      child.fail(error as TrawlError);
    }
    if (chain.isFull) child.kill();
  });
  child.stdin.end(pairs);
  const code = await child.ended.catch((error: unknown) => {
    if (chain.isFull) return 0;
    throw error;
  });
  if (code !== 0) throw child.exitError(code);
  if (!chain.isFull) chain.end();
}

/** Trees by commit, youngest commit first. */
async function readRootTrees(
  directory: string,
  commits: readonly string[],
  stop: StopSignal,
): Promise<Map<string, string>> {
  const { stdout } = await runGit({
    ...localCommand(stop),
    args: [`--git-dir=${directory}`, "log", "--no-walk=sorted", "--stdin", "--format=%H %T"],
    stdin: commits.map((commit) => `${commit}\n`).join(""),
    exitCodes: [],
  });
  return new Map(
    stdout
      .toString("latin1")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => line.split(" ") as [string, string]),
  );
}

const colon = 58;
const lineFeed = 10;
const nul = 0;

/** Offsets of the fields after the modes in `:MODE MODE OID OID LETTER`, excluding the lengths of the oids. */
const oldModeAt = 1;
const newModeAt = 8;
const oldOidAt = 15;

/**
 * Limit on the paths in which one comparison may differ, about 350 bytes each: trees that contain one another many
 * times expand a few kilobytes to any number of paths. Linux has 80,000 files, Chromium 450,000.
 */
const pathsPerPairMax = 500_000;

/** A longer record is not a valid path. */
const recordBytesMax = 1 << 20;

/**
 * Parses the output of `git diff-tree`, in pieces of any size: `TREE TREE\n` for each pair,
 * `:MODE MODE OID OID LETTER\0PATH\0` for each difference.
 */
export class ChainBuilder {
  readonly paths = new Map<string, PathState[]>();
  /** Number of commits whose differences are complete. */
  commitCount = 0;
  /** True if no further commit fits: further output is not needed. */
  isFull = false;
  readonly #oidLength: number;
  readonly #stateCountMax: number;
  #stateCount = 0;
  #stateCountBefore = 0;
  #commit = -1;
  #rest: Buffer = Buffer.alloc(0);

  constructor(oidLength: number, stateCountMax: number) {
    this.#oidLength = oidLength;
    this.#stateCountMax = stateCountMax;
  }

  push(chunk: Buffer): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    for (let next = this.#take(bytes, at); next > at && !this.isFull; next = this.#take(bytes, at)) at = next;
    this.#rest = bytes.subarray(at);
    if (this.#rest.length > recordBytesMax && !this.isFull) throw malformed();
  }

  /** The differences of the next commit follow. */
  beginPair(): void {
    this.commitCount = ++this.#commit;
    this.#stateCountBefore = this.#stateCount;
    this.isFull = this.commitCount > 0 && this.#stateCount >= this.#stateCountMax;
  }

  end(): void {
    if (this.#rest.length > 0) throw malformed();
    this.commitCount = this.#commit + 1;
  }

  /** Parses the record at `at`, and returns the start of the next one, or `at` if it is still incomplete. */
  #take(bytes: Buffer, at: number): number {
    if (at === bytes.length) return at;
    if (bytes[at] !== colon) {
      const end = bytes.indexOf(lineFeed, at);
      if (end < 0) return at;
      this.beginPair();
      return end + 1;
    }
    const headEnd = at + oldOidAt + 2 * this.#oidLength + 3;
    const end = headEnd < bytes.length ? bytes.indexOf(nul, headEnd + 1) : -1;
    if (end < 0) return at;
    if (bytes[headEnd] !== nul) throw malformed();
    this.#addChange(bytes, at, bytes.toString("latin1", headEnd + 1, end));
    return end + 1;
  }

  #addChange(bytes: Buffer, at: number, path: string): void {
    const oldOid = at + oldOidAt;
    const newOid = oldOid + this.#oidLength + 1;
    const letter = bytes[newOid + this.#oidLength + 1];
    const states = this.paths.get(path);
    const after = this.#readState(this.#commit, bytes, at + newModeAt, newOid, letter === deleted);
    if (states !== undefined) states.push(after);
    else this.paths.set(path, [this.#readState(-1, bytes, at + oldModeAt, oldOid, letter === added), after]);
    if (++this.#stateCount - this.#stateCountBefore > pathsPerPairMax) throw tooManyPaths();
  }

  #readState(from: number, bytes: Buffer, modeAt: number, oidAt: number, isAbsent: boolean): PathState {
    return {
      from,
      oid: isAbsent ? null : bytes.toString("latin1", oidAt, oidAt + this.#oidLength),
      isFile: isRegular(bytes, modeAt),
      isSubmodule: bytes[modeAt] === 49 && bytes[modeAt + 1] === 54,
    };
  }
}

const added = 65;
const deleted = 68;

/** Whether a mode begins with 100; that of a submodule begins with 16. */
function isRegular(bytes: Buffer, at: number): boolean {
  return bytes[at] === 49 && bytes[at + 1] === 48 && bytes[at + 2] === 48;
}

function tooManyPaths(): TrawlError {
  return new TrawlError(
    "git",
    `two commits differ in more than ${pathsPerPairMax} paths, which is too many to search a commit that is not indexed; index its branch to search it`,
  );
}

function malformed(): TrawlError {
  return new TrawlError("git", "git diff-tree wrote unexpected output");
}

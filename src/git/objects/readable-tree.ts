import { assert } from "../../base/assert.js";
import { TrawlError } from "../../base/errors.js";
import { readLimits } from "../run/child-limits.js";
import { endedByItself } from "./damage.js";
import { localEnvironment } from "../run/environment.js";
import { fileMode, listTree, type TreeEntry } from "./objects.js";
import { OutputReader } from "../run/output-reader.js";
import { isOid } from "./refs.js";
import { GitChild, type StopSignal } from "../run/run.js";

/** The readable part of a commit. */
export interface ReadableTree {
  /** As returned by `listTree`. */
  readonly entries: readonly TreeEntry[];
  /** Number of directories that cannot be read, including the root. Their contents are unknown. */
  readonly missingCount: number;
}

/** Number of trees requested at a time. */
const windowTrees = 256;

/**
 * Limit on the total size of all paths; the same as for `listTree`. Trees that contain one another produce endless
 * listings.
 */
const pathBytesMax = 128 << 20;

/** Maximum number of objects that may end git, which is then restarted. */
const restartCountMax = 1_000;

const silenceMs = 120_000;
const treeBytesMax = 256 << 20;

/**
 * The files of a commit, as far as its trees can be read. Throws `git` if a limit is exceeded, `cancelled` if stopped.
 */
export async function listReadable(directory: string, commit: string, stop: StopSignal): Promise<ReadableTree> {
  try {
    return { entries: await listTree(directory, commit, "without-sizes", stop), missingCount: 0 };
  } catch (error) {
    // `git ls-tree` stops at the first tree that it cannot read.
    if (!endedByItself(error)) throw error;
  }
  return await new TreeWalk(directory, stop).walk(commit);
}

interface WantedTree {
  /** With a trailing slash; empty for the root. */
  readonly path: Buffer;
  /** The name to request from git. */
  readonly name: string;
}

/** Reads one tree after another, through a single `git cat-file` unless a tree ends it. */
class TreeWalk {
  readonly #directory: string;
  readonly #stop: StopSignal;
  readonly #entries: TreeEntry[] = [];
  readonly #waiting: WantedTree[] = [];
  #missingCount = 0;
  #pathBytes = 0;

  constructor(directory: string, stop: StopSignal) {
    this.#directory = directory;
    this.#stop = stop;
  }

  async walk(commit: string): Promise<ReadableTree> {
    assert(isOid(commit), "a tree is listed by oid");
    this.#waiting.push({ path: Buffer.alloc(0), name: `${commit}^{tree}` });
    for (let restarts = 0; this.#waiting.length > 0; restarts++) {
      if (restarts > restartCountMax)
        throw new TrawlError("git", `more than ${restartCountMax} directories of the commit ${commit} cannot be read`);
      await this.#readUntilEnd();
    }
    return { entries: this.#entries.sort((a, b) => Buffer.compare(a.path, b.path)), missingCount: this.#missingCount };
  }

  /** Returns when none is left, or when a tree ended git: that tree is missing. */
  async #readUntilEnd(): Promise<void> {
    const command = {
      args: [`--git-dir=${this.#directory}`, "cat-file", "--batch-command", "--buffer"],
      environment: localEnvironment(),
      directory: "/",
    };
    const child = new GitChild(
      command,
      { timeoutMs: Infinity, silenceMs, process: readLimits, stop: this.#stop },
      null,
    );
    const output = new OutputReader(child);
    let asked: WantedTree[] = [];
    try {
      while (this.#waiting.length > 0) {
        asked = this.#waiting.splice(-windowTrees).reverse();
        child.stdin.write(`${asked.map(({ name }) => `contents ${name}\n`).join("")}flush\n`);
        for (let tree = asked.at(0); tree !== undefined; asked.shift(), tree = asked.at(0))
          await this.#take(tree, output);
      }
    } catch (error) {
      if (!endedByItself(error)) throw error;
      this.#missingCount++;
      this.#waiting.push(...asked.slice(1).reverse());
    } finally {
      child.kill();
    }
  }

  /** Parses `OID tree SIZE\n`, the content, and a line feed; any other line means that there is no such tree. */
  async #take({ path }: WantedTree, output: OutputReader): Promise<void> {
    const [oid, kind, size] = (await output.line()).split(" ");
    const byteCount = Number(size);
    if (!isOid(oid) || !Number.isInteger(byteCount)) {
      this.#missingCount++;
      return;
    }
    if (byteCount > treeBytesMax) throw new TrawlError("git", `the tree ${oid} has ${byteCount} bytes`);
    const content = (await output.bytes(byteCount + 1)).subarray(0, byteCount);
    if (kind !== "tree" || !this.#parse(content, path, oid.length / 2)) this.#missingCount++;
  }

  /** Parses `MODE NAME\0` and an oid, for each entry. Returns false if the content becomes invalid at some position. */
  #parse(content: Buffer, path: Buffer, oidBytes: number): boolean {
    const subtrees: WantedTree[] = [];
    for (let at = 0; at < content.length; ) {
      const space = content.indexOf(32, at);
      const end = content.indexOf(0, space);
      if (space < 0 || end < 0 || end + 1 + oidBytes > content.length) return false;
      const mode = Number.parseInt(content.toString("latin1", at, space), 8);
      const name = content.subarray(space + 1, end);
      const oid = content.toString("hex", end + 1, end + 1 + oidBytes);
      at = end + 1 + oidBytes;
      const isTree = mode === treeMode;
      const full = Buffer.concat(isTree ? [path, name, slash] : [path, name]);
      this.#pathBytes += full.length;
      if (this.#pathBytes > pathBytesMax) throw new TrawlError("git", "the paths of a commit take more than 256 MiB");
      if (isTree) subtrees.push({ path: full, name: oid });
      else this.#entries.push({ mode: Number.isNaN(mode) ? fileMode.regular : mode, oid, size: -1, path: full });
    }
    this.#waiting.push(...subtrees.reverse());
    return true;
  }
}

const treeMode = 0o40000;
const slash = Buffer.from("/");

import { assert } from "../../base/assert.js";
import { BoundedMap } from "../../base/bounded-map.js";
import { monotonicMs } from "../../base/deadline.js";
import { TrawlError } from "../../base/errors.js";
import { encodePath } from "../../base/path-text.js";
import { parseCommitHeader } from "../objects/commit-header.js";
import { isOid } from "../objects/refs.js";
import { StoredObjects } from "../objects/stored-objects.js";
import { readLimits } from "../run/child-limits.js";
import { localEnvironment } from "../run/environment.js";
import { objectKinds } from "../../native/packs/packs.js";
import { OutputReader } from "../run/output-reader.js";
import { GitChild, type StopSignal } from "../run/run.js";

/** Entries of a directory that a commit has as they were asked for; names have one character for each byte. */
export interface UnchangedEntries {
  readonly commit: string;
  readonly names: readonly string[];
  /** In how many parents of the commit they were looked for, and are not the same; absent if in none yet. */
  readonly parentsSeen?: number;
}

/** How far the history of the entries of a directory was read. */
export interface LastCommits {
  /** Entries with the commit that gave them what they are. */
  readonly found: readonly { readonly name: string; readonly commit: string }[];
  /** The others, with the commits from which on their history is not read yet. */
  readonly left: readonly UnchangedEntries[];
}

/** Further entries of a directory are not looked for, nor those with a longer name: systems of files have shorter ones. */
const entryCountMax = 5_000;
const namesBytesMax = 1 << 20;
const nameBytesMax = 4_096;

/** A larger tree is not read: it would not be shown either. */
const treeBytesMax = 32 << 20;

const keptBytesMax = 4 << 20;

const silenceMs = 60_000;

/**
 * The newest commit that changed each entry of the directory at `path` ("" is the root), in one walk through the history: the entries
 * go together from a commit to the parent that has the same, so what is read does not grow with their number. As in `git log -- PATH`, a
 * merge is followed to the first parent in which an entry is the same, and is itself the answer if there is none.
 *
 * `from` is where the walk begins: `findEntries`, or what was left of an earlier one. It ends when all are found, or after `timeMs`
 * and the trees of one more parent.
 * Throws `git` if the mirror is damaged, `cancelled` if stopped.
 */
export async function readLastCommits(
  directory: string,
  path: string,
  from: readonly UnchangedEntries[],
  timeMs: number,
  stop: StopSignal,
): Promise<LastCommits> {
  const walk = new EntryWalk(directory, path, from, stop);
  try {
    return await walk.run(monotonicMs() + timeMs);
  } finally {
    walk.close();
  }
}

/**
 * The entries of a directory of a commit, as the start of a walk: the first 5,000 that have a MiB of names, or none if there is
 * no such directory.
 */
export async function findEntries(
  directory: string,
  commit: string,
  path: string,
  stop: StopSignal,
): Promise<readonly UnchangedEntries[]> {
  const walk = new EntryWalk(directory, path, [], stop);
  try {
    return [{ commit, names: await walk.namesAt(commit) }];
  } finally {
    walk.close();
  }
}

/** A commit with the trees from its root to the directory; the last one is the directory's. */
interface WalkedCommit {
  readonly oid: string;
  readonly parents: readonly string[];
  readonly committedSeconds: number;
  /** Shorter than the path if the commit has no such directory. */
  readonly trees: readonly string[];
}

/** The entries to be followed from a commit on. */
interface Waiting {
  readonly commit: WalkedCommit | undefined;
  /** What each is in the commit, by name; undefined if that was not read. */
  readonly names: Map<string, string | undefined>;
  /** As in `UnchangedEntries`. Another child may send it entries later, which were looked for in none. */
  readonly parentsSeen: number;
}

class EntryWalk {
  readonly #parts: readonly string[];
  readonly #objects: ObjectReader;
  readonly #stop: StopSignal;
  readonly #waiting = new Map<string, Waiting>();
  readonly #found: { name: string; commit: string }[] = [];

  constructor(directory: string, path: string, from: readonly UnchangedEntries[], stop: StopSignal) {
    assert(
      from.every(({ commit }) => isOid(commit)),
      "a history is read by oid",
    );
    this.#parts = path === "" ? [] : Buffer.from(encodePath(path)).toString("latin1").split("/");
    this.#objects = new ObjectReader(directory, stop);
    this.#stop = stop;
    for (const { commit, names, parentsSeen = 0 } of from) {
      const unread = new Map(names.map((name) => [name, undefined]));
      this.#waiting.set(commit, { commit: undefined, names: unread, parentsSeen });
    }
  }

  close(): void {
    this.#objects.close();
  }

  async namesAt(oid: string): Promise<readonly string[]> {
    const commit = await this.#read(oid, undefined);
    let [count, byteCount] = [0, 0];
    const isWanted = ({ length }: string): boolean => {
      if (length > nameBytesMax) return false;
      count++;
      byteCount += length;
      return count <= entryCountMax && byteCount <= namesBytesMax;
    };
    const entries = commit === undefined ? undefined : await this.#entries(commit, isWanted);
    return [...(entries?.keys() ?? [])];
  }

  async run(deadlineMs: number): Promise<LastCommits> {
    while (this.#waiting.size > 0) {
      this.#checkStop();
      await this.#step(await this.#newest(deadlineMs), deadlineMs);
      if (monotonicMs() >= deadlineMs) break;
    }
    return {
      found: this.#found,
      left: [...this.#waiting].map(([commit, { names, parentsSeen }]) => ({
        commit,
        names: [...names.keys()],
        ...(parentsSeen > 0 ? { parentsSeen } : {}),
      })),
    };
  }

  #checkStop(): void {
    if (this.#stop()) throw new TrawlError("cancelled", "reading the last commits was stopped");
  }

  /** The newest first, so that entries that part at a merge meet again; when the time is over, the newest of those that were read. */
  async #newest(deadlineMs: number): Promise<WalkedCommit> {
    let newest: WalkedCommit | undefined;
    for (const [oid, { commit, ...waiting }] of this.#waiting) {
      if (commit === undefined && newest !== undefined && monotonicMs() >= deadlineMs) continue;
      this.#checkStop();
      const read = commit ?? (await this.#read(oid, undefined));
      if (read === undefined) throw new TrawlError("git", `the commit ${oid} cannot be read`);
      if (commit === undefined) this.#waiting.set(oid, { ...waiting, commit: read });
      if (newest === undefined || read.committedSeconds > newest.committedSeconds) newest = read;
    }
    assert(newest !== undefined, "a commit is waiting");
    return newest;
  }

  /** Sends the entries of a commit on to its parents: those of the parents that follow wait when the time is over. */
  async #step(commit: WalkedCommit, deadlineMs: number): Promise<void> {
    const waiting = this.#waiting.get(commit.oid);
    assert(waiting !== undefined, "the commit of a step is waiting");
    const { names, parentsSeen } = waiting;
    this.#waiting.delete(commit.oid);
    for (let at = parentsSeen; at < commit.parents.length && names.size > 0; at++) {
      // At least one, so that a walk gets on however often it is continued.
      if (at > parentsSeen && monotonicMs() >= deadlineMs) {
        this.#waiting.set(commit.oid, { commit, names, parentsSeen: at });
        return;
      }
      this.#checkStop();
      // In a shallow mirror, git takes a commit whose parents are missing for one without parents.
      const parent = await this.#read(commit.parents[at], commit);
      if (parent !== undefined) await this.#sendOn(commit, names, parent);
    }
    for (const name of names.keys()) this.#found.push({ name, commit: commit.oid });
  }

  /** Moves those of these entries of the commit to its parent that are the same there. */
  async #sendOn(commit: WalkedCommit, names: Map<string, string | undefined>, parent: WalkedCommit): Promise<void> {
    let same: readonly string[];
    if (this.#directoryOf(parent) === this.#directoryOf(commit)) same = [...names.keys()];
    else {
      const isWanted = (name: string): boolean => names.has(name);
      const older = await this.#entries(parent, isWanted);
      if (older === undefined) return;
      if ([...names.values()].includes(undefined))
        for (const [name, entry] of (await this.#entries(commit, isWanted)) ?? []) names.set(name, entry);
      same = [...names].flatMap(([name, entry]) => (entry === older.get(name) ? [name] : []));
    }
    if (same.length === 0) return;
    const known = this.#waiting.get(parent.oid);
    const sent = known?.names ?? new Map<string, string | undefined>();
    for (const name of same) {
      sent.set(name, names.get(name));
      names.delete(name);
    }
    this.#waiting.set(parent.oid, { commit: parent, names: sent, parentsSeen: 0 });
  }

  #directoryOf({ trees }: WalkedCommit): string | undefined {
    return trees[this.#parts.length];
  }

  /** A commit and its trees; those that a commit beside it has too are not read again. Undefined if the commit is missing. */
  async #read(oid: string, beside: WalkedCommit | undefined): Promise<WalkedCommit | undefined> {
    const text = await this.#objects.read(oid, "commit");
    const header = text && parseCommitHeader(text.toString("latin1"));
    if (text === undefined) return undefined;
    // A header that git does not write has a tree as well.
    const tree = header?.tree ?? /^tree ([0-9a-f]{40,64})$/m.exec(text.toString("latin1", 0, 80))?.[1];
    if (tree === undefined) throw new TrawlError("git", `the commit ${oid} has no tree`);
    const trees = [tree];
    for (const [depth, part] of this.#parts.entries()) {
      const known = beside?.trees[depth] === trees[depth] ? beside?.trees[depth + 1] : undefined;
      const below = known ?? (await this.#subtree(trees[depth], part));
      if (below === undefined) break;
      trees.push(below);
    }
    return { oid, parents: parseParents(text), committedSeconds: header?.committedSeconds ?? 0, trees };
  }

  async #subtree(tree: string, name: string): Promise<string | undefined> {
    const content = await this.#objects.read(tree, "tree");
    const entry = content && readTree(content, tree.length / 2, (other) => other === name).get(name);
    return entry?.startsWith(`${treeMode} `) ? entry.slice(treeMode.length + 1) : undefined;
  }

  /** The mode and the oid of each entry of the directory that is wanted; undefined if there is no directory. */
  async #entries(
    commit: WalkedCommit,
    isWanted: (name: string) => boolean,
  ): Promise<ReadonlyMap<string, string> | undefined> {
    const tree = this.#directoryOf(commit);
    if (tree === undefined) return undefined;
    const content = await this.#objects.read(tree, "tree");
    if (content === undefined) throw new TrawlError("git", `the tree ${tree} cannot be read`);
    return readTree(content, tree.length / 2, isWanted);
  }
}

const treeMode = "40000";

/** Git itself merges fewer; in further parents nothing is looked for. */
const parentCountMax = 1_000;

/** The lines after the first. */
function parseParents(text: Buffer): readonly string[] {
  const parents: string[] = [];
  const start = "parent ";
  let at = text.indexOf(10) + 1;
  while (parents.length < parentCountMax && text.toString("latin1", at, at + start.length) === start) {
    const end = text.indexOf(10, at);
    const oid = text.toString("latin1", at + start.length, end);
    if (end < 0 || !isOid(oid)) break;
    parents.push(oid);
    at = end + 1;
  }
  return parents;
}

/** Reads `MODE NAME\0` and an oid of each entry that is wanted, as `MODE OID` by name. */
function readTree(content: Buffer, oidBytes: number, isWanted: (name: string) => boolean): ReadonlyMap<string, string> {
  const entries = new Map<string, string>();
  for (let at = 0; at < content.length; ) {
    const space = content.indexOf(32, at);
    const end = content.indexOf(0, space);
    if (space < 0 || end < 0 || end + 1 + oidBytes > content.length) throw new TrawlError("git", "a tree is malformed");
    const name = content.toString("latin1", space + 1, end);
    if (isWanted(name)) {
      const oid = content.toString("hex", end + 1, end + 1 + oidBytes);
      entries.set(name, `${content.toString("latin1", at, space)} ${oid}`);
    }
    at = end + 1 + oidBytes;
  }
  return entries;
}

/** Reads commits and trees one after the other: from the files of the mirror or, what is not found there, through one git process. */
class ObjectReader {
  readonly #directory: string;
  readonly #stop: StopSignal;
  #stored: StoredObjects | undefined;
  #storedLength = 0;
  /** What was read last: the trees of a commit are those of its parent's step, too. */
  readonly #kept = new BoundedMap<string, Buffer>(keptBytesMax, ({ length }) => 200 + length);
  #child: { readonly git: GitChild; readonly output: OutputReader } | undefined;

  constructor(directory: string, stop: StopSignal) {
    this.#directory = directory;
    this.#stop = stop;
  }

  close(): void {
    this.#stored?.close();
    this.#child?.git.kill();
  }

  /** Undefined if there is no such object of that kind. */
  async read(oid: string, kind: "commit" | "tree"): Promise<Buffer | undefined> {
    if (this.#storedLength === 0) {
      this.#storedLength = oid.length;
      this.#stored = StoredObjects.open(this.#directory, oid.length, this.#stop);
    }
    const known = this.#kept.get(oid);
    if (known !== undefined) return known;
    const content = this.#stored?.readObject(oid, objectKinds[kind], treeBytesMax) ?? (await this.#ask(oid, kind));
    if (content !== undefined && kind === "tree") this.#kept.set(oid, content);
    return content;
  }

  async #ask(oid: string, wanted: string): Promise<Buffer | undefined> {
    const { git, output } = (this.#child ??= this.#start());
    git.stdin.write(`${oid}\n`);
    const [, kind, size] = (await output.line()).split(" ");
    const byteCount = Number(size);
    if (kind === "missing" || !Number.isInteger(byteCount)) return undefined;
    if (byteCount > treeBytesMax) throw new TrawlError("git", `the ${wanted} ${oid} has ${byteCount} bytes`);
    const content = Buffer.from((await output.bytes(byteCount + 1)).subarray(0, byteCount));
    return kind === wanted ? content : undefined;
  }

  #start() {
    const git = new GitChild(
      {
        args: [`--git-dir=${this.#directory}`, "cat-file", "--batch"],
        environment: localEnvironment(),
        directory: "/",
      },
      { timeoutMs: Infinity, silenceMs, process: readLimits, stop: this.#stop },
      null,
    );
    return { git, output: new OutputReader(git) };
  }
}

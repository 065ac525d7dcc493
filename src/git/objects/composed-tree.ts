import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import { assert } from "../../base/assert.js";
import { BoundedMap } from "../../base/bounded-map.js";
import { monotonicMs } from "../../base/deadline.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import { Pace } from "../../base/pace.js";
import { objectKinds } from "../../native/packs/packs.js";
import { lackOfRoom } from "../run/disk-room.js";
import { runGit, type StopSignal } from "../run/run.js";
import {
  parseSubmodules,
  resolveSubmoduleUrl,
  submodulesBytesMax,
  submodulesPath,
  type SubmoduleSettings,
} from "./gitmodules.js";
import { fileMode, isRegular, localCommand } from "./objects.js";
import { isOid } from "./refs.js";
import { StoredObjects } from "./stored-objects.js";

/** A mirror with this file has the contents of submodules. It is written anew when other commits of submodules are kept. */
export const submodulesFile = "submodules-state";

/** A mirror with this file may have commits of other repositories. */
export const foreignCommitsFile = "foreign-commits";

/** What keeps them in the mirror. */
export const submodulesRef = "refs/trawl/submodules";

/** The bounds of what one commit may have of its submodules; with more, some are left out. */
export interface SubmoduleLimits {
  readonly countMax: number;
  /** How many submodules may contain one. */
  readonly depthMax: number;
  /** Of all submodules together. */
  readonly fileCountMax: number;
  readonly pathBytesMax: number;
  /** What may be read and looked through: the bytes of objects, and some for each object and each name in `.gitmodules`. */
  readonly workMax: number;
}

export const submoduleLimits: SubmoduleLimits = {
  countMax: 1_000,
  depthMax: 5,
  fileCountMax: 500_000,
  pathBytesMax: 64 << 20,
  workMax: 128 << 20,
};

/** What an object and a name cost beside their bytes. */
const workPerObject = 500;
const workPerName = 100;

/** Directories within one another. */
const directoryDepthMax = 256;

const treeBytesMax = 64 << 20;

/** Trees and settings that one composition keeps. */
const keptTreeBytesMax = 16 << 20;

/** What is told of one submodule. */
const problemsMax = 20;

/** Compositions that one composer remembers, by the submodules in them. */
const keptPartsMax = 10_000;

/** Objects that are read by git because the addon cannot read them. */
const readsByGitMax = 2_000;

/** A submodule of a commit, or of one of its submodules. */
export interface FoundSubmodule {
  /** From the root of the commit; one character per byte. */
  readonly path: string;
  /** The commit that is to be there. */
  readonly pin: string;
  /** Where the commit is; relative ones are resolved. "" if that is not known. */
  readonly url: string;
  /** `missing`: the mirror does not have the commit. `left-out`: `reason` says why it cannot be had at all. */
  readonly state: "present" | "missing" | "left-out";
  readonly reason: string;
}

export interface ComposedTree {
  /** The oid of a tree; that of the commit if nothing is composed. */
  readonly tree: string;
  readonly submodules: readonly FoundSubmodule[];
  /** What else is wrong: `FILE: …`. */
  readonly problems: readonly string[];
  /** Whether it is the tree of this commit in this mirror until other objects come: nothing is missing, nothing failed. */
  readonly isFinal: boolean;
}

/** The room that new trees have. */
export interface TreeRoom {
  /** Nothing is written when less of the disk is free. */
  readonly reserveBytes: number;
  /** Whether nothing is written while the mirror has many loose objects. */
  readonly isBounded: boolean;
}

/**
 * Makes trees of commits in which submodules are directories with what the commits have to which they point, as in a clone with
 * `--recurse-submodules`. Only what `.gitmodules` names is composed, and only from commits that the mirror has; any other submodule stays what it is.
 * The trees are written to the mirror, each as a loose object, so that everything that reads trees reads these as well.
 *
 * The contents of a commit decide about everything, and may be hostile: a tree that cannot be read, that is nested too deep, or that has too many files leaves out its submodule.
 * Must be closed. Methods throw `cancelled` if stopped, `storage` if the disk cannot be written, and `git` if the commit itself cannot be read.
 */
export class TreeComposer {
  readonly #directory: string;
  readonly #stop: StopSignal;
  readonly #limits: SubmoduleLimits;
  readonly #room: TreeRoom;
  readonly #pace: Pace;
  #objects: StoredObjects | undefined;
  readonly #trees = new BoundedMap<string, KeptTree>(keptTreeBytesMax, ({ byteCount }) => byteCount);
  /** By commit, URL and depth. */
  readonly #parts = new BoundedMap<string, Part>(keptPartsMax, ({ found }) => 1 + found.length);
  #readsByGit = 0;
  #uncheckedBytes = Infinity;

  constructor(directory: string, oidLength: number, limits: SubmoduleLimits, room: TreeRoom, stop: StopSignal) {
    this.#directory = directory;
    this.#stop = stop;
    this.#limits = limits;
    this.#room = room;
    this.#pace = new Pace("the reading of submodules", stop);
    this.#objects = StoredObjects.open(directory, oidLength, stop);
  }

  close(): void {
    this.#objects?.close();
    this.#objects = undefined;
  }

  /** `url`: of the repository, for relative URLs; "" if they do not matter. */
  async compose(commit: string, url: string): Promise<ComposedTree> {
    assert(isOid(commit), "a commit is composed by oid");
    const root = await this.rootTree(commit);
    const { countMax, fileCountMax, pathBytesMax, workMax } = this.#limits;
    const left: Left = { count: countMax, fileCount: fileCountMax, pathBytes: pathBytesMax, work: workMax };
    try {
      const { tree, found, problems, isFinal } = await this.#compose(root, url, 0, left);
      return { tree: tree === root ? commit : tree, submodules: found, problems, isFinal };
    } catch (error) {
      if (!isTold(error)) throw error;
      return { tree: commit, submodules: [], problems: [errorMessage(error)], isFinal: false };
    }
  }

  /** The tree of a commit. */
  async rootTree(commit: string, left?: Left): Promise<string> {
    const text = (await this.#read(commit, "commit", treeBytesMax, left)).toString("latin1", 0, 100);
    const tree = text.slice("tree ".length, text.indexOf("\n"));
    if (!text.startsWith("tree ") || !isOid(tree)) throw new TrawlError("git", `the commit ${commit} has no tree`);
    return tree;
  }

  /** Which of the commits the mirror has. */
  async hasCommits(oids: readonly string[]): Promise<boolean[]> {
    if (oids.length === 0) return [];
    const kinds = this.#objects?.kinds(oids) ?? (await this.#kindsByGit(oids));
    return oids.map((_, i) => kinds[i] === objectKinds.commit);
  }

  async #kindsByGit(oids: readonly string[]): Promise<number[]> {
    const { stdout } = await runGit({
      ...localCommand(this.#stop),
      args: [`--git-dir=${this.#directory}`, "cat-file", "--batch-check=%(objecttype)"],
      stdin: oids.map((oid) => `${oid}\n`).join(""),
      exitCodes: [],
    });
    const lines = stdout.toString("latin1").split("\n");
    return oids.map((_, i) => (lines[i] === "commit" ? objectKinds.commit : objectKinds.none));
  }

  /** Writes a tree that keeps others from being deleted; the names are numbers. */
  keepTrees(trees: readonly string[]): string {
    const entries = trees.map((oid, i) => ({ mode: treeMode, name: String(i).padStart(6, "0"), oid }));
    return this.#writeTree(entries);
  }

  writeCommit(text: string | Buffer, oidLength: number): string {
    return this.#write("commit", Buffer.from(text), oidLength);
  }

  /** Writes a commit that differs from another one only in its tree. */
  async writeWithTree(commit: string, tree: string): Promise<string> {
    const text = await this.#read(commit, "commit", treeBytesMax, undefined);
    return this.writeCommit(Buffer.concat([Buffer.from(`tree ${tree}`), text.subarray(text.indexOf(10))]), tree.length);
  }

  /** The paths that it finds begin at the tree. */
  async #compose(tree: string, url: string, depth: number, left: Left): Promise<Part> {
    const found: FoundSubmodule[] = [];
    const problems: string[] = [];
    const settings = await this.#readSettings(tree, problems, left);
    const pins = await this.#findPins(tree, settings.keys(), problems, left);
    let isFinal = problems.length === 0;
    const isThere = new Set<string>();
    const wanted = [...new Set(pins.values())];
    for (const [i, isCommit] of (await this.hasCommits(wanted)).entries()) if (isCommit) isThere.add(wanted[i]);
    const contents = new Map<string, string>();
    for (const [path, { url: written, isUpdated }] of settings) {
      const pin = pins.get(path);
      if (pin === undefined) continue;
      if (this.#pace.isDue) await this.#pace.rest();
      if (left.count <= 0) {
        problems.push(`${shown(path)} and further submodules: there are more than ${this.#limits.countMax}`);
        isFinal = false;
        break;
      }
      left.count--;
      let at = "";
      const leaveOut = (reason: string): void => {
        found.push({ path, pin, url: at, state: "left-out", reason });
      };
      const problem = problemOfPath(path) ?? problemOfSettings(written, isUpdated) ?? this.#tooDeep(depth);
      if (problem !== undefined || written === undefined) {
        leaveOut(problem ?? "");
        continue;
      }
      try {
        at = url === "" ? "" : resolveSubmoduleUrl(url, Buffer.from(written, "latin1").toString());
        if (!isThere.has(pin)) {
          found.push({ path, pin, url: at, state: "missing", reason: "" });
          isFinal = false;
          continue;
        }
        const own = await this.#part(pin, at, depth + 1, left);
        // What is in nested ones counts for the outermost.
        if (depth === 0) {
          const size = await this.#measure(own.tree, 0, new Map(), left);
          const pathBytes = size.pathBytes + size.fileCount * (path.length + 1);
          if (size.fileCount > left.fileCount || pathBytes > left.pathBytes) throw this.#tooManyFiles();
          left.fileCount -= size.fileCount;
          left.pathBytes -= pathBytes;
        }
        found.push({ path, pin, url: at, state: "present", reason: "" });
        for (const inner of own.found) found.push({ ...inner, path: `${path}/${inner.path}` });
        for (const inner of own.problems.slice(0, problemsMax)) problems.push(`${shown(path)}/${inner}`);
        if (!own.isFinal) isFinal = false;
        contents.set(path, own.tree);
      } catch (error) {
        if (!isTold(error)) throw error;
        leaveOut(errorMessage(error));
        isFinal = false;
      }
    }
    return { tree: contents.size === 0 ? tree : await this.#replace(tree, contents), found, problems, isFinal };
  }

  /** Composes a submodule, or remembers it: branches, and commits beside one another, have the same ones. */
  async #part(pin: string, url: string, depth: number, left: Left): Promise<Part> {
    const key = `${pin} ${depth} ${url}`;
    const known = this.#parts.get(key);
    if (known !== undefined && known.found.length <= left.count) {
      left.count -= known.found.length;
      return known;
    }
    const part = await this.#compose(await this.rootTree(pin, left), url, depth, left);
    if (part.isFinal) this.#parts.set(key, part);
    return part;
  }

  #tooManyFiles(): TrawlError {
    return new TrawlError("git", `it has too many files: those of all submodules may be ${this.#limits.fileCountMax}`);
  }

  #tooDeep(depth: number): string | undefined {
    const { depthMax } = this.#limits;
    return depth < depthMax ? undefined : `it is in ${depthMax} others, one in the other, which is the limit`;
  }

  /** What `.gitmodules` says; nothing if there is no such file, or it is a link. */
  async #readSettings(tree: string, problems: string[], left: Left): Promise<ReadonlyMap<string, SubmoduleSettings>> {
    const files = (await this.#readTree(tree, left)).filter(({ name }) => name === submodulesPath);
    if (files.length !== 1 || !isRegular(Number.parseInt(files[0].mode, 8))) return new Map();
    const [{ oid }] = files;
    const known = keptSettings.get(oid);
    if (known !== undefined) return known;
    try {
      const text = (await this.#read(oid, "blob", submodulesBytesMax, left)).toString("latin1");
      const settings = parseSubmodules(text);
      keptSettings.set(oid, settings);
      return settings;
    } catch (error) {
      if (!isTold(error)) throw error;
      problems.push(errorMessage(error));
      return new Map();
    }
  }

  /** The commits of submodules at these paths. A path where there is none, or not the only one of its name, has none. Reads each tree once. */
  async #findPins(
    tree: string,
    paths: Iterable<string>,
    problems: string[],
    left: Left,
  ): Promise<ReadonlyMap<string, string>> {
    const names: PathNames = { path: undefined, below: new Map() };
    for (const path of paths) {
      spend(left, workPerName + path.length);
      if (this.#pace.isDue) await this.#pace.rest();
      const parts = path.split("/");
      if (parts.length > directoryDepthMax) continue;
      let at = names;
      for (const part of parts) {
        let next = at.below.get(part);
        if (next === undefined) at.below.set(part, (next = { path: undefined, below: new Map() }));
        at = next;
      }
      at.path = path;
    }
    const pins = new Map<string, string>();
    const look = async (oid: string, { below }: PathNames, directory: string): Promise<void> => {
      const found = new Map<string, Entry | undefined>();
      try {
        for (const entry of await this.#readTree(oid, left))
          if (below.has(entry.name)) found.set(entry.name, found.has(entry.name) ? undefined : entry);
      } catch (error) {
        if (!isTold(error)) throw error;
        if (problems.length < problemsMax) problems.push(`${shown(directory)}: ${errorMessage(error)}`);
      }
      for (const [name, entry] of found) {
        const next = below.get(name);
        if (entry === undefined || next === undefined) continue;
        const mode = Number.parseInt(entry.mode, 8);
        if (mode === fileMode.gitlink && next.path !== undefined) pins.set(next.path, entry.oid);
        if (mode === directoryMode && next.below.size > 0) await look(entry.oid, next, `${directory}${name}/`);
      }
    };
    if (names.below.size > 0) await look(tree, names, "");
    return pins;
  }

  /** The tree with other trees at the paths of submodules. Reads what `#findPins` has read, and counts it no more. */
  async #replace(tree: string, contents: ReadonlyMap<string, string>): Promise<string> {
    const below = new Map<string, Map<string, string>>();
    for (const [path, oid] of contents) {
      const slash = path.indexOf("/");
      const name = slash < 0 ? path : path.slice(0, slash);
      const rest = below.get(name) ?? new Map<string, string>();
      below.set(name, rest);
      rest.set(slash < 0 ? "" : path.slice(slash + 1), oid);
    }
    const entries: Entry[] = [];
    for (const entry of await this.#readTree(tree, undefined)) {
      const changes = below.get(entry.name);
      if (changes === undefined) entries.push(entry);
      else {
        const own = changes.get("");
        entries.push({ mode: treeMode, name: entry.name, oid: own ?? (await this.#replace(entry.oid, changes)) });
      }
    }
    return this.#writeTree(entries);
  }

  /** How much a listing of everything below the tree has, without making one: what is in several places is read once. */
  async #measure(tree: string, depth: number, known: Map<string, TreeSize>, left: Left): Promise<TreeSize> {
    const measured = known.get(tree) ?? keptSizes.get(`${this.#directory} ${tree}`);
    if (measured !== undefined) return measured;
    if (this.#pace.isDue) await this.#pace.rest();
    if (depth > directoryDepthMax)
      throw new TrawlError("git", `it has more than ${directoryDepthMax} directories within one another`);
    const size = { fileCount: 0, pathBytes: 0 };
    for (const { mode, name, oid } of await this.#readTree(tree, left)) {
      if (Number.parseInt(mode, 8) !== directoryMode) {
        size.fileCount++;
        size.pathBytes += name.length + 1;
        continue;
      }
      const own = await this.#measure(oid, depth + 1, known, left);
      size.fileCount += own.fileCount;
      size.pathBytes += own.pathBytes + own.fileCount * (name.length + 1);
    }
    if (size.fileCount > this.#limits.fileCountMax) throw this.#tooManyFiles();
    known.set(tree, size);
    if (depth === 0) keptSizes.set(`${this.#directory} ${tree}`, size);
    return size;
  }

  async #readTree(oid: string, left: Left | undefined): Promise<readonly Entry[]> {
    const kept = this.#trees.get(oid);
    if (kept !== undefined) {
      if (left !== undefined) spend(left, kept.byteCount / keptPerByte);
      return kept.entries;
    }
    const content = await this.#read(oid, "tree", treeBytesMax, left);
    if (this.#pace.isDue) await this.#pace.rest();
    const entries = parseTreeObject(content, oid);
    this.#trees.set(oid, { entries, byteCount: 100 + content.length * keptPerByte });
    return entries;
  }

  async #read(
    oid: string,
    kind: "commit" | "tree" | "blob",
    bytesMax: number,
    left: Left | undefined,
  ): Promise<Buffer> {
    if (left !== undefined) spend(left, workPerObject);
    const content = await this.#readObject(oid, kind, bytesMax);
    if (left !== undefined) spend(left, content.length);
    return content;
  }

  async #readObject(oid: string, kind: "commit" | "tree" | "blob", bytesMax: number): Promise<Buffer> {
    const stored = this.#objects?.readObject(oid, objectKinds[kind], bytesMax);
    if (stored !== undefined) return stored;
    if (++this.#readsByGit > readsByGitMax)
      throw new TrawlError("git", "too many objects of submodules have to be read by git");
    const { stdout } = await runGit({
      ...localCommand(this.#stop),
      args: [`--git-dir=${this.#directory}`, "cat-file", kind, oid],
      outputBytesMax: bytesMax,
      exitCodes: [],
    });
    return stdout;
  }

  #writeTree(entries: readonly Entry[]): string {
    const oidLength = entries[0].oid.length;
    const sorted = [...entries].sort((a, b) => (sortedName(a) < sortedName(b) ? -1 : 1));
    const parts = sorted.flatMap(({ mode, name, oid }) => [
      Buffer.from(`${mode} ${name}\0`, "latin1"),
      Buffer.from(oid, "hex"),
    ]);
    return this.#write("tree", Buffer.concat(parts), oidLength);
  }

  /** Writes a loose object, as git does, unless it is there. */
  #write(kind: "tree" | "commit", content: Buffer, oidLength: number): string {
    const bytes = Buffer.concat([Buffer.from(`${kind} ${content.length}\0`), content]);
    const oid = createHash(oidLength === 64 ? "sha256" : "sha1")
      .update(bytes)
      .digest("hex");
    const folder = join(this.#directory, "objects", oid.slice(0, 2));
    const file = join(folder, oid.slice(2));
    // One that is packed and that nothing refers to may be deleted though it is in use.
    if (touch(file)) return oid;
    this.#uncheckedBytes += writeBytes + bytes.length;
    if (this.#uncheckedBytes > uncheckedBytesMax) {
      requireRoom(this.#directory, this.#room);
      this.#uncheckedBytes = 0;
    }
    const temporary = join(folder, `tmp_obj_${randomUUID()}`);
    try {
      mkdirSync(folder, { recursive: true });
      writeFileSync(temporary, deflateSync(bytes), { flag: "wx", mode: 0o444, flush: true });
      renameSync(temporary, file);
    } catch (cause) {
      rmSync(temporary, { force: true });
      throw new TrawlError("storage", `an object of submodules cannot be written: ${errorMessage(cause)}`, { cause });
    }
    return oid;
  }
}

/** What of the limits is left; it never grows. */
interface Left {
  count: number;
  fileCount: number;
  pathBytes: number;
  work: number;
}

function spend(left: Left, work: number): void {
  left.work -= work;
  if (left.work <= 0) throw new TrawlError("git", "there is too much to read for the submodules of one commit");
}

/** Whether an error leaves out a submodule; others end the composition. */
function isTold(error: unknown): error is TrawlError {
  return error instanceof TrawlError && error.code !== "cancelled" && error.code !== "storage";
}

/** A composed submodule, whose paths begin at its root. */
interface Part {
  readonly tree: string;
  readonly found: readonly FoundSubmodule[];
  readonly problems: readonly string[];
  readonly isFinal: boolean;
}

/** Names within a directory, of paths that are looked up. */
interface PathNames {
  /** That ends here. */
  path: string | undefined;
  readonly below: Map<string, PathNames>;
}

interface Entry {
  /** Octal. */
  readonly mode: string;
  /** One character per byte. */
  readonly name: string;
  readonly oid: string;
}

interface KeptTree {
  readonly entries: readonly Entry[];
  readonly byteCount: number;
}

const keptPerByte = 4;

interface TreeSize {
  readonly fileCount: number;
  readonly pathBytes: number;
}

const directoryMode = 0o40000;
const treeMode = "40000";

/** By the oid of the file. */
const keptSettings = new BoundedMap<string, ReadonlyMap<string, SubmoduleSettings>>(
  20_000,
  (settings) => 10 + settings.size,
);

/** By mirror and tree. */
const keptSizes = new BoundedMap<string, TreeSize>(10_000, () => 1);

/** git sorts directories as if their names ended with a slash. */
function sortedName({ mode, name }: Entry): string {
  return Number.parseInt(mode, 8) === directoryMode ? `${name}/` : name;
}

function problemOfPath(path: string): string | undefined {
  const isOdd = path.split("/").some((part) => part === "" || part === "." || part === ".." || /^\.git$/i.test(part));
  return isOdd ? "its path is none that git checks out" : undefined;
}

function problemOfSettings(url: string | undefined, isUpdated: boolean): string | undefined {
  if (url === undefined) return `${submodulesPath} has no URL for it`;
  return isUpdated ? undefined : `${submodulesPath} says update = none`;
}

/** Parses `MODE NAME\0` and an oid, for each entry. Throws `git`. */
export function parseTreeObject(content: Buffer, oid: string): Entry[] {
  const oidBytes = oid.length / 2;
  const entries: Entry[] = [];
  for (let at = 0; at < content.length; ) {
    const space = content.indexOf(32, at);
    const end = content.indexOf(0, space);
    if (space < 0 || end < 0 || end + 1 + oidBytes > content.length)
      throw new TrawlError("git", `the tree ${oid} is damaged`);
    entries.push({
      mode: content.toString("latin1", at, space),
      name: content.toString("latin1", space + 1, end),
      oid: content.toString("hex", end + 1, end + 1 + oidBytes),
    });
    at = end + 1 + oidBytes;
  }
  return entries;
}

/** A path for messages. */
function shown(path: string): string {
  return Buffer.from(path, "latin1").toString();
}

/** After as much is written, the room for more is looked at again; a file takes some of it. */
const uncheckedBytesMax = 4 << 20;
const writeBytes = 40_000;

/** Of 256 folders of loose objects, the one that is counted, as git does; with more in it, a mirror waits for a repack. */
const countedFolder = "17";
const countedMax = 200;

/** Searches of many commits write many trees. Throws `git` if there is no room. */
function requireRoom(directory: string, { reserveBytes, isBounded }: TreeRoom): void {
  const lack = lackOfRoom(directory, reserveBytes);
  if (lack !== null) throw new TrawlError("git", `the writing of trees with submodules ${lack}`);
  if (!isBounded) return;
  let count = 0;
  try {
    count = readdirSync(join(directory, "objects", countedFolder)).length;
  } catch {
    // There are none.
  }
  if (count > countedMax)
    throw new TrawlError(
      "git",
      "the mirror has too many loose objects for more trees with submodules: they are packed within some hours",
    );
}

/** What the last sync has reserved; a part of the disk if that is not known. */
function readReserve(directory: string): number {
  try {
    const { reserveBytes } = JSON.parse(readFileSync(join(directory, submodulesFile), "utf8")) as Partial<TreeRoom>;
    return typeof reserveBytes === "number" ? reserveBytes : Infinity;
  } catch {
    return Infinity;
  }
}

/** Whether the file is there; it then counts as written just now. */
function touch(file: string): boolean {
  try {
    const now = new Date();
    utimesSync(file, now, now);
    return true;
  } catch {
    return false;
  }
}

/** Changes after each fetch, and each day; undefined if the mirror is without contents of submodules. */
function readStamp(directory: string): string | undefined {
  try {
    const { mtimeNs, ino, size } = statSync(join(directory, submodulesFile), { bigint: true });
    // Objects that nothing refers to are kept for two weeks.
    return `${mtimeNs} ${ino} ${size} ${new Date().toISOString().slice(0, 10)}`;
  } catch {
    return undefined;
  }
}

/** By mirror, its stamp, and commit. What is not final is composed again after a minute. */
const keptTrees = new BoundedMap<string, { readonly tree: string; readonly untilMs: number }>(20_000, () => 1);
const notFinalMs = 60_000;

/**
 * The trees with the contents of the commits, in their order: with those of submodules, as far as the mirror has them, if it has any, and
 * otherwise the commits themselves. Throws like `TreeComposer`.
 */
export async function contentTrees(directory: string, commits: readonly string[], stop: StopSignal): Promise<string[]> {
  const stamp = readStamp(directory);
  if (stamp === undefined || commits.length === 0) return [...commits];
  let composer: TreeComposer | undefined;
  try {
    const trees: string[] = [];
    for (const commit of commits) {
      const key = `${directory} ${stamp} ${commit}`;
      const kept = keptTrees.get(key);
      if (kept !== undefined && monotonicMs() < kept.untilMs) {
        trees.push(kept.tree);
        continue;
      }
      composer ??= composerOnDemand(directory, commit.length, stop);
      const { tree, isFinal } = await composer.compose(commit, "");
      keptTrees.set(key, { tree, untilMs: isFinal ? Infinity : monotonicMs() + notFinalMs });
      trees.push(tree);
    }
    return trees;
  } finally {
    composer?.close();
  }
}

/** Like `contentTrees`, of one commit. */
export async function contentTree(directory: string, commit: string, stop: StopSignal): Promise<string> {
  const [tree] = await contentTrees(directory, [commit], stop);
  return tree;
}

/**
 * The commit, or one with its text and the tree of its contents: of a tree without a commit, `git archive` makes another archive each time,
 * because its files have the time at which it is made. Throws like `TreeComposer`.
 */
export async function contentCommit(directory: string, commit: string, stop: StopSignal): Promise<string> {
  const tree = await contentTree(directory, commit, stop);
  if (tree === commit) return commit;
  const composer = composerOnDemand(directory, commit.length, stop);
  try {
    return await composer.writeWithTree(commit, tree);
  } finally {
    composer.close();
  }
}

function composerOnDemand(directory: string, oidLength: number, stop: StopSignal): TreeComposer {
  const room = { reserveBytes: readReserve(directory), isBounded: true };
  return new TreeComposer(directory, oidLength, submoduleLimits, room, stop);
}

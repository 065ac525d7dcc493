import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import { assert } from "../../base/assert.js";
import { BoundedMap } from "../../base/bounded-map.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import { Pace } from "../../base/pace.js";
import { objectKinds } from "../../native/packs/packs.js";
import { runGit, type StopSignal } from "../run/run.js";
import {
  parseSubmodules,
  resolveSubmoduleUrl,
  submodulesBytesMax,
  submodulesPath,
  type SubmoduleSettings,
} from "./gitmodules.js";
import { fileMode, localCommand } from "./objects.js";
import { isOid } from "./refs.js";
import { StoredObjects } from "./stored-objects.js";

/**
 * A mirror with this file has the contents of submodules. It is written anew after each fetch, so that what is known of its commits is
 * found again.
 */
export const submodulesFile = "submodules-state";

/** The bounds of what one commit may have of its submodules; with more, some are left out. */
export interface SubmoduleLimits {
  readonly countMax: number;
  /** How many submodules may contain one. */
  readonly depthMax: number;
  /** Of all submodules together. */
  readonly fileCountMax: number;
  readonly pathBytesMax: number;
}

export const submoduleLimits: SubmoduleLimits = {
  countMax: 1_000,
  depthMax: 5,
  fileCountMax: 500_000,
  pathBytesMax: 64 << 20,
};

/** Directories within one another. */
const directoryDepthMax = 256;

const treeBytesMax = 64 << 20;

/** Trees and settings that one composition keeps. */
const keptTreeBytesMax = 16 << 20;

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
}

/**
 * Makes trees of commits in which submodules are directories with what the commits have to which they point, as in a clone with
 * `--recurse-submodules`. Only what `.gitmodules` names is composed, and only from commits that the mirror has; any other submodule stays what it is.
 * The trees are written to the mirror, each as a loose object, so that everything that reads trees reads these as well.
 *
 * The contents of a commit decide about everything, and may be hostile: a tree that cannot be read, that is nested too deep, or that has too many files leaves out its submodule.
 * Must be closed. Methods throw `cancelled` if stopped, and `git` if the commit itself cannot be read.
 */
export class TreeComposer {
  readonly #directory: string;
  readonly #stop: StopSignal;
  readonly #limits: SubmoduleLimits;
  readonly #pace: Pace;
  #objects: StoredObjects | undefined;
  readonly #trees = new BoundedMap<string, KeptTree>(keptTreeBytesMax, ({ byteCount }) => byteCount);
  #readsByGit = 0;
  #writeCount = 0;

  constructor(directory: string, oidLength: number, limits: SubmoduleLimits, stop: StopSignal) {
    this.#directory = directory;
    this.#stop = stop;
    this.#limits = limits;
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
    const composing: Composing = { found: [], problems: [], left: { ...this.#limits } };
    const tree = await this.#compose(root, "", url, 0, composing);
    return { tree: tree === root ? commit : tree, submodules: composing.found, problems: composing.problems };
  }

  /** The tree of a commit. */
  async rootTree(commit: string): Promise<string> {
    const text = (await this.#read(commit, "commit", treeBytesMax)).toString("latin1", 0, 100);
    const tree = text.slice("tree ".length, text.indexOf("\n"));
    if (!text.startsWith("tree ") || !isOid(tree)) throw new TrawlError("git", `the commit ${commit} has no tree`);
    return tree;
  }

  /** Which of the commits the mirror has. */
  hasCommits(oids: readonly string[]): boolean[] {
    const kinds = this.#objects?.kinds(oids) ?? [];
    return oids.map((_, i) => kinds[i] === objectKinds.commit);
  }

  /** Writes a tree that keeps others from being deleted; the names are numbers. */
  keepTrees(trees: readonly string[]): string {
    const entries = trees.map((oid, i) => ({ mode: treeMode, name: String(i).padStart(6, "0"), oid }));
    return this.#writeTree(entries);
  }

  writeCommit(text: string, oidLength: number): string {
    return this.#write("commit", Buffer.from(text), oidLength);
  }

  async #compose(tree: string, prefix: string, url: string, depth: number, composing: Composing): Promise<string> {
    const settings = await this.#readSettings(tree, prefix, composing);
    const contents = new Map<string, string>();
    for (const [path, { url: written, isUpdated }] of settings) {
      if (this.#pace.isDue) await this.#pace.rest();
      const pin = await this.#findGitlink(tree, path);
      if (pin === undefined) continue;
      const full = prefix + path;
      if (composing.found.length >= this.#limits.countMax) {
        composing.problems.push(`${shown(full)} and further submodules: there are more than ${this.#limits.countMax}`);
        break;
      }
      const before = composing.found.length;
      const submodule = { path: full, pin, url: "" };
      const leaveOut = (reason: string, at: string = submodule.url): void => {
        composing.found.splice(before);
        composing.found.push({ ...submodule, url: at, state: "left-out", reason });
      };
      const problem = problemOfPath(path) ?? problemOfSettings(written, isUpdated) ?? this.#tooDeep(depth);
      if (problem !== undefined || written === undefined) {
        leaveOut(problem ?? "");
        continue;
      }
      try {
        const resolved = url === "" ? "" : resolveSubmoduleUrl(url, Buffer.from(written, "latin1").toString());
        if (!this.hasCommits([pin])[0]) {
          composing.found.push({ ...submodule, url: resolved, state: "missing", reason: "" });
          continue;
        }
        composing.found.push({ ...submodule, url: resolved, state: "present", reason: "" });
        const own = await this.#compose(await this.rootTree(pin), `${full}/`, resolved, depth + 1, composing);
        // What is in nested ones counts for the outermost.
        if (depth === 0) {
          const size = await this.#measure(own, 0, new Map());
          const pathBytes = size.pathBytes + size.fileCount * (full.length + 1);
          if (size.fileCount > composing.left.fileCountMax || pathBytes > composing.left.pathBytesMax) {
            leaveOut(`it has too many files: those of all submodules may be ${this.#limits.fileCountMax}`, resolved);
            continue;
          }
          composing.left.fileCountMax -= size.fileCount;
          composing.left.pathBytesMax -= pathBytes;
        }
        contents.set(path, own);
      } catch (error) {
        if (!(error instanceof TrawlError) || error.code === "cancelled" || error.code === "storage") throw error;
        leaveOut(errorMessage(error));
      }
    }
    return contents.size === 0 ? tree : await this.#replace(tree, contents);
  }

  #tooDeep(depth: number): string | undefined {
    const { depthMax } = this.#limits;
    return depth < depthMax ? undefined : `it is in ${depthMax} others, one in the other, which is the limit`;
  }

  /** What `.gitmodules` says; nothing if there is no such file, or it is a link. */
  async #readSettings(
    tree: string,
    prefix: string,
    { problems }: Composing,
  ): Promise<ReadonlyMap<string, SubmoduleSettings>> {
    const file = findEntry(await this.#readTree(tree), submodulesPath);
    if (file === undefined || (Number.parseInt(file.mode, 8) & typeMask) !== (fileMode.regular & typeMask))
      return new Map();
    const known = keptSettings.get(file.oid);
    if (known !== undefined) return known;
    try {
      const text = (await this.#read(file.oid, "blob", submodulesBytesMax)).toString("latin1");
      const settings = parseSubmodules(text);
      keptSettings.set(file.oid, settings);
      return settings;
    } catch (error) {
      if (!(error instanceof TrawlError) || error.code === "cancelled") throw error;
      problems.push(`${shown(prefix)}${errorMessage(error)}`);
      return new Map();
    }
  }

  /** The commit of the submodule at the path; undefined if there is none, or if it is not the only one of its name. */
  async #findGitlink(tree: string, path: string): Promise<string | undefined> {
    const parts = path.split("/");
    let at = tree;
    for (const [i, part] of parts.entries()) {
      const entry = findEntry(await this.#readTree(at), part);
      if (entry === undefined) return undefined;
      const mode = Number.parseInt(entry.mode, 8);
      if (i === parts.length - 1) return mode === fileMode.gitlink ? entry.oid : undefined;
      if (mode !== directoryMode) return undefined;
      at = entry.oid;
    }
    return undefined;
  }

  /** The tree with other trees at the paths of submodules. */
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
    for (const entry of await this.#readTree(tree)) {
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
  async #measure(tree: string, depth: number, known: Map<string, TreeSize>): Promise<TreeSize> {
    const measured = known.get(tree) ?? keptSizes.get(`${this.#directory} ${tree}`);
    if (measured !== undefined) return measured;
    if (this.#pace.isDue) await this.#pace.rest();
    if (depth > directoryDepthMax)
      throw new TrawlError("git", `it has more than ${directoryDepthMax} directories within one another`);
    const size = { fileCount: 0, pathBytes: 0 };
    for (const { mode, name, oid } of await this.#readTree(tree)) {
      if (Number.parseInt(mode, 8) !== directoryMode) {
        size.fileCount++;
        size.pathBytes += name.length + 1;
        continue;
      }
      const own = await this.#measure(oid, depth + 1, known);
      size.fileCount += own.fileCount;
      size.pathBytes += own.pathBytes + own.fileCount * (name.length + 1);
    }
    known.set(tree, size);
    if (depth === 0) keptSizes.set(`${this.#directory} ${tree}`, size);
    return size;
  }

  async #readTree(oid: string): Promise<readonly Entry[]> {
    const kept = this.#trees.get(oid);
    if (kept !== undefined) return kept.entries;
    const content = await this.#read(oid, "tree", treeBytesMax);
    const entries = parseTreeObject(content, oid);
    this.#trees.set(oid, { entries, byteCount: 100 + content.length * 4 });
    return entries;
  }

  async #read(oid: string, kind: "commit" | "tree" | "blob", bytesMax: number): Promise<Buffer> {
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
    if (this.#writeCount++ % writesPerCheck === 0) requireRoom(this.#directory);
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

interface Composing {
  readonly found: FoundSubmodule[];
  readonly problems: string[];
  readonly left: { fileCountMax: number; pathBytesMax: number };
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

interface TreeSize {
  readonly fileCount: number;
  readonly pathBytes: number;
}

const typeMask = 0o170000;
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

/** Undefined too if several have the name. */
function findEntry(entries: readonly Entry[], name: string): Entry | undefined {
  const found = entries.filter((entry) => entry.name === name);
  return found.length === 1 ? found[0] : undefined;
}

function problemOfPath(path: string): string | undefined {
  const isOdd = path.split("/").some((part) => part === "" || part === "." || part === ".." || /^\.git$/i.test(part));
  return isOdd ? "its path is none that git checks out" : undefined;
}

function problemOfSettings(url: string | undefined, isUpdated: boolean): string | undefined {
  if (url === undefined) return `${submodulesPath} has no URL for it`;
  return isUpdated ? undefined : `${submodulesPath} says update = none`;
}

/** Parses `MODE NAME\0` and an oid, for each entry. */
function parseTreeObject(content: Buffer, oid: string): Entry[] {
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

const writesPerCheck = 100;

/** Of 256 folders of loose objects, the one that is counted, as git does; with more in it, a mirror waits for a repack. */
const countedFolder = "17";
const countedMax = 200;

/** Searches of many commits write many trees. */
function requireRoom(directory: string): void {
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

/** Whether the contents of submodules are wanted of this mirror. */
export function hasSubmoduleContents(directory: string): boolean {
  return readStamp(directory) !== undefined;
}

/** By mirror, its stamp, and commit. */
const keptTrees = new BoundedMap<string, string>(20_000, () => 1);

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
      let tree = keptTrees.get(key);
      if (tree === undefined) {
        composer ??= new TreeComposer(directory, commit.length, submoduleLimits, stop);
        ({ tree } = await composer.compose(commit, ""));
        keptTrees.set(key, tree);
      }
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

import { assert } from "../../base/assert.js";
import { decodePath, shownPath } from "../../base/path-text.js";
import { objectKinds } from "../../native/packs/packs.js";
import { parseCommitHeader } from "./commit-header.js";
import { parseTreeObject } from "./composed-tree.js";
import { isRegular, listTree, localCommand } from "./objects.js";
import { isOid } from "./refs.js";
import { StoredObjects } from "./stored-objects.js";
import { runGit, type StopSignal } from "../run/run.js";

/** A file, directory or submodule of a commit. */
export interface EntryData {
  /** From the root, as `decodePath` returns it; "" is the root itself. */
  readonly path: string;
  readonly kind: "directory" | "file" | "submodule";
  readonly mode: number;
  readonly oid: string;
  /** Size of a file, -1 if the mirror lacks its blob; 0 for other entries. */
  readonly byteCount: number;
  /** Whether oid and size are those of contents in Git LFS, and not of their pointer. */
  readonly isLfs?: true;
}

/** The whole tree. */
const rootEntry: EntryData = { path: "", kind: "directory", mode: 0o040000, oid: "", byteCount: 0 };

/** Limit on the paths of one process, whose arguments the system limits; a longer path cannot be asked for. */
const argumentBytesMax = 64 << 10;

/** Limit on the directories that one request lists for paths with U+FFFD. */
const searchedDirectoriesMax = 64;

const replacement = "\ufffd";

/**
 * The entries at these paths, null if there is none, in the order of the request. A path has no leading or trailing
 * slash; "" is the root. A path with U+FFFD that is not in the commit names the only entry that is shown like that, see
 * `shownPath`. Throws `git` if the mirror is damaged, `cancelled` if stopped.
 */
export async function readEntries(
  directory: string,
  commit: string,
  paths: readonly string[],
  stop: StopSignal,
): Promise<(EntryData | null)[]> {
  assert(isOid(commit), "a tree is read by oid");
  const byPath = new Map<string, EntryData>([["", rootEntry]]);
  for (const wanted of argumentLists(new Set(paths.filter((path) => path !== "" && isPlain(path))))) {
    // Otherwise a directory is omitted if something below it is wanted too.
    for (const entry of await list(directory, commit, ["-t"], wanted, stop)) byPath.set(entry.path, entry);
  }
  const search = new ShownPathSearch((path) => listDirectory(directory, commit, path, false, stop));
  const found: (EntryData | null)[] = [];
  for (const path of paths)
    found.push(byPath.get(path) ?? (path.includes(replacement) && isPlain(path) ? await search.find(path) : null));
  return found;
}

/** A larger directory is left to git. */
const treeBytesMax = 64 << 20;

const typeMask = 0o170000;
const directoryMode = 0o040000;

/**
 * The oids of the regular files that a commit, or tree, has at these paths, which have one character per byte. Reads each directory
 * once, usually without git. Throws like `readEntries`.
 */
export async function findFiles(
  directory: string,
  commit: string,
  paths: readonly string[],
  stop: StopSignal,
): Promise<Map<string, string>> {
  assert(isOid(commit), "a tree is read by oid");
  const objects = StoredObjects.open(directory, commit.length, stop);
  try {
    const found = objects && findStored(objects, commit, paths);
    if (found !== undefined) return found;
  } finally {
    objects?.close();
  }
  const wanted = new Set(paths);
  const found = new Map<string, string>();
  for (const { path, mode, oid } of await listTree(directory, commit, "without-sizes", stop)) {
    const name = path.toString("latin1");
    if (wanted.has(name) && isRegular(mode)) found.set(name, oid);
  }
  return found;
}

/** Undefined if a directory has to be read by git. */
function findStored(objects: StoredObjects, commit: string, paths: readonly string[]): Map<string, string> | undefined {
  const isTree = objects.kinds([commit])[0] === objectKinds.tree;
  const root = isTree ? commit : parseCommitHeader(objects.readCommit(commit) ?? "")?.tree;
  if (root === undefined) return undefined;
  type Names = ReadonlyMap<string, { readonly mode: number; readonly oid: string }>;
  const read = (oid: string): Names | undefined => {
    const content = objects.readTree(oid, treeBytesMax);
    const entries = content && parseTreeObject(content, oid);
    return (
      entries &&
      new Map(entries.map(({ name, mode, oid: own }) => [name, { mode: Number.parseInt(mode, 8), oid: own }]))
    );
  };
  /** By path; null where there is none. */
  const directories = new Map<string, Names | null>();
  const found = new Map<string, string>();
  for (const path of paths) {
    let oid: string | undefined = root;
    const parts = path.split("/");
    for (const [i, part] of parts.entries()) {
      const at = parts.slice(0, i).join("/");
      if (!directories.has(at)) {
        const names: Names | undefined | null = oid === undefined ? null : read(oid);
        if (names === undefined) return undefined;
        directories.set(at, names);
      }
      const entry = directories.get(at)?.get(part);
      if (entry === undefined) break;
      if (i === parts.length - 1 && isRegular(entry.mode)) found.set(path, entry.oid);
      oid = (entry.mode & typeMask) === directoryMode ? entry.oid : undefined;
      if (oid === undefined) break;
    }
  }
  return found;
}

function argumentLists(paths: Iterable<string>): string[][] {
  const lists: string[][] = [];
  let byteCount = argumentBytesMax;
  for (const path of paths) {
    const length = Buffer.byteLength(path) + 1;
    if (length > argumentBytesMax) continue;
    byteCount += length;
    if (byteCount > argumentBytesMax) {
      lists.push([]);
      byteCount = length;
    }
    lists.at(-1)?.push(path);
  }
  return lists;
}

/** Finds entries by their path with U+FFFD for what is not UTF-8, as answers show it. */
class ShownPathSearch {
  readonly #list: (path: string) => Promise<readonly EntryData[]>;
  readonly #listings = new Map<string, readonly EntryData[]>();

  constructor(list: (path: string) => Promise<readonly EntryData[]>) {
    this.#list = list;
  }

  /** Null too if several entries are shown like that. */
  async find(path: string): Promise<EntryData | null> {
    const parts = path.split("/");
    let found: readonly EntryData[] = [rootEntry];
    for (const part of parts) {
      const below: EntryData[] = [];
      for (const { path, kind } of found) {
        if (kind !== "directory") continue;
        const prefix = path === "" ? "" : `${path}/`;
        for (const entry of await this.#entries(path))
          if (shownPath(entry.path.slice(prefix.length)) === part) below.push(entry);
      }
      found = below;
    }
    return found.length === 1 ? found[0] : null;
  }

  async #entries(path: string): Promise<readonly EntryData[]> {
    const known = this.#listings.get(path);
    if (known !== undefined) return known;
    const entries = this.#listings.size < searchedDirectoriesMax ? await this.#list(path) : [];
    this.#listings.set(path, entries);
    return entries;
  }
}

/**
 * The entries of a directory, "" for the root; with `recursive`, everything below it; in git's order. Throws like
 * `readEntries`.
 */
export async function listDirectory(
  directory: string,
  commit: string,
  path: string,
  recursive: boolean,
  stop: StopSignal,
): Promise<EntryData[]> {
  assert(isOid(commit), "a tree is read by oid");
  if (!isPlain(path)) return [];
  return list(directory, commit, recursive ? ["-r", "-t"] : [], path === "" ? [] : [`${path}/`], stop).then((entries) =>
    entries.filter((entry) => entry.path !== path && (path === "" || entry.path.startsWith(`${path}/`))),
  );
}

/** The paths of all files, including submodules, in git's order. Throws like `readEntries`. */
export async function listFileNames(directory: string, commit: string, stop: StopSignal): Promise<string[]> {
  assert(isOid(commit), "a tree is read by oid");
  const { stdout } = await runGit({
    ...localCommand(stop),
    args: [`--git-dir=${directory}`, "ls-tree", "-r", "-z", "--name-only", "--full-tree", "--end-of-options", commit],
    exitCodes: [],
  });
  return decodePath(stdout).split("\0").slice(0, -1);
}

/** Whether it can be a path in a tree: no `..`, no empty components, nothing that cannot be passed to git. */
function isPlain(path: string): boolean {
  return (
    path === "" ||
    (!path.includes("\0") && path.split("/").every((part) => part !== "" && part !== "." && part !== ".."))
  );
}

async function list(
  directory: string,
  commit: string,
  flags: readonly string[],
  paths: readonly string[],
  stop: StopSignal,
): Promise<EntryData[]> {
  const { stdout } = await runGit({
    ...localCommand(stop),
    args: [
      `--git-dir=${directory}`,
      "--literal-pathspecs",
      "ls-tree",
      "-z",
      "--long",
      "--full-tree",
      ...flags,
      "--end-of-options",
      commit,
      ...paths,
    ],
    exitCodes: [],
  });
  return decodePath(stdout).split("\0").flatMap(parseEntry);
}

/** `MODE TYPE OID SIZE\tPATH`. */
export function parseEntry(record: string): EntryData[] {
  const tab = record.indexOf("\t");
  if (tab < 0) return [];
  const [mode, type, oid, size] = record.slice(0, tab).split(/ +/);
  const kind = type === "tree" ? "directory" : type === "commit" ? "submodule" : "file";
  return [
    {
      path: record.slice(tab + 1),
      kind,
      mode: Number.parseInt(mode, 8),
      oid,
      // git writes `BAD` for a blob that it does not find.
      byteCount: size === "-" ? 0 : /^\d+$/.test(size) ? Number(size) : -1,
    },
  ];
}

import { assert } from "../../base/assert.js";
import { localCommand } from "./objects.js";
import { isOid } from "../mirror/refs.js";
import { runGit, type StopSignal } from "../run/run.js";

/** A file, directory or submodule of a commit. */
export interface EntryData {
  /** From the root; "" is the root itself. */
  readonly path: string;
  readonly kind: "directory" | "file" | "submodule";
  readonly mode: number;
  readonly oid: string;
  /** Size of a file; 0 for other entries. */
  readonly byteCount: number;
}

/** The whole tree. */
const rootEntry: EntryData = { path: "", kind: "directory", mode: 0o040000, oid: "", byteCount: 0 };

/**
 * The entries at these paths, null if there is none, in the order of the request. A path has no leading or trailing
 * slash; "" is the root. Throws `git` if the mirror is damaged, `cancelled` if stopped.
 */
export async function readEntries(
  directory: string,
  commit: string,
  paths: readonly string[],
  stop: StopSignal,
): Promise<(EntryData | null)[]> {
  assert(isOid(commit), "a tree is read by oid");
  const wanted = paths.filter((path) => path !== "" && isPlain(path));
  const found = wanted.length === 0 ? [] : await list(directory, commit, [], wanted, stop);
  const byPath = new Map(found.map((entry) => [entry.path, entry]));
  return paths.map((path) => (path === "" ? rootEntry : (byPath.get(path) ?? null)));
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
  return stdout.toString("utf8").split("\0").slice(0, -1);
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
  return stdout.toString("utf8").split("\0").flatMap(parseEntry);
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
      byteCount: size === "-" ? 0 : Number(size),
    },
  ];
}

import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { safeDirectoryConfig } from "../run/environment.js";
import type { RemoteUrl } from "../run/remote-url.js";
import { isRefusal } from "../../base/refusal.js";
import { syncToDisk } from "../../base/sync-to-disk.js";

/**
 * The files of a mirror that are handled without git: its configuration, HEAD, and leftovers of a killed git.
 *
 * A mirror is a bare repository. Only its objects and the refs under `refs/heads` and `refs/tags` come from the remote;
 * a detached HEAD is stored in `refs/trawl/head`.
 */

export type ObjectFormat = "sha1" | "sha256";

/** The format with oids of this length. */
export function objectFormatFromOid(oid: string): ObjectFormat {
  return oid.length === 64 ? "sha256" : "sha1";
}

const configs: Readonly<Record<ObjectFormat, string>> = {
  sha1: "[core]\n\trepositoryformatversion = 0\n\tbare = true\n",
  sha256: "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = sha256\n",
};

const configFile = "config";
const headFile = "HEAD";
const incompletenessFile = "incomplete-source";

/** Where a replacement of the mirror is built before it is renamed. */
function stagingPath(directory: string): string {
  return `${directory}.new`;
}

function retiredPath(directory: string): string {
  return `${directory}.old`;
}

/** The file with the safe directories that allow `git upload-pack` to read a local source owned by another user. */
export function trustedSourceFile(directory: string): string {
  return join(directory, "trusted-source.config");
}

/** The same for the source of a submodule. */
export function trustSubmoduleSource(directory: string, path: string): string {
  const file = join(directory, "submodule-source.config");
  writeWhole(file, safeDirectoryConfig(path));
  return file;
}

/** The object format of the mirror; null if the directory is not one of our mirrors, or incomplete. */
export function mirrorFormat(directory: string): ObjectFormat | null {
  if (!isDirectory(join(directory, "objects")) || !isDirectory(join(directory, "refs"))) return null;
  const head = readTextOrNull(join(directory, headFile));
  if (head === null || !/^(ref: refs\/\S.*|[0-9a-f]{40}|[0-9a-f]{64})\n$/.test(head)) return null;
  const config = readTextOrNull(join(directory, configFile));
  if (config === configs.sha1) return "sha1";
  return config === configs.sha256 ? "sha256" : null;
}

/** Replaces the configuration written by git, and marks the local source as trusted. */
export function writeMirrorConfig(directory: string, format: ObjectFormat, url: RemoteUrl): void {
  for (const [path, content] of configFiles(directory, format, url))
    if (readTextOrNull(path) !== content) writeWhole(path, content);
}

function configFiles(
  directory: string,
  format: ObjectFormat,
  url: RemoteUrl,
): (readonly [path: string, content: string])[] {
  return [
    [join(directory, configFile), configs[format]],
    [trustedSourceFile(directory), url.kind === "local" ? safeDirectoryConfig(url.path) : ""],
  ];
}

/** The text of HEAD, one character per byte. */
export function readHead(directory: string): string {
  return readFileSync(join(directory, headFile), "latin1");
}

/** Points HEAD at a full branch name or at a commit. Returns whether that changed it. */
export function writeHead(directory: string, target: { branch: string } | { commit: string }): boolean {
  const text = "branch" in target ? `ref: ${target.branch}\n` : `${target.commit}\n`;
  if (readHead(directory) === text) return false;
  writeWhole(join(directory, headFile), text);
  return true;
}

/**
 * Renames the complete repository in the staging path to the mirror, once its files are durable. A crash or a power
 * loss in between leaves either no mirror or a complete one; leftovers are removed by `removeLeftovers`.
 */
export async function adoptStaging(directory: string): Promise<void> {
  const staging = stagingPath(directory);
  const files = readdirSync(staging, { withFileTypes: true }).filter((entry) => entry.isFile());
  await syncToDisk([...files.map(({ name }) => join(staging, name)), staging]);
  rmSync(retiredPath(directory), { recursive: true, force: true });
  if (existsSync(directory)) renameSync(directory, retiredPath(directory));
  renameSync(staging, directory);
  await syncToDisk([dirname(directory)]);
  rmSync(retiredPath(directory), { recursive: true, force: true });
}

/**
 * Creates an empty repository in the staging path, and returns that path. Implemented by hand, because `git init` takes
 * longer than copying a small repository.
 */
export function createStaging(directory: string, format: ObjectFormat, url: RemoteUrl): string {
  const staging = stagingPath(directory);
  rmSync(staging, { recursive: true, force: true });
  for (const folder of ["objects/info", "objects/pack", "refs/heads", "refs/tags"])
    mkdirSync(join(staging, folder), { recursive: true });
  writeFileSync(join(staging, headFile), "ref: refs/heads/main\n");
  for (const [path, content] of configFiles(staging, format, url)) writeFileSync(path, content, "latin1");
  return staging;
}

/**
 * The fingerprint of a source with missing objects when the mirror was copied from it; null if the mirror has
 * everything that its source has.
 */
export function readIncompleteness(directory: string): string | null {
  return readTextOrNull(join(directory, incompletenessFile));
}

/** Oids of the commits whose parents a repository lacks because it is shallow, sorted; none if its history is whole. */
export function readBoundary(directory: string): string[] {
  return (readTextOrNull(join(directory, "shallow")) ?? "")
    .split("\n")
    .filter((line) => line !== "")
    .sort();
}

/** For a staging directory. */
export function writeIncompleteness(staging: string, fingerprint: string): void {
  writeFileSync(join(staging, incompletenessFile), fingerprint, "latin1");
}

/**
 * Writes all refs of a directory that has none in files of their own: full names, one character per byte, with the peeled
 * oids of annotated tags; null if they are not known. Readers see the refs of before, or those of afterwards.
 */
export function writeRefs(
  directory: string,
  refs: ReadonlyMap<string, string>,
  peeled: ReadonlyMap<string, string> | null,
): void {
  const lines = [...refs]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, oid]) => {
      const target = peeled?.get(name);
      return `${oid} ${name}\n${target === undefined ? "" : `^${target}\n`}`;
    });
  const header = `# pack-refs with:${peeled === null ? "" : " peeled fully-peeled"} sorted \n`;
  const lock = join(directory, `${packedRefsFile}.lock`);
  writeFileSync(lock, `${header}${lines.join("")}`, { encoding: "latin1", flag: "wx", flush: true });
  renameSync(lock, join(directory, packedRefsFile));
}

/**
 * Removes leftovers of killed commands: staging directories, locks, incomplete packs and keep files. Incomplete loose
 * objects are removed only if `includeLoose` is true, because finding them takes reading 256 folders, and they do no harm.
 * Caller guarantees: no command is writing to the mirror.
 */
export function removeLeftovers(directory: string, includeLoose: boolean): void {
  for (const path of [stagingPath(directory), retiredPath(directory)]) rmSync(path, { recursive: true, force: true });
  const stale = [
    ...pathsIn(directory, /\.lock$|^gc\.pid$|\.tmp$|^fast_import_crash_/),
    ...lockedRefs(Buffer.from(join(directory, "refs"))),
    ...staleObjects(join(directory, "objects"), includeLoose),
  ];
  for (const path of stale) rmSync(path, { recursive: true, force: true });
}

const commitGraphFile = "objects/info/commit-graph";

/** Marks a mirror that has no commit graph because the graph cannot hold the dates of its commits. */
const noCommitGraphFile = "no-commit-graph";

/** Whether git's file with the parents, dates and changed paths of commits exists, or cannot be written. */
export function hasCommitGraph(directory: string): boolean {
  return existsSync(join(directory, commitGraphFile)) || existsSync(join(directory, noCommitGraphFile));
}

/** Records whether the mirror can have a commit graph, and removes the one that it may have if not. */
export function admitCommitGraph(directory: string, isAdmitted: boolean): void {
  const marker = join(directory, noCommitGraphFile);
  if (isAdmitted) return rmSync(marker, { force: true });
  rmSync(join(directory, commitGraphFile), { force: true });
  writeFileSync(marker, "");
}

/** How fragmented the object store is. */
export interface ObjectStoreSize {
  readonly packCount: number;
  readonly looseCount: number;
}

export function objectStoreSize(directory: string): ObjectStoreSize {
  const objects = join(directory, "objects");
  const looseCount = fanOut(objects).reduce((count, name) => count + readdirSync(join(objects, name)).length, 0);
  return { packCount: filesIn(join(objects, "pack"), /\.pack$/).length, looseCount };
}

/** The number of references that are files of their own. */
export function countLooseRefs(directory: string): number {
  return refFiles(Buffer.from(join(directory, "refs"))).length;
}

/** The size of the largest incomplete pack; 0 if there is none. */
export function unfinishedPackBytes(directory: string): number {
  const packs = join(directory, "objects", "pack");
  return Math.max(0, ...filesIn(packs, /^tmp_pack_/).map((name) => statSync(join(packs, name)).size));
}

/** A ref name cannot end in `.lock`, so every such file is a lock. */
function lockedRefs(directory: Buffer): Buffer[] {
  return refFiles(directory).filter((path) => path.toString("latin1").endsWith(".lock"));
}

/** The files below the folder. Names are bytes, because refs need not be UTF-8. */
function refFiles(directory: Buffer): Buffer[] {
  return readdirSync(directory, { withFileTypes: true, encoding: "buffer" }).flatMap((entry) => {
    const name = entry.name as unknown as Buffer;
    const path = Buffer.concat([directory, Buffer.from("/"), name]);
    return entry.isDirectory() ? refFiles(path) : [path];
  });
}

function staleObjects(objects: string, includeLoose: boolean): string[] {
  return [
    ...pathsIn(objects, /^(tmp_|incoming-)/),
    ...pathsIn(join(objects, "info"), /\.lock$|^tmp_/),
    ...pathsIn(join(objects, "pack"), /^(tmp_|\.tmp-)|\.(lock|keep)$/),
    ...(includeLoose ? fanOut(objects) : []).flatMap((name) => pathsIn(join(objects, name), /^tmp_/)),
  ];
}

function pathsIn(directory: string, pattern: RegExp): string[] {
  return filesIn(directory, pattern).map((name) => join(directory, name));
}

/** The names of the directories of loose objects: `00` to `ff`. */
export function fanOut(objects: string): string[] {
  return filesIn(objects, /^[0-9a-f]{2}$/);
}

/** The names in the directory that match; none if there is no such directory. */
export function filesIn(directory: string, pattern: RegExp): string[] {
  return isDirectory(directory) ? readdirSync(directory).filter((name) => pattern.test(name)) : [];
}

/** Throws if the system refuses to tell. */
export function isDirectory(path: string): boolean {
  return unlessRefused(() => statSync(path).isDirectory()) === true;
}

/** Null if there is no such file. Throws if the system refuses to read it, which is not the same. */
function readTextOrNull(path: string): string | null {
  return unlessRefused(() => readFileSync(path, "latin1")) ?? null;
}

/** Undefined if the read fails because of what is there, or is not. */
function unlessRefused<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (isRefusal(error)) throw error;
    return undefined;
  }
}

/**
 * Throws the system's error for the first folder or file of a repository that may not be read, or not for now: to git, its
 * objects and references look as if they were missing.
 */
export function requireAccess(directory: string): void {
  const folders = [directory];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const entries = unlessRefused(() =>
      readdirSync(Buffer.from(folder, "latin1"), { withFileTypes: true, encoding: "latin1" as BufferEncoding }),
    );
    for (const entry of entries ?? []) {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) folders.push(path);
      else if (entry.isFile()) unlessRefused(() => closeSync(openSync(Buffer.from(path, "latin1"), "r")));
    }
  }
}

/** Writes a file so that a reader, even after a crash or a power loss, sees either the old or the new content. */
function writeWhole(path: string, content: string): void {
  const temporary = `${path}.tmp`;
  writeFileSync(temporary, content, { encoding: "latin1", flush: true });
  renameSync(temporary, path);
}

export const packedRefsFile = "packed-refs";

const newline = "\n".charCodeAt(0);
const space = " ".charCodeAt(0);
const peeledMark = "^".charCodeAt(0);

/**
 * Whether the file of packed refs is sorted, as it claims to be. git uses binary search in it, and reports lines that
 * it cannot parse, but not a misplaced name, which hides others.
 */
export function arePackedRefsSorted(directory: string): boolean {
  const path = join(directory, packedRefsFile);
  if (!existsSync(path)) return true;
  const bytes = readFileSync(path);
  const headerEnd = bytes.indexOf(newline) + 1;
  const header = bytes.toString("latin1", 0, headerEnd);
  // git itself sorts a file that does not claim to be sorted.
  if (!header.startsWith("#") || !header.includes(" sorted")) return true;
  let [lastStart, lastEnd] = [0, 0];
  for (let at = headerEnd; at < bytes.length; ) {
    const end = bytes.indexOf(newline, at);
    if (end < 0) return false;
    if (bytes[at] !== peeledMark) {
      const start = bytes.indexOf(space, at) + 1;
      if (start === 0 || start > end) return false;
      if (lastEnd > 0 && bytes.compare(bytes, start, end, lastStart, lastEnd) >= 0) return false;
      [lastStart, lastEnd] = [start, end];
    }
    at = end + 1;
  }
  return true;
}

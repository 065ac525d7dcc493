import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { safeDirectoryConfig } from "../run/environment.js";
import { packedRefsFile } from "./packed-refs.js";
import type { RemoteUrl } from "./remote-url.js";
import { syncToDisk } from "../../base/sync-to-disk.js";

/**
 * The files of a mirror that we handle without git: its configuration, HEAD, and what a killed git leaves behind.
 *
 * A mirror is a bare repository. Nothing in it comes from the remote but objects and the refs under `refs/heads`
 * and `refs/tags`; a detached HEAD is held by `refs/trawl/head`.
 */

export type ObjectFormat = "sha1" | "sha256";

/** The format that makes oids of this length. */
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

/** Where a replacement of the mirror is made before it takes the mirror's name. */
function stagingPath(directory: string): string {
  return `${directory}.new`;
}

function retiredPath(directory: string): string {
  return `${directory}.old`;
}

/** The file whose safe directories let `git upload-pack` read a local source that belongs to somebody else. */
export function trustedSourceFile(directory: string): string {
  return join(directory, "trusted-source.config");
}

/** The object format of the mirror; null when the directory is no mirror of ours, or not a whole one. */
export function mirrorFormat(directory: string): ObjectFormat | null {
  if (!isDirectory(join(directory, "objects")) || !isDirectory(join(directory, "refs"))) return null;
  const head = readTextOrNull(join(directory, headFile));
  if (head === null || !/^(ref: refs\/\S.*|[0-9a-f]{40}|[0-9a-f]{64})\n$/.test(head)) return null;
  const config = readTextOrNull(join(directory, configFile));
  if (config === configs.sha1) return "sha1";
  return config === configs.sha256 ? "sha256" : null;
}

/** Replaces whatever configuration git wrote by ours, and names the local source as trusted. */
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

/** The text of HEAD, one byte a character. */
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
 * Gives the finished repository in the staging path the mirror's name, once the disk has its files. A crash or a power
 * loss on the way leaves no mirror or a whole one; leftovers are removed by `removeLeftovers`.
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
 * Makes an empty repository in the staging path, and returns that path. Written by hand, as `git init` takes longer
 * than copying a small repository.
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
 * What a source that lacks objects looked like when the mirror got what it had; null in a mirror that lacks nothing
 * that its source has.
 */
export function readIncompleteness(directory: string): string | null {
  return readTextOrNull(join(directory, incompletenessFile));
}

/** Of a staging directory. */
export function writeIncompleteness(staging: string, fingerprint: string): void {
  writeFileSync(join(staging, incompletenessFile), fingerprint, "latin1");
}

/** Whether the mirror has any ref: git keeps them in one file, or as one file each. */
export function hasRefs(directory: string): boolean {
  const holdsFile = (folder: Buffer): boolean =>
    readdirSync(folder, { withFileTypes: true, encoding: "buffer" }).some(
      (entry) =>
        !entry.isDirectory() || holdsFile(Buffer.concat([folder, Buffer.from("/"), entry.name as unknown as Buffer])),
    );
  return existsSync(join(directory, packedRefsFile)) || holdsFile(Buffer.from(join(directory, "refs")));
}

/**
 * Writes all refs of a staging directory, which has none: full names, one byte a character, with what annotated tags
 * stand for.
 */
export function writeRefs(
  staging: string,
  refs: ReadonlyMap<string, string>,
  peeled: ReadonlyMap<string, string>,
): void {
  const lines = [...refs]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, oid]) => {
      const target = peeled.get(name);
      return `${oid} ${name}\n${target === undefined ? "" : `^${target}\n`}`;
    });
  const header = "# pack-refs with: peeled fully-peeled sorted \n";
  writeFileSync(join(staging, packedRefsFile), `${header}${lines.join("")}`, "latin1");
}

/**
 * Removes what killed commands left: staging directories, locks, half-written packs and objects, keep marks.
 * Caller guarantees that no command is writing to the mirror.
 */
export function removeLeftovers(directory: string): void {
  for (const path of [stagingPath(directory), retiredPath(directory)]) rmSync(path, { recursive: true, force: true });
  const stale = [
    ...pathsIn(directory, /\.lock$|^gc\.pid$|\.tmp$/),
    ...lockedRefs(Buffer.from(join(directory, "refs"))),
    ...staleObjects(join(directory, "objects")),
  ];
  for (const path of stale) rmSync(path, { recursive: true, force: true });
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

/** The size of the largest pack that a command has begun and not finished; 0 when there is none. */
export function unfinishedPackBytes(directory: string): number {
  const packs = join(directory, "objects", "pack");
  return Math.max(0, ...filesIn(packs, /^tmp_pack_/).map((name) => statSync(join(packs, name)).size));
}

/** A ref cannot end in `.lock`, so every such file is a lock. Names are bytes: refs need not be UTF-8. */
function lockedRefs(directory: Buffer): Buffer[] {
  return readdirSync(directory, { withFileTypes: true, encoding: "buffer" }).flatMap((entry) => {
    const name = entry.name as unknown as Buffer;
    const path = Buffer.concat([directory, Buffer.from("/"), name]);
    if (entry.isDirectory()) return lockedRefs(path);
    return name.toString("latin1").endsWith(".lock") ? [path] : [];
  });
}

function staleObjects(objects: string): string[] {
  return [
    ...pathsIn(objects, /^(tmp_|incoming-)/),
    ...pathsIn(join(objects, "info"), /\.lock$|^tmp_/),
    ...pathsIn(join(objects, "pack"), /^(tmp_|\.tmp-)|\.(lock|keep)$/),
    ...fanOut(objects).flatMap((name) => pathsIn(join(objects, name), /^tmp_/)),
  ];
}

function pathsIn(directory: string, pattern: RegExp): string[] {
  return filesIn(directory, pattern).map((name) => join(directory, name));
}

/** The names of the directories of loose objects: `00` to `ff`. */
export function fanOut(objects: string): string[] {
  return filesIn(objects, /^[0-9a-f]{2}$/);
}

/** The names that match, of whatever is in the directory; none when there is no such directory. */
export function filesIn(directory: string, pattern: RegExp): string[] {
  return isDirectory(directory) ? readdirSync(directory).filter((name) => pattern.test(name)) : [];
}

export function isDirectory(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory();
}

function readTextOrNull(path: string): string | null {
  return existsSync(path) ? readFileSync(path, "latin1") : null;
}

/** Writes a file so that a reader, also one after a crash or a power loss, sees the old content or the new one. */
function writeWhole(path: string, content: string): void {
  const temporary = `${path}.tmp`;
  writeFileSync(temporary, content, { encoding: "latin1", flush: true });
  renameSync(temporary, path);
}

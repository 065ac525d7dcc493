import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ended, run, start } from "../system/processes.js";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface, type Interface } from "node:readline";
import { TrawlError } from "../../src/base/errors.js";

/** A file of a repository at HEAD. */
export interface TreeFile {
  readonly path: string;
  readonly mode: string;
  readonly oid: string;
  readonly bytes: number;
}

export interface SourceFile {
  readonly path: string;
  readonly text: Buffer;
}

/** A repository with its work tree. */
export interface Source {
  readonly path: string;
}

/** The files at HEAD, links too, in git's order. */
export async function treeFiles(source: Source): Promise<TreeFile[]> {
  const listing = await run("git", ["-C", source.path, "ls-tree", "-r", "-l", "-z", "HEAD"], "");
  return listing.split("\0").flatMap((entry) => {
    const [, mode, oid, bytes, path] = /^(\d+) blob (\S+) +(\d+)\t([^]*)$/.exec(entry) ?? [];
    return mode === undefined || oid === undefined || path === undefined
      ? []
      : [{ path, mode, oid, bytes: Number(bytes) }];
  });
}

export function isRegular({ mode }: TreeFile): boolean {
  return mode.startsWith("100");
}

/** The paths of the regular files of at most `bytesMax`, in git's order. */
export async function smallFiles(source: Source, bytesMax: number): Promise<string[]> {
  return (await treeFiles(source)).filter((file) => isRegular(file) && file.bytes <= bytesMax).map(({ path }) => path);
}

export function readSource(source: Source, path: string): SourceFile {
  return { path, text: readFileSync(join(source.path, path)) };
}

/** An empty bare repository with the branch `main`. Written by hand: `git init` costs more than a small import. */
export function initBare(directory: string): void {
  for (const folder of ["objects/pack", "objects/info", "refs/heads"])
    mkdirSync(join(directory, folder), { recursive: true });
  writeFileSync(join(directory, "HEAD"), "ref: refs/heads/main\n");
  writeFileSync(join(directory, "config"), "[core]\n\trepositoryformatversion = 0\n\tbare = true\n");
}

/** Lets the repository use the objects of another one. */
export async function borrowObjects(directory: string, source: Source): Promise<void> {
  const folder = (
    await run("git", ["-C", source.path, "rev-parse", "--path-format=absolute", "--git-path", "objects"], "")
  ).trim();
  writeFileSync(join(directory, "objects/info/alternates"), `${folder}\n`);
}

/** Copies borrowed objects, and packs everything into one pack. Deltas of the source are reused. */
export async function ownObjects(directory: string): Promise<void> {
  await run("git", ["-c", "core.fsync=none", "--git-dir", directory, "repack", "-adq", "--window=0"], "");
  rmSync(join(directory, "objects/info/alternates"), { force: true });
}

/** Moves what an importer has written up to a checkpoint into another repository: packs and branch. */
export function moveNewest(from: string, to: string): void {
  const folder = join(from, "objects/pack");
  for (const name of readdirSync(folder)) {
    if (/^pack-.*\.(pack|idx)$/.test(name)) renameSync(join(folder, name), join(to, "objects/pack", name));
    else if (name.endsWith(".keep")) rmSync(join(folder, name));
  }
  renameSync(join(from, "refs/heads/main"), join(to, "refs/heads/main"));
}

/** The commit of a bare repository that was made here. */
export function readHead(directory: string): string {
  return readFileSync(join(directory, "refs/heads/main"), "utf8").trim();
}

/** The branch that HEAD of a repository names. */
export async function headBranch(directory: string): Promise<string> {
  return (await run("git", ["--git-dir", directory, "symbolic-ref", "--short", "HEAD"], "")).trim();
}

/** The commit of a branch. */
export async function headCommit(directory: string, branch: string): Promise<string> {
  return (await run("git", ["--git-dir", directory, "rev-parse", `refs/heads/${branch}`], "")).trim();
}

/** Makes a bare repository with one commit. */
export async function makeRepository(directory: string, files: readonly SourceFile[]): Promise<void> {
  initBare(directory);
  await commit(directory, "main", files, "");
}

/** Adds a commit on a branch that changes these files; `parent` is "" for the first one. */
export async function commit(
  directory: string,
  branch: string,
  files: readonly SourceFile[],
  parent: string,
): Promise<void> {
  const importer = new FastImport(directory);
  const changes = files.map(({ path, text }): FileChange => ({ kind: "bytes", path, bytes: text }));
  await importer.commit(
    branch,
    parent === "" ? { kind: "none" } : { kind: "revision", revision: parent },
    firstCommitSeconds,
    changes,
  );
  await importer.end();
}

/**
 * Makes a repository of all files of a folder. The user's own settings are ignored, and the commit has a fixed identity
 * and date, so its id follows from the files.
 */
export async function commitFolder(folder: string): Promise<void> {
  const git = (args: readonly string[], input: string): Promise<string> => run("git", ["-C", folder, ...args], input);
  await git(["init", "-q", "--template=", "--initial-branch=main"], "");
  for (const [key, value] of folderSettings) await git(["config", key, value], "");
  await git(["add", "-A", "-f"], "");
  const tree = (await git(["write-tree"], "")).trim();
  const person = `Bench <bench@localhost> ${firstCommitSeconds} +0000`;
  const commitText = `tree ${tree}\nauthor ${person}\ncommitter ${person}\n\ncommit\n`;
  const oid = (await git(["hash-object", "-t", "commit", "-w", "--stdin"], commitText)).trim();
  await git(["update-ref", "refs/heads/main", oid], "");
  await git(["repack", "-adq"], "");
}

const folderSettings = [
  ["core.autocrlf", "false"],
  ["core.fsync", "none"],
  ["core.attributesFile", "/dev/null"],
  ["core.excludesFile", "/dev/null"],
  ["core.fileMode", "true"],
] as const;

/** A bare copy of a repository. Fetching from it is faster than from a work tree. */
export async function cloneBare(source: Source, directory: string): Promise<string> {
  await run("git", ["clone", "-q", "--bare", source.path, directory], "");
  return directory;
}

/** What a corpus consists of. */
export interface Manifest {
  readonly repositories: readonly ManifestRepository[];
  /** Regular files at the heads of all repositories, and their bytes. */
  readonly fileCount: number;
  readonly textBytes: number;
}

export interface ManifestRepository {
  readonly name: string;
  /** Within the folder of the corpus; "" for the folder itself. */
  readonly directory: string;
}

/** The manifest of a corpus that is one repository. */
export async function singleManifest(name: string, folder: string): Promise<Manifest> {
  const files = (await treeFiles({ path: folder })).filter(isRegular);
  const textBytes = files.reduce((sum, { bytes }) => sum + bytes, 0);
  return { repositories: [{ name, directory: "" }], fileCount: files.length, textBytes };
}

/** A file of a commit: its bytes, or an object of the repository by its id. */
export type FileChange =
  | { readonly kind: "bytes"; readonly path: string; readonly bytes: Buffer }
  | { readonly kind: "object"; readonly path: string; readonly mode: string; readonly oid: string };

/** The parent of a commit. */
type Parent =
  | { readonly kind: "none" }
  /** The last commit that the same importer made on the branch. */
  | { readonly kind: "previous" }
  /** A revision that the repository had before the importer began. */
  | { readonly kind: "revision"; readonly revision: string };

const identity = "Bench <bench@localhost>";

/** Of the first commit of every generated repository; fixed, so that the same content has the same commit id. */
export const firstCommitSeconds = 1_700_000_000;

/**
 * Deltas against the previous blob find nothing in files of different names, and cost more than the compression. A corpus
 * that is lost in a power failure is made again.
 */
const settings = ["core.compression=1", "pack.depth=0", "core.fsync=none", "fastimport.unpackLimit=0"];

const timeoutMs = 3_600_000;

/**
 * A `git fast-import` that writes commits into one repository. Every commit has the same identity and a date of its
 * caller's choice, so its id follows from its content.
 *
 * Caller guarantees: one call at a time, and `end` after the last one.
 */
export class FastImport {
  readonly #process: ChildProcess;
  readonly #ended: Promise<number>;
  readonly #answers: AsyncIterator<string>;
  readonly #lines: Interface;
  #complaints = "";

  constructor(directory: string) {
    this.#process = start(
      "git",
      [...settings.flatMap((setting) => ["-c", setting]), "--git-dir", directory, "fast-import", "--quiet", "--force"],
      { stdio: ["pipe", "pipe", "pipe"] },
    );
    this.#ended = ended(this.#process, timeoutMs);
    this.#ended.catch(() => {});
    this.#lines = createInterface({ input: this.#process.stdout as NodeJS.ReadableStream });
    this.#answers = this.#lines[Symbol.asyncIterator]();
    this.#process.stderr?.on("data", (part: Buffer) => {
      this.#complaints += part.toString();
    });
    this.#process.stdin?.on("error", () => {});
  }

  /** Adds a commit to a branch. What `changes` does not name stays as it is in the parent. */
  async commit(branch: string, parent: Parent, seconds: number, changes: Iterable<FileChange>): Promise<void> {
    const ref = `refs/heads/${branch}`;
    if (parent.kind === "none") await this.#write(Buffer.from(`reset ${ref}\n\n`));
    const origin = parent.kind === "revision" ? `from ${parent.revision}\n` : "";
    await this.#write(Buffer.from(`commit ${ref}\ncommitter ${identity} ${seconds} +0000\ndata 6\ncommit\n${origin}`));
    for (const change of changes) await this.#write(encoded(change));
    await this.#write(Buffer.from("\n"));
  }

  /** Resolves when everything so far is a pack of its own in the repository, and the branches point to it. */
  async checkpoint(): Promise<void> {
    await this.#write(Buffer.from("checkpoint\nprogress written\n"));
    if ((await this.#answers.next()).done === true) await this.end();
  }

  async end(): Promise<void> {
    this.#process.stdin?.end();
    const code = await this.#ended;
    this.#lines.close();
    if (code !== 0) throw new TrawlError("git", `git fast-import: ${this.#complaints.trim()}`);
  }

  async #write(bytes: Buffer): Promise<void> {
    const { stdin } = this.#process;
    if (stdin === null || stdin.destroyed || this.#process.exitCode !== null) return await this.end();
    if (!stdin.write(bytes)) await Promise.race([once(stdin, "drain"), this.#ended]).catch(() => this.end());
  }
}

function encoded(change: FileChange): Buffer {
  if (change.kind === "object") return Buffer.from(`M ${change.mode} ${change.oid} ${quoted(change.path)}\n`);
  const { path, bytes } = change;
  return Buffer.concat([
    Buffer.from(`M 100644 inline ${quoted(path)}\ndata ${bytes.length}\n`),
    bytes,
    Buffer.from("\n"),
  ]);
}

/** A path stands for itself unless git would read it as a quoted one. */
function quoted(path: string): string {
  return /["\\\n]/.test(path) ? JSON.stringify(path) : path;
}

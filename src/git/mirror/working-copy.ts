import { createHash } from "node:crypto";
import { type BigIntStats, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { errorMessage, TrawlError } from "../../base/errors.js";
import { decodePath } from "../../base/path-text.js";
import { workingCopyName } from "../../model/repository.js";
import { longReadLimits, writeLimits } from "../run/child-limits.js";
import { fileMode, localCommand, parseTree } from "../objects/objects.js";
import { lackOfRoom } from "../run/disk-room.js";
import { workTreeEnvironment } from "../run/environment.js";
import { runGit, type RunOptions, type StopSignal } from "../run/run.js";
import { isOid } from "../objects/refs.js";
import { blobOid, ObjectImport } from "./object-import.js";
import { WorkTree } from "./work-tree.js";

/** What of a working copy is taken; the rest is as in HEAD, or absent, and is told. */
export interface WorkingCopyLimits {
  readonly fileCountMax: number;
  readonly fileBytesMax: number;
  readonly totalBytesMax: number;
  /** What is stored within a day: what nothing refers to any more stays in the mirror for two weeks. */
  readonly dayBytesMax: number;
  /** Of each git process. */
  readonly timeoutMs: number;
  readonly memoryBytesMax: number;
  readonly reserveBytes: number;
}

export const workingCopyLimits: Pick<
  WorkingCopyLimits,
  "fileCountMax" | "fileBytesMax" | "totalBytesMax" | "dayBytesMax" | "timeoutMs"
> = {
  fileCountMax: 10_000,
  fileBytesMax: 16 << 20,
  totalBytesMax: 64 << 20,
  dayBytesMax: 256 << 20,
  timeoutMs: 30_000,
};

export interface WorkingCopy {
  /** The commit that holds it; that of HEAD if nothing differs. */
  readonly commit: string;
  /** Sentences about what was left out. */
  readonly warnings: readonly string[];
}

const workingCopyMemory = 64 << 20;

/** Lists of paths: 100,000 of usual length. */
const listBytesMax = 16 << 20;

/** Arguments of one command. */
const pathsAtOnce = 100;

const folderMode = 0o040000;

const ref = `refs/${workingCopyName}`;

/** Files in the mirror; not in a folder of git's. */
const indexFile = "working-copy-index";
const excludeFile = "working-copy-exclude";
const stateFile = "working-copy-state";

/** A file that differs from HEAD. */
interface ChangedFile {
  /** One character per byte. */
  readonly path: string;
  readonly mode: string;
  /** Undefined if it is deleted. */
  readonly blob: string | undefined;
  /** What the file system told of it when it was read. */
  readonly state: string;
}

/**
 * Makes a commit of the uncommitted files of a working copy, changed and untracked, with that of HEAD as its parent, and sets the
 * reference `refs/working-copy` of the mirror to it. Everything is written to the mirror, and nothing to the folder.
 *
 * The folder, a path without links, may be hostile. git reads it as the work tree of the mirror, so that no configuration, hook, filter or monitor of the folder
 * is in effect, and only compares and lists: it starts nothing in repositories within the folder. Contents are read here, and only of
 * regular files below the folder, through no symbolic link; those of links are their targets. Nothing in the data directory is read.
 *
 * Caller guarantees: nothing else writes to the mirror, which has the objects of HEAD. Throws `git` if the folder cannot be read or has
 * become a link, `forbidden` if it is in the data directory, and `cancelled` if stopped; the reference then stays.
 */
export async function captureWorkingCopy(
  mirror: string,
  { folder, dataFolder }: { readonly folder: string; readonly dataFolder: string },
  head: string,
  limits: WorkingCopyLimits,
  stop: StopSignal,
): Promise<WorkingCopy> {
  const tree = new WorkTree(folder, dataFolder);
  try {
    return await new Capture(mirror, tree, head, limits, stop).run();
  } finally {
    tree.close();
  }
}

/** The commit that was captured last; undefined if there is none. */
export async function knownWorkingCopy(mirror: string, stop: StopSignal): Promise<string | undefined> {
  const state = readState(mirror);
  if (state === undefined) return undefined;
  const { stdout } = await runGit({
    ...localCommand(stop),
    args: [`--git-dir=${mirror}`, "rev-parse", "--verify", "--quiet", `${ref}^{commit}`],
    exitCodes: [1, 128],
  });
  return stdout.toString("latin1").trim() === state.commit ? state.commit : undefined;
}

/** Removes what was captured. */
export async function dropWorkingCopy(mirror: string, stop: StopSignal): Promise<void> {
  if (!existsSync(join(mirror, stateFile))) return;
  const process = writeLimits(workingCopyMemory, 1 << 20, workingCopyLimits.timeoutMs);
  await runGit({
    ...localCommand(stop),
    args: [`--git-dir=${mirror}`, "update-ref", "-d", ref],
    process,
    exitCodes: [],
  });
  for (const name of [indexFile, excludeFile, stateFile]) rmSync(join(mirror, name), { force: true });
}

class Capture {
  readonly #mirror: string;
  readonly #tree: WorkTree;
  readonly #head: string;
  readonly #limits: WorkingCopyLimits;
  readonly #stop: StopSignal;
  readonly #leftOut = new Map<string, { count: number; example: string }>();
  /** What the commit before has, by path. */
  #known: ReadonlyMap<string, ChangedFile> = new Map();
  #byteCount = 0;
  #day = { date: new Date().toISOString().slice(0, 10), byteCount: 0 };
  /** Whether what was left out may be readable the next time, though nothing has changed. */
  #isPassing = false;

  constructor(mirror: string, tree: WorkTree, head: string, limits: WorkingCopyLimits, stop: StopSignal) {
    this.#mirror = mirror;
    this.#tree = tree;
    this.#head = head;
    this.#limits = limits;
    this.#stop = stop;
  }

  async run(): Promise<WorkingCopy> {
    const before = readState(this.#mirror);
    await this.#copyExcludes();
    const paths = await this.#listDiffering(before);
    const fingerprint = this.#fingerprint(paths);
    if (before !== undefined && before.commit === (await this.#readRef())) {
      if (before.fingerprint === fingerprint) return { commit: before.commit, warnings: before.warnings };
      this.#known = new Map(before.files.map((file) => [file.path, file]));
    }
    if (before?.day.date === this.#day.date) this.#day = before.day;
    const files = await this.#import(paths, before);
    const commit = files.length === 0 ? this.#head : await this.#choose(before?.commit);
    await this.#git(["update-ref", ref, commit]);
    const warnings = [...this.#leftOut].map(
      ([why, { count, example }]) => `the working copy is indexed without ${count} files ${why}, such as ${example}`,
    );
    // A file that was read while it was changed is read again: its time has changed then.
    const kept = this.#isPassing ? "" : fingerprint;
    writeState(this.#mirror, { head: this.#head, fingerprint: kept, commit, warnings, files, day: this.#day });
    return { commit, warnings };
  }

  /** Compares the folder with HEAD. The private index is a cache: where it is damaged, it is made anew. */
  async #listDiffering(before: State | undefined): Promise<readonly string[]> {
    const index = join(this.#mirror, indexFile);
    const wasThere = existsSync(index);
    try {
      await this.#readHead(index, wasThere && before?.head === this.#head);
      return await this.#listPaths();
    } catch (error) {
      if (!wasThere || (error instanceof TrawlError && error.code === "cancelled")) throw error;
      rmSync(index, { force: true });
      this.#leftOut.clear();
      await this.#readHead(index, false);
      return await this.#listPaths();
    }
  }

  /** Makes the private index that of HEAD, and compares the folder with it: what is as before is known by its times. */
  async #readHead(index: string, isCurrent: boolean): Promise<void> {
    // Its lock may be left from a process that was killed.
    rmSync(`${index}.lock`, { force: true });
    if (!isCurrent)
      await this.#git(existsSync(index) ? ["read-tree", "--reset", this.#head] : ["read-tree", this.#head]);
    // Exit code 1 says that files differ.
    await this.#git(["update-index", "-q", "--refresh"], { exitCodes: [1] });
  }

  /** Paths that differ from HEAD, and untracked ones that are not ignored; sorted, one character per byte. */
  async #listPaths(): Promise<readonly string[]> {
    const paths = new Set<string>();
    for (const what of [["-m"], ["-o", "--exclude-standard"]]) {
      const { stdout } = await this.#git(["ls-files", "-z", ...what]);
      // Untracked repositories end with a slash.
      for (const path of stdout.toString("latin1").split("\0"))
        if (path !== "" && !path.endsWith("/") && this.#tree.isOwn(path)) paths.add(path);
    }
    const sorted = [...paths].sort();
    const tooMany = sorted.splice(this.#limits.fileCountMax);
    for (const path of tooMany) this.#leaveOut(`beyond the first ${this.#limits.fileCountMax} that differ`, path);
    return sorted;
  }

  /** Changes whenever HEAD or one of the files does, as far as the file system tells. */
  #fingerprint(paths: readonly string[]): string {
    const hash = createHash("sha256").update(this.#head);
    for (const path of paths) {
      const state = this.#state(path);
      hash.update(`\0${path}\0${state === undefined ? "" : describe(state)}`, "latin1");
    }
    return hash.digest("hex");
  }

  /** Undefined if there is nothing, or nothing that can be told. */
  #state(path: string): BigIntStats | undefined {
    try {
      return this.#tree.state(path);
    } catch {
      return undefined;
    }
  }

  /** Sends what differs to the mirror: only the contents of what has changed since the commit before. */
  async #import(paths: readonly string[], before: State | undefined): Promise<readonly ChangedFile[]> {
    if (paths.length === 0) return [];
    const lack = lackOfRoom(this.#mirror, this.#limits.reserveBytes);
    if (lack !== null) throw new TrawlError("git", `git fast-import ${lack}`);
    const options = ["--quiet", "--done", "--force", "--depth=0"];
    const command = this.#command(["-c", "core.compression=1", "fast-import", ...options]);
    const into = new ObjectImport(this.#mirror, command, command);
    try {
      const files = await this.#readFiles(paths, into);
      await into.finish(files.length === 0 ? "" : this.#describeCommit(files));
      return files;
    } catch (error) {
      // The mirror may have lost an object of the commit before.
      if (before !== undefined) writeState(this.#mirror, { ...before, fingerprint: "", files: [], day: this.#day });
      throw error;
    } finally {
      into.close();
    }
  }

  async #readFiles(paths: readonly string[], into: ObjectImport): Promise<readonly ChangedFile[]> {
    const files: ChangedFile[] = [];
    const folders: string[] = [];
    for (const path of paths) {
      if (this.#stop()) throw new TrawlError("cancelled", "the working copy was not read to its end");
      const file = await this.#readFile(path, into);
      if (file === "folder") folders.push(path);
      else if (file !== undefined) files.push(file);
    }
    for (const path of await this.#findReplaced(folders)) files.push(deletion(path));
    return files;
  }

  /** Undefined for what is left as it is in HEAD. */
  async #readFile(path: string, into: ObjectImport): Promise<ChangedFile | "folder" | undefined> {
    try {
      if (this.#leadsOut(path)) return deletion(path);
      const state = this.#tree.state(path);
      if (state === undefined) return deletion(path);
      if (state.isDirectory()) return "folder";
      if (!state.isFile() && !state.isSymbolicLink()) return deletion(path);
      const refusal = isRefusedByGit(path, state.isSymbolicLink())
        ? "whose names git refuses"
        : this.#refuse(Number(state.size));
      if (refusal !== undefined) {
        this.#leaveOut(refusal, path);
        return undefined;
      }
      return await this.#store(path, state, into);
    } catch (error) {
      if (error instanceof TrawlError) throw error;
      const { code } = error as { readonly code?: unknown };
      // It has vanished meanwhile.
      if (code === "ENOENT" || code === "ENOTDIR") return deletion(path);
      if (code !== "EACCES") this.#isPassing = true;
      this.#leaveOut(`that cannot be read (${String(code ?? errorMessage(error)).slice(0, 100)})`, path);
      return undefined;
    }
  }

  /** A file or a link; its contents are read if they may differ from those that are stored. */
  async #store(path: string, found: BigIntStats, into: ObjectImport): Promise<ChangedFile | undefined> {
    const known = this.#known.get(path);
    const state = describe(found);
    if (known?.blob !== undefined && known.state === state) {
      this.#byteCount += Number(found.size);
      return known;
    }
    const { dayBytesMax } = this.#limits;
    if (this.#day.byteCount + Number(found.size) > dayBytesMax) {
      this.#isPassing = true;
      this.#leaveOut(`that changed after ${dayBytesMax >> 20} MiB of changed files were stored on this day`, path);
      return known;
    }
    const isLink = found.isSymbolicLink();
    const contents = isLink ? this.#tree.target(path) : await this.#readContents(path);
    if (contents === undefined) return undefined;
    await into.addBlob(contents);
    this.#byteCount += contents.length;
    this.#day = { ...this.#day, byteCount: this.#day.byteCount + contents.length };
    const plainMode = (found.mode & 0o100n) === 0n ? "100644" : "100755";
    return { path, mode: isLink ? "120000" : plainMode, blob: blobOid(contents, this.#head), state };
  }

  #refuse(byteCount: number): string | undefined {
    const { fileBytesMax, totalBytesMax } = this.#limits;
    if (byteCount > fileBytesMax) return `larger than ${fileBytesMax >> 20} MiB`;
    return this.#byteCount + byteCount > totalBytesMax
      ? `beyond ${totalBytesMax >> 20} MiB of files that differ`
      : undefined;
  }

  /** Those of the paths that are files in HEAD. Where it has a repository within this one, its commit in HEAD counts. */
  async #findReplaced(folders: readonly string[]): Promise<readonly string[]> {
    const found: string[] = [];
    for (let i = 0; i < folders.length; i += pathsAtOnce) {
      const some = folders.slice(i, i + pathsAtOnce).map((path) => decodePath(Buffer.from(path, "latin1")));
      const { stdout } = await this.#git([
        "--literal-pathspecs",
        "ls-tree",
        "-z",
        "--full-tree",
        this.#head,
        "--",
        ...some,
      ]);
      for (const { mode, path } of parseTree(stdout))
        if (mode !== fileMode.gitlink && mode !== folderMode) found.push(path.toString("latin1"));
    }
    return found;
  }

  /** Whether a folder of the path is a symbolic link: what is behind it is not of the folder. */
  #leadsOut(path: string): boolean {
    const parts = path.split("/").slice(0, -1);
    return parts.some((_, i) => this.#state(parts.slice(0, i + 1).join("/"))?.isSymbolicLink());
  }

  async #readContents(path: string): Promise<Buffer | undefined> {
    const read = await this.#tree.read(path, (byteCount) => this.#refuse(byteCount));
    if ("contents" in read) return read.contents;
    this.#isPassing = true;
    this.#leaveOut(read.refusal, path);
    return undefined;
  }

  #leaveOut(why: string, path: string): void {
    const known = this.#leftOut.get(why) ?? {
      count: 0,
      example: JSON.stringify(Buffer.from(path, "latin1").toString()),
    };
    known.count++;
    this.#leftOut.set(why, known);
  }

  /** For `git fast-import`: a commit with these files on that of HEAD. */
  #describeCommit(files: readonly ChangedFile[]): string {
    const seconds = Math.floor(new Date().getTime() / 1000);
    const lines = [
      `commit ${ref}-next\ncommitter ${author} ${seconds} +0000\ndata ${Buffer.byteLength(message)}\n${message}from ${this.#head}`,
    ];
    // Where a folder has become a file, what was in it is deleted first.
    for (const { path, blob } of files) if (blob === undefined) lines.push(`D ${quote(path)}`);
    for (const { path, mode, blob } of files) if (blob !== undefined) lines.push(`M ${mode} ${blob} ${quote(path)}`);
    return `${lines.join("\n")}\n`;
  }

  /** The new commit, or the one before if that has the same files. */
  async #choose(before: string | undefined): Promise<string> {
    const commit = await this.#parse(`${ref}-next`);
    const isSame =
      before !== undefined &&
      (await this.#parse(`${before}^{tree}`)) === (await this.#parse(`${commit}^{tree}`)) &&
      (await this.#parse(`${before}^`)) === this.#head;
    await this.#git(["update-ref", "-d", `${ref}-next`]);
    return isSame ? before : commit;
  }

  /** "" if there is no such object. */
  async #parse(name: string): Promise<string> {
    const { stdout } = await this.#git(["rev-parse", "--verify", "--quiet", "--end-of-options", name], {
      exitCodes: [1, 128],
    });
    return stdout.toString("latin1").trim();
  }

  #readRef(): Promise<string> {
    return this.#parse(`${ref}^{commit}`);
  }

  /** Copies what git ignores in this folder besides `.gitignore`. */
  async #copyExcludes(): Promise<void> {
    const text = await this.#tree.readExcludes();
    const copy = join(this.#mirror, excludeFile);
    if (!existsSync(copy) || !readFileSync(copy).equals(text)) writeFileSync(copy, text);
  }

  async #git(args: readonly string[], options: { readonly exitCodes?: readonly number[] } = {}) {
    return await runGit({ ...this.#command(args), exitCodes: options.exitCodes ?? [] });
  }

  #command(args: readonly string[]): RunOptions {
    const { timeoutMs, memoryBytesMax } = this.#limits;
    return {
      // It is started in the folder that is open, whatever is at its path by now.
      args: [`--git-dir=${this.#mirror}`, "--work-tree=.", ...args],
      environment: workTreeEnvironment(join(this.#mirror, indexFile), join(this.#mirror, excludeFile)),
      directory: this.#tree.directory,
      timeoutMs,
      silenceMs: Infinity,
      outputBytesMax: listBytesMax,
      // It writes the private index in any case.
      process: { ...longReadLimits, ...writeLimits(memoryBytesMax, 1 << 30, timeoutMs) },
      stop: this.#stop,
      stdin: null,
      exitCodes: [],
      onErrorLine: null,
    };
  }
}

const author = "working copy <>";
const message = "Uncommitted files of the working copy\n\nThis is not a commit of the repository.\n";

function deletion(path: string): ChangedFile {
  return { path, mode: "", blob: undefined, state: "" };
}

/** Changes with the contents, as far as the file system tells. */
function describe({ mode, size, ino, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${mode} ${size} ${ino} ${mtimeNs} ${ctimeNs}`;
}

/** Names that other systems take for `.git`, and links that they take for `.gitmodules`: some versions of git commit none of them. */
function isRefusedByGit(path: string, isLink: boolean): boolean {
  const parts = path.split("/");
  const isLikeGit = parts.some((part) => /^(?:\.git|git~1)[ .]*(?:$|[:\\])/i.test(part));
  return isLikeGit || (isLink && /^(?:\.gitmodules|gi.*~[0-9])/i.test(parts.at(-1) ?? ""));
}

/** A path of one character per byte, as `git fast-import` reads it. */
function quote(path: string): string {
  return `"${path.replace(/[\\"\n]/g, (character) => (character === "\n" ? "\\n" : `\\${character}`))}"`;
}

/** What was captured last. */
interface State extends WorkingCopy {
  readonly head: string;
  /** "" if it is to be captured again in any case. */
  readonly fingerprint: string;
  readonly files: readonly ChangedFile[];
  /** How much was stored on a day of UTC. */
  readonly day: { readonly date: string; readonly byteCount: number };
}

/** Undefined if there is none, or if it is damaged: then it is captured anew. */
function readState(mirror: string): State | undefined {
  try {
    const state = JSON.parse(readFileSync(join(mirror, stateFile), "utf8")) as State;
    const { head, fingerprint, commit, warnings, files, day } = state;
    const isWhole =
      [head, fingerprint, commit, day.date].every((one) => typeof one === "string") &&
      typeof day.byteCount === "number" &&
      Array.isArray(warnings) &&
      files.every(({ path, blob }) => typeof path === "string" && (blob === undefined || isOid(blob)));
    return isWhole ? state : undefined;
  } catch {
    return undefined;
  }
}

function writeState(mirror: string, state: State): void {
  writeFileSync(join(mirror, stateFile), JSON.stringify(state));
}

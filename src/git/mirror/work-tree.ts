import { type BigIntStats, closeSync, constants, lstatSync, openSync, readlinkSync, realpathSync } from "node:fs";
import { type FileHandle, lstat, open, realpath } from "node:fs/promises";
import { join, resolve, sep } from "node:path";
import { errorMessage, TrawlError } from "../../base/errors.js";
import { trimEndChars } from "../../base/text.js";

/** Files of git's own that are read: one that leads to another folder, and one with patterns. */
const ownFileBytesMax = 64 << 10;

/** What a file is, as far as it may be read. */
export type FileRead = { readonly contents: Buffer } | { readonly refusal: string };

/**
 * The files of a folder that may be hostile, and change meanwhile. The folder is the one that was found when it was listed, and stays the
 * same one however its name is used later. Nothing in it is read through a link, and no read waits.
 */
export class WorkTree {
  /** Where it is, without links. */
  readonly path: string;
  readonly #descriptor: number;
  /** The data directory, if it is below the folder; it ends with a slash. */
  readonly #dataPath: string | undefined;

  /**
   * `folder` is a path without links. Throws `git` if it has become a link or cannot be read, and `forbidden` if it is in the data
   * directory.
   */
  constructor(folder: string, dataFolder: string) {
    this.path = folder;
    try {
      this.#descriptor = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    } catch (error) {
      throw unreadable(errorMessage(error));
    }
    try {
      if (readlinkSync(this.directory) !== folder) throw unreadable("a folder of its path has become a link");
      const data = realpathSync(dataFolder);
      if (`${folder}${sep}`.startsWith(`${data}${sep}`))
        throw new TrawlError("forbidden", "the working copy is in the data directory");
      if (data.startsWith(`${folder}${sep}`))
        this.#dataPath = `${Buffer.from(data.slice(folder.length + 1)).toString("latin1")}/`;
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** For this process, and for the start of another one in it. */
  get directory(): string {
    return `/proc/self/fd/${this.#descriptor}`;
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  /** Whether the path leads to a file of the folder, and not to one of git's or of this program. One character per byte. */
  isOwn(path: string): boolean {
    const isPlain = path
      .split("/")
      .every((part) => part !== "" && part !== "." && part !== ".." && part.toLowerCase() !== ".git");
    return isPlain && !(this.#dataPath !== undefined && path.startsWith(this.#dataPath));
  }

  /** Undefined if there is none. Throws what the system says. */
  state(path: string): BigIntStats | undefined {
    return lstatSync(this.#locate(path), { throwIfNoEntry: false, bigint: true });
  }

  target(path: string): Buffer {
    return readlinkSync(this.#locate(path), { encoding: "buffer" });
  }

  /** Throws what the system says. */
  async read(path: string, refuse: (byteCount: number) => string | undefined): Promise<FileRead> {
    return await readGuarded(this.#locate(path), toPath(this.path, path), refuse);
  }

  /**
   * What is ignored in this copy of the repository only. In a work tree of another repository, and in a submodule, `.git` is a file that
   * leads to the folder with the patterns. Throws `git` if they cannot be told: then nothing of the folder may be shown.
   */
  async readExcludes(): Promise<Buffer> {
    try {
      const found = await findGitDirectory(join(this.directory, ".git"), this.path);
      if (found === undefined) throw new TrawlError("git", ".git leads nowhere");
      return (await readOwn(join(found.common, "info/exclude"))) ?? Buffer.alloc(0);
    } catch (error) {
      throw unreadable(`what it ignores in info/exclude cannot be told: ${errorMessage(error)}`);
    }
  }

  #locate(path: string): Buffer {
    return toPath(this.directory, path);
  }
}

function unreadable(reason: string): TrawlError {
  return new TrawlError("git", `the working copy cannot be read: ${reason}`);
}

function toPath(folder: string, path: string): Buffer {
  return Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(path, "latin1")]);
}

/** The folder of a repository, and the one that it shares with its other work trees, with the objects; without links. */
export interface GitDirectory {
  readonly directory: string;
  readonly common: string;
}

const pointerStart = "gitdir: ";

/**
 * What git reads of a repository that is given as `start`, such as `.git` in a work tree: a folder, or a file with the path of one, which
 * counts from `base`. Undefined if there is nothing, or a file of another kind. Throws what the system says if it leads to nothing that
 * may be read, and `git` if a file is too large for a path.
 */
export async function findGitDirectory(start: string, base: string): Promise<GitDirectory | undefined> {
  const own = await realpath(start).catch(undefinedIfAbsent);
  if (own === undefined) return undefined;
  let directory = own;
  if ((await lstat(own)).isFile()) {
    const path = await readPath(own, pointerStart);
    if (path === undefined) return undefined;
    directory = await realpath(resolve(base, path));
  }
  const shared = await readPath(await realpath(join(directory, "commondir")).catch(undefinedIfAbsent), "");
  return { directory, common: shared === undefined ? directory : await realpath(resolve(directory, shared)) };
}

/** The path in a file that begins with `prefix`: as git reads it, everything up to the line feeds at its end. */
async function readPath(path: string | undefined, prefix: string): Promise<string | undefined> {
  if (path === undefined) return undefined;
  const start = await readStart(path, ownFileBytesMax + 1);
  const text = start.toString();
  if (!text.startsWith(prefix)) return undefined;
  if (start.length > ownFileBytesMax)
    throw new TrawlError("git", `${path} is larger than ${ownFileBytesMax >> 10} KiB`);
  return trimEndChars(text.slice(prefix.length), "\r\n");
}

/** Of a regular file at a path without links. */
async function readStart(path: string, byteCount: number): Promise<Buffer> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    if (!(await file.stat()).isFile()) throw new TrawlError("git", `${path} is not a plain file`);
    return await readBytes(file, byteCount);
  } finally {
    await file.close();
  }
}

function undefinedIfAbsent(error: unknown): undefined {
  if ((error as { readonly code?: unknown }).code !== "ENOENT") throw error;
}

/** A small file at a path without links; undefined if there is none. Throws if it is anything else. */
async function readOwn(path: string): Promise<Buffer | undefined> {
  try {
    const read = await readGuarded(path, Buffer.from(path), (byteCount) =>
      byteCount > ownFileBytesMax ? `larger than ${ownFileBytesMax >> 10} KiB` : undefined,
    );
    if ("refusal" in read) throw new TrawlError("git", `${path} is ${read.refusal}`);
    return read.contents;
  } catch (error) {
    return undefinedIfAbsent(error);
  }
}

const refusedPlace = "not a plain file, or was replaced while it was read";

/** Reads a regular file if it is at the place that is expected: a folder of the path may have become a link. */
async function readGuarded(
  path: string | Buffer,
  place: Buffer,
  refuse: (byteCount: number) => string | undefined,
): Promise<FileRead> {
  // Not blocking, in case that it is a pipe.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const state = await file.stat();
    const found = readlinkSync(`/proc/self/fd/${file.fd}`, { encoding: "buffer" });
    if (!state.isFile() || !found.equals(place)) return { refusal: refusedPlace };
    const refusal = refuse(state.size);
    return refusal === undefined ? { contents: await readBytes(file, state.size) } : { refusal };
  } finally {
    await file.close();
  }
}

async function readBytes(file: FileHandle, size: number): Promise<Buffer> {
  const bytes = Buffer.alloc(size);
  let length = 0;
  for (let count = -1; count !== 0 && length < size; length += count)
    ({ bytesRead: count } = await file.read(bytes, length, size - length, length));
  return bytes.subarray(0, length);
}

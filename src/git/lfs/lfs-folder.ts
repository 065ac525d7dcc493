import { constants } from "node:fs";
import { type FileHandle, open, realpath } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import { findGitDirectory } from "../mirror/work-tree.js";
import type { LfsPointer } from "./pointer.js";

/**
 * The objects of Git LFS in a repository on this machine: `lfs/objects` of its git directory. The repository may be hostile: nothing
 * outside of it is read, nothing in the data directory, and no read waits.
 */
export class LfsFolder {
  readonly #path: string;
  readonly #dataFolder: string;
  #root: Promise<string | undefined> | undefined;

  /** `path` is that of a repository or its work tree. */
  constructor(path: string, dataFolder: string) {
    this.#path = path;
    this.#dataFolder = dataFolder;
  }

  /** What is there under the name of the contents; undefined if there is nothing of that size. It is not verified. */
  async read({ oid, size }: LfsPointer): Promise<Buffer | undefined> {
    const root = await (this.#root ??= this.#findRoot());
    if (root === undefined) return undefined;
    const path = join(root, oid.slice(0, 2), oid.slice(2, 4), oid);
    // A folder of the path may be a link.
    const real = await realpath(path).catch(() => undefined);
    if (real !== path) return undefined;
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
      () => undefined,
    );
    if (file === undefined) return undefined;
    try {
      const state = await file.stat();
      return state.isFile() && state.size === size ? await readWhole(file, size) : undefined;
    } finally {
      await file.close();
    }
  }

  /** Where the objects are, without links; undefined if there is no such folder, or it is elsewhere. */
  async #findRoot(): Promise<string | undefined> {
    const data = await realpath(this.#dataFolder).catch(() => this.#dataFolder);
    for (const start of [join(this.#path, ".git"), `${this.#path}.git`, this.#path]) {
      const found = await findGitDirectory(start, dirname(start)).catch(() => undefined);
      for (const directory of found === undefined ? [] : [found.directory, found.common]) {
        const root = await realpath(join(directory, "lfs", "objects")).catch(() => undefined);
        if (root !== join(directory, "lfs", "objects") || `${root}${sep}`.startsWith(`${data}${sep}`)) continue;
        return root;
      }
    }
    return undefined;
  }
}

async function readWhole(file: FileHandle, size: number): Promise<Buffer | undefined> {
  const bytes = Buffer.alloc(size);
  let length = 0;
  while (length < size) {
    const { bytesRead } = await file.read(bytes, length, size - length, length);
    if (bytesRead === 0) return undefined;
    length += bytesRead;
  }
  return bytes;
}

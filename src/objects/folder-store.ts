import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, rename, stat, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { errorMessage } from "../base/errors.js";
import { syncToDisk } from "../base/sync-to-disk.js";
import { ObjectFailure, type ObjectName, type ObjectStore } from "./object-store.js";

/** Pieces in which a file is written, so that a signal is noticed. */
const pieceBytes = 4 * 1024 * 1024;

/** Objects in a folder, which all nodes have mounted: one file each. The folder itself is never made: it would be below a mount that is missing. */
export class FolderStore implements ObjectStore {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  get place(): string {
    return this.#folder;
  }

  async put(key: string, _name: ObjectName, bytes: Buffer, signal: AbortSignal): Promise<void> {
    const path = join(this.#folder, key);
    // Its own name: another node may write the same object.
    const part = `${path}.${randomUUID()}.part`;
    await this.#try(async () => {
      for (const folder of [dirname(dirname(path)), dirname(path)]) await makeIn(folder);
      const file = await open(part, "wx", 0o600);
      try {
        for (let from = 0; from < bytes.length; from += pieceBytes) {
          signal.throwIfAborted();
          await file.writeFile(bytes.subarray(from, from + pieceBytes));
        }
        await file.sync();
      } catch (error) {
        await unlink(part).catch(() => undefined);
        throw error;
      } finally {
        await file.close();
      }
      await rename(part, path);
      const parent = dirname(path);
      await syncToDisk([parent, dirname(parent), this.#folder]);
    });
  }

  async find(key: string): Promise<number | undefined> {
    try {
      return (await stat(join(this.#folder, key))).size;
    } catch (error) {
      if (systemCode(error) === "ENOENT") return undefined;
      throw failure(error);
    }
  }

  async read(key: string, take: (chunk: Buffer) => void, signal: AbortSignal): Promise<void> {
    const chunks = createReadStream(join(this.#folder, key), { highWaterMark: 1024 * 1024, signal });
    await this.#try(async () => {
      for await (const chunk of chunks) take(chunk as Buffer);
    });
  }

  async #try(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      throw failure(error);
    }
  }
}

/** Makes a folder in one that exists. */
async function makeIn(folder: string): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
  }
}

function systemCode(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}

function failure(error: unknown): ObjectFailure {
  if (error instanceof ObjectFailure) return error;
  const code = systemCode(error);
  if (code === "ENOENT") return new ObjectFailure("it is not there", true, error);
  return new ObjectFailure(errorMessage(error), code !== "EACCES" && code !== "EROFS", error);
}

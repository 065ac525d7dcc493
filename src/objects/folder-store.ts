import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, opendir, rename, stat, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { errorMessage } from "../base/errors.js";
import { syncToDisk } from "../base/sync-to-disk.js";
import { ObjectFailure, type ObjectName, type ObjectStore } from "./object-store.js";

/** Pieces in which a file is written, so that a signal is noticed. */
const pieceBytes = 4 * 1024 * 1024;

/** What a write that did not end has left is deleted after this time: no write takes so long. */
const partKeptMs = 24 * 3_600_000;

/** Objects in a folder, which all nodes have mounted: one file each. The folder itself is never made: it would be below a mount that is missing. */
export class FolderStore implements ObjectStore {
  readonly #folder: string;
  /** Folders without parts that a crash has left. */
  readonly #swept = new Set<string>();

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
    await within(signal, async () => {
      for (const folder of [dirname(dirname(path)), dirname(path)]) await makeIn(folder);
      const file = await open(part, "wx", 0o600);
      try {
        for (let from = 0; from < bytes.length; from += pieceBytes) {
          signal.throwIfAborted();
          await file.writeFile(bytes.subarray(from, from + pieceBytes));
        }
        await file.sync();
        signal.throwIfAborted();
      } catch (error) {
        await unlink(part).catch(() => undefined);
        throw error;
      } finally {
        await file.close();
      }
      await rename(part, path);
      const parent = dirname(path);
      await syncToDisk([parent, dirname(parent), this.#folder]);
      await this.#sweep(parent);
    });
  }

  /** Deletes what crashes have left in a folder, once in each process. */
  async #sweep(folder: string): Promise<void> {
    if (this.#swept.has(folder)) return;
    this.#swept.add(folder);
    try {
      for await (const { name } of await opendir(folder)) {
        const path = join(folder, name);
        if (!name.endsWith(".part")) continue;
        const { mtimeMs } = await stat(path);
        if (new Date().getTime() - mtimeMs > partKeptMs) await unlink(path);
      }
    } catch {
      // Another node may have been faster, or may have its own account: they take room, and nothing else.
    }
  }

  find(key: string, signal: AbortSignal): Promise<number | undefined> {
    return within(signal, async () => {
      try {
        return (await stat(join(this.#folder, key))).size;
      } catch (error) {
        if (systemCode(error) === "ENOENT") return undefined;
        throw error;
      }
    });
  }

  read(key: string, take: (chunk: Buffer) => void, signal: AbortSignal): Promise<void> {
    return within(signal, async () => {
      const chunks = createReadStream(join(this.#folder, key), { highWaterMark: 1024 * 1024, signal });
      for await (const chunk of chunks) {
        signal.throwIfAborted();
        take(chunk as Buffer);
      }
    });
  }
}

/**
 * Settles when the work does, or when the signal is aborted: a call of a file system whose server is away does not end, and nothing can end
 * it. What it may still do later is no harm: what is written has a name of its own, or is what the key says.
 */
function within<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = (): void => reject(new ObjectFailure("there was no time left", true));
    if (signal.aborted) return end();
    signal.addEventListener("abort", end, { once: true });
    void work()
      .then(resolve, (error: unknown) => reject(failure(error)))
      .finally(() => signal.removeEventListener("abort", end));
  });
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

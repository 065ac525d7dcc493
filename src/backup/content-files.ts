import { createHash, randomBytes } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { chmod, mkdir, open, readdir, rename, rm, stat, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { uninitializedBytes } from "../base/bytes.js";
import { TrawlError } from "../base/errors.js";
import { folderProblem, makeFolder } from "../base/make-folder.js";
import type { StopSignal } from "../base/stop-signal.js";
import type { BackupFile } from "./manifest.js";
import { syncToDisk } from "../base/sync-to-disk.js";

const pieceBytes = 1 << 20;
const unfinishedPrefix = "unfinished-";

/** Files named by their checksums: existing files are not written again, and files are never changed. */
export class ContentFiles {
  readonly #folder: string;
  copiedBytes = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The path of a content. */
  path(sha256: string): string {
    return join(this.#folder, sha256.slice(0, 2), sha256);
  }

  /** Whether the content exists with its full size. */
  async has({ sha256, bytes }: BackupFile): Promise<boolean> {
    const found = await stat(this.path(sha256)).catch(() => undefined);
    return found?.isFile() === true && found.size === bytes;
  }

  /**
   * Adds a file; it is durable when this resolves. `source` is a path as bytes, because names need not be valid text.
   */
  async addFile(path: string, source: string | Buffer, stop: StopSignal): Promise<BackupFile> {
    const from = await open(source, "r");
    try {
      return await this.#add(path, async (write) => {
        const piece = Buffer.from(uninitializedBytes(pieceBytes).buffer);
        for (;;) {
          if (stop()) throw new TrawlError("cancelled", "the backup was stopped");
          const { bytesRead } = await from.read(piece, 0, pieceBytes, null);
          if (bytesRead === 0) return;
          await write(piece.subarray(0, bytesRead));
        }
      });
    } finally {
      await from.close();
    }
  }

  /** Adds bytes. Caller guarantees: they do not change until this resolves. */
  addBytes(path: string, bytes: Uint8Array): Promise<BackupFile> {
    return this.#add(path, async (write) => {
      for (let at = 0; at < bytes.length; at += pieceBytes) await write(bytes.subarray(at, at + pieceBytes));
    });
  }

  /** Deletes files whose checksums are not in the set, and incomplete files of earlier backups. */
  async keepOnly(wanted: ReadonlySet<string>): Promise<void> {
    for (const name of await readdir(this.#folder)) {
      const folder = join(this.#folder, name);
      if (name.startsWith(unfinishedPrefix)) await rm(folder, { force: true });
      else if (name.length === 2)
        for (const sha256 of await readdir(folder))
          if (!wanted.has(sha256)) await rm(join(folder, sha256), { force: true });
    }
  }

  async #add(path: string, fill: (write: (bytes: Uint8Array) => Promise<void>) => Promise<void>): Promise<BackupFile> {
    const unfinished = join(this.#folder, `${unfinishedPrefix}${randomBytes(8).toString("hex")}`);
    const hash = createHash("sha256");
    let bytes = 0;
    try {
      const file = await open(unfinished, "wx", 0o600);
      await whileOpen(file, async () => {
        await fill(async (piece) => {
          hash.update(piece);
          bytes += piece.length;
          await writeAll(file, piece);
        });
        await file.sync();
      });
      const entry = { path, bytes, sha256: hash.digest("hex") };
      if (!(await this.has(entry))) await this.#adopt(unfinished, entry);
      return entry;
    } finally {
      await rm(unfinished, { force: true });
    }
  }

  async #adopt(unfinished: string, { sha256, bytes }: BackupFile): Promise<void> {
    const folder = join(this.#folder, sha256.slice(0, 2));
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await rename(unfinished, this.path(sha256));
    await syncToDisk([folder]);
    this.copiedBytes += bytes;
  }
}

async function whileOpen(file: FileHandle, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } finally {
    await file.close();
  }
}

export async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at, bytes.length - at, null)).bytesWritten;
}

/** Creates the folder of a backup; rejects if it contains something else. */
export async function prepareTarget(folder: string, manifestName: string, filesFolder: string): Promise<void> {
  const isKnown = existsSync(join(folder, manifestName)) || existsSync(join(folder, filesFolder));
  if (!isKnown && existsSync(folder) && readdirSync(folder).length > 0) {
    throw new TrawlError(
      "conflict",
      `${folder} contains something other than a backup: use an empty folder, or the folder of an earlier backup`,
    );
  }
  try {
    makeFolder(join(folder, filesFolder));
  } catch (error) {
    throw new TrawlError("storage", `cannot write a backup to ${folder}: ${folderProblem(error)}`, { cause: error });
  }
  // It contains everything that the data directory does, including secrets.
  await chmod(folder, 0o700);
}

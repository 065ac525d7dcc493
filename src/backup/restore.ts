import { createHash } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { mkdir, open, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { uninitializedBytes } from "../base/bytes.js";
import { errorMessage, TrawlError } from "../base/errors.js";
import { folderProblem, makeFolder } from "../base/make-folder.js";
import { ShardStore } from "../store/shard-store.js";
import { ContentFiles, writeAll } from "./content-files.js";
import { filesFolder, manifestName, parseList, parseManifest, type BackupFile, type Manifest } from "./manifest.js";
import { syncToDisk } from "../base/sync-to-disk.js";

const pieceBytes = 1 << 20;

export interface Restored {
  readonly takenAt: string;
  readonly shards: number;
  readonly mirrors: number;
  readonly bytes: number;
}

/** Reads and validates the manifest of a backup. Throws `not-found`, `format-version` or `storage`. */
export async function readManifest(backup: string): Promise<Manifest> {
  const path = join(backup, manifestName);
  if (!existsSync(path))
    throw new TrawlError("not-found", `${backup} is not a backup, or was not completed: it has no ${manifestName}`);
  return parseManifest(await readFile(path, "utf8"));
}

/**
 * Creates a data directory from a backup. `begin` is called when the folder is known to be empty, `end` when all of it
 * is durable: in between, no daemon may start with it. The checksum of every file is verified. Throws `conflict` if the
 * folder is not empty, `storage` if the backup is damaged or the disk is full.
 */
export async function restore(
  backup: string,
  dataFolder: string,
  manifest: Manifest,
  begin: () => Promise<void>,
  end: () => Promise<void>,
): Promise<Restored> {
  if (existsSync(dataFolder) && readdirSync(dataFolder).length > 0) {
    throw new TrawlError(
      "conflict",
      `${dataFolder} is not empty: use an empty folder, or one that does not exist yet. Nothing was changed.`,
    );
  }
  try {
    for (const folder of ["", "catalog", "shards", "mirrors"]) makeFolder(join(dataFolder, folder));
  } catch (error) {
    throw new TrawlError("storage", `cannot restore to ${dataFolder}: ${folderProblem(error)}`, { cause: error });
  }
  await begin();
  const work = new Restoring(new ContentFiles(join(backup, filesFolder)), dataFolder);
  try {
    const restored = await work.run(manifest);
    await end();
    return restored;
  } catch (error) {
    const code = error instanceof TrawlError ? error.code : "storage";
    throw new TrawlError(code, `the restore failed: ${errorMessage(error)}. Empty ${dataFolder} before trying again.`, {
      cause: error,
    });
  }
}

class Restoring {
  readonly #files: ContentFiles;
  readonly #dataFolder: string;
  #bytes = 0;

  constructor(files: ContentFiles, dataFolder: string) {
    this.#files = files;
    this.#dataFolder = dataFolder;
  }

  async run({ takenAt, entries }: Manifest): Promise<Restored> {
    const store = new ShardStore(join(this.#dataFolder, "shards"));
    let shards = 0;
    let mirrors = 0;
    try {
      for (const entry of entries) {
        if (entry.kind === "file") await this.#copy(entry);
        if (entry.kind === "shard") shards += await this.#putShard(store, entry);
        if (entry.kind === "list") mirrors += await this.#copyMirror(entry);
      }
    } finally {
      await store.close();
    }
    return { takenAt, shards, mirrors, bytes: this.#bytes };
  }

  async #putShard(store: ShardStore, entry: BackupFile): Promise<number> {
    const id = Number(/^shards\/(\d{1,10})-[0-9a-f]{8}$/.exec(entry.path)?.[1] ?? Number.NaN);
    if (!Number.isSafeInteger(id))
      throw new TrawlError("storage", `the backup has a shard without an id: ${JSON.stringify(entry.path)}`);
    const bytes = await this.#read(entry);
    await store.put([{ id, bytes }]);
    this.#bytes += bytes.length;
    return 1;
  }

  async #copyMirror(list: BackupFile): Promise<number> {
    const files = parseList((await this.#read(list)).toString(), list.path);
    if (files.length === 0) return 0;
    // git does not recognize a folder without these as a repository.
    for (const folder of ["objects/info", "objects/pack", "refs/heads", "refs/tags"])
      await mkdir(join(this.#dataFolder, list.path, folder), { recursive: true, mode: 0o700 });
    for (const file of files) await this.#copy(file);
    return 1;
  }

  async #read(entry: BackupFile): Promise<Buffer> {
    const bytes = await readFile(this.#files.path(entry.sha256)).catch((error: unknown) => {
      throw damaged(entry, errorMessage(error));
    });
    if (createHash("sha256").update(bytes).digest("hex") !== entry.sha256)
      throw damaged(entry, "it has a wrong checksum");
    return bytes;
  }

  async #copy(entry: BackupFile): Promise<void> {
    const target = Buffer.from(`${this.#dataFolder}/`).toString("latin1") + entry.path;
    await mkdir(Buffer.from(dirname(target), "latin1"), { recursive: true, mode: 0o700 });
    const from = await open(this.#files.path(entry.sha256), "r").catch((error: unknown) => {
      throw damaged(entry, errorMessage(error));
    });
    const hash = createHash("sha256");
    try {
      const to = await open(Buffer.from(target, "latin1"), "wx", 0o600);
      try {
        const piece = Buffer.from(uninitializedBytes(pieceBytes).buffer);
        for (
          let read = await from.read(piece, 0, pieceBytes, null);
          read.bytesRead > 0;
          read = await from.read(piece, 0, pieceBytes, null)
        ) {
          hash.update(piece.subarray(0, read.bytesRead));
          this.#bytes += read.bytesRead;
          await writeAll(to, piece.subarray(0, read.bytesRead));
        }
        await to.sync();
      } finally {
        await to.close();
      }
    } finally {
      await from.close();
    }
    if (hash.digest("hex") !== entry.sha256) throw damaged(entry, "it has a wrong checksum");
  }
}

function damaged({ path }: BackupFile, reason: string): TrawlError {
  return new TrawlError("storage", `the backup is damaged: ${JSON.stringify(path)} cannot be read (${reason})`);
}

/** Writes a small file so that a crash leaves either the old or the new version. */
export async function writeMarker(path: string, text: string): Promise<void> {
  const file = await open(path, "w", 0o600);
  try {
    await writeFile(file, text);
    await file.sync();
  } finally {
    await file.close();
  }
  await syncToDisk([dirname(path)]);
}

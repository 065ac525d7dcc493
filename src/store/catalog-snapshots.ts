import { createHash } from "node:crypto";
import { createReadStream, readdirSync, statSync } from "node:fs";
import { cp, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { errorMessage, TrawlError } from "../base/errors.js";
import { inspectStore } from "./inspect-store.js";
import type { RecordStore } from "./record-store.js";
import { syncToDisk } from "../base/sync-to-disk.js";

/**
 * Maximum number of snapshots: with one every ten minutes in which there are changes, they cover the last hour of an
 * active day.
 */
const snapshotCountMax = 6;

const dataFile = "data.mdb";
const checksumFile = "sha256";

/**
 * Copies of the record store, from which a damaged one is restored. Each is a folder named by its time that contains
 * the store's file and its checksum; it is renamed to its final name when all of it is durable.
 */
export class CatalogSnapshots {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Names, newest first. */
  names(): string[] {
    // Throws if the folder may not be read, which is not the same as none.
    if (statSync(this.#folder, { throwIfNoEntry: false }) === undefined) return [];
    return readdirSync(this.#folder)
      .filter((name) => /^\d{8}T\d{9}Z$/.test(name))
      .sort()
      .reverse();
  }

  /**
   * Copies the store as of one moment, and deletes the oldest copies. Rejects with `storage`, also if the store turns
   * out to be damaged; earlier snapshots are then kept.
   */
  async take(store: RecordStore, date: Date): Promise<void> {
    const name = date.toISOString().replaceAll(/[-:.]/g, "");
    const unfinished = join(this.#folder, `unfinished-${name}`);
    try {
      await mkdir(unfinished, { recursive: true, mode: 0o700 });
      await store.copyTo(unfinished);
      const state = await inspectStore("records", unfinished, "rewrite");
      if (state.kind === "damaged")
        throw new TrawlError("storage", `it is damaged (${state.reason}): restart the daemon, which repairs it`);
      await rm(join(unfinished, "lock.mdb"), { force: true });
      await writeFile(join(unfinished, checksumFile), await fileChecksum(join(unfinished, dataFile)));
      await syncToDisk([join(unfinished, dataFile), join(unfinished, checksumFile), unfinished]);
      await rename(unfinished, join(this.#folder, name));
      await syncToDisk([this.#folder]);
      await this.#deleteOld();
    } catch (error) {
      await rm(unfinished, { recursive: true, force: true }).catch(() => undefined);
      throw new TrawlError("storage", `cannot write a snapshot of the catalog: ${errorMessage(error)}`, {
        cause: error,
      });
    }
  }

  /** Whether its file matches the checksum stored with it. */
  async isWhole(name: string): Promise<boolean> {
    try {
      return (
        (await fileChecksum(join(this.#folder, name, dataFile))) ===
        (await readFile(join(this.#folder, name, checksumFile), "utf8"))
      );
    } catch {
      return false;
    }
  }

  /** Copies a snapshot to the store's folder, which must be empty. Rejects with `storage` if its checksum is wrong. */
  async restore(name: string, storeFolder: string): Promise<void> {
    const source = join(this.#folder, name, dataFile);
    const expected = await readFile(join(this.#folder, name, checksumFile), "utf8");
    if ((await fileChecksum(source)) !== expected)
      throw new TrawlError("storage", `the snapshot ${name} of the catalog has a wrong checksum`);
    await mkdir(storeFolder, { recursive: true, mode: 0o700 });
    await cp(source, join(storeFolder, dataFile));
    await syncToDisk([join(storeFolder, dataFile), storeFolder]);
  }

  async #deleteOld(): Promise<void> {
    const unfinished = readdirSync(this.#folder).filter((name) => name.startsWith("unfinished-"));
    for (const name of [...this.names().slice(snapshotCountMax), ...unfinished])
      await rm(join(this.#folder, name), { recursive: true, force: true });
  }
}

async function fileChecksum(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const bytes of createReadStream(path)) hash.update(bytes as Buffer);
  return hash.digest("hex");
}

import { existsSync } from "node:fs";
import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { isAbsolute, join, relative } from "node:path";
import { prepareTarget } from "../../backup/content-files.js";
import {
  backupFormat,
  filesFolder,
  manifestName,
  parseManifest,
  shardPath,
  type Manifest,
  type ManifestEntry,
} from "../../backup/manifest.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import type { Log } from "../../base/log.js";
import { filesIn } from "../../git/mirror/mirror-directory.js";
import type { Catalog } from "../../catalog/catalog.js";
import type { HistoryView } from "../../catalog/history-shards.js";
import type { CatalogView } from "../../catalog/live-shards.js";
import type { StoredShard } from "../../model/shard-record.js";
import { inspectStore } from "../../store/inspect-store.js";
import type { RecordStore } from "../../store/record-store.js";
import type { SyncManager } from "../../sync/sync-manager.js";
import type { BackupTask } from "../../protocol/ingest-messages.js";
import type { IngestPool } from "../../pool/ingest-pool.js";
import { dataVersion } from "./data-version.js";
import { mirrorName, mirrorsFolder } from "../../model/repository.js";
import { syncToDisk } from "../../base/sync-to-disk.js";

/** The data to back up, and the services needed for it. */
export interface BackupSource {
  readonly dataFolder: string;
  readonly catalog: Catalog;
  readonly records: RecordStore;
  readonly sync: SyncManager;
  readonly pool: IngestPool;
  readonly log: Log;
}

export interface BackupResult {
  readonly shards: number;
  readonly mirrors: number;
  /** Data that was not in the folder before. */
  readonly copiedBytes: number;
  /** Sentences that describe what could not be copied. A restore rebuilds it from the mirrors, or from the remotes. */
  readonly excluded: readonly string[];
}

/**
 * Backups of the running daemon. The catalog is copied between two changes, and its shards are pinned until they have
 * been copied; a mirror is copied while no task accesses it, and may be newer than the catalog, as after any fetch.
 *
 * Backups to the same folder are incremental: existing contents are not copied again, and the folder contains the
 * previous backup until the manifest of the new one has been written. The copying is done by ingest workers.
 */
export class Backups {
  readonly #source: BackupSource;
  #isRunning = false;

  constructor(source: BackupSource) {
    this.#source = source;
  }

  /**
   * Rejects with `conflict` if another backup is running or the folder contains something else; with `storage` if a
   * write fails.
   */
  async take(target: string, progress: (line: string) => void): Promise<BackupResult> {
    this.#requireTarget(target);
    if (this.#isRunning) throw new TrawlError("conflict", "a backup is already running");
    this.#isRunning = true;
    try {
      await prepareTarget(target, manifestName, filesFolder);
      const result = await new RunningBackup(this.#source, target, progress).run();
      this.#source.log.info({ target, ...result, excluded: result.excluded.length }, "backup taken");
      return result;
    } catch (error) {
      const code = error instanceof TrawlError ? error.code : "storage";
      throw new TrawlError(code, `no backup was made in ${target}: ${errorMessage(error)}`, { cause: error });
    } finally {
      this.#isRunning = false;
    }
  }

  #requireTarget(target: string): void {
    if (!isAbsolute(target)) throw new TrawlError("bad-request", "the backup folder must be an absolute path");
    const { dataFolder } = this.#source;
    if (!relative(dataFolder, target).startsWith("..") || !relative(target, dataFolder).startsWith("..")) {
      throw new TrawlError(
        "bad-request",
        `${target} and the data directory ${dataFolder} contain one another: use another folder, preferably on another disk`,
      );
    }
  }
}

class RunningBackup {
  readonly #source: BackupSource;
  readonly #target: string;
  readonly #progress: (line: string) => void;
  readonly #entries: ManifestEntry[] = [];
  readonly #excluded: string[] = [];
  #copiedBytes = 0;

  constructor(source: BackupSource, target: string, progress: (line: string) => void) {
    this.#source = source;
    this.#target = target;
    this.#progress = progress;
  }

  async run(): Promise<BackupResult> {
    const earlier = await this.#earlier();
    const { sync, catalog } = this.#source;
    const takenAt = new Date().toISOString();
    const { view, history, ids, folder } = await this.#freeze();
    try {
      await this.#rewrite(folder);
      await this.#copy("file", { kind: "file", path: "catalog/data.mdb", source: join(folder, "data.mdb") });
      await this.#copyShards(
        view.shards.map(({ record }) => record),
        false,
        earlier,
      );
      await this.#copyShards([...history.shards.values()].flat(), true, earlier);
    } finally {
      view.release();
      history.release();
      await rm(folder, { recursive: true, force: true });
    }
    for (const [i, id] of ids.entries()) {
      const path = `${mirrorsFolder}/${mirrorName(id)}`;
      if (i % 100 === 0) this.#progress(`copying mirrors: ${i} of ${ids.length}`);
      if (catalog.repository(id) === undefined) continue;
      await sync.exclusively(id, () => this.#copy("list", { kind: "mirror", path, earlier: earlier.get(path) }));
    }
    await this.#copyFiles();
    await this.#writeManifest({ format: backupFormat, dataVersion, takenAt, entries: this.#entries });
    await this.#run({ kind: "clean", entries: this.#entries });
    const count = (kind: ManifestEntry["kind"]): number => this.#entries.filter((entry) => entry.kind === kind).length;
    return { shards: count("shard"), mirrors: count("list"), copiedBytes: this.#copiedBytes, excluded: this.#excluded };
  }

  /** The entries of the backup in the folder, by path. An unreadable backup is ignored. */
  async #earlier(): Promise<ReadonlyMap<string, ManifestEntry>> {
    try {
      const { entries } = parseManifest(await readFile(join(this.#target, manifestName), "utf8"));
      return new Map(entries.map((entry) => [entry.path, entry]));
    } catch {
      return new Map();
    }
  }

  /** The catalog as of one moment, and the shards that it names, which are kept until the view is released. */
  async #freeze(): Promise<{ view: CatalogView; history: HistoryView; ids: readonly number[]; folder: string }> {
    const { catalog, records } = this.#source;
    const folder = join(this.#target, "unfinished-catalog");
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { mode: 0o700 });
    return await catalog.between(async () => {
      const view = catalog.view();
      const history = catalog.historyView();
      try {
        await records.copyTo(folder);
        return { view, history, ids: [...catalog.repositories()].map(({ id }) => id), folder };
      } catch (error) {
        view.release();
        history.release();
        throw error;
      }
    });
  }

  /** Rewrites the copy so that it contains only the current contents of the catalog, and no deleted data. */
  async #rewrite(folder: string): Promise<void> {
    const state = await inspectStore("records", folder, "rewrite");
    if (state.kind === "damaged")
      throw new TrawlError("storage", `the catalog is damaged (${state.reason}): restart the daemon, which repairs it`);
  }

  async #copyShards(
    shards: readonly StoredShard[],
    isHistory: boolean,
    earlier: ReadonlyMap<string, ManifestEntry>,
  ): Promise<void> {
    for (const [i, record] of shards.entries()) {
      this.#progress(`copying shards: ${i} of ${shards.length}`);
      const known = earlier.get(shardPath(record));
      if (known?.kind === "shard" && record.checksum !== undefined && this.#has(known)) {
        this.#entries.push(known);
        continue;
      }
      try {
        await this.#copy("shard", { kind: "shard", shard: { id: record.id, checksum: record.checksum }, isHistory });
      } catch (error) {
        if (!(error instanceof TrawlError) || error.code !== "corrupt-shard") throw error;
        this.#excluded.push(errorMessage(error));
      }
    }
  }

  /**
   * The secrets of remotes, the lists of connections to code hosts and the audit log. A secret may be deleted at any
   * moment, with its repository. Without the lists, a restored daemon would remove what they name until it has listed the
   * hosts.
   */
  async #copyFiles(): Promise<void> {
    const secrets = filesIn(join(this.#source.dataFolder, "secrets"), /^[0-9a-f]{1,64}$/).map(
      (name) => `secrets/${name}`,
    );
    const lists = filesIn(join(this.#source.dataFolder, "connections"), /^[A-Za-z0-9_-]{1,64}\.json$/).map(
      (name) => `connections/${name}`,
    );
    for (const path of [...secrets, ...lists, "audit.log"]) {
      const source = join(this.#source.dataFolder, path);
      try {
        if (existsSync(source)) await this.#copy("file", { kind: "file", path, source });
      } catch (error) {
        if (existsSync(source)) throw error;
      }
    }
  }

  #has({ sha256 }: ManifestEntry): boolean {
    return existsSync(join(this.#target, filesFolder, sha256.slice(0, 2), sha256));
  }

  async #copy(kind: ManifestEntry["kind"], part: BackupTask["part"]): Promise<void> {
    const { file, copiedBytes } = await this.#run(part);
    this.#copiedBytes += copiedBytes;
    if (file !== undefined) this.#entries.push({ ...file, kind });
  }

  #run(part: BackupTask["part"]) {
    const { pool, sync } = this.#source;
    return pool.backup({ kind: "backup", target: join(this.#target, filesFolder), part, stop: sync.stopWord });
  }

  async #writeManifest(manifest: Manifest): Promise<void> {
    const unfinished = join(this.#target, `${manifestName}.new`);
    const file = await open(unfinished, "w", 0o600);
    try {
      await file.writeFile(JSON.stringify(manifest));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(unfinished, join(this.#target, manifestName));
    await syncToDisk([this.#target]);
  }
}

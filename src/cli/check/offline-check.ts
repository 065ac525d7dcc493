import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { resultWhileYielding } from "../../base/yielding.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import { oneLine } from "../../base/text.js";
import { createLog } from "../../base/log.js";
import { Catalog } from "../../catalog/catalog.js";
import { requireDataVersion } from "../../daemon/parts/data-version.js";
import { ControlServer } from "../../http/server/control-server.js";
import { CatalogSnapshots } from "../../store/catalog-snapshots.js";
import { inspectStore } from "../../store/inspect-store.js";
import { RecordStore } from "../../store/record-store.js";
import { ShardStore } from "../../store/shard-store.js";
import { mirrorFaults } from "./mirror-faults.js";
import { otherRemedy, shardFaults } from "./shard-faults.js";

/** Maximum length of a reported problem. */
const faultCharsMax = 500;

export interface CheckedData {
  readonly shards: number;
  readonly repositories: number;
  readonly faults: number;
}

/**
 * Checks the consistency of everything in a data directory, without a daemon: the stores against LMDB's rules, the
 * catalog against itself, each shard against its checksums and the catalog, each mirror against what is indexed
 * according to the catalog, and the files of its commits against the documents of the shards. `tell` receives one line
 * per problem, with its remedy. Nothing is changed.
 *
 * Throws `conflict` if a daemon is running with the data, and `not-found` or `format-version` if this program does not
 * support the directory.
 */
export async function checkOffline(dataFolder: string, tell: (fault: string) => void): Promise<CheckedData> {
  if (!existsSync(join(dataFolder, "version")))
    throw new TrawlError("not-found", `${dataFolder} is not a data directory of trawld`);
  return await withoutDaemon(dataFolder, () => new OfflineCheck(dataFolder, tell).run());
}

/**
 * Does work on a data directory that exists, while no daemon can use it. Throws `conflict` if a daemon is running with it, and
 * `format-version` if this program does not support it.
 */
export async function withoutDaemon<T>(dataFolder: string, work: () => Promise<T>): Promise<T> {
  requireDataVersion(dataFolder);
  // The control socket is the lock.
  const lock = new ControlServer({}, createLog("error"));
  await lock.listen(dataFolder);
  try {
    return await work();
  } finally {
    await lock.close();
  }
}

class OfflineCheck {
  readonly #dataFolder: string;
  readonly #snapshots: CatalogSnapshots;
  readonly #tell: (fault: string) => void;
  #faults = 0;

  constructor(dataFolder: string, tell: (fault: string) => void) {
    this.#dataFolder = dataFolder;
    this.#snapshots = new CatalogSnapshots(join(dataFolder, "catalog-snapshots"));
    this.#tell = tell;
  }

  async run(): Promise<CheckedData> {
    const newest = await this.#checkSnapshots();
    const catalog = await this.#openCatalog(newest);
    const shards = await this.#openShards();
    try {
      if (catalog === undefined) return { shards: 0, repositories: 0, faults: this.#faults };
      for (const fault of catalogFaults(catalog)) this.#note(fault);
      for (const fault of shardFaults(catalog, shards)) this.#note(fault);
      for await (const fault of mirrorFaults(join(this.#dataFolder, "mirrors"), catalog, shards)) this.#note(fault);
    } finally {
      await shards?.close();
    }
    return { shards: catalog.shards().length, repositories: catalog.repositoryCount, faults: this.#faults };
  }

  /** Returns the name of the newest snapshot that would be restored at startup. */
  async #checkSnapshots(): Promise<string | undefined> {
    const good: string[] = [];
    for (const name of this.#snapshots.names()) {
      if (await this.#snapshots.isWhole(name)) good.push(name);
      else this.#note(`catalog-snapshots/${name} has a wrong checksum: delete it; the next snapshot replaces it`);
    }
    return good.at(0);
  }

  async #openCatalog(newest: string | undefined): Promise<Catalog | undefined> {
    const folder = join(this.#dataFolder, "catalog");
    const state = await inspectStore("records", folder);
    const isEmpty = state.kind === "absent" || (state.kind === "whole" && state.count === 0);
    const hasMirrors = readdirSync(join(this.#dataFolder, "mirrors")).length > 0;
    if (state.kind === "damaged" || (isEmpty && (newest !== undefined || hasMirrors))) {
      const reason = state.kind === "damaged" ? state.reason : "it is empty, although there are mirrors or snapshots";
      const remedy =
        newest === undefined
          ? "there is no valid snapshot: restore a backup"
          : `the next start restores the snapshot ${newest}`;
      this.#note(`the catalog is damaged: ${reason}; ${remedy}`);
      return undefined;
    }
    if (state.kind === "absent") return undefined;
    const store = new RecordStore(folder);
    try {
      const catalog = new Catalog(store);
      await resultWhileYielding(catalog.load());
      return catalog;
    } catch (error) {
      this.#note(`the catalog cannot be read: ${errorMessage(error)}; restore a backup`);
      return undefined;
    } finally {
      await store.close();
    }
  }

  async #openShards(): Promise<ShardStore | undefined> {
    const folder = join(this.#dataFolder, "shards");
    const state = await inspectStore("shards", folder);
    if (state.kind === "damaged")
      this.#note(`the shard store is damaged: ${state.reason}; the next start rebuilds all shards from the mirrors`);
    return state.kind === "whole" || state.kind === "unknown" ? new ShardStore(folder) : undefined;
  }

  #note(fault: string): void {
    this.#faults++;
    this.#tell(oneLine(fault, faultCharsMax));
  }
}

/** Inconsistencies within the catalog. */
function* catalogFaults(catalog: Catalog): Generator<string> {
  const byName = new Map<string, number>();
  for (const { id, name } of catalog.repositories()) {
    const other = byName.get(name);
    if (other !== undefined)
      yield `the catalog has two repositories named ${JSON.stringify(name)}, ${other} and ${id}: remove one with \`trawl repo remove\``;
    byName.set(name, id);
  }
  for (const { record, tombstones } of catalog.shards()) {
    const unknown = record.repositoryIds.filter((id) => id !== 0 && catalog.repository(id) === undefined);
    if (unknown.length > 0)
      yield `shard ${record.id} contains documents of repositories that the catalog does not know (${unknown.join(", ")}): they are not found, and are removed when the shard is merged`;
    if (tombstones !== undefined && tombstones.length !== Math.ceil(record.documentCount / 32)) {
      yield `the tombstones of shard ${record.id} have ${tombstones.length} words for ${record.documentCount} documents: ${otherRemedy}`;
    }
  }
}

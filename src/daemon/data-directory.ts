import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { errorMessage, TrawlError } from "../base/errors.js";
import type { Log } from "../base/log.js";
import { folderProblem, makeFolder } from "../base/make-folder.js";
import { syncToDisk } from "../base/sync-to-disk.js";
import type { CatalogSnapshots } from "../store/catalog-snapshots.js";
import { inspectStore, inspectStores, type StoreState } from "../store/inspect-store.js";
import { dataVersion, requireReadable, upgradingText } from "./parts/data-version.js";

/** Creates the data directory; rejects one of another version. */
export function prepareData(dataFolder: string): void {
  const versionFile = join(dataFolder, "version");
  try {
    const isNew = !existsSync(versionFile) || isUnwritten(readFileSync(versionFile));
    if (!isNew) requireReadable(dataFolder);
    for (const folder of ["", "catalog", "shards", "mirrors"]) makeFolder(join(dataFolder, folder));
    if (isNew) writeVersion(dataFolder, `${dataVersion}\n`);
  } catch (error) {
    if (error instanceof TrawlError) throw error;
    throw new TrawlError("storage", `cannot use ${dataFolder} as data directory: ${folderProblem(error)}`, {
      cause: error,
    });
  }
}

/** Whether a crash left the file without its data: empty, or zeros. */
function isUnwritten(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0);
}

/** The file exists only when all of it is durable. */
function writeVersion(dataFolder: string, text: string): void {
  const versionFile = join(dataFolder, "version");
  const unfinished = `${versionFile}.tmp`;
  writeFileSync(unfinished, text, { flush: true });
  renameSync(unfinished, versionFile);
  const folder = openSync(dataFolder, "r");
  fsyncSync(folder);
  closeSync(folder);
}

/**
 * Checks both stores before they are opened. A damaged store is renamed, so that nothing is lost: the shards are then
 * rebuilt from the mirrors, and the catalog is restored from its newest valid snapshot. Throws `storage` if there is
 * none: without a catalog, the mirrors would be deleted as unknown. An intact catalog is rewritten, and one of an
 * earlier version is upgraded.
 *
 * Caller guarantees: the data directory belongs to this process, and nobody has the stores open.
 */
export async function recoverStores(dataFolder: string, snapshots: CatalogSnapshots, log: Log): Promise<void> {
  const { isOlder } = requireReadable(dataFolder);
  if (!isOlder) return await recover(dataFolder, snapshots, "rewrite", log);
  const before = readFileSync(join(dataFolder, "version"), "latin1");
  writeVersion(dataFolder, upgradingText);
  try {
    await recover(dataFolder, snapshots, "upgrade", log);
  } catch (error) {
    // Reached only if the catalog could neither be read nor restored, and was left unchanged.
    writeVersion(dataFolder, before);
    throw error;
  }
  writeVersion(dataFolder, `${dataVersion}\n`);
  log.info({ version: dataVersion }, "the data directory was upgraded: each catalog record now has a checksum");
}

async function recover(
  dataFolder: string,
  snapshots: CatalogSnapshots,
  mode: "rewrite" | "upgrade",
  log: Log,
): Promise<void> {
  const folders = { catalog: join(dataFolder, "catalog"), shards: join(dataFolder, "shards") };
  const [shards, catalog] = await inspectStores([
    { kind: "shards", folder: folders.shards, mode: "look" },
    { kind: "records", folder: folders.catalog, mode },
  ]);
  if (shards.kind === "damaged") {
    log.error(
      { reason: shards.reason, movedTo: await setAside(folders.shards) },
      "the shard store is damaged: all shards will be rebuilt from the mirrors",
    );
  }
  const reason = catalog.kind === "damaged" ? catalog.reason : findLoss(catalog, dataFolder, snapshots);
  if (reason !== undefined) return await restoreCatalog(folders.catalog, reason, snapshots, log);
  const unwritten =
    catalog.kind === "whole" ? catalog.unwritten : catalog.kind === "unknown" ? catalog.reason : undefined;
  if (unwritten === undefined) return;
  if (mode === "upgrade")
    throw new TrawlError(
      "storage",
      `cannot upgrade the catalog ${folders.catalog}: ${unwritten}. Nothing was changed.`,
    );
  log.warn(
    { reason: unwritten },
    "the catalog could not be written to a new file: the current file may still contain deleted data",
  );
}

/**
 * Why a catalog without records cannot be the one that belongs to this data; undefined if it can. After its first
 * start, a daemon has records.
 */
function findLoss(state: StoreState, dataFolder: string, snapshots: CatalogSnapshots): string | undefined {
  if (state.kind === "unknown" || (state.kind === "whole" && state.count > 0)) return undefined;
  if (snapshots.names().length === 0 && readdirSync(join(dataFolder, "mirrors")).length === 0) return undefined;
  return "it is empty, although there are mirrors or snapshots";
}

async function restoreCatalog(folder: string, reason: string, snapshots: CatalogSnapshots, log: Log): Promise<void> {
  const bad: string[] = [];
  for (const name of snapshots.names()) {
    const candidate = `${folder}-restored`;
    if (existsSync(candidate)) await setAside(candidate);
    try {
      await snapshots.restore(name, candidate);
      // The checksum of a snapshot is sufficient even if it is of an earlier version.
      const state = await inspectStore("records", candidate, "upgrade");
      if (state.kind === "damaged") throw new TrawlError("storage", state.reason);
      if (state.kind !== "whole" || state.unwritten !== undefined)
        throw new TrawlError("storage", "it could not be written");
    } catch (error) {
      bad.push(`${name}: ${errorMessage(error)}`);
      continue;
    }
    const movedTo = await setAside(folder);
    renameSync(candidate, folder);
    // If a power loss reverted this, it would also revert everything written from now on.
    await syncToDisk([dirname(folder)]);
    log.error(
      { reason, movedTo, snapshot: name, badSnapshots: bad },
      "the catalog was damaged and has been restored from a snapshot; repositories and accounts added after the snapshot must be added again",
    );
    return;
  }
  throw new TrawlError(
    "storage",
    `the catalog ${folder} is damaged (${reason}), and it has no snapshot that can be restored${bad.length > 0 ? ` (${bad.join("; ")})` : ""}. ` +
      "Nothing was changed. Restore the catalog from a backup, or start with another --data.",
  );
}

/** Renames a folder, durably, so that it can be examined later, and creates an empty one; returns the new name. */
async function setAside(folder: string): Promise<string> {
  const date = new Date().toISOString().replaceAll(/[-:.]/g, "");
  let target = `${folder}-damaged-${date}`;
  for (let i = 1; existsSync(target); i++) target = `${folder}.damaged-${date}-${i}`;
  renameSync(folder, target);
  mkdirSync(folder, { mode: 0o700 });
  await syncToDisk([dirname(folder)]);
  return target;
}

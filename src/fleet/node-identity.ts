import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { rm, unlink } from "node:fs/promises";
import { join } from "node:path";
import { errorMessage, TrawlError } from "../base/errors.js";
import { isObject } from "../base/is-object.js";
import { replaceFile } from "../base/sync-to-disk.js";
import { partitionsMax } from "../catalog/partitions.js";
import type { Timeline } from "../database/timeline.js";

/** Which node a data directory is of: its file `fleet.json`. Made by `trawl fleet join`. */
export interface DirectoryIdentity {
  /** UUIDs. */
  readonly fleet: string;
  readonly node: string;
  readonly name: string;
  /** How many partitions the fleet has; undefined for one. The catalog is loaded before the database answers. */
  readonly partitions?: number | undefined;
  /** The database that it has seen last; undefined before it has started. */
  readonly seen?: Timeline | undefined;
  /** Whether `trawl fleet leave` has begun, and has not ended. */
  readonly isLeaving?: boolean | undefined;
}

function identityPath(dataFolder: string): string {
  return join(dataFolder, "fleet.json");
}

/** Undefined if the directory is of no fleet. Throws `storage` for a file that cannot be read. */
export function readIdentityFile(dataFolder: string): DirectoryIdentity | undefined {
  const path = identityPath(dataFolder);
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new TrawlError("storage", `cannot read ${path}: ${errorMessage(error)}`, { cause: error });
  }
  const identity = value as DirectoryIdentity;
  const isGood =
    isObject(value) &&
    [identity.fleet, identity.node, identity.name].every((text) => typeof text === "string") &&
    isPartitionCount(identity.partitions ?? 1);
  if (!isGood)
    throw new TrawlError("storage", `${path} does not say which node this is: join with an empty data directory`);
  return identity;
}

function isPartitionCount(count: unknown): boolean {
  return typeof count === "number" && Number.isInteger(count) && count >= 1 && count <= partitionsMax;
}

export function writeIdentityFile(dataFolder: string, identity: DirectoryIdentity): Promise<void> {
  return replaceFile(identityPath(dataFolder), `${JSON.stringify(identity, null, 1)}\n`);
}

/**
 * The node that an import makes of a directory (a UUID): the same one until the directory is that node, so that an attempt that was
 * interrupted is known from that of another host. Throws `storage` for a file that cannot be read.
 */
export async function readImportFile(dataFolder: string): Promise<string> {
  const path = importPath(dataFolder);
  let text = "";
  try {
    text = readFileSync(path, "utf8").trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT")
      throw new TrawlError("storage", `cannot read ${path}: ${errorMessage(error)}`, { cause: error });
    const made = randomUUID();
    await replaceFile(path, `${made}\n`);
    return made;
  }
  if (/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)) return text;
  throw new TrawlError("storage", `${path} does not say which node this becomes: delete it, and use an empty database`);
}

export function removeImportFile(dataFolder: string): Promise<void> {
  return rm(importPath(dataFolder), { force: true });
}

function importPath(dataFolder: string): string {
  return join(dataFolder, "fleet-import");
}

export function removeIdentityFile(dataFolder: string): Promise<void> {
  return unlink(identityPath(dataFolder));
}

/**
 * The name of something in the data directory of a new node that joining has not put there; undefined if there is nothing. Hidden files don't
 * count: the directory may be somebody's home.
 */
export function findForeign(dataFolder: string): string | undefined {
  const mayBe = new Set(["fleet.json", "fleet.json.new", "lost+found"]);
  return readdirSync(dataFolder).find((name) => !mayBe.has(name) && !name.startsWith("."));
}

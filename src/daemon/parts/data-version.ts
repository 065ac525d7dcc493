import { readFileSync } from "node:fs";
import { join } from "node:path";
import { TrawlError } from "../../base/errors.js";

/** Version of the data directory as a whole; shards have their own. 1: first. 2: catalog records have checksums. */
export const dataVersion = 2;

/** Versions that are upgraded at startup. */
const olderVersions: readonly number[] = [1];

/** Whether a backup of a directory of this version can be restored. */
export function isReadable(version: number): boolean {
  return version === dataVersion || olderVersions.includes(version);
}

/**
 * Contents of the file while the directory is being upgraded: no other program may mistake it for the previous version.
 */
export const upgradingText = "upgrading\n";

/** Contents of the file while a backup is being restored. */
export const restoringText = "restoring\n";

/**
 * Whether the directory must be upgraded before it is used. Throws `format-version` if this program does not support
 * it. Caller guarantees: its file `version` exists.
 */
export function requireReadable(dataFolder: string): { isOlder: boolean } {
  const text = readFileSync(join(dataFolder, "version"), "latin1").trim();
  const version = /^\d{1,9}$/.test(text) ? Number(text) : undefined;
  if (version === dataVersion) return { isOlder: false };
  if (text === upgradingText.trim() || (version !== undefined && olderVersions.includes(version)))
    return { isOlder: true };
  if (text === restoringText.trim()) {
    throw new TrawlError(
      "format-version",
      `the restore of a backup to ${dataFolder} was not completed: empty the directory, and run \`trawl restore\` again`,
    );
  }
  if (version === undefined) {
    throw new TrawlError(
      "format-version",
      `${join(dataFolder, "version")} is damaged: it should contain ${dataVersion}. If the directory was written by this program, write that number to it.`,
    );
  }
  const writer = version > dataVersion ? "a later program" : "an earlier program";
  throw new TrawlError(
    "format-version",
    `${dataFolder} has data of version ${version}, written by ${writer}, but this program supports ${dataVersion}. Use the program that wrote it, or another --data. Nothing was changed.`,
  );
}

/** Throws `format-version` unless the directory has this version. Caller guarantees: its file `version` exists. */
export function requireDataVersion(dataFolder: string): void {
  if (!requireReadable(dataFolder).isOlder) return;
  throw new TrawlError(
    "format-version",
    `${dataFolder} has data of an earlier version, which the daemon upgrades to ${dataVersion} at startup: start it first. Nothing was changed.`,
  );
}

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { TrawlError } from "../base/errors.js";

/** Version of the data directory as a whole; a shard has its own. 1: first. */
export const dataVersion = 1;

/** What the file holds while a backup is being restored. */
export const restoringText = "restoring\n";

/** Throws `format-version` when this program does not read the directory. Caller guarantees: its file `version` is there. */
export function requireDataVersion(dataFolder: string): void {
  const text = readFileSync(join(dataFolder, "version"), "latin1").trim();
  const version = /^\d{1,9}$/.test(text) ? Number(text) : undefined;
  if (version === dataVersion) return;
  if (text === restoringText.trim()) {
    throw new TrawlError("format-version", `the restore of a backup to ${dataFolder} has not ended: empty the directory, and run \`trawl restore\` again`);
  }
  if (version === undefined) {
    throw new TrawlError("format-version", `${join(dataFolder, "version")} is damaged: it should hold ${dataVersion}. If the directory is one of this program, write that number to it.`);
  }
  const writer = version > dataVersion ? "a later program" : "an earlier program";
  throw new TrawlError("format-version", `${dataFolder} has data of version ${version}, of ${writer}, and this program reads ${dataVersion}. Use the program that wrote it, or another --data. Nothing was changed.`);
}

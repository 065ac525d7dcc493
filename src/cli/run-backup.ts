import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { readManifest, restore, writeMarker } from "../backup/restore.js";
import { TrawlError } from "../base/errors.js";
import { createLog } from "../base/log.js";
import { dataVersion, isReadable, restoringText } from "../daemon/parts/data-version.js";
import { ControlServer } from "../http/server/control-server.js";
import { callDaemon } from "./connection/control-client.js";
import { withProgress } from "./terminal/progress-bar.js";

interface BackupResult {
  readonly shards: number;
  readonly mirrors: number;
  readonly copiedBytes: number;
  readonly excluded: readonly string[];
}

/** Makes the running daemon take a backup. Returns the exit code: 1 if part of the data was left out. */
export async function backup(folder: string, data: string, print: (line: string) => void): Promise<number> {
  const target = resolve(folder);
  const body = { folder: target };
  const result = await withProgress(
    () => undefined,
    (tell) => callDaemon(data, { method: "POST", path: "/backup", body, progress: (line) => tell(String(line)) }),
  );
  const { shards, mirrors, copiedBytes, excluded } = result as BackupResult;
  for (const sentence of excluded) print(`not backed up, a restore rebuilds it: ${sentence}`);
  print(`${target}: ${shards} shards and ${mirrors} mirrors, ${copiedBytes} bytes copied`);
  return excluded.length === 0 ? 0 : 1;
}

/** Creates a data directory from a backup. */
export async function restoreBackup(folder: string, data: string, print: (line: string) => void): Promise<void> {
  const [source, target] = [resolve(folder), resolve(data)];
  const manifest = await readManifest(source);
  if (!isReadable(manifest.dataVersion)) {
    throw new TrawlError(
      "format-version",
      `the backup contains a data directory of version ${manifest.dataVersion}, but this program supports ${dataVersion}: restore it with the program that took it`,
    );
  }
  // Its socket is the lock of the directory.
  const lock = new ControlServer({}, createLog("error"));
  const versionFile = join(target, "version");
  const restored = await restore(
    source,
    target,
    manifest,
    async () => {
      await lock.listen(target);
      await writeMarker(versionFile, restoringText);
    },
    async () => {
      // The first start upgrades an older directory.
      await writeMarker(versionFile, `${manifest.dataVersion}\n`);
    },
  ).finally(() => lock.close());
  const { takenAt, shards, mirrors, bytes } = restored;
  print(`${target}: ${shards} shards and ${mirrors} mirrors, ${bytes} bytes, as they were on ${takenAt}`);
  if (existsSync(join(target, "audit.log")))
    print("The configuration file and the secret files that it names are not part of a backup.");
}

import { readdir, readFile } from "node:fs/promises";
import { errorMessage, TrawlError } from "../base/errors.js";
import type { StopSignal } from "../base/stop-signal.js";
import type { ShardStore } from "../store/shard-store.js";
import type { ContentFiles } from "./content-files.js";
import { parseList, shardPath, type BackupFile, type ManifestEntry, type ShardToCopy } from "./manifest.js";

/** Copies a shard after verifying it. Throws `corrupt-shard` if it is missing, and what `verify` throws. */
export async function copyShard(
  store: ShardStore,
  shard: ShardToCopy,
  files: ContentFiles,
  verify: (bytes: Buffer) => void,
): Promise<BackupFile> {
  const snapshot = store.read();
  let bytes: Buffer | undefined;
  try {
    const found = snapshot.get(shard.id);
    if (found === undefined) throw new TrawlError("corrupt-shard", `shard ${shard.id} is missing from the store`);
    verify(found);
    // The view ends with the snapshot, and writing takes long.
    bytes = Buffer.from(found);
  } finally {
    snapshot.close();
  }
  return await files.addBytes(shardPath(shard), bytes);
}

/** Files of a mirror that never change under their name: those in an earlier backup are reused. */
const immutable = /^objects\/(pack\/pack-[0-9a-f]+\.(pack|idx|rev)|[0-9a-f]{2}\/[0-9a-f]{38}([0-9a-f]{24})?)$/;

/** The other files that belong to the mirror. */
const mutable =
  /^(HEAD|config|packed-refs|shallow|incomplete-source|trusted-source\.config|lfs-state|submodules-state|foreign-commits|working-copy-state|refs\/.*)$/;

/**
 * Copies a mirror, and a list of its files. Caller guarantees: nothing writes to it meanwhile. `earlier` is the list
 * from the previous backup in the same folder.
 */
export async function copyMirror(
  directory: string,
  path: string,
  earlier: ManifestEntry | undefined,
  files: ContentFiles,
  stop: StopSignal,
): Promise<BackupFile> {
  const known = new Map((await readList(earlier, files)).map((file) => [file.path, file]));
  const entries: BackupFile[] = [];
  for (const name of await namesIn(Buffer.from(`${directory}/`), "")) {
    if (!immutable.test(name) && !mutable.test(name)) continue;
    const before = immutable.test(name) ? known.get(`${path}/${name}`) : undefined;
    if (before !== undefined && (await files.has(before))) entries.push(before);
    else
      entries.push(
        await files.addFile(
          `${path}/${name}`,
          Buffer.concat([Buffer.from(`${directory}/`), Buffer.from(name, "latin1")]),
          stop,
        ),
      );
  }
  return await files.addBytes(path, Buffer.from(JSON.stringify(entries)));
}

/** The files in a list; none if it cannot be read, so that all are copied. */
export async function readList(list: ManifestEntry | undefined, files: ContentFiles): Promise<readonly BackupFile[]> {
  if (list === undefined) return [];
  try {
    return parseList(await readFile(files.path(list.sha256), "utf8"), list.path);
  } catch {
    return [];
  }
}

/** Names of all files below the folder, one character per byte, sorted. */
async function namesIn(root: Buffer, prefix: string): Promise<string[]> {
  const entries = await readdir(Buffer.concat([root, Buffer.from(prefix, "latin1")]), {
    withFileTypes: true,
    encoding: "buffer",
  }).catch((error: unknown) => {
    if (prefix === "" && (error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw new TrawlError("storage", `cannot read a mirror: ${errorMessage(error)}`, { cause: error });
  });
  const names: string[] = [];
  for (const entry of entries) {
    const name = prefix + (entry.name as unknown as Buffer).toString("latin1");
    if (entry.isDirectory()) names.push(...(await namesIn(root, `${name}/`)));
    else if (entry.isFile()) names.push(name);
  }
  return names.sort();
}

/** Deletes files that the manifest does not need. */
export async function deleteUnneeded(entries: readonly ManifestEntry[], files: ContentFiles): Promise<void> {
  const wanted = new Set(entries.map(({ sha256 }) => sha256));
  for (const entry of entries) {
    if (entry.kind !== "list") continue;
    for (const { sha256 } of parseList(await readFile(files.path(entry.sha256), "utf8"), entry.path))
      wanted.add(sha256);
  }
  await files.keepOnly(wanted);
}

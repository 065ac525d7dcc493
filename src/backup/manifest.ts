import { TrawlError } from "../base/errors.js";

/** Format of the backup folder. 1: first. */
export const backupFormat = 1;

export const manifestName = "manifest.json";

/** Contains each file of a backup under its checksum. */
export const filesFolder = "files";

/** A file of the data directory in a backup. */
export interface BackupFile {
  /**
   * Relative to the data directory, with slashes, one character per byte. A shard, which is part of a store there, is
   * `shards/ID-CHECKSUM`.
   */
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** `list`: the files of the mirror at that path, as JSON. */
export interface ManifestEntry extends BackupFile {
  readonly kind: "file" | "shard" | "list";
}

/** The contents of a backup. It is written last, when everything that it names is durable. */
export interface Manifest {
  readonly format: number;
  /** Version of the data directory. */
  readonly dataVersion: number;
  /** RFC 3339. */
  readonly takenAt: string;
  readonly entries: readonly ManifestEntry[];
}

/** A shard that the catalog of a backup refers to. */
export interface ShardToCopy {
  readonly id: number;
  readonly checksum?: number;
}

/** The path of a shard in a backup. The checksum distinguishes it from any other shard that had its id. */
export function shardPath({ id, checksum }: ShardToCopy): string {
  return `shards/${id}-${(checksum ?? 0).toString(16).padStart(8, "0")}`;
}

/** Throws `format-version` for another format, and `storage` for an invalid manifest. */
export function parseManifest(text: string): Manifest {
  const value = parsed(text, manifestName);
  if (typeof value !== "object" || value === null || !("format" in value)) throw damaged(manifestName);
  if (value.format !== backupFormat) {
    throw new TrawlError(
      "format-version",
      `the backup has format ${JSON.stringify(value.format)}, but this program supports ${backupFormat}: use the program that wrote it`,
    );
  }
  const { dataVersion, takenAt, entries } = value as Partial<Manifest>;
  if (typeof dataVersion !== "number" || typeof takenAt !== "string" || !Array.isArray(entries))
    throw damaged(manifestName);
  const kinds = ["file", "shard", "list"];
  if (!entries.every((entry: ManifestEntry) => isBackupFile(entry) && kinds.includes(entry.kind)))
    throw damaged(manifestName);
  return { format: backupFormat, dataVersion, takenAt, entries };
}

/** Throws `storage` for an invalid list. */
export function parseList(text: string, path: string): readonly BackupFile[] {
  const files = parsed(text, `the list of ${path}`);
  if (!Array.isArray(files) || !files.every((file) => isBackupFile(file) && file.path.startsWith(`${path}/`)))
    throw damaged(`the list of ${path}`);
  return files as BackupFile[];
}

function parsed(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new TrawlError("storage", `${what} of the backup is damaged: use another backup`, { cause: error });
  }
}

function isBackupFile(file: unknown): file is BackupFile {
  if (typeof file !== "object" || file === null) return false;
  const { path, bytes, sha256 } = file as Partial<BackupFile>;
  return (
    typeof path === "string" &&
    isInside(path) &&
    Number.isSafeInteger(bytes) &&
    (bytes ?? -1) >= 0 &&
    typeof sha256 === "string" &&
    /^[0-9a-f]{64}$/.test(sha256)
  );
}

/** Whether the path stays inside one of the folders of a data directory. */
function isInside(path: string): boolean {
  const [first, ...others] = path.split("/");
  const isPlain =
    [...path].every((character) => character !== "\0" && character <= "\u00ff") &&
    others.every((part) => part !== "" && part !== "." && part !== "..");
  return (
    isPlain &&
    (path === "audit.log" ||
      (["catalog", "shards", "mirrors", "secrets", "connections"].includes(first) && others.length > 0))
  );
}

function damaged(what: string): TrawlError {
  return new TrawlError("storage", `${what} of the backup is damaged: use another backup`);
}

/**
 * Simulates a power loss with the journal of test/faults/layer.c: undoes changes that no fsync has made durable, as a
 * disk and a file system may.
 *
 * Each 4 KiB page of a file is in the state after any number of the writes to it since the last sync, and the file has
 * any of its sizes since then. Names follow one of two models. *Ordered*: all changes of names form one sequence, of
 * which some prefix is on the disk, and any fsync writes all changes before it, as the journals of ext4 and XFS do.
 * *Loose*: each directory has a sequence of its own, which only its own fsync writes; the fsync of a new file writes
 * its name.
 */
import {
  closeSync,
  existsSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";

const kinds = [
  "",
  "write",
  "size",
  "sync",
  "syncRange",
  "create",
  "rename",
  "unlink",
  "link",
  "mkdir",
  "rmdir",
] as const;

interface Entry {
  readonly kind: (typeof kinds)[number];
  readonly inode: number;
  readonly offset: number;
  readonly length: number;
  readonly oldSize: number;
  readonly newSize: number;
  readonly grave: string;
  readonly path: string;
  readonly other: string;
  readonly bytes: Buffer;
}

export type NameModel = "ordered" | "loose";

export interface Losses {
  /** The number of versions of pages, sizes and names that were undone. */
  readonly pages: number;
  readonly sizes: number;
  readonly names: number;
  /** The number of all versions that were not synced. */
  readonly unsynced: number;
}

const pageBytes = 4096;
const headerBytes = 64;

/**
 * Undoes a random part of the changes that were not synced. `keepOf` returns how many of a number of versions are kept.
 * Caller guarantees: no process uses the files.
 */
export function losePower(journal: string, data: string, model: NameModel, keepOf: (count: number) => number): Losses {
  const entries = readJournal(join(journal, "journal"));
  const paths = pathsByInode([data, journal]);
  const { pages, sizes, unsynced } = undoContents(unsyncedContents(entries), paths, keepOf);
  const groups =
    model === "loose"
      ? undurableByFolder(entries, paths)
      : [entries.slice(entries.findLastIndex(({ kind }) => kind === "sync") + 1).filter(isName)];
  const undone = new Set(groups.flatMap((group) => group.slice(keepOf(group.length))));
  for (const entry of entries.filter((entry) => undone.has(entry)).reverse()) attempt(() => undoName(entry, journal));
  return {
    pages,
    sizes,
    names: undone.size,
    unsynced: unsynced + groups.reduce((sum, group) => sum + group.length, 0),
  };
}

function readJournal(path: string): Entry[] {
  const all = readFileSync(path);
  const entries: Entry[] = [];
  for (let at = 0; at + headerBytes <= all.length; ) {
    const [kind = 0, pathBytes = 0, otherBytes = 0, dataBytes = 0] = [0, 4, 8, 12].map((place) =>
      all.readUInt32LE(at + place),
    );
    const numbers = [16, 24, 32, 40, 48, 56].map((place) => all.readBigUInt64LE(at + place));
    const [inode = 0, offset = 0, length = 0, oldSize = 0, newSize = 0] = numbers.map(Number);
    let place = at + headerBytes;
    const take = (count: number): Buffer => all.subarray(place, (place += count));
    const texts = [take(pathBytes).toString(), take(otherBytes).toString()];
    const bytes = take(dataBytes);
    // The daemon may have been killed during the last entry, before its call was complete.
    if (place > all.length) break;
    entries.push({
      kind: kinds[kind] ?? "",
      inode,
      offset,
      length,
      oldSize,
      newSize,
      grave: String(numbers[5]),
      path: texts[0]!,
      other: texts[1]!,
      bytes,
    });
    at = place;
  }
  return entries;
}

function pathsByInode(folders: readonly string[]): Map<number, string> {
  const found = new Map<number, string>();
  for (const folder of folders) {
    found.set(lstatSync(folder).ino, folder);
    for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
      const path = join(entry.parentPath, entry.name);
      // A store probe that outlives the daemon deletes the file it has created.
      const stat = lstatSync(path, { throwIfNoEntry: false });
      if (stat !== undefined) found.set(stat.ino, path);
    }
  }
  return found;
}

/** The contents of part of a page before a write. */
interface Piece {
  readonly offset: number;
  readonly bytes: Buffer;
}

interface Unsynced {
  readonly pages: Map<number, Piece[]>;
  sizes: { readonly from: number; readonly to: number }[];
}

function unsyncedContents(entries: readonly Entry[]): Map<number, Unsynced> {
  const files = new Map<number, Unsynced>();
  for (const entry of entries) {
    // The inode number of a deleted file is reused.
    if (entry.kind === "create" || entry.kind === "mkdir") files.delete(entry.inode);
    let file = files.get(entry.inode);
    if (file === undefined) files.set(entry.inode, (file = { pages: new Map(), sizes: [] }));
    if (entry.kind === "write" || entry.kind === "size") addPieces(file, entry);
    if (entry.kind === "sync") files.delete(entry.inode);
    if (entry.kind === "syncRange") {
      for (const page of pagesOf(entry.offset, entry.length)) file.pages.delete(page);
      file.sizes = [];
    }
  }
  return files;
}

function addPieces(file: Unsynced, { kind, offset, length, oldSize, newSize, bytes }: Entry): void {
  if (oldSize !== newSize) file.sizes.push({ from: oldSize, to: newSize });
  const end = offset + (kind === "write" ? length : bytes.length);
  for (const page of pagesOf(offset, end - offset)) {
    const [from, to] = [Math.max(offset, page * pageBytes), Math.min(end, (page + 1) * pageBytes)];
    const before = Buffer.alloc(to - from);
    // Bytes past the previous end of the file read as zeros.
    bytes.subarray(from - offset, to - offset).copy(before);
    const pieces = file.pages.get(page) ?? [];
    pieces.push({ offset: from, bytes: before });
    file.pages.set(page, pieces);
  }
}

function pagesOf(offset: number, length: number): number[] {
  const first = Math.floor(offset / pageBytes);
  return length === 0
    ? []
    : Array.from({ length: Math.floor((offset + length - 1) / pageBytes) - first + 1 }, (_, i) => first + i);
}

function undoContents(
  files: Map<number, Unsynced>,
  paths: Map<number, string>,
  keepOf: (count: number) => number,
): Omit<Losses, "names"> {
  const losses = { pages: 0, sizes: 0, unsynced: 0 };
  for (const [inode, { pages, sizes }] of files) {
    const path = paths.get(inode);
    // A directory may have taken the inode of a deleted file just before its process was killed.
    if (path === undefined || pages.size + sizes.length === 0 || !lstatSync(path).isFile()) continue;
    const file = openSync(path, "r+");
    for (const pieces of pages.values()) {
      const undone = pieces.slice(keepOf(pieces.length)).reverse();
      for (const { offset, bytes } of undone) writeSync(file, bytes, 0, bytes.length, offset);
      losses.pages += undone.length;
      losses.unsynced += pieces.length;
    }
    const kept = keepOf(sizes.length);
    if (sizes.length > 0) ftruncateSync(file, kept === 0 ? sizes[0]!.from : sizes[kept - 1]!.to);
    losses.sizes += sizes.length - kept;
    losses.unsynced += sizes.length;
    closeSync(file);
  }
  return losses;
}

function isName({ kind }: Entry): boolean {
  return ["create", "rename", "unlink", "link", "mkdir", "rmdir"].includes(kind);
}

const folderOf = ({ path, other }: Entry): string => dirname(other === "" ? path : other);

/** For each directory, the changes of names that were not made durable. */
function undurableByFolder(entries: readonly Entry[], paths: Map<number, string>): Entry[][] {
  const groups = new Map<string, Entry[]>();
  const keepUpTo = (folder: string, last: Entry): void => {
    const group = groups.get(folder) ?? [];
    groups.set(folder, group.slice(group.indexOf(last) + 1));
  };
  for (const entry of entries) {
    if (isName(entry)) groups.set(folderOf(entry), [...(groups.get(folderOf(entry)) ?? []), entry]);
    if (entry.kind !== "sync") continue;
    const folder = paths.get(entry.inode);
    if (folder !== undefined && groups.has(folder)) groups.set(folder, []);
    const made = [...groups.values()].flat().findLast(({ kind, inode }) => kind === "create" && inode === entry.inode);
    if (made === undefined) continue;
    keepUpTo(dirname(made.path), made);
    // The directories of an existing file exist.
    for (let path = dirname(made.path); path !== dirname(path); path = dirname(path)) {
      const folderMade = groups.get(dirname(path))?.findLast((other) => other.kind === "mkdir" && other.path === path);
      if (folderMade !== undefined) keepUpTo(dirname(path), folderMade);
    }
  }
  return [...groups.values()];
}

function undoName({ kind, path, other, grave }: Entry, journal: string): void {
  const buried = grave === "0" ? undefined : join(journal, grave);
  if (kind === "create") unlinkSync(path);
  if (kind === "mkdir")
    attempt(
      () => rmdirSync(path),
      () => rmSync(path, { recursive: true }),
    );
  if (kind === "rmdir") mkdirSync(path);
  if (kind === "link") unlinkSync(other);
  if (kind === "unlink" && buried !== undefined && !existsSync(path)) linkSync(buried, path);
  if (kind === "rename") {
    renameSync(other, path);
    if (buried !== undefined) linkSync(buried, other);
  }
}

/** Runs `act`, or `otherwise` if it fails, which happens if the undo of another change has already had its effect. */
function attempt(act: () => void, otherwise: () => void = () => undefined): void {
  try {
    act();
  } catch {
    otherwise();
  }
}

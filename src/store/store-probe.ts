/**
 * Reads a whole store, and ends with 0 when that was possible. It is started as a process of its own, because LMDB
 * trusts the pages that it maps: a damaged one may end whoever reads it.
 *
 * Arguments: `records` or `shards`, the folder, `look`, `rewrite` or `upgrade`, and the id of the process that waits for
 * the outcome. The latter two modes are for records:
 * they are then written to a new file, which takes the place of the old one. Standard output: `ProbeResult` as a line
 * of JSON.
 */
import { mkdirSync, renameSync, rmSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { ABORT, open, type RootDatabase } from "lmdb";
import { errorMessage } from "../base/errors.js";
import { refusedCode, unfinishedFolder, type ProbeResult } from "./probe-result.js";
import {
  digestKey,
  digestWith,
  emptyDigest,
  sealed,
  sealedDigest,
  unsealed,
  unsealedDigest,
  type Digest,
} from "./record-format.js";
import { syncToDisk } from "../base/sync-to-disk.js";

const { errno } = constants;
const [kind, folder, mode, parentId] = process.argv.slice(2);

/**
 * Values above this size are views over the map: of those the first and the last byte are read, which shows where the
 * file ends.
 */
const viewBytesMin = 16 * 1024 * 1024;

interface ReadRecords {
  readonly count: number;
  /** As they are to be stored, without their digest. */
  readonly stored: ReadonlyMap<string, Buffer>;
  readonly digest: Digest;
}

/**
 * Throws for a record whose checksum is wrong, and when records are missing; `upgrade` takes records of version 1,
 * which have none.
 */
function readRecords(root: RootDatabase<Buffer, string>): ReadRecords {
  const records = root.openDB<Buffer, string>({ name: "records", encoding: "binary" });
  const sum = records.get(digestKey);
  const isSealed = sum !== undefined || mode !== "upgrade";
  const stored = new Map<string, Buffer>();
  let digest = emptyDigest;
  for (const { key, value } of records.getRange()) {
    if (key === digestKey) continue;
    if (isSealed) unsealed(key, value);
    else requireDecodable(key, value);
    const bytes = isSealed ? value : sealed(key, value);
    stored.set(key, bytes);
    digest = digestWith(digest, bytes, 1);
  }
  const expected = sum === undefined ? emptyDigest : unsealedDigest(sum);
  if (isSealed && (digest.count !== expected.count || digest.sum !== expected.sum)) {
    throw new RangeError(`it has ${digest.count} records, and not the ${expected.count} that were written last`);
  }
  return { count: digest.count, stored, digest };
}

/** What is left of a page that was cut or overwritten is seldom JSON. */
function requireDecodable(key: string, value: Buffer): void {
  if (!key.startsWith("tombstones/")) JSON.parse(value.toString());
}

/**
 * Writes the records to a new file, which holds them and nothing of what was deleted or changed before, and puts it in
 * the place of the old one. A crash leaves one or the other.
 */
async function rewrite({ stored, digest }: ReadRecords): Promise<void> {
  const target = join(folder, unfinishedFolder);
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { mode: 0o700 });
  try {
    const root = open<Buffer, string>({ path: target, maxDbs: 2, encoding: "binary" });
    const records = root.openDB<Buffer, string>({ name: "records", encoding: "binary" });
    records.transactionSync(() => {
      for (const [key, bytes] of stored) void records.put(key, bytes);
      if (stored.size > 0) void records.put(digestKey, sealedDigest(digest));
    });
    await root.flushed;
    await root.close();
    await syncToDisk([join(target, "data.mdb")]);
    requireParent();
    renameSync(join(target, "data.mdb"), join(folder, "data.mdb"));
    await syncToDisk([folder]);
  } finally {
    rmSync(target, { recursive: true, force: true });
  }
}

/**
 * Throws when the daemon has died meanwhile: another one may have the store open by now, and would go on writing to a
 * file that has no name any more.
 */
function requireParent(): void {
  if (process.ppid !== Number(parentId)) throw new RangeError("the process that asked for it has ended");
}

function countShards(root: RootDatabase<Buffer, string>): number {
  const shards = root.openDB<Buffer, number>({ name: "shards", encoding: "binary", keyEncoding: "uint32" });
  let count = 0;
  for (const id of shards.getKeys()) {
    const bytes = shards.getBinaryFast(id);
    if (bytes === undefined) throw new RangeError(`shard ${id} has a key and no value`);
    if (bytes.length < viewBytesMin) checksum(bytes);
    else checksum(Buffer.from([bytes[0], bytes[bytes.length - 1]]));
    count++;
  }
  return count;
}

/** Touches every byte. */
function checksum(bytes: Uint8Array): number {
  let sum = 0;
  for (let i = 0; i < bytes.length; i += 64) sum += bytes[i];
  return sum;
}

/**
 * So much is written for a trial: more than most runs of free pages, so that many of LMDB's records of them are read.
 */
const trialBytes = kind === "shards" ? 64 * 1024 * 1024 : 1024 * 1024;

/**
 * Writes to the store as its owner would, and takes it back: LMDB ends the process where its records of free pages are
 * damaged, and nothing else reads them. A store that cannot be opened for writing is none that would end its owner so.
 */
async function tryToWrite(path: string): Promise<void> {
  const writable = openForTrial(path);
  if (writable === undefined) return;
  writable.transactionSync(() => {
    void writable.put("trial", Buffer.alloc(trialBytes));
    return ABORT;
  });
  await writable.close();
}

function openForTrial(path: string): RootDatabase<Buffer, string> | undefined {
  try {
    return open<Buffer, string>({ path, maxDbs: 2, maxReaders: 512, mapSize: 2 ** 40, encoding: "binary" });
  } catch {
    return undefined;
  }
}

/** Returns why the store was not rewritten; undefined when it was, or was not to be. A full disk is no damage. */
async function tryToRewrite(read: ReadRecords | undefined): Promise<string | undefined> {
  try {
    if (read !== undefined && mode !== "look") await rewrite(read);
    return undefined;
  } catch (error) {
    return errorMessage(error);
  }
}

/**
 * After a power loss the newest transaction may have pages that never came to the disk. LMDB then goes back to the last
 * one that was synced, but only where the store is opened for writing and nobody else has it open.
 */
async function goBackToSynced(path: string): Promise<void> {
  await openForTrial(path)?.close();
}

async function probe(): Promise<ProbeResult> {
  await goBackToSynced(folder);
  const root = open<Buffer, string>({ path: folder, maxDbs: 2, maxReaders: 512, encoding: "binary", readOnly: true });
  const read = kind === "records" ? readRecords(root) : undefined;
  const count = read?.count ?? countShards(root);
  await root.close();
  const unwritten = await tryToRewrite(read);
  if (mode === "look" || unwritten !== undefined) await tryToWrite(folder);
  return { count, unwritten };
}

/** What the system says when it is not the store that is at fault. */
const refusals = ["EACCES", "EPERM", "EMFILE", "ENFILE", "ENOMEM", "ENOSPC", "EDQUOT", "EROFS"] as const;

/** Node gives the name of a system error, and LMDB its number. */
function isRefusal(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return refusals.some((name) => code === name || code === errno[name]);
}

try {
  process.stdout.write(`${JSON.stringify(await probe())}\n`);
} catch (error) {
  process.stderr.write(`${errorMessage(error)}\n`);
  process.exitCode = isRefusal(error) ? refusedCode : 1;
}

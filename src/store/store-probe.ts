/**
 * Reads a whole store, and ends with 0 when that was possible. It is started as a process of its own, because LMDB trusts the pages
 * that it maps: a damaged one may end whoever reads it.
 *
 * Arguments: `records` or `shards`, and the folder. Standard output: the number of values as a line of JSON.
 */
import { ABORT, open, type RootDatabase } from "lmdb";

const [kind, folder] = process.argv.slice(2);

/** Values above this size are views over the map: of those the first and the last byte are read, which shows where the file ends. */
const viewBytesMin = 16 * 1024 * 1024;

/** Keys of the records that are not JSON. */
const binaryPrefix = "tombstones/";

function countRecords(root: RootDatabase<Buffer, string>): number {
  let count = 0;
  for (const { key, value } of root.openDB<Buffer, string>({ name: "records", encoding: "binary" }).getRange()) {
    // LMDB has no checksums: what is left of a page that was cut or overwritten is seldom JSON.
    if (!key.startsWith(binaryPrefix)) JSON.parse(value.toString());
    count++;
  }
  return count;
}

function countShards(root: RootDatabase<Buffer, string>): number {
  const shards = root.openDB<Buffer, number>({ name: "shards", encoding: "binary", keyEncoding: "uint32" });
  let count = 0;
  for (const id of shards.getKeys()) {
    const bytes = shards.getBinaryFast(id);
    if (bytes === undefined) throw new RangeError(`shard ${id} has a key and no value`);
    if (bytes.length < viewBytesMin) sumOf(bytes);
    else sumOf(Buffer.from([bytes[0], bytes[bytes.length - 1]]));
    count++;
  }
  return count;
}

/** Touches every byte. */
function sumOf(bytes: Uint8Array): number {
  let sum = 0;
  for (let i = 0; i < bytes.length; i += 64) sum += bytes[i];
  return sum;
}

/** So much is written for a trial: more than most runs of free pages, so that many of LMDB's records of them are read. */
const trialBytes = kind === "shards" ? 64 * 1024 * 1024 : 1024 * 1024;

/**
 * Writes to the store as its owner would, and takes it back: LMDB ends the process where its records of free pages are damaged, and
 * nothing else reads them. A store that cannot be opened for writing is none that would end its owner so.
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

const root = open<Buffer, string>({ path: folder, maxDbs: 2, maxReaders: 512, encoding: "binary", readOnly: true });
const count = kind === "shards" ? countShards(root) : countRecords(root);
await root.close();
await tryToWrite(folder);
process.stdout.write(`${JSON.stringify({ count })}\n`);

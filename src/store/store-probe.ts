/**
 * Reads a whole store, and ends with 0 when that was possible. It is started as a process of its own, because LMDB trusts the pages
 * that it maps: a damaged one may end whoever reads it.
 *
 * Arguments: `records` or `shards`, and the folder. Standard output: the number of values as a line of JSON.
 */
import { open, type RootDatabase } from "lmdb";

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

const root = open<Buffer, string>({ path: folder, maxDbs: 2, maxReaders: 512, encoding: "binary", readOnly: true });
process.stdout.write(`${JSON.stringify({ count: kind === "shards" ? countShards(root) : countRecords(root) })}\n`);
await root.close();

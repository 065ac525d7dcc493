/** A shard store beyond a TiB: a sparse file, because LMDB adds pages after the last one of which its head knows. */
import { closeSync, ftruncateSync, openSync, readFileSync, readSync, statfsSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { ShardStore, shardMapBytes } from "../../../src/store/shard-store.js";

const pageBytes = 4096;

/** Where LMDB's two heads have the number of the last page; the number of the transaction follows. */
const lastPageAt = [144, pageBytes + 144] as const;

/** Makes the file `pageCount` pages long, and tells LMDB that they are in use. */
function extendFile(file: string, pageCount: bigint): boolean {
  const descriptor = openSync(file, "r+");
  const word = Buffer.alloc(8);
  try {
    ftruncateSync(descriptor, Number(pageCount) * pageBytes);
    for (const at of lastPageAt) {
      readSync(descriptor, word, 0, 8, at);
      if (word.readBigUInt64LE() * BigInt(pageBytes) > 10_000_000n) throw new Error("LMDB has its last page elsewhere");
      word.writeBigUInt64LE(pageCount - 1n);
      writeSync(descriptor, word, 0, 8, at);
    }
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EFBIG") return false;
    throw error;
  } finally {
    closeSync(descriptor);
  }
}

/** The lengths of this process' maps of the file. */
function mapsOf(file: string): number[] {
  const lines = readFileSync("/proc/self/maps", "latin1").split("\n");
  return lines.flatMap((line) => {
    const [, from = "", to = ""] = /^([0-9a-f]+)-([0-9a-f]+) /.exec(line) ?? [];
    return line.endsWith(file) ? [Number(BigInt(`0x${to}`) - BigInt(`0x${from}`))] : [];
  });
}

t.test("values are beyond a TiB, and the map has room for more", async (t) => {
  const folder = join(t.testdir({ shards: {} }), "shards");
  const file = join(folder, "data.mdb");
  const first = new ShardStore(folder);
  await first.put([{ id: 1, bytes: Buffer.from("first") }]);
  await first.close();
  const { blocks, bsize } = statfsSync(folder);
  t.ok(shardMapBytes(folder) >= Math.min(2 ** 46, 2 * blocks * bsize), "twice the disk");
  t.ok(shardMapBytes(folder) >= 2 ** 40);
  t.equal(shardMapBytes(join(folder, "none")), 2 ** 40, "of a folder that does not exist");
  if (!extendFile(file, 2n ** 28n + 1n)) return t.comment("the file system has no files of a TiB");

  for (const round of [2, 3]) {
    const store = new ShardStore(folder);
    const maps = mapsOf(file);
    t.ok(maps.reduce((sum, bytes) => sum + bytes, 0) >= 2 ** 41, "the map has room");
    await store.put([{ id: round, bytes: Buffer.alloc(1_000_000, round) }]);
    await store.putSymbols([{ id: round, bytes: Buffer.from([round]) }]);
    const snapshot = store.read();
    t.equal(snapshot.get(1)?.toString(), "first");
    for (let id = 2; id <= round; id++) t.ok(snapshot.get(id)?.equals(Buffer.alloc(1_000_000, id)));
    snapshot.close();
    t.same(store.ids(), [1, 2, 3].slice(0, round));
    t.equal(store.guard.damage(), undefined);
    t.same(mapsOf(file), maps, "it was not mapped again");
    await store.close();
  }
  const { size, blocks: used } = statSync(file);
  t.ok(size > 2 ** 40 + 1_000_000);
  t.ok(used * 512 < 100_000_000, "with holes");
});

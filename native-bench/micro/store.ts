import { closeSync, fdatasyncSync, mkdirSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { open as openEnvironment, type Transaction } from "lmdb";
import { resultWhileYielding } from "../../src/base/yielding.js";
import { Catalog } from "../../src/catalog/catalog.js";
import { ShardReader } from "../../src/shard/shard-reader.js";
import { RecordStore } from "../../src/store/record-store.js";
import { ShardStore } from "../../src/store/shard-store.js";
import { timed, timedAsync, type BenchGroup, type MicroBench, type Subject } from "./bench.js";
import { buildShard, type Fixture } from "./fixture.js";
import { firstDocuments } from "./text.js";

/** The number of shards of 256 MB of text; each is just large enough to be read without a copy. */
const shardCount = 4;
const shardBytes = 16 * 1024 * 1024 + 1;

/** Snapshots per trial. */
const snapshotCount = 200;

const commitCount = 5;
const pageBytes = 4096;

/** Reading shards through LMDB's map: our store beside the library's own calls. */
export async function storeGroup(fixture: Fixture): Promise<BenchGroup> {
  const folder = join(fixture.workFolder, "views");
  const store = new ShardStore(folder);
  const ids = Array.from({ length: shardCount }, (_, i) => i + 1);
  await store.put(ids.map((id) => ({ id, bytes: Buffer.alloc(shardBytes, id) })));
  const raw = openEnvironment<Buffer, number>({
    path: folder,
    mapSize: 2 ** 40,
    maxDbs: 2,
    maxReaders: 512,
    encoding: "binary",
  });
  const shards = raw.openDB<Buffer, number>({ name: "shards", encoding: "binary", keyEncoding: "uint32" });
  const read = (id: number, transaction: Transaction): Buffer | undefined =>
    (shards.getBinaryFast as (id: number, options: { transaction: Transaction }) => Buffer | undefined).call(
      shards,
      id,
      { transaction },
    );
  const benches: MicroBench[] = [
    {
      task: `snapshot with views of ${shardCount} shards`,
      unit: "snapshots",
      subjects: [
        snapshots("trawl", () => {
          const snapshot = store.read();
          const sum = ids.reduce((total, id) => total + (snapshot.get(id)?.[0] ?? 0), 0);
          snapshot.close();
          return sum;
        }),
        snapshots("lmdb", () => {
          const transaction = shards.useReadTransaction();
          const sum = ids.reduce((total, id) => total + (read(id, transaction)?.[0] ?? 0), 0);
          transaction.done();
          return sum;
        }),
      ],
    },
    {
      task: "shard opened (header and bounds)",
      unit: "shards",
      subjects: [openings(buildShard(fixture.kernels[0], fixture.text.documents.slice(0, 1)))],
    },
  ];
  const close = async (): Promise<void> => {
    await raw.close();
    await store.close();
  };
  return { title: "Views of shards in LMDB", benches, close };
}

/** `take` opens a snapshot, reads every shard and closes it. */
function snapshots(name: string, take: () => number): Subject {
  return { name, result: () => String(take()), run: () => timed(() => repeat(take)) };
}

function openings(shard: Buffer): Subject {
  const open = (): number => new ShardReader(1, shard).documentCount;
  return { name: "trawl", result: undefined, run: () => timed(() => repeat(open)) };
}

function repeat(work: () => number): number {
  for (let i = 0; i < snapshotCount; i++) work();
  return snapshotCount;
}

/**
 * Writes that must be on the disk before the daemon continues, beside writing a page, or as many bytes, to a file and
 * waiting for the disk.
 */
export async function durableGroup(fixture: Fixture): Promise<BenchGroup> {
  const records = new RecordStore(folderIn(fixture, "catalog"));
  const catalog = new Catalog(records);
  await resultWhileYielding(catalog.load());
  const store = new ShardStore(folderIn(fixture, "shards"));
  const file = openSync(join(fixture.workFolder, "file"), "w");
  const shard = buildShard(fixture.kernels[0], firstDocuments(fixture.text.documents));
  const megabytes = shard.length / 1e6;
  const writeShard = async (): Promise<number> => {
    await store.put([{ id: 1, bytes: shard }]);
    return megabytes;
  };
  const benches: MicroBench[] = [
    {
      task: "writing a repository's new state",
      unit: "commits",
      subjects: [catalogCommits(catalog), fileWrites(file, Buffer.alloc(pageBytes), 1)],
    },
    {
      task: "writing a shard, half full",
      unit: "MB",
      subjects: [
        { name: "trawl", result: undefined, run: () => timedAsync(writeShard) },
        fileWrites(file, shard, megabytes),
      ],
    },
  ];
  const close = async (): Promise<void> => {
    closeSync(file);
    await records.close();
    await store.close();
  };
  return { title: "Durable writes", benches, close };
}

function folderIn(fixture: Fixture, name: string): string {
  const folder = join(fixture.workFolder, name);
  mkdirSync(folder, { recursive: true });
  return folder;
}

function catalogCommits(catalog: Catalog): Subject {
  const repository = catalog.newRepository(
    {
      name: "bench",
      url: "https://localhost/bench.git",
      credential: "",
      branches: [],
      fork: false,
      archived: false,
      private: false,
      readers: [],
      stars: 0,
      description: "",
      topics: [],
      metadata: {},
      intervalSeconds: 0,
    },
    false,
  );
  let generation = 0;
  return {
    name: "trawl",
    result: undefined,
    run: () =>
      timedAsync(async () => {
        for (let i = 0; i < commitCount; i++)
          await catalog.commit(() => ({ repositories: [{ ...repository, generation: ++generation }] }));
        return commitCount;
      }),
  };
}

function fileWrites(file: number, bytes: Buffer, amount: number): Subject {
  const write = (): number => {
    writeSync(file, bytes, 0, bytes.length, 0);
    fdatasyncSync(file);
    return amount;
  };
  return { name: "file", result: undefined, run: () => timed(write) };
}

/**
 * A process with an open store that executes the command in each line of its input, and responds with a line: see
 * StoreProcess. Arguments: the kind of store, and its folder.
 */
import { createInterface } from "node:readline";
import { open } from "lmdb";
import { RecordStore } from "../../src/store/record-store.js";
import { ShardStore } from "../../src/store/shard-store.js";

const [kind, folder = ""] = process.argv.slice(2);
const value = Buffer.alloc(20_000, "v");

/** Read transactions that stay open until the process ends. */
const held: unknown[] = [];

interface Store {
  put(id: number): Promise<void>;
  has(id: number): boolean;
  hold(): string;
}

function openShards(): Store {
  const store = new ShardStore(folder);
  return {
    put: (id) => store.put([{ id, bytes: value }]),
    has: (id) => {
      const snapshot = store.read();
      const isThere = snapshot.get(id) !== undefined;
      snapshot.close();
      return isThere;
    },
    hold: () => {
      held.push(store.read());
      return "held";
    },
  };
}

function openRecords(): Store {
  const store = new RecordStore(folder);
  return {
    put: (id) => store.apply([{ key: String(id), value }]),
    has: (id) => store.get(String(id)) !== undefined,
    hold: () => "nothing",
  };
}

const store = kind === "shards" ? openShards() : openRecords();
const answer = (text: string): void => void process.stdout.write(`${text}\n`);
answer("open");
/** Ids of the processes that have reader slots, excluding this one. */
function otherReaders(): string {
  const rows = open({ path: folder })
    .readerList()
    .split("\n")
    .slice(1)
    .map((row) => row.trim().split(/ +/)[0]);
  return [...new Set(rows)]
    .filter((pid) => pid !== undefined && /^\d+$/.test(pid) && Number(pid) !== process.pid)
    .join(" ");
}

async function write(id: number): Promise<string> {
  const outcome = await store.put(id).then(
    () => "written",
    (error: unknown) => (error instanceof Error && "code" in error ? String(error.code) : String(error)),
  );
  return outcome === "store-lost" ? outcome : `${outcome} ${store.has(id)}`;
}

for await (const line of createInterface({ input: process.stdin })) {
  if (line === "readers") answer(otherReaders());
  else if (line === "hold") answer(store.hold());
  else answer(await write(Number(line)));
}

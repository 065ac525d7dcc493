/** A process that writes to a store, one value for each line that it reads, and says what came of it. Arguments: which store, and its folder. */
import { createInterface } from "node:readline";
import { RecordStore } from "../../src/store/record-store.js";
import { ShardStore } from "../../src/store/shard-store.js";

const [kind, folder = ""] = process.argv.slice(2);
const value = Buffer.alloc(20_000, "v");

interface Store {
  put(id: number): Promise<void>;
  has(id: number): boolean;
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
  };
}

function openRecords(): Store {
  const store = new RecordStore(folder);
  return { put: (id) => store.apply([{ key: String(id), value }]), has: (id) => store.get(String(id)) !== undefined };
}

const store = kind === "shards" ? openShards() : openRecords();
const answer = (text: string): void => void process.stdout.write(`${text}\n`);
answer("open");
for await (const line of createInterface({ input: process.stdin })) {
  const id = Number(line);
  const outcome = await store.put(id).then(() => "written", (error: unknown) => (error instanceof Error && "code" in error ? String(error.code) : String(error)));
  answer(outcome === "store-lost" ? outcome : `${outcome} ${store.has(id)}`);
}

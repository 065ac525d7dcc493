/** Symbols of a daemon's shards: when they are extracted, copied and extracted again. */
import { join } from "node:path";
import t, { type Test } from "tap";
import { ShardReader } from "../../src/shard/shard-reader.js";
import { SymbolReader } from "../../src/shard/symbols/symbol-reader.js";
import { ShardStore } from "../../src/store/shard-store.js";
import { dataDirectory, testDaemon, withSymbols, type DaemonProcess } from "../support/daemon.js";
import { fixture } from "../support/git-mirror.js";
import { until } from "../support/waiting.js";

/** The names of all symbols in the store, as its shards have them. */
async function storedSymbols(daemon: DaemonProcess): Promise<string[]> {
  const store = new ShardStore(join(daemon.data, "shards"));
  const names: string[] = [];
  for (const id of store.ids()) {
    const snapshot = store.read();
    const value = snapshot.symbols(id);
    const bytes = Buffer.from(snapshot.get(id) ?? Buffer.alloc(0));
    snapshot.close();
    if (value === undefined) continue;
    const shard = new ShardReader(id, bytes);
    const reader = new SymbolReader(shard, value);
    reader.verify();
    for (let part = 0; part < reader.parts.count; part++) names.push(...reader.read(part).names);
  }
  await store.close();
  return names.sort();
}

const hasSymbols = (daemon: DaemonProcess): Promise<void> =>
  until("all shards have symbols", async () => (await daemon.metric("trawl_index_shards_without_symbols")) === 0);

const start = (t: Test, data: string, ...options: readonly string[]): Promise<DaemonProcess> =>
  testDaemon(t, [...withSymbols, ...["index.historyBytes=0", ...options].flatMap((option) => ["--set", option])], data);

t.test(
  "symbols can be switched off, and need ctags; they follow the commits, and come back when they are lost",
  async (t) => {
    const source = fixture(t);
    source.commit({ branch: "main", files: { "a.c": "int first(void) { return 0; }\n", "b.md": "# no symbol\n" } });
    const data = dataDirectory(t);
    const without = await start(t, data, "index.symbols=false");
    await without.add("code", source.path);
    await without.sync("code");
    t.equal(await without.metric("trawl_index_shards_without_symbols"), 1);
    t.same(await storedSymbols(without), []);
    await without.stop();

    const missing = await start(t, data, "index.ctagsCommand=/nonexistent/ctags");
    const answer = await missing.search("first");
    t.same(answer.found, ["code:a.c:1"], JSON.stringify(answer));
    await until("the log tells it", () =>
      missing.log.some(({ msg }) => /symbols are not indexed: .* is not installed/.test(String(msg))),
    );
    t.equal(await missing.metric("trawl_index_shards_without_symbols"), 1);
    await missing.stop();

    const daemon = await start(t, data);
    await hasSymbols(daemon);
    t.same(await storedSymbols(daemon), ["first"], "they come when it is installed");
    source.commit({ branch: "main", files: { "b.py": "def second(): pass\n" } });
    await daemon.sync("code");
    await hasSymbols(daemon);
    t.equal(await daemon.metric("trawl_index_symbols"), 2);
    const before = await storedSymbols(daemon);
    t.same(before, ["first", "second"]);
    await daemon.stop();

    const store = new ShardStore(join(data, "shards"));
    for (const id of store.ids()) {
      const snapshot = store.read();
      const hasSymbols = snapshot.symbols(id) !== undefined;
      snapshot.close();
      if (hasSymbols) await store.putSymbols([{ id, bytes: Buffer.from("damaged") }]);
    }
    await store.close();
    const again = await start(t, data);
    await until("the damage is found", () => again.log.some(({ msg }) => String(msg).includes("missing or damaged")));
    const restored = (): Promise<string[]> => storedSymbols(again).catch(() => []);
    await until("the symbols are back", async () => (await restored()).length === before.length);
    t.same(await restored(), before);
  },
);

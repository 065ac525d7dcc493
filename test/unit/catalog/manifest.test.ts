/** The contract of `Manifest` for the catalog, which is the manifest of a single host; and flips as texts. */
import { join } from "node:path";
import t, { type Test } from "tap";
import { resultAtOnce } from "../../../src/base/yielding.js";
import { Catalog } from "../../../src/catalog/catalog.js";
import { decodeChange, encodeChange, parseFlip } from "../../../src/catalog/flip-format.js";
import { RecordStore } from "../../../src/store/record-store.js";
import type { Records } from "../../../src/store/records.js";
import { testRepository } from "../../support/engine.js";
import {
  type ManifestSite,
  printCatalog,
  randomChange,
  testManifest,
  testShardName,
  testShardRecord,
} from "../../support/manifest-contract.js";
import { MemoryRecords } from "../../support/memory-records.js";
import { randomFrom } from "../../support/random.js";

function siteOver(records: Records, next: () => Promise<Records>): ManifestSite {
  const catalog = new Catalog(records);
  resultAtOnce(catalog.load());
  return { catalog, manifest: catalog, reopened: async () => siteOver(await next(), next) };
}

testManifest(t, "LMDB", async (t: Test) => {
  const folder = join(t.testdir({}), "catalog");
  let store = new RecordStore(folder);
  t.teardown(() => store.close());
  return siteOver(store, async () => {
    await store.close();
    store = new RecordStore(folder);
    return store;
  });
});

testManifest(t, "memory", async () => {
  const records = new MemoryRecords();
  return siteOver(records, () => Promise.resolve(records));
});

/** A catalog that makes the flips of another one from their texts, and gives its shards numbers of its own. */
class Follower {
  readonly catalog = new Catalog(new MemoryRecords());
  readonly #ids = new Map<string, number>();
  #nextId = 5_000;

  async follow(text: string, version: number): Promise<void> {
    const ids = {
      find: (name: string) => this.#ids.get(name),
      take: (name: string) => {
        this.#ids.set(name, this.#nextId++);
        return this.#nextId - 1;
      },
    };
    await this.catalog.follow(() => resultAtOnce(decodeChange(resultAtOnce(parseFlip(text)), ids)), {
      version,
      flipId: `flip ${version}`,
    });
  }
}

t.test("another host that makes the same flips from their texts has the same", async (t) => {
  const catalog = new Catalog(new MemoryRecords());
  const follower = new Follower();
  const random = randomFrom(37);
  for (let i = 0; i < 300; i++) {
    const texts: string[] = [];
    await catalog.flip(
      () => randomChange(catalog, random),
      async ({ change }) => {
        const added = [...(change.addedShards ?? []), ...(change.addedHistory ?? [])];
        const find = (id: number) =>
          catalog.shard(id)?.record ?? catalog.historyShard(id) ?? added.find((one) => one.id === id);
        texts.push(resultAtOnce(encodeChange(change, (id) => testShardName(find(id) ?? {}))));
        await Promise.resolve();
      },
    );
    for (const text of texts) t.strictSame(resultAtOnce(parseFlip(text)), JSON.parse(text));
    for (const text of texts) await follower.follow(text, catalog.position.version);
    if (printCatalog(catalog).join() !== printCatalog(follower.catalog).join())
      t.strictSame(printCatalog(follower.catalog), printCatalog(catalog), `change ${i}`);
  }
  t.ok(catalog.position.version > 150);
  t.equal(follower.catalog.position.version, catalog.position.version);
});

t.test("a flip that is refused elsewhere changes nothing here", async (t) => {
  const catalog = new Catalog(new MemoryRecords());
  const [repository] = [catalog.newRepository(testRepository(0, "host/a"), false)];
  const refused = catalog.flip(
    () => ({ repositories: [repository], addedShards: [testShardRecord(1, [repository.id])] }),
    () => Promise.reject(new RangeError("refused")),
  );
  await t.rejects(refused, /refused/);
  t.strictSame(printCatalog(catalog), []);
  t.strictSame(catalog.position, { version: 0, flipId: "" });
});

t.test("texts that are no change are refused, and shards that are not here are left out", async (t) => {
  const nowhere = { find: () => undefined, take: () => 1 };
  for (const value of [
    null,
    [],
    "x",
    { shards: [] },
    { repositories: {} },
    { repositories: [1] },
    { addedShards: [["", {}]] },
    { addedShards: [["a"]] },
    { addedShards: [["a", null]] },
    { removedShards: [1] },
    { removedRepositories: ["1"] },
  ])
    t.throws(() => resultAtOnce(decodeChange(value, nowhere)), { code: "storage" }, JSON.stringify(value));
  const here = { find: () => 7, take: () => 1 };
  for (const value of [{ tombstones: [["a", [-1]]] }, { tombstones: [["a", 1]] }, { symbols: [["a", 1]] }])
    t.throws(() => resultAtOnce(decodeChange(value, here)), { code: "storage" }, JSON.stringify(value));
  const { tombstones, removedShardIds } = resultAtOnce(
    decodeChange({ tombstones: [["a", [1]]], removedShards: ["b"] }, nowhere),
  );
  t.strictSame([tombstones?.size, removedShardIds], [0, []]);
});

t.test("a text is read in steps, and one that is cut or has more is refused", (t) => {
  const change = {
    repositories: Array.from({ length: 300 }, (_, id) => testRepository(id, `host/${id}`)),
    removedRepositoryIds: [7],
  };
  const text = resultAtOnce(encodeChange(change, String));
  t.ok([...parseFlip(text)].length >= 300, "a step for each repository");
  t.strictSame(resultAtOnce(parseFlip("{}")), {});
  const lines = text.split("\n");
  for (const cut of [0, 1, 2, lines.length - 2, lines.length - 1])
    t.throws(() => resultAtOnce(parseFlip(lines.slice(0, cut).join("\n"))), { code: "storage" }, `${cut} lines`);
  for (const more of ["", "{}", "]}"]) t.throws(() => resultAtOnce(parseFlip(`${text}\n${more}`)), { code: "storage" });
  t.throws(() => resultAtOnce(parseFlip('{"soon":[\n]}')), { message: /soon, which this version of Trawl/ });
  t.end();
});

/** A merge keeps every living document, drops the others, and copies no damage. */
import { join } from "node:path";
import t, { type Test } from "tap";
import { setBit } from "../../../src/base/bits.js";
import { compact, type CompactSource } from "../../../src/indexer/compact.js";
import { ShardOutput } from "../../../src/indexer/shard-output.js";
import type { SkipReason } from "../../../src/model/skip-reason.js";
import { loadKernel } from "../../../src/native/kernel/load.js";
import { unpackLanguage, unpackSkipCode } from "../../../src/shard/format.js";
import { findParts } from "../../../src/shard/symbols/parts.js";
import { SymbolBuilder } from "../../../src/shard/symbols/symbol-builder.js";
import { SymbolReader } from "../../../src/shard/symbols/symbol-reader.js";
import { ShardReader } from "../../../src/shard/shard-reader.js";
import { ShardStore } from "../../../src/store/shard-store.js";

const kernel = loadKernel("ts");

interface Given {
  readonly repositoryId: number;
  readonly path: string;
  readonly content: string;
  readonly branchMask?: number;
  readonly language?: string;
  readonly skipReason?: SkipReason;
  /** One hexadecimal digit, which is repeated. By default that of the content's length. */
  readonly oid?: string;
}

const oidFor = ({ oid, content }: Given): string => (oid ?? (content.length % 16).toString(16)).repeat(40);

interface Scene {
  readonly store: ShardStore;
  readonly shardIds: Int32Array;
  /** Builds and stores a shard. */
  add(documents: readonly Given[]): Promise<CompactSource>;
  /** Merges, and returns the documents of the new shards. */
  /** One list for each shard that was written. */
  mergeGroups(
    sources: readonly CompactSource[],
    groups: readonly (readonly number[])[],
    stop?: () => boolean,
  ): Promise<string[][]>;
  /** All repositories together. */
  merge(sources: readonly CompactSource[], stop?: () => boolean): Promise<string[]>;
}

/** Symbols for each content of a shard: its first word, or a failure if it is `bad`. */
async function addSymbols(store: ShardStore, id: number): Promise<void> {
  const snapshot = store.read();
  const reader = new ShardReader(id, Buffer.from(snapshot.get(id) ?? Buffer.alloc(0)));
  snapshot.close();
  const builder = new SymbolBuilder(kernel);
  for (const content of findParts(reader).contents) {
    const text = reader.content.subarray(reader.contentStart[content], reader.contentStart[content + 1]).toString();
    const [name] = text.split(/\s/, 1);
    if (name === "bad") builder.add("crash", undefined);
    else builder.add("extracted", { names: [name], lines: [1], offsets: [0], kinds: [`k${id}`], containers: [""] });
  }
  await store.putSymbols([{ id, bytes: builder.build(reader, "test").bytes }]);
}

/** The symbols of a stored shard; "" for a content without. */
function symbolsOf(store: ShardStore, id: number): string[] | undefined {
  const snapshot = store.read();
  const value = snapshot.symbols(id);
  const shard = new ShardReader(id, Buffer.from(snapshot.get(id) ?? Buffer.alloc(0)));
  snapshot.close();
  if (value === undefined) return undefined;
  const reader = new SymbolReader(shard, value);
  return [...reader.parts.contents.keys()].map((part) => {
    const { names, kinds } = reader.read(part);
    return names.map((name, i) => `${kinds[i]} ${name}`).join();
  });
}

function makeScene(t: Test): Scene {
  const store = new ShardStore(join(t.testdir({ shards: {} }), "shards"));
  t.teardown(() => store.close());
  const shardIds = new Int32Array(new SharedArrayBuffer(4)).fill(1);
  const sink = {
    put: (shards: Parameters<ShardStore["put"]>[0]) => store.put(shards),
    putSymbols: (symbols: Parameters<ShardStore["put"]>[0]) => store.putSymbols(symbols),
    onBuild: () => undefined,
  };
  const scene: Scene = {
    store,
    shardIds,
    async add(documents) {
      const output = new ShardOutput(kernel, sink, shardIds);
      for (const given of documents) {
        const { repositoryId, branchMask = 1, language = "", skipReason = "none" } = given;
        const oid = oidFor(given);
        const document = { repositoryId, path: Buffer.from(given.path), branchMask, oid, language, skipReason };
        if (skipReason === "none")
          output.addDocument(await output.addContent(oid, Buffer.from(given.content)), document);
        else output.addSkipped(document);
      }
      await output.flush();
      const [{ id, checksum, repositoryIds }] = output.records;
      return { id, checksum, repositoryIds, tombstones: undefined, hasSymbols: false };
    },
    async mergeGroups(sources, groups, stop = () => false) {
      const output = new ShardOutput(kernel, sink, shardIds);
      const snapshot = store.read();
      try {
        await compact(sources, groups, snapshot, output, stop);
      } finally {
        snapshot.close();
      }
      return output.records.map(({ id }) => describe(store, id));
    },
    async merge(sources, stop) {
      const all = sources.flatMap(({ repositoryIds }) => repositoryIds);
      return (await scene.mergeGroups(sources, [all], stop)).flat();
    },
  };
  return scene;
}

/** `repository:path mask language reason content` for each document of a stored shard, sorted. */
function describe(store: ShardStore, id: number): string[] {
  const snapshot = store.read();
  const reader = new ShardReader(id, snapshot.get(id) ?? Buffer.alloc(0));
  reader.verify("index");
  reader.verify("content");
  const documents = Array.from({ length: reader.documentCount }, (_, document) => {
    const content = reader.contentId(document);
    const [from = 0, to = from] = reader.contentStart.subarray(content, content + 2);
    const info = reader.documentInfo[document]!;
    return [
      `${reader.repositories[reader.documentRepository[document]!]}:${reader.path(document).toString()}`,
      reader.documentBranches[document],
      reader.languages()[unpackLanguage(info)],
      unpackSkipCode(info),
      content < reader.contentCount ? reader.content.toString("utf8", from, to) : "-",
    ].join(" ");
  });
  documents.push(`${reader.contentCount} contents`);
  snapshot.close();
  return documents.sort();
}

function dead(documentCount: number, ...documents: readonly number[]): Uint32Array {
  const words = new Uint32Array(Math.ceil(documentCount / 32));
  for (const document of documents) setBit(words, document);
  return words;
}

t.test("all documents of the shards are in the merged one, and a shared content once", async (t) => {
  const { add, merge } = makeScene(t);
  const first = await add([
    { repositoryId: 1, path: "a.go", content: "one", branchMask: 3, language: "Go" },
    { repositoryId: 1, path: "copy.go", content: "one", language: "Go" },
    { repositoryId: 2, path: "link", content: "", skipReason: "not-regular", oid: "e" },
  ]);
  const second = await add([
    { repositoryId: 3, path: "b", content: "one" },
    { repositoryId: 3, path: "c", content: "twelve" },
    { repositoryId: 3, path: "empty", content: "" },
  ]);
  t.same(await merge([first, second]), [
    "1:a.go 3 Go 0 one",
    "1:copy.go 1 Go 0 one",
    "2:link 1  4 -",
    "3 contents",
    "3:b 1  0 one",
    "3:c 1  0 twelve",
    "3:empty 1  0 ",
  ]);
});

t.test("each group of repositories gets shards of its own, even of a shared content", async (t) => {
  const { add, mergeGroups } = makeScene(t);
  const first = await add([
    { repositoryId: 1, path: "a", content: "one" },
    { repositoryId: 2, path: "b", content: "one" },
    { repositoryId: 2, path: "c", content: "secret" },
    { repositoryId: 3, path: "d", content: "three" },
  ]);
  const second = await add([{ repositoryId: 2, path: "e", content: "", skipReason: "not-regular", oid: "e" }]);
  t.same(await mergeGroups([first, second], [[1, 3], [2]]), [
    ["1:a 1  0 one", "2 contents", "3:d 1  0 three"],
    ["2 contents", "2:b 1  0 one", "2:c 1  0 secret", "2:e 1  4 -"],
  ]);
});

t.test("documents with a tombstone or of a hidden repository are left out, with their contents", async (t) => {
  const { add, merge } = makeScene(t);
  const source = await add([
    { repositoryId: 1, path: "dead", content: "dead" },
    { repositoryId: 1, path: "kept", content: "kept in one place" },
    { repositoryId: 2, path: "hidden", content: "hidden" },
    { repositoryId: 2, path: "hidden too", content: "kept in one place" },
    { repositoryId: 1, path: "gone", content: "", skipReason: "binary", oid: "e" },
  ]);
  t.same(source.repositoryIds, [1, 2]);
  // Documents are numbered by content; those without one come last.
  const merged = await merge([{ ...source, repositoryIds: [1, 0], tombstones: dead(5, 0, 4) }]);
  t.same(merged, ["1 contents", "1:kept 1  0 kept in one place"]);
});

t.test("nothing is written when no document is alive", async (t) => {
  const { add, merge, store } = makeScene(t);
  const source = await add([{ repositoryId: 1, path: "a", content: "a" }]);
  t.same(await merge([{ ...source, repositoryIds: [0] }]), []);
  t.same(store.ids(), [source.id]);
});

t.test("a shard that is missing, damaged or another one ends the merge", async (t) => {
  const { add, merge, store } = makeScene(t);
  const whole = await add([{ repositoryId: 1, path: "a", content: "a" }]);
  const other = await add([{ repositoryId: 1, path: "b", content: "another text" }]);
  const before = store.ids();
  await t.rejects(merge([whole, { ...other, id: 77 }]), { code: "corrupt-shard", message: /77 is missing/ });
  await t.rejects(merge([{ ...whole, checksum: other.checksum }]), { code: "corrupt-shard" });
  const snapshot = store.read();
  const bytes = Buffer.from(snapshot.get(other.id) ?? Buffer.alloc(0));
  snapshot.close();
  bytes[bytes.indexOf("another text")] ^= 1;
  await store.put([{ id: other.id, bytes }]);
  await t.rejects(merge([whole, other]), { code: "corrupt-shard", message: /section content/ });
  t.same(store.ids(), before, "no shard was written");
});

t.test("a stop ends it", async (t) => {
  const { add, merge } = makeScene(t);
  const source = await add([{ repositoryId: 1, path: "a", content: "a" }]);
  await t.rejects(
    merge([source], () => true),
    { code: "cancelled" },
  );
});

t.test("symbols are copied when those of all sources are known, and whole", async (t) => {
  const { store, shardIds, add, merge } = makeScene(t);
  const one = await add([
    { repositoryId: 1, path: "a", content: "alpha text\n" },
    { repositoryId: 1, path: "b", content: "bad\n" },
  ]);
  const two = await add([{ repositoryId: 2, path: "c", oid: "c", content: "gamma text\n" }]);
  await addSymbols(store, one.id);
  await merge([{ ...one, hasSymbols: true }, two]);
  t.equal(symbolsOf(store, shardIds[0] - 1), undefined, "those of one source are missing");
  await addSymbols(store, two.id);
  const sources = [one, two].map((source) => ({ ...source, hasSymbols: true }));
  await merge(sources);
  t.same(symbolsOf(store, shardIds[0] - 1), [`k${one.id} alpha`, "", `k${two.id} gamma`]);
  await store.putSymbols([{ id: two.id, bytes: Buffer.from("damaged") }]);
  await merge(sources);
  t.equal(symbolsOf(store, shardIds[0] - 1), undefined, "those of one source are damaged");
});

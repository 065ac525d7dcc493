/** Symbols are read where they are in the store, by all threads, and verified once: damage, replacement and deletion are noticed. */
import { truncateSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { makeLiveShard } from "../../../src/catalog/live-shard.js";
import type { SymbolRecord } from "../../../src/model/shard-record.js";
import { loadKernel } from "../../../src/native/kernel/load.js";
import { noColumn, ShardFilter } from "../../../src/protocol/shard-filter.js";
import { ShardTable } from "../../../src/protocol/shard-table.js";
import { ShardBuilder } from "../../../src/shard/shard-builder.js";
import { ShardReader } from "../../../src/shard/shard-reader.js";
import { addToKey, emptyKey } from "../../../src/shard/symbols/name-keys.js";
import { type BuiltSymbols, SymbolBuilder } from "../../../src/shard/symbols/symbol-builder.js";
import { symbolHeader } from "../../../src/shard/symbols/symbol-format.js";
import { type ShardSnapshot, ShardStore } from "../../../src/store/shard-store.js";
import { ShardOpener } from "../../../src/worker/search/shard-opener.js";
import { testRepository } from "../../support/engine.js";

const kernel = loadKernel("native");
const filter = ShardFilter.withColumns(0).memory;
const id = 7;

function buildShard(nameCount: number): ShardReader {
  const builder = new ShardBuilder(kernel, undefined);
  const text = Array.from({ length: nameCount }, (_, i) => `int name_${i};\n`).join("");
  const oid = "1".repeat(40);
  const path = Buffer.from("a.c");
  const document = { repositoryId: 1, path, branchMask: 1, oid, language: "C", skipReason: "none" } as const;
  builder.addDocument(builder.addContent(oid, Buffer.from(text)), document);
  return new ShardReader(
    id,
    builder.build((byteCount) => Buffer.alloc(byteCount)),
  );
}

/** The symbols of `buildShard`; those of another kind have the same size. */
function buildSymbols(shard: ShardReader, nameCount: number, kind = "variable"): BuiltSymbols {
  const builder = new SymbolBuilder(kernel);
  const names = Array.from({ length: nameCount }, (_, i) => `name_${i}`);
  let end = 0;
  const offsets = names.map((name) => {
    const start = end + 4;
    end = start + name.length + 2;
    return start;
  });
  const [kinds, containers] = [names.map(() => kind), names.map(() => "")];
  builder.add("extracted", { names, lines: names.map((_, i) => i + 1), offsets, kinds, containers });
  return builder.build(shard, "test 1");
}

function tableOf(shard: ShardReader, symbols: SymbolRecord, former?: ShardTable): ShardTable {
  const record = {
    id,
    checksum: shard.checksum,
    storedBytes: shard.bytes.length,
    contentBytes: shard.contentBytes,
    documentCount: 1,
    repositoryIds: [1],
    symbols,
  };
  const live = makeLiveShard(record, () => testRepository(1, "host/r"), undefined);
  return ShardTable.of([live], former, () => noColumn);
}

interface Site {
  readonly folder: string;
  readonly store: ShardStore;
  readonly shard: ShardReader;
  readonly symbols: BuiltSymbols;
  readonly table: ShardTable;
  /** As another thread would have. */
  readonly opener: () => ShardOpener;
  readonly read: <T>(work: (snapshot: ShardSnapshot) => T) => T;
}

async function makeSite(t: Test, nameCount: number): Promise<Site> {
  const folder = join(t.testdir({}), "shards");
  const store = new ShardStore(folder);
  t.teardown(() => store.close());
  const shard = buildShard(nameCount);
  const symbols = buildSymbols(shard, nameCount);
  await store.put([{ id, bytes: Buffer.from(shard.bytes) }]);
  await store.putSymbols([{ id, bytes: symbols.bytes }]);
  const read = <T>(work: (snapshot: ShardSnapshot) => T): T => {
    const snapshot = store.read();
    try {
      return work(snapshot);
    } finally {
      snapshot.close();
    }
  };
  const opener = (): ShardOpener => new ShardOpener(store, new SharedArrayBuffer(0));
  return { folder, store, shard, symbols, table: tableOf(shard, symbols.record), opener, read };
}

/** Those of a few names are copied, because LMDB copies small values. */
const nameCounts = { many: 5_000, few: 50 } as const;

const keyOf = (name: string): number => Buffer.from(name).reduce<number>(addToKey, emptyKey);

// First, because the guard of a file that was closed may know where the next one is mapped as its own.
t.test("a store that is truncated while symbols are read gives no symbols, and no wrong ones", async (t) => {
  const { folder, table, opener, read } = await makeSite(t, nameCounts.many);
  const one = opener();
  read((snapshot) => {
    const { faultCount } = one;
    const { symbols } = one.openWithRecords(snapshot, table, 0, filter);
    truncateSync(join(folder, "data.mdb"), 8192);
    t.doesNotThrow(() => symbols?.findNamed(keyOf("name_1"), () => undefined));
    t.throws(() => symbols?.verify(), { code: "corrupt-shard" });
    t.throws(() => one.requireNoFault(faultCount, id), { code: "corrupt-shard" });
  });
  t.equal(table.isVerified(0, "symbols", one.faultCount), false);
});

for (const [size, nameCount] of Object.entries(nameCounts)) {
  t.test(`${size} symbols: threads read them, and only the first one verifies them`, async (t) => {
    const { store, symbols, table, opener, read } = await makeSite(t, nameCount);
    const [first, second] = [opener(), opener()];
    read((snapshot) => {
      t.equal(table.isVerified(0, "symbols", 0), false);
      const found = first.openWithRecords(snapshot, table, 0, filter).symbols;
      t.equal(found?.symbolCount, nameCount);
      t.equal(table.isVerified(0, "symbols", 0), true);
      const parts: number[] = [];
      found?.findNamed(keyOf("NAME_49"), (part) => parts.push(part));
      t.same(parts, [0]);
      found?.verify();
      const stored = snapshot.symbolsInPlace(id);
      t.equal(stored?.isCopy, size === "few");
      if (size === "many") {
        t.equal(first.openWithRecords(snapshot, table, 0, filter).symbols, found, "the reader is kept");
        t.equal(found?.records.buffer, stored?.bytes.buffer, "they are in the map of LMDB");
      }
      t.equal(first.openSymbols(snapshot, table, 0, filter)?.reader.contentCount, 1);
    });
    const damaged = Buffer.from(symbols.bytes);
    damaged[damaged.length - 1] ^= 1;
    await store.putSymbols([{ id, bytes: damaged }]);
    read((snapshot) => {
      t.ok(second.openWithRecords(snapshot, table, 0, filter).symbols, "what was verified is not verified again");
      const anew = ShardTable.of([], undefined, () => noColumn);
      const unverified = tableOf(buildShard(nameCount), symbols.record, anew);
      t.equal(opener().openWithRecords(snapshot, unverified, 0, filter).symbols, undefined, "damage is found");
      t.equal(unverified.isVerified(0, "symbols", 0), false);
      t.equal(opener().openSymbols(snapshot, unverified, 0, filter), undefined);
    });
  });

  t.test(`${size} symbols: another value is read, and verified, as soon as the table names it`, async (t) => {
    const { store, shard, table, opener, read } = await makeSite(t, nameCount);
    const one = opener();
    const former = read((snapshot) => one.openWithRecords(snapshot, table, 0, filter).symbols);
    const other = buildSymbols(shard, nameCount, "function");
    // Pages of replaced values are used again, so that it is soon where the first one was.
    const place = read((snapshot) => snapshot.symbolsInPlace(id)?.bytes.byteOffset);
    for (let round = 0, isThere = false; round < 10 && !isThere; round++) {
      await store.putSymbols([{ id, bytes: other.bytes }]);
      isThere = read((snapshot) => snapshot.symbolsInPlace(id)?.bytes.byteOffset) === place;
    }
    t.equal(
      read((snapshot) => one.openWithRecords(snapshot, table, 0, filter).symbols),
      size === "many" ? undefined : former,
      "only a copy is still what the old table names",
    );
    const next = tableOf(shard, other.record, table);
    t.equal(next.isVerified(0, "symbols", 0), false);
    t.equal(
      tableOf(shard, { ...other.record, checksum: former?.checksum ?? 0 }, table).isVerified(0, "symbols", 0),
      true,
    );
    read((snapshot) => {
      t.same(one.openWithRecords(snapshot, next, 0, filter).symbols?.kinds, ["function"]);
      t.equal(next.isVerified(0, "symbols", 0), true);
      t.equal(opener().openWithRecords(snapshot, table, 0, filter).symbols, undefined, "an old table names none");
    });
  });

  t.test(`${size} symbols: a truncated value, one without a header and one of another shard are none`, async (t) => {
    const { store, shard, symbols, table, opener, read } = await makeSite(t, nameCount);
    const { bytes } = symbols;
    const foreign = Buffer.from(bytes);
    foreign.writeUInt32LE(shard.checksum ^ 1, symbolHeader.shardChecksum * 4);
    for (const value of [bytes.subarray(0, bytes.length - 4), bytes.subarray(0, 40), Buffer.alloc(0), foreign]) {
      await store.putSymbols([{ id, bytes: value }]);
      const opened = read((snapshot) => opener().openWithRecords(snapshot, table, 0, filter));
      t.equal(opened.symbols, undefined);
      t.equal(opened.reader.documentCount, 1, "the shard is searched");
    }
  });

  t.test(`${size} symbols: a shard that is deleted while it is searched stays readable`, async (t) => {
    const { store, symbols, table, opener, read } = await makeSite(t, nameCount);
    const one = opener();
    const snapshot = store.read();
    const { symbols: found, reader } = one.openWithRecords(snapshot, table, 0, filter);
    await store.remove([id]);
    // As merged shards would be written: pages that are free by then are used again.
    for (let round = 0; round < 4; round++) {
      const bytes = Buffer.alloc(symbols.bytes.length, 255);
      await store.put([{ id: 100 + round, bytes: Buffer.alloc(reader.bytes.length, 255) }]);
      await store.putSymbols([{ id: 100 + round, bytes }]);
    }
    if (size === "many") {
      t.doesNotThrow(() => found?.verify());
      t.doesNotThrow(() => reader.verify("content"));
    }
    snapshot.close();
    read((later) => t.throws(() => one.openWithRecords(later, table, 0, filter), { code: "corrupt-shard" }));
  });
}

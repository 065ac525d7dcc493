/** The format of symbol values: what is written is read, and damage is never read past its bounds. */
import t from "tap";
import { readFileSync, writeFileSync } from "node:fs";
import { crc32 } from "node:zlib";
import { loadKernel } from "../../../src/native/kernel/load.js";
import { Rows } from "../../../src/eval/match/rows.js";
import { SymbolPlaces } from "../../../src/eval/ranking/document-features.js";
import { ShardBuilder } from "../../../src/shard/shard-builder.js";
import { ShardReader } from "../../../src/shard/shard-reader.js";
import type { ContentSymbols } from "../../../src/shard/symbols/content-symbols.js";
import { KnownSymbols } from "../../../src/shard/symbols/known-symbols.js";
import { addToKey, emptyKey } from "../../../src/shard/symbols/name-keys.js";
import { SymbolBuilder } from "../../../src/shard/symbols/symbol-builder.js";
import { SymbolReader, symbolCrc } from "../../../src/shard/symbols/symbol-reader.js";
import { symbolFormatVersion, symbolHeader } from "../../../src/shard/symbols/symbol-format.js";
import { TrawlError } from "../../../src/base/errors.js";
import { randomFrom } from "../../support/random.js";

const kernel = loadKernel("native");

interface Given {
  readonly text: string;
  readonly languages: readonly string[];
  readonly symbols: readonly [name: string, line: number, offset: number, kind: string, container: string][];
}

const given: readonly Given[] = [
  {
    text: "struct pair {\n  int left;\n};\n",
    languages: ["C"],
    symbols: [
      ["pair", 1, 7, "struct", ""],
      ["left", 2, 20, "member", "pair"],
    ],
  },
  { text: "nothing\n", languages: ["C"], symbols: [] },
  {
    text: "class A\n def f\xe9\n",
    languages: ["Ruby"],
    symbols: [
      ["A", 1, 6, "class", ""],
      ["elsewhere", 2, -1, "method", "A.B"],
      ["f\xe9", 2, 13, "method", "A"],
      ["none", 3, -1, "method", ""],
    ],
  },
];

function shardOf(contents: readonly Given[], repositoryId = 1): ShardReader {
  const builder = new ShardBuilder(kernel, undefined);
  contents.forEach(({ text, languages }) => {
    const oid = crc32(text).toString(16).padStart(40, "0");
    const content = builder.addContent(oid, Buffer.from(text, "latin1"));
    languages.forEach((language, i) => {
      const path = Buffer.from(`${oid}.${i}`);
      builder.addDocument(content, { repositoryId, path, branchMask: 1, oid, language, skipReason: "none" });
    });
  });
  const path = Buffer.from("skipped");
  builder.addSkipped({ repositoryId, path, branchMask: 1, oid: "f".repeat(40), language: "C", skipReason: "binary" });
  return new ShardReader(
    1,
    builder.build((byteCount) => Buffer.alloc(byteCount)),
  );
}

function columnsOf({ symbols }: Given): ContentSymbols {
  return {
    names: symbols.map(([name]) => name),
    lines: symbols.map(([, line]) => line),
    offsets: symbols.map(([, , offset]) => offset),
    kinds: symbols.map(([, , , kind]) => kind),
    containers: symbols.map(([, , , , container]) => container),
  };
}

function symbolValue(shard: ShardReader, contents: readonly Given[]): Buffer {
  const builder = new SymbolBuilder(kernel);
  for (const content of contents) builder.add("extracted", columnsOf(content));
  return builder.build(shard, "test 1").bytes;
}

function namesOf(reader: SymbolReader): string[] {
  const out = Buffer.alloc(reader.namesBytes);
  for (let part = 0; part < reader.parts.count; part++) reader.copyNames(part, out, kernel);
  return out.toString("latin1").split("\n").slice(0, -1);
}

t.test("what is written is read", (t) => {
  const shard = shardOf(given);
  const reader = new SymbolReader(shard, symbolValue(shard, given));
  reader.verify();
  given.forEach((content, part) => {
    const { nameStarts: _, ...symbols } = reader.read(part);
    t.same(symbols, columnsOf(content));
  });
  t.same(
    namesOf(reader),
    given.flatMap(({ symbols }) => symbols.map(([name]) => name)),
  );
  t.same(
    given.map((_, part) => reader.hasStoredNames(part)),
    [false, false, true],
  );
  t.equal(reader.producer, "test 1");
  t.equal(reader.symbolCount, 6);
  t.end();
});

function keyOf(name: string): number {
  return Buffer.from(name, "latin1").reduce<number>(addToKey, emptyKey);
}

function partsNamed(reader: SymbolReader, name: string): number[] {
  const parts: number[] = [];
  reader.findNamed(keyOf(name), (part) => parts.push(part));
  return parts;
}

t.test("parts are found by names of their symbols, whatever the case and what is between the letters", (t) => {
  const many = [...given, { ...given[0], languages: ["C++"], text: `${given[0].text}\n` }];
  const shard = shardOf(many);
  const reader = new SymbolReader(shard, symbolValue(shard, many));
  t.same(partsNamed(reader, "P-A_ir"), [0, 3]);
  t.same(partsNamed(reader, "elsewhere"), [2], "a name that is not in the text");
  t.same(partsNamed(reader, "f\xe9"), [2]);
  t.same(partsNamed(reader, "pairs"), []);
  t.same(partsNamed(reader, "_"), [], "a name without letters is not looked up");
  t.end();
});

t.test("keys of names that are not those of the names are damage, and find nothing beyond the parts", (t) => {
  const shard = shardOf(given);
  const value = symbolValue(shard, given);
  const words = new Uint32Array(value.buffer, value.byteOffset, value.length / 4);
  const count = words[symbolHeader.nameKeyCount];
  t.equal(count, 6);
  const forged = (change: (keys: Uint32Array, parts: Uint32Array) => void): SymbolReader => {
    const bytes = Buffer.from(value);
    const end = new Uint32Array(bytes.buffer, bytes.byteOffset + bytes.length - 8 * count, 2 * count);
    change(end.subarray(0, count), end.subarray(count));
    bytes.writeUInt32LE(symbolCrc(bytes), symbolHeader.crc * 4);
    return new SymbolReader(shard, bytes);
  };
  const damage: ((keys: Uint32Array, parts: Uint32Array) => void)[] = [
    (keys) => keys.reverse(),
    (keys) => keys.fill(keyOf("pair")),
    (_, parts) => parts.fill(3),
    (_, parts) => parts.fill(0xffffffff),
  ];
  for (const change of damage) {
    const reader = forged(change);
    t.ok(partsNamed(reader, "pair").every((part) => part < reader.parts.count));
    t.throws(() => reader.verify(), { code: "corrupt-shard", message: /keys of names/ });
  }
  const tooMany = Buffer.from(value);
  tooMany.writeUInt32LE(0xffffffff, symbolHeader.nameKeyCount * 4);
  tooMany.writeUInt32LE(symbolCrc(tooMany), symbolHeader.crc * 4);
  t.throws(() => new SymbolReader(shard, tooMany), { code: "corrupt-shard" });
  t.end();
});

t.test("the checksum of a value that was verified is not computed again", (t) => {
  const shard = shardOf(given);
  const damaged = symbolValue(shard, given);
  damaged[damaged.length - 1] ^= 1;
  t.throws(() => new SymbolReader(shard, damaged), { code: "corrupt-shard", message: /wrong checksum/ });
  t.doesNotThrow(() => new SymbolReader(shard, damaged, true));
  t.end();
});

t.test("a content has symbols for each of its languages", (t) => {
  const shard = shardOf([{ ...given[0], languages: ["C", "C++", "C"] }, given[1]]);
  const builder = new SymbolBuilder(kernel);
  builder.add("extracted", columnsOf(given[0]));
  builder.add("time", undefined);
  builder.add("extracted", columnsOf(given[0]));
  builder.add("unsupported", undefined);
  const { bytes, record } = builder.build(shard, "test 1");
  const reader = new SymbolReader(shard, bytes);
  t.same([...reader.parts.contents], [0, 0, 0, 1]);
  t.same([...reader.parts.firstDocuments], [0, 1, 2, 3, 4, 5]);
  t.same(namesOf(reader), ["pair", "left", "pair", "left"]);
  t.match(record, { symbolCount: 4, failedCount: 1, checksum: reader.checksum, storedBytes: bytes.length });
  t.end();
});

t.test("merged shards copy the symbols of the same texts", (t) => {
  const [first, second] = [shardOf(given.slice(0, 2)), shardOf(given.slice(2), 2)];
  const known = new KnownSymbols();
  known.add(first, symbolValue(first, given.slice(0, 2)));
  const merged = shardOf([given[2], given[0], given[1]]);
  t.equal(known.symbolsOf(merged, kernel), undefined, "those of one text are not known");
  known.add(second, symbolValue(second, given.slice(2)));
  const copied = known.symbolsOf(merged, kernel);
  t.same(copied?.bytes, symbolValue(merged, [given[2], given[0], given[1]]));
  t.equal(known.symbolsOf(shardOf([{ ...given[0], languages: ["C++"] }]), kernel), undefined, "another language");
  t.end();
});

t.test("the value of another shard or version is refused", (t) => {
  const shard = shardOf(given);
  const value = symbolValue(shard, given);
  t.throws(() => new SymbolReader(shardOf(given, 9), value), { code: "corrupt-shard", message: /another shard/ });
  const later = Buffer.from(value);
  later.writeUInt32LE(1, symbolHeader.version * 4);
  t.throws(() => new SymbolReader(shard, later), { code: "format-version" });
  t.end();
});

t.test("ranking reads a damaged record up to the damage, and no name beyond the text", (t) => {
  const shard = shardOf(given);
  const value = symbolValue(shard, given);
  const random = randomFrom(11);
  const places = new SymbolPlaces();
  const rows = new Rows(64);
  const counts = new Set<number>();
  for (let i = 0; i < 2000; i++) {
    const damaged = Buffer.from(value);
    damaged[damaged.length - 1 - random(80)] = random(256);
    damaged.writeUInt32LE(symbolCrc(damaged), symbolHeader.crc * 4);
    const reader = new SymbolReader(shard, damaged);
    if (partsNamed(reader, "pair").some((part) => part >= reader.parts.count)) t.fail("a part is beyond the shard");
    for (let part = 0; part < reader.parts.count; part++) {
      const content = reader.parts.contents[part];
      rows.clear();
      for (let at = shard.contentStart[content]; at < shard.contentStart[content + 1]; at++) rows.push(at, at + 1);
      places.read(reader, part, rows, kernel);
      counts.add(places.count);
      const textBytes = shard.contentStart[content + 1] - shard.contentStart[content];
      if (places.count > 0 && places.ends[places.count - 1] > textBytes) t.fail("a place is beyond the text");
    }
  }
  t.same([...counts].sort(), [0, 1, 2], "some records were read in part");
  t.end();
});

t.test("damage is refused or read within bounds, whatever the checksum says", (t) => {
  const shard = shardOf(given);
  const value = symbolValue(shard, given);
  const random = randomFrom(7);
  let refused = 0;
  for (let i = 0; i < 20_000; i++) {
    const damaged = Buffer.from(value);
    for (let n = random(3); n >= 0; n--) damaged[random(damaged.length)] = random(256);
    if (i % 2 === 0 && damaged.length > 48) damaged.writeUInt32LE(symbolCrc(damaged), symbolHeader.crc * 4);
    try {
      const reader = new SymbolReader(shard, i % 5 === 0 ? damaged.subarray(0, random(value.length)) : damaged);
      reader.verify();
    } catch (error) {
      if (!(error instanceof TrawlError)) throw error;
      refused++;
    }
  }
  t.ok(refused > 10_000, `${refused} refused`);
  t.end();
});

const latin1 = (text: string): string => Buffer.from(text).toString("latin1");

/** The symbols of the parts of `test/frozen/shard-3.bin` in `test/frozen/symbols-3.bin`. They must never change. */
const frozenSymbols: readonly Given["symbols"][] = [
  [
    ["main", 1, 4, "function", ""],
    ["elsewhere", 3, -1, "macro", "Outer"],
    ["needle", 3, 25, "variable", "Outer"],
  ],
  [["line", 1, 0, "label", ""]],
  [],
  [[latin1("\u212a"), 1, 4, "section", latin1("\u00e4.b")]],
];

function buildFrozen(shard: ShardReader): Buffer {
  const builder = new SymbolBuilder(kernel);
  frozenSymbols.forEach((symbols, part) => {
    if (part === 2) builder.add("time", undefined);
    else builder.add("extracted", columnsOf({ text: "", languages: [], symbols }));
  });
  return builder.build(shard, "test 1").bytes;
}

/** `FREEZE=1` writes the file of the current version, which is done once, when a version is born. */
t.test("symbols of format version 3 stay readable", (t) => {
  const shard = new ShardReader(1, readFileSync("test/frozen/shard-3.bin"));
  const path = `test/frozen/symbols-${symbolFormatVersion}.bin`;
  if (process.env["FREEZE"] !== undefined) writeFileSync(path, buildFrozen(shard));
  const frozen = readFileSync("test/frozen/symbols-3.bin");
  const reader = new SymbolReader(shard, frozen);
  reader.verify();
  t.same(
    frozenSymbols.map((_, part) => {
      const { nameStarts: __, ...symbols } = reader.read(part);
      return symbols;
    }),
    frozenSymbols.map((symbols) => columnsOf({ text: "", languages: [], symbols })),
  );
  t.same([reader.parts.count, reader.symbolCount, reader.failedCount, reader.producer], [4, 5, 1, "test 1"]);
  t.same([...reader.foldExceptions], [3]);
  t.ok(reader.hasPostings && reader.keys.length > 0);
  if (symbolFormatVersion === 3)
    t.ok(frozen.equals(buildFrozen(shard)), "the bytes that are written have not changed without a new version");
  t.end();
});

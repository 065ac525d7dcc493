/** Precise indexes: reading what indexers write, converting places, and the file that is made of it. */
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import t from "tap";
import { TrawlError } from "../../../src/base/errors.js";
import { buildIndex } from "../../../src/scip/build-index.js";
import { occurrencesAt, occurrencesWith, PreciseIndexReader } from "../../../src/scip/index-reader.js";
import { LineMap } from "../../../src/scip/line-map.js";
import { LinePositions } from "../../../src/scip/line-positions.js";
import { splitIndex } from "../../../src/scip/scip-stream.js";
import { symbolName, symbolPackage, shownKind } from "../../../src/scip/scip-symbol.js";
import { removeFolder } from "../../support/remove-folder.js";
import { encodeScipIndex, indexWords, type ScipFile } from "../../support/scip-index.js";

const folder = mkdtempSync(join(tmpdir(), "trawl-"));
t.teardown(() => removeFolder(folder));

async function* inPieces(bytes: Uint8Array, pieceBytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
}

/** Splits an index; what went wrong is a text. */
async function split(bytes: Uint8Array, pieceBytes: number, messageBytesMax = 1 << 20): Promise<string[]> {
  const found: string[] = [];
  try {
    for await (const { field, bytes: part } of splitIndex(inPieces(bytes, pieceBytes), messageBytesMax))
      found.push(`${field}:${part.length}`);
  } catch (error) {
    if (!(error instanceof TrawlError)) throw error;
    found.push(error.message);
  }
  return found;
}

const build = (bytes: Uint8Array, texts: Readonly<Record<string, string>>, name = "index") =>
  buildIndex(
    inPieces(bytes, 64),
    {
      readTexts: async (paths, onText) => {
        for (const [i, path] of paths.entries())
          await onText(i, texts[path] === undefined ? undefined : Buffer.from(texts[path]));
      },
    },
    join(folder, name),
    () => undefined,
  );

const texts = { "src/a.ts": "export alpha beta\nalpha gamma\n", "b.ts": "gamma alpha\n\ndelta epsilon zeta alpha\n" };

t.test("an index is split as it arrives, and ends early anywhere without harm", async (t) => {
  const bytes = encodeScipIndex(indexWords(texts));
  const whole = await split(bytes, bytes.length);
  t.equal(whole.length, 3);
  t.same(await split(bytes, 1), whole);
  for (let end = 1; end < bytes.length; end++) {
    const [last = ""] = (await split(bytes.subarray(0, end), 7)).slice(-1);
    t.ok(last.includes("truncated") || /^\d:\d+$/.test(last), last);
  }
  t.match(await split(bytes, 64, 20), [/^1:/, /at byte \d+ of the index has \d+ bytes; at most 20/]);
  // It says that it has 4 GiB, and ends after nine bytes.
  t.match(await split(Buffer.from([0x12, 0xff, 0xff, 0xff, 0xff, 0x0f, 1, 2, 3]), 4, 2 ** 33), [/truncated/]);
  for (const bad of ["hello, this is a text", "\x00\x00", "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"])
    t.match(await split(Buffer.from(bad, "latin1"), 4), [/no SCIP index/]);
});

t.test("a built index finds what was indexed", async (t) => {
  const built = await build(encodeScipIndex(indexWords(texts)), texts);
  t.match(built, { documentCount: 2, symbolCount: 7, occurrenceCount: 11, toolName: "scip-test", toolVersion: "1.0" });
  const reader = new PreciseIndexReader(join(folder, "index"));
  t.teardown(() => reader.close());
  t.equal(reader.findDocument("absent"), undefined);
  const [a, b] = ["src/a.ts", "b.ts"].map((path) => reader.document(reader.findDocument(path) ?? -1));
  t.equal(reader.path(a?.number ?? -1), "src/a.ts");
  if (a === undefined || b === undefined) throw new RangeError("both documents are there");
  const symbol = reader.findSymbol("test npm words 1.0 gamma.") ?? -1;
  t.equal(reader.findSymbol("test npm words 1.0 nothing."), undefined);
  t.same(
    [...reader.postings(reader.symbol(symbol))],
    [
      { document: a.number, isDefinition: true },
      { document: b.number, isDefinition: false },
    ],
  );
  const [at] = [...occurrencesWith(a, symbol, true)];
  t.same([a.startLines[at ?? 0], a.startCharacters[at ?? 0], a.endCharacters[at ?? 0]], [1, 6, 11]);
  t.same(
    occurrencesAt(b, 2, 8).map((i) => reader.symbol(b.symbols[i] ?? 0).text.symbol),
    ["test npm words 1.0 epsilon."],
  );
  t.same(occurrencesAt(b, 0, 5).length, 1, "the end of a name is still the name");
  t.same(occurrencesAt(b, 1, 0), []);
});

t.test("a damaged file is refused", async (t) => {
  await build(encodeScipIndex(indexWords(texts)), texts, "sound");
  const sound = readFileSync(join(folder, "sound"));
  const path = join(folder, "damaged");
  for (let at = 0; at < sound.length; at += 3) {
    const bytes = Buffer.from(sound);
    bytes[at] = (bytes[at] ?? 0) ^ 0x41;
    writeFileSync(path, at % 2 === 0 ? bytes.subarray(0, at) : bytes);
    try {
      const reader = new PreciseIndexReader(path);
      for (let i = 0; i < reader.documentCount; i++) reader.document(i);
      const symbol = reader.findSymbol("test npm words 1.0 alpha.");
      if (symbol !== undefined)
        for (const { document } of reader.postings(reader.symbol(symbol))) reader.document(document);
      reader.close();
    } catch (error) {
      if (!(error instanceof TrawlError)) throw error;
      t.match(error.code, /^(?:corrupt-shard|format-version)$/);
    }
  }
});

t.test("what does not fit the commit is left out, or refused", async (t) => {
  const files = indexWords(texts);
  t.match(await build(encodeScipIndex(files), { "b.ts": texts["b.ts"] }), { documentCount: 1, missingCount: 1 });
  const long = Array.from({ length: 20 }, (_, i) => `name${i} other${i}`).join("\n");
  const index = encodeScipIndex(indexWords({ "c.ts": long }));
  await t.rejects(
    build(index, { "c.ts": `// a line more\n${long}` }),
    /do not describe the files of this commit.*"c.ts"/,
  );
  await t.rejects(build(index, { "d.ts": long }), /none of its 1 documents is a file of this commit.*"c.ts"/);
  await t.rejects(build(encodeScipIndex([]), {}), /no documents/);
  const outside: ScipFile = {
    path: "e.ts",
    occurrences: [
      { range: [0, 0, 4], symbol: "x y z 1 name." },
      { range: [0, 2, 40], symbol: "x y z 1 name." },
      { range: [7, 0, 4], symbol: "x y z 1 name." },
      { range: [0, -1, 4], symbol: "x y z 1 name." },
      { range: [0, 4, 0], symbol: "x y z 1 name." },
      { range: [0, 4], symbol: "x y z 1 name." },
      { range: [0, 0, 0, 4, 9, 9], symbol: "x y z 1 name." },
      ...Array.from({ length: 6 }, () => ({ range: [0, 0, 4], symbol: "local 1" })),
    ],
  };
  t.match(await build(encodeScipIndex([outside]), { "e.ts": "name" }), { occurrenceCount: 7, outsideCount: 6 });
});

t.test("what is in a record or in memory has a limit", async (t) => {
  const named = await build(encodeScipIndex(indexWords(texts), "x".repeat(5_000)), texts);
  t.equal(named.toolName.length, 1_000);
  const about = "about ".repeat(2_700);
  const locals: ScipFile = {
    path: "a.ts",
    occurrences: Array.from({ length: 400 }, (_, i) => ({ range: [0, 0, 1], symbol: `local ${i}` })),
    symbols: Array.from({ length: 400 }, (_, i) => ({ symbol: `local ${i}`, documentation: [about] })),
  };
  await build(encodeScipIndex([locals]), { "a.ts": "a" }, "locals");
  const reader = new PreciseIndexReader(join(folder, "locals"));
  t.teardown(() => reader.close());
  const described = reader.document(0).localTexts.map((text) => text?.documentation?.[0] === about);
  const textLength = JSON.stringify({ documentation: [about] }).length;
  t.same(
    [described.length, described.indexOf(false), described.lastIndexOf(true)],
    [400, Math.floor((4 << 20) / textLength), Math.floor((4 << 20) / textLength) - 1],
    "the first ones have a text",
  );
  // An index of one document, which describes a symbol again and again.
  const document = Buffer.concat([
    Buffer.from("\n\x04a.ts"),
    Buffer.alloc(5 * 400_001, Buffer.from("\x1a\x03\n\x01x")),
  ]);
  const describing = new BinaryWriter().tag(2, WireType.LengthDelimited).bytes(document).finish();
  await t.rejects(
    build(describing, { "a.ts": "a" }),
    /more than 400000 symbols that one document describes \(at "a.ts"\)/,
  );
  const long = (length: number): Buffer =>
    encodeScipIndex([{ path: "a.ts", occurrences: [{ range: [0, 0, 1], symbol: "\u0001".repeat(length) }] }]);
  await t.rejects(build(long(65_537), { "a.ts": "a" }), /more than 65536 characters in one symbol \(at "a.ts"\)/);
  await build(long(65_536), { "a.ts": "a" }, "long");
  const longest = new PreciseIndexReader(join(folder, "long"));
  t.teardown(() => longest.close());
  t.equal(longest.symbol(0).text.symbol?.length, 65_536);
});

t.test("characters are counted in code points", async (t) => {
  const lines = new LinePositions(Buffer.from("ascii\n\u{1f680} ä = woo\n"));
  t.equal(lines.lineCount, 3);
  const at = (encoding: "utf8" | "utf16" | "utf32", character: number) => lines.codePoints(1, character, encoding);
  t.same([at("utf8", 10), at("utf16", 7), at("utf32", 6)], [6, 6, 6]);
  t.same([at("utf8", 2), at("utf16", 1), at("utf32", 1)], [0, 0, 1], "in the middle of a code point");
  t.same([at("utf8", 13), at("utf16", 10), at("utf32", 9)], [9, 9, 9]);
  t.same([at("utf8", 14), at("utf16", 11), at("utf32", 10)], [-1, -1, -1]);
  t.equal(lines.codePoints(0, 5, "utf8"), 5);
  t.equal(lines.codePoints(0, 6, "utf8"), -1);
  t.equal(lines.codePoints(3, 0, "utf8"), -1);
  t.equal(lines.slice(1, 6, 9), "woo");
});

t.test("lines are found again after a change", async (t) => {
  // Lines 2 and 3 became one, and two lines stand before line 9.
  const map = new LineMap([
    { oldStart: 2, oldCount: 4, newStart: 2, newCount: 3, body: " two\n-three\n-four\n+3 and 4\n five\n" },
    { oldStart: 8, oldCount: 0, newStart: 8, newCount: 2, body: "+new\n+new\n" },
  ]);
  t.same(
    [0, 1, 2, 3, 4, 5, 8, 100].map((line) => map.toNew(line)),
    [0, 1, undefined, undefined, 3, 4, 9, 101],
  );
  t.same(
    [0, 1, 2, 3, 4, 7, 8, 9, 101].map((line) => map.toOld(line)),
    [0, 1, undefined, 4, 5, undefined, undefined, 8, 100],
  );
});

t.test("names and kinds of symbols", async (t) => {
  const rows: readonly (readonly [string, string, string])[] = [
    ["scip-typescript npm pkg 1.0 src/`a.ts`/Box#open().", "open", "METHOD"],
    ["scip-typescript npm pkg 1.0 src/`a.ts`/open(+2).", "open", "FUNCTION"],
    ["scip-typescript npm pkg 1.0 src/`a.ts`/Box#", "Box", "CLASS"],
    ["scip-typescript npm pkg 1.0 src/`a.ts`/", "a.ts", "MODULE"],
    ["scip-python python pkg 1.0 `a.b`/Box#x.", "x", "PROPERTY"],
    ["a b c 1 f().(arg)", "arg", "UNKNOWN"],
    ["a b c 1 f().[T]", "T", "TYPEPARAMETER"],
    ["local 12", "", "VARIABLE"],
    ["", "", "VARIABLE"],
    ["`", "", "UNKNOWN"],
  ];
  for (const [symbol, name, kind] of rows) t.same([symbolName(symbol), shownKind(0, symbol)], [name, kind], symbol);
  for (const [symbol, name] of [
    ["scip-typescript npm @a/pkg 1.0 src/`a b.ts`/Box#", "scip-typescript npm @a/pkg 1.0 "],
    ["s m two  words 1  0 d#", "s m two  words 1  0 "],
    ["scip-java maven . . d#", ""],
    ["s m  1 d#", ""],
    ["s m n", ""],
    ["local 1", ""],
    ["", ""],
    [" ".repeat(9), ""],
  ] as const)
    t.equal(symbolPackage(symbol), name, symbol);
  t.equal(shownKind(49, "a b c 1 Box#"), "STRUCT");
  t.equal(shownKind(0, "a b c 1 Box#", "interface Box"), "INTERFACE");
});

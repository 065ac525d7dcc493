/**
 * Damage: whatever happens to a shard's bytes, opening and verifying it says `corrupt-shard`, or the search result is
 * what it was. Format: a shard written by an earlier program stays readable, one of a later program is refused.
 */
import { readFileSync, writeFileSync } from "node:fs";
import t from "tap";
import { encodeSummaries } from "../../../src/protocol/repository-summaries.js";
import { TrawlError } from "../../../src/base/errors.js";
import { loadKernel } from "../../../src/native/kernel/load.js";
import { planQuery } from "../../../src/query/plan/plan-query.js";
import { formatVersion, headerBytes, sections } from "../../../src/shard/format.js";
import { headerCrc, headerWords } from "../../../src/shard/section-layout.js";
import { ShardBuilder } from "../../../src/shard/shard-builder.js";
import { ShardReader } from "../../../src/shard/shard-reader.js";
import { runEngine, testRepository } from "../../support/engine.js";
import { record, rounds, scaled } from "../../support/full-run.js";
import { randomFrom } from "../../support/random.js";
import { seed } from "../../support/property.js";

const kernel = loadKernel("native");
const repositories = [testRepository(7, "host/seven"), testRepository(9, "host/nine")];

/** The documents of `test/frozen/shard-3.bin`. They must never change. */
function frozenDocuments(): Buffer {
  const builder = new ShardBuilder(kernel, undefined);
  const add = (
    repositoryId: number,
    path: string,
    language: string,
    branchMask: number,
    oid: string,
    content: string,
  ): void =>
    builder.addDocument(builder.addContent(oid.repeat(40), Buffer.from(content)), {
      repositoryId,
      path: Buffer.from(path),
      branchMask,
      oid: oid.repeat(40),
      language,
      skipReason: "none",
    });
  const long = Array.from(
    { length: 200 },
    (_, i) => `line ${i} of the long file, ${i % 50 === 0 ? "with a needle" : "without"}\n`,
  ).join("");
  add(7, "src/main.c", "C", 1, "a", "int main(void)\n{\n\treturn needle;\n}\n");
  add(7, "doc/long.txt", "Text", 3, "b", long);
  add(9, "copy/of/long.txt", "Text", 1, "b", long);
  add(9, "empty", "", 1, "c", "");
  add(9, "kelvin.md", "Markdown", 2, "d", "300 \u212a\r\nneedle \u{1f9f5} no newline at the end");
  builder.addSkipped({
    repositoryId: 7,
    path: Buffer.from("image.png"),
    branchMask: 1,
    oid: "e".repeat(40),
    language: "",
    skipReason: "binary",
  });
  return builder.build((byteCount) => Buffer.alloc(byteCount));
}

/** Every result of a few searches over one shard, as text. */
function searchAll(bytes: Buffer): string {
  const reader = openWhole(bytes);
  const summaries = encodeSummaries(
    [...reader.repositories].map((id) => repositories.find((repository) => repository.id === id)),
  );
  return ["needle", "line 1", "/o[nf] the/", "300", "png"]
    .map((query) => {
      const { matches } = runEngine(
        kernel,
        [{ reader, summaries, tombstones: undefined, sets: undefined }],
        planQuery(query, "standard"),
        { chunkMatches: false },
      );
      return `${query}: ${matches.map((match) => JSON.stringify(match)).join("\n")}`;
    })
    .join("\n");
}

/** The checks of a worker when it first uses a shard. */
function openWhole(bytes: Buffer): ShardReader {
  const reader = new ShardReader(1, bytes);
  reader.verify("index");
  reader.verify("content");
  return reader;
}

interface Damage {
  readonly what: string;
  readonly bytes: Buffer;
}

function damage(whole: Buffer, random: (below: number) => number): Damage {
  const at = random(whole.length);
  switch (random(4)) {
    case 0:
      return { what: `cut to ${at} bytes`, bytes: Buffer.from(whole.subarray(0, at)) };
    case 1: {
      const bytes = Buffer.from(whole);
      const page = at - (at % 512);
      bytes.fill(0, page, Math.min(page + 512, bytes.length));
      return { what: `512 bytes of zeros at ${page}`, bytes };
    }
    default: {
      const bytes = Buffer.from(whole);
      // The header is small: without this most damage would be in the sections.
      const place = random(3) === 0 ? random(headerBytes) : at;
      bytes[place]! ^= 1 << random(8);
      return { what: `a bit flipped in byte ${place}`, bytes };
    }
  }
}

const damageCount = scaled(1_000, 100_000);

t.test(`${damageCount} random damages are detected or have no effect`, async (t) => {
  t.comment(`SEED=${seed}`);
  const random = randomFrom(seed);
  const whole = frozenDocuments();
  const expected = searchAll(whole);
  const outcomes = { count: 0, detected: 0, harmless: 0 };
  for (const i of rounds(damageCount)) {
    outcomes.count = i + 1;
    const { what, bytes } = damage(whole, random);
    try {
      if (searchAll(bytes) !== expected) t.fail(`${what}: other results`);
      outcomes.harmless++;
    } catch (error) {
      if (!(error instanceof TrawlError) || error.code !== "corrupt-shard") t.fail(`${what}: ${String(error)}`);
      outcomes.detected++;
    }
  }
  t.ok(outcomes.detected > 0.9 * outcomes.count, `${outcomes.detected} detected, ${outcomes.harmless} in padding`);
  record(
    9,
    "flipped bits, zeroed pages and truncation in the bytes of a shard",
    `${outcomes.count} times: ${outcomes.detected} detected, ${outcomes.harmless} harmless, 0 wrong answers`,
  );
});

t.test("every byte of the header is checked", async (t) => {
  const whole = frozenDocuments();
  for (let at = 0; at < headerBytes; at++) {
    const bytes = Buffer.from(whole);
    bytes[at]! ^= 0x80;
    try {
      openWhole(bytes);
      t.fail(`byte ${at} of the header can change unseen`);
    } catch (error) {
      if (!(error instanceof TrawlError) || error.code !== "corrupt-shard") t.fail(`byte ${at}: ${String(error)}`);
    }
  }
});

t.test("an unaligned shard reads like an aligned one", async (t) => {
  const whole = frozenDocuments();
  const shifted = Buffer.concat([Buffer.alloc(3), whole]).subarray(3);
  t.equal(searchAll(shifted), searchAll(whole));
});

/** `FREEZE=1` writes the file of the current version, which is done once, when a version is born. */
t.test("a shard of format version 3 stays readable", async (t) => {
  if (process.env["FREEZE"] !== undefined) writeFileSync(`test/frozen/shard-${formatVersion}.bin`, frozenDocuments());
  const frozen = readFileSync("test/frozen/shard-3.bin");
  t.equal(searchAll(frozen), searchAll(frozenDocuments()), "with the results of one written today");
  const reader = openWhole(frozen);
  t.same(
    reader.documentsAt(9, Buffer.from("empty")).map((document) => reader.oid(document)),
    ["c".repeat(40)],
  );
  t.same([...reader.repositories], [7, 9]);
  t.same(reader.languages(), ["C", "Text", "", "Markdown"]);
  if (formatVersion === 3)
    t.ok(frozen.equals(frozenDocuments()), "the bytes that are written have not changed without a new version");
});

t.test("a shard of a later version is rejected, and the error names the version", async (t) => {
  const bytes = frozenDocuments();
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, headerBytes / 4);
  words[headerWords.version] = formatVersion + 1;
  words[headerWords.headerCrc] = headerCrc(bytes, sections.length);
  t.throws(() => new ShardReader(1, bytes), { code: "format-version" });
});

t.test("half a million documents without content fit into one shard", async (t) => {
  const builder = new ShardBuilder(kernel, undefined);
  for (let i = 0; i < 500_000; i++) {
    builder.addSkipped({
      repositoryId: 7,
      path: Buffer.from(`${i}.bin`),
      branchMask: 1,
      oid: "f".repeat(40),
      language: "",
      skipReason: "binary",
    });
  }
  const reader = openWhole(builder.build((byteCount) => Buffer.alloc(byteCount)));
  t.equal(reader.documentCount, 500_000);
  t.equal(reader.documentsAt(7, Buffer.from("499999.bin")).length, 1);
});

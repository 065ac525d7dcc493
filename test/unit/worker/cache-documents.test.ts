/** A shard of the revision cache has what the index would have of the same files, from wherever their texts are read. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { skipReasonFromCode } from "../../../src/model/skip-reason.js";
import { neverStop } from "../../../src/base/stop-signal.js";
import { mirrorName } from "../../../src/model/repository.js";
import { loadKernel } from "../../../src/native/kernel/load.js";
import { unpackLanguage, unpackSkipCode } from "../../../src/shard/format.js";
import { ReaderCache, ShardReader } from "../../../src/shard/shard-reader.js";
import { ShardStore } from "../../../src/store/shard-store.js";
import { answerKeepDocuments } from "../../../src/worker/read/cache-documents.js";
import type { ReadContext } from "../../../src/worker/read/context.js";
import { answerFindDocuments } from "../../../src/worker/read/find-documents.js";
import { GitFixture, type FixtureFile } from "../../support/git-fixture.js";
import { randomFrom } from "../../support/random.js";

const limits = { fileBytesMax: 200_000, largeFiles: ["*.large"], trigramCountMax: 5000 };

const next = randomFrom(1);
/** It has more trigrams than the limit, and is large enough for them to be counted. */
const letters = Buffer.from(Uint8Array.from({ length: 150_000 }, () => 0x61 + next(26)));
const lines = (count: number): string => Array.from({ length: count }, (_, i) => `line ${i % 50}\n`).join("");

/** Larger than all texts without content together, whose room is left. */
const manyLines = lines(100_000);

/** Each file, and why it has no content; "none" for those that have. The order is that of git. */
const files: readonly (readonly [path: string, text: string | Buffer, reason: string])[] = [
  ["a link whose target is the text of a file", manyLines, "not-regular"],
  ["a.c", "int main;\n", "none"],
  ["b.bin", "text\0text", "binary"],
  ["c with space.h", "class Kelvin {\n// \u212a\n", "none"],
  ["d.txt", letters, "too-many-trigrams"],
  ["e.txt", "plain\n", "none"],
  ["empty", "", "none"],
  ["f.txt", Buffer.from([0xc5, 0xbf, 0x20, 0xff]), "not-decoded"],
  ["g.txt", Buffer.alloc(300_000, "a"), "too-large"],
  ["h.large", manyLines, "none"],
  ["i.txt", lines(12_000), "none"],
  ["j.txt", "caf\u00e9\n", "none"],
  ["k.txt", "last\n", "none"],
];

async function build(t: Test, source: GitFixture, commit: string): Promise<ShardReader> {
  const dataFolder = mkdtempSync(join(tmpdir(), "trawl-cached-"));
  const store = new ShardStore(join(dataFolder, "shards"));
  t.teardown(async () => {
    await store.close();
    rmSync(dataFolder, { recursive: true, force: true });
  });
  mkdirSync(join(dataFolder, "mirrors"));
  symlinkSync(source.path, join(dataFolder, "mirrors", mirrorName(7)));
  const context: ReadContext = {
    dataFolder,
    kernel: loadKernel("native"),
    arena: new SharedArrayBuffer(64 << 20),
    ctagsCommand: undefined,
    store: () => store,
    readers: new ReaderCache(),
    stop: neverStop,
  };
  const question = {
    repositoryId: 7,
    lfsTree: undefined,
    withSubmodules: false,
    base: undefined,
    commits: [commit],
    limits,
    live: [],
    cached: [],
  };
  const { parts } = await answerFindDocuments({ kind: "find-documents", ...question }, context);
  t.equal(parts.length, 1);
  const [{ entries, shardBytesMax }] = parts;
  const bytes = { id: 1, from: 4096, to: 4096 + Math.ceil(shardBytesMax / 8) * 8 };
  const made = await answerKeepDocuments({ kind: "cache-documents", repositoryId: 7, entries, bytes, limits }, context);
  t.ok(made.byteCount <= shardBytesMax);
  t.equal(made.missingCount, 0);
  const reader = new ShardReader(1, new Uint8Array(context.arena, bytes.from, made.byteCount));
  t.same([...made.sets], Array(reader.documentCount).fill(1));
  return reader;
}

function check(t: Test, reader: ShardReader): void {
  const numbers = new Map(Array.from({ length: reader.documentCount }, (_, i) => [reader.path(i).toString(), i]));
  t.equal(numbers.size, files.length);
  const folding: number[] = [];
  for (const [path, text, reason] of files) {
    const document = numbers.get(path) ?? -1;
    t.equal(skipReasonFromCode(unpackSkipCode(reader.documentInfo[document])), reason, path);
    if (reason !== "none" && reason !== "not-decoded") continue;
    const content = reader.contentId(document);
    const [from, to] = reader.contentStart.subarray(content, content + 2);
    t.ok(Buffer.from(text).equals(reader.content.subarray(from, to)), path);
    if (/[\u212a\u017f]/.test(text.toString())) folding.push(content);
  }
  t.equal(folding.length, 2);
  t.same([...reader.foldExceptions], folding.sort());
  const languages = reader.languages();
  t.equal(languages[unpackLanguage(reader.documentInfo[numbers.get("a.c") ?? -1])], "C");
  t.equal(languages[unpackLanguage(reader.documentInfo[numbers.get("c with space.h") ?? -1])], "C++");
}

t.test("texts that git has packed, and loose ones", async (t) => {
  const source = GitFixture.create();
  t.teardown(() => source.remove());
  const texts = files.map(([path, text, reason]): readonly [string, FixtureFile] => [
    path,
    reason === "not-regular" ? { symlink: text.toString() } : text,
  ]);
  source.commit({ branch: "main", files: texts.filter((_, i) => i % 3 > 0) });
  source.git("repack", "-adfq");
  const commit = source.commit({ branch: "main", files: texts });
  t.match(source.git("count-objects"), /^[1-9]/, "some are loose");
  check(t, await build(t, source, commit));
  source.git("repack", "-adfq");
  t.match(source.git("count-objects"), /^0 /, "all are packed");
  check(t, await build(t, source, commit));
});

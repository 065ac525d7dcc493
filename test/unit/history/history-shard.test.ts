import { readFileSync, writeFileSync } from "node:fs";
import t, { type Test } from "tap";
import { TrawlError } from "../../../src/base/errors.js";
import { HistorySearch } from "../../../src/eval/history/history-search.js";
import { entryPathShift, formatVersion, headerBytes, sections } from "../../../src/history/format.js";
import { HistoryReader, HunkReader } from "../../../src/history/history-reader.js";
import { LineDictionary } from "../../../src/history/line-dictionary.js";
import { loadKernel } from "../../../src/native/kernel/load.js";
import { crc32 } from "../../../src/native/memory/memory.js";
import { Analyses } from "../../../src/query/fields/analyses.js";
import { basicQueries } from "../../../src/query/syntax/basic.js";
import { planHistory } from "../../../src/query/plan/plan-history.js";
import { parseQuery } from "../../../src/query/syntax/parse.js";
import { headerCrc, headerWordCount, headerWords, sectionWordCount } from "../../../src/shard/section-layout.js";
import { neverStopped } from "../../support/engine.js";
import { GitFixture } from "../../support/git-fixture.js";
import { generateHistory } from "../../support/history-repository.js";
import { buildHistoryShard } from "../../support/history-shards.js";
import { seed } from "../../support/property.js";
import { randomFrom } from "../../support/random.js";

t.test("the worked example of FORMAT.md", async (t) => {
  const repository = GitFixture.create();
  t.teardown(() => repository.remove());
  const author = "A <a@b> 1 +0000";
  const root = repository.commit({ branch: "main", files: { f: "x\ny\n" }, author });
  const change = repository.commit({ branch: "main", files: { f: "x\nz\n" }, author });
  const bytes = await buildHistoryShard(repository.path, [change, root], "ts", "with-postings");
  const reader = new HistoryReader(1, bytes);
  reader.verify("index");
  reader.verify("text");
  t.equal(bytes.toString("latin1", 0, 8), "TRWLHIST");
  t.equal(reader.hunks.toString("hex"), "000004000600050000" + "0000090600");
  t.equal(reader.lines.content.toString("latin1", 0, 6), "x\ny\nz\n");
  t.same([...reader.entryFirstLine], [0, 3, 3]);
  t.same([...reader.entryInfo], [0, 1]);
  t.same([...reader.parents], [1]);
  t.equal(reader.oid(0), change);
});

/** The shard in `test/frozen`. What it holds must never change. */
async function frozenShard(t: Test): Promise<Buffer> {
  const repository = GitFixture.create();
  t.teardown(() => repository.remove());
  const ann = "Ann Example <ann@example.org> 1600000000 +0200";
  const bob = "B\u00f6b <bob@example.org> 1600000100 -0730";
  const long = Array.from({ length: 300 }, (_, i) => `line ${i}${i % 50 === 0 ? " of the needle" : ""}\n`);
  const changed = long.map((line, i) => (i % 97 === 0 ? `changed ${line}` : line)).slice(0, 290);
  const oids = [
    repository.commit({ branch: "main", files: { "long.txt": long.join(""), empty: "" }, author: ann }),
    repository.commit({
      branch: "main",
      files: { "long.txt": changed.join(""), "b/\u212a.c": "int f(void)\n{\n}\n" },
      author: bob,
    }),
    repository.commit({
      branch: "main",
      files: { "b/\u212a.c": "int f(void)\n{\n\treturn 1;\n}\n" },
      message: "Return\n\nFixes #1\n",
    }),
    repository.commit({
      branch: "main",
      files: { empty: { deleted: true }, image: Buffer.from([0, 1, 2]) },
      author: ann,
    }),
  ];
  return buildHistoryShard(repository.path, oids.reverse(), "native", "with-postings");
}

/** `FREEZE=1` writes the file of the current version, which is done once, when a version is born. */
t.test("a history shard of the current version stays readable", async (t) => {
  const file = `test/frozen/history-${formatVersion}.bin`;
  if (process.env["FREEZE"] !== undefined) writeFileSync(file, await frozenShard(t));
  const frozen = readFileSync(file);
  t.ok(frozen.equals(await frozenShard(t)), "the bytes that are written have not changed without a new version");
  t.same(describeAll(frozen), [
    "Ann Example <ann@example.org> 120 a commit: empty image",
    "Fixture <fixture@example.org> 0 Return\n\nFixes #1: b/\u212a.c @2,2 |+|",
    "B\u00f6b <bob@example.org> -450 a commit: b/\u212a.c @1,1 +++ long.txt @1,1 -+| @97,97 |-+| @194,194 |-+| @290,290 |-*10",
    "Ann Example <ann@example.org> 120 a commit: empty long.txt @1,1 +*300",
  ]);
});

/** Author, message and changes of each commit; of each hunk its first lines and the sign of each line. */
function describeAll(bytes: Buffer): string[] {
  const reader = new HistoryReader(1, bytes);
  reader.verify("index");
  reader.verify("text");
  const hunks = new HunkReader(reader);
  return Array.from({ length: reader.commitCount }, (_, commit) => {
    const { name, email } = reader.person(reader.authors[commit]);
    const parts = [`${name} <${email}> ${reader.authorZoneMinutes(commit)} ${reader.message(commit)}:`];
    for (let entry = reader.commitFirstEntry[commit]; entry < reader.commitFirstEntry[commit + 1]; entry++) {
      parts.push(String(reader.paths.path(reader.entryInfo[entry] >>> entryPathShift)));
      hunks.begin(entry);
      while (hunks.nextHunk()) {
        const start = `@${hunks.oldStart},${hunks.newStart}`;
        let signs = "";
        while (hunks.nextRun()) signs += "|+-"[hunks.sign].repeat(hunks.end - hunks.first);
        parts.push(
          start,
          signs.replace(/([+-])\1{3,}/g, (run, sign) => `${sign}*${run.length}`),
        );
      }
    }
    return parts.join(" ");
  });
}

t.test("both kernels build the same bytes", async (t) => {
  const repository = generateHistory(seed, 30);
  t.teardown(() => repository.remove());
  const oids = repository.git("rev-list", "--all").split("\n");
  const native = await buildHistoryShard(repository.path, oids, "native", "with-postings");
  t.ok(native.equals(await buildHistoryShard(repository.path, oids, "ts", "with-postings")));
});

t.test("lines with the same hash", async (t) => {
  const lines = new LineDictionary();
  const texts = Array.from({ length: 500 }, (_, i) => Buffer.from(`line ${i % 250}`));
  const numbers = texts.map((text) => lines.add(text, 0, text.length, 7));
  t.ok(lines.count >= 250 && lines.count < 500, "most are stored once");
  numbers.forEach((number, i) => {
    const stored = lines.text.subarray(lines.start[number], lines.start[number + 1] - 1);
    if (!stored.equals(texts[i])) t.same(stored, texts[i]);
  });
});

t.test("damage is found, whether or not the checksums agree with it", async (t) => {
  const repository = generateHistory(seed + 1, 30);
  t.teardown(() => repository.remove());
  const oids = repository.git("rev-list", "--all").split("\n");
  const whole = await buildHistoryShard(repository.path, oids, "native", "with-postings");
  const random = randomFrom(seed);
  readAll(whole);
  let found = 0;
  for (let round = 0; round < 400; round++) {
    const bytes = Buffer.from(whole);
    const at = random(bytes.length);
    bytes[at] ^= 1 << random(8);
    const isPadding = whole[at] === 0 && !isInSection(whole, at);
    t.equal(failure(bytes) !== undefined || isPadding, true, `byte ${at}`);
    repairChecksums(bytes);
    if (failure(bytes) !== undefined) found++;
  }
  t.ok(found > 50, `wrong offsets are found without checksums: ${found}`);
  for (const length of [0, 7, headerBytes - 1, headerBytes, whole.length - 8])
    t.match(failure(whole.subarray(0, length)), /damaged/, `${length} bytes`);
});

/** The message of the `corrupt-shard` error, if there is one; other errors are thrown. */
function failure(bytes: Buffer): string | undefined {
  try {
    readAll(bytes);
    return undefined;
  } catch (error) {
    if (error instanceof TrawlError && (error.code === "corrupt-shard" || error.code === "format-version"))
      return error.message;
    throw error;
  }
}

/** Reads everything in a shard. */
function readAll(bytes: Buffer): void {
  const reader = new HistoryReader(1, bytes);
  reader.verify("index");
  reader.verify("text");
  const hunks = new HunkReader(reader);
  for (let entry = 0; entry < reader.entryCount; entry++) {
    hunks.begin(entry);
    while (hunks.nextHunk()) while (hunks.nextRun());
  }
  for (const text of ["type:diff abk", "type:commit fix or abk", "type:diff author:ann", "type:diff /a.k/"]) {
    for (const plan of planHistory(basicQueries(parseQuery(text, "keyword"))[0], new Analyses(text), 0)) {
      const target = { reader, kernel: loadKernel("native"), visible: undefined, useIndex: true, stop: neverStopped };
      const search = new HistorySearch(plan, target);
      while (search.next() >= 0) search.render();
    }
  }
}

function isInSection(bytes: Buffer, at: number): boolean {
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, headerBytes / 4);
  return (
    at < headerBytes ||
    sections.some((_, i) => {
      const entry = headerWordCount + i * sectionWordCount;
      return at >= words[entry] && at < words[entry] + words[entry + 1];
    })
  );
}

function repairChecksums(bytes: Buffer): void {
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, headerBytes / 4);
  sections.forEach((_, i) => {
    const entry = headerWordCount + i * sectionWordCount;
    if (words[entry] + words[entry + 1] <= bytes.length)
      words[entry + 2] = crc32(bytes.subarray(words[entry], words[entry] + words[entry + 1]));
  });
  words[headerWords.headerCrc] = headerCrc(bytes, sections.length);
}

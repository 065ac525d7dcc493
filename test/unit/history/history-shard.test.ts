import t from "tap";
import { TrawlError } from "../../../src/base/errors.js";
import { HistorySearch } from "../../../src/eval/history/history-search.js";
import { headerBytes, sections } from "../../../src/history/format.js";
import { HistoryReader } from "../../../src/history/history-reader.js";
import { HunkReader } from "../../../src/history/hunk-reader.js";
import { LineDictionary } from "../../../src/history/line-dictionary.js";
import { loadKernel } from "../../../src/native/kernel/load.js";
import { crc32 } from "../../../src/native/memory/memory.js";
import { Analyses } from "../../../src/query/plan/analyses.js";
import { basicQueries } from "../../../src/query/plan/basic.js";
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

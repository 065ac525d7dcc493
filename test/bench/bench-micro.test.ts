import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { measureBench, type MicroBench } from "../../native-bench/micro/bench.js";
import { Fixture, sampleText, type MicroText } from "../../native-bench/micro/fixture.js";
import { scanGroup } from "../../native-bench/micro/kernel-benches.js";
import { Results } from "../../native-bench/report/results.js";
import { measureMicro } from "../../native-bench/suites/micro.js";

const words = [
  "return",
  "buffer",
  "error",
  "my_error",
  "if (",
  "memory barrier",
  "Error",
  "BUFFER",
  "\t",
  "    ",
  "x86_64_init(",
  '"quoted"',
  "é",
  "\u20ac",
  "->",
  "0x1f",
  ";",
  "static",
];

/** Lines of words, the same each time; some documents come twice. */
function makeText(documentCount: number): MicroText {
  let seed = 1;
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 1;
    return seed % below;
  };
  const line = (): string => Array.from({ length: 1 + random(12) }, () => words[random(words.length)]).join(" ");
  const texts = Array.from({ length: documentCount }, () =>
    Buffer.from(Array.from({ length: 20 + random(200) }, line).join("\n") + "\n"),
  );
  return sampleText(
    texts.map((_, i) => String(i)),
    (path) => texts[Number(path) - (Number(path) % 2)] ?? Buffer.alloc(0),
    Infinity,
  );
}

function folderFor(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), "trawl-micro-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

t.test("every group runs, and its subjects find the same", async (t) => {
  const results = new Results(true);
  const settings = { workFolder: join(folderFor(t), "work"), rounds: 2, roundMs: 0, progress: () => {} };
  await measureMicro(makeText(60), settings, results);
  const { notes, samples, tables, plots } = results.findings();
  t.same(
    notes.filter((note) => note.includes("differ")),
    [],
  );
  t.ok(samples.length >= 34, `${samples.length} samples`);
  for (const { task, subject, values } of samples) {
    t.ok(
      values.length === 2 && values.every((value) => value > 0 && Number.isFinite(value)),
      `${task}, ${subject}: ${values.join(", ")}`,
    );
  }
  const subjects = new Set(samples.map(({ subject }) => subject));
  const hasCompiler = !notes.some((note) => note.includes("not measured"));
  const names = ["ts", ...(hasCompiler ? ["native", "memory", "copying", "plain sums", "C library"] : [])];
  for (const name of names) t.ok(subjects.has(name), name);
  t.same(
    tables.map(({ title }) => title),
    ["Finding literals", "Posting lists", "Building shards"],
  );
  for (const { head, rows } of tables) t.ok(rows.length > 0 && rows.every((row) => row.length === head.length));
  for (const { name, series } of hasCompiler ? plots : [])
    t.ok(series.length > 1 && series.every(({ points }) => points.length > 0), name);
});

t.test("no ratio if the results differ", async (t) => {
  const results = new Results(false);
  const bench: MicroBench = {
    task: "count",
    unit: "M",
    subjects: [
      { name: "right", result: () => "3", run: () => ({ amount: 1, seconds: 1 }) },
      { name: "wrong", result: () => "4", run: () => ({ amount: 1, seconds: 1 }) },
      { name: "limit", result: undefined, run: () => ({ amount: 2, seconds: 1 }) },
    ],
  };
  results.grid("T", "right");
  await measureBench("group", bench, { rounds: 5, roundMs: 0 }, results);
  const { notes, tables } = results.findings();
  t.same(notes, ["group: count: the results differ (right: 3, wrong: 4), so there is no ratio."]);
  t.equal(results.ratio("group: count", "right", "wrong"), undefined);
  t.same(tables[0]?.rows[0]?.slice(-2), ["differs", "differs"]);
});

t.test("the first round does not count, and a round lasts the requested time", async (t) => {
  let runs = 0;
  const results = new Results(false);
  const bench: MicroBench = {
    task: "t",
    unit: "M",
    subjects: [{ name: "s", result: undefined, run: () => ({ amount: ++runs, seconds: 0.01 }) }],
  };
  await measureBench("group", bench, { rounds: 2, roundMs: 30 }, results);
  t.equal(runs, 9, "three trials in each of three rounds");
  t.same(results.values("group: t", "s").map(Math.round), [500, 800]);
});

t.test("without a compiler, all other subjects are measured", async (t) => {
  const former = process.env["CC"];
  process.env["CC"] = "/nonexistent/cc";
  t.teardown(() => {
    if (former === undefined) delete process.env["CC"];
    else process.env["CC"] = former;
  });
  const fixture = await Fixture.open(makeText(4), join(folderFor(t), "work"));
  t.match(fixture.notes, [/limits are not measured: .*\/nonexistent\/cc/]);
  const group = scanGroup(fixture);
  t.ok(group.benches.every(({ subjects }) => subjects.every(({ name }) => ["native", "ts"].includes(name))));
  fixture.close();
});

t.test("the measurements of the machine's limits count correctly", async (t) => {
  const fixture = await Fixture.open(makeText(4), join(folderFor(t), "work"));
  const subjects = fixture.limitsOn("few", Buffer.from("aXaXXa\n\nXX"), (limits) => [
    limits.peer("byte", "byte 58", 1),
    limits.peer("string", "find 5858", 1),
    limits.limit("read", "read", 1),
    limits.limit("copy", "copy", 1),
    limits.limit("sums", "sums", 1),
  ]);
  const [byte, string, ...limits] = subjects;
  t.equal(subjects.length, fixture.notes.length > 0 ? 0 : 5, fixture.notes.join());
  if (byte !== undefined) t.equal(await byte.result?.(), "5");
  if (string !== undefined) t.equal(await string.result?.(), "2");
  for (const limit of limits) t.equal((await limit.run()).amount, 10, limit.name);
  fixture.close();
});

t.test("a sample is spread over the list and has the requested size", async (t) => {
  const paths = Array.from({ length: 40 }, (_, i) => String(i));
  const { documents, bytes } = sampleText(paths, () => Buffer.alloc(10), 50);
  t.same(
    documents.map(({ path }) => path),
    ["0", "16", "32", "1", "17"],
  );
  t.equal(bytes, 50);
});

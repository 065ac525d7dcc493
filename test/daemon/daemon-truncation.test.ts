/**
 * Files that lose bytes under a running daemon: it lives, says what it cannot answer, writes nothing more, and repairs
 * them at the next start.
 */
import { execFileSync, spawn } from "node:child_process";
import { cpSync, readdirSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { neverStop } from "../../src/base/stop-signal.js";
import { StoredObjects } from "../../src/git/objects/stored-objects.js";
import { FileGuard, packFaults } from "../../src/native/process/file-guard.js";
import { RecordStore } from "../../src/store/record-store.js";
import { CatalogSnapshots } from "../../src/store/catalog-snapshots.js";
import { ShardStore } from "../../src/store/shard-store.js";
import { dataDirectory, DaemonProcess, testDaemon, textsOnly } from "../support/daemon.js";
import { inLongRuns, isFull } from "../support/full-run.js";
import { fixture } from "../support/git-mirror.js";
import { linesWith, readCommit } from "../support/git-oracle.js";
import { until } from "../support/waiting.js";

const needle = "needle";

/** `small` makes a shard that is copied when it is read, `large` one that is mapped. */
const sources = { small: fixture(t), large: fixture(t) };
const textOf = (label: string, i: number, size: number): string =>
  `${label} ${i}\n${needle} ${label}${i}\n${`filler ${i} of the text\n`.repeat(size)}`;
sources.small.commit({
  branch: "main",
  files: Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`s${i}.txt`, textOf("small", i, 1)])),
});
sources.large.commit({
  branch: "main",
  files: Object.fromEntries(
    Array.from({ length: 18 }, (_, i) => [`l${i}.txt`, textOf("large", i, isFull ? 24_000 : 12_000)]),
  ),
});
const all = Object.entries(sources)
  .flatMap(([name, { path }]) => linesWith(`host/${name}`, readCommit(path, "main"), needle))
  .sort();

/** One worker starts faster, and behaves the same; there are no symbols in these texts. Histories are searched in a long run. */
const oneWorker = isFull ? ["--set", "workers=1", "--set", "index.symbols=false"] : textsOnly;

/** The data directory of a stopped daemon with both repositories; tests use copies. */
const whole = dataDirectory(t);

t.before(async () => {
  const daemon = await DaemonProcess.start(whole, oneWorker);
  await daemon.add("host/large", sources.large.path);
  await daemon.add("host/small", sources.small.path);
  t.same((await daemon.search(needle)).found, all);
  await daemon.stop();
});

async function startOnCopy(t: Test): Promise<DaemonProcess> {
  const data = dataDirectory(t);
  cpSync(whole, data, { recursive: true });
  return await testDaemon(t, oneWorker, data);
}

async function requireNotReady(t: Test, daemon: DaemonProcess, store: string): Promise<void> {
  await until("it is not ready", async () => (await daemon.get("/readyz")).status === 503);
  t.match((await daemon.get("/readyz")).text, /"A store of the daemon was damaged while it was running/);
  const lines = (await daemon.wholeLog()).filter(({ msg }) =>
    String(msg).startsWith(`${store} is damaged, and nothing more is written to it`),
  );
  t.equal(lines.length, 1, "the log says it once");
}

async function requireMended(t: Test, daemon: DaemonProcess): Promise<void> {
  t.equal(await daemon.stop(), 0);
  const again = await testDaemon(t, oneWorker, daemon.data);
  await until("all is found again", async () => (await again.search(needle)).found.length === all.length);
  const answer = await again.search(needle);
  t.same([answer.found, answer.skipped], [all, []]);
  t.equal((await again.get("/readyz")).status, 200);
  // Shards of commits are built after those of the text.
  await until("no shard is missing", async () => (await again.countFaults()) === 0);
}

async function requireDamageTold(t: Test, daemon: DaemonProcess): Promise<void> {
  for (let i = 0; i < 2; i++) {
    const { found, skipped } = await daemon.search(needle);
    t.same(skipped, ["backend-missing"], "the answer says that a part is missing");
    t.same(
      found.filter((line) => !all.includes(line)),
      [],
      "and nothing is found that is not there",
    );
  }
  t.same(
    (await daemon.search("type:path txt")).found.filter((path) => /[^ -~]/.test(path)),
    [],
  );
}

t.test("the shard store is truncated to half its size, and then to nothing", inLongRuns, async (t) => {
  const daemon = await startOnCopy(t);
  t.same((await daemon.search(needle)).found, all, "its shards were verified, and are mapped");
  for (const length of [8 << 20, 0]) {
    truncateSync(join(daemon.data, "shards", "data.mdb"), length);
    await requireDamageTold(t, daemon);
  }
  await requireNotReady(t, daemon, "the shard store");
});

t.test("the shard store is truncated to its first pages", inLongRuns, async (t) => {
  const daemon = await startOnCopy(t);
  t.same((await daemon.search(needle)).found, all, "its shards were verified, and are mapped");
  truncateSync(join(daemon.data, "shards", "data.mdb"), 8192);
  await requireDamageTold(t, daemon);
  await requireNotReady(t, daemon, "the shard store");
  sources.small.commit({ branch: "main", files: { "s0.txt": textOf("small", 0, 1) }, message: "another" });
  await t.rejects(
    daemon.sync("host/small"),
    /the shard store is damaged, and nothing more is written to it: .* was truncated while it was in use\. Restart the daemon/,
  );
  t.equal(statSync(join(daemon.data, "shards", "data.mdb")).size, 8192, "nothing was written");
  await requireMended(t, daemon);
});

t.test("the shard store is truncated during a search", async (t) => {
  const daemon = await startOnCopy(t);
  const response = await daemon.openStream("/filler \\d+ of/", "standard");
  let bytes = 0;
  let text = "";
  await new Promise<void>((resolve) =>
    response.once("data", (part: Buffer) => {
      bytes += part.length;
      response.pause();
      resolve();
    }),
  );
  truncateSync(join(daemon.data, "shards", "data.mdb"), 16_384);
  response.on("data", (part: Buffer) => {
    text = (text + part.toString()).slice(-20_000);
  });
  response.resume();
  await new Promise((resolve) => response.on("close", resolve));
  t.ok(bytes > 0);
  t.match(
    text,
    /event: progress\ndata: .*"done":true.*"reason":"backend-missing"[^]*event: done/,
    "the search ends, and says so",
  );
  t.notOk(text.includes("\\u0000"), "zeros are no text");
  await requireNotReady(t, daemon, "the shard store");
});

t.test("the catalog is truncated", async (t) => {
  const daemon = await startOnCopy(t);
  truncateSync(join(daemon.data, "catalog", "data.mdb"), 8192);
  await requireNotReady(t, daemon, "the catalog");
  t.same((await daemon.search(needle)).found, all, "it is in memory");
  await t.rejects(
    daemon.add("host/third", sources.small.path),
    /the catalog is damaged, and nothing more is written to it/,
  );
  t.equal(statSync(join(daemon.data, "catalog", "data.mdb")).size, 8192, "nothing was written");
  const snapshots = readdirSync(join(daemon.data, "catalog-snapshots"));
  await requireMended(t, daemon);
  t.ok(
    snapshots.every((name) => readdirSync(join(daemon.data, "catalog-snapshots")).includes(name)),
    "no snapshot of the damaged one took the place of a good one",
  );
});

t.test("a fault belongs to the store that is mapped there now", async (t) => {
  const folder = dataDirectory(t);
  const open = (name: string): ShardStore => new ShardStore(join(folder, name));
  const closed = open("closed");
  await closed.put([{ id: 1, bytes: Buffer.alloc(100_000, 1) }]);
  await closed.close();
  const shards = open("shards");
  await shards.put([{ id: 2, bytes: Buffer.alloc(20 << 20, 2) }]);
  const snapshot = shards.read();
  const mapped = snapshot.get(2)!;
  truncateSync(join(folder, "shards", "data.mdb"), 12_288);
  t.equal(mapped[10 << 20], 0);
  t.same([closed.guard.faultCount, shards.guard.faultCount], [0, 1]);
  snapshot.close();
});

t.test("a truncated store is not written to, and returns errors", async (t) => {
  const folder = dataDirectory(t);
  const shards = new ShardStore(join(folder, "shards"));
  await shards.put([
    { id: 1, bytes: Buffer.alloc(100_000, 1) },
    { id: 2, bytes: Buffer.alloc(20 << 20, 2) },
  ]);
  const before = shards.read();
  const mapped = before.get(2)!;
  truncateSync(join(folder, "shards", "data.mdb"), 12_288);
  t.equal(mapped[10 << 20], 0, "what is lost is zeros");
  t.equal(shards.guard.faultCount > 0, true);
  before.close();
  const after = shards.read();
  t.throws(() => after.get(1), { code: "corrupt-shard" });
  after.close();
  await t.rejects(shards.put([{ id: 3, bytes: Buffer.alloc(10) }]), {
    code: "storage",
    message: /truncated while it was in use/,
  });
  await t.rejects(shards.remove([1]), { code: "storage" });
  const records = new RecordStore(join(folder, "catalog"));
  await records.apply([{ key: "a", value: Buffer.from("{}") }]);
  truncateSync(join(folder, "catalog", "data.mdb"), 4096);
  await t.rejects(records.apply([{ key: "b", value: Buffer.from("{}") }]), {
    code: "storage",
    message: /the catalog is damaged/,
  });
  await t.rejects(new CatalogSnapshots(join(folder, "snapshots")).take(records, new Date()), { code: "storage" });
  t.same(new CatalogSnapshots(join(folder, "snapshots")).names(), []);
});

t.test("the objects of a pack that is truncated while it is open are not found", (t) => {
  const mirror = join(dataDirectory(t), "copy.git");
  cpSync(sources.small.path, mirror, { recursive: true });
  execFileSync("git", ["-C", mirror, "repack", "-adq"]);
  const oid = execFileSync("git", ["-C", mirror, "rev-parse", "main"], { encoding: "latin1" }).trim();
  const folder = join(mirror, "objects", "pack");
  const packs = StoredObjects.open(mirror, 40, neverStop)!;
  t.type(packs.readCommit(oid), "string");
  for (const name of readdirSync(folder)) if (name.endsWith(".pack")) truncateSync(join(folder, name), 0);
  t.equal(packs.readCommit(oid), undefined);
  t.ok(packFaults() > 0, "each read of the lost pages is counted");
  packs.close();
  t.end();
});

t.test("any other SIGBUS still ends the process", async (t) => {
  const script = `await import(${JSON.stringify(new URL("../../src/native/process/file-guard.js", import.meta.url).href)}).then(({ packFaults }) => packFaults()); process.kill(process.pid, "SIGBUS"); setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: "ignore" });
  t.equal(await new Promise((resolve) => child.on("close", (_, signal) => resolve(signal))), "SIGBUS");
  t.same(new FileGuard("/nonexistent").state(), { faults: 0, isShorter: false, isGone: false });
});

/**
 * `trawl backup` of a running daemon and `trawl restore`: every answer is the same, a folder takes only what is new,
 * damage is found.
 */
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync, cpSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { parseList, parseManifest, type Manifest } from "../../../src/backup/manifest.js";
import { checkOffline } from "../../../src/cli/check/offline-check.js";
import { backup as backUp, restoreBackup } from "../../../src/cli/run-backup.js";
import type { ConnectionStatus } from "../../../src/codehost/connections.js";
import { dataDirectory, DaemonProcess, runCommand, testDaemon } from "../../support/daemon.js";
import { scaled } from "../../support/full-run.js";
import { fixture } from "../../support/git-mirror.js";
import { until } from "../../support/waiting.js";

const source = { a: fixture(t), b: fixture(t), c: fixture(t), listed: fixture(t) };
source.a.commit({
  branch: "main",
  files: { "a.txt": "needle one\n", "d/b.txt": "needle two\n", "caf\u00e9.txt": "needle three\n" },
});
source.a.commit({ branch: "release/1", files: { "a.txt": "needle four\n" } });
source.a.tag("v1", source.a.git("rev-parse", "main"));
source.b.commit({
  branch: "main",
  files: Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`b${i}.txt`, `needle b ${i}\n`])),
});
source.c.commit({ branch: "main", files: { "c.txt": "needle of c\n" } });
source.listed.commit({ branch: "main", files: { "l.txt": "needle of a list\n" } });

const backup = join(dataDirectory(t), "backup");
const folder = t.testdir();
/** The list of a connection. */
const list = join(folder, "list");
const config = ["--config", join(folder, "trawl.jsonc")];
let daemon: DaemonProcess;

t.before(async () => {
  writeFileSync(list, `one ${source.listed.path}\n`);
  writeFileSync(config[1], JSON.stringify({ connections: [{ name: "all", kind: "list", url: list, prefix: "l/" }] }));
  daemon = await DaemonProcess.start(dataDirectory(t), config);
  await daemon.add("host/a", source.a.path, ["release/1"]);
  await daemon.add("host/b", source.b.path);
  await daemon.control("POST", "/.api/users", { name: "ann", siteAdmin: false });
  await daemon.control("POST", "/.api/repos/host%2Fb/attributes", { stars: 7, description: "of b", topics: ["x"] });
  source.a.commit({ branch: "main", files: { "a.txt": "needle one and more\n", "d/b.txt": { deleted: true } } });
  await daemon.sync("host/a");
  await until("what is listed is searchable", async () => (await daemon.search("repo:^l/ needle")).found.length === 1);
});
t.teardown(() => daemon.kill());

const queries = [
  "needle",
  "needle type:path",
  "file:caf",
  "repo:host/a@release/1 needle",
  "repo:host/a@v1 needle",
  "needle select:repo",
  "repo:has.description(b) needle",
  "nothing at all",
];

/** Everything that a client can see, without times and addresses. */
async function answersOf(asked: DaemonProcess): Promise<unknown> {
  const answers: unknown[] = [];
  for (const query of queries) {
    const { found, skipped, alert, error, progress } = await asked.search(query, "standard");
    answers.push({ query, found, skipped, alert, error, matchCount: progress?.matchCount });
  }
  const list = (await asked.list()).map(
    ({ name, url, state, branches, documentCount, contentBytes, skippedCounts, stars, description, topics }) => ({
      name,
      url,
      state,
      branches,
      documentCount,
      contentBytes,
      skippedCounts,
      stars,
      description,
      topics,
    }),
  );
  return { answers, list, users: await asked.control("GET", "/.api/users") };
}

/** Does what `trawl backup` does; returns the number of bytes copied. */
async function take(): Promise<number> {
  const told: string[] = [];
  const exitCode = await backUp(backup, daemon.data, (line) => told.push(line));
  t.equal(exitCode, 0, told.join("\n"));
  return Number(/, (\d+) bytes copied$/.exec(told.at(-1)!)![1]);
}

const ignore = (): void => undefined;

function manifest(): Manifest {
  return parseManifest(readFileSync(join(backup, "manifest.json"), "utf8"));
}

function contents(): string[] {
  return readdirSync(join(backup, "files"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.includes("/"))
    .sort();
}

t.test("a restored daemon responds like the one that was backed up", async (t) => {
  const taken = await runCommand("backup", backup, "--data", daemon.data);
  t.match(taken, { exitCode: 0, out: /: \d+ shards and 3 mirrors, [1-9]\d* bytes copied\n$/ });
  const before = await answersOf(daemon);
  const data = join(dataDirectory(t), "restored");
  const restored = await runCommand("restore", backup, "--data", data);
  t.match(restored, { exitCode: 0, out: /: \d+ shards and 3 mirrors, \d+ bytes, as they were on 20.*Z\n/, err: /^$/ });
  t.match(await runCommand("check", "--data", data), { exitCode: 0, out: /3 repositories checked, 0 faults\n$/ });
  t.equal(statSync(data).mode & 0o777, 0o700);
  // The host does not answer when the restored daemon starts.
  rmSync(list);
  const again = await testDaemon(t, config, data);
  t.same(await answersOf(again), before);
  t.equal(await again.metric("trawl_sync_read_blobs_total"), 0, "nothing had to be indexed");
  await again.sync("host/a");
  await until("the connection has failed", async () =>
    ((await again.control("GET", "/.api/connections")) as readonly ConnectionStatus[]).every(
      ({ error }) => error !== "",
    ),
  );
  t.same(await answersOf(again), before, "its mirrors are those of the same remotes, and what was listed stays");
});

t.test("a backup contains the secrets of remotes, readable only by the owner", async (t) => {
  await t.rejects(daemon.add("host/secret", "http://user:pass%77ord@127.0.0.1:1/x.git"));
  await take();
  await daemon.remove("host/secret");
  const data = join(dataDirectory(t), "restored");
  await restoreBackup(backup, data, ignore);
  const [name] = readdirSync(join(data, "secrets"));
  t.match(readFileSync(join(data, "secrets", name!), "utf8"), /user/);
  t.equal(statSync(join(data, "secrets", name!)).mode & 0o777, 0o600);
  t.equal(statSync(backup).mode & 0o777, 0o700);
  t.same(
    readdirSync(join(backup, "files"), { recursive: true, withFileTypes: true }).filter(
      (entry) => (statSync(join(entry.parentPath, entry.name)).mode & 0o077) !== 0,
    ),
    [],
  );
});

t.test("a further backup adds new files, and deletes files that are no longer needed", async (t) => {
  await take();
  const catalogBytes = manifest().entries.find(({ path }) => path === "catalog/data.mdb")!.bytes;
  const first = contents();
  t.ok((await take()) <= catalogBytes, "of the same state at most the catalog");
  t.same(contents().length, first.length);
  source.a.commit({ branch: "main", files: { "new.txt": "needle new\n" } });
  await daemon.sync("host/a");
  const copied = await take();
  const { entries } = manifest();
  t.ok(copied < entries.reduce((sum, { bytes }) => sum + bytes, 0) && copied > 0);
  const needed = new Set(
    entries.flatMap(({ kind, sha256, path }) => [
      sha256,
      ...(kind === "list"
        ? parseList(readFileSync(join(backup, "files", sha256.slice(0, 2), sha256), "utf8"), path).map(
            (file) => file.sha256,
          )
        : []),
    ]),
  );
  t.same(
    contents().map((name) => name.slice(3)),
    [...needed].sort(),
    "each content once, and nothing else",
  );
  t.same(readdirSync(backup).sort(), ["files", "manifest.json"]);
});

t.test("a backup during syncs and removals is consistent", async (t) => {
  let isOver = false;
  const work = async (): Promise<void> => {
    for (let i = 0; !isOver || i < 2; i++) {
      source.a.commit({ branch: "main", files: { "a.txt": `needle ${i}\n`, [`f${i}.txt`]: "needle f\n" } });
      await daemon.sync("host/a");
      if (i % 2 === 0) await daemon.add("host/c", source.c.path);
      else await daemon.remove("host/c");
    }
  };
  for (let i = 0; i < scaled(1, 20); i++) {
    isOver = false;
    const working = work();
    await take();
    isOver = true;
    await working;
    const data = join(dataDirectory(t), "restored");
    await restoreBackup(backup, data, ignore);
    const told: string[] = [];
    await checkOffline(data, (line) => told.push(line));
    // A repository that was removed before its mirror's turn comes is fetched again.
    t.same(
      told.filter((line) => /^shard|catalog|^[0-9]+ files|index has/.test(line)),
      [],
      told.join("\n"),
    );
  }
});

t.test("impossible requests are rejected", async (t) => {
  const data = dataDirectory(t);
  writeFileSync(join(data, "something"), "");
  const save = (target: string, from = daemon.data): Promise<unknown> => backUp(target, from, ignore);
  const restore = (from: string, to: string): Promise<unknown> => restoreBackup(from, to, ignore);
  const refusals: readonly (readonly [what: string, request: () => Promise<unknown>, message: RegExp])[] = [
    ["something else", () => save(data), /contains something other than a backup/],
    ["within the data", () => save(join(daemon.data, "inner")), /contain one another/],
    ["around the data", () => save("/"), /contain one another/],
    ["no daemon", () => save(backup, dataDirectory(t)), /no trawld is running/],
    ["to a used folder", () => restore(backup, data), /is not empty: use an empty folder.*Nothing was changed/],
    ["of no backup", () => restore(data, dataDirectory(t)), /is not a backup, or was not completed/],
    ["over the data", () => restore(backup, daemon.data), /is not empty/],
  ];
  for (const [what, request, message] of refusals) await t.rejects(request, { message }, what);
  t.same(readdirSync(data), ["something"]);
});

t.test("a damaged backup is not restored, and no daemon starts on a partial restore", async (t) => {
  await take();
  const copy = join(dataDirectory(t), "copy");
  cpSync(backup, copy, { recursive: true });
  const shard = manifest().entries.find(({ kind }) => kind === "shard")!;
  const path = join(copy, "files", shard.sha256.slice(0, 2), shard.sha256);
  const bytes = readFileSync(path);
  bytes[bytes.length >> 1]! ^= 1;
  writeFileSync(path, bytes);
  const data = join(dataDirectory(t), "restored");
  const restore = (to = dataDirectory(t)): Promise<void> => restoreBackup(copy, to, ignore);
  await t.rejects(restore(data), {
    message:
      /the backup is damaged: "shards\/.*" cannot be read \(it has a wrong checksum\)\. Empty .* before trying again/,
  });
  t.match(await runCommand("serve", "--data", data, "--listen", "127.0.0.1:0"), {
    exitCode: 2,
    err: /the restore of a backup to .* was not completed: empty the directory/,
  });
  rmSync(path);
  t.match(await runCommand("restore", copy, "--data", dataDirectory(t)), { exitCode: 2, err: /the backup is damaged/ });
  writeFileSync(join(copy, "manifest.json"), JSON.stringify({ ...manifest(), dataVersion: 3 }));
  await t.rejects(restore(), { message: /contains a data directory of version 3, but this program supports 2/ });
  writeFileSync(join(copy, "manifest.json"), JSON.stringify({ ...manifest(), format: 2 }));
  await t.rejects(restore(), { message: /the backup has format 2, but this program supports 1/ });
});

t.test("a forged manifest cannot refer to files outside the backup", (t) => {
  const good = { kind: "file", path: "catalog/data.mdb", bytes: 1, sha256: "0".repeat(64) };
  const text = (entry: unknown): string => JSON.stringify({ format: 1, dataVersion: 1, takenAt: "", entries: [entry] });
  t.equal(parseManifest(text(good)).entries.length, 1);
  for (const path of [
    "../x",
    "catalog/../../x",
    "/etc/x",
    "version",
    "control.sock",
    "mirrors",
    "mirrors//x",
    "mirrors/./x",
    "mirrors/a\0b",
    "mirrors/\u0100",
    "",
  ]) {
    t.throws(() => parseManifest(text({ ...good, path })), { code: "storage" }, JSON.stringify(path));
  }
  for (const change of [{ bytes: -1 }, { bytes: "1" }, { sha256: "../../x" }, { kind: "link" }, { path: 1 }])
    t.throws(() => parseManifest(text({ ...good, ...change })), { code: "storage" });
  for (const bad of ["", "[]", "null", "{}", '{"format":1}']) t.throws(() => parseManifest(bad), bad);
  t.throws(() => parseList(JSON.stringify([{ ...good, path: "mirrors/2.git/HEAD" }]), "mirrors/1.git"), {
    code: "storage",
  });
  t.end();
});

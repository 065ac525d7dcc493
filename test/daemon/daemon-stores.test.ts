/** Stores that are damaged while no process has them open: what a start reports, moves away and restores. */
import {
  closeSync,
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import t, { type Test } from "tap";
import { CatalogSnapshots } from "../../src/store/catalog-snapshots.js";
import { inspectStore } from "../../src/store/inspect-store.js";
import { refusedCode } from "../../src/store/probe-result.js";
import { RecordStore } from "../../src/store/record-store.js";
import { dataDirectory, DaemonProcess, runCommand, runCommandWith, testDaemon, textsOnly } from "../support/daemon.js";
import { inLongRuns, isFull } from "../support/full-run.js";
import { fixture } from "../support/git-mirror.js";
import { linesWith, readCommit } from "../support/git-oracle.js";
import { cliUrl, isBundled } from "../support/program.js";
import { until } from "../support/waiting.js";

const needle = "needle";
const fileCount = isFull ? 200 : 50;
const source = fixture(t);
source.commit({
  branch: "main",
  files: Object.fromEntries(Array.from({ length: fileCount }, (_, i) => [`${i}.txt`, `${needle} ${i}\n`.repeat(40)])),
});
const all = linesWith("host/a", readCommit(source.path, "main"), needle);

/** There are no symbols in these texts. */
const args = isFull ? ["--set", "workers=1", "--set", "index.symbols=false"] : textsOnly;

/** The data directory of a stopped daemon; tests use copies. */
const whole = dataDirectory(t);

t.before(async () => {
  const daemon = await DaemonProcess.start(whole, args);
  await daemon.add("host/a", source.path);
  await daemon.control("POST", "/.api/users", { name: "ann", siteAdmin: false });
  await daemon.stop();
});

function copy(t: Test): string {
  const data = dataDirectory(t);
  cpSync(whole, data, { recursive: true });
  return data;
}

function overwrite(path: string, position: number, length: number): void {
  const file = openSync(path, "r+");
  writeSync(file, Buffer.alloc(length, 0xa5), 0, length, position);
  closeSync(file);
}

/** Each one leaves a file that LMDB cannot read. */
const damages: readonly (readonly [what: string, damage: (file: string) => void])[] = [
  ["truncated to its first pages", (file) => truncateSync(file, 8192)],
  ["truncated in the middle of a page", (file) => truncateSync(file, 20_001)],
  ["emptied", (file) => truncateSync(file, 0)],
  ["overwritten at its start", (file) => overwrite(file, 0, 8192)],
];

/** The damage to each store; in `make test` one start finds both. */
interface Damages {
  readonly catalog?: string;
  readonly shards?: string;
}

const damagedStores: readonly Damages[] = isFull
  ? damages.flatMap(([what]) => [{ catalog: what }, { shards: what }])
  : [{ catalog: "truncated in the middle of a page", shards: "overwritten at its start" }];

for (const { catalog, shards } of damagedStores) {
  const what = [
    catalog === undefined ? [] : `the catalog is ${catalog}: it is restored`,
    shards === undefined ? [] : `the shard store is ${shards}: it is rebuilt`,
  ].flat();
  t.test(what.join("; "), async (t) => {
    const data = copy(t);
    for (const [store, damage] of [
      ["catalog", catalog],
      ["shards", shards],
    ] as const)
      damages.find(([name]) => name === damage)?.[1](join(data, store, "data.mdb"));
    const daemon = await testDaemon(t, args, data);
    const isTold = async (message: string): Promise<boolean> =>
      (await daemon.wholeLog()).some(({ msg }) => String(msg).startsWith(message));
    if (shards !== undefined) {
      const early = await daemon.search(needle);
      if (early.found.length < all.length)
        t.same(early.skipped, ["backend-missing"], "an answer that lacks something says so");
      t.ok(await isTold("the shard store is damaged"));
    }
    if (catalog !== undefined) {
      t.ok(await isTold("the catalog was damaged and has been restored from a snapshot"));
      t.ok(
        readdirSync(data).some((name) => name.startsWith("catalog-damaged-")),
        "the damaged one is not deleted",
      );
    }
    await until("all is found", async () => (await daemon.search(needle)).found.length === all.length);
    const { found, skipped } = await daemon.search(needle);
    t.same([found, skipped], [all, []]);
    t.ok((await daemon.userNames()).includes("ann"));
    t.equal(await daemon.countFaults(), 0);
  });
}

/** A daemon that is killed. Its modules are imported by a script, as the program file does not run under tap. */
const daemonScript = `const { run } = await import(${JSON.stringify(cliUrl)}); await run(["node", "trawl", ...process.argv.slice(1)]);`;
const probe = fileURLToPath(new URL("../../src/store/store-probe.js", import.meta.url));

t.test("a probe whose daemon has died does not change the catalog, which another daemon may have open", async (t) => {
  const folder = join(copy(t), "catalog");
  const inode = (): number => statSync(join(folder, "data.mdb")).ino;
  const run = (parent: number) => spawnSync(process.execPath, [probe, String(parent), "records", folder, "rewrite"]);
  const before = inode();
  t.match(run(1).stdout.toString() + run(1).stderr.toString(), /has exited/);
  t.equal(inode(), before);
  t.equal(run(process.pid).status, 0);
  t.not(inode(), before, "otherwise it is rewritten");
});

/** The process ids of the probes of a store. */
function probesOf(folder: string): number[] {
  const isProbe = (pid: string): boolean => {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
      return words.includes(folder) && words.some((word) => /\/store-probe\.(?:js|start\.cjs)$/.test(word));
    } catch {
      return false;
    }
  };
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && isProbe(name))
    .map(Number);
}

/** Sends the process that probes the store a signal; false if `isOver` says that there will be none. */
async function signalProbe(folder: string, signal: NodeJS.Signals, isOver: () => boolean): Promise<boolean> {
  let isSignalled = false;
  await until("the probe runs, or has ended", () => {
    const probes = probesOf(folder);
    for (const pid of probes) process.kill(pid, signal);
    isSignalled = probes.length > 0;
    return isSignalled || isOver();
  });
  return isSignalled;
}

/** Maximum number of attempts: a probe takes a tenth of a second, and a busy test may miss it. */
const probeTries = 20;

const noProcesses = existsSync("/proc/self/cmdline") ? false : "no /proc";

t.test(
  "a probe dies with its daemon: it would hold LMDB's locks on the next one's store",
  { skip: noProcesses },
  async (t) => {
    const data = copy(t);
    const folder = join(data, "catalog");
    let isStopped = false;
    for (let i = 0; i < probeTries && !isStopped; i++) {
      let isOver = false;
      const command = [
        "--input-type=module",
        "-e",
        daemonScript,
        "--",
        "serve",
        "--data",
        data,
        "--listen",
        "127.0.0.1:0",
      ];
      const daemon = spawn(process.execPath, command, { stdio: ["ignore", "pipe", "ignore"] });
      const ended = once(daemon, "exit").then(() => {
        isOver = true;
      });
      daemon.stdout.on("data", () => {
        isOver = true;
      });
      isStopped = await signalProbe(folder, "SIGSTOP", () => isOver);
      daemon.kill("SIGKILL");
      await ended;
    }
    t.ok(isStopped, "a probe was stopped");
    await until("the probe is gone", () => probesOf(folder).length === 0, 20_000);
  },
);

t.test("a probe that is killed proves no damage", { skip: noProcesses }, async (t) => {
  const folder = join(copy(t), "catalog");
  let state = inspectStore("records", folder);
  for (let i = 0; i < probeTries; i++) {
    let isOver = false;
    void state.then(() => {
      isOver = true;
    });
    if (await signalProbe(folder, "SIGKILL", () => isOver)) break;
    state = inspectStore("records", folder);
  }
  t.same(await state, { kind: "unknown", reason: "reading it was terminated by SIGKILL" });
});

t.test("a probe without permission to read the store proves no damage", async (t) => {
  const data = copy(t);
  const folder = join(data, "catalog");
  for (const path of [data, folder]) chmodSync(path, 0o755);
  chmodSync(join(folder, "data.mdb"), 0);
  const user = process.getuid?.() === 0 ? { uid: 65_534 } : {};
  const readable = spawnSync(process.execPath, ["-e", `require("fs").readFileSync(${JSON.stringify(probe)})`], user);
  if (readable.status !== 0) return t.comment("the checkout cannot be read by a user without rights");
  const { status, stderr } = spawnSync(process.execPath, [probe, "0", "records", folder, "look"], user);
  t.equal(status, refusedCode, stderr.toString());
});

/** Everything below the folder but what a start writes anyway, as text. */
function listing(data: string): string {
  return readdirSync(data, { recursive: true, encoding: "utf8" })
    .filter((path) => !/^(control\.sock|audit\.log|.*lock\.mdb)$/.test(path))
    .sort()
    .join("\n");
}

t.test("a store of which not all files can be opened is an error, whichever is the first", async (t) => {
  const module = new URL("../../src/store/shard-store.js", import.meta.url).href;
  const script = `const { closeSync, openSync } = await import("node:fs");
const { ShardStore } = await import(${JSON.stringify(module)});
const held = [];
try { for (;;) held.push(openSync("/dev/null")); } catch {}
const outcomes = [];
for (let free = 0; outcomes.at(-1) !== "open" && free < 20; free++) {
  try { new ShardStore(process.argv[1]); outcomes.push("open"); } catch (error) { outcomes.push(error.code); }
  closeSync(held.pop());
}
process.stdout.write(JSON.stringify(outcomes));
process.exit();`;
  const shell = 'ulimit -n 200; exec "$@"';
  const command = ["-c", shell, "sh", process.execPath, "--input-type=module", "-e", script, join(copy(t), "shards")];
  const { status, signal, stdout, stderr } = spawnSync("sh", command, { encoding: "utf8" });
  t.same([status, signal], [0, null], stderr);
  const outcomes = JSON.parse(stdout || "[]") as string[];
  t.equal(outcomes.at(-1), "open", stdout);
  t.ok(outcomes.length > 3, "several files were missing, one after the other");
  t.ok(
    outcomes.slice(0, -1).every((code) => code !== "open" && code !== undefined),
    stdout,
  );
});

const isOldNode = process.versions.node.startsWith("20.");

t.test("a limit, or a file of somebody else, is no damage: nothing is renamed or restored", async (t) => {
  const data = copy(t);
  const before = listing(data);
  const serve = ["serve", "--data", data, "--listen", "127.0.0.1:0"];
  const limited = (limit: string) => ["sh", "-c", `ulimit ${limit}; exec "$@"`, "sh"];
  for (const [what, wrapper, message] of [
    // Less than the map of the shard store, and enough for all else: V8 ends the process where it gets none.
    ["address space", limited("-v 1000000000"), /cannot open the shard store .*limit on address space .*`ulimit -v`/],
    // The modules are loaded at the same time, those of the bundle are fewer. Node 24 itself ends with SIGSEGV below 21. If
    // what finds the binary of lmdb meets the limit, its error has several lines.
    ["descriptors", limited(isBundled ? `-n ${isOldNode ? 20 : 24}` : "-n 60"), /EMFILE[^]*`ulimit -n`/],
  ] as const) {
    const { exitCode, err } = await runCommandWith("", serve, {}, wrapper);
    t.equal(exitCode, 2, what);
    t.match(err, message, what);
    t.equal(listing(data), before, `${what}: the data is as it was`);
  }
  const another = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
  const canRead = spawnSync(another[0], [...another.slice(1), "cat", probe]).status === 0;
  if (process.getuid?.() !== 0 || !canRead) return t.comment("needs root, and a checkout that others can read");
  for (const path of ["", ...readdirSync(data, { recursive: true, encoding: "utf8" })])
    chownSync(join(data, path), 65_534, 65_534);
  for (const [store, names] of [
    ["catalog", "the catalog"],
    ...(isFull ? ([["shards", "the shard store"]] as const) : []),
  ] as const) {
    const paths = [...(isFull ? [join(data, store)] : []), join(data, store, "data.mdb")];
    for (const path of paths) {
      chownSync(path, 0, 0);
      chmodSync(path, 0o700);
      const { exitCode, err } = await runCommandWith("", serve, {}, another);
      t.equal(exitCode, 2, path);
      t.match(err, new RegExp(`cannot open ${names} .*Permission denied.*runs as UID 65534`), path);
      t.equal(listing(data), before, `${path}: the data is as it was`);
      chownSync(path, 65_534, 65_534);
    }
  }
  const mirror = join(data, "mirrors", "1.git");
  const objects = join(mirror, "objects");
  const mirrored = listing(mirror);
  for (const path of readdirSync(objects, { recursive: true, encoding: "utf8" }))
    if (statSync(join(objects, path)).isFile()) chmodSync(join(objects, path), 0);
  chmodSync(dirname(source.path), 0o755);
  const daemon = await DaemonProcess.start(data, args, {}, another);
  t.teardown(() => daemon.kill());
  await t.rejects(
    daemon.sync("host/a"),
    /EACCES: permission denied, open '.*objects.*'; this process runs as UID 65534/,
  );
  t.same((await daemon.search(needle)).found, all, "the index is as it was");
  t.equal(listing(mirror), mirrored, "the mirror is as it was");
  for (const path of readdirSync(objects, { recursive: true, encoding: "utf8" })) chmodSync(join(objects, path), 0o700);
  t.match(await daemon.sync("host/a"), { error: "", documentCount: fileCount });
});

t.test("overwritten pages of the catalog", inLongRuns, async (t) => {
  // LMDB determines what each page contains: no page may crash the daemon or make it start with an empty catalog.
  for (const page of [3, 4, 5, 6]) {
    const data = copy(t);
    overwrite(join(data, "catalog", "data.mdb"), page * 4096, 4096);
    const daemon = await testDaemon(t, args, data);
    await until(`page ${page}: all is found`, async () => (await daemon.search(needle)).found.length === all.length);
    t.same((await daemon.search(needle)).found, all, `page ${page}`);
    await daemon.stop();
  }
});

t.test("a damaged catalog without a valid snapshot is rejected, and nothing is deleted", async (t) => {
  const data = copy(t);
  rmSync(join(data, "catalog", "data.mdb"));
  for (const name of readdirSync(join(data, "catalog-snapshots")))
    writeFileSync(join(data, "catalog-snapshots", name, "sha256"), "0".repeat(64));
  const refused = await runCommand("serve", "--data", data, "--listen", "127.0.0.1:0");
  t.equal(refused.exitCode, 2);
  t.match(
    refused.err,
    /the catalog .* is damaged \(it is empty, although there are mirrors or snapshots\), and it has no snapshot that can be restored \(\d+T\d+Z: .*wrong checksum\)/,
  );
  t.equal(readdirSync(join(data, "mirrors")).length, 1);
  if (!isFull) return;
  rmSync(join(data, "catalog-snapshots"), { recursive: true });
  t.equal((await runCommand("serve", "--data", data, "--listen", "127.0.0.1:0")).exitCode, 2);
  t.equal(readdirSync(join(data, "mirrors")).length, 1);
});

t.test("snapshots", async (t) => {
  const folder = dataDirectory(t);
  const store = new RecordStore(join(folder, "catalog"));
  const snapshots = new CatalogSnapshots(join(folder, "snapshots"));
  for (let i = 0; i < 7; i++) {
    await store.apply([{ key: `key ${i}`, value: Buffer.from(JSON.stringify(`value ${i}`)) }]);
    await snapshots.take(store, new Date(Date.UTC(2026, 0, 1, 0, i)));
  }
  t.same(
    snapshots.names(),
    [6, 5, 4, 3, 2, 1].map((minute) => `20260101T000${minute}00000Z`),
    "the newest stay",
  );
  await store.close();
  await snapshots.restore("20260101T000500000Z", join(folder, "restored"));
  t.same(await inspectStore("records", join(folder, "restored")), { kind: "whole", count: 6 });
  const restored = new RecordStore(join(folder, "restored"));
  t.equal(restored.get("key 5")?.toString(), '"value 5"');
  t.equal(restored.get("key 6"), undefined);
  await restored.close();
  t.same(await inspectStore("records", join(folder, "nowhere")), { kind: "absent" });
  overwrite(join(folder, "snapshots", "20260101T000600000Z", "data.mdb"), 5000, 1);
  await t.rejects(snapshots.restore("20260101T000600000Z", join(folder, "other")), {
    code: "storage",
    message: /wrong checksum/,
  });
  t.notOk(existsSync(join(folder, "other")));
});

/**
 * `trawl check` without a daemon: compares stores, catalog, shards, mirrors and commits, and names each fault with what
 * repairs it.
 */
import { cpSync, existsSync, readdirSync, rmSync, truncateSync, writeFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { checkOffline } from "../../../src/cli/check/offline-check.js";
import { RecordStore } from "../../../src/store/record-store.js";
import { ShardStore } from "../../../src/store/shard-store.js";
import { dataDirectory, DaemonProcess, runCommand } from "../../support/daemon.js";
import { chosen } from "../../support/full-run.js";
import { fixture } from "../../support/git-mirror.js";

const source = { a: fixture(t), b: fixture(t), c: fixture(t, "bare", "sha256") };
source.a.commit({ branch: "main", files: { "a.txt": "one\n", "d/b.txt": "two\n" } });
source.a.commit({ branch: "main", files: { "a.txt": "three\n", "c.txt": "four\n" } });
source.b.commit({ branch: "main", files: { "b.txt": "five\n", link: { symlink: "b.txt" }, "café.txt": "six\n" } });
source.b.commit({ branch: "topic", files: { "b.txt": "seven\n" } });
source.c.commit({ branch: "main", files: { "c.txt": "eight\n" } });
source.c.commit({ branch: "topic", files: {} });

/** The data directory of a stopped daemon; tests use copies. */
const whole = dataDirectory(t);

t.before(async () => {
  const daemon = await DaemonProcess.start(whole, ["--set", "index.historyBytes=0"]);
  await daemon.add("host/a", source.a.path);
  await daemon.add("host/b", source.b.path, ["topic"]);
  await daemon.add("host/c", source.c.path, ["topic"]);
  source.a.commit({ branch: "main", files: { "d/b.txt": "two and more\n", "c.txt": { deleted: true } } });
  await daemon.sync("host/a");
  const checked = await runCommand("check", "--data", whole);
  t.match(checked, { exitCode: 0, out: /^\d+ shards checked, 0 faults\n$/ }, "the running daemon checks by itself");
  await daemon.stop();
});

function copy(t: Test): string {
  const data = dataDirectory(t);
  cpSync(whole, data, { recursive: true });
  return data;
}

function mirrorOf(data: string, id: number): string {
  return join(data, "mirrors", `${id}.git`);
}

async function changeRecord(
  data: string,
  key: string,
  change: (record: Record<string, unknown>) => void,
): Promise<void> {
  const store = new RecordStore(join(data, "catalog"));
  const record = JSON.parse(String(store.get(key))) as Record<string, unknown>;
  change(record);
  await store.apply([{ key, value: Buffer.from(JSON.stringify(record)) }]);
  await store.close();
}

async function changeShards(data: string, change: (store: ShardStore) => Promise<void>): Promise<void> {
  const store = new ShardStore(join(data, "shards"));
  await change(store);
  await store.close();
}

function bytesOf(store: ShardStore, id: number): Buffer {
  const snapshot = store.read();
  const bytes = Buffer.from(snapshot.get(id) ?? []);
  snapshot.close();
  return bytes;
}

t.test("intact data has no faults, and is not changed", async (t) => {
  const data = copy(t);
  const told: string[] = [];
  t.same(await checkOffline(data, (line) => told.push(line)), { shards: 4, repositories: 3, faults: 0 });
  t.same(told, []);
  t.same(readdirSync(data).sort(), readdirSync(whole).sort());
});

const faults: readonly (readonly [
  what: string,
  damage: (data: string) => Promise<void> | void,
  lines: readonly RegExp[],
])[] = [
  [
    "a bit of a shard",
    (data) =>
      changeShards(data, async (store) => {
        const id = store.ids().find((other) => bytesOf(store, other).includes("three"))!;
        const bytes = bytesOf(store, id);
        bytes[bytes.indexOf("three") + 1]! ^= 1;
        await store.put([{ id, bytes }]);
      }),
    [/^shard \d+ is damaged: section content has a wrong checksum\. `trawl check --repair` rebuilds it\.$/],
  ],
  [
    "a shard is missing, and one is unknown",
    (data) =>
      changeShards(data, async (store) => {
        const [id] = store.ids();
        await store.put([{ id: 1000, bytes: bytesOf(store, id!) }]);
        await store.remove([id!]);
      }),
    [
      /^shard \d+ is missing from the store: the next start rebuilds it/,
      /^shard 1000 is in the store but not in the catalog: the next start deletes it$/,
    ],
  ],
  [
    "the shard store is cut",
    (data) => truncateSync(join(data, "shards", "data.mdb"), 8192),
    [/^the shard store is damaged: .*; the next start rebuilds all shards/, /^4 shards of the catalog are missing/],
  ],
  [
    "the catalog is cut",
    (data) => truncateSync(join(data, "catalog", "data.mdb"), 8192),
    [/^the catalog is damaged: .*; the next start restores the snapshot \d+T\d+Z$/],
  ],
  [
    "a snapshot is damaged",
    (data) => {
      const [name] = readdirSync(join(data, "catalog-snapshots"));
      writeFileSync(join(data, "catalog-snapshots", name!, "sha256"), "0");
    },
    [/^catalog-snapshots\/.* has a wrong checksum: delete it/],
  ],
  [
    "a mirror is missing, and one is unknown",
    (data) => {
      rmSync(mirrorOf(data, 1), { recursive: true });
      mkdirSync(mirrorOf(data, 77));
    },
    [
      /^mirrors\/77.git belongs to no repository: the next start deletes it$/,
      /^mirrors\/1.git, the mirror of host\/a, is missing: the next start fetches it again$/,
    ],
  ],
  [
    "a mirror lacks a blob",
    (data) => {
      const oid = source.b.git("rev-parse", "topic:b.txt");
      rmSync(join(mirrorOf(data, 2), "objects", oid.slice(0, 2), oid.slice(2)));
    },
    [
      /^mirrors\/2.git, the mirror of host\/b: objects are missing or damaged \(git fsck: .*\); delete it before the next start/,
    ],
  ],
  [
    "the catalog names another commit than the shards have",
    (data) =>
      changeRecord(data, "repository/1", (record) => {
        record["indexedBranches"] = [{ name: "main", bit: 0, commit: source.a.git("rev-parse", "main~1") }];
      }),
    [
      /^mirrors\/1.git, the mirror of host\/a: its branch main is at [0-9a-f]{40}, but [0-9a-f]{40} is indexed; the next sync indexes its contents$/,
      /^2 files of host\/a differ between the index and the mirror, the first is "c.txt" \(blob [0-9a-f]{40}\): /,
      /^the index has 1 files of host\/a that are not in its commits, the first is "d\/b.txt"/,
    ],
  ],
  [
    "the catalog names a commit that is nowhere",
    (data) =>
      changeRecord(data, "repository/2", (record) => {
        record["indexedBranches"] = [{ name: "main", bit: 0, commit: "1".repeat(40) }];
      }),
    [
      /^mirrors\/2.git, the mirror of host\/b: the indexed commit 1{40} of main is missing; delete it/,
      /^(the files of host\/b cannot be listed|the index has)/,
    ],
  ],
  [
    "a branch of a mirror is gone",
    (data) => {
      source.b.git(`--git-dir=${mirrorOf(data, 2)}`, "update-ref", "-d", "refs/heads/topic");
    },
    [
      /^mirrors\/2.git, the mirror of host\/b: its branch topic no longer exists, but [0-9a-f]{40} is indexed; the next sync indexes its contents$/,
    ],
  ],
  [
    "a branch of a mirror with SHA-256 is gone",
    (data) => {
      source.c.git(`--git-dir=${mirrorOf(data, 3)}`, "update-ref", "-d", "refs/heads/topic");
    },
    [/^mirrors\/3.git, the mirror of host\/c: its branch topic no longer exists, but [0-9a-f]{64} is indexed; /],
  ],
  [
    "a branch's bit is wrong",
    (data) =>
      changeRecord(data, "repository/2", (record) => {
        record["indexedBranches"] = (record["indexedBranches"] as { bit: number }[]).map((branch) => ({
          ...branch,
          bit: 1 - branch.bit,
        }));
      }),
    [/^4 files of host\/b differ between the index and the mirror/],
  ],
  [
    "the number of documents is wrong",
    (data) =>
      changeRecord(data, "repository/2", (record) => {
        record["documentCount"] = 9;
      }),
    [/^the catalog records 9 documents of host\/b, but there are 4: /],
  ],
];

/** A copy with all of this damage, and what is told of it. */
async function damaged(t: Test, rows: typeof faults): Promise<{ data: string; lines: readonly RegExp[] }> {
  const data = copy(t);
  for (const [, damage] of rows) await damage(data);
  return { data, lines: rows.flatMap(([, , lines]) => lines) };
}

/** In `make test` some damage that is told beside other damage is in the same data. */
const together = new Set([
  "a snapshot is damaged",
  "a mirror lacks a blob",
  "the catalog names another commit than the shards have",
  "a branch of a mirror with SHA-256 is gone",
  "the number of documents is wrong",
]);

for (const row of chosen(faults, "a bit of a shard", "the shard store is cut", "the catalog is cut"))
  t.test(row[0], async (t) => {
    const { data, lines } = await damaged(t, [row]);
    const told: string[] = [];
    const result = await checkOffline(data, (line) => told.push(line));
    t.equal(told.length, lines.length, told.join("\n"));
    for (const [i, line] of lines.entries()) t.match(told[i], line);
    t.equal(result.faults, lines.length);
  });

t.test("the command tells the faults, and fails", async (t) => {
  const rows = faults.filter(([what]) => together.has(what));
  t.equal(rows.length, together.size);
  const { data, lines } = await damaged(t, rows);
  const { exitCode, out } = await runCommand("check", "--data", data);
  t.equal(exitCode, 1);
  const told = out.trim().split("\n");
  t.equal(told.length, lines.length + 1, out);
  for (const line of lines)
    t.ok(
      told.some((other) => line.test(other)),
      String(line),
    );
  t.equal(told.at(-1), `4 shards and 3 repositories checked, ${lines.length} faults`);
});

t.test("a directory that cannot be checked is rejected", async (t) => {
  t.match(await runCommand("check", "--data", dataDirectory(t)), {
    exitCode: 2,
    err: /is not a data directory of trawld/,
  });
  const data = copy(t);
  writeFileSync(join(data, "version"), "3\n");
  t.match(await runCommand("check", "--data", data), {
    exitCode: 2,
    err: /has data of version 3, written by a later program, but this program supports 2/,
  });
  t.match(await runCommand("check", "--repair", "--data", data), {
    exitCode: 2,
    err: /no trawld is running with the data/,
  });
  t.notOk(existsSync(join(data, "control.sock")));
});

/**
 * The format of the data directory: `frozen/data-2.tar.gz` is one that a program of version 2 wrote, and every program
 * of that version reads it as it is; `frozen/data-1.tar.gz` is of version 1, which a start upgrades. Both have the
 * repository `frozen/code`, whose remote is gone, with two branches and a binary file, and the user `ann`.
 * Other versions are refused, and nothing is changed.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { sections } from "../../src/shard/format.js";
import { headerCrc, headerWords } from "../../src/shard/section-layout.js";
import { inspectStore } from "../../src/store/inspect-store.js";
import { RecordStore } from "../../src/store/record-store.js";
import { ShardStore } from "../../src/store/shard-store.js";
import {
  dataDirectory,
  runCommand,
  testDaemon,
  textsOnly,
  type DaemonProcess,
  type LogLine,
} from "../support/daemon.js";
import { chosen, inLongRuns, isFull } from "../support/full-run.js";
import { until } from "../support/waiting.js";

const onMain = ["frozen/code:a.txt:1", "frozen/code:d/b.go:2"];

function frozenData(t: Test, version: 1 | 2 = 2): string {
  const data = dataDirectory(t);
  execFileSync("tar", ["-xzf", `test/frozen/data-${version}.tar.gz`, "-C", data]);
  return data;
}

/** Names, modes and contents of everything in a folder. */
function stateOf(folder: string): string {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
  return names
    .map((name) => {
      const status = lstatSync(join(folder, name));
      return `${name} ${status.mode} ${
        status.isFile()
          ? createHash("sha1")
              .update(readFileSync(join(folder, name)))
              .digest("hex")
          : ""
      }`;
    })
    .join("\n");
}

async function requireAnswers(t: Test, daemon: DaemonProcess): Promise<void> {
  const answer = await daemon.search("needle");
  t.same([answer.found, answer.skipped], [onMain, []]);
  t.same((await daemon.search("repo:frozen/code@topic needle")).found, [...onMain, "frozen/code:t.txt:1"]);
  t.same((await daemon.search("needle changed")).found, ["frozen/code:a.txt:1"]);
  t.same((await daemon.search("gone")).found, [], "what has a tombstone");
  t.same((await daemon.search("type:path ^bin$", "regexp")).found, ["frozen/code:bin"]);
  const [status] = await daemon.list();
  t.match(status, {
    name: "frozen/code",
    state: "searchable",
    documentCount: 6,
    stars: 3,
    topics: ["frozen"],
    description: "a frozen repository",
    skippedCounts: { binary: 1 },
  });
  t.ok((await daemon.userNames()).includes("ann"));
}

async function changeRecords(
  data: string,
  prefix: string,
  change: (record: Record<string, unknown>) => void,
): Promise<void> {
  const store = new RecordStore(join(data, "catalog"));
  const changes = [...store.withPrefix(prefix)].map(({ key, value }) => {
    const record = JSON.parse(String(value)) as Record<string, unknown>;
    change(record);
    return { key, value: Buffer.from(JSON.stringify(record)) };
  });
  await store.apply(changes);
  await store.close();
}

t.test("a directory of this version is used without changes", async (t) => {
  const data = frozenData(t);
  t.match(await runCommand("check", "--data", data), { exitCode: 0, out: /1 repositories checked, 0 faults\n$/ });
  const daemon = await testDaemon(t, [], data);
  await requireAnswers(t, daemon);
  t.equal(await daemon.metric("trawl_sync_read_blobs_total"), 0, "nothing is indexed again");
  t.equal(await daemon.stop(), 0);
  t.equal(readFileSync(join(data, "version"), "utf8"), "2\n");
  if (isFull) await requireAnswers(t, await testDaemon(t, [], data));
});

/** States of a directory that a start must upgrade: before the upgrade, and after a crash during it. */
const olderStates: readonly (readonly [what: string, prepare: (data: string) => unknown])[] = [
  ["as it was", () => undefined],
  ["its upgrade had begun", (data) => writeFileSync(join(data, "version"), "upgrading\n")],
  [
    "its catalog was upgraded",
    (data) => {
      writeFileSync(join(data, "version"), "upgrading\n");
      return inspectStore("records", join(data, "catalog"), "upgrade");
    },
  ],
];

for (const [what, prepare] of chosen(olderStates, "as it was")) {
  t.test(`a directory of version 1 is upgraded: ${what}`, async (t) => {
    const data = frozenData(t, 1);
    await prepare(data);
    t.match(await runCommand("check", "--data", data), {
      exitCode: 2,
      err: /has data of an earlier version, which the daemon upgrades to 2 at startup: start it first/,
    });
    const daemon = await testDaemon(t, [], data);
    // Its shards are of an earlier format.
    await until("they are built again", async () => (await daemon.search("needle")).skipped.length === 0);
    await requireAnswers(t, daemon);
    const isUpgrade = ({ msg }: LogLine): boolean => String(msg).startsWith("the data directory was upgraded");
    t.equal((await daemon.wholeLog()).filter(isUpgrade).length, 1);
    t.equal(await daemon.countFaults(), 0);
    t.equal(await daemon.stop(), 0);
    t.equal(readFileSync(join(data, "version"), "utf8"), "2\n");
  });
}

t.test("a directory of version 1 with a damaged catalog is not upgraded", async (t) => {
  const data = frozenData(t, 1);
  rmSync(join(data, "catalog", "data.mdb"));
  const before = stateOf(join(data, "mirrors"));
  t.match(await runCommand("serve", "--data", data, "--listen", "127.0.0.1:0"), {
    exitCode: 2,
    err: /the catalog .* is damaged .*Nothing was changed/,
  });
  t.equal(readFileSync(join(data, "version"), "utf8"), "1\n");
  t.equal(stateOf(join(data, "mirrors")), before);
});

t.test(
  "records of other programs of this version: fields that are not known, and fields that are not there",
  async (t) => {
    const data = frozenData(t);
    await changeRecords(data, "repository/", (record) => {
      record["ofALaterProgram"] = { x: [1] };
      for (const field of ["readers", "addedMetadata", "removedAt", "credential"]) delete record[field];
    });
    await changeRecords(data, "shard/", (record) => {
      record["ofALaterProgram"] = 1;
      delete record["checksum"];
    });
    await requireAnswers(t, await testDaemon(t, textsOnly, data));
  },
);

// In `make test` those of version 1 are.
t.test("shards of another format are rebuilt from the mirror", inLongRuns, async (t) => {
  const data = frozenData(t);
  const store = new ShardStore(join(data, "shards"));
  for (const id of store.ids()) {
    const snapshot = store.read();
    const bytes = Buffer.from(snapshot.get(id) ?? []);
    snapshot.close();
    bytes.writeUInt32LE(bytes.readUInt32LE(headerWords.version * 4) + 1, headerWords.version * 4);
    bytes.writeUInt32LE(headerCrc(bytes, sections.length), headerWords.headerCrc * 4);
    await store.put([{ id, bytes }]);
  }
  await store.close();
  await changeRecords(data, "shard/", (record) => {
    delete record["checksum"];
  });
  const daemon = await testDaemon(t, textsOnly, data);
  const early = await daemon.search("needle");
  if (early.found.length < onMain.length)
    t.same(early.skipped, ["backend-missing"], "until then an answer says what it lacks");
  await until("they are built again", async () => (await daemon.search("needle")).skipped.length === 0);
  await requireAnswers(t, daemon);
});

const refusals: readonly (readonly [version: string, message: RegExp])[] = [
  [
    "3\n",
    /has data of version 3, written by a later program, but this program supports 2\. Use the program that wrote it, or another --data\. Nothing was changed\./,
  ],
  ["0\n", /has data of version 0, written by an earlier program, but this program supports 2/],
  [
    "one\n",
    /version is damaged: it should contain 2\. If the directory was written by this program, write that number to it\./,
  ],
  [
    "restoring\n",
    /the restore of a backup to .* was not completed: empty the directory, and run `trawl restore` again/,
  ],
];

for (const [version, message] of chosen(refusals, "3\n", "restoring\n")) {
  t.test(`the version ${JSON.stringify(version)} is rejected, and nothing is changed`, async (t) => {
    const data = frozenData(t);
    writeFileSync(join(data, "version"), version);
    const before = stateOf(data);
    t.match(await runCommand("serve", "--data", data, "--listen", "127.0.0.1:0"), { exitCode: 2, err: message });
    // `trawl check` reads it in the same way.
    if (isFull || version === "3\n") t.match(await runCommand("check", "--data", data), { exitCode: 2, err: message });
    t.equal(stateOf(data), before);
  });
}

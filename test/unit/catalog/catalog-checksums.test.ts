/**
 * Checksums of the catalog's records: a changed byte, a record under another key and a missing one are noticed; what
 * was deleted is gone.
 */
import { spawnSync } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { open } from "lmdb";
import t, { type Test } from "tap";
import { CatalogSnapshots } from "../../../src/store/catalog-snapshots.js";
import { inspectStore, inspectStores } from "../../../src/store/inspect-store.js";
import { RecordStore } from "../../../src/store/record-store.js";
import { dataDirectory, DaemonProcess, testDaemon } from "../../support/daemon.js";

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

/** Changes one byte in each occurrence of the text in the store's file. Returns the number of occurrences. */
function flip(folder: string, text: string, at: number, to: string): number {
  const path = join(folder, "data.mdb");
  const bytes = readFileSync(path);
  const file = openSync(path, "r+");
  let count = 0;
  for (let place = bytes.indexOf(text); place >= 0; place = bytes.indexOf(text, place + 1)) {
    writeSync(file, to, place + at);
    count++;
  }
  closeSync(file);
  return count;
}

const holds = (folder: string, text: string): boolean => readFileSync(join(folder, "data.mdb")).includes(text);

async function storeWith(
  t: Test,
  records: Readonly<Record<string, unknown>>,
): Promise<{ folder: string; store: RecordStore }> {
  const folder = join(dataDirectory(t), "catalog");
  const store = new RecordStore(folder);
  await store.apply(Object.entries(records).map(([key, value]) => ({ key, value: json(value) })));
  return { folder, store };
}

const records = { "user/1": { id: 1, name: "ann" }, "user/2": { id: 2, name: "bob" }, counters: { next: 3 } };

t.test("a changed byte in a value that is still valid JSON", async (t) => {
  const { folder, store } = await storeWith(t, records);
  await store.close();
  t.match(await inspectStore("records", folder), { kind: "whole", count: 3 });
  t.ok(flip(folder, '"bob"', 2, "i") > 0);
  t.match(await inspectStore("records", folder), {
    kind: "damaged",
    reason: /the record "user\/2" of the catalog has a wrong checksum/,
  });
  const damaged = new RecordStore(folder);
  t.equal(String(damaged.get("user/1")), '{"id":1,"name":"ann"}');
  t.throws(() => damaged.get("user/2"), { code: "storage" });
  t.throws(() => [...damaged.withPrefix("user/")], { code: "storage" });
  await t.rejects(
    damaged.apply([{ key: "user/2", value: undefined }]),
    { code: "storage" },
    "what is damaged is not written over unseen",
  );
  await damaged.close();
});

t.test("stores that are checked together have each its own result", async (t) => {
  const stores = [await storeWith(t, records), await storeWith(t, { counters: { next: 1 } })];
  for (const { store } of stores) await store.close();
  const [first, second] = stores.map(({ folder }) => ({ kind: "records", folder, mode: "look" }) as const);
  const absent = { ...first, folder: join(dataDirectory(t), "catalog") };
  const whole = [{ kind: "whole", count: 3 }, { kind: "absent" }, { kind: "whole", count: 1 }];
  t.same(await inspectStores([first, absent, second]), whole);
  t.ok(flip(first.folder, '"bob"', 2, "i") > 0);
  const damaged = { kind: "damaged", reason: /"user\/2" of the catalog has a wrong checksum/ };
  t.match(await inspectStores([first, absent, second]), [damaged, ...whole.slice(1)]);
  t.match(await inspectStores([second, first]), [whole[2], damaged]);
});

/** Arguments of `unshare` with which a file system can be mounted here; undefined if it cannot. */
const mounting = [["--mount"], ["--mount", "--map-root-user"]].find(
  (flags) => spawnSync("unshare", [...flags, "mount", "-t", "tmpfs", "none", "/mnt"]).status === 0,
);

/** With a new file of locks, as after a copy: the page that LMDB writes first has no room, and the process gets SIGBUS. */
const onFullDisk = `
const { truncateSync, rmSync, writeFileSync } = await import("node:fs");
const { RecordStore } = await import(${JSON.stringify(new URL("../../../src/store/record-store.js", import.meta.url))});
const { inspectStore } = await import(${JSON.stringify(new URL("../../../src/store/inspect-store.js", import.meta.url))});
const folder = process.argv[1] + "/catalog";
const store = new RecordStore(folder);
await store.apply([{ key: "user/1", value: Buffer.from("{}") }]);
await store.close();
rmSync(folder + "/lock.mdb");
const filling = process.argv[1] + "/filling";
try { writeFileSync(filling, Buffer.alloc(1 << 21)); } catch {}
const states = [await inspectStore("records", folder)];
truncateSync(filling, 0);
states.push(await inspectStore("records", folder));
process.stdout.write(JSON.stringify(states));
`;

t.test("a store on a full disk is not taken for damaged", { skip: mounting === undefined }, async (t) => {
  const disk = t.testdir();
  const run = 'mount -t tmpfs -o size=1m none "$1" && exec "$2" --input-type=module -e "$3" "$1"';
  const words = [...(mounting ?? []), "sh", "-c", run, "sh", disk, process.execPath, onFullDisk];
  const { stdout, stderr } = spawnSync("unshare", words, { encoding: "utf8" });
  t.equal(stderr, "");
  t.match(JSON.parse(stdout), [
    { kind: "unknown", reason: /terminated by SIGBUS, and an empty store .* the disk is full/ },
    { kind: "whole", count: 1 },
  ]);
});

t.test("a record under another key, and a record that no page refers to any more", async (t) => {
  const { folder, store } = await storeWith(t, records);
  await store.close();
  t.ok(flip(folder, "user/2", 5, "7") > 0);
  t.match(await inspectStore("records", folder), {
    kind: "damaged",
    reason: /"user\/7" of the catalog has a wrong checksum/,
  });

  const other = await storeWith(t, records);
  await other.store.close();
  const raw = open<Buffer, string>({ path: other.folder, maxDbs: 2, encoding: "binary" });
  await raw.openDB<Buffer, string>({ name: "records", encoding: "binary" }).remove("user/2");
  await raw.close();
  t.match(await inspectStore("records", other.folder), {
    kind: "damaged",
    reason: /it has 2 records instead of the 3 that were last written/,
  });
  const unsealed = open<Buffer, string>({ path: other.folder, maxDbs: 2, encoding: "binary" });
  await unsealed.openDB<Buffer, string>({ name: "records", encoding: "binary" }).remove("digest");
  await unsealed.close();
  t.throws(() => new RecordStore(other.folder), { code: "storage", message: /its records have no checksums/ });
});

t.test("the count and the sum follow each change, including concurrent ones", async (t) => {
  const { folder, store } = await storeWith(t, records);
  await Promise.all([
    ...Array.from({ length: 20 }, (_, i) => store.apply([{ key: `user/${i % 5}`, value: json({ id: i }) }])),
    store.apply([
      { key: "user/2", value: undefined },
      { key: "nothing", value: undefined },
    ]),
    store.apply([
      { key: "user/9", value: json(1) },
      { key: "user/9", value: json(2) },
      { key: "counters", value: undefined },
    ]),
  ]);
  await store.close();
  t.match(await inspectStore("records", folder), { kind: "whole", count: 5 });
  const again = new RecordStore(folder);
  t.equal(String(again.get("user/9")), "2");
  await again.apply([{ key: "user/9", value: undefined }]);
  await again.close();
  t.match(await inspectStore("records", folder), { kind: "whole", count: 4 });
});

t.test("after a start, deleted or changed values are in no file and no snapshot", async (t) => {
  const { folder, store } = await storeWith(t, { ...records, "token/1": { hash: "a-secret-of-before" } });
  await store.apply([{ key: "token/1", value: undefined }]);
  await store.apply([{ key: "user/1", value: json({ id: 1, name: "eve" }) }]);
  t.ok(holds(folder, "a-secret-of-before"), "LMDB leaves it in a free page");
  const snapshots = new CatalogSnapshots(join(folder, "..", "snapshots"));
  await snapshots.take(store, new Date(0));
  await store.close();
  const [name] = snapshots.names();
  t.same(readdirSync(join(folder, "..", "snapshots", name)).sort(), ["data.mdb", "sha256"]);
  t.notOk(holds(join(folder, "..", "snapshots", name), "a-secret-of-before"));
  t.match(await inspectStore("records", folder, "rewrite"), { kind: "whole", count: 3 });
  t.notOk(holds(folder, "a-secret-of-before"));
  t.same(readdirSync(folder).sort(), ["data.mdb", "lock.mdb"]);
  const again = new RecordStore(folder);
  t.equal(String(again.get("user/1")), '{"id":1,"name":"eve"}');
  await again.close();
});

t.test("a damaged store is not snapshotted, and does not change", async (t) => {
  const { folder, store } = await storeWith(t, records);
  const snapshots = new CatalogSnapshots(join(folder, "..", "snapshots"));
  await snapshots.take(store, new Date(0));
  flip(folder, '"bob"', 2, "i");
  await t.rejects(snapshots.take(store, new Date(1000)), {
    code: "storage",
    message: /cannot write a snapshot of the catalog: it is damaged \(.*"user\/2"/,
  });
  t.equal(snapshots.names().length, 1);
  await store.close();
  t.match(await inspectStore("records", folder, "rewrite"), { kind: "damaged" });
  t.ok(holds(folder, '"bib"'));
});

t.test(
  "a daemon restores a catalog with a changed byte from its newest snapshot, and says so in one line",
  async (t) => {
    const data = dataDirectory(t);
    const daemon = await DaemonProcess.start(data);
    await daemon.control("POST", "/.api/users", { name: "ann", siteAdmin: false });
    await daemon.stop();
    t.ok(flip(join(data, "catalog"), '"ann"', 1, "i") > 0);
    const again = await testDaemon(t, [], data);
    const lines = (await again.wholeLog()).filter(({ msg }) =>
      String(msg).startsWith("the catalog was damaged and has been restored from a snapshot"),
    );
    t.match(lines, [{ reason: /has a wrong checksum/ }]);
    t.match(JSON.stringify(await again.control("GET", "/.api/users")), /"ann"/);
  },
);

/** Shards that are damaged on the disk: what searches report, and how they are repaired. */
import { cpSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { ShardStore } from "../../src/store/shard-store.js";
import { dataDirectory, DaemonProcess, preparedAhead, runCommand, testDaemon, textsOnly } from "../support/daemon.js";
import { inLongRuns, isFull } from "../support/full-run.js";
import { fixture } from "../support/git-mirror.js";
import { isHistoryShard } from "../support/history-shards.js";
import { linesWith, readCommit } from "../support/git-oracle.js";
import { becomes, until, waitMsMax } from "../support/waiting.js";

const needle = "needle";
const searchPauseMs = 50;

/** In `make test`, `host/c` loses its mirror and its remote, `host/d` its shard, and that of `host/e` cannot be opened. */
const others = isFull ? {} : { c: fixture(t), d: fixture(t), e: fixture(t) };
const source = { a: fixture(t), b: fixture(t), ...others };
for (const [label, repository] of Object.entries(source)) {
  const files = Array.from({ length: 20 }, (_, i) => [`${label}${i}.txt`, `${label} ${i}\n${needle} ${label}${i}\n`]);
  repository.commit({ branch: "main", files: Object.fromEntries(files) });
}
const all = Object.entries(source)
  .flatMap(([label, { path }]) => linesWith(`host/${label}`, readCommit(path, "main"), needle))
  .sort();
const without = (name: string): string[] => all.filter((line) => !line.startsWith(`${name}:`));
const ofB = without("host/a");
const rest = all.filter((line) => !/^host\/[ac]:/.test(line));

/** Symbols that are lost are the matter of symbol-indexing; histories that are damaged, of daemon-histories. */
const notAhead = isFull ? ["--set", "workers=1", "--set", "index.symbols=false"] : textsOnly;
/** A search, or the start itself, finds damage without the warmer, which costs as much as the rest of a start. */
const options = isFull ? [...notAhead, ...preparedAhead] : notAhead;

/** The data directory of a stopped daemon with both repositories, each in its own shard; tests use copies. */
const whole = dataDirectory(t);

t.before(async () => {
  const daemon = await DaemonProcess.start(whole, notAhead);
  for (const [label, { path }] of Object.entries(source)) await daemon.add(`host/${label}`, path);
  await daemon.stop();
});

/** A copy in which the shard of `host/a` was modified; undefined deletes the shard. */
async function damagedData(t: Test, change: ((bytes: Buffer) => void) | undefined): Promise<string> {
  const data = dataDirectory(t);
  cpSync(whole, data, { recursive: true });
  await damageShard(data, "needle a7", change);
  return data;
}

const flip =
  (text: string) =>
  (bytes: Buffer): void => {
    bytes[bytes.indexOf(text)]! ^= 1;
  };
const flipText = flip("needle a7");
const flipHeader = (bytes: Buffer): void => {
  bytes[20]! ^= 1;
};

/** Removes a remote for the rest of the test. */
function hideRemote(t: Test, { path, sibling }: { readonly path: string; readonly sibling: string }): void {
  renameSync(path, sibling);
  t.teardown(() => renameSync(sibling, path));
}

/** The mirror of the repository that was added at this place. */
function mirrorIn(data: string, place: number): string {
  return join(data, "mirrors", readdirSync(join(data, "mirrors")).sort()[place]!);
}

/** Searches until no answer says that something is missing, with pauses, because searches take processor time that the repair needs. */
async function untilWhole(daemon: DaemonProcess): Promise<void> {
  const isWhole = async (): Promise<boolean> => (await daemon.search(needle)).skipped.length === 0;
  await until("it is whole again", isWhole, waitMsMax, searchPauseMs);
}

/** Modifies the stored shard that contains `text`; undefined deletes it. */
async function damageShard(data: string, text: string, change: ((bytes: Buffer) => void) | undefined): Promise<void> {
  const store = new ShardStore(join(data, "shards"));
  let found = false;
  for (const id of store.ids()) {
    const snapshot = store.read();
    const bytes = Buffer.from(snapshot.get(id) ?? Buffer.alloc(0));
    snapshot.close();
    if (isHistoryShard(bytes) || !bytes.includes(text)) continue;
    found = true;
    change?.(bytes);
    if (change === undefined) await store.remove([id]);
    else await store.put([{ id, bytes }]);
  }
  await store.close();
  if (!found) throw new RangeError(`no shard holds ${text}`);
}

const damages: readonly (readonly [what: string, change: ((bytes: Buffer) => void) | undefined])[] = [
  ["a bit of the text", flipText],
  [
    "a bit of a path",
    (bytes) => {
      bytes[bytes.indexOf("7.txt")]! ^= 1;
    },
  ],
  ["a bit of the header", flipHeader],
];

// Random ones are in fault-damage.
for (const [what, change] of damages) {
  t.test(`${what}: reported, excluded, rebuilt`, inLongRuns, async (t) => {
    const data = await damagedData(t, change);
    const daemon = await testDaemon(t, options, data);
    const first = await daemon.search(needle);
    if (first.skipped.length === 0) t.same(first.found, all, "built again before anybody asked");
    else
      t.same(
        [first.found, first.skipped],
        [ofB, ["backend-missing"]],
        "what is not damaged is complete, and nothing else is shown",
      );
    await untilWhole(daemon);
    t.same((await daemon.search(needle)).found, all);
    await becomes(t, () => daemon.metric("trawl_index_corrupt_shards"), 0, "none is counted any more");
    t.ok((await daemon.metric("trawl_shards_damaged_total")) > 0);
    t.equal(await daemon.metric("trawl_shards_repaired_total"), await daemon.metric("trawl_shards_damaged_total"));
    await requireNoFaults(t, daemon);
  });
}

/** A check finds no fault when histories are rebuilt, which may be after texts are searchable again. */
async function requireNoFaults(t: Test, daemon: DaemonProcess): Promise<void> {
  await becomes(t, () => daemon.countFaults(), 0, "a check finds no fault");
}

t.test("a missing shard is rebuilt at the start, without a search", inLongRuns, async (t) => {
  const data = await damagedData(t, undefined);
  const daemon = await testDaemon(t, options, data);
  await until("its text is read", async () => (await daemon.metric("trawl_sync_read_blobs_total")) === 20);
  await becomes(t, async () => (await daemon.search(needle)).found, all, "it is whole again");
});

t.test("damaged content is found and rebuilt before the first search", inLongRuns, async (t) => {
  const data = await damagedData(t, flipText);
  const daemon = await testDaemon(t, [...notAhead, ...preparedAhead], data);
  await until("it is found", async () => (await daemon.metric("trawl_shards_damaged_total")) === 1);
  await until("it is built again", async () => (await daemon.metric("trawl_shards_repaired_total")) === 1);
  const answer = await daemon.search(needle);
  t.same([answer.found, answer.skipped], [all, []]);
});

// Without a limit, nothing is ranked; what could not be ranked is searched for afterwards, which finds the damage.
for (const [what, query, more] of [
  ["search", needle, inLongRuns],
  ["ranked search", `count:500 ${needle}`, {}],
] as const) {
  t.test(`without the warmer, the first ${what} finds the damage`, more, async (t) => {
    const daemon = await testDaemon(t, notAhead, await damagedData(t, flipText));
    const first = await daemon.search(query);
    t.same([first.found, first.skipped], [ofB, ["backend-missing"]]);
    await untilWhole(daemon);
  });
}

t.test("`trawl check` reports the damage, `--repair` repairs it", inLongRuns, async (t) => {
  const data = await damagedData(t, flipText);
  const daemon = await testDaemon(t, notAhead, data);
  const found = await runCommand("check", "--data", data);
  t.equal(found.exitCode, 1);
  t.match(found.out, /shard \d+ is damaged: section content has a wrong checksum[^]*\n\d shards checked, 1 faults/);
  const repaired = await runCommand("check", "--repair", "--data", data);
  t.equal(repaired.exitCode, 0, repaired.out + repaired.err);
  t.match(repaired.out, /was rebuilt/);
  t.equal((await runCommand("check", "--data", data)).exitCode, 0);
  const answer = await daemon.search(needle);
  t.same([answer.found, answer.skipped], [all, []]);
});

t.test("if the remote is gone, the shard is rebuilt from the mirror", inLongRuns, async (t) => {
  const data = await damagedData(t, flipText);
  hideRemote(t, { path: source.a.path, sibling: source.a.sibling("away") });
  const daemon = await testDaemon(t, options, data);
  await untilWhole(daemon);
  const answer = await daemon.search(needle);
  t.same([answer.found, answer.skipped], [all, []]);
});

t.test("if the mirror is damaged too, it is fetched again", inLongRuns, async (t) => {
  const data = await damagedData(t, flipText);
  rmSync(join(mirrorIn(data, 0), "objects", "pack"), { recursive: true });
  const daemon = await testDaemon(t, options, data);
  await untilWhole(daemon);
  const answer = await daemon.search(needle);
  t.same([answer.found, answer.skipped], [all, []]);
  await becomes(
    t,
    async () => (await daemon.list()).map((status) => status.error),
    ["", ""],
    "nothing is wrong any more",
  );
});

t.test("if remote and mirror are gone, the rest is searched, and the list shows the error", inLongRuns, async (t) => {
  const data = await damagedData(t, flipText);
  rmSync(mirrorIn(data, 0), { recursive: true });
  hideRemote(t, { path: source.a.path, sibling: source.a.sibling("away") });
  const daemon = await testDaemon(t, options, data);
  const answer = await daemon.search(needle);
  t.same([answer.found, answer.skipped], [ofB, ["backend-missing"]]);
  await until("the failure is listed", async () => (await daemon.list())[0]!.error !== "");
  const repaired = await runCommand("check", "--repair", "--data", data);
  t.equal(repaired.exitCode, 1);
  t.match(repaired.out, /could not be rebuilt/);
  t.same((await daemon.search(needle)).found, ofB, "and so it stays");
});

t.test("if all shards are gone, the start reports them, and they are rebuilt under new ids", inLongRuns, async (t) => {
  const data = dataDirectory(t);
  cpSync(whole, data, { recursive: true });
  rmSync(join(data, "shards"), { recursive: true });
  const daemon = await testDaemon(t, options, data);
  const early = await daemon.search(needle);
  if (early.found.length < all.length)
    t.same(early.skipped, ["backend-missing"], "an answer that lacks something says so");
  await untilWhole(daemon);
  t.same((await daemon.search(needle)).found, all);
  await requireNoFaults(t, daemon);
});

t.test(
  "the store has whole shards, but not those that the catalog means: none is searched, all are built again",
  inLongRuns,
  async (t) => {
    const data = dataDirectory(t);
    cpSync(whole, data, { recursive: true });
    const store = new ShardStore(join(data, "shards"));
    const ids = store.ids();
    const shards = ids.map((id) => {
      const snapshot = store.read();
      const bytes = Buffer.from(snapshot.get(id) ?? Buffer.alloc(0));
      snapshot.close();
      return bytes;
    });
    await store.put(ids.map((id, i) => ({ id, bytes: shards[(i + 1) % shards.length]! })));
    await store.close();
    const daemon = await testDaemon(t, options, data);
    const early = await daemon.search(needle);
    t.same(
      early.found.filter((line) => !all.includes(line)),
      [],
      "nothing is found in a shard of others",
    );
    if (early.found.length < all.length)
      t.same(early.skipped, ["backend-missing"], "an answer that lacks something says so");
    await untilWhole(daemon);
    t.same((await daemon.search(needle)).found, all);
    await requireNoFaults(t, daemon);
  },
);

t.test(
  "if only the catalog is restored from an older copy, everything is found, and `check` reports no faults",
  inLongRuns,
  async (t) => {
    const data = dataDirectory(t);
    cpSync(whole, data, { recursive: true });
    const changed = await DaemonProcess.start(data, options);
    await changed.remove("host/b");
    await changed.add("host/c", source.b.path);
    await changed.stop();
    rmSync(join(data, "catalog"), { recursive: true });
    cpSync(join(whole, "catalog"), join(data, "catalog"), { recursive: true });
    const daemon = await testDaemon(t, options, data);
    await untilWhole(daemon);
    t.same((await daemon.search(needle)).found, all);
    await requireNoFaults(t, daemon);
  },
);

t.test("one start finds a missing shard and one that cannot be opened, `trawl check` damaged texts", async (t) => {
  const { c } = others;
  if (c === undefined) return t.comment("a long run has a daemon for each kind of damage");
  const data = await damagedData(t, flipText);
  await damageShard(data, "needle c7", flip("needle c7"));
  await damageShard(data, "needle d7", undefined);
  await damageShard(data, "needle e7", flipHeader);
  rmSync(mirrorIn(data, 2), { recursive: true });
  hideRemote(t, { path: c.path, sibling: c.sibling("away") });
  const daemon = await testDaemon(t, options, data);
  await until("two texts are read, without a search", async () => {
    return (await daemon.metric("trawl_sync_read_blobs_total")) === 40;
  });
  t.ok((await daemon.metric("trawl_shards_damaged_total")) > 0, "it is counted");
  const search = async (query: string): Promise<readonly [found: readonly string[], skipped: readonly string[]]> => {
    const { found, skipped } = await daemon.search(query);
    return [found, skipped];
  };
  await becomes(t, () => search(`repo:host/[bde] ${needle}`), [rest, []], "what is not damaged, or built again");
  t.same(await search(`repo:host/c ${needle}`), [[], ["backend-missing"]], "a search finds the damage, and shows none");
  await until("the failure is listed", async () => (await daemon.list())[2]!.error !== "");
  const found = await runCommand("check", "--data", data);
  t.equal(found.exitCode, 1);
  t.match(found.out, /shard \d+ is damaged: section content has a wrong checksum[^]*\n\d shards checked, 2 faults/);
  const repaired = await runCommand("check", "--repair", "--data", data);
  t.equal(repaired.exitCode, 1, repaired.out + repaired.err);
  t.match(repaired.out, /was rebuilt/);
  t.match(repaired.out, /could not be rebuilt/);
  t.equal(await daemon.countFaults(), 1, "the other is whole");
  t.same(await search(needle), [without("host/c"), ["backend-missing"]], "the rest is searched");
});

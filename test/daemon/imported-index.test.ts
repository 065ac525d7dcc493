/** The index of a single host becomes that of a fleet: nothing is indexed again, and other nodes get it. */
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import t from "tap";
import { fleetStatus, importFleet, joinFleet, leaveFleet, withFleet } from "../../src/cli/run-fleet.js";
import { ShardStore } from "../../src/store/shard-store.js";
import { type DaemonProcess, dataDirectory, runCommandWith } from "../support/daemon.js";
import { GitFixture } from "../support/git-fixture.js";
import { IndexNode, makeIndexSite } from "../support/index-node.js";
import { withoutPostgres } from "../support/postgres.js";
import { comesToMatch, until } from "../support/waiting.js";

const queries = ["needle", "type:repo host", "file:b.txt", "select:repo needle"];

/** The match objects of each search, sorted, without when a repository was fetched. */
async function findMatches(daemon: DaemonProcess): Promise<readonly (readonly string[])[]> {
  const all: (readonly string[])[] = [];
  for (const query of queries) {
    const events = await daemon.stream(query);
    const matches = events.flatMap(({ name, data }) =>
      name === "matches" ? (JSON.parse(data) as readonly object[]) : [],
    );
    all.push(matches.map((match) => JSON.stringify({ ...match, repoLastFetched: undefined })).sort());
  }
  return all;
}

/** Damages the text of one shard while `work` runs. */
async function corruptText(data: string, work: () => Promise<void>): Promise<void> {
  const store = new ShardStore(join(data, "shards"));
  try {
    const [id = 0] = store.ids();
    const snapshot = store.read();
    const bytes = Buffer.from(snapshot.get(id) ?? []);
    snapshot.close();
    const damaged = Buffer.from(bytes);
    const at = damaged.indexOf("needle");
    damaged[at] = (damaged[at] ?? 0) ^ 1;
    await store.put([{ id, bytes: damaged }]);
    await work();
    await store.put([{ id, bytes }]);
  } finally {
    await store.close();
  }
}

const usual = { withoutDatabase: false, waitSeconds: 120 };

/** Makes a directory as it is if the import was killed between the database and the directory. */
function takeBack(data: string): void {
  const identity = join(data, "fleet.json");
  const { node } = JSON.parse(readFileSync(identity, "utf8")) as { readonly node: string };
  writeFileSync(join(data, "fleet-import"), `${node}\n`);
  rmSync(identity);
}

/** Begins an import in a process of its own, and kills it as soon as it has come to where `isThere` says. */
async function killImport(config: string, folder: string, isThere: () => Promise<boolean> | boolean): Promise<void> {
  const pidFile = join(folder, "import.pid");
  rmSync(pidFile, { force: true });
  const wrapper = ["sh", "-c", `echo $$ > ${pidFile}.new; mv ${pidFile}.new ${pidFile}; exec "$@"`, "sh"];
  const ends = runCommandWith("", ["fleet", "init", "--import", "--config", config], {}, wrapper);
  let hasEnded = false;
  void ends.then(() => (hasEnded = true));
  await until("the import is there", async () => hasEnded || (existsSync(pidFile) && (await isThere())));
  if (!hasEnded) process.kill(Number(readFileSync(pidFile, "utf8")), "SIGKILL");
  const { exitCode, err } = await ends;
  if (exitCode !== "SIGKILL") throw new RangeError(`the import ended with ${exitCode}: ${err}`);
}

t.test("a single host becomes the first node of a fleet", { skip: withoutPostgres }, async (test) => {
  const fixtures: GitFixture[] = [];
  const sources = ["one", "two", "three"].map((name) => {
    const source = GitFixture.create();
    fixtures.push(source);
    source.commit({ branch: "main", files: { "a.txt": `needle ${name}\n`, "b.txt": `needle ${name} two\nother\n` } });
    return { name: `host/${name}`, url: source.path };
  });
  const { nodes, server } = await makeIndexSite(test, ["a", "b"], sources, IndexNode);
  const [a, b] = nodes as [IndexNode, IndexNode];
  const told: string[] = [];
  const tell = (line: string): void => void told.push(line);

  await test.rejects(importFleet(a.config, tell), { message: /there is nothing to import/ });
  const alone = new IndexNode(test, "a", `${a.config}.alone`, a.data);
  const { fleet: _, ...single } = JSON.parse(readFileSync(a.config, "utf8")) as { readonly fleet: object };
  writeFileSync(alone.config, JSON.stringify(single));
  const host = await alone.start();
  await until("all is indexed", async () => (await host.search("needle")).found.length === 6);
  let before = await findMatches(host);
  await test.rejects(importFleet(a.config, tell), { message: /another trawld is running/ });
  await host.stop();

  await test.rejects(importFleet(a.config, tell, { partitions: 4 }), { message: /cannot be divided/ });
  test.notOk(existsSync(join(a.data, "fleet.json")), "it is still a single host");

  await corruptText(a.data, async () => {
    await test.rejects(importFleet(a.config, tell), { code: "corrupt-shard" }, "nothing that is damaged is stored");
  });

  const puts = (kinds = /shard|symbols|history/): number =>
    server.requests.filter((one) => one.startsWith("PUT") && kinds.test(one)).length;
  // The first object only tries the store.
  server.fail("PUT", { kind: "none" }, { kind: "short" });
  await test.rejects(importFleet(a.config, tell), { message: /of \d+ bytes came/ });
  for (const path of server.objects.keys()) if (path.includes("/shard/")) server.objects.delete(path);
  server.fail("PUT", { kind: "none" }, { kind: "none" }, { kind: "status", status: 403, code: "AccessDenied" });
  await test.rejects(importFleet(a.config, tell), { message: /AccessDenied/ });
  test.notOk(existsSync(join(a.data, "fleet.json")), "it is still a single host");
  // Killed while it tries the store, at the first object, at a later one, and within the transaction.
  for (const answered of [0, 1, 3]) {
    const asked = puts(/PUT/) + answered + 1;
    server.fail("PUT", ...Array.from({ length: answered }, () => ({ kind: "none" }) as const), { kind: "silence" });
    await killImport(a.config, dirname(a.config), () => puts(/PUT/) === asked);
    test.notOk(existsSync(join(a.data, "fleet.json")), `killed at object ${answered}`);
    for (const path of server.objects.keys()) if (path.includes("/shard/")) server.objects.delete(path);
  }
  await withFleet(a.config, (database) =>
    database.transaction(async (transaction) => {
      await transaction.query("lock table fleet in access exclusive mode");
      const isWaiting = "select 1 from pg_locks where relation = 'fleet'::regclass and not granted";
      await killImport(a.config, dirname(a.config), async () => (await transaction.query(isWaiting)).length > 0);
    }),
  );
  await test.rejects(fleetStatus(a.config, false), { message: /has no fleet yet/ }, "there is none of it");
  const interrupted = await alone.start();
  test.same(await findMatches(interrupted), before, "a single host whose import was killed answers as before");
  await interrupted.stop();
  told.length = 0;
  await importFleet(a.config, tell);
  test.match(told[0], /stored \d+ of \d+ shards/);
  const stored = puts();
  takeBack(a.data);
  const again = await alone.start();
  test.same(await findMatches(again), before, "a single host that was interrupted answers as before");
  await again.stop();
  await importFleet(a.config, tell);
  test.equal(puts(), stored, "what is stored is not stored again");
  // Another host whose configuration has the same names.
  const other = dataDirectory(test);
  cpSync(a.data, other, { recursive: true });
  rmSync(join(other, "fleet.json"));
  const otherConfig = `${a.config}.other`;
  writeFileSync(otherConfig, JSON.stringify({ ...JSON.parse(readFileSync(a.config, "utf8")), data: other }));
  const members = await fleetStatus(a.config, true);
  await test.rejects(importFleet(otherConfig, tell), { code: "conflict", message: /has a fleet already/ });
  test.notOk(existsSync(join(other, "fleet.json")));
  test.equal(await fleetStatus(a.config, true), members, "the fleet of the first host stays, which has not run yet");
  takeBack(a.data);
  // What no node has used is made anew.
  const changing = await alone.start();
  fixtures[0]?.commit({ branch: "main", files: { "c.txt": "needle more\n" } });
  await alone.trySync("host/one");
  await until("the change is indexed", async () => (await changing.search("needle")).found.length > 6);
  before = await findMatches(changing);
  const count = (await changing.search("needle")).found.length;
  await changing.stop();
  await importFleet(a.config, tell);
  await importFleet(a.config, tell);
  test.match(told.at(-1), /is that of a node of a fleet already/);

  const putsBefore = puts(/shard/);
  const first = await a.start();
  await until("it owns the index", async () => (await first.metric("trawl_fleet_owner")) === 1);
  test.same(await findMatches(first), before, "the node answers as the host did");
  for (const { name } of sources) await a.trySync(name);
  const { version } = JSON.parse(await fleetStatus(a.config, true)) as { readonly version: number };
  await joinFleet(b.config, false, tell);
  const second = await b.start();
  // Before that it asks the first one.
  await comesToMatch(test, () => fleetStatus(a.config, false), /^b {2}up, follows {2}has everything/m, "it has a copy");
  test.equal((await second.search("needle")).found.length, count);
  test.same(await findMatches(second), before, "the node that has joined answers as the host did");
  // The history of the last commit may be indexed by the node.
  test.equal(puts(/shard/), putsBefore, "nothing was indexed again");
  test.ok(version >= 2);

  // The way back, of a node that has no mirrors and of one that has.
  await test.rejects(leaveFleet(b.config, usual, tell), { code: "conflict", message: /another trawld is running/ });
  const elsewhere = `${a.config}.lost`;
  writeFileSync(elsewhere, readFileSync(a.config, "utf8").replace(/host=[^&"]*/, "host=/nonexistent"));
  for (const [node, other] of [
    [b, a],
    [a, b],
  ] as const) {
    await node.stop();
    await test.rejects(node.startAlone(), /is the data directory of a node of a fleet, and fleet.database is missing/);
    const changes = await node.readChanges();
    if (node === b) {
      await withFleet(a.config, async (database) => {
        await database.query("update copy set state = 'loading' where node = (select id from node where name = 'b')");
        await test.rejects(leaveFleet(b.config, usual, tell), {
          code: "conflict",
          message: /has no copy of the index/,
        });
        await database.query("update copy set state = 'ready' where state = 'loading'");
      });
      await leaveFleet(b.config, usual, tell);
      test.match(await fleetStatus(a.config, false), /^fleet test: 1 nodes|^a {2}up, fetches and indexes/m);
    } else {
      await test.rejects(leaveFleet(elsewhere, usual, tell), /cannot connect|ENOENT/);
      await leaveFleet(elsewhere, { ...usual, withoutDatabase: true }, tell);
    }
    test.notOk(existsSync(join(node.data, "fleet.json")));
    await test.rejects(leaveFleet(node.config, usual, tell), { message: /there is nothing to leave/ });
    if (node === b) await test.rejects(node.start(), /has not joined the fleet/);
    const single = await node.startAlone();
    await until("it has its mirrors", async () => (await single.get("/host/one/-/raw/a.txt")).status === 200);
    test.same(await findMatches(single), before, `${node.name} answers as before, and ${other.name} is not asked`);
    await node.stop();
    test.same(await node.readChanges(), changes, "nothing was indexed again");
  }
});

/** Three nodes with one index: one fetches and indexes, the others follow through a database and a bucket, and take over. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { fleetStatus, joinFleet, withFleet } from "../../src/cli/run-fleet.js";
import { readIdentityFile } from "../../src/fleet/node-identity.js";
import { runCommand } from "../support/daemon.js";
import { GitFixture } from "../support/git-fixture.js";
import { IndexNode, makeIndexSite } from "../support/index-node.js";
import { readMirror } from "../support/mirror-readings.js";
import { withoutPostgres } from "../support/postgres.js";
import { removeFolder } from "../support/remove-folder.js";
import type { S3Server } from "../support/s3-server.js";
import { shared } from "../support/shared.js";
import { becomes, comesToMatch, until } from "../support/waiting.js";

class Node extends IndexNode {
  async found(query: string): Promise<string> {
    return (await this.running.search(query)).found.join();
  }
}

interface Status {
  readonly owner: string;
  readonly version: number;
  readonly nodes: readonly { readonly name: string; readonly version: number; readonly failure: string }[];
}

class Site {
  constructor(
    readonly nodes: readonly Node[],
    readonly server: S3Server,
    readonly source: GitFixture,
  ) {}

  async status(): Promise<Status> {
    return JSON.parse(await fleetStatus(this.nodes[0]?.config ?? "", true)) as Status;
  }

  /** The node that fetches and indexes, as its metrics say; undefined if none does, or several. */
  async owner(): Promise<Node | undefined> {
    const running = this.nodes.filter(({ daemon }) => daemon !== undefined);
    const are = await Promise.all(running.map((node) => node.running.metric("trawl_fleet_owner")));
    const owners = running.filter((_, i) => are[i] === 1);
    return owners.length === 1 ? owners[0] : undefined;
  }

  async requireOwner(): Promise<Node> {
    let owner: Node | undefined;
    await until("one node fetches and indexes", async () => (owner = await this.owner()) !== undefined);
    if (owner === undefined) throw new RangeError("nobody owns the index");
    return owner;
  }

  async others(): Promise<readonly Node[]> {
    const owner = await this.owner();
    return this.nodes.filter((node) => node.daemon !== undefined && node !== owner);
  }

  commit(path: string, text: string): void {
    this.source.commit({ branch: "main", files: { [path]: text } });
  }

  /** Has the owner fetch what was committed, whichever node that is by then. */
  async sync(): Promise<void> {
    await until("the owner fetches", async () => (await this.requireOwner()).trySync("host/one"));
  }
}

const site = shared(async (owner): Promise<Site> => {
  const source = GitFixture.create();
  source.commit({ branch: "main", files: { "a.txt": "needle one\n", "b.txt": "needle two\nother\n" } });
  const { nodes, server } = await makeIndexSite(owner, ["a", "b", "c"], [{ name: "host/one", url: source.path }], Node);
  return new Site(nodes, server, source);
}, t);

/** Joining makes a node with a directory, or neither. */
async function testHalfJoined(t: Test, like: string): Promise<void> {
  // The paths of sockets are short.
  const folder = mkdtempSync(join(tmpdir(), "trawl-join-"));
  t.teardown(() => removeFolder(folder));
  for (const [name, inner] of [
    ["used", "notes"],
    ["home", ".ssh"],
  ] as const)
    mkdirSync(join(folder, name, inner), { recursive: true });
  writeFileSync(join(folder, "file"), "");
  const { fleet } = JSON.parse(readFileSync(like, "utf8")) as { readonly fleet: object };
  const config = join(folder, "node.jsonc");
  const joinAs = (node: string, data: string): Promise<void> => {
    writeFileSync(config, JSON.stringify({ data: join(folder, data), fleet: { ...fleet, node, listen: "" } }));
    return joinFleet(config, false, () => undefined);
  };
  const members = async (): Promise<Status["nodes"]> => (JSON.parse(await fleetStatus(config, true)) as Status).nodes;
  await t.rejects(joinAs("d", "file/data"), { message: /cannot use .*file\/data as data directory/ });
  await t.rejects(joinAs("d", "used"), { code: "conflict", message: /is not empty \(it has "notes"\)/ });
  t.strictSame(
    (await members()).map(({ name }) => name),
    ["a", "b", "c"],
  );
  await t.rejects(joinAs("a", "home"), { code: "conflict", message: /a node a has joined/ });
  t.strictSame(readdirSync(join(folder, "home")), [".ssh"], "nothing is left of it");
  // It ended after it had written its file.
  await joinAs("d", "home");
  const known = readIdentityFile(join(folder, "home"));
  await withFleet(config, (database) => database.query("delete from node where name = 'd'"));
  await joinAs("d", "home");
  t.equal(readIdentityFile(join(folder, "home"))?.node, known?.node, "it goes on as the same node");
  await withFleet(config, (database) => database.query("delete from node where name = 'd'"));
}

t.test("a fleet is made, joined and started", { skip: withoutPostgres }, async (t) => {
  const { nodes, ...rest } = await site();
  const [a, b] = nodes;
  t.match(await runCommand("fleet", "status", "--config", a.config), {
    exitCode: 2,
    err: /no fleet yet: make it with/,
  });
  rest.server.fail("PUT", { kind: "status", status: 403, code: "AccessDenied" });
  t.match(await runCommand("fleet", "init", "--config", a.config), {
    exitCode: 2,
    err: /AccessDenied.*fleet\.objectsCredential/,
  });
  t.match(await runCommand("fleet", "init", "--config", a.config), { exitCode: 0, out: /the fleet test is ready/ });
  await t.rejects(a.start(), /has not joined the fleet: use .trawl fleet join/);
  // It has begun to use its data directory.
  t.match(await runCommand("fleet", "join", "--config", a.config), {
    exitCode: 2,
    err: /is in use without a fleet.*trawl fleet init --import/s,
  });
  removeFolder(a.data);
  t.match(await runCommand("fleet", "join", "--config", a.config), { exitCode: 0 });
  for (const { config } of nodes.slice(1)) await joinFleet(config, false, () => undefined);
  t.match(await runCommand("fleet", "join", "--config", b.config), {
    exitCode: 0,
    out: /is in the fleet test already/,
  });
  await testHalfJoined(t, a.config);
  await Promise.all(nodes.map((node) => node.start()));
  for (const node of nodes)
    await becomes(t, () => node.found("needle"), "host/one:a.txt:1,host/one:b.txt:1", `${node.name} finds everything`);
  await (await site()).requireOwner();
  for (const node of nodes) {
    t.equal((await node.running.get("/readyz")).status, 200);
    const answers = await node.running.search("needle two");
    t.match(answers.progress, { done: true, repositoriesCount: 1 }, "the answer is complete");
  }
  for (const node of nodes)
    await becomes(t, () => node.found("type:commit commit"), "host/one", `${node.name} asks the owner for histories`);
  const owner = await (await site()).requireOwner();
  const expected = await readMirror(owner.running.url, "host/one", "a.txt");
  t.equal(expected["raw"], "200 needle one\n");
  for (const node of nodes)
    await becomes(
      t,
      () => readMirror(node.running.url, "host/one", "a.txt"),
      expected,
      `${node.name} asks it for its mirror`,
    );
});

t.test(
  "what is committed reaches all of them, and only the owner takes changes of repositories",
  { skip: withoutPostgres },
  async (t) => {
    const fleet = await site();
    fleet.commit("c.txt", "needle three\n");
    await fleet.sync();
    for (const node of fleet.nodes) await becomes(t, () => node.found("three"), "host/one:c.txt:1", node.name);
    const owner = await fleet.requireOwner();
    const [follower] = await fleet.others();
    fleet.commit("d.txt", "needle four\n");
    await until("the owner fetches for a node that follows", () => follower.trySync("host/one"));
    t.equal(await follower.found("four"), "host/one:d.txt:1", "which has it then");
    await t.rejects(follower.running.add("host/x", "/nowhere"), /changes the index at this moment/);
    await becomes(t, async () => (await fleet.status()).owner, owner.name, "the status names it");
  },
);

t.test("an owner that is drained hands over first, and answers searches", { skip: withoutPostgres }, async (t) => {
  const fleet = await site();
  const owner = await fleet.requireOwner();
  const drain = (...args: readonly string[]): ReturnType<typeof runCommand> =>
    runCommand("fleet", "drain", ...args, "--config", owner.config);
  t.match(await drain("nobody"), { exitCode: 2, err: /has no node "nobody"/ });
  t.match(await drain(owner.name), { exitCode: 0, out: /does not fetch and index, [abc] does; it can be stopped/ });
  const next = await fleet.requireOwner();
  t.not(next.name, owner.name);
  fleet.commit("drained.txt", "needle drained\n");
  await fleet.sync();
  for (const node of fleet.nodes) await becomes(t, () => node.found("drained"), "host/one:drained.txt:1", node.name);
  await comesToMatch(
    t,
    () => fleetStatus(owner.config, false),
    new RegExp(`\\n${owner.name}  up, follows, draining  `),
    "the status shows it",
  );
  t.match(await drain(owner.name, "--undo"), { exitCode: 0, out: /may fetch and index again/ });
  t.equal((await fleet.owner())?.name, next.name, "the owner stays");
});

t.test(
  "the owner is killed: another node goes on, and the killed one follows again",
  { skip: withoutPostgres },
  async (t) => {
    const fleet = await site();
    const killed = await fleet.requireOwner();
    // The next owner fetches it when it takes over, which may be before the process has ended.
    fleet.commit("d.txt", "needle four\n");
    await killed.kill();
    const others = await fleet.others();
    for (const node of others) await becomes(t, () => node.found("four"), "host/one:d.txt:1", node.name);
    // Before the killed one is back: the plan of the fleet had that one as the owner.
    t.not((await fleet.requireOwner()).name, killed.name);
    // It may have made the change above itself, but not this one.
    fleet.commit("d2.txt", "needle autumn\n");
    await fleet.sync();
    for (const node of others) await becomes(t, () => node.found("autumn"), "host/one:d2.txt:1", node.name);
    // What it fetches on its return is refused for a while, and then has other bytes.
    fleet.server.fail("GET", { kind: "status", status: 503 }, { kind: "other" }, { kind: "cut" });
    await killed.start();
    await becomes(t, () => killed.found("autumn"), "host/one:d2.txt:1", "it is found there");
    // Before that it asks another node.
    await until("it follows, through a bucket that fails", () => fleet.server.faults.length === 0);
    t.equal((await fleet.owner())?.name === killed.name, false, "what another node has, it does not take");
  },
);

t.test("an object with other bytes is never applied, and the status names it", { skip: withoutPostgres }, async (t) => {
  const fleet = await site();
  const [late] = await fleet.others();
  await late.kill();
  const before = new Set(fleet.server.objects.keys());
  fleet.commit("e.txt", "needle five\n");
  await fleet.sync();
  const owner = await fleet.requireOwner();
  await becomes(t, () => owner.found("five"), "host/one:e.txt:1", "the owner has it");
  const added = [...fleet.server.objects].filter(([key]) => !before.has(key));
  t.ok(added.length > 0);
  for (const [key, bytes] of added) fleet.server.objects.set(key, Buffer.alloc(bytes.length, 7));
  // It has lost all of its shards, besides.
  removeFolder(join(late.data, "shards"));
  await late.start();
  const failure = async (): Promise<string> =>
    (await fleet.status()).nodes.find(({ name }) => name === late.name)?.failure ?? "";
  const hasFailed = (): boolean => late.running.log.some(({ error }) => /other bytes came/.test(String(error)));
  await until("the node says why it does not follow", hasFailed);
  const named = /object (?:shard|history)\/[0-9a-f]{2}\/[0-9a-f]{64} cannot be read/;
  await comesToMatch(t, failure, named, "it has told the others");
  t.equal(await late.found("five"), "", "nothing of it is found");
  const headers = { authorization: `token ${await late.running.addToken("admin")}` };
  const isTaken = async (): Promise<number> =>
    (await fetch(new URL("/-/check-username-taken/ann", late.running.url), { headers })).status;
  t.equal(await isTaken(), 503, "it does not know all readers, whose names are taken");
  await becomes(t, () => late.found("four"), "host/one:d.txt:1", "what it had is, fetched again");
  t.equal(
    await late.running.metric("trawl_shards_damaged_total"),
    await late.running.metric("trawl_shards_repaired_total"),
  );
  for (const [key, bytes] of added) fleet.server.objects.set(key, bytes);
  await becomes(t, () => late.found("five"), "host/one:e.txt:1", "it follows when the bytes are right");
  await becomes(t, async () => `${await isTaken()}`, "404", "it knows all readers");
});

t.test(
  "a node that is stopped hands over at once, and everything is deleted that is not live",
  { skip: withoutPostgres },
  async (t) => {
    const fleet = await site();
    const owner = await fleet.requireOwner();
    // The next one may have fetched everything before this one has ended.
    fleet.commit("f.txt", "needle six\n");
    t.equal(await owner.running.stop(), 0);
    owner.daemon = undefined;
    const next = await fleet.requireOwner();
    await becomes(t, () => next.found("six"), "host/one:f.txt:1", "it goes on");
    for (const node of await fleet.others()) {
      await becomes(t, () => node.found("six"), "host/one:f.txt:1", "and the other one follows");
      t.equal(await node.running.countFaults(), 0);
    }
  },
);

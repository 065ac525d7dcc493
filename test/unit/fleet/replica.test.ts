/** One node with the index of its fleet: who may own it, whose database it is, and what happens without one. */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import t, { type Test } from "tap";
import { silentLog } from "../../../src/base/log.js";
import { createMetrics } from "../../../src/base/metrics.js";
import { resultAtOnce } from "../../../src/base/yielding.js";
import { Catalog } from "../../../src/catalog/catalog.js";
import { type Database, DatabaseError } from "../../../src/database/database.js";
import { migrate } from "../../../src/database/migrations.js";
import { schema } from "../../../src/database/schema.js";
import { FleetRecords } from "../../../src/fleet/fleet-records.js";
import { HeldPartition, type HeldServices } from "../../../src/fleet/held-partition.js";
import { readIdentityFile, writeIdentityFile } from "../../../src/fleet/node-identity.js";
import type { PartitionState } from "../../../src/fleet/partition-records.js";
import { PlanRecords } from "../../../src/fleet/plan-records.js";
import { openDatabase, SharedIndex } from "../../../src/fleet/shared-index.js";
import { testRepository } from "../../support/engine.js";
import { MemoryRecords } from "../../support/memory-records.js";
import { databaseSettings, testPostgres, withoutPostgres } from "../../support/postgres.js";
import { until } from "../../support/waiting.js";

const skip = withoutPostgres;
/** On a busy machine a lease is prolonged late. */
const leaseMs = 15_000;

interface Member {
  readonly index: SharedIndex;
  readonly catalog: Catalog;
  readonly data: string;
}

function emptyCatalog(): Catalog {
  const catalog = new Catalog(new MemoryRecords());
  resultAtOnce(catalog.load());
  return catalog;
}

/** A process of the node with this id. Shards are copied by nobody: the changes of these tests have none. */
async function member(
  t: Test,
  id: string,
  name: string,
  fleet: string,
  isReachable = true,
  catalog = emptyCatalog(),
): Promise<Member> {
  const data = join(t.testdir({}), `${id}-${Math.random()}`);
  mkdirSync(data);
  const { address } = databaseSettings(await testPostgres());
  const identity = { fleet, node: id, name };
  await writeIdentityFile(data, identity);
  const none = (): Promise<never> => Promise.reject(new RangeError("there are no shards"));
  const index = new SharedIndex({
    database: {
      address: isReachable ? address : { ...address, host: "/nowhere" },
      password: undefined,
      authority: undefined,
    },
    dataFolder: data,
    identity,
    fleetName: "test",
    program: "1",
    leaseMs,
    catalog,
    pool: { storeObject: none, bringObject: none },
    objects: { address: { kind: "folder", path: "/nowhere" }, credential: "" },
    shardIds: new Int32Array(new SharedArrayBuffer(4)),
    stop: new Int32Array(new SharedArrayBuffer(4)),
    retire: () => undefined,
    log: silentLog(),
    metrics: createMetrics().metrics,
  });
  t.teardown(() => index.close());
  return { index, catalog, data };
}

/** The fleet of all tests, in the schema that daemons use. */
async function testFleet(
  t: Test,
): Promise<{ readonly id: string; readonly records: FleetRecords; readonly database: Database }> {
  const { address } = databaseSettings(await testPostgres());
  const database = openDatabase({ address, password: undefined, authority: undefined }, "test", undefined);
  t.teardown(() => database.close());
  await migrate(database, schema);
  const records = new FleetRecords(database);
  return { id: (await records.init("test")).id, records, database };
}

const add = ({ index, catalog }: Member, name: string): Promise<unknown> =>
  index.manifest.publish(() => ({ repositories: [catalog.newRepository(testRepository(0, name), false)] }));

t.test("one of two processes of a node is the node, and the other one follows", { skip }, async (t) => {
  const { id, records } = await testFleet(t);
  await records.join("n1", "one", false, leaseMs);
  const first = await member(t, "n1", "one", id);
  const copy = await member(t, "n1", "one", id);
  const changes: boolean[] = [];
  first.index.replica.onOwner = (isOwner) => void changes.push(isOwner);
  await first.index.check();
  await copy.index.check();
  first.index.replica.start();
  await until("it owns the index", () => first.index.replica.isOwner);
  t.strictSame(changes, [true]);
  copy.index.replica.start();
  await add(first, "host/a");
  await until("the copy follows", () => copy.catalog.repositoryByName("host/a") !== undefined);
  t.equal(copy.index.replica.isOwner, false);
  await t.rejects(add(copy, "host/x"), { code: "conflict", message: /^this node is about to change the index/ });
  await first.index.close();
  await until("the copy is the node when the first one has ended", () => copy.index.replica.isOwner);
  await add(copy, "host/b");
});

t.test("a node of another fleet, one that was replaced, and one whose name is taken", { skip }, async (t) => {
  const { id, records, database } = await testFleet(t);
  const stranger = await member(t, "n2", "two", "another fleet");
  await t.rejects(stranger.index.check(), { code: "conflict", message: /node of another fleet/ });
  await records.join("n3", "three", false, leaseMs);
  await t.rejects(records.join("n4", "three", false, leaseMs), { code: "conflict", message: /--replace/ });
  const replaced = await member(t, "n3", "three", id);
  replaced.index.start();
  await until("it owns the index", () => replaced.index.replica.isOwner);
  const planners = async (): Promise<readonly unknown[]> =>
    (await database.query("select holder from lease where name = 'planner' and until > clock_timestamp()")).map(
      ({ holder }) => String(holder).split("/")[0],
    );
  await until("it plans", async () => (await planners()).join() === "three");
  await until("it is known to live", async () =>
    (await records.nodes()).some(({ name, silentSeconds }) => name === "three" && silentSeconds !== undefined),
  );
  await t.rejects(records.join("n4", "three", true, 60_000), { code: "conflict", message: /a node three runs/ });
  await records.join("n4", "three", true, 0);
  await until("who was replaced gives the index up", () => !replaced.index.replica.isOwner);
  await until("and does not plan", async () => (await planners()).length === 0);
});

t.test("which database was seen is kept, and an index without a fleet is refused", { skip }, async (t) => {
  const { id } = await testFleet(t);
  const { index, data } = await member(t, "n5", "five", id);
  await index.check();
  t.match(readIdentityFile(data)?.seen, { system: /^\d+$/, timeline: Number });
  t.match(readFileSync(join(data, "fleet.json"), "utf8"), /"node": "n5"/);
  const catalog = emptyCatalog();
  const shard = { id: 1, storedBytes: 1, contentBytes: 1, documentCount: 1, repositoryIds: [1] };
  await catalog.publish(() => ({ addedShards: [shard] }));
  await t.rejects(member(t, "n7", "seven", id, true, catalog), { code: "conflict", message: /made without a fleet/ });
});

t.test("a database that cannot be reached keeps no daemon from its start", { skip }, async (t) => {
  const lost = await member(t, "n6", "six", "any", false);
  await lost.index.check();
  lost.index.replica.start();
  await until("it says why", () =>
    /^no node changes the index.*its log says what keeps it/.test(lost.index.replica.refusal.message),
  );
  t.equal(lost.index.replica.hasFollowed, false, "it has nothing yet");
});

t.test("a node that drains hands the index over, and one that stops leaves it", { skip }, async (t) => {
  const { id, records, database } = await testFleet(t);
  // Those of other tests would count as missing.
  await database.query("delete from node");
  const plans = new PlanRecords(database);
  const states = async (): Promise<unknown> => {
    const { partitions } = await plans.read(60_000);
    return partitions.map(({ owner, copies }) => ({ owner, copies }));
  };
  for (const name of ["eight", "nine"]) await records.join(name, name, false, leaseMs);
  const first = await member(t, "eight", "eight", id);
  const second = await member(t, "nine", "nine", id);
  first.index.start();
  await until("one owns the index", () => first.index.replica.isOwner);
  await add(first, "host/eight");
  second.index.start();
  const both = ["eight", "nine"].map((node) => ({ node, state: "ready", isFailing: false }));
  await until("both have a copy by the plan", async () =>
    isDeepStrictEqual(await states(), [{ owner: "eight", copies: both }]),
  );
  t.equal(second.index.replica.isOwner, false);

  t.equal(await plans.drain("nobody", true), false);
  t.equal(await plans.drain("eight", true), true);
  await until("the other one owns it", () => second.index.replica.isOwner);
  t.equal(first.index.replica.isOwner, false);
  await add(second, "host/nine");
  await until("the one that drains follows", () => first.catalog.repositoryByName("host/nine") !== undefined);
  t.strictSame(await states(), [{ owner: "nine", copies: both.slice(1) }]);

  await plans.drain("eight", false);
  await until("it is used again", async () => isDeepStrictEqual(await states(), [{ owner: "nine", copies: both }]));
  t.equal(second.index.replica.isOwner, true, "the owner stays");
  await second.index.close();
  await until("who is there owns it", () => first.index.replica.isOwner);
  t.match(await records.nodes(), [
    { name: "eight", isStopped: false, isDraining: false },
    { name: "nine", isStopped: true, isDraining: false },
  ]);
  await until("the plan agrees", async () => {
    const [partition] = (await plans.read(60_000)).partitions;
    return partition?.owner === "eight";
  });
});

t.test("what was seen before a partition was taken, and a plan that does not hear of it", async (t) => {
  const done: string[] = [];
  let isOwner = false;
  let isRefused = true;
  const planned = { id: "other", name: "other", isReady: true };
  let now: Partial<PartitionState> = { version: 1, flipId: "f", holder: "", freeInMs: -1, isReleased: false, planned };
  const manifest = {
    get isOwner(): boolean {
      return isOwner;
    },
    epoch: 1,
    position: { version: 1, flipId: "f" },
    claim: () => Promise.resolve((isOwner = true)),
    release: async (): Promise<void> => {
      done.push("release");
      isOwner = false;
      now = { ...now, isReleased: true };
    },
  };
  const settle = async (): Promise<void> => {
    done.push("settle");
    if (isRefused) throw new DatabaseError("the database is away", false, "", undefined);
    now = { ...now, planned: { id: "own", name: "own", isReady: true } };
  };
  const held = new HeldPartition({
    manifest,
    records: { partition: 0, settle, state: async () => now, hint: async () => undefined },
    leases: { holder: "own/1" },
    nodeId: "own",
    leaseMs,
    pollMs: 1,
    isAlwaysHeld: true,
    log: silentLog(),
  } as unknown as HeldServices);
  const before = now as PartitionState;
  await t.rejects(
    held.follow(before, () => true),
    { message: /database is away/ },
  );
  isRefused = false;
  await held.follow(before, () => true);
  t.strictSame(done, ["settle", "settle"], "the plan hears of it, and what was seen before is not followed");
  now = { ...now, planned };
  await held.follow(before, () => true);
  t.strictSame(done.slice(2), ["release"], "a plan that is newer is followed");
});

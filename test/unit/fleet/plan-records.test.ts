/** The plan of a fleet in its database: what it is computed from, and who may write it. */
import t, { type Test } from "tap";
import { resultAtOnce } from "../../../src/base/yielding.js";
import type { Database } from "../../../src/database/database.js";
import { Leases } from "../../../src/database/leases.js";
import { FleetRecords } from "../../../src/fleet/fleet-records.js";
import { PartitionRecords } from "../../../src/fleet/partition-records.js";
import { type PlanFence, type PlanInput, PlanRecords } from "../../../src/fleet/plan-records.js";
import { type FleetPlan, type PlanChange, planFleet } from "../../../src/fleet/planner.js";
import { testDatabase, withoutPostgres } from "../../support/postgres.js";

const skip = withoutPostgres;
const leaseMs = 600_000;
const options = { copies: 2, loadsMax: 4, replaceAfterSeconds: 600 };

interface Fixture {
  readonly database: Database;
  readonly nodes: FleetRecords;
  readonly plans: PlanRecords;
}

/** A fleet of nodes that run, with partitions that nobody has. */
async function fleet(t: Test, names: readonly string[], partitionCount: number): Promise<Fixture> {
  const database = await testDatabase(t);
  const nodes = new FleetRecords(database);
  await nodes.init("test");
  for (const name of names) {
    await nodes.join(`id-${name}`, name, false, leaseMs);
    await nodes.beat(`id-${name}`, "1", 0, "");
  }
  const plans = new PlanRecords(database);
  await plans.makePartitions(partitionCount);
  await plans.makePartitions(partitionCount);
  return { database, nodes, plans };
}

/** The fence of a process that has the lease. */
async function fence(database: Database, holder: string, version: number): Promise<PlanFence> {
  const lease = await new Leases(database, "lease", holder, 600_000).claim("planner");
  if (lease === undefined) throw new RangeError("somebody else has the lease");
  return { lease: "planner", holder, epoch: lease.epoch, timeline: lease.timeline, version };
}

const madePlan = (changes: readonly PlanChange[], refusal = ""): FleetPlan => ({ changes, withoutRoom: 0, refusal });

const nextPlan = ({ nodes, partitions }: PlanInput): FleetPlan => resultAtOnce(planFleet(nodes, partitions, options));

t.test("a plan is written, done, and written again until nothing is left to do", { skip }, async (t) => {
  const { database, plans } = await fleet(t, ["a", "b", "c"], 12);
  let held = await fence(database, "x/1", 0);
  let rounds = 0;
  for (;;) {
    const input = await plans.read(leaseMs);
    const plan = nextPlan(input);
    t.equal(plan.refusal, "");
    if (plan.changes.length === 0) break;
    rounds++;
    if (rounds > 20) throw new RangeError("it does not end");
    held = { ...held, version: input.version };
    t.equal(await plans.write(held, plan, input.partitions), true);
    for (const { name } of input.nodes)
      await plans.report(
        `id-${name}`,
        input.partitions.map(({ id }) => ({
          partition: id,
          version: 1,
          byteCount: 1000,
          hasAll: true,
          isFailing: false,
        })),
      );
  }
  const { partitions, version } = await plans.read(leaseMs);
  t.equal(version, rounds);
  t.equal(partitions.length, 12);
  for (const { owner, copies, byteCount } of partitions) {
    t.strictSame(
      copies.map(({ state }) => state),
      ["ready", "ready"],
    );
    t.ok(copies.some(({ node }) => node === owner));
    t.equal(byteCount, 1000);
  }
});

t.test("who has lost the lease, or planned for what was, writes nothing", { skip }, async (t) => {
  const { database, plans } = await fleet(t, ["a"], 1);
  const plan = madePlan([{ kind: "load", partition: 0, node: "a" }], "a reason");
  const first = new Leases(database, "lease", "x/1", 600_000);
  const lease = await first.claim("planner");
  if (lease === undefined) throw new RangeError("it is free");
  const held = { lease: "planner", holder: "x/1", epoch: lease.epoch, timeline: lease.timeline, version: 0 };
  t.equal(await plans.write({ ...held, version: 1 }, plan, []), false, "another version");
  t.equal(await plans.write({ ...held, timeline: lease.timeline + 1 }, plan, []), false, "another timeline");
  t.equal(await plans.write({ ...held, epoch: lease.epoch - 1 }, plan, []), false, "another epoch");
  t.equal(await plans.write({ ...held, lease: "other" }, plan, []), false, "another lease");
  await first.release(lease);
  const second = await fence(database, "y/1", 0);
  t.equal(await plans.write(held, plan, []), false, "another holder");
  t.match(await plans.read(leaseMs), { version: 0, refusal: "", partitions: [{ copies: [] }] });
  t.equal(await plans.write(second, plan, []), true);
  t.equal(await plans.write(second, plan, []), false, "it was written already");
  t.match(await plans.read(leaseMs), {
    version: 1,
    refusal: "a reason",
    partitions: [{ copies: [{ node: "a", state: "loading" }] }],
  });
});

t.test("what has changed since a plan was computed stays", { skip }, async (t) => {
  const { database, nodes, plans } = await fleet(t, ["a", "b", "c"], 3);
  const held = await fence(database, "x/1", 0);
  const input = await plans.read(leaseMs);
  await nodes.join("id-new", "c", true, -1);
  // A node takes a partition that the plan gives to another one.
  const lease = await new Leases(database, "partition", "b/1", 600_000).claim("0");
  await new PartitionRecords(database, 0, leaseMs).settle("id-b", { holder: "b/1", epoch: lease?.epoch ?? 0 });
  await new PartitionRecords(database, 1, leaseMs).settle("id-b", { holder: "b/1", epoch: 7 });
  const changes: PlanChange[] = [
    { kind: "own", partition: 0, node: "a" },
    { kind: "own", partition: 1, node: "a" },
    { kind: "load", partition: 0, node: "gone" },
    { kind: "load", partition: 1, node: "a" },
    { kind: "load", partition: 2, node: "b" },
  ];
  t.equal(await plans.write(held, madePlan(changes), input.partitions), true);
  t.equal((await plans.read(leaseMs)).partitions[0]?.owner, "b", "who has it now");
  t.equal((await plans.read(leaseMs)).partitions[1]?.owner, "a", "who has no lease takes nothing");
  // Neither has a copy that answers.
  const odd: PlanChange[] = [
    { kind: "leave", partition: 1, node: "a" },
    { kind: "keep", partition: 2, node: "b" },
  ];
  t.equal(await plans.write({ ...held, version: 1 }, madePlan(odd), []), true);
  t.strictSame(
    (await plans.read(leaseMs)).partitions.map(({ copies }) => copies),
    [[], [{ node: "a", state: "loading", isFailing: false }], [{ node: "b", state: "loading", isFailing: false }]],
  );
  const report = (hasAll: boolean): Promise<void> =>
    plans.report("id-a", [
      { partition: 0, version: 3, byteCount: 5, hasAll, isFailing: false },
      { partition: 1, version: 3, byteCount: 5, hasAll, isFailing: false },
    ]);
  await report(false);
  t.equal((await plans.read(leaseMs)).partitions[1]?.copies[0]?.state, "loading", "before it has had everything");
  await report(true);
  await report(false);
  t.equal((await plans.read(leaseMs)).partitions[1]?.copies[0]?.state, "ready", "it searches what it has");
  t.strictSame((await plans.read(leaseMs)).partitions[0]?.copies, [], "a copy that is not in the plan");
  await nodes.join("id-a2", "a", true, -1);
  t.match((await plans.read(leaseMs)).partitions[1], { owner: "", copies: [] }, "a node that was replaced has nothing");
});

t.test("the states of nodes", { skip }, async (t) => {
  const { database, nodes, plans } = await fleet(t, ["drains", "here", "late", "quiet", "silent", "stopped"], 1);
  await nodes.join("id-never", "never", false, leaseMs);
  await database.query("update node set seen = seen - interval '1 hour' where name in ('late', 'silent')");
  await database.query("update node set seen = seen - interval '15 minutes' where name = 'quiet'");
  await nodes.stop("id-stopped");
  for (const name of ["drains", "late"]) t.equal(await plans.drain(name, true), true);
  const states = async (): Promise<readonly (readonly string[])[]> =>
    (await plans.read(leaseMs)).nodes.map(({ name, state }) => [name, state]);
  t.strictSame(await states(), [
    ["drains", "draining"],
    ["here", "present"],
    ["late", "expelled"],
    ["quiet", "present"],
    ["silent", "missing"],
    ["stopped", "missing"],
  ]);
  const silent = (await plans.read(leaseMs)).nodes.find(({ name }) => name === "silent");
  t.equal(Math.floor((silent?.missingSeconds ?? 0) / 3600), 1);
  const heard = (await plans.read(leaseMs)).nodes.filter(({ isHeard }) => isHeard);
  t.strictSame(
    heard.map(({ name }) => name),
    ["drains", "here"],
  );
  await nodes.beat("id-stopped", "1", 0, "");
  await plans.drain("drains", false);
  t.match(await states(), [["drains", "present"], [], [], [], [], ["stopped", "present"]]);
});

t.test("a partition says who should own it, and whether that node can", { skip }, async (t) => {
  const { database, nodes, plans } = await fleet(t, ["a", "b"], 1);
  const records = new PartitionRecords(database, 0, leaseMs);
  t.match(await records.state(), { planned: undefined, isReleased: true });
  const held = await fence(database, "x/1", 0);
  const { partitions } = await plans.read(leaseMs);
  const changes: PlanChange[] = [
    { kind: "load", partition: 0, node: "a" },
    { kind: "own", partition: 0, node: "a" },
  ];
  await plans.write(held, madePlan(changes), partitions);
  t.match(await records.state(), { planned: { id: "id-a", name: "a", isReady: false } }, "it loads");
  const report = (isFailing: boolean): Promise<void> =>
    plans.report("id-a", [{ partition: 0, version: 0, byteCount: 0, hasAll: true, isFailing }]);
  await report(false);
  t.match(await records.state(), { planned: { isReady: true } });
  await nodes.beat("id-a", "1", 0, "an object is missing");
  t.match(await records.state(), { planned: { isReady: true } }, "it does not follow another partition");
  await report(true);
  t.match(await records.state(), { planned: { isReady: false } }, "it does not follow this one");
  await report(false);
  t.match(await records.state(), { planned: { isReady: true } }, "it follows again");
  await database.query("update copy set failing = null");
  t.match(await records.state(), { planned: { isReady: false } }, "a program before this one does not say which");
  await report(false);
  await nodes.beat("id-a", "1", 0, "");
  await nodes.stop("id-a");
  t.match(await records.state(), { planned: { isReady: false } }, "it has stopped");
  await nodes.beat("id-a", "1", 0, "");
  t.match(await records.state(), { planned: { isReady: true } });
  const leases = new Leases(database, "partition", "b/1", 600_000);
  const lease = await leases.claim("0");
  t.match(await records.state(), { isReleased: false });
  if (lease !== undefined) await leases.release(lease);
  t.match(await records.state(), { isReleased: true });
});

t.test("who holds and owns what, for searches and for people", { skip }, async (t) => {
  const { database, nodes, plans } = await fleet(t, ["a", "b", "c"], 3);
  await nodes.beat("id-a", "1", 0, "", "a.example.com:7181");
  const put = (partition: number, node: string, state: string): Promise<unknown> =>
    database.query("insert into copy (partition, node, state) values ($1, $2, $3)", [partition, `id-${node}`, state]);
  await put(2, "a", "ready");
  await put(0, "a", "leaving");
  await put(1, "a", "loading");
  await put(1, "b", "ready");
  const leases = new Leases(database, "partition", "a/1", 600_000);
  const lease = await leases.claim("2");
  await database.query("update partition set owner = 'id-b' where id = 1");
  t.strictSame(await plans.holders(), [
    { name: "a", address: "a.example.com:7181", partitions: [0, 2], owned: [2] },
    { name: "b", address: "", partitions: [1], owned: [] },
    { name: "c", address: "", partitions: [], owned: [] },
  ]);
  t.strictSame(await plans.places(), [
    { id: 0, version: 0, owner: "", planned: "", copies: [{ node: "a", state: "leaving", version: 0 }] },
    {
      id: 1,
      version: 0,
      owner: "",
      planned: "b",
      copies: [
        { node: "a", state: "loading", version: 0 },
        { node: "b", state: "ready", version: 0 },
      ],
    },
    { id: 2, version: 0, owner: "a", planned: "", copies: [{ node: "a", state: "ready", version: 0 }] },
  ]);
  if (lease !== undefined) await leases.release(lease);
  t.match((await plans.holders())[0], { owned: [] });
});

t.test("how many partitions a fleet has is for ever, and how many copies is not", { skip }, async (t) => {
  const database = await testDatabase(t);
  const records = new FleetRecords(database);
  const plans = new PlanRecords(database);
  await t.rejects(records.init("test", { copies: 2 }), { code: "bad-config", message: /give --partitions/ });
  const neededFrom = async (): Promise<unknown> =>
    (await database.query("select max(needed_from) as needed from migration"))[0]?.["needed"];
  t.equal(await neededFrom(), 2, "a fleet without partitions may be used by programs before this one");
  t.match(await records.init("test", { partitions: 3 }), { partitions: 3, copies: 0 });
  t.equal(await neededFrom(), 5);
  t.match(await records.init("test", { copies: 2 }), { partitions: 3, copies: 2 });
  t.match(await records.init("test"), { partitions: 3, copies: 2 });
  t.equal((await plans.read(leaseMs)).copies, 2);
  await t.rejects(records.init("test", { partitions: 4 }), { code: "conflict", message: /has 3 partitions/ });
  await t.rejects(records.init("other"), { code: "conflict", message: /the fleet "test"/ });
});

/** The manifest that a database has: the contract, followers, lost answers, fences, and a database that has fallen back. */
import t, { type Test } from "tap";
import { TrawlError } from "../../../src/base/errors.js";
import { silentLog } from "../../../src/base/log.js";
import { createMetrics } from "../../../src/base/metrics.js";
import { resultAtOnce } from "../../../src/base/yielding.js";
import { Catalog } from "../../../src/catalog/catalog.js";
import { Partitions } from "../../../src/catalog/partitions.js";
import {
  Database,
  DatabaseError,
  type QueryValue,
  type Row,
  type Transaction,
} from "../../../src/database/database.js";
import { Leases } from "../../../src/database/leases.js";
import { FleetRecords } from "../../../src/fleet/fleet-records.js";
import { heldStates, PartitionRecords } from "../../../src/fleet/partition-records.js";
import { refuseChange, sayWhoChanges } from "../../../src/fleet/held-partition.js";
import { PartitionedManifest } from "../../../src/fleet/partitioned-manifest.js";
import { Replica, type ReplicaServices } from "../../../src/fleet/replica.js";
import { liveByPartition, SharedManifest } from "../../../src/fleet/shared-manifest.js";
import type { SymbolRecord } from "../../../src/model/shard-record.js";
import { testRepository } from "../../support/engine.js";
import { record, rounds, scaled } from "../../support/full-run.js";
import {
  type ManifestSite,
  printCatalog,
  randomChange,
  testManifest,
  testShardName,
} from "../../support/manifest-contract.js";
import { MemoryRecords } from "../../support/memory-records.js";
import { databaseSettings, testDatabase, testPostgres, withoutPostgres } from "../../support/postgres.js";
import { randomFrom } from "../../support/random.js";
import { until } from "../../support/waiting.js";

const skip = withoutPostgres;
const partition = 0;

function loaded(store: MemoryRecords, partitionCount: number): Catalog {
  const catalog = new Catalog(store, new Partitions(partitionCount));
  resultAtOnce(catalog.load());
  return catalog;
}

/** A node: connections of its own, a catalog, and the manifest between them. */
class TestNode implements ManifestSite {
  readonly catalog: Catalog;
  readonly manifest: SharedManifest;
  readonly records: PartitionRecords;
  readonly leases: Leases;
  /** Shards that were stored for others, and names of those that were fetched. */
  readonly stored: number[] = [];
  readonly brought: string[] = [];
  /** How often its replica has looked into the database. */
  lookCount = 0;
  /** Why it cannot fetch any. */
  missing: Error | undefined;
  #nextId: number;

  constructor(
    readonly database: Database,
    readonly holder: string,
    readonly lengthMs = 600_000,
    readonly store = new MemoryRecords(),
    firstId = 1_000_000,
    part: { readonly catalog: Catalog; readonly partition: number } = { catalog: loaded(store, 1), partition },
    leases = new Leases(database, "partition", holder, lengthMs),
  ) {
    this.#nextId = firstId;
    this.catalog = part.catalog;
    this.records = new PartitionRecords(database, part.partition, 10_000);
    this.leases = leases;
    this.manifest = new SharedManifest({
      catalog: this.catalog,
      live: liveByPartition(this.catalog).get(part.partition) ?? [],
      records: this.records,
      leases: this.leases,
      log: silentLog(),
      shards: {
        store: async (record) => {
          this.stored.push(record.id);
          const { symbols, ...rest } = { symbols: undefined, ...record };
          const named = { ...rest, object: testShardName(record) } as typeof record;
          return symbols === undefined ? named : { ...named, symbols: await this.#nameSymbols(symbols) };
        },
        storeSymbols: (_, record) => this.#nameSymbols(record),
        bring: async (name) => {
          if (this.missing !== undefined) throw this.missing;
          this.brought.push(name);
          return this.#nextId++;
        },
        bringSymbols: async (_, { object = "" }) => void this.brought.push(object),
        keep: () => undefined,
      },
    });
  }

  async #nameSymbols(record: SymbolRecord): Promise<SymbolRecord> {
    return { ...record, object: testShardName(record) };
  }

  readonly reopened = async (): Promise<TestNode> => {
    await this.manifest.release();
    const next = new TestNode(this.database, `${this.holder}+`);
    await next.manifest.claim();
    return next;
  };

  /** What another node finds in the database, by its snapshot. */
  async inDatabase(): Promise<string[]> {
    const { version } = this.catalog.position;
    await this.records.forget(version);
    const reader = new TestNode(this.database, "reader");
    await reader.manifest.follow();
    return printCatalog(reader.catalog);
  }

  add(name: string): Promise<unknown> {
    return this.manifest.publish(() => ({
      repositories: [this.catalog.newRepository(testRepository(0, name), false)],
    }));
  }

  /** Follows and takes over by itself, as a node of the fleet. */
  async replica(t: Test, settings: Partial<ReplicaServices> = {}): Promise<Replica> {
    const { manifest, records, leases, database, holder: id } = this;
    const fleet = new FleetRecords(database);
    await fleet.join(id, id, false, 0);
    const replica = new Replica({
      partitions: [{ manifest, records }],
      states: (held) => {
        this.lookCount++;
        return heldStates(database, 10_000, id, held);
      },
      listen: (onHint) => records.listen(onHint),
      hint: () => records.hint(),
      leases,
      nameLeases: new Leases(database, "lease", id, this.lengthMs),
      fleet,
      node: { id, program: "1", address: () => "" },
      leaseMs: this.lengthMs,
      pollMs: 20,
      prepare: () => Promise.resolve(),
      log: silentLog(),
      metrics: createMetrics().metrics,
      ...settings,
    });
    t.teardown(() => replica.close());
    return replica;
  }

  get names(): readonly string[] {
    return [...this.catalog.repositories()].map(({ name }) => name).sort();
  }
}

async function owner(t: Test, lengthMs?: number): Promise<TestNode> {
  const node = new TestNode(await testDatabase(t), "a/1", lengthMs);
  t.equal(await node.manifest.claim(), true);
  return node;
}

if (skip === false) {
  testManifest(t, "PostgreSQL, followed by its log", owner);
  testManifest(t, "PostgreSQL, read anew", async (t) => {
    const node = await owner(t);
    return Object.assign(node, {
      reopened: async () => {
        // Nobody can follow flips that are forgotten. The last one is kept.
        await node.records.forget(node.catalog.position.version);
        await node.manifest.release();
        const next = new TestNode(node.database, "b/1");
        await next.manifest.claim();
        return next;
      },
    });
  });
}

t.test("nodes that follow have the same, by their own numbers of shards", { skip }, async (t) => {
  const a = await owner(t);
  const b = new TestNode(a.database, "b/1");
  const random = randomFrom(7);
  for (let i = 0; i < 60; i++) {
    await a.manifest.publish(() => randomChange(a.catalog, random));
    if (random(4) === 0) await b.manifest.follow();
  }
  t.equal(await b.manifest.follow(), a.catalog.position.version > b.catalog.position.version || t.passing());
  t.strictSame(b.catalog.position, a.catalog.position);
  t.strictSame(printCatalog(b.catalog), printCatalog(a.catalog));
  t.strictSame(await a.inDatabase(), printCatalog(a.catalog), "and so has who begins with what is there now");
  t.equal(new Set(b.brought).size, b.brought.length, "each shard was fetched once");
  t.equal(await b.manifest.follow(), false);
  await t.rejects(b.add("host/x"), { code: "conflict" }, "who only follows publishes nothing");
  t.equal(await b.manifest.claim(), false, "and does not take what somebody has");
  await a.manifest.release();
  t.equal(await b.manifest.claim(), true);
  await b.add("host/from-b");
  await t.rejects(a.add("host/x"), { code: "conflict" });
  await a.manifest.follow();
  t.strictSame(printCatalog(a.catalog), printCatalog(b.catalog));
});

/** A database of which a step can be disturbed. */
class DisturbedDatabase extends Database {
  /** Called with each query; what it returns is done instead of it. */
  disturb: (sql: string, run: () => Promise<readonly Row[]>) => Promise<readonly Row[]> = (_, run) => run();

  override query(sql: string, values: readonly QueryValue[] = []): Promise<readonly Row[]> {
    // Nobody waits for a hint: it is no step.
    if (sql.includes("pg_notify")) return super.query(sql, values);
    return this.disturb(sql, () => super.query(sql, values));
  }

  override transaction<T>(work: (transaction: Transaction) => Promise<T>, isSnapshot = false): Promise<T> {
    return super.transaction(
      (transaction) =>
        work({
          query: (sql, values = []) => this.disturb(sql, () => transaction.query(sql, values)),
        }),
      isSnapshot,
    );
  }
}

async function disturbed(t: Test, schema: string): Promise<DisturbedDatabase> {
  const database = new DisturbedDatabase(databaseSettings(await testPostgres(), { schema }));
  t.teardown(() => database.close());
  return database;
}

const isFlip = (sql: string): boolean => sql.startsWith("with flipped");
const lost = (isUnknown = true): DatabaseError =>
  new DatabaseError("the connection was lost", isUnknown, "", undefined);

t.test("a flip whose answer is lost was made, or can never be made any more", { skip }, async (t) => {
  const { schema } = await testDatabase(t);
  const database = await disturbed(t, schema);
  const node = new TestNode(database, "a/1");
  await node.manifest.claim();
  await node.add("host/0");

  database.disturb = async (sql, run) => {
    const rows = await run();
    if (isFlip(sql)) throw lost();
    return rows;
  };
  await node.add("host/1");
  database.disturb = (_, run) => run();
  t.strictSame(node.names, ["host/0", "host/1"], "it was made, and is there");
  await node.add("host/2");
  t.equal(node.catalog.position.version, 3);

  // It was sent, and arrives when the node has already looked for it.
  let late: (() => Promise<readonly Row[]>) | undefined;
  database.disturb = (sql, run) => {
    if (!isFlip(sql)) return run();
    late = run;
    return Promise.reject(lost());
  };
  await t.rejects(node.add("host/3"), { code: "storage" });
  database.disturb = (_, run) => run();
  t.strictSame(await late?.(), [], "it is refused");
  t.strictSame(node.names, ["host/0", "host/1", "host/2"]);
  await node.add("host/4");
  t.strictSame(await node.inDatabase(), printCatalog(node.catalog));

  // Nothing is known at all for a while: the partition does nothing.
  database.disturb = async (sql, run) => {
    if (isFlip(sql)) await run();
    throw lost(isFlip(sql));
  };
  await t.rejects(node.add("host/5"), { code: "storage" });
  await t.rejects(node.add("host/6"), { code: "storage" });
  database.disturb = (_, run) => run();
  t.notOk(node.names.includes("host/5"));
  await node.add("host/7");
  t.strictSame(node.names, ["host/0", "host/1", "host/2", "host/4", "host/5", "host/7"], "what was made is followed");
  t.strictSame(await node.inDatabase(), printCatalog(node.catalog));
});

t.test("an owner that was paused for longer than its lease never flips", { skip }, async (t) => {
  const { schema } = await testDatabase(t);
  const slow = await disturbed(t, schema);
  const other = await disturbed(t, schema);
  const random = randomFrom(6);
  const lengthMs = 40;
  const count = scaled(12, 100);
  let [refused, made] = [0, 0];
  let a = new TestNode(slow, "a/0", lengthMs);
  let b = new TestNode(other, "b/0", lengthMs);
  for (const i of rounds(count)) {
    // The lease of the other one is over, or given back.
    await until("a has the partition", () => a.manifest.claim());
    const { epoch: before } = (await a.records.state()) ?? { epoch: 0 };
    // At this step of what it does, before it or after it, a stands still until b has published.
    let stepsLeft = random(4);
    const isAfter = random(2) === 0;
    let isPaused = false;
    const pause = async (): Promise<void> => {
      isPaused = true;
      await until("b has the partition", () => b.manifest.claim());
      await b.add(`host/b${i}`);
    };
    const step = async <T>(run: () => Promise<T>): Promise<T> => {
      const isHere = stepsLeft-- === 0;
      if (isHere && !isAfter) await pause();
      const result = await run();
      if (isHere && isAfter) await pause();
      return result;
    };
    slow.disturb = (_, run) => step(run);
    for (let n = 0; !isPaused; n++)
      await step(() => Promise.resolve())
        .then(() => a.add(`host/a${i}.${n}`))
        .catch(() => undefined);
    const after = await a.add(`host/late${i}`).then(
      () => "made",
      () => "refused",
    );
    slow.disturb = (_, run) => run();
    if (after === "made") made++;
    else refused++;
    const log = await other.query(
      "select version::float8 as version, epoch::float8 as epoch from flip order by version",
    );
    const epochs = log.map((row) => Number(row["epoch"]));
    t.strictSame(
      epochs,
      [...epochs].sort((x, y) => x - y),
      `round ${i}: no flip of an earlier epoch after a later one`,
    );
    t.strictSame(
      log.map((row) => Number(row["version"])),
      [...epochs.keys()].map((n) => n + 1),
      "without gaps",
    );
    t.ok(Number(epochs.at(-1)) > before || after === "refused");
    await b.manifest.follow();
    await a.manifest.follow();
    t.strictSame(printCatalog(a.catalog), printCatalog(b.catalog));
    await b.manifest.release();
    if (random(3) === 0)
      [a, b] = [new TestNode(slow, `a/${i + 1}`, lengthMs), new TestNode(other, `b/${i + 1}`, lengthMs)];
  }
  t.ok(refused > 0, `${refused} refused, ${made} made`);
  record(37, "owners that were paused for longer than their lease, at random steps", `${count}; 0 flips of old epochs`);
});

t.test("a database that has fallen back: the node follows it, and goes on", { skip }, async (t) => {
  const a = await owner(t);
  const { database } = a;
  const random = randomFrom(10);
  const tables = ["partition", "flip", "repository", "shard"];
  for (let i = 0; i < 25; i++) await a.manifest.publish(() => randomChange(a.catalog, random));
  await a.add("host/kept");
  const kept = printCatalog(a.catalog);
  const fallBack = async (): Promise<void> => {
    await database.query("truncate partition, flip, repository, shard, copy");
    for (const table of tables) await database.query(`insert into ${table} select * from old_${table}`);
  };
  for (const table of tables) await database.query(`create table old_${table} as table ${table}`);
  const dead = new Map(a.catalog.shards().map(({ record: { id } }) => [id, [1, 2, 3, 35]]));
  await a.manifest.publish(() => ({ tombstones: dead }));
  for (let i = 0; i < 8; i++) await a.manifest.publish(() => randomChange(a.catalog, random));
  t.ok(a.catalog.shards().some(({ record: { id } }) => dead.has(id)));
  await a.add("host/lost");
  const { version } = a.catalog.position;
  await fallBack();
  await a.manifest.follow();
  t.strictSame(printCatalog(a.catalog), kept, "it has what the database has");
  t.ok(a.catalog.position.version < version);

  // It has not noticed when it publishes, as the same owner.
  await a.add("host/lost");
  await a.add("host/lost, too");
  await fallBack();
  await a.add("host/next");
  t.strictSame(await a.inDatabase(), printCatalog(a.catalog));
  t.ok(a.names.includes("host/next") && !a.names.includes("host/lost"));

  // It has not noticed when it publishes, and the database has as many flips as before, but others.
  await fallBack();
  const b = new TestNode(database, "b/1");
  await database.query("update partition set until = '-infinity'");
  t.equal(await b.manifest.claim(), true);
  await b.add("host/of-b");
  t.equal(b.catalog.position.version, a.catalog.position.version);
  await b.manifest.release();
  await a.add("host/of-a");
  t.ok(a.names.includes("host/of-b") && !a.names.includes("host/next"));
  await b.manifest.follow();
  t.strictSame(printCatalog(a.catalog), printCatalog(b.catalog));
});

t.test("the errors of a node's own attempts are not those of the others", { skip }, async (t) => {
  const a = await owner(t);
  await a.add("host/a");
  const [{ id = 0 } = {}] = [...a.catalog.repositories()];
  a.catalog.recordFailed(id, "the remote is away");
  a.catalog.recordHistoryError(id, "it is too long");
  await a.manifest.publish(() => ({ repositories: [{ ...a.catalog.repository(id)!, stars: 3 }] }));
  const follower = new TestNode(a.database, "b/1");
  await follower.manifest.follow();
  await a.records.forget(a.catalog.position.version);
  const late = new TestNode(a.database, "c/1");
  await late.manifest.follow();
  // When it has lost the partition.
  a.catalog.forgetErrors(() => true);
  for (const { catalog } of [a, follower, late]) {
    const { stars, lastError, historyError } = catalog.repository(id)!;
    t.same([stars, lastError, historyError], [3, "", undefined]);
  }
});

t.test("who is refused is told which node to ask, and no more", async (t) => {
  const refusal = refuseChange("", "a/1", false, false);
  t.match(refusal, { code: "conflict", message: /^no node changes the index at this moment.*try again/ });
  t.match(sayWhoChanges("b/1", "a/1", false, false), /^node b changes the index at this moment, .*: ask that node$/);
  t.match(sayWhoChanges("b/1", "a/1", false, true), /\(its log says what keeps it from following\): ask that node$/);
  for (const holder of ["a/0", "a/1"])
    t.match(sayWhoChanges(holder, "a/1", false, true), /^this node is about to change the index.*: try again/);
  t.match(sayWhoChanges("b/1", "a/1", true, false), /^this node is about to/);
});

t.test("a name is in one partition, and ids of repositories go on at the next owner", { skip }, async (t) => {
  const a = await owner(t);
  await a.add("host/a");
  await a.database.query("insert into partition (id, version) values (9, 0)");
  await a.database.query("insert into repository values (9, 1, 'host/b', '{}')");
  await t.rejects(a.add("host/b"), { code: "storage", sqlState: "23505" });
  t.strictSame(a.names, ["host/a"]);
  // A repository takes over the name of one that goes with it.
  await a.manifest.publish(() => ({
    removedRepositoryIds: [...a.catalog.repositories()].map(({ id }) => id),
    repositories: [a.catalog.newRepository(testRepository(0, "host/c"), false)],
  }));
  const [{ id = 0 } = {}] = [...a.catalog.repositories()];
  await a.manifest.publish(() => ({ removedRepositoryIds: [id] }));
  const b = await a.reopened();
  await b.add("host/d");
  t.ok([...b.catalog.repositories()].every((repository) => repository.id > id));
});

t.test(
  "records of the database that cannot be read stop the node that follows, and change nothing",
  { skip },
  async (t) => {
    const a = await owner(t);
    await a.add("host/a");
    const b = new TestNode(a.database, "b/1");
    for (const change of ["{", "[]", '{"repositories":[1]}', '{"addedShards":[["x"]]}', '{"soon":[]}']) {
      await a.database.query("update flip set change = $1", [change]);
      await t.rejects(b.manifest.follow(), { code: "storage" }, change);
      t.strictSame([b.names, b.catalog.position.version, b.brought], [[], 0, []]);
    }
  },
);

t.test("flips that are old are forgotten, and the last one stays", { skip }, async (t) => {
  const a = await owner(t);
  for (const name of ["host/a", "host/b", "host/c"]) await a.add(name);
  await a.database.query("update flip set made = made - interval '2 hours' where version < 3");
  await a.database.query(
    `insert into flip (partition, version, id, epoch, timeline, made, change)
     select ${partition}, -n, 'old ' || n, 1, 1, now() - interval '3 hours', '' from generate_series(0, 449) n`,
  );
  await a.database.query(
    `insert into shard (partition, name, kind, record, added, removed)
     select ${partition}, n, 'text', '{}', 1, case n when 401 then 3 else 1 end from generate_series(1, 401) n`,
  );
  // While a flip is being made, which has the row of the partition.
  const replica = await a.replica(t, { forgetMs: 1 });
  replica.start();
  const countFlips = async (): Promise<unknown> =>
    (await a.database.query("select count(*)::int as n from flip"))[0]?.["n"];
  await a.database.transaction(async (transaction) => {
    await transaction.query("select 1 from partition for update");
    await until("they are forgotten, some at a time", async () => (await countFlips()) === 1);
  });
  await replica.close();
  t.strictSame(await a.database.query("select name from shard where removed is not null"), [{ name: "401" }]);
  const rows = await a.database.query("select version::int as version from flip order by version");
  t.strictSame(
    rows.map(({ version }) => version),
    [3],
  );
  const late = new TestNode(a.database, "late");
  await late.manifest.follow();
  t.strictSame(printCatalog(late.catalog), printCatalog(a.catalog), "who has followed none of them takes the manifest");
});

t.test("a flip is hinted at to those who listen, also after their connection was lost", { skip }, async (t) => {
  const a = await owner(t);
  const listening = (await testPostgres()).open({ schema: a.database.schema, connectionsMax: 1 });
  t.teardown(() => listening.close());
  let hintCount = 0;
  const listen = (): Promise<void> => listening.listen(() => void hintCount++);
  await listen();
  await a.add("host/a");
  await until("the hint comes", () => hintCount === 1);
  await listen();
  await a.add("host/b");
  await until("it comes once, however often one listens", () => hintCount === 2);
  await a.database.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen ' || current_schema() || '%'",
  );
  await until("another connection listens", async () => {
    await listen().catch(() => undefined);
    await a.database.hint();
    return hintCount > 2;
  });
});

t.test("a flip of which nothing is known for a while leaves the partition with its owner", { skip }, async (t) => {
  const { schema } = await testDatabase(t);
  const database = await disturbed(t, schema);
  const node = new TestNode(database, "a/1");
  const replica = await node.replica(t);
  replica.start();
  await until("it owns the partition", () => replica.isOwner);
  database.disturb = async (sql, run) => {
    if (!isFlip(sql) && !sql.startsWith("update partition set epoch")) return run();
    if (isFlip(sql)) await run();
    throw lost(isFlip(sql));
  };
  await t.rejects(node.add("host/a"), { code: "storage" });
  t.equal(node.manifest.isOwner, false);
  database.disturb = (_, run) => run();
  await until("it owns the partition again, long before its lease is over", () => replica.isOwner);
  t.strictSame(node.names, ["host/a"], "the flip was made");
  await node.add("host/b");
});

t.test("a claim counts only when everything of it is done", { skip }, async (t) => {
  const { schema } = await testDatabase(t);
  const database = await disturbed(t, schema);
  const node = new TestNode(database, "a/1");
  database.disturb = (sql, run) => (sql.startsWith("select p.id as partition") ? Promise.reject(lost(false)) : run());
  await t.rejects(node.manifest.claim(), { code: "storage" });
  t.equal(node.manifest.isOwner, false);
  database.disturb = (_, run) => run();
  t.equal(await new TestNode(database, "b/1").manifest.claim(), true, "another node may have it");
});

async function testReplaced(t: Test, isLate: boolean): Promise<void> {
  const { schema } = await testDatabase(t);
  const database = await disturbed(t, schema);
  const node = new TestNode(database, "a/1", 120);
  const errors: string[] = [];
  const log = Object.assign(silentLog(), { error: (message: string) => void errors.push(message) });
  const replica = await node.replica(t, { log, pollMs: 1 });
  replica.start();
  await until("it owns the partition", () => replica.isOwner);
  if (isLate)
    database.disturb = async (sql, run) => {
      const result = await run();
      if (sql.startsWith("update node")) await until("its lease was not prolonged", () => !node.manifest.isOwner);
      return result;
    };
  await node.database.query("delete from node");
  // A claim that was under way when the node was replaced may still count until then.
  await until("it has said so, and given it back", () => errors.length > 0 && !node.manifest.isOwner);
  await new FleetRecords(node.database).join("b/1", "b/1", false, 0);
  const { epoch } = (await node.records.state()) ?? { epoch: 0 };
  const next = new TestNode(node.database, "b/1", 120);
  node.lookCount = 0;
  await until("it has looked, and told of itself, several times", () => node.lookCount > 100);
  t.equal((await node.records.state())?.epoch, epoch, "it has not claimed it again");
  t.equal(errors.length, 1);
  t.match(errors, [/not in the fleet any more/]);
  t.equal(await next.manifest.claim(), true);
}

t.test("a node that was replaced never owns anything again, and says so once", { skip }, async (t) => {
  await testReplaced(t, false);
  await t.test("its lease was over when it noticed, and could be prolonged", (sub) => testReplaced(sub, true));
});

t.test("each loop logs a failure once, and so does a second process of a node", { skip }, async (t) => {
  const { schema } = await testDatabase(t);
  const database = await disturbed(t, schema);
  const node = new TestNode(database, "a/1", 60);
  const warnings: unknown[] = [];
  const log = Object.assign(silentLog(), {
    warn: (first: unknown, second?: unknown) => void warnings.push(second === undefined ? first : [first, second]),
  });
  const twin = new Leases(database, "lease", "a/1, too", 600_000);
  t.ok(await twin.claim("node/a/1"));
  let [tellCount, lookCount] = [0, 0];
  database.disturb = (sql, run) => {
    if (sql.startsWith("update node")) tellCount++;
    if (sql.startsWith("select p.id as partition")) lookCount++;
    return run();
  };
  const replica = await node.replica(t, { log, pollMs: 1 });
  replica.start();
  await until("it has looked several times", () => lookCount > 9);
  t.match(warnings, [/^another process runs as this node/]);
  t.equal(warnings.length, 1);
  database.disturb = (sql, run) => {
    if (sql.startsWith("update node") && tellCount++ >= 0) return Promise.reject(lost(false));
    if (sql.startsWith("select p.id as partition") && lookCount++ >= 0)
      return Promise.reject(new DatabaseError("another failure", false, "", undefined));
    return run();
  };
  [tellCount, lookCount] = [0, 0];
  await until("both loops have failed several times", () => tellCount > 3 && lookCount > 3);
  t.equal(warnings.length, 3, JSON.stringify(warnings));
  t.match(replica.refusal.message, /its log says what keeps it/);
});

t.test("an owner gives the partition to who should have it, while that node is there", { skip }, async (t) => {
  const a = await owner(t);
  const { database, records } = a;
  const fleet = new FleetRecords(database);
  await fleet.join("b", "b", false, 0);
  await fleet.beat("b", "1", 0, "");
  await database.query("insert into copy (partition, node, state) values ($1, 'b', 'loading')", [partition]);
  await database.query("update partition set owner = 'b'");
  const replica = await a.replica(t, { pollMs: 1 });
  replica.start();
  await until("it has looked several times", () => a.lookCount > 9);
  t.equal(replica.isOwner, true, "the other one has not had everything");
  const { epoch } = (await records.state()) ?? { epoch: 0 };
  await database.query("update copy set state = 'ready'");
  await until("it has given it back", () => !a.manifest.isOwner);
  a.lookCount = 0;
  await until("it has looked several times", () => a.lookCount > 9);
  t.match(await records.state(), { epoch, isReleased: true, planned: { id: "b" } }, "it has not claimed it again");
  await fleet.stop("b");
  await until("nobody else is there", () => replica.isOwner);
  t.match(await records.state(), { planned: { id: "a/1" } });
});

t.test("what an owner begins with is tried until it is done", { skip }, async (t) => {
  const node = new TestNode(await testDatabase(t), "a/1");
  const replica = await node.replica(t, { pollMs: 1 });
  const asked: boolean[] = [];
  replica.onOwner = (isOwner) => {
    asked.push(isOwner);
    if (asked.length === 1) return Promise.reject(new RangeError("of a test"));
    return Promise.resolve(asked.length > 2);
  };
  replica.start();
  await until("it is done", () => asked.length > 2);
  node.lookCount = 0;
  await until("it has looked several times", () => node.lookCount > 9);
  t.strictSame(asked, [true, true, true], "and not begun again");
});

t.test("an object that is missing is not asked for at each look, and is no reason to be ready", { skip }, async (t) => {
  const { schema } = await testDatabase(t);
  const a = new TestNode(await disturbed(t, schema), "a/1");
  await a.manifest.claim();
  await a.manifest.publish(() => ({ repositories: [a.catalog.newRepository(testRepository(0, "host/a"), false)] }));
  const shard = { id: 1, storedBytes: 1, contentBytes: 1, documentCount: 1, repositoryIds: [1] };
  await a.manifest.publish(() => ({ addedShards: [shard] }));
  const database = await disturbed(t, schema);
  const b = new TestNode(database, "b/1");
  b.missing = new TrawlError("storage", "object shard/00 cannot be read");
  let [attemptCount, lookCount] = [0, 0];
  database.disturb = (sql, run) => {
    if (sql.includes("from flip where")) attemptCount++;
    if (sql.startsWith("select p.id as partition")) lookCount++;
    return run();
  };
  const replica = await b.replica(t, { pollMs: 8 });
  replica.start();
  await until("it has looked often", () => lookCount > 40);
  // The pauses double: on a busy machine each look is late, and finds sooner that one is over.
  t.ok(attemptCount < lookCount / 2, `${attemptCount} attempts in ${lookCount} looks`);
  t.equal(b.catalog.position.version, 1);
  t.match(replica.refusal.message, /its log says what keeps it/, "it says all the time that it does not follow");
  t.equal(replica.hasFollowed, false);
  database.disturb = () => Promise.reject(lost(false));
  await until("the database cannot be asked: it is searched as it is", () => replica.hasFollowed);
  database.disturb = (_, run) => run();
  b.missing = undefined;
  await until("it follows", () => b.catalog.position.version === 2 && replica.hasFollowed);
});

t.test("flips are read as many at once as are not long", { skip }, async (t) => {
  const a = await owner(t);
  for (let i = 0; i < 5; i++) await a.add(`host/${i}`);
  const [first] = (await a.records.flipsAfter(0, "")) ?? [];
  t.equal((await a.records.flipsAfter(1, first?.id ?? ""))?.length, 4);
  await a.database.query("update flip set change = repeat('x', case version when 5 then 9000000 else 4000000 end)");
  const after = async (version: number): Promise<number | undefined> => {
    const [{ id } = { id: "" }] = await a.database.query("select id from flip where version = $1", [version]);
    return (await a.records.flipsAfter(version, String(id)))?.length;
  };
  t.strictSame([await after(1), await after(3), await after(4), await after(5)], [2, 1, 1, 0]);
});

t.test("a catalog has two partitions, and each of them follows by itself", { skip }, async (t) => {
  const database = await testDatabase(t);
  const site = (holder: string, catalog = loaded(new MemoryRecords(), 2)): readonly [TestNode, TestNode] => {
    const make = (partition: number): TestNode =>
      new TestNode(database, holder, undefined, undefined, 1_000_000 * (partition + 1), { catalog, partition });
    return [make(0), make(1)];
  };
  const owners = site("a/1");
  const { catalog } = owners[0];
  for (const one of owners) t.equal(await one.manifest.claim(), true);
  const names = ["host/a", "host/b", "host/c", "host/d", "host/e", "host/f"];
  const inside = (partition: number): string[] => names.filter((name) => catalog.partitions.place(name) === partition);
  t.ok(inside(0).length > 0 && inside(1).length > 0);
  for (const name of names) await owners[catalog.partitions.place(name) === 0 ? 0 : 1].add(name);
  const [wrong] = inside(1);
  const elsewhere = catalog.repositoryByName(wrong ?? "");
  if (elsewhere === undefined) throw new RangeError("it was added");
  await t.rejects(
    owners[0].manifest.publish(() => ({ repositories: [{ ...elsewhere, stars: 5 }] })),
    /where its repositories are/,
  );
  // Two of them have the same name.
  const addShard = (partition: 0 | 1, id: number, checksum: number): Promise<unknown> => {
    const repositoryIds = [catalog.repositoryByName(inside(partition)[0] ?? "")?.id ?? 0];
    const shard = { id, checksum, storedBytes: 1, contentBytes: 1, documentCount: 1, repositoryIds };
    return owners[partition].manifest.publish(() => ({ addedShards: [shard] }));
  };
  await addShard(0, 1, 7);
  await addShard(1, 2, 7);
  await addShard(1, 3, 8);
  t.equal(catalog.positionIn(0).version, inside(0).length + 1);
  t.equal(catalog.positionIn(1).version, inside(1).length + 2);

  const followers = site("b/1");
  await followers[1].manifest.follow();
  t.strictSame(followers[0].names, inside(1));
  t.equal(followers[0].manifest.position.version, 0);
  await followers[0].manifest.follow();
  t.strictSame(followers[0].names, names);
  t.strictSame(followers[1].manifest.position, owners[1].manifest.position);
  t.equal(followers[0].catalog.shards().length, 3);

  // One of them has lost everything: what is in the other one stays, also after a new start.
  for (const table of ["flip", "repository", "shard"]) await database.query(`delete from ${table} where partition = 0`);
  await database.query("update partition set version = 0, flip_id = '' where id = 0");
  const again = site("b/2", followers[0].catalog);
  await again[0].manifest.follow();
  t.strictSame(again[0].names, inside(1));
  t.equal(again[0].catalog.shards().length, 2);
  await again[1].manifest.follow();
  t.strictSame(again[1].manifest.position, owners[1].manifest.position);

  // Its log is cut: it is read anew, and is all there is.
  await owners[1].records.forget(1_000);
  const late = site("c/1");
  for (const one of late) await one.manifest.follow();
  t.strictSame(late[0].names, inside(1));
});

/** A node with all partitions of a fleet: a catalog, a manifest for each, and one over all of them. */
class PartitionedSite {
  readonly catalog: Catalog;
  readonly parts: readonly TestNode[];
  readonly manifest: PartitionedManifest;

  constructor(
    readonly database: Database,
    readonly name: string,
    count: number,
    lengthMs = 600_000,
  ) {
    this.catalog = loaded(new MemoryRecords(), count);
    const leases = new Leases(database, "partition", `${name}/1`, lengthMs);
    this.parts = Array.from({ length: count }, (_, partition) => {
      const part = { catalog: this.catalog, partition };
      return new TestNode(database, `${name}/1`, lengthMs, undefined, 1_000_000 * (partition + 1), part, leases);
    });
    const manifests = this.parts.map(({ manifest }) => manifest);
    this.manifest = new PartitionedManifest(this.catalog, manifests);
  }

  add(...names: readonly string[]): Promise<unknown> {
    return this.manifest.publish(() => ({
      repositories: names.map((name) => this.catalog.newRepository(testRepository(0, name), false)),
    }));
  }

  get owned(): readonly number[] {
    return this.parts.flatMap(({ manifest }, partition) => (manifest.isOwner ? [partition] : []));
  }

  get names(): readonly string[] {
    return this.parts[0]?.names ?? [];
  }

  /** As a node of the fleet, with the copies that the plan wants it to have. */
  async replica(t: Test, lengthMs = 600_000): Promise<Replica> {
    const { database, name } = this;
    const [{ leases, records }] = this.parts as [TestNode, ...TestNode[]];
    const fleet = new FleetRecords(database);
    await fleet.join(name, name, false, 0);
    const replica = new Replica({
      partitions: this.parts,
      states: (held) => heldStates(database, lengthMs, name, held),
      listen: (onHint) => records.listen(onHint),
      hint: () => records.hint(),
      leases,
      nameLeases: new Leases(database, "lease", name, lengthMs),
      fleet,
      node: { id: name, program: "1", address: () => "" },
      leaseMs: lengthMs,
      pollMs: 20,
      prepare: () => Promise.resolve(),
      log: silentLog(),
      metrics: createMetrics().metrics,
    });
    t.teardown(() => replica.close());
    return replica;
  }
}

const manyNames = Array.from({ length: 24 }, (_, i) => `host/${i}`);

t.test("a change is published in the partition that it is about", { skip }, async (t) => {
  const database = await testDatabase(t);
  const [a, b] = ["a", "b"].map((name) => new PartitionedSite(database, name, 3)) as [PartitionedSite, PartitionedSite];
  const { partitions } = a.catalog;
  const inside = (partition: number): string[] => manyNames.filter((name) => partitions.place(name) === partition);
  t.equal(await a.parts[0]?.manifest.claim(), true);
  t.equal(await a.parts[1]?.manifest.claim(), true);
  t.equal(await b.parts[2]?.manifest.claim(), true);
  for (const name of manyNames) {
    const owner = partitions.place(name) === 2 ? b : a;
    const other = owner === a ? b : a;
    await t.rejects(other.add(name), { code: "conflict" }, "of another node");
    await owner.add(name);
  }
  const [elsewhere = ""] = inside(2);
  const shard = {
    id: 1,
    storedBytes: 1,
    contentBytes: 1,
    documentCount: 1,
    repositoryIds: [b.catalog.repositoryByName(elsewhere)?.id ?? 0],
  };
  await t.rejects(
    a.manifest.publish(() => ({ addedShards: [shard] })),
    { code: "conflict" },
  );
  t.strictSame(a.parts[2]?.stored, [], "nothing is stored for another node");
  t.strictSame(a.names, [...inside(0), ...inside(1)].sort());
  const [first = "", second = ""] = [inside(0)[0], inside(1)[0]];
  const two = [first, second].map((name) => ({ ...a.catalog.repositoryByName(name)!, stars: 7 }));
  await t.rejects(
    a.manifest.publish(() => ({ repositories: two })),
    /changes one partition/,
  );
  t.equal(a.catalog.repositoryByName(first)?.stars, 0);
  await a.manifest.publish(() => ({}));

  // While one partition is followed, which waits for the catalog, another one is published.
  await Promise.all([...a.parts, ...b.parts].map(({ manifest }) => manifest.follow()));
  const changes = Array.from({ length: 30 }, (_, i) => {
    const names = inside(i % 3);
    const name = names[i % names.length] ?? "";
    const { manifest, catalog } = i % 3 === 2 ? b : a;
    return manifest.publish(() => ({ repositories: [{ ...catalog.repositoryByName(name)!, stars: i + 1 }] }));
  });
  const follows = Array.from({ length: 10 }, async () => {
    for (const { manifest } of [...a.parts, ...b.parts]) await manifest.follow();
  });
  await Promise.all([...changes, ...follows]);
  for (const { manifest } of [...a.parts, ...b.parts]) await manifest.follow();
  t.strictSame(printCatalog(a.catalog), printCatalog(b.catalog));
  t.strictSame(a.names, [...manyNames].sort());

  // A lease that another process has taken, and given back: the flip is refused, and made with a new one.
  await database.query("update partition set epoch = epoch + 1 where id = 0");
  await a.manifest.publish(() => ({ repositories: [{ ...a.catalog.repositoryByName(first)!, stars: 99 }] }));
  t.equal(a.catalog.repositoryByName(first)?.stars, 99);
  await a.parts[0]?.manifest.release();
  t.equal(await b.parts[0]?.manifest.claim(), true);
  await t.rejects(
    a.manifest.publish(() => ({ repositories: [{ ...a.catalog.repositoryByName(first)!, stars: 100 }] })),
    { code: "conflict" },
  );
  t.equal(b.catalog.repositoryByName(first)?.stars, 99);
});

t.test("a flip that is followed while its answer is on the way is made once", { skip }, async (t) => {
  const { schema } = await testDatabase(t);
  const database = await disturbed(t, schema);
  const a = new PartitionedSite(database, "a", 2);
  for (const { manifest } of a.parts) await manifest.claim();
  const { partitions } = a.catalog;
  await a.add("host/0");
  const { id = 0 } = a.catalog.repositoryByName("host/0") ?? {};
  const part = a.parts[partitions.find(id)];
  if (part === undefined) throw new RangeError("there are two");
  let answer: () => void = () => undefined;
  let isMade = false;
  database.disturb = async (sql, run) => {
    const result = await run();
    if (!sql.startsWith("with flipped")) return result;
    isMade = true;
    await new Promise<void>((resolve) => (answer = resolve));
    return result;
  };
  const shard = { id: 1, storedBytes: 1, contentBytes: 1, documentCount: 1, repositoryIds: [id] };
  const published = a.manifest.publish(() => ({ addedShards: [shard] }));
  await until("the database has made it", () => isMade);
  const followed = part.manifest.follow();
  await until("it is followed", () => part.brought.length > 0);
  answer();
  await Promise.all([published, followed]);
  t.strictSame(
    a.catalog.shards().map(({ record }) => record.id),
    [1],
  );
  t.equal(part.manifest.position.version, 2);
});

t.test("what the database has in a partition, and belongs to another one, is not applied", { skip }, async (t) => {
  const database = await testDatabase(t);
  const [a, b, late] = ["a", "b", "c"].map((name) => new PartitionedSite(database, name, 2)) as [
    PartitionedSite,
    PartitionedSite,
    PartitionedSite,
  ];
  for (const { manifest } of a.parts) await manifest.claim();
  const [first = "", second = ""] = manyNames.filter((name) => a.catalog.partitions.place(name) === 0);
  await a.add(first);
  await a.add(second);
  const [mine] = a.parts;
  const { id = 0 } = a.catalog.repositoryByName(first) ?? {};
  const refused = { code: "storage", message: /of partition 0 that is about another one/ };
  await database.query("update flip set change = replace(change, $1, $2) where version = 1", [
    `"id":${id}`,
    `"id":${id + 1}`,
  ]);
  await t.rejects(b.parts[0]?.manifest.follow() ?? Promise.resolve(), refused);
  await mine?.records.forget(1_000);
  await database.query("update repository set id = id + 1");
  await t.rejects(late.parts[0]?.manifest.follow() ?? Promise.resolve(), refused);
  t.strictSame([b.names, late.names], [[], []]);
});

t.test("the answer to a flip of one of several partitions is lost", { skip }, async (t) => {
  const { schema } = await testDatabase(t);
  const database = await disturbed(t, schema);
  const a = new PartitionedSite(database, "a", 2);
  for (const { manifest } of a.parts) t.equal(await manifest.claim(), true);
  const { partitions } = a.catalog;
  for (const isMade of [true, false]) {
    let isFirst = true;
    database.disturb = async (sql, run) => {
      if (!sql.startsWith("with flipped") || !isFirst) return run();
      isFirst = false;
      if (isMade) await run();
      throw lost(true);
    };
    const name = `host/${isMade ? "made" : "lost"}`;
    await (isMade ? a.add(name) : t.rejects(a.add(name)));
    // The next flip of the partition finds out where it stands, and the other one goes on anyway.
    await a.add(`host/after-${name}`);
    for (const other of manyNames.filter((one) => partitions.place(one) !== partitions.place(name)).slice(0, 1))
      if (a.catalog.repositoryByName(other) === undefined) await a.add(other);
    await a.add(`${name}-2`);
  }
  const b = new PartitionedSite(database, "b", 2);
  for (const { manifest } of b.parts) await manifest.follow();
  t.strictSame(printCatalog(b.catalog), printCatalog(a.catalog));
  t.ok(b.names.includes("host/made"));
  t.notOk(b.names.includes("host/lost"));
});

t.test("a node holds what the plan says, takes what nobody has, and drops the rest", { skip }, async (t) => {
  const database = await testDatabase(t);
  const [a, b] = ["a", "b"].map((name) => new PartitionedSite(database, name, 3)) as [PartitionedSite, PartitionedSite];
  const [first, second] = [await a.replica(t), await b.replica(t)];
  const owned: boolean[] = [];
  first.onOwner = (isOwner) => void owned.push(isOwner);
  await database.query("insert into partition (id) select generate_series(0, 2) on conflict do nothing");
  const hold = (node: string, ...partitions: readonly number[]): Promise<unknown> =>
    database.query("insert into copy (partition, node, state) select unnest($2::int[]), $1, 'ready'", [
      node,
      partitions,
    ]);
  first.start();
  await until("it knows that it should have nothing", () => first.hasFollowed);
  t.same([first.followed, first.isOwner], [[], false]);
  await hold("a", 0, 1);
  await until("it owns what it holds", () => a.owned.length === 2 && first.changed.size === 2);
  t.strictSame([...first.changed].sort(), [0, 1]);
  await hold("b", 1, 2);
  second.start();
  await until("the other one owns what is left", () => b.owned.join() === "2");
  const { partitions } = a.catalog;
  for (const name of manyNames) await (partitions.place(name) === 2 ? b : a).add(name);
  const inside = (...numbers: readonly number[]): string[] =>
    manyNames.filter((name) => numbers.includes(partitions.place(name))).sort();
  await until("it follows what it holds", () => b.names.length === inside(1, 2).length && second.followed.length === 2);
  t.strictSame(b.names, inside(1, 2));
  t.strictSame(a.names, inside(0, 1));
  t.strictSame(second.followed, [1, 2]);
  t.match(second.refusalIn(0).message, /^this node does not have this part of the index \(partition 0\)/);
  t.match(second.refusalIn(1).message, /^node a changes the index/);

  const shards = (): readonly number[] => a.catalog.shards().map(({ record }) => record.id);
  for (const [partition, id] of [
    [0, 1],
    [1, 2],
  ] as const) {
    const repositoryIds = [a.catalog.repositoryByName(inside(partition)[0] ?? "")?.id ?? 0];
    const shard = { id, storedBytes: 1, contentBytes: 1, documentCount: 1, repositoryIds };
    await a.manifest.publish(() => ({ addedShards: [shard] }));
  }
  t.strictSame(shards(), [1, 2]);
  await database.query("delete from copy where node = 'a' and partition = 1");
  await until("the one that still has it owns it", () => b.owned.join() === "1,2");
  await until("what is not wanted is gone", () => a.names.length === inside(0).length);
  t.strictSame(a.names, inside(0));
  t.strictSame(a.owned, [0], "what nobody has moved stays");
  t.strictSame(shards(), [1]);
  t.same(a.catalog.positionIn(1), { version: 0, flipId: "" });
  await until("it was told", () => owned.includes(false));
  const [moved = ""] = inside(1);
  await b.manifest.publish(() => ({ repositories: [{ ...b.catalog.repositoryByName(moved)!, stars: 3 }] }));

  await hold("a", 1, 2);
  await until(
    "it fetches it again, with the last change",
    () =>
      a.names.length === manyNames.length && a.catalog.repositoryByName(moved)?.stars === 3 && shards().length === 2,
  );
  await second.close();
  await until("who is there owns everything", () => a.owned.length === 3);
});

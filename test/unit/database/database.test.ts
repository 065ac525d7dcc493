/** Connections, limits, unknown outcomes, migrations, leases and the fence of timelines, on Debian's PostgreSQL. */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { kill } from "node:process";
import t from "tap";
import { parseDatabaseAddress } from "../../../src/database/database-address.js";
import { type Database, DatabaseError } from "../../../src/database/database.js";
import { Leases } from "../../../src/database/leases.js";
import { migrate } from "../../../src/database/migrations.js";
import { schema } from "../../../src/database/schema.js";
import { TimelineFence } from "../../../src/database/timeline.js";
import { databaseSettings, testDatabase, testPostgres, withoutPostgres } from "../../support/postgres.js";
import { until } from "../../support/waiting.js";

const skip = withoutPostgres;

async function freePort(): Promise<number> {
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as AddressInfo;
  await new Promise((resolve) => listener.close(resolve));
  return port;
}

t.test("addresses", async (t) => {
  for (const [text, ...expected] of [
    ["postgresql://trawl@db.example.org/fleet", "db.example.org", 5432, "fleet", "trawl", true],
    ["postgres://t%40x@10.0.0.1:6000/fleet", "10.0.0.1", 6000, "fleet", "t@x", true],
    ["postgresql://trawl@[::1]/fleet", "::1", 5432, "fleet", "trawl", false],
    ["postgresql://trawl@localhost/fleet", "localhost", 5432, "fleet", "trawl", false],
    ["postgresql:///fleet?host=/run/postgresql&user=trawl", "/run/postgresql", 5432, "fleet", "trawl", false],
  ] as const) {
    const { host, port, database, user, isRemote } = parseDatabaseAddress(text);
    t.strictSame([host, port, database, user, isRemote], expected, text);
  }
  for (const [text, message] of [
    ["db.example.org", /must be postgresql:/],
    ["mysql://a@b/c", /must be postgresql:/],
    ["postgresql://trawl:secret@db/fleet", /must not have the password/],
    ["postgresql://db/fleet", /no user/],
    ["postgresql://trawl@db", /no database/],
    ["postgresql://trawl@db/a/b", /no database/],
    ["postgresql:///fleet?user=trawl", /no host/],
    ["postgresql:///fleet?user=trawl&host=run", /absolute path/],
    ["postgresql://trawl@db/fleet?sslmode=disable", /"sslmode", but may have/],
    ["postgresql://trawl@db/fleet?host=other", /two hosts/],
    ["postgresql://trawl@db/%zz", /must be postgresql:/],
  ] as const)
    t.throws(() => parseDatabaseAddress(text), { code: "bad-config", message }, text);
});

t.test("a server that was replaced, and another database, are not believed", async (t) => {
  const fence = new TimelineFence({ system: "7", timeline: 2 });
  t.equal(fence.judge({ system: "7", timeline: 2 }), false);
  t.equal(fence.judge({ system: "7", timeline: 4 }), true);
  t.throws(() => fence.judge({ system: "7", timeline: 3 }), /it was replaced/);
  t.throws(() => fence.judge({ system: "8", timeline: 9 }), /another database/);
  t.strictSame(fence.seen, { system: "7", timeline: 4 });
  t.equal(new TimelineFence(undefined).judge({ system: "1", timeline: 1 }), false);
});

t.test("a transaction is made whole or not at all", { skip }, async (t) => {
  const database = await testDatabase(t);
  await database.query("create table one (id int primary key)");
  const count = async (): Promise<unknown> => (await database.query("select count(*)::int as n from one"))[0]?.["n"];
  await database.transaction(async ({ query }) => {
    await query("insert into one values ($1)", [1]);
    await query("insert into one values (2)");
  });
  t.equal(await count(), 2);
  const failing = database.transaction(async ({ query }) => {
    await query("insert into one values (3)");
    await query("insert into one values (1)");
  });
  await t.rejects(failing, { code: "storage", isUnknown: false, sqlState: "23505" });
  const thrown = database.transaction(async ({ query }) => {
    await query("insert into one values (4)");
    throw new RangeError("changed its mind");
  });
  await t.rejects(thrown, /changed its mind/);
  t.equal(await count(), 2);
  await t.rejects(
    database.transaction(({ query }) => query("insert into one values (5)"), true),
    { code: "storage", sqlState: "25006" },
    "a snapshot is read only",
  );
  await t.rejects(database.query("select * from nowhere"), { code: "storage", isUnknown: false, sqlState: "42P01" });
  const [settings] = await database.query(
    "select current_setting('synchronous_commit') as a, current_setting('transaction_isolation') as b, current_schema as c",
  );
  t.strictSame(settings, { a: "on", b: "read committed", c: database.schema });
});

t.test("limits: connections, those who wait for one, statements and connecting", { skip }, async (t) => {
  const server = await testPostgres();
  const database = server.open({ connectionsMax: 1, waitingMax: 3, statementMs: 2_000 });
  t.teardown(() => database.close());
  const slow = database.query("select pg_sleep(30)");
  const waiting = database.query("select 1");
  const another = database.query("select 1");
  await t.rejects(database.query("select 1"), { code: "overloaded" });
  await t.rejects(slow, { code: "storage", isUnknown: false, sqlState: "57014" }, "the server gives it up");
  await Promise.all([waiting, another]);
  const narrow = server.open({ connectionsMax: 1, connectMs: 3_000 });
  t.teardown(() => narrow.close());
  await narrow.query("select 1");
  const held = narrow.transaction(async ({ query }) => {
    await t.rejects(narrow.query("select 1"), { code: "storage", isUnknown: false, message: /cannot connect/ });
    return await query("select 2 as two");
  });
  t.strictSame(await held, [{ two: 2 }]);
  const address = { ...databaseSettings(server).address, port: 9 };
  const nowhere = server.open({ address });
  await t.rejects(nowhere.query("select 1"), {
    code: "storage",
    isUnknown: false,
    message: /cannot connect to the database at .*, port 9/,
  });
  await nowhere.close();
  await nowhere.close();
  await t.rejects(nowhere.query("select 1"), { code: "shutting-down" });
  const remote = server.open({ address: { ...address, host: "127.0.0.1", isRemote: true } });
  await t.rejects(remote.query("select 1"), { code: "storage", isUnknown: false });
  await remote.close();
});

t.test("a server that does not answer: the outcome is unknown, and the change may come later", { skip }, async (t) => {
  const other = await testDatabase(t);
  await other.query("create table late (id int)");
  // Enough for a busy machine, apart from what is stopped.
  const { schema } = other;
  const database = (await testPostgres()).open({ schema, connectionsMax: 1, statementMs: 2_500, answerMs: 3_000 });
  t.teardown(() => database.close());
  const [row] = await database.query("select pg_backend_pid() as pid");
  const pid = Number(row?.["pid"]);
  kill(pid, "SIGSTOP");
  try {
    await t.rejects(database.query("insert into late values (1)"), { code: "storage", isUnknown: true, sqlState: "" });
    t.strictSame(await other.query("select * from late"), []);
  } finally {
    kill(pid, "SIGCONT");
  }
  // It goes on with what it was sent, or notices first that nobody is there.
  await until("it has ended", async () => {
    const [found] = await other.query("select count(*)::int as n from pg_stat_activity where pid = $1", [pid]);
    return found?.["n"] === 0;
  });
  t.ok(Number((await other.query("select count(*)::int as n from late"))[0]?.["n"]) <= 1);
  await database.query("select 1");
  const [next] = await database.query("select pg_backend_pid() as pid");
  await other.query("select pg_terminate_backend($1)", [Number(next?.["pid"])]);
  await until("the connection is replaced", () =>
    database.query("select 1").then(
      () => true,
      () => false,
    ),
  );
});

t.test("an end of the connection in the middle of a transaction changes nothing", { skip }, async (t) => {
  const database = await testDatabase(t);
  await database.query("create table one (id int)");
  const cut = database.transaction(async ({ query }) => {
    await query("insert into one values (1)");
    const [row] = await query("select pg_backend_pid() as pid");
    await database.query("select pg_terminate_backend($1)", [Number(row?.["pid"])]);
    await query("insert into one values (2)");
  });
  await t.rejects(cut, { code: "storage", isUnknown: false });
  t.strictSame(await database.query("select * from one"), []);
});

t.test("migrations are made once, by whoever is first, and a later schema is refused", { skip }, async (t) => {
  const server = await testPostgres();
  const nodes = [1, 2, 3].map(() => server.open({ schema: "migrated" }));
  t.teardown(() => Promise.all(nodes.map((node) => node.close())));
  const steps = [...schema, { number: schema.length + 1, neededFrom: 1, sql: "create table more (id int)" }];
  const counts = await Promise.all(nodes.map((node) => migrate(node, steps)));
  t.equal(
    counts.reduce((sum, count) => sum + count, 0),
    steps.length,
  );
  const [first] = nodes as [Database];
  t.equal(await migrate(first, schema), 0, "an older program goes on with a schema that only has more");
  await migrate(first, [...steps, { number: steps.length + 1, neededFrom: steps.length + 1, sql: "drop table more" }]);
  await t.rejects(migrate(first, schema), { code: "format-version", message: /Upgrade this node/ });
  const failing = { number: steps.length + 2, neededFrom: 1, sql: "create table half (id int); select 1 / 0" };
  await t.rejects(migrate(first, [...steps, { number: steps.length + 1, neededFrom: 1, sql: "" }, failing]), {
    code: "storage",
    sqlState: "22012",
  });
  t.strictSame(await first.query("select 1 from pg_tables where tablename = 'half'"), []);
});

t.test("leases: one holder at a time, by the clock of the database", { skip }, async (t) => {
  const database = await testDatabase(t);
  const [a, b] = ["a/1", "b/1"].map((holder) => new Leases(database, "lease", holder, 60_000)) as [Leases, Leases];
  const first = await a.claim("planner");
  t.match(first, { key: "planner", epoch: 1, timeline: Number });
  t.equal(await b.claim("planner"), undefined);
  t.ok(first !== undefined && a.holds(first) && !b.holds(first));
  t.match(await b.claim("accounts"), { epoch: 1 });
  t.match(await a.claim("planner"), { epoch: 2 }, "again, with an epoch of its own");
  t.notOk(a.holds(first ?? { key: "", epoch: 0, timeline: 0 }));
  t.strictSame(await a.renew(), []);
  const second = { key: "planner", epoch: 2, timeline: 1 };
  await b.release(second);
  t.equal(await b.claim("planner"), undefined, "only its holder gives it back");
  await a.release(second);
  t.match(await b.claim("planner"), { epoch: 3 });
  t.strictSame(await a.renew(), [], "it knows that it has given it back");

  const short = new Leases(database, "lease", "c/1", 80);
  const lease = await short.claim("short");
  t.ok(lease !== undefined);
  await until("somebody else may have it", async () => (await a.claim("short")) !== undefined);
  t.notOk(lease !== undefined && short.holds(lease), "its own clock says that it is over, too");
  t.strictSame(await short.renew(), ["short"], "it is told that it has lost it");
  t.strictSame(await short.renew(), []);
});

t.test("a remote server proves its name by a certificate of the authority", { skip }, async (t) => {
  const server = await testPostgres();
  const authority = await server.listen(await freePort(), "IP:127.0.0.1");
  const address = { ...databaseSettings(server).address, host: "127.0.0.1", isRemote: true };
  const ask = async (settings: Parameters<typeof server.open>[0]): Promise<unknown> => {
    const database = server.open(settings);
    return database
      .query("select ssl from pg_stat_ssl where pid = pg_backend_pid()")
      .then(
        (rows) => rows[0]?.["ssl"],
        (error: unknown) => (error as Error).message,
      )
      .finally(() => database.close());
  };
  t.equal(await ask({ address, authority }), true);
  t.match(await ask({ address }), /self-signed certificate/, "the authorities of the system do not know it");
  t.match(
    await ask({ address: { ...address, host: "localhost" }, authority }),
    /does not match certificate's altnames/,
  );
  const other = await server.listen(server.port, "DNS:localhost");
  t.match(
    await ask({ address, authority: other }),
    /does not match certificate's altnames/,
    "an address is compared, too",
  );
  t.equal(await ask({ address: { ...address, host: "localhost" }, authority: other }), true);
  t.match(await ask({ address: { ...address, host: "localhost" }, authority }), /certificate/);
});

// The last one: the server is another one afterwards.
t.test("a server that takes over is noticed, and one that was replaced is refused", { skip }, async (t) => {
  const server = await testPostgres();
  const database = await testDatabase(t);
  const seen: number[] = [];
  database.onTakenOver = ({ timeline }) => void seen.push(timeline);
  const [row] = await database.query("select current_timeline() as timeline");
  const before = Number(row?.["timeline"]);
  t.equal(database.timeline?.timeline, before);
  await server.takeOver();
  await until("it answers", () =>
    database.query("select 1").then(
      () => true,
      () => false,
    ),
  );
  t.strictSame(seen, [before + 1]);
  t.strictSame(await database.query("select current_timeline() as timeline"), [{ timeline: before + 1 }]);
  const { system = "" } = database.timeline ?? {};
  const later = server.open({ seen: { system, timeline: before + 2 } });
  await t.rejects(later.query("select 1"), { code: "storage", message: /it was replaced/ });
  await later.close();
  const other = server.open({ seen: { system: "1", timeline: 1 } });
  await t.rejects(other.query("select 1"), { code: "storage", message: /another database/ });
  await other.close();
  t.ok(new DatabaseError("", true, "", undefined).isUnknown);
});

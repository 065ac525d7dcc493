import t, { type Test } from "tap";
import type { Receipt } from "../../src/model/stream-events.js";
import {
  type Answer,
  changesSince,
  commitFiles,
  type Files,
  nextFiles,
  receiptOf,
  search,
  Watching,
} from "../support/changes.js";
import type { DaemonProcess } from "../support/daemon.js";
import { startFleet } from "../support/fleet-site.js";
import { rounds, scaled } from "../support/full-run.js";
import { GitFixture } from "../support/git-fixture.js";
import { seed } from "../support/property.js";
import { randomFrom } from "../support/random.js";
import { shared } from "../support/shared.js";
import { until } from "../support/waiting.js";

// What changed in the results of several nodes is what changed in those of one that has all repositories.

t.setTimeout(900_000);

const repositoryNames = ["one", "two", "three", "four"];

interface Source {
  readonly name: string;
  readonly fixture: GitFixture;
  files: Files;
  /** Those that have it. */
  readonly daemons: () => readonly DaemonProcess[];
}

const site = shared(async (owner) => {
  const fixtures = repositoryNames.map(() => GitFixture.create());
  owner.teardown(() => {
    for (const fixture of fixtures) fixture.remove();
  });
  const start = new Map([
    ["a.c", "alpha\nbeta\nalpha beta"],
    ["dir1/b.txt", "gamma\nalpha\n"],
  ]);
  const none: Files = new Map();
  for (const fixture of fixtures) commitFiles(fixture, "main", none, start);
  const all = fixtures.map(({ path }, i) => ({
    name: repositoryNames[i],
    url: path,
    ...(i === 3 ? { private: true, readers: ["ann"] } : {}),
  }));
  const args = ["--set", "search.defaultTimeoutSeconds=60", "--set", "index.symbols=false"];
  // The first node has nothing before the others.
  const [fleet, alone] = await Promise.all([
    startFleet(owner, [all.slice(0, 1), all.slice(1)], {}, args),
    startFleet(owner, [all], {}, args, { names: ["alone"] }),
  ]);
  const sources = fixtures.map(
    (fixture, i): Source => ({
      name: repositoryNames[i],
      fixture,
      files: start,
      daemons: () => [fleet.nodes[i === 0 ? 0 : 1], alone.nodes[0]],
    }),
  );
  return { ...fleet, whole: alone.nodes[0], sources };
}, t);

/** Commits other files, and waits until they can be searched. */
async function change(source: Source, pick: (count: number) => number): Promise<void> {
  const next = nextFiles(source.files, pick);
  commitFiles(source.fixture, "main", source.files, next);
  source.files = next;
  await Promise.all(source.daemons().map((daemon) => daemon.sync(source.name)));
}

/** What two answers must have in common. */
function essence({ changes, summary, receipt, progress, error }: Answer): object {
  const { repositoriesGone = [], basesGone = [], ...counts } = summary ?? {};
  return {
    changes: changes.map((one) => JSON.stringify({ ...one, repositoryID: 0 })).sort(),
    counts,
    repositoriesGone: [...repositoriesGone].sort(),
    basesGone: basesGone.map((one) => JSON.stringify(one)).sort(),
    matchCount: progress?.matchCount,
    skipped: progress?.skipped.map(({ reason, title }) => `${reason} ${title}`),
    covered: receipt?.repositories.items
      .map(({ repository, revisions }) => JSON.stringify([repository, revisions]))
      .sort(),
    complete: receipt?.complete,
    digest: receipt?.digest,
    documentsSearched: receipt?.documentsSearched,
    error,
  };
}

function idOf({ url }: Receipt): string {
  return url.slice(url.lastIndexOf("/") + 1);
}

/** The same changes at all, whichever node is asked. */
async function same(t: Test, query: string, receipt: unknown, name: string): Promise<Answer> {
  const { nodes, whole } = await site();
  const wanted = await changesSince(whole, query, receipt);
  for (const [i, node] of nodes.entries())
    t.same(essence(await changesSince(node, query, receipt)), essence(wanted), `${name}, asked at node ${i}`);
  return wanted;
}

t.test("what changed since a receipt is what changed at one node", async (t) => {
  const { nodes, whole, sources } = await site();
  const pick = randomFrom(seed);
  const queries = ["alpha", "type:path dir", "alpha or gamma", "repo:^(one|two)$ /al.ha/", "file:a.c beta count:1"];
  for (const round of rounds(scaled(2, 20))) {
    const query = queries[pick(queries.length)] ?? "alpha";
    const receipt = await receiptOf(whole, "alpha");
    const own = await Promise.all(nodes.map((node) => receiptOf(node, "alpha")));
    t.same(
      own.map(({ repositories }) => repositories.count),
      [3, 3],
    );
    for (const source of sources) if (pick(3) > 0) await change(source, pick);
    const wanted = await same(t, query, receipt, `round ${round}, ${query}`);
    for (const [i, node] of nodes.entries()) {
      // The receipt of a node, and its id, are as good.
      const byText = await changesSince(nodes[1 - i] ?? node, query, own[i]);
      t.same(essence(byText), essence(wanted), `the receipt of node ${i}`);
      const byId = await search(node, query, { since: idOf(own[i] as Receipt) });
      t.same(essence(byId), essence(wanted), `the id of a receipt of node ${i}`);
    }
    // The receipt of the changes is the next base.
    const next = await changesSince(nodes[0] as DaemonProcess, query, receipt);
    t.same((await changesSince(nodes[1] as DaemonProcess, query, next.receipt)).changes, [], "nothing more");
  }
});

t.test("what a receipt has and the nodes have not is told as by one", async (t) => {
  const { whole } = await site();
  const receipt = await receiptOf(whole, "alpha");
  const forged = (
    edit: (items: { repository: string; revisions: { revision: string; commit: string }[] }[]) => object[],
  ) => ({
    ...receipt,
    repositories: { items: edit(JSON.parse(JSON.stringify(receipt.repositories.items)) as []) },
  });
  const revisions = [{ revision: "", commit: "1".repeat(40) }];
  const strange = forged((items) => [
    ...items,
    { repository: "elsewhere", revisions },
    { repository: "four", revisions },
  ]);
  t.same((await same(t, "alpha", strange, "others")).summary?.repositoriesGone, ["elsewhere", "four"]);
  const fewer = await same(t, "repo:^two$ alpha", receipt, "fewer");
  t.same([...(fewer.summary?.repositoriesGone ?? [])].sort(), ["one", "three"]);
  const gone = forged((items) => items.map((one) => (one.repository === "two" ? { ...one, revisions } : one)));
  t.match((await same(t, "alpha", gone, "a base that is gone")).summary?.basesGone, [{ repository: "two" }]);
  await same(
    t,
    "alpha",
    forged((items) => items.slice(1)),
    "one that is new",
  );
  await same(t, "alpha", { repositories: { items: [] } }, "all are new");
  const others = forged((items) =>
    items.map((one) => ({ ...one, revisions: [{ revision: "v1", commit: "" }, ...one.revisions] })),
  );
  await same(t, "alpha rev:main:v1", others, "other revisions");
  for (const refused of ["type:commit alpha", "select:repo alpha", "alpha duplicates"])
    await same(t, refused, receipt, refused);
});

t.test("the changes of a node that is not there come when it is back", async (t) => {
  const { nodes, names, sources, restart } = await site();
  const [node, other] = nodes as [DaemonProcess, DaemonProcess];
  const pick = randomFrom(seed + 1);
  const receipt = await receiptOf(node, "alpha");
  const stream = new Watching(node, "alpha", { since: JSON.stringify(receipt) });
  t.teardown(() => stream.stop());
  await until("it waits", () => stream.answer.summary !== undefined);
  const [own, second] = sources as [Source, Source];
  await other.kill();
  const next = new Map([...own.files, ["new.c", "alpha alpha"]]);
  commitFiles(own.fixture, "main", own.files, next);
  own.files = next;
  await node.sync(own.name);
  const partly = await changesSince(node, "alpha", receipt);
  t.match(partly.changes, [{ repository: "one", path: "new.c", change: "came" }]);
  t.same(partly.summary?.repositoriesGone, [], "what cannot be asked may be there");
  t.equal(partly.receipt?.complete, false);
  const named = (one: Receipt | undefined) => one?.repositories.items.map(({ repository }) => repository).sort();
  t.same(named(partly.receipt), named(receipt), "what is not there is compared the next time");
  t.ok(partly.progress?.skipped.some(({ message }) => message.includes(names[1] ?? "-")));
  await until("the change is told", () => stream.answer.changes.length === 1);
  const later = new Map([...second.files, ["later.c", "alpha later"]]);
  commitFiles(second.fixture, "main", second.files, later);
  second.files = later;
  await restart(1);
  await (nodes[1] as DaemonProcess).sync(second.name);
  await until("the change of the other node is told", () => stream.answer.changes.length > 1);
  t.match(stream.answer.changes, [{ path: "new.c" }, { repository: "two", path: "later.c", change: "came" }]);
  t.same(named(stream.answer.receipt), named(receipt));
  const since = await changesSince(nodes[0] as DaemonProcess, "alpha", partly.receipt);
  t.match(since.changes, [{ repository: "two", path: "later.c", change: "came" }], "and nothing that was there before");
  t.equal(since.changes.length, 1);
  for (const one of sources.slice(0, 2)) await Promise.all(one.daemons().map((daemon) => daemon.sync(one.name)));
  await same(t, "alpha", receipt, `all of them, ${pick(9)}`);
});

t.test("a stream hears of the changes of all nodes that its viewer may see", async (t) => {
  const { nodes, sources } = await site();
  const [node, other] = nodes as [DaemonProcess, DaemonProcess];
  const first = new Watching(node, "signal", {});
  t.teardown(() => first.stop());
  await until("the first receipt", () => first.answer.summary !== undefined);
  const [one, two, , hidden] = sources as [Source, Source, Source, Source];
  const add = async (source: Source, path: string): Promise<void> => {
    const next = new Map([...source.files, [path, `signal in ${source.name}`]]);
    commitFiles(source.fixture, "main", source.files, next);
    source.files = next;
    await Promise.all(source.daemons().map((daemon) => daemon.sync(source.name)));
  };
  await add(hidden, "hidden.c");
  await add(two, "two.c");
  await until("a change of the other node", () => first.answer.changes.length > 0);
  await add(one, "one.c");
  await until("a change of this node", () => first.answer.changes.length > 1);
  t.match(first.answer.changes, [
    { repository: "two", path: "two.c", change: "came" },
    { repository: "one", path: "one.c", change: "came" },
  ]);
  const { receipt } = first.answer;
  t.same(receipt?.repositories.items.map(({ repository }) => repository).sort(), ["one", "three", "two"]);
  first.stop();
  const second = new Watching(other, "signal", { since: JSON.stringify(receipt) });
  t.teardown(() => second.stop());
  await until("it waits", () => second.answer.summary !== undefined);
  await add(one, "again.c");
  await until("a change of the first node", () => second.answer.changes.length > 0);
  t.match(second.answer.changes, [{ repository: "one", path: "again.c" }]);
  second.stop();
});

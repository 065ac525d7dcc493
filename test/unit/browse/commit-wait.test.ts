/** Waiting for a commit in a fleet: who is asked, again and again, what a search is told then, and that nobody says what is not true. */
import t from "tap";
import { TrawlError } from "../../../src/base/errors.js";
import { CommitFetches } from "../../../src/browse/commit-fetches.js";
import { waitForCommit } from "../../../src/browse/commit-wait.js";
import { orderRepository } from "../../../src/browse/repository-orders.js";
import type { AwaitedCommit, OwnerQuestion, RepositoryOrder } from "../../../src/browse/mirror-messages.js";
import { GitCache } from "../../../src/browse/mirror-reads.js";
import type { Mirrors } from "../../../src/browse/mirrors.js";
import { RequestContext, type RequestServices } from "../../../src/browse/request-context.js";
import { RepositoryTable } from "../../../src/catalog/repository-table.js";
import { maySee } from "../../../src/catalog/visible-tables.js";
import type { Repository } from "../../../src/model/repository.js";
import { noOrigin } from "../../../src/model/request-origin.js";
import { anonymous, operatorViewer, type Viewer } from "../../../src/model/viewer.js";
import type { RepositoryHolder, SearchFleet } from "../../../src/search/source/search-fleet.js";
import { testRepository } from "../../support/engine.js";
import { until } from "../../support/waiting.js";

const oid = "1".repeat(40);
const other = "2".repeat(40);
const commit: AwaitedCommit = { repository: "host/one", oid };
const longMs = 600_000;
const owner: RepositoryHolder = { name: "b", idsFrom: 0, open: () => t.fail("it is asked by messages") as never };
const overloaded = (message: string): TrawlError => new TrawlError("overloaded", message);

/** A node that has a copy of the partition, or none, and what the owner answers. */
class TestNode {
  records: readonly Repository[] = [];
  isHere = false;
  isOwner = false;
  version = 0;
  asked: { commit: AwaitedCommit; viewer: Viewer }[] = [];
  orders: RepositoryOrder[] = [];
  requested: number[] = [];
  /** Called for each question of this node to the owner. */
  answer: () => Promise<{ version: number }> = () => Promise.resolve({ version: 1 });
  findOwner: () => RepositoryHolder | undefined = () => (this.isOwner ? undefined : owner);
  syncs = 0;
  sync: () => Promise<unknown> = () => Promise.resolve();

  services(hasFleet = true): RequestServices {
    const fleet: Partial<SearchFleet> = {
      findOwner: () => this.findOwner(),
      findPlace: () => ({ partition: 2, isHere: this.isHere }),
    };
    const mirrors = {
      askOwner: (_: RepositoryHolder, question: OwnerQuestion, { viewer }: { viewer: Viewer }) => {
        if (question.kind === "wait") this.asked.push({ commit: question.commit, viewer });
        else this.orders.push(question.order);
        return this.answer();
      },
      run: () => Promise.resolve({ isStored: false, commits: [] }),
    } as unknown as Mirrors;
    const sync = (): Promise<unknown> => {
      this.syncs++;
      return this.sync();
    };
    return {
      searcher: { fleet: hasFleet ? fleet : undefined },
      catalog: {
        repositoryTable: (viewer: Viewer) =>
          RepositoryTable.of(
            this.records.filter((record) => maySee(record, viewer)),
            false,
            undefined,
          ),
        positionIn: () => ({ version: this.version, flipId: "" }),
        watchers: new Set(),
      },
      mirrors,
      gitCache: new GitCache(),
      commitFetches: new CommitFetches(sync, longMs),
      repositoryCommands: { sync, request: (id: number) => this.requested.push(id) },
    } as unknown as RequestServices;
  }

  context(viewer: Viewer = anonymous, timeoutMs = longMs, hasFleet = true): RequestContext {
    return new RequestContext(this.services(hasFleet), viewer, noOrigin, timeoutMs);
  }
}

const indexedAt = (tip: string): Repository =>
  testRepository(3, "host/one", { indexedBranches: [{ name: "main", bit: 0, commit: tip }] });

// What waits here keeps no process.
const alive = setInterval(() => undefined, 1_000);
t.teardown(() => clearInterval(alive));

t.test("a node without the partition asks the owner, and tells the search what it must see", async (t) => {
  const node = new TestNode();
  node.answer = () => Promise.resolve({ version: 7 });
  t.same(await waitForCommit(commit, node.context()), { partition: 2, version: 7 });
  t.match(node.asked, [{ commit, viewer: anonymous }]);
  t.equal(node.syncs, 0, "it fetches nothing itself");
});

t.test("a node with a copy waits until it has the change", async (t) => {
  const node = new TestNode();
  node.isHere = true;
  node.records = [indexedAt(other)];
  node.version = 4;
  node.answer = () => Promise.resolve({ version: 6 });
  let isDone = false;
  const waiting = waitForCommit(commit, node.context()).then((found) => {
    isDone = true;
    return found;
  });
  await until("the owner is asked", () => node.asked.length > 0);
  node.version = 5;
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
  t.notOk(isDone);
  node.version = 6;
  t.same(await waiting, { partition: 2, version: 6 });
  node.records = [indexedAt(oid)];
  t.same(await waitForCommit(commit, node.context()), { partition: 2, version: 6 });
  t.equal(node.asked.length, 1, "nobody is asked when it is here");
  node.records = [indexedAt(other)];
  node.answer = () => Promise.resolve({ version: Number.MAX_SAFE_INTEGER });
  await t.rejects(
    waitForCommit(commit, node.context(anonymous, 1)),
    { code: "overloaded", message: /is indexed, and this node does not have that change yet/ },
    "also of a node that lies it is not believed for longer than the request may take",
  );
});

t.test("while the owner is away or changes it is asked again, and nothing is said not to be there", async (t) => {
  const node = new TestNode();
  const answers: (() => Promise<{ version: number }>)[] = [
    () => Promise.reject(overloaded("node b does not answer")),
    () => Promise.reject(new TrawlError("conflict", "node c changes the index at this moment")),
    () => Promise.resolve({ version: 1 }),
  ];
  node.answer = () => (answers.shift() ?? (() => t.fail("it is over") as never))();
  t.same(await waitForCommit(commit, node.context()), { partition: 2, version: 1 });
  t.equal(node.asked.length, 3);
  node.answer = () => Promise.reject(overloaded("node b does not answer"));
  const gone = { code: "overloaded", message: "node b does not answer" };
  for (const viewer of [anonymous, operatorViewer])
    await t.rejects(waitForCommit(commit, node.context(viewer, 1)), gone, "when the time is over");
  node.findOwner = () => {
    throw overloaded("no node owns it");
  };
  await t.rejects(waitForCommit(commit, node.context(anonymous, 1)), { code: "overloaded" });
  node.findOwner = () => owner;
  node.answer = () => Promise.reject(new TrawlError("not-found", `commit ${oid} of host/one is not covered`));
  await t.rejects(waitForCommit(commit, node.context()), { code: "not-found" }, "what the owner says is believed");
});

t.test("whoever has left asks nobody any more", async (t) => {
  const node = new TestNode();
  node.answer = () => Promise.reject(overloaded("away"));
  const context = node.context();
  const waiting = waitForCommit(commit, context);
  await until("it is asked", () => node.asked.length > 1);
  context.cancel();
  await t.rejects(waiting, { code: "overloaded" });
  const count = node.asked.length;
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
  t.equal(node.asked.length, count);
});

t.test("a node that ceases to fetch while it does asks the next owner, and a viewer sees what it may", async (t) => {
  const node = new TestNode();
  node.isOwner = true;
  node.isHere = true;
  node.records = [{ ...indexedAt(other), private: true, readers: ["ann"] }];
  const ann: Viewer = { ...anonymous, userId: 1, name: "ann", readerNames: ["ann"] };
  const hidden = { code: "not-found", message: 'there is no repository "host/one"' };
  await t.rejects(waitForCommit(commit, node.context()), hidden);
  await t.rejects(waitForCommit(commit, node.context(anonymous, longMs, false)), hidden, "as on a single host");
  t.equal(node.syncs, 0);
  node.sync = () => {
    node.isOwner = false;
    return Promise.reject(new TrawlError("conflict", "node b changes the index at this moment"));
  };
  node.answer = () => {
    node.version = 9;
    return Promise.resolve({ version: 9 });
  };
  for (const viewer of [ann, operatorViewer]) {
    node.isOwner = true;
    t.same(await waitForCommit(commit, node.context(viewer)), { partition: 2, version: 9 });
  }
  t.equal(node.asked.length, 2);
  // Where nodes do not ask one another.
  node.isOwner = true;
  await t.rejects(
    waitForCommit(commit, node.context(ann, 1, false)),
    { code: "conflict" },
    "it does not say that nothing covers it",
  );
  node.sync = () => Promise.reject(new TrawlError("git", "no such host"));
  const notCovered = { code: "not-found", message: `commit ${oid} of host/one is not covered` };
  await t.rejects(waitForCommit(commit, node.context(ann, longMs, false)), notCovered);
});

t.test("orders go to the node that fetches, which decides who may give them", async (t) => {
  const node = new TestNode();
  const order: RepositoryOrder = { repository: "host/one", kind: "fetch", waits: true, acceptsLoss: false };
  let tries = 0;
  node.answer = () => (++tries === 1 ? Promise.reject(overloaded("away")) : Promise.resolve({ version: 3 }));
  await orderRepository(order, node.context(operatorViewer));
  t.same(node.orders, [order, order], "it is tried again");
  node.isHere = true;
  const late = { code: "overloaded", message: /host\/one is fetched, and this node does not have that change yet/ };
  await t.rejects(orderRepository(order, node.context(operatorViewer, 1)), late);
  node.isOwner = true;
  node.records = [{ ...indexedAt(other), private: true, readers: ["ann"] }];
  const ann: Viewer = { ...anonymous, userId: 1, name: "ann", readerNames: ["ann"] };
  const admin: Viewer = { ...ann, isSiteAdmin: true };
  const request: RepositoryOrder = { ...order, waits: false };
  for (const given of [order, { ...request, kind: "index" as const }, { ...request, acceptsLoss: true }])
    await t.rejects(orderRepository(given, node.context(ann)), { code: "forbidden" }, JSON.stringify(given));
  await t.rejects(orderRepository(request, node.context()), { code: "not-found" });
  t.same([node.requested, node.syncs], [[], 0]);
  await orderRepository(request, node.context(ann));
  await orderRepository(order, node.context(admin));
  t.same([node.requested, node.syncs], [[3], 1]);
  node.sync = () => Promise.reject(new TrawlError("conflict", "node b changes the index"));
  await t.rejects(
    orderRepository(order, node.context(admin, longMs, false)),
    { code: "conflict" },
    "where nodes do not ask one another",
  );
});

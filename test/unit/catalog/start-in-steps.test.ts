/** A start reads its data in steps of a few records. */
import { join } from "node:path";
import t, { type Test } from "tap";
import { Accounts } from "../../../src/account/identity/accounts.js";
import { AuditLog } from "../../../src/account/records/audit-log.js";
import { silentLog } from "../../../src/base/log.js";
import { resultAtOnce } from "../../../src/base/yielding.js";
import { Catalog } from "../../../src/catalog/catalog.js";
import type { ShardRecord } from "../../../src/model/shard-record.js";
import { RepositoryTable } from "../../../src/catalog/repository-table.js";
import type { Repository } from "../../../src/model/repository.js";
import { operatorViewer } from "../../../src/model/viewer.js";
import { RecordStore } from "../../../src/store/record-store.js";
import { ShardStore } from "../../../src/store/shard-store.js";
import { testRepository } from "../../support/engine.js";

const count = 1_000;
const recordsOfStepMax = 64;

/** The largest growth of `size` in one step. */
function largestStep(work: Iterator<unknown, unknown>, size: () => number): number {
  let largest = 0;
  for (let before = size(), isDone = false; !isDone; before = size()) {
    isDone = work.next().done === true;
    largest = Math.max(largest, size() - before);
  }
  return largest;
}

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const shardRecord = (id: number): ShardRecord => ({
  id,
  storedBytes: 1,
  contentBytes: 1,
  documentCount: 1,
  repositoryIds: [id],
});

async function filledStore(t: Test): Promise<RecordStore> {
  const store = new RecordStore(join(t.testdir({}), "catalog"));
  t.teardown(() => store.close());
  const ids = Array.from({ length: count }, (_, i) => i + 1);
  await store.apply(
    ids.flatMap((id) => [
      { key: `repository/${id}`, value: json(testRepository(id, `host/${count - id}`, { stars: id % 7 })) },
      { key: `shard/${id}`, value: json(shardRecord(id)) },
      {
        key: `user/${id}`,
        value: json({ id, name: `user-${id}`, displayName: "", isSiteAdmin: false, createdAt: "2026-01-01T00:00:00Z" }),
      },
    ]),
  );
  return store;
}

t.test("the catalog is loaded in steps", async (t) => {
  const catalog = new Catalog(await filledStore(t));
  t.equal(
    largestStep(catalog.load(), () => catalog.repositoryCount + catalog.shards().length),
    recordsOfStepMax,
  );
  t.equal(catalog.repositoryCount, count);
  t.equal(catalog.shards().length, count);
  t.equal(catalog.nextShardId, count + 1);
  t.same(
    catalog.repositoryTable(operatorViewer).values(),
    RepositoryTable.of(catalog.repositories(), true, undefined).values(),
  );
});

t.test("accounts are loaded in steps", async (t) => {
  const audit = new AuditLog(
    { append: async () => undefined, settled: async () => undefined, close: async () => undefined },
    silentLog(),
  );
  const accounts = new Accounts(await filledStore(t), audit, silentLog(), async () => undefined);
  t.teardown(() => accounts.close());
  t.equal(
    largestStep(accounts.load(), () => accounts.userCount),
    recordsOfStepMax,
  );
  t.equal(accounts.userCount, count);
});

t.test("ids of shards are loaded in steps", async (t) => {
  const store = new ShardStore(join(t.testdir({}), "shards"));
  t.teardown(() => store.close());
  const ids = Array.from({ length: count }, (_, i) => 3 * i);
  await store.put(ids.map((id) => ({ id, bytes: Buffer.from("shard") })));
  t.ok(stepCount(store.idsInSteps()) > 1);
  t.same(store.ids(), ids);
});

function stepCount(work: Iterator<unknown, unknown>): number {
  let steps = 0;
  while (work.next().done !== true) steps++;
  return steps;
}

t.test("records that are added and deleted meanwhile are in the table that a change prepares", async (t) => {
  const catalog = new Catalog(await filledStore(t));
  resultAtOnce(catalog.load());
  const record = (id: number): Repository => catalog.repository(id) as Repository;
  const added = testRepository(count + 1, "host/added", { stars: 100 });
  const change = catalog.publish(() => ({
    repositories: [added, { ...record(1), stars: 50 }, { ...record(2), removedAt: "2026-01-01T00:00:00Z" }],
    removedRepositoryIds: [3],
  }));
  catalog.recordFailed(4, "while the change is made");
  await change;
  catalog.recordFailed(5, "after it");
  const table = catalog.repositoryTable(operatorViewer);
  t.same(
    table.values(),
    RepositoryTable.of(
      [...catalog.repositories()].filter(({ removedAt }) => removedAt === ""),
      true,
      undefined,
    ).values(),
  );
  t.same(
    table
      .values()
      .slice(0, 2)
      .map(({ id }) => id),
    [count + 1, 1],
  );
  t.same(
    [2, 3].map((id) => table.byId(id)),
    [undefined, undefined],
  );
  t.match(
    [4, 5].map((id) => table.byId(id)?.lastError),
    ["while the change is made", "after it"],
  );
  t.same(
    table.rowsByName().map((place) => table.at(place).name),
    table
      .values()
      .map(({ name }) => name)
      .sort(),
  );
});

/** Repositories in several partitions: which ids they get, and that each flip is one of one partition. */
import t from "tap";
import { resultAtOnce } from "../../../src/base/yielding.js";
import { type CatalogChange, changedRepositoryIds } from "../../../src/catalog/catalog-change.js";
import { Catalog } from "../../../src/catalog/catalog.js";
import { Partitions, partitionsMax } from "../../../src/catalog/partitions.js";
import type { Repository } from "../../../src/model/repository.js";
import { operatorViewer, type Viewer } from "../../../src/model/viewer.js";
import { testRepository } from "../../support/engine.js";
import { MemoryRecords } from "../../support/memory-records.js";

const shard = (id: number, ...repositoryIds: readonly number[]) => ({
  id,
  storedBytes: 1,
  contentBytes: 1,
  documentCount: 1,
  repositoryIds,
});

function loaded(records: MemoryRecords, count: number): Catalog {
  const catalog = new Catalog(records, new Partitions(count));
  resultAtOnce(catalog.load());
  return catalog;
}

t.test("a single host gives one id after the other", async (t) => {
  const partitions = new Partitions(1);
  t.strictSame(
    ["a", "b", "c"].map((name) => partitions.take(name)),
    [1, 2, 3],
  );
  partitions.reserve(2);
  t.equal(partitions.nextRepositoryId, 4);
  partitions.reserve(9);
  t.equal(partitions.nextRepositoryId, 10);
  t.equal(partitions.take("d"), 10);
  t.equal(partitions.find(10), 0);
});

t.test("ids say which partition a repository is in, and are not given twice", async (t) => {
  for (const count of [2, 7, 64, partitionsMax]) {
    const partitions = new Partitions(count);
    const ids = new Set<number>();
    const sizes = new Map<number, number>();
    const add = (name: string): number => {
      const id = partitions.take(name);
      const isGood = partitions.find(id) === partitions.place(name) && !ids.has(id) && id < partitions.nextRepositoryId;
      if (!isGood) t.fail(`${name} has ${id} of ${count}`);
      ids.add(id);
      return id;
    };
    for (let i = 0; i < 500; i++) {
      const partition = partitions.find(add(`host/${i}`));
      sizes.set(partition, (sizes.get(partition) ?? 0) + 1);
    }
    if (count <= 7) {
      t.equal(sizes.size, count);
      t.ok([...sizes.values()].every((size) => size > 250 / count && size < 1000 / count));
    }
    t.equal(ids.size, 500);
    partitions.reserve(100_000);
    for (let i = 500; i < 520; i++) {
      const id = add(`host/${i}`);
      if (id <= 100_000 || id > 100_000 + 21 * count) t.fail(`it gives ${id} above 100,000 of ${count}`);
    }
  }
});

t.test("names that are equal but for their case are in one partition", async (t) => {
  const partitions = new Partitions(64);
  for (const [name, other] of [
    ["host/sk", "HOST/SK"],
    ["host/sk", "host/\u017f\u212a"],
    ["github.com/Acme/Ünits", "github.com/acme/ünits"],
  ] as const)
    t.equal(partitions.place(name), partitions.place(other), other);
});

t.test("each partition of a catalog has a position of its own", async (t) => {
  const records = new MemoryRecords();
  const catalog = loaded(records, 3);
  const make = (name: string): Repository => catalog.newRepository(testRepository(0, name), false);
  const added: Repository[] = [];
  for (let i = 0; i < 12; i++) {
    const [repository] = (await catalog.publish(() => ({ repositories: [make(`host/${i}`)] as const }))).repositories;
    added.push(repository);
  }
  const count = (partition: number): number => added.filter(({ id }) => (id - 1) % 3 === partition).length;
  t.strictSame(
    [0, 1, 2].map((partition) => catalog.positionIn(partition).version),
    [count(0), count(1), count(2)],
  );
  t.equal(catalog.position, catalog.positionIn(0));
  const [one, other] = [0, 1].map((partition) => added.find(({ id }) => (id - 1) % 3 === partition));
  if (one === undefined || other === undefined) throw new RangeError("each partition has some of twelve repositories");
  const before = [0, 1, 2].map((partition) => catalog.positionIn(partition));
  await t.rejects(
    catalog.publish(() => ({ repositories: [one, other] })),
    /one partition/,
  );
  await t.rejects(
    catalog.publish(() => ({ addedShards: [shard(1, one.id, other.id)] })),
    /one partition/,
  );
  t.strictSame(
    [0, 1, 2].map((partition) => catalog.positionIn(partition)),
    before,
    "nothing was changed",
  );
  await catalog.publish(() => ({ addedShards: [shard(1, other.id)] }));
  await catalog.publish(() => ({ tombstones: new Map([[1, [0]]]) }));
  t.equal(catalog.positionIn(1).version, count(1) + 2);
  await catalog.follow(() => ({ repositories: [{ ...one, stars: 3 }] }), { version: 70, flipId: "x" }, 2);
  const again = loaded(records, 3);
  t.strictSame(
    [0, 1, 2].map((partition) => again.positionIn(partition)),
    [0, 1, 2].map((partition) => catalog.positionIn(partition)),
  );
  t.strictSame(again.positionIn(2), { version: 70, flipId: "x" });
  t.equal(again.nextRepositoryId, catalog.nextRepositoryId);
  t.strictSame(loaded(records, 1).position, catalog.positionIn(0), "where programs find it that know one partition");
});

t.test("the repositories of each kind of change", async (t) => {
  const live = shard(7, 1, 2);
  const history = { id: 8, repositoryId: 5 };
  const changes: readonly (readonly [CatalogChange, readonly number[]])[] = [
    [{ repositories: [testRepository(4, "host/a")] }, [4]],
    [{ removedRepositoryIds: [6] }, [6]],
    [{ addedShards: [shard(9, 3, 4)] }, [3, 4]],
    [{ removedShardIds: [7, 99] }, [1, 2]],
    [{ tombstones: new Map([[7, [1]]]) }, [1, 2]],
    [{ hidden: new Map([[7, [2]]]) }, [1, 2]],
    [{ symbols: new Map([[7, undefined]]) }, [1, 2]],
    [{ restored: new Map([[9, { record: shard(9, 3), tombstones: undefined }]]) }, [3]],
    [{ removedHistoryIds: [8, 99] }, [5]],
    [{}, []],
  ];
  for (const [change, expected] of changes) {
    const ids = changedRepositoryIds(
      change,
      (id) => (id === 7 ? live : undefined),
      (id) => (id === 8 ? history : undefined),
    );
    t.strictSame([...ids], expected);
  }
});

const operator: Viewer = { ...operatorViewer };
const stranger: Viewer = { ...operatorViewer, isSiteAdmin: false, readerNames: ["ann"] };

t.test("what is in some partitions, of what a viewer may see", async (t) => {
  const catalog = loaded(new MemoryRecords(), 3);
  for (let i = 0; i < 30; i++) {
    const config = testRepository(
      0,
      `host/${i}`,
      i % 2 === 0 ? { private: true, readers: ["ann"] } : { private: i % 3 === 0 },
    );
    await catalog.publish(() => ({ repositories: [catalog.newRepository(config, false)] }));
  }
  const inside = (viewer: Viewer, ...partitions: readonly number[]): readonly string[] =>
    catalog
      .repositoryTable(viewer)
      .values()
      .filter(({ id }) => partitions.includes(catalog.partitions.find(id)))
      .map(({ name }) => name);
  const names = (viewer: Viewer, ...partitions: readonly number[]): readonly string[] =>
    catalog
      .repositoryTable(viewer, catalog.partitions.share(partitions))
      .values()
      .map(({ name }) => name);
  for (const viewer of [operator, stranger])
    for (const partitions of [[0], [1, 2], [0, 1, 2], []])
      t.strictSame(names(viewer, ...partitions), inside(viewer, ...partitions));
  t.ok(inside(stranger, 0, 1, 2).length < inside(operator, 0, 1, 2).length);
  const share = catalog.partitions.share([1, 2]);
  t.equal(
    catalog.repositoryTable(operator, share),
    catalog.repositoryTable(operator, catalog.partitions.share([1, 2])),
  );
  t.equal(catalog.repositoryTable(operator, catalog.partitions.share([0, 1, 2])), catalog.repositoryTable(operator));

  // Records are the newest ones, and a change that needs another table is seen.
  const [one] = catalog.repositoryTable(operator, share).values();
  if (one === undefined) throw new RangeError("there are some");
  await catalog.publish(() => ({ repositories: [{ ...one, generation: 5 }] }));
  t.equal(catalog.repositoryTable(operator, share).byId(one.id)?.generation, 5);
  await catalog.publish(() => ({ repositories: [{ ...one, private: true, readers: [] }] }));
  t.equal(catalog.repositoryTable(stranger, share).byId(one.id), undefined);
  t.strictSame(names(stranger, 1, 2), inside(stranger, 1, 2));

  // Prepared in steps, while records change.
  const work = catalog.shareInSteps(operator, catalog.partitions.share([0]));
  const [other] = inside(operator, 0);
  const known = catalog.repositoryByName(other ?? "");
  if (known === undefined) throw new RangeError("there are some");
  await catalog.publish(() => ({ repositories: [{ ...known, generation: 9 }] }));
  t.equal(resultAtOnce(work).byId(known.id)?.generation, 9);
});

t.test("what was computed is of an index that another node has changed, or of another partition", async (t) => {
  const catalog = loaded(new MemoryRecords(), 3);
  const bases = [1, 2, 3].map((id) => catalog.basis(id));
  await catalog.follow(() => ({ repositories: [testRepository(2, "host/a")] }), { version: 1, flipId: "x" }, 1);
  await catalog.publish(() => ({ repositories: [testRepository(3, "host/b")] }));
  t.strictSame(
    bases.map((basis) => catalog.isCurrent(basis)),
    [true, false, true],
  );
  t.equal(catalog.isCurrent(catalog.basis(5)), true);
});

t.test(
  "a partition that is dropped leaves nothing, and what is hidden in a shard is in that of the rest",
  async (t) => {
    const records = new MemoryRecords();
    const catalog = loaded(records, 3);
    const deleted: number[] = [];
    catalog.onRemoved = (ids) => void deleted.push(...ids);
    for (const id of [1, 2, 4, 5]) await catalog.publish(() => ({ repositories: [testRepository(id, `host/${id}`)] }));
    await catalog.publish(() => ({ addedShards: [shard(1, 0, 2, 5)] }));
    await catalog.publish(() => ({ addedShards: [shard(2, 1, 0, 4)] }));
    t.equal(catalog.positionIn(1).version, 3);
    const basis = catalog.basis(2);
    await catalog.dropPartition(() => ({ removedRepositoryIds: [2, 5], removedShardIds: [1] }), 1);
    t.strictSame([deleted, catalog.isCurrent(basis)], [[], false]);
    for (const one of [catalog, loaded(records, 3)]) {
      t.strictSame([...one.repositories()].map(({ id }) => id).sort(), [1, 4]);
      t.strictSame(
        one.shards().map(({ record }) => record.id),
        [2],
      );
      t.strictSame(one.positionIn(1), { version: 0, flipId: "" });
    }
    await catalog.publish(() => ({ removedRepositoryIds: [4] }));
    t.strictSame(deleted, [4]);
  },
);

/** Which history shards the catalog has after fetches, rewritten branches, damage and removals. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { silentLog } from "../../../src/base/log.js";
import { assert } from "../../../src/base/assert.js";
import { Catalog } from "../../../src/catalog/catalog.js";
import { HistoryReader } from "../../../src/history/history-reader.js";
import { mirrorName } from "../../../src/model/repository.js";
import type { Repository } from "../../../src/model/repository.js";
import type { IngestPool } from "../../../src/pool/ingest-pool.js";
import { RecordStore } from "../../../src/store/record-store.js";
import { SyncActivities } from "../../../src/sync/services/activity.js";
import { HistoryIndexing } from "../../../src/sync/housekeeping/history-indexing.js";
import { HistoryRepairs } from "../../../src/sync/housekeeping/history-repairs.js";
import { ShardRestores } from "../../../src/sync/housekeeping/shard-repairs.js";
import { ShardFlips } from "../../../src/sync/housekeeping/shard-flips.js";
import { IndexTasks } from "../../../src/sync/queue/index-tasks.js";
import { historyStatus } from "../../../src/sync/repositories/repository-status.js";
import { type SyncServices, wholeShare } from "../../../src/sync/services/sync-settings.js";
import { runCheck } from "../../../src/worker/ingest/upkeep-tasks.js";
import { runHistory } from "../../../src/worker/ingest/history-task.js";
import { IngestThread } from "../../../src/worker/ingest/ingest-thread.js";
import { testRepository } from "../../support/engine.js";
import { GitFixture } from "../../support/git-fixture.js";

const repositoryId = 1;

class Scene {
  readonly remote = GitFixture.create();
  readonly catalog: Catalog;
  readonly tasks = new IndexTasks(silentLog());
  readonly thread: IngestThread;
  readonly indexing: HistoryIndexing;
  readonly repairs: HistoryRepairs;
  readonly mirror: string;
  /** Called when a shard is written, before the catalog has it. */
  beforeResult: (() => Promise<void>) | undefined;

  constructor(t: Test, historyBytesMax: number) {
    const dataFolder = t.testdir({ mirrors: {}, shards: {} });
    const records = new RecordStore(join(dataFolder, "catalog"));
    this.catalog = new Catalog(records);
    this.thread = new IngestThread({ dataFolder, kernel: "native" } as ConstructorParameters<typeof IngestThread>[0]);
    t.teardown(async () => {
      await this.tasks.idle();
      await this.thread.store.close();
      await records.close();
      this.remote.remove();
    });
    const pool = {
      history: async (task: Parameters<IngestPool["history"]>[0]) => {
        const result = await runHistory(this.thread, task);
        await this.beforeResult?.();
        return result;
      },
      check: (task: Parameters<IngestPool["check"]>[0]) => runCheck(this.thread, task),
      remove: ({ shardIds }: Parameters<IngestPool["remove"]>[0]) => this.thread.guardedStore.remove(shardIds),
    };
    const settings = { historyBytesMax, onStoreLost: () => undefined };
    const activities = new SyncActivities(this.catalog);
    const services = {
      catalog: this.catalog,
      manifest: this.catalog,
      share: wholeShare,
      pool,
      settings,
      activities,
      log: silentLog(),
    } as unknown as SyncServices;
    const flips = new ShardFlips(services, this.tasks);
    flips.reserveShardIds(1);
    this.catalog.onRetired = (ids) => flips.retire(ids);
    this.indexing = new HistoryIndexing(services, this.tasks, flips);
    this.repairs = new HistoryRepairs(
      services,
      this.tasks,
      this.indexing,
      new ShardRestores(services, this.tasks, flips),
    );
    this.tasks.useStarter(() => void this.indexing.start());
    this.mirror = join(dataFolder, "mirrors", mirrorName(repositoryId));
    mkdirSync(this.mirror, { recursive: true });
    this.remote.git("clone", "-q", "--mirror", this.remote.path, this.mirror);
  }

  /** Adds commits with changes of their own. */
  commit(count: number, branch = "main"): void {
    for (let i = 0; i < count; i++)
      this.remote.commit({ branch, files: { [`${i}.txt`]: `${this.remote.git("rev-list", "--count", "--all")}\n` } });
  }

  /** Fetches, records the commit of the branch as indexed, and indexes histories until nothing is left. */
  async sync(): Promise<void> {
    this.remote.git(`--git-dir=${this.mirror}`, "fetch", "-q", "--prune");
    const commit = this.remote.git("rev-parse", "main");
    await this.catalog.publish(() => ({
      repositories: [
        {
          ...(this.catalog.repository(repositoryId) ?? testRepository(repositoryId, "host/one")),
          indexedBranches: [{ name: "main", bit: 0, commit }],
        },
      ],
    }));
    this.indexing.enqueue(repositoryId);
    await this.settle();
  }

  /** Changes which part of the history is to be indexed, and indexes it. */
  async want(history: string): Promise<void> {
    await this.catalog.publish(() => ({ repositories: [{ ...this.repository, history }] }));
    this.indexing.request(repositoryId);
    await this.settle();
  }

  get repository(): Repository {
    const repository = this.catalog.repository(repositoryId);
    assert(repository !== undefined, "it is in the catalog");
    return repository;
  }

  /** Indexed and known commits. */
  get counts(): string {
    const { indexedCount, reachableCount } = historyStatus(this.repository, this.catalog, this.indexing);
    return `${indexedCount}/${reachableCount}`;
  }

  async settle(): Promise<void> {
    do {
      this.tasks.pump();
      await this.tasks.idle();
    } while (this.indexing.start());
  }

  /** The commits of each history shard. */
  get shards(): string[][] {
    return this.catalog.historyOf(repositoryId).map(({ id }) => {
      const snapshot = this.thread.store.read();
      try {
        const reader = new HistoryReader(id, Buffer.from(snapshot.get(id) ?? Buffer.alloc(0)));
        return Array.from({ length: reader.commitCount }, (_, commit) => reader.oid(commit));
      } finally {
        snapshot.close();
      }
    });
  }

  get reachableInOrder(): string[] {
    return this.remote.git("rev-list", "main").split("\n");
  }

  get reachable(): string[] {
    return this.reachableInOrder.sort();
  }
}

t.test("all commits, then those of each fetch", async (t) => {
  const scene = new Scene(t, 2 ** 30);
  scene.commit(5);
  await scene.sync();
  t.same(
    scene.shards.map((commits) => commits.length),
    [5],
  );
  t.same(scene.shards.flat().sort(), scene.reachable);
  scene.commit(2);
  await scene.sync();
  t.same(
    scene.shards.map((commits) => commits.length),
    [5, 2],
  );
  t.same(scene.shards.flat().sort(), scene.reachable);
  t.equal(scene.catalog.repository(repositoryId)?.historyState?.reachableCount, 7);
  await scene.sync();
  t.equal(scene.shards.length, 2, "nothing new");
});

t.test("small shards are replaced by one, without commits that are gone", async (t) => {
  const scene = new Scene(t, 2 ** 30);
  for (let i = 0; i < 8; i++) {
    scene.commit(1);
    await scene.sync();
  }
  t.equal(scene.shards.length, 8);
  const before = scene.catalog.historyOf(repositoryId).map(({ id }) => id);
  scene.remote.commit({ branch: "main", files: { a: "rewritten" }, orphan: true });
  await scene.sync();
  t.same(scene.shards.flat(), scene.reachable);
  await scene.tasks.idle();
  t.notOk(
    [...scene.thread.store.ids()].some((id) => before.includes(id)),
    "the replaced ones are deleted",
  );
});

t.test("a rewritten history whose old commits are gone from the mirror", async (t) => {
  const scene = new Scene(t, 2 ** 30);
  scene.commit(3);
  await scene.sync();
  scene.remote.commit({ branch: "main", files: { a: "1" }, orphan: true });
  scene.commit(1);
  scene.remote.git(`--git-dir=${scene.mirror}`, "fetch", "-q", "--prune");
  scene.remote.git(`--git-dir=${scene.mirror}`, "gc", "-q", "--prune=now");
  await scene.sync();
  const indexed = new Set(scene.shards.flat());
  t.ok(scene.reachable.every((oid) => indexed.has(oid)));
});

t.test("what was built while another node has changed the index is built anew", async (t) => {
  const scene = new Scene(t, 2 ** 30);
  scene.commit(2);
  let resultCount = 0;
  scene.beforeResult = async () => {
    if (++resultCount === 1) await scene.catalog.follow(() => ({}), { version: 50, flipId: "of another node" });
  };
  await scene.sync();
  t.equal(resultCount, 2);
  t.same(scene.shards.flat().sort(), scene.reachable);
  t.equal([...scene.thread.store.ids()].length, 1, "the first one is deleted");
});

t.test("a view keeps the shards that it pins", async (t) => {
  const scene = new Scene(t, 2 ** 30);
  scene.commit(2);
  await scene.sync();
  const view = scene.catalog.historyView();
  const [{ id }] = view.shards.get(repositoryId) ?? [];
  await scene.catalog.publish(() => ({ removedRepositoryIds: [repositoryId] }));
  await scene.tasks.idle();
  t.same([...scene.thread.store.ids()], [id]);
  view.release();
  await scene.tasks.idle();
  t.same([...scene.thread.store.ids()], [], "removed with the repository");
  t.same([...scene.catalog.historyShards()], []);
});

t.test("damaged and missing shards are dropped and indexed again", async (t) => {
  const scene = new Scene(t, 2 ** 30);
  scene.commit(4);
  await scene.sync();
  const [{ id }] = scene.catalog.historyOf(repositoryId);
  const snapshot = scene.thread.store.read();
  const bytes = Buffer.from(snapshot.get(id) ?? Buffer.alloc(0));
  snapshot.close();
  bytes[bytes.length - 70]! ^= 1;
  await scene.thread.store.put([{ id, bytes }]);
  const faults: string[] = [];
  for await (const { shardId, error } of scene.repairs.check()) {
    faults.push(error?.message ?? "none");
    await scene.repairs.rebuild(shardId);
  }
  t.match(faults, [/^history shard 1 is damaged/]);
  await scene.settle();
  t.same(scene.shards.flat().sort(), scene.reachable);
  const [again] = scene.catalog.historyOf(repositoryId);
  await scene.thread.store.remove([again.id]);
  await scene.repairs.verifyHeaders();
  await scene.settle();
  t.same(scene.shards.flat().sort(), scene.reachable);
});

t.test("a damaged shard does not keep new commits from the index", async (t) => {
  const scene = new Scene(t, 2 ** 30);
  scene.commit(2);
  await scene.sync();
  const repository = scene.catalog.repository(repositoryId);
  t.ok(repository);
  if (repository !== undefined)
    await scene.catalog.publish(() => ({ repositories: [{ ...repository, historyState: undefined }] }));
  await scene.thread.store.remove([scene.catalog.historyOf(repositoryId)[0].id]);
  scene.commit(1);
  await scene.sync();
  await scene.settle();
  t.same(scene.shards.flat().sort(), scene.reachable);
});

t.test("a size limit keeps the newest commits", async (t) => {
  const scene = new Scene(t, 2_000);
  const commit = (count: number): void => {
    for (let i = 0; i < count; i++)
      scene.remote.commit({
        branch: "main",
        files: { a: `${`${scene.remote.git("rev-list", "--count", "--all")} `.repeat(100)}\n` },
      });
  };
  commit(12);
  await scene.sync();
  const [first] = scene.shards;
  t.ok(first.length > 2 && first.length < 12, `${first.length} of 12`);
  t.same(first, scene.reachableInOrder.slice(0, first.length));
  t.equal(scene.counts, `${first.length}/12`);
  t.ok(scene.indexing.isUpToDate(scene.repository));
  for (let i = 0; i < 4; i++) {
    commit(2);
    await scene.sync();
  }
  const indexed = scene.shards.flat();
  t.notOk(indexed.includes(first[first.length - 1]), "the oldest shard is removed");
  t.same([...indexed].sort(), scene.reachableInOrder.slice(0, indexed.length).sort(), "the newest commits are indexed");
  t.equal(scene.counts, `${indexed.length}/20`);
  await scene.tasks.idle();
  t.same(
    [...scene.thread.store.ids()].sort(),
    scene.catalog
      .historyOf(repositoryId)
      .map(({ id }) => id)
      .sort(),
  );
});

t.test("a number of commits, a date, all, and nothing", async (t) => {
  const scene = new Scene(t, 2 ** 30);
  for (const day of ["01", "02", "03", "04"])
    scene.remote.commit({ branch: "main", files: { a: day }, seconds: Date.parse(`2024-05-${day}T12:00Z`) / 1000 });
  const oids = scene.reachableInOrder;
  await scene.sync();
  await scene.want("2 commits");
  t.equal(scene.counts, "2/4");
  await scene.want("off");
  t.same(scene.shards, []);
  t.same([...scene.thread.store.ids()], [], "its space is free");
  t.ok(scene.indexing.isUpToDate(scene.repository));
  await scene.want("1 commit");
  t.same(scene.shards, [oids.slice(0, 1)]);
  t.equal(scene.counts, "1/4");
  await scene.want("since 2024-05-03");
  t.same(scene.shards.flat(), oids.slice(0, 2));
  t.equal(scene.counts, "2/4");
  await scene.want("all");
  t.same(scene.shards.flat(), oids);
  t.equal(scene.counts, "4/4");
  scene.commit(1);
  await scene.want("2 commits");
  await scene.sync();
  t.equal(scene.counts, "3/5", "the new commits are added to those before");
});

t.test("commits whose parents a shallow mirror lacks are left to searches, until it has them", async (t) => {
  const scene = new Scene(t, 2 ** 30);
  scene.commit(4);
  const git = (...args: string[]) => scene.remote.git(`--git-dir=${scene.mirror}`, ...args);
  git("fetch", "-q", "--depth=2", `file://${scene.remote.path}`, "+main:main");
  await scene.sync();
  t.same(scene.shards.flat(), scene.reachableInOrder.slice(0, 1));
  t.equal(scene.counts, "1/2");
  scene.commit(1);
  git("fetch", "-q", "--unshallow", `file://${scene.remote.path}`, "+main:main");
  await scene.sync();
  t.same(scene.shards.flat().sort(), scene.reachable);
  t.equal(scene.counts, "5/5");
});

t.test("a repository that is removed or switched off while its history is indexed keeps no shard", async (t) => {
  for (const change of ["remove", "off"]) {
    const scene = new Scene(t, 2 ** 30);
    scene.commit(1);
    scene.beforeResult = async () => {
      scene.beforeResult = undefined;
      await scene.catalog.publish(() =>
        change === "remove"
          ? { removedRepositoryIds: [repositoryId] }
          : { repositories: [{ ...scene.repository, history: "off" }] },
      );
    };
    await scene.sync();
    t.same(scene.shards, []);
    t.same([...scene.thread.store.ids()], [], change);
  }
});

t.test("a shard that is dropped while others are built is indexed again", async (t) => {
  const scene = new Scene(t, 2 ** 30);
  scene.commit(2);
  await scene.sync();
  scene.commit(1);
  scene.beforeResult = async () => {
    scene.beforeResult = undefined;
    await scene.indexing.drop(scene.catalog.historyOf(repositoryId)[0].id);
  };
  await scene.sync();
  t.same(scene.shards.flat().sort(), scene.reachable);
  t.equal(scene.counts, "3/3");
});

t.test("nothing is indexed when it is switched off", async (t) => {
  const scene = new Scene(t, 0);
  scene.commit(1);
  await scene.sync();
  t.same(scene.shards, []);
});

t.test("the records are read again at a start", async (t) => {
  const scene = new Scene(t, 2 ** 30);
  scene.commit(2);
  await scene.sync();
  const dataFolder = scene.thread.dataFolder;
  const records = new RecordStore(join(dataFolder, "catalog"));
  t.teardown(() => records.close());
  const again = new Catalog(records);
  for (const _ of again.load());
  t.same(again.historyOf(repositoryId), scene.catalog.historyOf(repositoryId));
  t.equal(again.nextShardId, 2);
  t.same(again.repository(repositoryId)?.historyState, scene.catalog.repository(repositoryId)?.historyState);
});

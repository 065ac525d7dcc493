/** The records of very many jobs, their limits, and when they are deleted: without searches. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { createMetrics } from "../../../src/base/metrics.js";
import { silentLog } from "../../../src/base/log.js";
import { resultAtOnce } from "../../../src/base/yielding.js";
import type { JobEnvironment, JobLimits } from "../../../src/jobs/job-environment.js";
import { JobFiles } from "../../../src/jobs/job-files.js";
import { type JobRecord, newJob, timeAfter } from "../../../src/jobs/job-record.js";
import { JobRetention } from "../../../src/jobs/job-retention.js";
import { JobRun, type JobServices } from "../../../src/jobs/job-run.js";
import { JobSpace } from "../../../src/jobs/job-space.js";
import { JobStore } from "../../../src/jobs/job-store.js";
import { LineSplitter } from "../../../src/jobs/line-splitter.js";
import { SearchJobs } from "../../../src/jobs/search-jobs.js";
import { portableKernel } from "../../../src/native/kernel/portable.js";
import type { Repository } from "../../../src/model/repository.js";
import { anonymous, type Viewer } from "../../../src/model/viewer.js";
import type { SearchEnd } from "../../../src/search/report/search-report.js";
import { RecordStore } from "../../../src/store/record-store.js";
import { realDirectory } from "../../support/fault-layer.js";
import { until } from "../../support/waiting.js";

const log = silentLog();
const limits: JobLimits = {
  concurrent: 1,
  countMax: 100_000,
  ofUserMax: 100_000,
  bytesMax: 1 << 20,
  totalBytesMax: 1 << 20,
  exportBytesMax: 1 << 20,
  retentionDays: 30,
  timeoutMs: 1000,
};
const viewer = (userId: number, isSiteAdmin = false): Viewer => ({ ...anonymous, userId, isSiteAdmin });

function site(t: Test) {
  const folder = realDirectory(t);
  const store = new RecordStore(join(folder, "catalog"));
  t.teardown(() => store.close());
  const create = (
    changed: Partial<JobLimits> = {},
    chooseRepositories: JobEnvironment["searcher"]["chooseRepositories"] = () => Promise.resolve([]),
  ): SearchJobs => {
    const jobs = new SearchJobs({
      folder: join(folder, "jobs"),
      store,
      searcher: { run: () => assert.fail("no search"), chooseRepositories },
      reads: { run: () => assert.fail("no read") },
      baseUrl: () => "",
      repository: () => undefined,
      viewerOf: viewer,
      kernel: portableKernel,
      log,
      metrics: createMetrics().metrics,
      limits: { ...limits, ...changed },
    });
    resultAtOnce(jobs.load());
    return jobs;
  };
  return { folder, store, create };
}

/** A job that ended, with results of this size. */
function ended(id: number, creatorId: number, resultBytes = 0, finishedAt = new Date().toISOString()): JobRecord {
  return { ...newJob(id, `query ${id % 7}`, creatorId), state: "COMPLETED", resultBytes, finishedAt };
}

async function loaded(store: RecordStore): Promise<JobStore> {
  const jobs = new JobStore(store);
  resultAtOnce(jobs.load());
  return jobs;
}

t.test("with 100,000 jobs, a list looks at none, and no further job is created", async (t) => {
  const { store, create } = site(t);
  const count = limits.countMax;
  const keyOf = (id: number) => `search-job/${id}`;
  await store.apply(
    Array.from({ length: count }, (_, i) => ({
      key: keyOf(i + 1),
      value: Buffer.from(JSON.stringify(ended(i + 1, i % 1000 === 0 ? 2 : 1))),
    })),
  );
  await store.apply([{ key: "search-job-counter", value: Buffer.from(String(count + 1)) }]);
  const jobs = create();
  const all = jobs.visibleIds(viewer(9, true));
  t.equal(all.length, count);
  t.equal(jobs.visibleIds(viewer(9, true)), all, "nothing is copied");
  t.ok(
    all.every((id, at) => id === at + 1),
    "in the order of creation, which is not that of the keys",
  );
  t.equal(jobs.visibleIds(viewer(2)).length, count / 1000);
  t.same(jobs.visibleIds(viewer(3)), []);
  t.same(jobs.visibleIds(anonymous), []);
  t.equal(jobs.visibleIdsOf([1], viewer(2)).length, 0, "jobs of others");
  t.equal(jobs.visibleIdsOf([1, 2, 2], viewer(9, true)).length, count);
  t.throws(() => jobs.get(1, viewer(1)), { code: "not-found" });
  t.equal(jobs.get(1, viewer(2)).id, 1);
  await t.rejects(jobs.create("x", viewer(2)), { code: "too-many-requests", message: /too many search jobs \(100 of/ });
  await jobs.delete(1, viewer(2));
  t.equal(all.length, count - 1);
  t.equal((await jobs.create("x", viewer(2))).id, count + 1);
  await t.rejects(jobs.create("x", viewer(2)), { code: "too-many-requests" });
  await t.rejects(jobs.create("x", anonymous), { code: "forbidden" });
});

t.test("requests at the same time do not exceed the limit of a user", async (t) => {
  const jobs = site(t).create({ ofUserMax: 3 });
  const created = await Promise.allSettled(Array.from({ length: 10 }, () => jobs.create("x", viewer(1))));
  t.equal(created.filter(({ status }) => status === "fulfilled").length, 3);
  t.same(jobs.visibleIds(viewer(1)), [1, 2, 3]);
  await jobs.create("x", viewer(2));
});

t.test("a job that needs room removes the oldest jobs of the user who has most bytes", async (t) => {
  const { store } = site(t);
  const jobs = await loaded(store);
  for (const job of [ended(1, 1, 300), ended(2, 2, 100), ended(3, 1, 300), ended(4, 1, 0)]) await jobs.put(job);
  await jobs.put({ ...newJob(5, "running", 1), resultBytes: 200 });
  const space = new JobSpace(jobs, 1000);
  t.ok(space.take(100));
  t.notOk(space.take(1), "bytes that are not committed count");
  const removed: number[] = [];
  const remove = async (id: number): Promise<void> => {
    removed.push(id);
    await jobs.remove(id);
  };
  t.ok(await space.makeRoom(150, remove));
  t.same(removed, [1], "of the user with 800 bytes, not of the one with 100");
  t.ok(await space.makeRoom(700, remove));
  t.same(removed, [1, 3, 2], "never one that has not ended, nor one without results");
  t.notOk(await space.makeRoom(900, remove), "none is left");
  space.release(100);
  t.ok(space.take(800));
  t.equal(jobs.byteCount, 200);
});

t.test("old jobs are deleted, also if the clock was ahead when they ended", async (t) => {
  const { store, folder } = site(t);
  const jobs = await loaded(store);
  const daysAgo = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString();
  await jobs.put(ended(1, 1, 0, daysAgo(31)));
  await jobs.put(ended(2, 1, 0, daysAgo(29)));
  await jobs.put({ ...ended(3, 1, 0, daysAgo(-1000)), createdAt: daysAgo(-1001), startedAt: daysAgo(-1000.5) });
  await jobs.put(newJob(4, "it has not ended", 1));
  const retention = new JobRetention(jobs, join(folder, "jobs"), 30, (id) => jobs.remove(id), log);
  await retention.removeOld();
  t.same(jobs.ids(1), [2, 3, 4]);
  const now = new Date().toISOString();
  const { createdAt = "", startedAt = "", finishedAt = "" } = jobs.get(3) ?? {};
  t.ok(createdAt <= startedAt && startedAt <= finishedAt && finishedAt <= now, "its retention begins now");
  t.ok(timeAfter(daysAgo(-1)) > now, "a job does not end before it begins");
});

t.test("the repositories that failed are stored apart from the record of their job", async (t) => {
  const { store } = site(t);
  const jobs = await loaded(store);
  const size = 700;
  const total = 3000;
  let job = { ...newJob(jobs.newId(), "x", 1), total, done: total };
  await jobs.put(job, { repositoryIds: Array.from({ length: total }, (_, i) => i + 1) });
  for (let failedCount = 1; failedCount <= size; failedCount++) {
    job = { ...job, failedCount };
    await jobs.put(job, { failedIds: [failedCount * 3] });
  }
  const all = Array.from({ length: size }, (_, i) => (i + 1) * 3);
  t.same(jobs.failedIds(job), all);
  const more = Array.from({ length: 2000 }, (_, i) => 10_000 + i);
  job = { ...job, failedCount: size + more.length };
  await jobs.put(job, { failedIds: more });
  t.same((await loaded(store)).failedIds(job), [...all, ...more]);
  for (const { key, value } of store.withPrefix("search-job-failed/"))
    t.ok(value.length <= 2048, `${key} has ${value.length} bytes`);
  job = { ...job, failedCount: 1 };
  await jobs.put(job, { failedIds: [77] });
  t.same(jobs.failedIds(job), [77], "those of an earlier run do not count");
  await jobs.remove(1);
  t.same(
    [...store.withPrefix("search-job-")].map(({ key }) => key),
    ["search-job-counter"],
  );
});

t.test("users take turns, whoever has more jobs", async (t) => {
  const { create } = site(t);
  const started: number[] = [];
  const jobs = create({}, ({ viewer: { userId = 0 } }) => {
    started.push(userId);
    return Promise.resolve([]);
  });
  for (const userId of [1, 1, 1, 2, 3, 2]) await jobs.create("x", viewer(userId));
  started.length = 0;
  await jobs.start();
  t.teardown(() => jobs.stop());
  await until("all jobs have ended", () =>
    jobs.records([1, 2, 3, 4, 5, 6]).every(({ state }) => state === "COMPLETED"),
  );
  t.same(started, [1, 2, 3, 1, 2, 1]);
});

t.test("records and folders are brought together at the start", async (t) => {
  const { store, folder, create } = site(t);
  const jobs = await loaded(store);
  await jobs.put(ended(1, 1, 300));
  await jobs.put({ ...ended(2, 1, 300), state: "CANCELED" });
  await jobs.put(ended(3, 1, 4));
  await jobs.put(ended(4, 1, 0));
  for (const name of ["3", "77", "other"]) mkdirSync(join(folder, "jobs", name), { recursive: true });
  writeFileSync(join(folder, "jobs", "3", "results.jsonl"), "{}\n\n");
  writeFileSync(join(folder, "jobs", "77", "results.jsonl"), "left of a deletion");
  const started = create();
  await started.start();
  t.teardown(() => started.stop());
  t.notOk(existsSync(join(folder, "jobs", "77")));
  t.ok(existsSync(join(folder, "jobs", "other")), "what is not ours stays");
  t.match(started.get(1, viewer(1)), {
    state: "FAILED",
    resultBytes: 0,
    message: /backups do not contain them: retry/,
  });
  t.match(started.get(2, viewer(1)), { state: "CANCELED", resultBytes: 0 });
  t.match(started.get(3, viewer(1)), { state: "COMPLETED", resultBytes: 4 });
  t.match(started.get(4, viewer(1)), { state: "COMPLETED" });
});

t.test(
  "each batch is searched with the permissions of then, and again if they are narrowed before its commit",
  async (t) => {
    const folder = realDirectory(t);
    const closed = new Set<number>();
    let exists = true;
    const repository = (id: number): Repository =>
      ({ id, name: `r${id}`, documentCount: 90_000, private: closed.has(id), readers: [] }) as unknown as Repository;
    const searched: string[] = [];
    /** Called while a batch of these repositories is searched. */
    let meanwhile: (ids: readonly number[]) => void = () => undefined;
    const services: JobServices = {
      searcher: {
        run: ({ scope }, sink, onEnd) => {
          const ids = [...(scope?.repositoryIds ?? [])].filter((id) => !closed.has(id));
          meanwhile(ids);
          searched.push(ids.join());
          for (const id of ids) sink.matches([Buffer.from(`{"repository":"r${id}"}`)]);
          const receipt = { reasons: [], excluded: () => ({ items: [] }) };
          onEnd?.({ matchCount: ids.length, receipt } as unknown as SearchEnd);
          sink.done();
        },
      },
      repository,
      viewer: () => (exists ? viewer(1) : undefined),
      commit: async () => undefined,
      mustPause: () => false,
      splitter: new LineSplitter(portableKernel),
      timeoutMs: 1000,
      bytesMax: 1 << 20,
      space: { take: () => true, release: () => undefined, bytesMax: 1 << 20 },
      makeRoom: () => Promise.resolve(true),
    };
    const run = async (id: number): Promise<string> => {
      searched.length = 0;
      const files = new JobFiles(join(folder, "jobs"), id);
      const job: JobRecord = {
        ...newJob(id, "x", 1),
        state: "PROCESSING",
        startedAt: new Date().toISOString(),
        total: 4,
      };
      await (await JobRun.open(services, job, [1, 2, 3, 4], files)).run();
      return readFileSync(files.results, "utf8")
        .replaceAll(/[^r0-9\n]|repository/g, "")
        .replaceAll("\n", " ");
    };
    t.equal(await run(1), "r1 r2 r3 r4 ");
    meanwhile = (ids) => {
      if (ids.includes(2)) closed.add(3);
    };
    t.equal(await run(2), "r1 r2 r4 ", "a later batch leaves out what was closed before it");
    closed.clear();
    meanwhile = (ids) => {
      if (ids.includes(2)) setImmediate(() => closed.add(2));
    };
    const written = await run(3);
    t.notMatch(written, /r2/, "closed while its batch was searched");
    t.match(written, /r1 r3 r4/);
    t.ok(searched.length > 4, searched.join(" "));
    closed.clear();
    meanwhile = (ids) => {
      if (ids.includes(2)) exists = false;
    };
    await t.rejects(run(4), { code: "bad-request", message: /creator no longer exists/ });
  },
);

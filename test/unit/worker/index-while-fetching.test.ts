/** What is indexed while git verifies a fetch counts only if the fetch succeeds with just that. */
import { renameSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { neverStop } from "../../../src/git/run/run.js";
import type { Repository } from "../../../src/model/repository.js";
import type { SyncInput, SyncTask, SyncTaskResult } from "../../../src/protocol/ingest-messages.js";
import { indexWhileFetching, mayIndexEarly, runSync } from "../../../src/worker/ingest/sync-task.js";
import { IngestThread } from "../../../src/worker/ingest/ingest-thread.js";
import { openMirror, type Fetched, type FetchOutcome } from "../../../src/worker/ingest/mirror-fetch.js";
import { testRepository } from "../../support/engine.js";
import type { GitFixture } from "../../support/git-fixture.js";
import { fixture, testMirrorOptions } from "../../support/git-mirror.js";

class Scene {
  readonly source: GitFixture;
  readonly thread: IngestThread;
  readonly task: SyncTask;
  readonly #dataFolder: string;

  constructor(t: Test) {
    this.source = fixture(t);
    this.#dataFolder = t.testdir({ mirrors: {}, shards: {} });
    this.thread = new IngestThread({ dataFolder: this.#dataFolder, kernel: "native" });
    t.teardown(() => this.thread.store.close());
    const { access, fetchTimeoutMs, silenceMs, fetchBytesMax, memoryBytesMax, reserveBytes } = testMirrorOptions;
    this.task = {
      kind: "sync",
      repositories: [],
      shardIds: new Int32Array(new SharedArrayBuffer(4)).fill(1),
      limits: { fileBytesMax: 1 << 20, largeFiles: [], trigramCountMax: 20_000 },
      fetch: {
        silenceMs,
        timeoutMs: fetchTimeoutMs,
        bytesMax: fetchBytesMax,
        memoryBytesMax,
        reserveBytes,
        home: "",
        sshCommand: "",
        credentialHelper: "",
        followRedirects: access.followRedirects,
        networks: [],
        lfsBytesMax: 0,
        lfsPointersMax: 1,
      },
      isPatient: true,
      stop: new Int32Array(new SharedArrayBuffer(4)),
    };
  }

  /** Indexes the first commit. */
  async indexed(): Promise<SyncInput> {
    const repository = testRepository(1, "code", { url: this.source.path, generation: 0, indexedBranches: [] });
    const input = this.#toInput(repository, []);
    const { outcomes, shards } = await runSync(this.thread, { ...this.task, repositories: [input] });
    const [outcome] = outcomes;
    if (outcome?.kind !== "changed") throw new Error(JSON.stringify(outcome));
    const { indexedBranches, defaultBranch, documentCount, skippedCounts } = outcome;
    const indexed = { generation: 1, indexedBranches, defaultBranch, documentCount, skippedCounts };
    return this.#toInput({ ...repository, ...indexed }, shards);
  }

  #toInput(repository: Repository, shards: SyncTaskResult["shards"]): SyncInput {
    const sources = shards.map(({ id, checksum }) => ({ id, checksum, tombstones: undefined }));
    return {
      repository,
      shards: sources,
      rebuild: false,
      recreate: false,
      isRequested: true,
      mayRefetch: true,
      indexedMirror: "",
      secret: undefined,
      acceptsLoss: "no",
    };
  }

  async fetched({ repository }: SyncInput): Promise<Fetched> {
    const mirror = await openMirror(this.#dataFolder, repository, this.task.fetch, []);
    const state = await mirror.sync(neverStop);
    const lfs = { contents: undefined, isLost: false, warnings: [] };
    const trees = new Map<string, string>();
    return { mirror, state, recreated: false, warnings: [], lfs, trees, date: "2026-01-01T00:00:00Z" };
  }

  /** The outcome if the remote lists `listed`, and the fetch ends as given. */
  run(input: SyncInput, listed: Fetched | undefined, outcome: FetchOutcome | undefined) {
    let looks = 0;
    const fetch = {
      listed: Promise.resolve(listed),
      get isEnded() {
        return ++looks > 3;
      },
      within: () => Promise.resolve(outcome),
    };
    return indexWhileFetching(this.thread, input, this.task, fetch, Infinity);
  }

  /** Whether the shard with the next id is stored. */
  isStored(id: number): boolean {
    const snapshot = this.thread.store.read();
    const isThere = snapshot.get(id) !== undefined;
    snapshot.close();
    return isThere;
  }
}

t.test("a commit is indexed while git verifies it", async (t) => {
  const scene = new Scene(t);
  scene.source.commit({ branch: "main", files: { a: "one\n", b: "two\n" } });
  const input = await scene.indexed();
  t.ok(mayIndexEarly(input));
  t.notOk(mayIndexEarly({ ...input, isRequested: false }), "not unless somebody waits");

  const first = await scene.fetched(input);
  const second = scene.source.commit({ branch: "main", files: { a: "three\n", b: "two\n" } });
  const unfetched = { ...first, state: { ...first.state, branches: new Map([["main", second]]), headCommit: second } };
  t.equal(await scene.run(input, undefined, undefined), undefined, "the remote has not answered");
  t.equal(
    await scene.run(input, unfetched, { kind: "fetched", fetched: unfetched }),
    undefined,
    "nothing was received",
  );
  t.notOk(scene.isStored(2), "nothing was written");

  const fetched = await scene.fetched(input);
  const failed: FetchOutcome = { kind: "failed", error: new Error("the remote did not send all necessary objects") };
  const others: readonly (readonly [what: string, outcome: FetchOutcome | undefined])[] = [
    ["git finds objects missing", failed],
    ["the fetch takes too long", undefined],
    ["the remote has changed in between", { kind: "fetched", fetched: first }],
    ["the mirror was built again", { kind: "fetched", fetched: { ...fetched, recreated: true } }],
  ];
  for (const [i, [what, outcome]] of others.entries()) {
    t.equal(await scene.run(input, fetched, outcome), undefined, what);
    t.equal(Atomics.load(scene.task.shardIds, 0), 3 + i, `${what}: a shard was written`);
    t.notOk(scene.isStored(2 + i), `${what}: the shard is deleted`);
  }

  const result = await scene.run(input, fetched, { kind: "fetched", fetched });
  t.match(result, { outcomes: [{ kind: "changed", indexedBranches: [{ commit: second }], documentCount: 2 }] });
  t.same(
    result?.shards.map(({ id, documentCount }) => [id, documentCount]),
    [[6, 1]],
  );
  t.ok(scene.isStored(6));
});

t.test("what a sync that was interrupted has brought is indexed by the next one", async (t) => {
  const scene = new Scene(t);
  const { source, task, thread } = scene;
  source.commit({ branch: "main", files: { a: "one\n", b: "two\n" } });
  const oid = source.git("rev-parse", "main:b");
  const file = join(source.path, "objects", oid.slice(0, 2), oid.slice(2));
  const aside = source.sibling("aside");
  renameSync(file, aside);
  const input = { ...(await scene.indexed()), mayRefetch: false };
  t.same(input.repository.skippedCounts, { missing: 1 });
  const run = async (indexedMirror: string): Promise<SyncTaskResult["outcomes"]> =>
    (await runSync(thread, { ...task, repositories: [{ ...input, indexedMirror }] })).outcomes;
  const { identity } = (await scene.fetched(input)).mirror;
  t.match(await run(identity), [{ kind: "unchanged" }]);
  renameSync(aside, file);
  // The mirror is there, and its task is over.
  const { mirror } = await scene.fetched(input);
  t.not(mirror.identity, identity, "it is another one");
  t.match(await run(identity), [{ kind: "changed", replaces: true, mirror: mirror.identity, skippedCounts: {} }]);
  t.match(await run(mirror.identity), [{ kind: "unchanged" }]);
});

t.test("a fetch whose remote does not answer is stopped in time", async (t) => {
  const scene = new Scene(t);
  scene.source.commit({ branch: "main", files: { a: "one\n" } });
  const input = await scene.indexed();
  let stop: (listed: undefined) => void = () => undefined;
  const listed = new Promise<undefined>((resolve) => {
    stop = resolve;
  });
  const fetch = {
    listed,
    isEnded: true,
    within: (patienceMs: number) => {
      t.equal(patienceMs, 50);
      stop(undefined);
      return Promise.resolve(undefined);
    },
  };
  t.equal(await indexWhileFetching(scene.thread, input, scene.task, fetch, 50), undefined);
});

t.test("a requested sync gives the same", async (t) => {
  const scene = new Scene(t);
  scene.source.commit({ branch: "main", files: { a: "one\n" } });
  const input = await scene.indexed();
  const commit = scene.source.commit({ branch: "main", files: { a: "two\n" } });
  const { outcomes, shards } = await runSync(scene.thread, { ...scene.task, repositories: [input] });
  t.match(outcomes, [{ kind: "changed", indexedBranches: [{ commit }], documentCount: 1 }]);
  t.equal(shards.length, 1);
});

/** Shards are verified ahead of searches: all indexes, then texts, as far as there is memory; until it is closed. */
import { freemem } from "node:os";
import t, { type Test } from "tap";
import { serializeError, TrawlError } from "../../../src/base/errors.js";
import { LiveShards } from "../../../src/catalog/live-shards.js";
import { makeLiveShard } from "../../../src/catalog/live-shard.js";
import type { ShardRecord } from "../../../src/model/shard-record.js";
import type { WarmTask, WarmTaskResult } from "../../../src/protocol/messages.js";
import { ShardTable } from "../../../src/protocol/shard-table.js";
import { ShardWarmer, type WarmerOptions } from "../../../src/search/warming/shard-warmer.js";
import { makePressure } from "../../../src/protocol/control-block.js";
import { SliceScheduler } from "../../../src/search/slices/search-slices.js";
import { settled, TestClock } from "../../support/test-clock.js";

const done: WarmTaskResult = { isDone: true, failures: [] };
const gaveWay: WarmTaskResult = { isDone: false, failures: [] };

/** The live shards, and a pool that records its tasks and does what `answer` says. */
class Scene {
  readonly clock: TestClock;
  readonly scheduler = new SliceScheduler(1, makePressure());
  /** `shard part` for each task. */
  readonly tasks: string[] = [];
  readonly warnings: string[] = [];
  readonly errors: string[] = [];
  /** Shards that were reported for being rebuilt. */
  readonly failed: number[] = [];
  readonly retired: number[] = [];
  readonly live = new LiveShards((ids) => this.retired.push(...ids));
  /** Tells the outcome of a task; the part counts as verified if it is done without failures. */
  answer: (task: string, stop: Int32Array) => WarmTaskResult | Promise<WarmTaskResult> = () => done;
  faultCount = 0;

  constructor(t: Test) {
    this.clock = new TestClock(t);
  }

  warmer(t: Test, options: Partial<WarmerOptions> = {}): ShardWarmer {
    const environment = {
      catalog: { shards: () => this.live.ordered(), view: () => this.live.view() },
      pool: { warm: (task: WarmTask) => this.#warm(task) },
      scheduler: this.scheduler,
      log: {
        debug: () => undefined,
        warn: (text: string) => this.warnings.push(text),
        error: (_: unknown, text: string) => this.errors.push(text),
      },
      onShardFailure: (shardId: number) => this.failed.push(shardId),
    };
    const warmer = new ShardWarmer(environment as unknown as ConstructorParameters<typeof ShardWarmer>[0], {
      faultCount: () => this.faultCount,
      memoryShare: 1,
      afterPass: async () => undefined,
      onClose: () => undefined,
      ...options,
    });
    t.teardown(() => warmer.close());
    return warmer;
  }

  async #warm({ table: memory, row, part, stop }: WarmTask): Promise<WarmTaskResult> {
    const table = new ShardTable(memory);
    const name = `${table.shardId(row)} ${part}`;
    this.tasks.push(name);
    const result = await this.answer(name, stop);
    if (result.isDone && result.failures.length === 0 && part !== "symbols")
      table.setVerified(row, part, this.faultCount);
    return result;
  }

  /** Adds shards with these ids. */
  add(ids: readonly number[], sizes: Partial<ShardRecord> = {}, removed: readonly number[] = []): void {
    const shards = ids.map((id) => {
      const record = { id, storedBytes: 2, contentBytes: 1, documentCount: 1, repositoryIds: [], ...sizes };
      return makeLiveShard(record, () => undefined, undefined);
    });
    this.live.replace(new Map(shards.map((shard) => [shard.record.id, shard])), removed);
  }

  /** The tasks since the last call. */
  takeTasks(): string[] {
    return this.tasks.splice(0);
  }
}

t.test("symbols are read after the texts, and again only if they have changed", async (t) => {
  const scene = new Scene(t);
  const symbolsOf = (checksum: number): Partial<ShardRecord> => ({
    symbols: { checksum, storedBytes: 1, symbolCount: 1, failedCount: 0, producer: "test 1" },
  });
  scene.add([1, 2], symbolsOf(7));
  scene.add([3]);
  scene.warmer(t).start();
  await settled();
  t.same(scene.takeTasks().slice(-4), ["2 content", "3 content", "1 symbols", "2 symbols"]);
  scene.add([4], symbolsOf(7));
  await scene.clock.advance(1_000);
  t.same(scene.takeTasks(), ["4 index", "4 content", "4 symbols"]);
  scene.add([2], symbolsOf(8));
  await scene.clock.advance(1_000);
  t.equal(scene.takeTasks().at(-1), "2 symbols");
});

t.test("symbols that do not fit into the memory are left", async (t) => {
  const scene = new Scene(t);
  scene.add([1], {
    symbols: { checksum: 7, storedBytes: freemem() * 2, symbolCount: 1, failedCount: 0, producer: "" },
  });
  scene.warmer(t).start();
  await settled();
  t.same(scene.takeTasks(), ["1 index", "1 content"]);
});

t.test("all indexes are read before the first text, and each part once", async (t) => {
  const scene = new Scene(t);
  scene.add([1, 2, 3]);
  scene.warmer(t).start();
  await settled();
  t.same(scene.takeTasks(), ["1 index", "2 index", "3 index", "1 content", "2 content", "3 content"]);
  await scene.clock.advance(10_000);
  t.same(scene.takeTasks(), [], "nothing is left to do");
  scene.add([4], {}, [2]);
  t.same(scene.retired, [2], "the pass has released its view");
  await scene.clock.advance(1_000);
  t.same(scene.takeTasks(), ["4 index", "4 content"], "after a flip only what is new");
  scene.faultCount = 1;
  scene.add([5]);
  await scene.clock.advance(1_000);
  t.equal(scene.takeTasks().length, 8, "after a fault of the store everything is verified again");
});

t.test("texts are read only up to the share of the memory that is available", async (t) => {
  const scene = new Scene(t);
  scene.add([1, 2], { storedBytes: 2 ** 50 + 1, contentBytes: 2 ** 50 });
  scene.warmer(t).start();
  await settled();
  t.same(scene.takeTasks(), ["1 index", "2 index"]);
  await scene.clock.advance(5_000);
  t.same(scene.takeTasks(), [], "the rest is left to searches");
});

t.test("what earlier passes have read counts for the share", async (t) => {
  const scene = new Scene(t);
  const contentBytes = Math.floor(freemem() * 0.4);
  scene.add([1, 2, 3], { storedBytes: contentBytes + 1, contentBytes });
  scene.warmer(t).start();
  await settled();
  t.same(scene.takeTasks(), ["1 index", "2 index", "3 index", "1 content", "2 content"], "the third does not fit");
  scene.add([4]);
  await scene.clock.advance(5_000);
  t.same(scene.takeTasks(), ["4 index"], "nor does it after a flip");
});

t.test("without a share of the memory nothing is read", async (t) => {
  const scene = new Scene(t);
  scene.add([1]);
  scene.warmer(t, { memoryShare: 0 }).start();
  await scene.clock.advance(5_000);
  t.same(scene.takeTasks(), []);
});

t.test("a task that gave way to a search is tried again, before the next one", async (t) => {
  const scene = new Scene(t);
  scene.add([1, 2]);
  let leftCount = 2;
  scene.answer = (task) => (task === "1 index" && leftCount-- > 0 ? gaveWay : done);
  scene.warmer(t).start();
  await settled();
  t.same(scene.takeTasks(), ["1 index"]);
  await scene.clock.advance(199);
  t.same(scene.takeTasks(), [], "not at once");
  await scene.clock.advance(1);
  t.same(scene.takeTasks(), ["1 index"]);
  await scene.clock.advance(200);
  t.same(scene.takeTasks(), ["1 index", "2 index", "1 content", "2 content"]);
});

t.test("it waits while slices of searches use the workers", async (t) => {
  const scene = new Scene(t);
  scene.add([1]);
  const ends: (() => void)[] = [];
  for (let i = 0; i < 2; i++)
    scene.scheduler.schedule("interactive", "client", () => new Promise((resolve) => ends.push(resolve)));
  scene.warmer(t).start();
  await settled();
  t.same(scene.takeTasks(), []);
  ends[0]?.();
  await settled();
  t.same(scene.takeTasks(), [], "the search that waited goes first");
  ends[1]?.();
  await settled();
  t.same(scene.takeTasks(), ["1 index", "1 content"]);
});

t.test("a damaged shard is reported, and the others are verified", async (t) => {
  const scene = new Scene(t);
  scene.add([1, 2]);
  const error = new TrawlError("corrupt-shard", "section keys has a wrong checksum");
  scene.answer = (task) =>
    task === "1 index" ? { isDone: true, failures: [{ shardId: 1, error: serializeError(error) }] } : done;
  scene.warmer(t).start();
  await scene.clock.advance(5_000);
  t.same(scene.takeTasks(), ["1 index", "2 index", "1 content", "2 content"]);
  t.same([scene.failed, scene.errors], [[1], ["section keys has a wrong checksum"]], "once");
  t.same(scene.warnings, []);
});

t.test("when tasks fail, that is reported once, and tried again only for other shards", async (t) => {
  const scene = new Scene(t);
  scene.add([1, 2]);
  scene.answer = () => Promise.reject(new TrawlError("cancelled", "the thread did not return"));
  scene.warmer(t).start();
  await scene.clock.advance(60_000);
  t.same(scene.takeTasks(), ["1 index"]);
  t.equal(scene.warnings.length, 1);
  t.match(scene.warnings[0], /the thread did not return/);
  scene.answer = () => done;
  scene.add([3], {}, [1]);
  t.same(scene.retired, [1], "the failed pass has released its view");
  await scene.clock.advance(1_000);
  t.same(scene.takeTasks(), ["2 index", "3 index", "2 content", "3 content"]);
});

t.test("a pass ends when the shards change, and the next one has those of then", async (t) => {
  const scene = new Scene(t);
  scene.add([1, 2]);
  let end: (result: WarmTaskResult) => void = () => undefined;
  scene.answer = (task) => (task === "1 index" ? new Promise((resolve) => (end = resolve)) : done);
  scene.warmer(t).start();
  await settled();
  scene.add([3], {}, [2]);
  await scene.clock.advance(3_000);
  t.same(scene.takeTasks(), ["1 index"], "one pass at a time");
  end(done);
  await settled();
  t.same([scene.takeTasks(), scene.retired], [[], [2]]);
  scene.answer = () => done;
  await scene.clock.advance(1_000);
  t.same(scene.takeTasks(), ["3 index", "1 content", "3 content"], "without what the first pass has done");
});

t.test("a close ends the running task, waits for it, and starts no other", async (t) => {
  const scene = new Scene(t);
  scene.add([1, 2]);
  let stopWord: Int32Array | undefined;
  let end: (result: WarmTaskResult) => void = () => undefined;
  scene.answer = (_, stop) => {
    stopWord = stop;
    return new Promise((resolve) => (end = resolve));
  };
  const warmer = scene.warmer(t);
  warmer.start();
  await settled();
  let isClosed = false;
  const closed = warmer.close().then(() => (isClosed = true));
  await scene.clock.advance(5_000);
  t.same([stopWord?.[0], isClosed], [1, false], "the task is told, and still runs");
  end(gaveWay);
  await closed;
  scene.add([3], {}, [1]);
  await scene.clock.advance(10_000);
  t.same(scene.takeTasks(), ["1 index"]);
  t.same(scene.retired, [1], "no view is held");
});

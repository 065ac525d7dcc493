/** How many slices a search starts: one if it may be small, until that one requests more; and what a slice returns. */
import t from "tap";
import { silentLog } from "../../../src/base/log.js";
import { planQuery } from "../../../src/query/plan/plan-query.js";
import { ControlBlock, makePressure } from "../../../src/protocol/control-block.js";
import type { SearchTask, SearchTaskResult } from "../../../src/protocol/messages.js";
import { noStats, type SearchOptions } from "../../../src/protocol/search-options.js";
import { type ResultBatch, emptyTally } from "../../../src/protocol/result-batch.js";
import type { SliceReceiver } from "../../../src/pool/search-pool.js";
import {
  SearchSlices,
  type SlicedSearch,
  type SliceServices,
  mayBeSmall,
  SliceScheduler,
} from "../../../src/search/slices/search-slices.js";

const workerCount = 4;

function optionsOf(query: string, useIndex = true): SearchOptions {
  return { plan: planQuery(query, "standard"), useIndex } as SearchOptions;
}

/** A search whose slices run until the test ends them. */
function startSearch(query: string, shardCount: number, crash?: (task: SearchTask, control: ControlBlock) => boolean) {
  const control = ControlBlock.allocate(workerCount, 1000, 0);
  const started: { readonly task: SearchTask; readonly end: (lastBatch?: ResultBatch) => void }[] = [];
  const received: ResultBatch[] = [];
  const failures: string[] = [];
  let receiver: SliceReceiver | undefined;
  const pool = {
    workerCount,
    receive: (_: number, given: SliceReceiver) => {
      receiver = given;
    },
    run: (task: SearchTask) =>
      new Promise<SearchTaskResult>((resolve, reject) => {
        if (crash?.(task, control) === true) reject(new Error("killed"));
        const end = (lastBatch?: ResultBatch): void =>
          resolve({
            resume: undefined,
            stats: noStats(),
            shardStats: [],
            batchCount: 0,
            lastBatch,
            failures: [],
            excluded: [],
            shardsWithoutSymbols: 0,
            countedShards: [],
            countedDocuments: [],
            coverage: undefined,
          });
        started.push({ task, end });
      }),
  };
  const nothing = (): void => undefined;
  const slices = new SearchSlices(
    {
      id: 1,
      view: { table: { count: shardCount, shardId: (row: number) => row }, filter: {} },
      control,
      lane: "interactive",
      client: "a",
    } as never as SlicedSearch,
    { pool, scheduler: new SliceScheduler(workerCount, makePressure()), log: silentLog() } as never as SliceServices,
    {
      pace: { unreadBytes: 0 },
      listener: {
        batch: (batch) => received.push(batch),
        work: nothing,
        failed: (sentence) => failures.push(sentence),
        scheduled: nothing,
        advanced: nothing,
        parked: nothing,
      },
    },
  );
  const done = slices.run({
    options: optionsOf(query),
    rows: Uint32Array.from({ length: shardCount }, (_, row) => row),
    cached: [],
    ranked: undefined,
  });
  return { control, started, received, failures, done, requestHelp: () => receiver?.onHelpWanted() };
}

t.test("a search that may be small begins with one slice, which requests the others once", async (t) => {
  const search = startSearch("needle", 20);
  t.same(
    search.started.map(({ task }) => [task.slot, task.isAlone]),
    [[0, true]],
  );
  search.requestHelp();
  search.requestHelp();
  t.same(
    search.started.map(({ task }) => [task.slot, task.isAlone]),
    [
      [0, true],
      [1, false],
      [2, false],
      [3, false],
    ],
  );
  for (const { end } of search.started) end();
  await search.done;
  search.requestHelp();
  t.equal(search.started.length, workerCount, "none after the end");
});

t.test("no more slices than there are shards left", async (t) => {
  const search = startSearch("needle", 5);
  for (let i = 0; i < 4; i++) search.control.takeShard();
  search.requestHelp();
  t.equal(search.started.length, 2, "one for the last shard");
  for (const { end } of search.started) end();
  await search.done;
});

t.test("a stopped search gets no further slices, and one without shards none", async (t) => {
  const stopped = startSearch("needle", 20);
  stopped.control.cancel();
  stopped.requestHelp();
  t.equal(stopped.started.length, 1);
  stopped.started[0].end();
  await stopped.done;
  const empty = startSearch("needle", 0);
  await empty.done;
  t.same(empty.started, []);
});

t.test("a search that reads everything begins with all slices", async (t) => {
  const search = startSearch("/a.b/", 20);
  t.same(
    search.started.map(({ task }) => task.isAlone),
    [false, false, false, false],
  );
  for (const { end } of search.started) end();
  await search.done;
});

t.test("the last batch arrives with the result of its slice", async (t) => {
  const search = startSearch("needle", 20);
  const batch: ResultBatch = {
    bytes: Buffer.from("{}"),
    isLent: false,
    tally: emptyTally(),
    digest: undefined,
    selected: [],
  };
  search.started[0].end(batch);
  await search.done;
  t.same(search.received, [batch]);
});

t.test("which searches may be small", async (t) => {
  const isSmall = (query: string, shardCount = 20, useIndex = true): boolean =>
    mayBeSmall({ options: optionsOf(query, useIndex), rows: new Uint32Array(shardCount) });
  for (const query of ["needle", "/[a-z]+_lock/", "a and needle", "needle file:x"]) t.ok(isSmall(query), query);
  for (const query of ["ab", "/[a-z]+/", "not needle", "file:x", "needle or file:x"]) t.notOk(isSmall(query), query);
  t.notOk(isSmall("needle", 65), "many shards");
  t.notOk(isSmall("needle", 20, false), "without the index");
});

t.test("a worker that is lost before its first shard is not replaced without end", async (t) => {
  const search = startSearch("needle", 20, () => true);
  await search.done;
  t.equal(search.started.length, 4);
  t.match(search.failures, Array(4).fill(/crashed before its first shard: killed/));

  // Each of these takes a shard, and is then lost before it or in it.
  for (const tells of [true, false]) {
    const fruitful = startSearch("needle", 20, ({ slot }, control) => {
      const shard = control.takeShard();
      if (tells) control.setShardOfSlot(slot, shard);
      return shard < 20;
    });
    await fruitful.done;
    t.equal(fruitful.started.length, 20, "as long as shards are taken");
    t.equal(fruitful.failures.filter((one) => one.includes("before its first shard")).length, tells ? 0 : 20);
  }
});

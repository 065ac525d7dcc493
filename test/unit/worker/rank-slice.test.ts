/** Threads that rank one search: the one that ends last writes the best results of all. */
import t from "tap";
import { findWordSearch } from "../../../src/eval/ranking/word-ranking.js";
import { loadKernel } from "../../../src/native/kernel/load.js";
import type { RankRequest } from "../../../src/native/kernel/ranking-kernel.js";
import { ControlBlock } from "../../../src/protocol/control-block.js";
import type { CachedShardRange } from "../../../src/protocol/messages.js";
import { RankBoard, type RankTask, type RankTaskResult } from "../../../src/protocol/rank-messages.js";
import { ShardFilter } from "../../../src/protocol/shard-filter.js";
import { ShardTable } from "../../../src/protocol/shard-table.js";
import { shareBudget } from "../../../src/search/ranking/ranked-pass.js";
import type { ShardSnapshot, ShardStore } from "../../../src/store/shard-store.js";
import { BatchBuffers, HistoryOpener, type SearchThread } from "../../../src/worker/search/search-thread.js";
import { RankSlice } from "../../../src/worker/search/search-slice.js";
import { type OpenShard, ShardOpener } from "../../../src/worker/search/shard-opener.js";
import { testRepository, testShard } from "../../support/engine.js";
import { largeBudget, rankOptions } from "../../support/ranking.js";

const kernel = loadKernel("native");
const words = ["alpha", "beta", "int alpha_beta;", "Alphabet beta", "gamma"];

/** Shards of some documents each, in the memory of the revision cache. */
function makeShards(shardCount: number): { readonly arena: SharedArrayBuffer; readonly cached: CachedShardRange[] } {
  const shards = Array.from({ length: shardCount }, (_, shard) =>
    testShard(
      kernel,
      Array.from({ length: 30 }, (_, i) => ({
        path: `${i % 7 === shard ? "alpha/" : "src/"}${shard}_${i}.c`,
        content: Array.from({ length: 1 + (i % 5) }, (_, line) => words[(i * 3 + shard + line) % words.length]).join(
          "\n",
        ),
      })),
      [testRepository(1, "host/r")],
    ),
  );
  const arena = new SharedArrayBuffer(shards.reduce((sum, { reader }) => sum + reader.bytes.length, 0));
  let from = 0;
  const cached = shards.map(({ reader: { bytes }, summaries }, i) => {
    new Uint8Array(arena).set(bytes, from);
    from += bytes.length;
    return { id: -1 - i, from: from - bytes.length, to: from, summaries, symbols: undefined };
  });
  return { arena, cached };
}

const shardCount = 5;
const { arena, cached } = makeShards(shardCount);

/** Calls of a test while a thread works. */
interface Hooks {
  /** The thread has taken its first shard, and nobody knows yet what is in it. */
  readonly onFirst?: () => void;
  /** It begins to write. */
  readonly onWrite?: () => void;
}

function makeThread(task: RankTask, { onFirst, onWrite }: Hooks): SearchThread {
  let isFirst = true;
  const begin = (): void => {
    if (isFirst) onFirst?.();
    isFirst = false;
  };
  const isListed = findWordSearch(task.options, kernel) !== undefined;
  class TestOpener extends ShardOpener {
    override openCached(range: CachedShardRange): OpenShard {
      if (!isListed) begin();
      return super.openCached(range);
    }
  }
  class TestBuffers extends BatchBuffers {
    override take(): Buffer {
      onWrite?.();
      return super.take();
    }
  }
  // One shard in each call. Other threads, which write to the same memory here, rank before this one reads what it has found.
  const rankShards = (request: RankRequest): number => {
    const count = kernel.rankShards?.({ ...request, limits: { ...request.limits, work: 0 } }) ?? 0;
    const arrays = Object.values(request.output) as Uint32Array[];
    const own = arrays.map((array) => array.slice());
    begin();
    for (const [i, array] of arrays.entries()) array.set(own[i] as Uint32Array);
    return count;
  };
  const pressure = new Int32Array(new SharedArrayBuffer(8));
  const store = { guard: { faultCount: 0 } } as unknown as ShardStore;
  return {
    kernel: { ...kernel, rankShards },
    shards: new TestOpener(store, arena),
    histories: new HistoryOpener(),
    buffers: new TestBuffers(),
    pressure,
  };
}

function makeTask(query: string, matchCountMax: number, fields: Partial<RankTask> = {}): RankTask {
  const control = ControlBlock.allocate(2, 2 ** 30, 0);
  control.beginRanking();
  const limits = { matchCountMax, displayCountMax: 20, lineBytesMax: 1000, contextLines: 0, chunkMatches: false };
  return {
    searchId: -1,
    options: rankOptions(query, { ...limits, receipt: false, cutsAround: false, commitSets: undefined }),
    table: ShardTable.of([], undefined, () => -1).memory,
    filter: ShardFilter.withColumns(0).memory,
    rows: Uint32Array.from(cached.keys()),
    cached,
    control: control.memory,
    isAlone: false,
    lane: "interactive",
    budget: { ...largeBudget, keptMatches: 20, rankedMatches: 2000, countedMatches: matchCountMax },
    withParts: false,
    writtenSlice: 3,
    board: RankBoard.allocate(),
    ...fields,
  };
}

const snapshot = undefined as unknown as ShardSnapshot;

/** In no time: otherwise results would be sent ahead of the last batch, and other threads would be requested. */
function rank(task: RankTask, hooks: Hooks = {}): RankTaskResult {
  const { now } = performance;
  performance.now = () => 0;
  try {
    return new RankSlice(makeThread(task, hooks), task, snapshot).run();
  } finally {
    performance.now = now;
  }
}

/**
 * What threads find of which each ranks the shards that are left while another one has taken its first. Then one begins while
 * the last one writes.
 */
function rankTogether(task: RankTask, threadCount: number): { results: RankTaskResult[]; late: RankTaskResult[] } {
  const results: RankTaskResult[] = [];
  const late: RankTaskResult[] = [];
  const run = (left: number): void => {
    const onFirst = (): void => {
      if (left > 1) run(left - 1);
    };
    const onWrite = (): void => {
      if (left === threadCount) late.push(rank(task));
    };
    results.push(rank(task, { onFirst, onWrite }));
  };
  run(threadCount);
  return { results, late };
}

const resultsOf = ({ written }: RankTaskResult): string => Buffer.from(written?.lastBatch?.bytes ?? []).toString();
const countsOf = ({ written }: RankTaskResult): unknown => [
  written?.lastBatch?.tally,
  written?.countedShards.toSorted(),
];

// With `or`, and with a limit, it depends on what each thread has found what is counted of the other results.
for (const [query, matchCountMax, countsAll] of [
  ["alpha", 1000, true],
  ["alpha beta", 1000, true],
  ["(alpha or gamma)", 1000, false],
  ["beta", 25, false],
  ["beta", 60, false],
] as const)
  t.test(`${query} count:${matchCountMax}`, async (t) => {
    const alone = makeTask(query, matchCountMax);
    const expected = rank(alone);
    t.ok((expected.written?.lastBatch?.bytes.length ?? 0) > 0);
    const expectedCount = new ControlBlock(alone.control).matchCount;
    for (const threadCount of [2, 3]) {
      const task = makeTask(query, matchCountMax);
      const { results, late } = rankTogether(task, threadCount);
      t.same(
        results.map(({ written }) => written !== undefined),
        [...Array.from({ length: threadCount - 1 }, () => false), true],
        "only the last one writes",
      );
      const last = results.at(-1) as RankTaskResult;
      t.same(resultsOf(last), resultsOf(expected));
      if (countsAll) t.same(countsOf(last), countsOf(expected));
      t.equal(new ControlBlock(task.control).matchCount >= matchCountMax, expectedCount >= matchCountMax);
      t.same(
        late.map(({ ranked, written }) => [ranked?.shards.length, written]),
        [[0, undefined]],
        "a thread that comes late finds nothing to do",
      );
    }
  });

t.test("the thread that writes finds whether the limit leaves something", (t) => {
  for (let count = 1; count <= 20; count++) {
    const budget = shareBudget(shardCount, { matchCountMax: count, displayCountMax: count });
    const task = makeTask("alpha", count, { budget });
    t.ok(rank(task).written);
    const control = new ControlBlock(task.control);
    t.same([Math.min(control.matchCount, count), control.isLimitHit], [count, true], `${count} of more matches`);
  }
  t.end();
});

t.test("nothing is written if some of it is not known", async (t) => {
  const { results: small } = rankTogether(makeTask("alpha", 1000, { board: new SharedArrayBuffer(64) }), 2);
  t.same(
    small.map(({ written }) => written),
    [undefined, undefined],
    "the board has no room",
  );
  t.ok(
    small.every(({ ranked }) => (ranked?.documents.length ?? 0) > 0),
    "what was found is part of the results",
  );
  const { results: debug } = rankTogether(makeTask("alpha", 1000, { writtenSlice: undefined }), 2);
  t.same(
    debug.map(({ written }) => written),
    [undefined, undefined],
    "it must not be written",
  );
  const damaged = cached.with(0, { ...(cached[0] as CachedShardRange), to: (cached[0] as CachedShardRange).from + 64 });
  const { results: failed } = rankTogether(makeTask("alpha", 1000, { cached: damaged }), 2);
  t.equal(failed.flatMap(({ failures }) => failures).length, 1);
  t.same(
    failed.map(({ written }) => written),
    [undefined, undefined],
    "a shard has failed",
  );
});

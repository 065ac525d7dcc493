/** Each thread searches the shards before a client does; it stops when asked to, and small sites are left alone. */
import t from "tap";
import type { CatalogView } from "../../../src/catalog/live-shards.js";
import type { SearchTask } from "../../../src/protocol/messages.js";
import type { RankTask } from "../../../src/protocol/rank-messages.js";
import { CodeWarmer } from "../../../src/search/warming/code-warmer.js";
import { makePressure } from "../../../src/protocol/control-block.js";
import { SliceScheduler } from "../../../src/search/slices/search-slices.js";
import { TestClock } from "../../support/test-clock.js";

const mebibyte = 1024 * 1024;

/** A view of shards, the symbols of which have these checksums. */
function view(shardCount: number, contentBytes: number, checksums: readonly number[] = []): CatalogView {
  const shards = Array.from({ length: shardCount }, (_, i) => {
    const symbols = i < checksums.length ? { checksum: checksums[i] } : undefined;
    return { record: { contentBytes, symbols } };
  });
  return { shards, table: {}, filter: {} } as never as CatalogView;
}

/** A warmer whose searches end when `answer` resolves. */
function warmerOf(
  answer: (task: SearchTask) => Promise<unknown>,
  hasPendingSymbols: () => boolean = () => false,
): {
  warmer: CodeWarmer;
  tasks: SearchTask[];
  ranked: RankTask[];
  /** The queries of whole searches. */
  whole: string[];
  /** The number of shards of the view, for each time that texts of a commit are read. */
  read: number[];
  scheduler: SliceScheduler;
} {
  const tasks: SearchTask[] = [];
  const ranked: RankTask[] = [];
  const whole: string[] = [];
  const read: number[] = [];
  const pool = {
    workerCount: 2,
    run: (task: SearchTask) => {
      tasks.push(task);
      return answer(task);
    },
    rank: async (task: RankTask) => void ranked.push(task),
  };
  const scheduler = new SliceScheduler(2, makePressure());
  const environment = { pool, scheduler } as never as ConstructorParameters<typeof CodeWarmer>[0];
  return {
    warmer: new CodeWarmer(
      environment,
      hasPendingSymbols,
      async (query) => void whole.push(query),
      async (seen) => void read.push(seen.shards.length),
    ),
    tasks,
    ranked,
    whole,
    read,
    scheduler,
  };
}

t.test("all threads search at the same time, all shards each", async (t) => {
  let running = 0;
  let runningMax = 0;
  const { warmer, tasks } = warmerOf(async () => {
    runningMax = Math.max(runningMax, ++running);
    await new Promise((resolve) => setImmediate(resolve));
    running--;
  });
  await warmer.run(view(300, mebibyte));
  t.equal(runningMax, 2);
  t.ok(tasks.length >= 6 && tasks.length % 2 === 0, `${tasks.length} searches`);
  for (const { rows, lane, searchId } of tasks)
    t.same(
      [rows.length, lane, searchId],
      [256, "exhaustive", 0],
      "a bounded number of shards, and no search gets results",
    );
  t.equal(new Set(tasks.map(({ control }) => control)).size, tasks.length, "no thread takes the shards of another");
});

t.test("little text needs no warming", async (t) => {
  const { warmer, tasks } = warmerOf(async () => undefined);
  await warmer.run(view(60, mebibyte));
  t.same(tasks, []);
});

t.test("stopping ends what is running, and nothing more is started", async (t) => {
  const ends: (() => void)[] = [];
  const { warmer, tasks } = warmerOf(() => new Promise<void>((resolve) => ends.push(resolve)));
  const run = warmer.run(view(100, mebibyte));
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(tasks.length, 2);
  warmer.stop();
  t.ok(
    tasks.every(({ control }) => control[0] !== 0),
    "the stop flag is set",
  );
  for (const end of ends) end();
  await run;
  t.equal(tasks.length, 2);
});

t.test("a failure of a thread is that of the run", async (t) => {
  const { warmer } = warmerOf(() => Promise.reject(new TypeError("lost")));
  await t.rejects(warmer.run(view(100, mebibyte)), { message: "lost" });
});

t.test("nothing is started while clients search", async (t) => {
  const clock = new TestClock(t);
  const { warmer, tasks, scheduler } = warmerOf(async () => undefined);
  let end: () => void = () => undefined;
  scheduler.schedule("interactive", "a", () => new Promise((resolve) => (end = resolve)));
  const run = warmer.run(view(100, mebibyte));
  await clock.advance(1_000);
  t.same(tasks, [], "a client's slice would yield to a slice that waits");
  end();
  await clock.advance(1_000);
  await run;
  t.ok(tasks.length > 0);
});

t.test("if clients search all the time, they have compiled the code", async (t) => {
  const clock = new TestClock(t);
  const { warmer, tasks, scheduler } = warmerOf(async () => undefined);
  scheduler.schedule("interactive", "a", () => new Promise(() => undefined));
  const run = warmer.run(view(100, mebibyte));
  await clock.advance(120_000);
  await run;
  t.same(tasks, []);
});

t.test("symbols wait until none is being extracted, and then only new ones are opened, by every thread", async (t) => {
  let isPending = true;
  const { warmer, tasks } = warmerOf(
    async () => undefined,
    () => isPending,
  );
  const takeRows = (): number[][] => tasks.splice(0).map(({ rows }) => [...rows]);
  const ofSymbols = (): boolean[] =>
    tasks.map(({ options }) => options.plan.basicQueries.some(({ text }) => text?.symbols !== undefined));
  await warmer.run(view(3, 50 * mebibyte));
  t.ok(tasks.length > 0 && ofSymbols().every((one) => !one), "texts at once");
  t.ok(takeRows().every((rows) => rows.length === 3));
  for (const count of [1, 2]) await warmer.run(view(3, 50 * mebibyte, [7, 8, 9].slice(0, count)));
  t.same(takeRows(), [], "nothing for each shard whose symbols were extracted");
  isPending = false;
  await warmer.run(view(3, 50 * mebibyte, [7, 8, 9]));
  t.ok(tasks.length > 0 && ofSymbols().every((one) => one));
  t.ok(takeRows().every((rows) => rows.length === 3));
  await warmer.run(view(3, 50 * mebibyte, [7, 8, 9]));
  t.same(takeRows(), [], "the work does not grow with the number of passes");
  await warmer.run(view(4, 50 * mebibyte, [7, 10, 9]));
  t.same(takeRows(), [[1], [1]], "one search of each thread");
});

t.test(
  "every thread ranks results once, when no symbols are being extracted, also of shards without symbols",
  async (t) => {
    let isPending = true;
    const { warmer, ranked, whole } = warmerOf(
      async () => undefined,
      () => isPending,
    );
    await warmer.run(view(300, mebibyte));
    t.same([ranked, whole], [[], []], "symbols are part of what is ranked");
    isPending = false;
    await warmer.run(view(300, mebibyte));
    t.ok(ranked.length >= 8 && ranked.length % 2 === 0, `${ranked.length} searches`);
    for (const { rows, lane, searchId, isAlone } of ranked)
      t.same([rows.length, lane, searchId, isAlone], [256, "exhaustive", 0, true]);
    t.equal(new Set(ranked.map(({ control }) => control)).size, ranked.length, "no thread takes the shards of another");
    t.ok(whole.length >= 4, `${whole.length} whole searches, for the main thread`);
    ranked.length = 0;
    whole.length = 0;
    await warmer.run(view(301, mebibyte));
    t.same([ranked, whole], [[], []], "the work does not grow with the number of passes");
  },
);

t.test("the read threads read a commit in a few rounds, once", async (t) => {
  const { warmer, read } = warmerOf(
    async () => undefined,
    () => true,
  );
  await warmer.run(view(60, mebibyte));
  t.same(read, [], "not for little text");
  await warmer.run(view(100, mebibyte));
  await warmer.run(view(101, mebibyte));
  t.same(read, [100, 100, 100, 100], "the work does not grow with the number of passes");
});

t.test("while clients search, nothing is ranked", async (t) => {
  const clock = new TestClock(t);
  const { warmer, ranked, whole, scheduler } = warmerOf(async () => undefined);
  scheduler.schedule("interactive", "a", () => new Promise(() => undefined));
  const run = warmer.run(view(100, mebibyte));
  await clock.advance(120_000);
  await run;
  t.same([ranked, whole], [[], []]);
});

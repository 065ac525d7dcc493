/** Streams that wait for changes, with a search that answers at once. */
import t from "tap";
import type { Repository } from "../../../src/model/repository.js";
import type { ChangeListener } from "../../../src/model/search-listener.js";
import { anonymous, operatorViewer, type Viewer } from "../../../src/model/viewer.js";
import {
  type ChangeOutcome,
  type ChangeProgress,
  type ChangeRequest,
  type ChangeServices,
  sendChanges,
} from "../../../src/search/changes/change-search.js";
import { ChangeWatches, type WatchServices, watchFlips } from "../../../src/search/changes/change-watch.js";
import { TestClock } from "../../support/test-clock.js";

const secret = { id: 1, name: "secret", private: true, readers: ["ann"], generation: 1 } as never as Repository;
const open = { id: 2, name: "open", private: false, readers: [], generation: 1 } as never as Repository;

/** Longer than the time between two searches of a stream. */
const pauseMs = 2_000;

/** A stream of this viewer, whose searches are counted; the first ones do not reach all nodes. */
function watch(clock: TestClock, viewer: Viewer, partialCount = 0, listener?: { listen: (areAll: boolean) => void }) {
  const watchers = new Set<(repository: Repository) => void>();
  const sink = { onClosed: () => undefined } as never as ChangeListener;
  let searchCount = 0;
  let end = false;
  const progress: ChangeProgress[] = [];
  const search = (_request: unknown, _sink: unknown, kind: ChangeProgress): Promise<ChangeOutcome> => {
    searchCount++;
    progress.push(kind);
    const isPartial = searchCount <= partialCount;
    const changes = end ? undefined : ({ changes: [], repositoriesGone: [], basesGone: [], isPartial } as never);
    return Promise.resolve({ changes, receipt: searchCount % 2 === 1 ? (searchCount as never) : undefined });
  };
  const forgotten: unknown[] = [];
  const forgetReceipt = (receipt: unknown) => void forgotten.push(receipt);
  const services = { admit: () => undefined, sendChanges: search, forgetReceipt };
  const request = { viewer, client: "a", since: new Map() } as never as ChangeRequest;
  let hasEnded = false;
  const watchAll: WatchServices["watchFlips"] = (viewer, onFlip, onListening) => {
    if (listener === undefined) onListening(true);
    else listener.listen = onListening;
    return watchFlips(watchers, viewer, onFlip);
  };
  void new ChangeWatches({ search: services, watchFlips: watchAll }).run(request, sink).then(() => {
    hasEnded = true;
  });
  const flip = (repository: Repository): void => {
    for (const watcher of watchers) watcher(repository);
  };
  const stop = async (): Promise<void> => {
    end = true;
    flip({ ...open, generation: 99 });
    await clock.advance(pauseMs);
    t.ok(hasEnded);
  };
  return { flip, stop, searchCount: () => searchCount, progress, forgotten };
}

t.test("a repository that the viewer may not see causes no search", async (t) => {
  const clock = new TestClock(t);
  for (const viewer of [anonymous, { ...anonymous, userId: 2, readerNames: ["bob"] }]) {
    const stream = watch(clock, viewer);
    // Now another search may follow at once.
    await clock.advance(pauseMs);
    t.equal(stream.searchCount(), 1);
    for (let generation = 2; generation < 5; generation++) stream.flip({ ...secret, generation });
    await clock.advance(pauseMs);
    t.equal(stream.searchCount(), 1);
    await stream.stop();
    t.equal(stream.searchCount(), 2, "that of the end");
  }
});

t.test("one that the viewer sees does", async (t) => {
  const clock = new TestClock(t);
  for (const [viewer, repository] of [
    [anonymous, open],
    [operatorViewer, secret],
    [{ ...anonymous, userId: 1, readerNames: ["ann"] }, secret],
  ] as const) {
    const stream = watch(clock, viewer);
    await clock.advance(0);
    t.equal(stream.searchCount(), 1, "the first search");
    stream.flip({ ...repository, generation: 2 });
    await clock.advance(pauseMs);
    t.equal(stream.searchCount(), 2, "another search");
    await stream.stop();
    t.equal(stream.searchCount(), 3);
  }
});

t.test("a search that could not ask all nodes is repeated, less and less often", async (t) => {
  const clock = new TestClock(t);
  const stream = watch(clock, anonymous, 4);
  await clock.advance(0);
  t.equal(stream.searchCount(), 1);
  for (const [waitMs, count] of [
    [1_900, 1],
    [200, 2],
    [3_800, 2],
    [400, 3],
    [7_600, 3],
    [800, 4],
    [15_000, 4],
    [2_000, 5],
    [200_000, 5],
  ] as const) {
    await clock.advance(waitMs);
    t.equal(stream.searchCount(), count, `after ${waitMs} ms more`);
  }
  const after = "changes-of-all" as const;
  t.strictSame(stream.progress, ["first", after, after, after, after]);
  t.strictSame(stream.forgotten, [1, 3], "of the receipts that the client has, the last one is kept");
  stream.flip({ ...open, generation: 2 });
  await clock.advance(pauseMs);
  t.equal(stream.progress.at(-1), "changes", "all have told");
  await stream.stop();
});

t.test("a stream that cannot wait leaves nothing", async (t) => {
  const clock = new TestClock(t);
  let fails = true;
  const watches = new ChangeWatches({
    search: {
      admit: () => undefined,
      sendChanges: () => Promise.resolve({ changes: undefined }),
      forgetReceipt: () => undefined,
    },
    watchFlips: (_viewer, _onFlip, onListening) => {
      if (fails) throw new Error("no viewer");
      onListening(true);
      return () => undefined;
    },
  });
  const sink = { onClosed: () => undefined } as never as ChangeListener;
  const request = { viewer: anonymous, client: "a", since: new Map() } as never as ChangeRequest;
  for (let i = 0; i < 20; i++) await t.rejects(watches.run(request, sink), /no viewer/);
  t.equal(watches.refusal("a"), undefined, "none of them counts");
  t.equal(clock.timerCount, 0);
  fails = false;
  await watches.run(request, sink);
});

t.test("a stream begins when all nodes listen, and those that do so later wake it", async (t) => {
  const clock = new TestClock(t);
  const nodes = { listen: (_areAll: boolean): void => undefined };
  const prompt = watch(clock, anonymous, 0, nodes);
  nodes.listen(false);
  await clock.advance(10);
  t.equal(prompt.searchCount(), 0);
  prompt.flip({ ...open, generation: 2 });
  nodes.listen(true);
  await clock.advance(0);
  t.equal(prompt.searchCount(), 1);
  await clock.advance(pauseMs);
  t.equal(prompt.searchCount(), 1, "what flipped before was found");
  await prompt.stop();

  const slow = watch(clock, anonymous, 0, nodes);
  await clock.advance(100);
  t.equal(slow.searchCount(), 1, "a node that is away is not waited for");
  nodes.listen(false);
  await clock.advance(pauseMs);
  t.equal(slow.searchCount(), 2, "it may have flipped before");
  await slow.stop();
});

t.test("a stream tells once that a node is missing, and once that none is", async (t) => {
  const nothing = (): undefined => undefined;
  for (const [kind, isPartial, isSent] of [
    ["first", false, true],
    ["changes", false, false],
    ["changes", true, true],
    ["changes-of-all", true, false],
    ["changes-of-all", false, true],
  ] as const) {
    const [sent, forgotten]: [string[], unknown[]] = [[], []];
    const sink = {
      closed: false,
      pendingBytes: 0,
      onClosed: nothing,
      onDrain: nothing,
      progress: () => void sent.push("progress"),
      alert: () => void sent.push("alert"),
    };
    const receipt = { repositories: () => ({ count: 0, items: [] }) };
    const changes = { changes: [], repositoriesGone: [], basesGone: [], isPartial, progress: () => ({}) };
    const run: ChangeServices["run"] = (_request, listener, onEnd) => {
      listener.alert({ title: "", proposedQueries: null });
      onEnd({ changes, receipt } as never);
      listener.done();
    };
    const forget = (one: unknown) => void forgotten.push(one);
    const services = { run, reads: {} as never, timeoutMs: 1, forget };
    const outcome = await sendChanges({ since: new Map() } as never, sink as never as ChangeListener, services, kind);
    t.strictSame(sent, isSent ? ["progress", "alert"] : [], `${kind}, ${isPartial}`);
    t.strictSame(forgotten, isSent ? [] : [receipt]);
    t.equal(outcome.receipt, isSent ? receipt : undefined);
    t.equal(outcome.changes, changes);
  }
});

/** Streams that wait for changes, with a search that answers at once. */
import t from "tap";
import type { Repository } from "../../../src/model/repository.js";
import type { ChangeListener } from "../../../src/model/search-listener.js";
import { anonymous, operatorViewer, type Viewer } from "../../../src/model/viewer.js";
import type { ChangeOutcome, ChangeRequest } from "../../../src/search/changes/change-search.js";
import { ChangeWatches } from "../../../src/search/changes/change-watch.js";
import { TestClock } from "../../support/test-clock.js";

const secret = { id: 1, name: "secret", private: true, readers: ["ann"], generation: 1 } as never as Repository;
const open = { id: 2, name: "open", private: false, readers: [], generation: 1 } as never as Repository;

/** Longer than the time between two searches of a stream. */
const pauseMs = 2_000;

/** A stream of this viewer, whose searches are counted. */
function watch(clock: TestClock, viewer: Viewer) {
  const watchers = new Set<(repository: Repository) => void>();
  const sink = { onClosed: () => undefined } as never as ChangeListener;
  let searchCount = 0;
  let end = false;
  const sendChanges = (): Promise<ChangeOutcome> => {
    searchCount++;
    const changes = end ? undefined : ({ changes: [], repositoriesGone: [], basesGone: [] } as never);
    return Promise.resolve({ changes });
  };
  const search = { admit: () => undefined, sendChanges };
  const request = { viewer, client: "a", since: new Map() } as never as ChangeRequest;
  let hasEnded = false;
  void new ChangeWatches({ search, watchers }).run(request, sink).then(() => {
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
  return { flip, stop, searchCount: () => searchCount };
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

import { setPriority } from "node:os";
import { join } from "node:path";
import { parentPort, threadId, workerData } from "node:worker_threads";
import { loadKernel } from "../native/kernel/load.js";
import type {
  BufferOwnerMessage,
  FindTask,
  FindTaskResult,
  SearchTask,
  SearchTaskResult,
  SearchWorkerSettings,
  WarmTask,
  WarmTaskResult,
} from "../protocol/messages.js";
import type {
  ContributorsResult,
  ContributorsTask,
  CoverResult,
  CoverTask,
  HistoryTask,
  HistoryTaskResult,
} from "../protocol/history-messages.js";
import type { RankTask, RankTaskResult } from "../protocol/rank-messages.js";
import { readSettings } from "../protocol/task-message.js";
import { ShardStore, type ShardSnapshot } from "../store/shard-store.js";
import { BatchBuffers, HistoryOpener, type SearchThread } from "./search/search-thread.js";
import { IdleCollector, interactiveGrowthMax, serveTasks } from "./serve.js";
import { FindSlice } from "./search/find-slice.js";
import { findContributors, coverHistory, searchHistory } from "./search/history-slice.js";
import { RankSlice, SearchSlice } from "./search/search-slice.js";
import { ShardOpener } from "./search/shard-opener.js";
import { warmShard } from "./search/warm-shard.js";

/**
 * The main thread has priority: its work is short, and everybody waits for it. With 8 exhaustive streams running, the
 * p99 of 32 GraphQL clients was 6 ms with this and 10 without, and the streams were as fast (2 cores, 21 November
 * 2026).
 */
const searchNiceness = 5;

// On Linux this changes the calling thread alone.
setPriority(searchNiceness);

const settings = readSettings<SearchWorkerSettings>(workerData);
const store = new ShardStore(join(settings.dataFolder, "shards"));
const thread: SearchThread = {
  kernel: loadKernel(settings.kernel),
  shards: new ShardOpener(store, settings.arena),
  histories: new HistoryOpener(),
  buffers: new BatchBuffers(),
  pressure: settings.pressure,
};
// After its warm-up a thread holds the symbols of all shards, and little garbage.
const collector = new IdleCollector(interactiveGrowthMax, () => thread.buffers.takeBack(), undefined);
const introduction: BufferOwnerMessage = {
  kind: "buffer-owner",
  owner: threadId,
  port: thread.buffers.returnPort,
};
parentPort?.postMessage(introduction, [thread.buffers.returnPort]);

export default serveTasks({
  slice: (task: SearchTask): SearchTaskResult =>
    withSnapshot((snapshot) => new SearchSlice(thread, task, snapshot).run()),
  rank: (task: RankTask): RankTaskResult => withSnapshot((snapshot) => new RankSlice(thread, task, snapshot).run()),
  history: (task: HistoryTask): HistoryTaskResult => withSnapshot((snapshot) => searchHistory(thread, snapshot, task)),
  cover: (task: CoverTask): CoverResult => withSnapshot((snapshot) => coverHistory(thread, snapshot, task)),
  contributors: (task: ContributorsTask): ContributorsResult =>
    withSnapshot((snapshot) => findContributors(thread, snapshot, task)),
  warm: (task: WarmTask): WarmTaskResult => withSnapshot((snapshot) => warmShard(thread, snapshot, task)),
  find: (task: FindTask): FindTaskResult => withSnapshot((snapshot) => new FindSlice(thread, task).run(snapshot)),
});

/** Runs `work` on the shards as they are now; bytes that it has read from them are invalid afterwards. */
function withSnapshot<T>(work: (snapshot: ShardSnapshot) => T): T {
  const snapshot = store.read();
  try {
    return work(snapshot);
  } finally {
    snapshot.close();
    collector.recordTask();
  }
}

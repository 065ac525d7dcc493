import { parentPort, workerData } from "node:worker_threads";
import { setPriority } from "node:os";
import { join } from "node:path";
import { serializeError, TrawlError } from "../base/errors.js";
import { collectGarbage, heapBytes } from "../base/garbage.js";
import { Mirror } from "../git/mirror.js";
import type { RefState } from "../git/refs.js";
import { parseRemoteUrl } from "../git/remote-url.js";
import { stopWhenSet, type StopSignal } from "../base/stop-signal.js";
import { contentLimitsOf } from "../indexer/classify.js";
import { compact } from "../indexer/compact.js";
import { carryBits, findDelta, type Delta } from "../indexer/index-changes.js";
import { entriesOfBranches, indexEntries, noCounts, type DocumentCounts, type IndexContext } from "../indexer/index-repository.js";
import { ShardOutput } from "../indexer/shard-output.js";
import { loadKernel } from "../kernel/load.js";
import { branchCountMax, type IndexedBranch, type Repository } from "../model/repository.js";
import { ShardReader } from "../shard/shard-reader.js";
import { ShardStore } from "../store/shard-store.js";
import type {
  CheckTask, CheckTaskResult, CompactTask, CompactTaskResult, FetchSettings, IngestTask, MaintainTask, RemoveTask, ShardFailure, SyncInput, SyncOutcome,
  SyncProgress, SyncTask, SyncTaskResult, WorkerSettings,
} from "./messages.js";
import { Rest } from "./rest.js";
import { serveTasks } from "./serve.js";
import { settingsOf } from "./settings.js";

/** A worker collects garbage after a task that leaves it with so much more than the last collection did. */
const grownBytesMin = 32 * 1024 * 1024;

/** A change of more paths than this, and of more than this share of the documents, is indexed anew as a whole. */
const deltaPathCountMax = 1_000;
const deltaPathShareMax = 0.3;

/** A remote must list its refs in this time. */
const listTimeoutMs = 60_000;

/**
 * Mirrors are fetched while repositories before them in the task are indexed, as a fetch mostly waits, for git and for the
 * network. Of small repositories on the same disk 50 a second are indexed, 38 without this.
 */
const fetchAheadCount = 3;

/** Searches go first: this thread and the git processes that it starts run at this nice value. */
const ingestNiceness = 10;

// On Linux this changes the calling thread alone.
setPriority(ingestNiceness);

const settings = settingsOf<WorkerSettings>(workerData);
const kernel = loadKernel(settings.kernel);
const store = new ShardStore(join(settings.dataFolder, "shards"));
const rest = new Rest(() => undefined);
serveTasks({ ingest: runIngestTask });

/** The branch that a detached HEAD is indexed as. */
const detachedName = "HEAD";

/** Repositories whose mirror this worker made anew because of missing objects. */
const mended = new Set<number>();

/** Errors of a comparison after which all is read from the mirror: no old commit any more, or a shard that is of no use. */
const mendedByReading: ReadonlySet<string> = new Set(["git", "not-found", "corrupt-shard", "format-version"]);

async function runIngestTask({ task }: { readonly task: IngestTask }): Promise<unknown> {
  try {
    return await run(task);
  } finally {
    collectIfGrown();
    rest.noteTask();
  }
}

let keptBytes = 0;

/**
 * Gives a shard's buffers back, which are outside V8's heap, and what pipes to git leave inside it, 200 KB a repository:
 * V8 alone lets a thread gather some hundred megabytes first. The answer to the task goes out before.
 */
function collectIfGrown(): void {
  if (heapBytes() < keptBytes + grownBytesMin) return;
  setImmediate(() => {
    collectGarbage();
    keptBytes = heapBytes();
  });
}

function run(task: IngestTask): Promise<unknown> {
  switch (task.kind) {
    case "sync": return sync(task);
    case "maintain": return maintain(task);
    case "compact": return merge(task);
    case "check": return check(task);
    case "remove": return remove(task);
  }
}

/** Syncs the repositories one after the other into common shards; one that fails does not touch the others. */
function sync(task: SyncTask): Promise<SyncTaskResult> {
  return withOutput(task.shardIds, async (output) => {
    const { repositories } = task;
    const outcomes: SyncOutcome[] = [];
    const fetches: Promise<FetchOutcome>[] = [];
    let isOver = false;
    const stop = (): boolean => isOver || stopOf(task)();
    try {
      for (const [i, input] of repositories.entries()) {
        while (fetches.length < Math.min(repositories.length, i + 1 + fetchAheadCount)) fetches.push(tryToFetch(repositories[fetches.length], task, stop));
        outcomes.push(await tryToIndex(input, await fetches[i], task, output));
      }
    } finally {
      // Nothing touches a mirror after its task.
      isOver = true;
      await Promise.all(fetches);
    }
    await output.flush();
    return { outcomes, shards: output.records };
  });
}

/** A repository whose mirror is as its remote was at a moment. */
interface Fetched {
  readonly mirror: Mirror;
  readonly state: RefState;
  /** ISO 8601. */
  readonly date: string;
}

type FetchOutcome =
  | { readonly kind: "fetched"; readonly fetched: Fetched }
  | { readonly kind: "failed"; readonly error: unknown };

async function tryToFetch(input: SyncInput, task: SyncTask, stop: StopSignal): Promise<FetchOutcome> {
  try {
    return { kind: "fetched", fetched: await fetchOne(input, task.fetch, stop) };
  } catch (error) {
    return { kind: "failed", error };
  }
}

/**
 * Documents of a repository that failed may lie in the open shard or in written ones: the main thread hides them. A
 * shard that could not be written is different, as it holds documents of others too: then the whole task fails.
 */
async function tryToIndex(input: SyncInput, outcome: FetchOutcome, task: SyncTask, output: ShardOutput): Promise<SyncOutcome> {
  try {
    if (outcome.kind === "failed") throw outcome.error;
    return await indexOne(input, outcome.fetched, task, output);
  } catch (error) {
    if (error instanceof TrawlError && error.code === "storage") throw error;
    return { kind: "failed", repositoryId: input.repository.id, error: serializeError(error) };
  }
}

/** When the work fails, the shards that it had written are deleted. */
async function withOutput<T>(shardIds: Int32Array, work: (output: ShardOutput) => Promise<T>): Promise<T> {
  const output = new ShardOutput(kernel, store, shardIds);
  try {
    return await work(output);
  } catch (error) {
    // On a full disk this may fail as well; then the next start deletes what the catalog does not know.
    await store.remove(output.records.map((record) => record.id)).catch(() => undefined);
    throw error;
  }
}

async function fetchOne({ repository, rebuild, recreate }: SyncInput, fetch: FetchSettings, stop: StopSignal): Promise<Fetched> {
  const mirror = await openMirror(repository, fetch);
  if (recreate) await mirror.recreate();
  const state = (rebuild && !recreate ? await stateToRebuild(repository, mirror, stop) : undefined) ?? (await mirror.sync(stop));
  return { mirror, state, date: new Date().toISOString() };
}

async function indexOne(input: SyncInput, { mirror, state, date }: Fetched, task: SyncTask, output: ShardOutput): Promise<SyncOutcome> {
  const { repository } = input;
  const stop = stopOf(task);
  const defaultBranch = state.defaultBranch ?? (state.headCommit === null ? "" : detachedName);
  const wanted = wantedBranches(state, repository.branches);
  if (!input.rebuild && repository.generation > 0 && isSame(repository.indexedBranches, wanted, repository.defaultBranch, defaultBranch)) {
    return { kind: "unchanged", repositoryId: repository.id, fetched: date };
  }
  const reads = { blobCount: 0, byteCount: 0 };
  const context: IndexContext = {
    mirror: mirror.directory, repositoryId: repository.id, output, kernel, limits: contentLimitsOf(task.limits), stop, reads,
    onProgress: (done, total) => post({ kind: "progress", repositoryId: repository.id, phase: "indexing", done, total }),
  };
  const { branches, counts, replaces, tombstones } = (await syncChanges(input, wanted, context)) ?? (await syncWhole(wanted, context));
  if ((counts.skippedCounts["missing"] ?? 0) > 0) await mendOnce(repository, mirror);
  return { kind: "changed", repositoryId: repository.id, fetched: date, defaultBranch, indexedBranches: branches, ...counts, reads, replaces, tombstones };
}

/**
 * The mirror as it is, so that a damaged shard is built again while the remote is away. Undefined when the mirror does not
 * know what is indexed: it was lost too and has just been made, and what it lacks must not be taken for deleted.
 */
async function stateToRebuild(repository: Repository, mirror: Mirror, stop: StopSignal): Promise<RefState | undefined> {
  const state = await mirror.state(stop);
  const isKnown = repository.indexedBranches.every(({ name }) => (name === detachedName ? state.headCommit !== null : state.branches.has(name)));
  return isKnown ? state : undefined;
}

/**
 * Objects are missing from a mirror that says it has them: the mirror is made anew, and the sync fails so that it is
 * tried again. When they are missing after that too, the remote itself lacks them, and their documents are skipped.
 */
async function mendOnce(repository: Repository, mirror: Mirror): Promise<void> {
  if (mended.has(repository.id)) return;
  mended.add(repository.id);
  await mirror.recreate();
  throw new TrawlError("git", `objects are missing from the mirror of ${repository.name}; it is fetched anew at the next sync`);
}

function stopOf(task: { readonly stop: Int32Array }): StopSignal {
  return stopWhenSet(task.stop);
}

function openMirror(repository: Repository, fetch: FetchSettings): Promise<Mirror> {
  const directory = join(settings.dataFolder, "mirrors", `${repository.id}.git`);
  const access = {
    home: fetch.home || null, sshCommand: fetch.sshCommand || null, credentialHelper: fetch.credentialHelper || null, followRedirects: fetch.followRedirects,
  };
  return Mirror.open(directory, parseRemoteUrl(repository.url), {
    access, listTimeoutMs, fetchTimeoutMs: fetch.timeoutMs, silenceMs: fetch.silenceMs,
    fetchBytesMax: fetch.bytesMax, memoryBytesMax: fetch.memoryBytesMax, reserveBytes: fetch.reserveBytes,
    onProgress: ({ percent }) => post({ kind: "progress", repositoryId: repository.id, phase: "fetching", done: percent ?? 0, total: percent === null ? 0 : 100 }),
  });
}

interface IndexResult {
  readonly branches: readonly IndexedBranch[];
  readonly counts: DocumentCounts;
  readonly replaces: boolean;
  readonly tombstones: ReadonlyMap<number, readonly number[]>;
}

/** Indexes what differs from the last generation; undefined when that is not possible, or not worth it. */
async function syncChanges(input: SyncInput, wanted: ReadonlyMap<string, string>, context: IndexContext): Promise<IndexResult | undefined> {
  const { repository } = input;
  if (input.rebuild || repository.generation === 0) return undefined;
  const branches = carryBits(repository.indexedBranches, wanted);
  if (branches === undefined) return undefined;
  const delta = await findDeltaIfPossible(input, branches, context);
  if (delta === undefined || delta.changedPathCount > Math.max(deltaPathCountMax, repository.documentCount * deltaPathShareMax)) return undefined;
  const counts: DocumentCounts = {
    documentCount: repository.documentCount - delta.dead.documentCount,
    contentBytes: Math.max(0, repository.contentBytes - delta.dead.contentBytes),
    skippedCounts: subtract(repository.skippedCounts, delta.dead.skippedCounts),
  };
  await indexEntries(delta.entries, context, counts);
  return { branches, counts, replaces: false, tombstones: delta.tombstones };
}

/** Undefined after a force-push that took the old commit away, or when a shard is damaged: all is then read from the mirror. */
async function findDeltaIfPossible(input: SyncInput, branches: readonly IndexedBranch[], context: IndexContext): Promise<Delta | undefined> {
  const snapshot = store.read();
  try {
    return await findDelta(context.mirror, input.repository.id, input.repository.indexedBranches, branches, input.shards, snapshot,
      (reader) => reader.verify("index"), context.stop);
  } catch (error) {
    if (error instanceof TrawlError && mendedByReading.has(error.code)) return undefined;
    throw error;
  } finally {
    snapshot.close();
  }
}

function subtract(counts: Readonly<Record<string, number>>, less: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).map(([reason, count]) => [reason, count - (less[reason] ?? 0)]));
}

async function syncWhole(wanted: ReadonlyMap<string, string>, context: IndexContext): Promise<IndexResult> {
  const branches = [...wanted].map(([name, commit], bit) => ({ name, commit, bit }));
  const counts = noCounts();
  await indexEntries(await entriesOfBranches(context.mirror, branches, context.stop), context, counts);
  return { branches, counts, replaces: true, tombstones: new Map() };
}

/** The default branch and those configured, as far as they exist. */
function wantedBranches(state: RefState, configured: readonly string[]): Map<string, string> {
  const wanted = new Map<string, string>();
  for (const name of [state.defaultBranch ?? "", ...configured]) {
    const commit = state.branches.get(name);
    if (commit !== undefined) wanted.set(name, commit);
  }
  if (state.defaultBranch === null && state.headCommit !== null) wanted.set(detachedName, state.headCommit);
  if (wanted.size > branchCountMax) {
    throw new TrawlError("bad-config", `${wanted.size} branches are to be indexed; ${branchCountMax} is the most. Shorten \`branches\` of this repository.`);
  }
  return wanted;
}

function isSame(indexed: readonly IndexedBranch[], wanted: ReadonlyMap<string, string>, defaultBefore: string, defaultAfter: string): boolean {
  return defaultBefore === defaultAfter && indexed.length === wanted.size && indexed.every((branch) => wanted.get(branch.name) === branch.commit);
}

function post(progress: SyncProgress): void {
  parentPort?.postMessage(progress);
}

async function maintain(task: MaintainTask): Promise<void> {
  const mirror = await openMirror(task.repository, task.fetch);
  await mirror.maintain(stopOf(task));
}

function merge(task: CompactTask): Promise<CompactTaskResult> {
  return withOutput(task.shardIds, async (output) => {
    const snapshot = store.read();
    try {
      await compact(task.shards, snapshot, output, stopOf(task));
    } finally {
      snapshot.close();
    }
    return { shards: output.records };
  });
}

async function check(task: CheckTask): Promise<CheckTaskResult> {
  const failures: ShardFailure[] = [];
  for (const { id: shardId, checksum } of task.shards) {
    if (Atomics.load(task.stop, 0) !== 0) throw new TrawlError("cancelled", "the check was stopped");
    const snapshot = store.read();
    try {
      const bytes = snapshot.get(shardId);
      if (bytes === undefined) throw new TrawlError("corrupt-shard", `shard ${shardId} is missing from the store`);
      const reader = new ShardReader(shardId, bytes);
      reader.requireChecksum(checksum);
      if (task.part === "headers") continue;
      reader.verify("index");
      reader.verify("content");
    } catch (error) {
      failures.push({ shardId, error: serializeError(error) });
    } finally {
      snapshot.close();
    }
  }
  return { failures };
}

async function remove(task: RemoveTask): Promise<void> {
  await store.remove(task.shardIds);
}

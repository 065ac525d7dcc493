import { parentPort, workerData } from "node:worker_threads";
import { createHash } from "node:crypto";
import { setPriority } from "node:os";
import { join } from "node:path";
import { ContentFiles } from "../backup/content-files.js";
import { copyMirror, copyShard, deleteUnneeded } from "../backup/copy.js";
import type { BackupFile } from "../backup/manifest.js";
import { callAfter, callEvery, monotonicMs, type PendingCall } from "../base/deadline.js";
import { serializeError, TrawlError } from "../base/errors.js";
import { collectGarbage, heapBytes } from "../base/garbage.js";
import { Mirror } from "../git/mirror/mirror.js";
import type { RefState } from "../git/mirror/refs.js";
import { parseRemoteUrl, type RemoteUrl } from "../git/mirror/remote-url.js";
import { withSecret } from "../git/mirror/url-secret.js";
import { readSecret, readSecretFile } from "../base/secret-source.js";
import { stopWhenSet, type StopSignal } from "../base/stop-signal.js";
import { contentLimitsFor } from "../indexer/classify.js";
import { compact } from "../indexer/compact.js";
import { assignBranchBits, findDelta, type Delta } from "../indexer/index-changes.js";
import {
  entriesOfBranches,
  indexEntries,
  noCounts,
  type DocumentCounts,
  type IndexContext,
} from "../indexer/index-repository.js";
import { ShardOutput, type ShardSink } from "../indexer/shard-output.js";
import { loadKernel } from "../native/kernel/load.js";
import { branchCountMax, detachedName, type IndexedBranch, type Repository } from "../model/repository.js";
import { ShardReader } from "../shard/shard-reader.js";
import { SecretFiles } from "../store/secret-files.js";
import { ShardStore } from "../store/shard-store.js";
import type {
  BackupTask,
  BackupTaskResult,
  CheckTask,
  CheckTaskResult,
  CompactTask,
  CompactTaskResult,
  FetchSettings,
  IngestTask,
  MaintainTask,
  RemoveTask,
  ShardFailure,
  SyncInput,
  SyncOutcome,
  SyncProgress,
  SyncTask,
  SyncTaskResult,
  WorkerSettings,
} from "../protocol/messages.js";
import { IdleCollector } from "./idle-collector.js";
import { serveTasks } from "./serve.js";
import { readSettings } from "../protocol/settings.js";
import { TaskActivity } from "../protocol/task-activity.js";

/** A worker collects garbage after a task that leaves it with so much more than the last collection did. */
const grownBytesMin = 32 * 1024 * 1024;

/** A change of more paths than this, and of more than this share of the documents, is indexed anew as a whole. */
const deltaPathCountMax = 1_000;
const deltaPathShareMax = 0.3;

/** A remote must list its refs in this time. */
const listTimeoutMs = 60_000;

/**
 * Mirrors are fetched while repositories before them in the task are indexed, as a fetch mostly waits, for git and for
 * the network. Of small repositories on the same disk 50 a second are indexed, 38 without this.
 */
const fetchAheadCount = 3;

/** While this thread waits, for git say, it beats so often. One that hangs does not, as its event loop stands still. */
const beatMs = 500;

/**
 * How long the thread may go without a beat: before its first file and between other steps, and at a file, to which
 * each MiB of text adds. A file of a MiB takes 0.05 s at most, a shard of 64 MiB 3 s; the rest is for a machine with
 * other work.
 */
const stepAllowanceMs = 60_000;
const fileAllowanceMs = 8_000;
const mebibyteAllowanceMs = 250;

/**
 * A fetch that takes longer keeps the other repositories of its task waiting: it is stopped, and done again in a task
 * of its own, on a thread for slow remotes. When some have done so, the rest get less, as has one that is alone in its
 * task, since it keeps the thread from other tasks and begins anew at little cost.
 */
const fetchPatienceMs = 10_000;
const fetchPatienceMsMin = 3_000;
const lateCountMax = 2;

/** Searches go first: this thread and the git processes that it starts run at this nice value. */
const ingestNiceness = 10;

// On Linux this changes the calling thread alone.
setPriority(ingestNiceness);

const settings = readSettings<WorkerSettings>(workerData);
const kernel = loadKernel(settings.kernel);
const store = new ShardStore(join(settings.dataFolder, "shards"));
const rest = new IdleCollector(() => undefined);
export default serveTasks({ ingest: runIngestTask });

/**
 * Errors of a comparison after which all is read from the mirror: no old commit any more, or a shard that is of no use.
 */
const repairedByReading: ReadonlySet<string> = new Set(["git", "not-found", "corrupt-shard", "format-version"]);

async function runIngestTask({
  task,
  activity: memory,
}: {
  readonly task: IngestTask;
  readonly activity: SharedArrayBuffer;
}): Promise<unknown> {
  activity = new TaskActivity(memory);
  activity.enter("starting", 0, "", stepAllowanceMs);
  const beats = callEvery(beatMs, () => activity.beat());
  try {
    return await run(task);
  } finally {
    beats.cancel();
    collectIfGrown();
    rest.recordTask();
  }
}

/** What the running task does. */
let activity = new TaskActivity();

/** The store, in which this thread is not ended while it writes. */
const guardedStore: ShardSink & Pick<ShardStore, "remove"> = {
  onBuild: (contentBytes) => activity.allow(stepAllowanceMs + timeAllowance(contentBytes)),
  put: (shards) => {
    for (const { id } of shards) activity.recordShard(id);
    return writing(() => store.put(shards));
  },
  remove: (ids) => writing(() => store.remove(ids)),
};

async function writing(write: () => Promise<void>): Promise<void> {
  activity.beginWrite();
  try {
    await write();
  } finally {
    activity.endWrite();
  }
}

function timeAllowance(byteCount: number): number {
  return fileAllowanceMs + Math.ceil(byteCount / 2 ** 20) * mebibyteAllowanceMs;
}

let keptBytes = 0;

/**
 * Gives a shard's buffers back, which are outside V8's heap, and what pipes to git leave inside it, 200 KB a
 * repository: V8 alone lets a thread gather some hundred megabytes first. The answer to the task goes out before.
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
    case "sync":
      return sync(task);
    case "maintain":
      return maintain(task);
    case "compact":
      return merge(task);
    case "check":
      return check(task);
    case "remove":
      return remove(task);
    case "backup":
      return copyForBackup(task);
  }
}

/** Syncs the repositories one after the other into common shards; one that fails does not touch the others. */
function sync(task: SyncTask): Promise<SyncTaskResult> {
  return withOutput(task.shardIds, async (output) => {
    const { repositories } = task;
    const outcomes: SyncOutcome[] = [];
    const fetches: RunningFetch[] = [];
    let lateCount = 0;
    try {
      for (const [i, input] of repositories.entries()) {
        while (fetches.length < Math.min(repositories.length, i + 1 + fetchAheadCount))
          fetches.push(new RunningFetch(repositories[fetches.length], task));
        activity.enter("fetching", input.repository.id, "", stepAllowanceMs);
        const patienceMs = task.isPatient
          ? Infinity
          : repositories.length > 1 && lateCount < lateCountMax
            ? fetchPatienceMs
            : fetchPatienceMsMin;
        const fetched = await fetches[i].within(patienceMs);
        if (fetched === undefined) lateCount++;
        outcomes.push(
          fetched === undefined
            ? { kind: "deferred", repositoryId: input.repository.id }
            : await tryToIndex(input, fetched, task, output),
        );
      }
    } finally {
      // Nothing touches a mirror after its task.
      await Promise.all(fetches.map((fetch) => fetch.end()));
    }
    await output.flush();
    return { outcomes, shards: output.records };
  });
}

/** A repository whose mirror is as its remote was at a moment. */
interface Fetched {
  readonly mirror: Mirror;
  readonly state: RefState;
  /** Whether the mirror may hold more of the same commits than before. */
  readonly remade: boolean;
  /** ISO 8601. */
  readonly date: string;
}

type FetchOutcome =
  | { readonly kind: "fetched"; readonly fetched: Fetched }
  | { readonly kind: "failed"; readonly error: unknown };

/** A fetch beside the indexing of other repositories. */
class RunningFetch {
  readonly #outcome: Promise<FetchOutcome>;
  readonly #startedMs = monotonicMs();
  #isOver = false;

  constructor(input: SyncInput, task: SyncTask) {
    const isStopped = stopSignal(task);
    this.#outcome = tryToFetch(input, task, () => this.#isOver || isStopped());
  }

  /** Undefined when it has not ended so long after its start; then it is stopped. */
  async within(patienceMs: number): Promise<FetchOutcome | undefined> {
    if (patienceMs === Infinity) return await this.#outcome;
    let timer: PendingCall | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = callAfter(Math.max(0, this.#startedMs + patienceMs - monotonicMs()), () => resolve(undefined));
    });
    const outcome = await Promise.race([this.#outcome, late]);
    timer?.cancel();
    this.#isOver = outcome === undefined;
    return outcome;
  }

  /** Stops it; resolves when it touches the mirror no more. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.#outcome;
  }
}

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
async function tryToIndex(
  input: SyncInput,
  outcome: FetchOutcome,
  task: SyncTask,
  output: ShardOutput,
): Promise<SyncOutcome> {
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
  const output = new ShardOutput(kernel, guardedStore, shardIds);
  try {
    return await work(output);
  } catch (error) {
    // On a full disk this may fail as well; then the next start deletes what the catalog does not know.
    await guardedStore.remove(output.records.map((record) => record.id)).catch(() => undefined);
    throw error;
  }
}

async function fetchOne(
  { repository, rebuild, recreate }: SyncInput,
  fetch: FetchSettings,
  stop: StopSignal,
): Promise<Fetched> {
  const mirror = await openMirror(repository, fetch);
  const known = rebuild && !recreate ? await stateToRebuild(repository, mirror, stop) : undefined;
  const date = new Date().toISOString();
  if (known !== undefined) return { mirror, state: known, remade: false, date };
  const state = recreate ? await mirror.refetch(stop) : await mirror.sync(stop);
  return { mirror, state, remade: recreate || state.remade, date };
}

async function indexOne(
  given: SyncInput,
  { mirror, state, remade, date }: Fetched,
  task: SyncTask,
  output: ShardOutput,
): Promise<SyncOutcome> {
  const { repository } = given;
  const input = remade ? { ...given, rebuild: true } : given;
  const mayRefetch = given.mayRefetch && !remade;
  const lacking = { kind: "lacking", repositoryId: repository.id } as const;
  const stop = stopSignal(task);
  const defaultBranch = state.defaultBranch ?? (state.headCommit === null ? "" : detachedName);
  const wanted = wantedBranches(state, repository.branches);
  if (
    !input.rebuild &&
    repository.generation > 0 &&
    isSame(repository.indexedBranches, wanted, repository.defaultBranch, defaultBranch)
  ) {
    // A restart may have come before all was fetched anew.
    if (mayRefetch && lacksObjects(repository, mirror)) return lacking;
    return { kind: "unchanged", repositoryId: repository.id, fetched: date };
  }
  const name = stateName(wanted);
  if (repository.quarantine?.state === name)
    throw new TrawlError(
      "quarantined",
      `not indexed until its branches or its configuration change: ${repository.quarantine.stateReason}`,
    );
  activity.enter("comparing", repository.id, name, stepAllowanceMs);
  const reads = { blobCount: 0, byteCount: 0 };
  const context: IndexContext = {
    mirror: mirror.directory,
    repositoryId: repository.id,
    output,
    kernel,
    limits: contentLimitsFor(task.limits),
    stop,
    reads,
    onProgress: (done, total) =>
      post({ kind: "progress", repositoryId: repository.id, phase: "indexing", done, total }),
    onFile: (oid, path, byteCount) => activity.enterFile(oid, path, timeAllowance(byteCount)),
    quarantined: new Set(repository.quarantine?.files.map(({ oid }) => oid)),
  };
  const result = (await syncChanges(input, wanted, context)) ?? (await syncWhole(wanted, context));
  if (result === undefined) {
    if (mayRefetch && !mirror.isIncomplete) return lacking;
    throw new TrawlError(
      "git",
      "none of the directories of the indexed branches can be read: the repository is damaged",
    );
  }
  const { branches, counts, replaces, tombstones } = result;
  const lacks = lacksObjects(counts, mirror);
  if (lacks && mayRefetch && !input.rebuild && repository.generation > 0) return lacking;
  return {
    kind: "changed",
    repositoryId: repository.id,
    fetched: date,
    defaultBranch,
    indexedBranches: branches,
    ...counts,
    reads,
    replaces,
    tombstones,
    lacksObjects: lacks,
  };
}

/** Whether the mirror, and not its source, lacks what is missing. */
function lacksObjects({ skippedCounts }: Pick<Repository, "skippedCounts">, mirror: Mirror): boolean {
  return (skippedCounts["missing"] ?? 0) > 0 && !mirror.isIncomplete;
}

/**
 * The mirror as it is, so that a damaged shard is built again while the remote is away. Undefined when the mirror does
 * not know what is indexed: it was lost too and has just been made, and what it lacks must not be taken for deleted.
 */
async function stateToRebuild(repository: Repository, mirror: Mirror, stop: StopSignal): Promise<RefState | undefined> {
  const state = await mirror.state(stop).catch((error: unknown) => {
    if (error instanceof TrawlError && error.code === "git") return undefined;
    throw error;
  });
  const isKnown =
    state !== undefined &&
    repository.indexedBranches.every(({ name }) =>
      name === detachedName ? state.headCommit !== null : state.branches.has(name),
    );
  return isKnown ? state : undefined;
}

/** Names the branches and their commits. */
function stateName(wanted: ReadonlyMap<string, string>): string {
  return createHash("sha1")
    .update(JSON.stringify([...wanted]))
    .digest("hex");
}

function stopSignal(task: { readonly stop: Int32Array }): StopSignal {
  return stopWhenSet(task.stop);
}

/** The same for work that looks at it at each step, and does not wait in between. */
function beatingStop(task: { readonly stop: Int32Array }): () => boolean {
  return () => {
    activity.beat();
    return Atomics.load(task.stop, 0) !== 0;
  };
}

function openMirror(repository: Repository, fetch: FetchSettings): Promise<Mirror> {
  const directory = join(settings.dataFolder, "mirrors", `${repository.id}.git`);
  const access = {
    home: fetch.home || null,
    sshCommand: fetch.sshCommand || null,
    credentialHelper: fetch.credentialHelper || null,
    followRedirects: fetch.followRedirects,
  };
  return Mirror.open(directory, remoteUrl(repository), {
    access,
    listTimeoutMs,
    fetchTimeoutMs: fetch.timeoutMs,
    silenceMs: fetch.silenceMs,
    fetchBytesMax: fetch.bytesMax,
    memoryBytesMax: fetch.memoryBytesMax,
    reserveBytes: fetch.reserveBytes,
    onProgress: ({ percent }) =>
      post({
        kind: "progress",
        repositoryId: repository.id,
        phase: "fetching",
        done: percent ?? 0,
        total: percent === null ? 0 : 100,
      }),
  });
}

/** The secret is read at each fetch, so that a new one needs no restart. */
function remoteUrl({ name, url, credential }: Repository): RemoteUrl {
  const remote = parseRemoteUrl(url);
  if (credential === "") return remote;
  const stored = SecretFiles.path(join(settings.dataFolder, "secrets"), credential);
  return withSecret(remote, stored === undefined ? readSecret(credential, name) : readSecretFile(stored, name));
}

interface IndexResult {
  readonly branches: readonly IndexedBranch[];
  readonly counts: DocumentCounts;
  readonly replaces: boolean;
  readonly tombstones: ReadonlyMap<number, readonly number[]>;
}

/** Indexes what differs from the last generation; undefined when that is not possible, or not worth it. */
async function syncChanges(
  input: SyncInput,
  wanted: ReadonlyMap<string, string>,
  context: IndexContext,
): Promise<IndexResult | undefined> {
  const { repository } = input;
  if (input.rebuild || repository.generation === 0) return undefined;
  const branches = assignBranchBits(repository.indexedBranches, wanted);
  if (branches === undefined) return undefined;
  const delta = await findDeltaIfPossible(input, branches, context);
  if (
    delta === undefined ||
    delta.changedPathCount > Math.max(deltaPathCountMax, repository.documentCount * deltaPathShareMax)
  )
    return undefined;
  const counts: DocumentCounts = {
    documentCount: repository.documentCount - delta.dead.documentCount,
    contentBytes: Math.max(0, repository.contentBytes - delta.dead.contentBytes),
    skippedCounts: subtract(repository.skippedCounts, delta.dead.skippedCounts),
  };
  activity.enter("indexing", repository.id, stateName(wanted), stepAllowanceMs);
  await indexEntries(delta.entries, context, counts);
  return { branches, counts, replaces: false, tombstones: delta.tombstones };
}

/**
 * Undefined after a force-push that took the old commit away, or when a shard is damaged: all is then read from the
 * mirror.
 */
async function findDeltaIfPossible(
  input: SyncInput,
  branches: readonly IndexedBranch[],
  context: IndexContext,
): Promise<Delta | undefined> {
  const snapshot = store.read();
  try {
    return await findDelta(
      context.mirror,
      input.repository.id,
      input.repository.indexedBranches,
      branches,
      input.shards,
      snapshot,
      (reader) => reader.verify("index"),
      context.stop,
    );
  } catch (error) {
    if (error instanceof TrawlError && repairedByReading.has(error.code)) return undefined;
    throw error;
  } finally {
    snapshot.close();
  }
}

function subtract(
  counts: Readonly<Record<string, number>>,
  less: Readonly<Record<string, number>>,
): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).map(([reason, count]) => [reason, count - (less[reason] ?? 0)]));
}

/** Undefined when nothing can be read. */
async function syncWhole(wanted: ReadonlyMap<string, string>, context: IndexContext): Promise<IndexResult | undefined> {
  const branches = [...wanted].map(([name, commit], bit) => ({ name, commit, bit }));
  const counts = noCounts();
  const { entries, missingTreeCount } = await entriesOfBranches(context.mirror, branches, context.stop);
  if (entries.length === 0 && missingTreeCount > 0) return undefined;
  if (missingTreeCount > 0) counts.skippedCounts["missing"] = missingTreeCount;
  activity.enter("indexing", context.repositoryId, stateName(wanted), stepAllowanceMs);
  await indexEntries(entries, context, counts);
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
    throw new TrawlError(
      "bad-config",
      `${wanted.size} branches are to be indexed; ${branchCountMax} is the most. Shorten \`branches\` of this repository.`,
    );
  }
  return wanted;
}

function isSame(
  indexed: readonly IndexedBranch[],
  wanted: ReadonlyMap<string, string>,
  defaultBefore: string,
  defaultAfter: string,
): boolean {
  return (
    defaultBefore === defaultAfter &&
    indexed.length === wanted.size &&
    indexed.every((branch) => wanted.get(branch.name) === branch.commit)
  );
}

function post(progress: SyncProgress): void {
  parentPort?.postMessage(progress);
}

async function maintain(task: MaintainTask): Promise<void> {
  const mirror = await openMirror(task.repository, task.fetch);
  await mirror.maintain(stopSignal(task));
}

function merge(task: CompactTask): Promise<CompactTaskResult> {
  activity.enter("merging", 0, "", stepAllowanceMs);
  return withOutput(task.shardIds, async (output) => {
    const snapshot = store.read();
    try {
      await compact(task.shards, snapshot, output, beatingStop(task));
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
      activity.allow(stepAllowanceMs + timeAllowance(bytes.length));
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
  await guardedStore.remove(task.shardIds);
}

async function copyForBackup(task: BackupTask): Promise<BackupTaskResult> {
  activity.enter("copying", 0, "", stepAllowanceMs);
  const files = new ContentFiles(task.target);
  return { file: await copyPart(task, files), copiedBytes: files.copiedBytes };
}

async function copyPart({ part, stop }: BackupTask, files: ContentFiles): Promise<BackupFile | undefined> {
  switch (part.kind) {
    case "file":
      return files.addFile(part.path, part.source, stopWhenSet(stop));
    case "shard":
      return copyShard(store, part.shard, files);
    case "mirror":
      return copyMirror(join(settings.dataFolder, part.path), part.path, part.earlier, files, stopWhenSet(stop));
    case "clean":
      return void (await deleteUnneeded(part.entries, files));
  }
}

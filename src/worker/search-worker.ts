import { setPriority } from "node:os";
import { parentPort, threadId, workerData } from "node:worker_threads";
import { join } from "node:path";
import { serializeError } from "../base/errors.js";
import { addStats, noStats, type SearchStats } from "../protocol/search-options.js";
import { ControlBlock } from "../protocol/control-block.js";
import { StopCheck } from "../protocol/stop-check.js";
import { ResultWriter } from "../eval/results/result-writer.js";
import type { ResultBatch } from "../protocol/result-batch.js";
import { columnText } from "../eval/match/column-text.js";
import type { DocumentSets } from "../eval/shard-visibility.js";
import { ShardFind } from "../eval/shard-find.js";
import { ShardSearch, shardStart } from "../eval/shard-search.js";
import type { ShardPosition } from "../protocol/shard-position.js";
import { loadKernel } from "../native/kernel/load.js";
import { noColumn, ShardFilter } from "../protocol/shard-filter.js";
import { ShardTable } from "../protocol/shard-table.js";
import { ReaderCache } from "../shard/reader-cache.js";
import { ShardReader } from "../shard/shard-reader.js";
import { TrawlError } from "../base/errors.js";
import { ShardStore, type ShardSnapshot } from "../store/shard-store.js";
import { BatchBuffers } from "./batch-buffers.js";
import type {
  BatchMessage,
  FindPosition,
  FindTask,
  FindTaskResult,
  CachedShardRange,
  Lane,
  ExcludedFile,
  BufferOwnerMessage,
  SearchTask,
  SearchTaskResult,
  SearchWorkerSettings,
  ShardFailure,
} from "../protocol/messages.js";
import { IdleCollector } from "./idle-collector.js";
import { serveTasks } from "./serve.js";
import { readSettings } from "../protocol/settings.js";

/** A batch is sent at this size: small for a person who waits, large where only throughput counts. */
const batchBytes = { interactive: 32 * 1024, exhaustive: 128 * 1024 } as const;

/** A slice gives way to waiting ones after this long. */
const sliceMs = { interactive: 8, exhaustive: 2 } as const;

/** Results do not wait longer than this for their batch to fill. */
const flushAfterMs = 50;

/**
 * The main thread goes first: what it has to do is short, and everybody waits for it. Beside 8 exhaustive streams the
 * p99 of 32 GraphQL clients was 6 ms with this and 10 without, and the streams were as fast (2 cores, 21 November
 * 2026).
 */
const searchNiceness = 5;

// On Linux this changes the calling thread alone.
setPriority(searchNiceness);

const indexVerified = 1;
const contentVerified = 2;

const settings = readSettings<SearchWorkerSettings>(workerData);
const kernel = loadKernel(settings.kernel);
const store = new ShardStore(join(settings.dataFolder, "shards"));
const readers = new ReaderCache();
const buffers = new BatchBuffers();
const rest = new IdleCollector(() => buffers.takeBack());
const introduction: BufferOwnerMessage = { kind: "buffer-owner", owner: threadId, port: buffers.returnPort };
parentPort?.postMessage(introduction, [buffers.returnPort]);
export default serveTasks({ slice: runSlice, find: runFind });

/**
 * One slice of a search. Takes shards until none is left, the search is stopped, the client's credit is used up or
 * others wait; a shard that fails costs itself only.
 */
function runSlice(task: SearchTask): SearchTaskResult {
  const slice = new Slice(task);
  const snapshot = store.read();
  try {
    return slice.run(snapshot);
  } finally {
    snapshot.close();
    rest.recordTask();
  }
}

/** One slice of the look for repositories: as a slice of a search, without results. */
function runFind(task: FindTask): FindTaskResult {
  const snapshot = store.read();
  try {
    return new FindSlice(task).run(snapshot);
  } finally {
    snapshot.close();
    rest.recordTask();
  }
}

class FindSlice {
  readonly #task: FindTask;
  readonly #table: ShardTable;
  readonly #stats = noStats();
  readonly #failures: ShardFailure[] = [];
  readonly #leftOut: ExcludedFile[] = [];
  readonly #startedMs = performance.now();
  readonly #control: ControlBlock;
  readonly #stop: StopCheck;

  constructor(task: FindTask) {
    this.#task = task;
    this.#control = new ControlBlock(task.control);
    this.#stop = new StopCheck(this.#control);
    this.#table = new ShardTable(task.table);
  }

  run(snapshot: ShardSnapshot): FindTaskResult {
    let from = this.#task.resume ?? this.#nextShard();
    while (from !== undefined && !this.#isStopped) {
      from = this.#findInShard(snapshot, from) ?? this.#nextShard();
      if (this.#mustPause()) break;
    }
    return {
      resume: this.#isStopped ? undefined : from,
      stats: this.#stats,
      failures: this.#failures,
      leftOut: this.#leftOut,
    };
  }

  get #isStopped(): boolean {
    return this.#control.isStopped;
  }

  #nextShard(): FindPosition | undefined {
    const shard = Atomics.add(this.#task.next, 0, 1);
    return shard < this.#task.rows.length ? { shard, condition: 0, content: 0 } : undefined;
  }

  /** Where to go on in this shard; undefined when it is done. */
  #findInShard(snapshot: ShardSnapshot, from: FindPosition): FindPosition | undefined {
    const row = this.#task.rows[from.shard];
    const faultCount = store.guard.faultCount;
    try {
      const reader = openShard(snapshot, this.#table, row, this.#task.filter);
      const visibility = {
        cards: this.#table.repositorySummaries(row),
        tombstones: this.#table.tombstones(row),
        sets: undefined,
      };
      for (let condition = from.condition; condition < this.#task.conditions.length; condition++) {
        const find = new ShardFind(
          this.#task.conditions[condition],
          reader,
          visibility,
          kernel,
          () => verifyOnce(reader, this.#table, row, "content", contentVerified),
          this.#stop,
          (document, repository, reason) => recordExcluded(this.#leftOut, reader, { document, repository, reason }),
        );
        const content = find.run(condition === from.condition ? from.content : 0, this.#stats, () => this.#mustPause());
        if (content !== undefined) return { shard: from.shard, condition, content };
      }
      requireFaultCount(faultCount, this.#table.shardId(row));
    } catch (error) {
      if (!isCancelled(error)) this.#failures.push({ shardId: this.#table.shardId(row), error: serializeError(error) });
    }
    return undefined;
  }

  #mustPause(): boolean {
    return this.#isStopped || isOverdue(this.#startedMs, this.#task.lane);
  }
}

/** Whether a slice that began then is to give way to others that wait. */
function isOverdue(startedMs: number, lane: Lane): boolean {
  return Atomics.load(settings.pressure, 0) > 0 && performance.now() - startedMs > sliceMs[lane];
}

/** Files that one slice names at most as left out: a client is shown the first ten. */
const leftOutCountMax = 1000;

function recordExcluded(
  leftOut: ExcludedFile[],
  reader: ShardReader,
  file: Pick<ExcludedFile, "document" | "repository" | "reason">,
): void {
  if (leftOut.length < leftOutCountMax)
    leftOut.push({ ...file, shardId: reader.id, path: reader.path(file.document).toString() });
}

/** Whether work ended within because the search is stopped: that is no failure of the shard. */
function isCancelled(error: unknown): boolean {
  return error instanceof TrawlError && error.code === "cancelled";
}

class Slice {
  readonly #task: SearchTask;
  readonly #table: ShardTable;
  readonly #writer: ResultWriter;
  readonly #stats = noStats();
  readonly #shardStats: { shard: number; stats: SearchStats }[] = [];
  readonly #failures: ShardFailure[] = [];
  readonly #leftOut: ExcludedFile[] = [];
  readonly #startedMs = performance.now();
  #flushedMs = performance.now();
  #batchCount = 0;
  /** Of the store, when all that is not sent yet began to be read. */
  #faultCount = store.guard.faultCount;
  /** Shards of which something may not be sent yet. */
  #unsent: number[] = [];
  readonly #control: ControlBlock;

  constructor(task: SearchTask) {
    this.#task = task;
    this.#control = new ControlBlock(task.control);
    this.#table = new ShardTable(task.table);
    this.#writer = new ResultWriter(kernel, task.options, this.#control, batchBytes[task.lane], buffers, (batch) =>
      this.#take(batch),
    );
  }

  /** What was read while the store had a fault may come from zeros: it is dropped, and its shards have failed. */
  #take(batch: ResultBatch): void {
    this.#flushedMs = performance.now();
    if (store.guard.faultCount === this.#faultCount) {
      this.#unsent = this.#unsent.slice(-1);
      return this.#send(batch);
    }
    this.#control.giveCredit(batch.bytes.length);
    for (const shardId of this.#unsent.splice(0)) this.#recordFailure(shardId, lostPart(shardId));
  }

  #send(batch: ResultBatch): void {
    const { searchId, slice } = this.#task;
    this.#batchCount++;
    const message: BatchMessage = {
      kind: "batch",
      searchId,
      slice,
      batch,
      owner: batch.isLent ? threadId : undefined,
      takenBackCount: buffers.takenBackCount,
    };
    parentPort?.postMessage(message, [batch.bytes.buffer as ArrayBuffer]);
  }

  #recordFailure(shardId: number, error: unknown): void {
    if (!this.#failures.some((failure) => failure.shardId === shardId))
      this.#failures.push({ shardId, error: serializeError(error) });
  }

  /** Drops what was read while the store had a fault. */
  #dropUntrusted(): void {
    if (store.guard.faultCount === this.#faultCount) return;
    this.#writer.flush();
    this.#faultCount = store.guard.faultCount;
  }

  run(snapshot: ShardSnapshot): SearchTaskResult {
    let shard = this.#task.resume?.shard ?? this.#takeShard();
    let position = this.#task.resume?.position ?? shardStart;
    while (shard < this.#task.rows.length && this.#isWanted(position)) {
      const next = this.#searchShard(snapshot, shard, position);
      if (next !== undefined) return this.#result({ shard, position: next });
      if (this.#mustPause()) return this.#result({ shard: this.#takeShard(), position: shardStart });
      shard = this.#takeShard();
      position = shardStart;
    }
    return this.#result(undefined);
  }

  /** After the limit is reached, what is counted is still written, and nothing else is looked for. */
  #isWanted(position: ShardPosition): boolean {
    return !this.#writer.isStopped || (position.counted !== undefined && !this.#writer.isCancelled);
  }

  #takeShard(): number {
    return this.#control.takeShard();
  }

  #result(resume: { shard: number; position: ShardPosition } | undefined): SearchTaskResult {
    this.#control.setShardOfSlot(this.#task.slot, -1);
    this.#writer.close();
    const isEnd = resume === undefined || resume.shard >= this.#task.rows.length || !this.#isWanted(resume.position);
    return {
      resume: isEnd ? undefined : resume,
      stats: this.#stats,
      shardStats: this.#shardStats,
      batchCount: this.#batchCount,
      failures: this.#failures,
      leftOut: this.#leftOut,
    };
  }

  #searchShard(snapshot: ShardSnapshot, index: number, position: ShardPosition): ShardPosition | undefined {
    const row = this.#task.rows[index];
    this.#control.setShardOfSlot(this.#task.slot, index);
    const stats = noStats();
    const shardId = row < this.#table.count ? this.#table.shardId(row) : this.#cachedAt(row).id;
    this.#dropUntrusted();
    const faultCount = this.#faultCount;
    this.#unsent.push(shardId);
    try {
      const { reader, cards, tombstones, checkContent } =
        row < this.#table.count ? this.#openLive(snapshot, row) : openCached(this.#cachedAt(row));
      const visibility = { cards, tombstones, sets: this.#documentSets(index, reader.documentCount) };
      const search = new ShardSearch(
        reader,
        visibility,
        this.#task.options,
        kernel,
        this.#writer,
        checkContent,
        (document, repository, reason) => recordExcluded(this.#leftOut, reader, { document, repository, reason }),
      );
      const next = search.run(position, stats, () => this.#mustPause());
      if (row < this.#table.count) requireFaultCount(faultCount, shardId);
      return next;
    } catch (error) {
      if (!isCancelled(error)) this.#recordFailure(shardId, error);
      return undefined;
    } finally {
      addStats(this.#stats, stats);
      if (this.#task.explain) this.#shardStats.push({ shard: index, stats });
    }
  }

  #openLive(snapshot: ShardSnapshot, row: number): OpenShard {
    const reader = openShard(snapshot, this.#table, row, this.#task.filter);
    return {
      reader,
      cards: this.#table.repositorySummaries(row),
      tombstones: this.#table.tombstones(row),
      checkContent: () => verifyOnce(reader, this.#table, row, "content", contentVerified),
    };
  }

  #cachedAt(row: number): CachedShardRange {
    return this.#task.cached[row - this.#table.count];
  }

  /** The sets of commits of the documents of the shard at this index of the rows. */
  #documentSets(index: number, documentCount: number): DocumentSets | undefined {
    const sets = this.#task.options.commitSets;
    if (sets === undefined) return undefined;
    const from = sets.starts[index];
    return { ...sets, ofDocuments: sets.words.subarray(from, from + documentCount) };
  }

  /** Looked at between blocks: sends what has waited, and says whether to give way. */
  #mustPause(): boolean {
    const now = performance.now();
    if (!this.#writer.isEmpty && (this.#batchCount === 0 || now - this.#flushedMs > flushAfterMs)) this.#writer.flush();
    if (!this.#control.waitForCredit()) return true;
    return isOverdue(this.#startedMs, this.#task.lane);
  }
}

/** A shard ready to be searched. */
interface OpenShard {
  readonly reader: ShardReader;
  readonly cards: Uint8Array;
  readonly tombstones: Uint32Array | undefined;
  readonly checkContent: () => void;
}

/** A shard of the revision cache was made by this process and never left memory: its checksums are not looked at. */
function openCached({ id, from, to, cards }: CachedShardRange): OpenShard {
  const reader = new ShardReader(id, new Uint8Array(settings.arena, from, to - from));
  return { reader, cards, tombstones: undefined, checkContent: () => undefined };
}

function openShard(snapshot: ShardSnapshot, table: ShardTable, row: number, filter: SharedArrayBuffer): ShardReader {
  const id = table.shardId(row);
  const bytes = snapshot.get(id);
  if (bytes === undefined)
    throw new TrawlError(
      "corrupt-shard",
      `shard ${id} is missing from the store. \`trawl check --repair\` builds it again.`,
    );
  const reader = readers.open(id, bytes, store.guard.faultCount);
  reader.requireChecksum(table.checksum(row));
  verifyOnce(reader, table, row, "index", indexVerified);
  fillColumnOnce(reader, table.filterColumn(row), new ShardFilter(filter));
  return reader;
}

function fillColumnOnce(reader: ShardReader, column: number, filter: ShardFilter): void {
  if (column === noColumn || filter.isKnown(column)) return;
  filter.fill(column, columnText(reader));
}

/**
 * Checksums are verified at a shard's first use in the life of the process, and after a fault of the store, by
 * whichever worker comes first.
 */
function verifyOnce(
  reader: ShardReader,
  table: ShardTable,
  row: number,
  part: "index" | "content",
  mark: number,
): void {
  const { faultCount } = store.guard;
  if (table.isVerified(row, mark, faultCount)) return;
  reader.verify(part);
  requireFaultCount(faultCount, reader.id);
  table.setVerified(row, mark, faultCount);
}

/** Throws `corrupt-shard` when the store has had a fault meanwhile. */
function requireFaultCount(faultCount: number, shardId: number): void {
  if (store.guard.faultCount !== faultCount) throw lostPart(shardId);
}

function lostPart(shardId: number): TrawlError {
  return new TrawlError("corrupt-shard", `shard ${shardId} was read while a part of the shard store could not be read`);
}

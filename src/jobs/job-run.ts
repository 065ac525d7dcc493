import { assert } from "../base/assert.js";
import { TrawlError } from "../base/errors.js";
import { maySee } from "../catalog/visible-tables.js";
import type { Repository } from "../model/repository.js";
import { ownRequest, type SearchRequest } from "../model/search-request.js";
import type { Viewer } from "../model/viewer.js";
import type { SearchEnd } from "../search/report/search-report.js";
import type { Searcher } from "../search/searcher.js";
import type { JobFiles, OpenFiles } from "./job-files.js";
import { type JobRecord, timeAfter } from "./job-record.js";
import type { LineSplitter } from "./line-splitter.js";
import type { JobSpace } from "./job-space.js";
import { ResultSink } from "./result-sink.js";
import { csvField } from "../base/text.js";

/** A batch has at most this many repositories, and about as many documents: then its results are committed. */
const batchRepositoriesMax = 512;
/** The first batch is small, so that there is something to read soon; each is twice as large as the one before. */
const firstBatchRepositories = 4;
const batchDocumentsMax = 100_000;

/** What makes the results of a repository incomplete; other gaps are about single files, which the receipt lists. */
const failures: ReadonlySet<string> = new Set([
  "timeout",
  "failure",
  "match-limit",
  "repository-cloning",
  "repository-missing",
  "repository-excluded",
]);

/** Reasons for which single files are left out that the log names, and how many of a batch it looks at. */
const leftOutReasons: ReadonlySet<string> = new Set(["costly", "symbols-failed"]);
const listedFilesMax = 1000;

/** What a running job uses. */
export interface JobServices {
  readonly searcher: Pick<Searcher, "run">;
  readonly repository: (id: number) => Repository | undefined;
  /** The viewer as which the job searches now; undefined if its creator no longer exists. */
  readonly viewer: () => Viewer | undefined;
  /** Stores the record, and repositories that failed in addition; both are durable when the promise resolves. */
  readonly commit: (job: JobRecord, failedIds: readonly number[]) => Promise<void>;
  /** Whether the job has to let another one run; it is continued later. */
  readonly mustPause: () => boolean;
  readonly splitter: LineSplitter;
  readonly timeoutMs: number;
  /** Bytes of the results of one job. */
  readonly bytesMax: number;
  readonly space: Pick<JobSpace, "take" | "release" | "bytesMax">;
  /** Removes the results of jobs that have ended; false if there are none. */
  readonly makeRoom: (byteCount: number) => Promise<boolean>;
}

/** The outcome of one search of a batch. */
interface BatchOutcome {
  readonly matchCount: number;
  /** Why its results must not be used; undefined if they are complete. */
  readonly reason: string | undefined;
  readonly byteCount: number;
  /** Bytes that are taken from the space of all jobs until the batch is committed. */
  readonly takenBytes: number;
  /** There was no room for all its results. */
  readonly lacksRoom: boolean;
  /** By the name of a repository: the files of it that were left out, as a sentence for the log. */
  readonly leftOut: ReadonlyMap<string, string>;
}

/** The request of a job, apart from its scope. */
export function jobRequest(query: string, viewer: Viewer): SearchRequest {
  return { ...ownRequest(query, viewer, `search-job:${viewer.userId ?? 0}`), chunkMatches: true };
}

/**
 * Runs a job from where its record says it is: a search for each batch of repositories, whose results count once the
 * record is stored with the size of the files. After a crash, what follows that size is cut off, and the batch is
 * searched again, so each result is in the file exactly once. Each batch is searched with the permissions that the creator
 * has then, and is searched again if they were narrowed before it is committed.
 *
 * A batch whose results are incomplete is cut off too, and divided, down to single repositories, which are then
 * recorded as failed.
 */
export class JobRun {
  readonly #services: JobServices;
  readonly #ids: readonly number[];
  readonly #files: OpenFiles;
  #job: JobRecord;
  #sink: ResultSink | undefined;
  #isStopped = false;

  private constructor(services: JobServices, job: JobRecord, ids: readonly number[], files: OpenFiles) {
    this.#services = services;
    this.#job = job;
    this.#ids = ids;
    this.#files = files;
  }

  static async open(services: JobServices, job: JobRecord, ids: readonly number[], files: JobFiles): Promise<JobRun> {
    assert(job.total === ids.length, "a search job has the list that it began with");
    return new JobRun(services, job, ids, await files.openAt(job));
  }

  /** Stops at the last committed batch. */
  stop(): void {
    this.#isStopped = true;
    this.#sink?.end();
  }

  /** Resolves with the last committed record when all batches are done, or the run is stopped or has to pause. */
  async run(): Promise<JobRecord> {
    try {
      let sizeMax = firstBatchRepositories;
      while (!this.#isStopped && this.#job.done < this.#ids.length) {
        const size = Math.min(sizeMax, this.#batchSize());
        const isDone = await this.#runBatch(this.#ids.slice(this.#job.done, this.#job.done + size));
        sizeMax = isDone ? Math.min(batchRepositoriesMax, sizeMax * 2) : Math.max(1, size >> 1);
        if (isDone && this.#services.mustPause()) break;
      }
      return this.#job;
    } finally {
      await this.#files.results.close();
      await this.#files.log.close();
    }
  }

  #batchSize(): number {
    let documents = 0;
    let size = 0;
    for (let i = this.#job.done; i < this.#ids.length && size < batchRepositoriesMax; i++) {
      documents += this.#services.repository(this.#ids[i])?.documentCount ?? 0;
      if (size > 0 && documents > batchDocumentsMax) break;
      size++;
    }
    return size;
  }

  /** Returns false if the batch has to be divided, or searched again. */
  async #runBatch(ids: readonly number[]): Promise<boolean> {
    const startedAt = timeAfter(this.#job.startedAt);
    const viewer = this.#viewer();
    const readable = this.#readable(ids, viewer);
    const outcome = await this.#search(ids, viewer);
    try {
      if (this.#isStopped) return false;
      // A removed repository is searched again without a result, like one that was closed.
      if (this.#readable(readable, this.#viewer()).length < readable.length) {
        await this.#files.results.truncate(this.#job.resultBytes);
        return false;
      }
      if (outcome.lacksRoom) {
        await this.#files.results.truncate(this.#job.resultBytes);
        this.#services.space.release(outcome.takenBytes);
        return await this.#makeRoom(outcome.byteCount);
      }
      if (outcome.reason !== undefined) {
        await this.#files.results.truncate(this.#job.resultBytes);
        if (ids.length > 1) return false;
      }
      await this.#commit(ids, startedAt, outcome);
      return true;
    } finally {
      if (!outcome.lacksRoom) this.#services.space.release(outcome.takenBytes);
    }
  }

  #viewer(): Viewer {
    const viewer = this.#services.viewer();
    if (viewer === undefined) throw new TrawlError("bad-request", "its creator no longer exists");
    return viewer;
  }

  /** Those of the repositories that the viewer may read as they are now. */
  #readable(ids: readonly number[], viewer: Viewer): readonly number[] {
    return ids.filter((id) => {
      const repository = this.#services.repository(id);
      return repository !== undefined && maySee(repository, viewer);
    });
  }

  async #commit(
    ids: readonly number[],
    startedAt: string,
    { matchCount, reason, byteCount, leftOut }: BatchOutcome,
  ): Promise<void> {
    const names = ids.map((id) => this.#name(id));
    const log = logLines(names, startedAt, reason, this.#job.logBytes === 0, leftOut);
    await this.#files.log.appendFile(log);
    await this.#files.log.datasync();
    await this.#files.results.datasync();
    const failedIds = reason === undefined ? [] : ids;
    const isMissing = reason?.startsWith("repository-missing:") === true;
    const missingIds = failedIds.filter((id) => isMissing && this.#services.repository(id)?.generation === 0);
    const next: JobRecord = {
      ...this.#job,
      done: this.#job.done + ids.length,
      failedCount: this.#job.failedCount + failedIds.length,
      missingCount: this.#job.missingCount + missingIds.length,
      resultBytes: this.#job.resultBytes + (reason === undefined ? byteCount : 0),
      logBytes: this.#job.logBytes + log.length,
      matchCount: this.#job.matchCount + (reason === undefined ? matchCount : 0),
      message: "",
    };
    assert(ids.length > 0 && next.done <= this.#ids.length, "a batch has repositories of the list");
    await this.#services.commit(next, failedIds);
    this.#job = next;
  }

  /** How much more the batch has is not known yet. */
  async #makeRoom(byteCount: number): Promise<false> {
    const { space, makeRoom } = this.#services;
    if (await makeRoom(Math.min(space.bytesMax - this.#job.resultBytes, byteCount * 2))) return false;
    throw new TrawlError(
      "bad-request",
      `all search jobs together would have more than ${space.bytesMax} bytes (jobs.totalBytes), and no other has results that can be removed`,
    );
  }

  async #search(ids: readonly number[], viewer: Viewer): Promise<BatchOutcome> {
    const { bytesMax, space, timeoutMs, searcher, splitter } = this.#services;
    const limits = { bytesMax: bytesMax - this.#job.resultBytes, take: (count: number) => space.take(count) };
    const sink = new ResultSink(this.#files.results, splitter, limits);
    this.#sink = sink;
    let end: SearchEnd | undefined;
    const scope = { repositoryIds: new Set(ids), timeoutMs };
    searcher.run({ ...jobRequest(this.#job.query, viewer), scope }, sink, (given) => {
      end = given;
    });
    await sink.written;
    const { failure, isFull, byteCount, takenBytes, lacksRoom, message } = sink;
    if (failure !== undefined || isFull) space.release(takenBytes);
    if (failure !== undefined) throw failure;
    if (isFull) throw new TrawlError("bad-request", `its results have more than ${bytesMax} bytes (jobs.bytes)`);
    const reason = findReason(end, message);
    return {
      matchCount: end?.matchCount ?? 0,
      reason,
      byteCount,
      takenBytes,
      lacksRoom,
      leftOut: describeLeftOut(end),
    };
  }

  #name(id: number): string {
    return this.#services.repository(id)?.name ?? `repository ${id}`;
  }
}

/** Files that may have a result and were not searched, or whose results were too many for one line. */
function describeLeftOut(end: SearchEnd | undefined): ReadonlyMap<string, string> {
  const files = new Map<string, string[]>();
  for (const { reason, repository = "", path, detail } of end?.receipt?.excluded(0, listedFilesMax).items ?? []) {
    if (path === undefined || !leftOutReasons.has(reason)) continue;
    const known = files.get(repository) ?? [];
    known.push(`${path} (${detail ?? reason})`);
    files.set(repository, known);
  }
  return new Map([...files].map(([name, all]) => [name, `left out: ${all.join(", ")}`]));
}

function findReason(end: SearchEnd | undefined, message: string): string | undefined {
  if (end?.receipt === undefined) return message === "" ? "the search did not end" : message;
  const gaps = end.receipt.reasons.filter((reason) => failures.has(reason));
  if (gaps.length === 0) return undefined;
  const [detail] = end.receipt.excluded(0, 1).items.map((one) => one.detail ?? one.reason);
  return `${gaps.join(", ")}: ${detail}`;
}

const header = "Repository,Revision,Started at,Finished at,Status,Failure Message\n";

/** The lines of a job's log about these repositories, as CSV. `leftOut` says by name which files were not searched. */
function logLines(
  names: readonly string[],
  startedAt: string,
  reason: string | undefined,
  isFirst: boolean,
  leftOut: ReadonlyMap<string, string>,
): Buffer {
  const end = `,,${startedAt},${new Date().toISOString()},${reason === undefined ? "completed" : "failed"},`;
  const message = (name: string): string => csvField(reason ?? leftOut.get(name) ?? "");
  return Buffer.from(
    (isFirst ? header : "") + names.map((name) => `${csvField(name)}${end}${message(name)}\n`).join(""),
  );
}

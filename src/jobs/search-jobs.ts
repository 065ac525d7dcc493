import { join } from "node:path";
import { callAfter, callEvery, type PendingCall } from "../base/deadline.js";
import { errorMessage, TrawlError } from "../base/errors.js";
import type { Log } from "../base/log.js";
import type { Repository } from "../model/repository.js";
import type { Viewer } from "../model/viewer.js";
import type { Searcher } from "../search/searcher.js";
import type { RecordStore } from "../store/record-store.js";
import { JobFiles } from "./job-files.js";
import { hasEnded, type JobRecord, newJob } from "./job-record.js";
import { JobRun, jobRequest } from "./job-run.js";
import { JobStore } from "./job-store.js";

const dayMs = 86_400_000;
const sweepMs = 3_600_000;
/** After an error of the disk, a job is tried again after this time. */
const retryMs = 10_000;
const queryCharsMax = 10_000;

export interface JobLimits {
  /** Jobs that run at the same time. */
  readonly concurrent: number;
  readonly countMax: number;
  readonly ofUserMax: number;
  /** Bytes of the results of one job. */
  readonly bytesMax: number;
  readonly retentionDays: number;
  /** Of the search of one batch. */
  readonly timeoutMs: number;
}

export interface JobEnvironment {
  readonly folder: string;
  readonly store: RecordStore;
  readonly searcher: Searcher;
  readonly repository: (id: number) => Repository | undefined;
  /** The viewer as which a user's job searches; undefined if the user no longer exists. */
  readonly viewerOf: (userId: number) => Viewer | undefined;
  readonly log: Log;
  readonly limits: JobLimits;
}

/**
 * Search jobs: exhaustive searches that run in the background, one batch of repositories after another, in the order in
 * which they were created. They wait for interactive searches, and go on after a restart.
 */
export class SearchJobs {
  readonly #environment: JobEnvironment;
  readonly #jobs: JobStore;
  readonly #running = new Map<number, { run: JobRun | undefined; done: Promise<void>; isCancelled: boolean }>();
  #isStopping = false;
  #sweep: PendingCall | undefined;
  readonly #retries = new Set<PendingCall>();
  readonly #waiting = new Set<number>();

  constructor(environment: JobEnvironment) {
    this.#environment = environment;
    this.#jobs = new JobStore(environment.store);
  }

  load(): Generator<void, void> {
    return this.#jobs.load();
  }

  /** Continues the jobs that have not ended. */
  start(): void {
    this.#sweep = callEvery(sweepMs, () => void this.#removeOld());
    void this.#removeOld();
    this.#fill();
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#sweep?.cancel();
    for (const retry of this.#retries) retry.cancel();
    const running = [...this.#running.values()];
    for (const { run } of running) run?.stop();
    await Promise.all(running.map(({ done }) => done));
  }

  /** The jobs that the viewer may see: its own, and all for site admins. */
  visibleTo(viewer: Viewer): JobRecord[] {
    return [...this.#jobs.all()].filter((job) => maySee(job, viewer));
  }

  /** Throws `not-found` also for jobs that the viewer may not see. */
  get(id: number, viewer: Viewer): JobRecord {
    const job = this.#jobs.get(id);
    if (job === undefined || !maySee(job, viewer))
      throw new TrawlError("not-found", "there is no such search job (any more)");
    return job;
  }

  files(id: number): JobFiles {
    return new JobFiles(this.#environment.folder, id);
  }

  isRunning(id: number): boolean {
    return this.#running.has(id);
  }

  /** Throws `bad-query` if the query is invalid. */
  async validate(query: string, viewer: Viewer): Promise<void> {
    if (query.trim() === "") throw new TrawlError("bad-request", "a search job needs a query");
    if (query.length > queryCharsMax)
      throw new TrawlError("bad-request", `the query is longer than ${queryCharsMax} characters`);
    await this.#environment.searcher.chooseRepositories(jobRequest(query, viewer));
  }

  /** Resolves when the job is durable. */
  async create(query: string, viewer: Viewer): Promise<JobRecord> {
    const { userId } = viewer;
    if (userId === undefined) throw new TrawlError("forbidden", "sign in to create search jobs");
    await this.validate(query, viewer);
    const { countMax, ofUserMax } = this.#environment.limits;
    const ofUser = [...this.#jobs.all()].filter(({ creatorId }) => creatorId === userId).length;
    if (this.#jobs.count >= countMax || ofUser >= ofUserMax)
      throw new TrawlError("bad-request", `there are too many search jobs (${ofUser} of yours): delete some first`);
    const job = newJob(this.#jobs.newId(), query, userId);
    await this.#jobs.put(job);
    this.#fill();
    return job;
  }

  /** A job that has ended stays as it is. */
  async cancel(id: number, viewer: Viewer): Promise<void> {
    if (hasEnded(this.get(id, viewer))) return;
    await this.#stopRun(id);
    const job = this.#jobs.get(id);
    if (job !== undefined && !hasEnded(job)) await this.#end(job, "CANCELED", "");
  }

  async delete(id: number, viewer: Viewer): Promise<void> {
    this.get(id, viewer);
    await this.#stopRun(id);
    await this.#jobs.remove(id);
    await this.files(id).remove();
  }

  /** Searches again only the repositories that failed. */
  async retry(id: number, viewer: Viewer): Promise<JobRecord> {
    const job = this.get(id, viewer);
    if (!hasEnded(job) || this.#running.has(id)) throw new TrawlError("bad-request", "the search job has not ended");
    const left = this.#jobs.repositoryIds(id).slice(job.done);
    const ids = [...job.failed.map((failed) => failed.id), ...left];
    const done = job.total - ids.length;
    const list = [...new Array<number>(done).fill(0), ...ids];
    const queued: JobRecord = { ...job, state: "QUEUED", done, failed: [], finishedAt: "", message: "" };
    await this.#jobs.put(queued, list);
    this.#fill();
    return queued;
  }

  async #stopRun(id: number): Promise<void> {
    const running = this.#running.get(id);
    if (running === undefined) return;
    running.isCancelled = true;
    running.run?.stop();
    await running.done;
  }

  #fill(): void {
    if (this.#isStopping) return;
    for (const job of this.#jobs.all()) {
      if (this.#running.size >= this.#environment.limits.concurrent) return;
      if (hasEnded(job) || this.#running.has(job.id) || this.#waiting.has(job.id)) continue;
      const running = { run: undefined as JobRun | undefined, done: Promise.resolve(), isCancelled: false };
      this.#running.set(job.id, running);
      running.done = this.#run(job, running).finally(() => {
        this.#running.delete(job.id);
        setImmediate(() => this.#fill());
      });
    }
  }

  async #run(job: JobRecord, running: { run: JobRun | undefined; isCancelled: boolean }): Promise<void> {
    const { log, limits, searcher, repository, viewerOf } = this.#environment;
    try {
      const viewer = viewerOf(job.creatorId);
      if (viewer === undefined) return await this.#end(job, "FAILED", "its creator no longer exists");
      const begun = await this.#begin(job, viewer);
      const services = {
        searcher,
        repository,
        commit: (next: JobRecord) => this.#jobs.put(next),
        timeoutMs: limits.timeoutMs,
        bytesMax: limits.bytesMax,
      };
      const ids = this.#jobs.repositoryIds(job.id);
      running.run = await JobRun.open(services, begun, ids, viewer, this.files(job.id));
      if (this.#isStopping || running.isCancelled) running.run.stop();
      const last = await running.run.run();
      if (last.done < ids.length) return;
      await this.#end(last, last.failed.length === 0 ? "COMPLETED" : "FAILED", "");
    } catch (error) {
      log.warn({ job: job.id, error: errorMessage(error) }, "a search job was interrupted");
      await this.#interrupt(job.id, error);
    }
  }

  async #begin(job: JobRecord, viewer: Viewer): Promise<JobRecord> {
    if (job.startedAt !== "") {
      const again: JobRecord = { ...job, state: "PROCESSING" };
      if (job.state !== "PROCESSING") await this.#jobs.put(again);
      return again;
    }
    const ids = await this.#environment.searcher.chooseRepositories(jobRequest(job.query, viewer));
    const begun: JobRecord = { ...job, state: "PROCESSING", startedAt: new Date().toISOString(), total: ids.length };
    await this.#jobs.put(begun, ids);
    return begun;
  }

  async #end(job: JobRecord, state: JobRecord["state"], message: string): Promise<void> {
    await this.#jobs.put({ ...job, state, message, finishedAt: new Date().toISOString() });
  }

  /** An error of the disk may pass: the job goes on from its last commit. Others end it. */
  async #interrupt(id: number, error: unknown): Promise<void> {
    const job = this.#jobs.get(id);
    if (job === undefined) return;
    const message = errorMessage(error);
    const isOwn = error instanceof TrawlError && (error.code === "bad-request" || error.code === "bad-query");
    try {
      if (isOwn) return await this.#end(job, "FAILED", message);
      this.#waiting.add(id);
      const retry = callAfter(retryMs, () => {
        this.#retries.delete(retry);
        this.#waiting.delete(id);
        this.#fill();
      });
      this.#retries.add(retry);
      await this.#jobs.put({ ...job, message });
    } catch (failure) {
      this.#environment.log.warn({ job: id, error: errorMessage(failure) }, "the state of a search job was not stored");
    }
  }

  async #removeOld(): Promise<void> {
    const oldestMs = new Date().getTime() - this.#environment.limits.retentionDays * dayMs;
    for (const job of [...this.#jobs.all()]) {
      if (!hasEnded(job) || Date.parse(job.finishedAt) > oldestMs) continue;
      try {
        await this.#jobs.remove(job.id);
        await this.files(job.id).remove();
      } catch (error) {
        this.#environment.log.warn({ job: job.id, error: errorMessage(error) }, "an old search job was not removed");
      }
    }
  }
}

function maySee({ creatorId }: JobRecord, { userId, isSiteAdmin }: Viewer): boolean {
  return isSiteAdmin || creatorId === userId;
}

/** The folder of all jobs. */
export function jobsFolder(dataFolder: string): string {
  return join(dataFolder, "jobs");
}

import { callAfter, monotonicMs, type PendingCall } from "../base/deadline.js";
import { errorMessage, TrawlError } from "../base/errors.js";
import type { Viewer } from "../model/viewer.js";
import type { JobEnvironment } from "./job-environment.js";
import { JobFiles } from "./job-files.js";
import { type JobRecord, timeAfter, withoutResults } from "./job-record.js";
import { JobRun, jobRequest, type JobServices } from "./job-run.js";
import type { JobSpace } from "./job-space.js";
import type { JobStore } from "./job-store.js";
import { LineSplitter } from "./line-splitter.js";

/** After an error of the disk, a job is tried again after this time. */
const retryMs = 5_000;

/** After this time, a job lets one of another user run, if that user has none running or two fewer. */
const turnMs = 2_000;

interface Running {
  readonly creatorId: number;
  readonly startedMs: number;
  run: JobRun | undefined;
  done: Promise<void>;
  isCancelled: boolean;
}

/**
 * Runs the jobs that have not ended, some at a time, and fairly between users: the next job is one of the user who has
 * the fewest running, and among equals of the one whose turn is longest ago; of each user, the oldest one. A job that
 * has had its turn while other users wait pauses after a batch.
 */
export class JobQueue {
  readonly #environment: JobEnvironment;
  readonly #jobs: JobStore;
  readonly #services: Omit<JobServices, "makeRoom" | "mustPause" | "viewer">;
  readonly #space: JobSpace;
  readonly #remove: (id: number) => Promise<void>;
  readonly #running = new Map<number, Running>();
  /** Why jobs were interrupted that are tried again after a while. */
  readonly #interrupted = new Map<number, { readonly message: string; readonly retry: PendingCall }>();
  /** Jobs that are being stopped, and how many requests do so. */
  readonly #held = new Map<number, number>();
  /** When users who have jobs that have not ended last had a turn: numbers of turns. */
  readonly #turnOf = new Map<number, number>();
  #turn = 0;
  #isOpen = false;

  /** `remove` deletes a job that has ended. */
  constructor(environment: JobEnvironment, jobs: JobStore, space: JobSpace, remove: (id: number) => Promise<void>) {
    const { searcher, repository, limits, kernel } = environment;
    const splitter = new LineSplitter(kernel);
    this.#environment = environment;
    this.#jobs = jobs;
    this.#space = space;
    this.#remove = remove;
    const commit = (next: JobRecord, failedIds: readonly number[]): Promise<void> => jobs.put(next, { failedIds });
    const { timeoutMs, bytesMax } = limits;
    this.#services = { searcher, repository, commit, splitter, timeoutMs, bytesMax, space };
  }

  start(): void {
    this.#isOpen = true;
    this.fill();
  }

  async stop(): Promise<void> {
    this.#isOpen = false;
    for (const { retry } of this.#interrupted.values()) retry.cancel();
    const running = [...this.#running.values()];
    for (const { run } of running) run?.stop();
    await Promise.all(running.map(({ done }) => done));
  }

  isRunning(id: number): boolean {
    return this.#running.has(id);
  }

  /** Why the job waits to be tried again; undefined if it does not. */
  interruption(id: number): string | undefined {
    return this.#interrupted.get(id)?.message;
  }

  /** Stops the job, and does not start it again while `act` changes its record. */
  async whileStopped(id: number, act: () => Promise<void>): Promise<void> {
    this.#held.set(id, (this.#held.get(id) ?? 0) + 1);
    try {
      this.#interrupted.get(id)?.retry.cancel();
      this.#interrupted.delete(id);
      const running = this.#running.get(id);
      if (running !== undefined) running.isCancelled = true;
      running?.run?.stop();
      await running?.done;
      await act();
    } finally {
      const others = (this.#held.get(id) ?? 1) - 1;
      if (others > 0) this.#held.set(id, others);
      else this.#held.delete(id);
      this.fill();
    }
  }

  /** Starts as many jobs as may run. Costs what is running or was interrupted and who waits, not how many jobs wait. */
  fill(): void {
    if (!this.#isOpen) return;
    for (const userId of this.#turnOf.keys()) if (!this.#jobs.active().has(userId)) this.#turnOf.delete(userId);
    while (this.#running.size < this.#environment.limits.concurrent) {
      const job = this.#findNext();
      if (job === undefined) return;
      const running: Running = {
        creatorId: job.creatorId,
        startedMs: monotonicMs(),
        run: undefined,
        done: Promise.resolve(),
        isCancelled: false,
      };
      this.#running.set(job.id, running);
      this.#turnOf.set(job.creatorId, ++this.#turn);
      running.done = this.#run(job, running).finally(() => {
        this.#running.delete(job.id);
        setImmediate(() => this.fill());
      });
    }
  }

  /** The job to be started next. */
  #findNext(): JobRecord | undefined {
    let best: { readonly job: JobRecord; readonly runningCount: number; readonly turn: number } | undefined;
    for (const userId of this.#jobs.active().keys()) {
      const runningCount = this.#runningCount(userId);
      const turn = this.#turnOf.get(userId) ?? 0;
      if (best !== undefined && (runningCount - best.runningCount || turn - best.turn) >= 0) continue;
      const job = this.#findStartable(userId);
      if (job !== undefined) best = { job, runningCount, turn };
    }
    return best?.job;
  }

  #findStartable(userId: number): JobRecord | undefined {
    for (const id of this.#jobs.active().get(userId) ?? []) {
      if (!this.#running.has(id) && !this.#interrupted.has(id) && !this.#held.has(id)) return this.#jobs.get(id);
    }
    return undefined;
  }

  #runningCount(userId: number): number {
    let count = 0;
    for (const { creatorId } of this.#running.values()) if (creatorId === userId) count++;
    return count;
  }

  #mustPause({ creatorId, startedMs }: Running): boolean {
    if (monotonicMs() - startedMs < turnMs || this.#running.size < this.#environment.limits.concurrent) return false;
    const next = this.#findNext();
    if (next === undefined || next.creatorId === creatorId) return false;
    const count = this.#runningCount(next.creatorId);
    return count === 0 || count + 1 < this.#runningCount(creatorId);
  }

  get interruptedCount(): number {
    return this.#interrupted.size;
  }

  async end(job: JobRecord, state: JobRecord["state"], message: string): Promise<void> {
    await this.#jobs.put({ ...job, state, message, finishedAt: timeAfter(job.startedAt || job.createdAt) });
    this.#environment.metrics.jobsEnded.inc({ state: state.toLowerCase() });
  }

  async #run(job: JobRecord, running: Running): Promise<void> {
    const { log, folder, viewerOf } = this.#environment;
    try {
      const viewer = viewerOf(job.creatorId);
      if (viewer === undefined) return await this.end(job, "FAILED", "its creator no longer exists");
      const files = new JobFiles(folder, job.id);
      const begun = await this.#begin((await files.areWhole(job)) ? job : withoutResults(job), viewer);
      const makeRoom = (byteCount: number): Promise<boolean> => this.#space.makeRoom(byteCount, this.#remove);
      const ids = this.#jobs.repositoryIds(job.id);
      const mustPause = (): boolean => this.#mustPause(running);
      const services = { ...this.#services, makeRoom, mustPause, viewer: () => viewerOf(job.creatorId) };
      running.run = await JobRun.open(services, begun, ids, files);
      if (!this.#isOpen || running.isCancelled) running.run.stop();
      const last = await running.run.run();
      if (last.done < ids.length) return;
      const { failedCount, missingCount } = last;
      const isWhole = failedCount === missingCount && (missingCount < ids.length || missingCount === 0);
      await this.end(last, isWhole ? "COMPLETED" : "FAILED", leftOut(missingCount));
    } catch (error) {
      log.warn({ job: job.id, error: errorMessage(error) }, "a search job was interrupted");
      await this.#interrupt(job.id, error, running);
    }
  }

  async #begin(job: JobRecord, viewer: Viewer): Promise<JobRecord> {
    if (job.startedAt !== "") {
      const again: JobRecord = { ...job, state: "PROCESSING" };
      if (job.state !== "PROCESSING") await this.#jobs.put(again);
      return again;
    }
    const ids = await this.#environment.searcher.chooseRepositories(jobRequest(job.query, viewer));
    const startedAt = timeAfter(job.createdAt);
    const begun: JobRecord = { ...job, state: "PROCESSING", startedAt, total: ids.length };
    await this.#jobs.put(begun, { repositoryIds: ids });
    return begun;
  }

  /** An error of the disk may pass: the job goes on from its last commit. Others end it. */
  async #interrupt(id: number, error: unknown, { isCancelled }: Running): Promise<void> {
    const job = this.#jobs.get(id);
    if (job === undefined) return;
    const message = errorMessage(error);
    const isOwn = error instanceof TrawlError && (error.code === "bad-request" || error.code === "bad-query");
    if (!isOwn && isCancelled) return;
    try {
      if (isOwn) return await this.end(job, "FAILED", message);
    } catch (failure) {
      this.#environment.log.warn({ job: id, error: errorMessage(failure) }, "the state of a search job was not stored");
    }
    const retry = callAfter(retryMs, () => {
      this.#interrupted.delete(id);
      this.fill();
    });
    this.#interrupted.set(id, { message, retry });
    this.#environment.metrics.jobInterruptions.inc();
  }
}

/** Said once, for all of them: the log has their names. */
function leftOut(missingCount: number): string {
  if (missingCount === 0) return "";
  return missingCount === 1 ? "1 repository was never fetched" : `${missingCount} repositories were never fetched`;
}

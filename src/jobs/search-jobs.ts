import { join } from "node:path";
import { TrawlError } from "../base/errors.js";
import { eachInSteps, resultWhileYielding } from "../base/yielding.js";
import { maySee } from "../catalog/visible-tables.js";
import type { Viewer } from "../model/viewer.js";
import type { TableFormat } from "../protocol/read-messages.js";
import type { JobEnvironment } from "./job-environment.js";
import { type ExportRequest, JobExports, type OpenTable } from "./job-exports.js";
import { JobFiles } from "./job-files.js";
import { JobQueue } from "./job-queue.js";
import { hasEnded, type JobRecord, newJob } from "./job-record.js";
import { JobRetention } from "./job-retention.js";
import { jobRequest } from "./job-run.js";
import { JobSpace } from "./job-space.js";
import { JobStore } from "./job-store.js";

const queryCharsMax = 10_000;

const unreadable =
  "a repository whose results this search job has is no longer visible to you: start the job again for the others";

/** The state of a job as users see it. ERRORED is one that was interrupted, and is tried again after a while. */
export interface ShownState {
  readonly state: JobRecord["state"] | "ERRORED";
  /** Why it waits or has failed; "" if it does not. */
  readonly message: string;
}

export interface JobUsage {
  readonly counts: Readonly<
    Record<"queued" | "processing" | "interrupted" | "completed" | "failed" | "canceled", number>
  >;
  readonly storedBytes: number;
}

/**
 * Search jobs: exhaustive searches that run in the background, one batch of repositories after another; those of each
 * user in the order in which they were created. They wait for interactive searches, and go on after a restart.
 */
export class SearchJobs {
  readonly #environment: JobEnvironment;
  readonly #jobs: JobStore;
  readonly #queue: JobQueue;
  readonly #retention: JobRetention;
  readonly #exports: JobExports;
  /** Jobs of users that are not durable yet: they count against the limits. */
  readonly #creating = new Map<number, number>();
  #creatingCount = 0;
  #isStopped = false;

  constructor(environment: JobEnvironment) {
    const { store, folder, limits, log, reads, baseUrl } = environment;
    this.#environment = environment;
    this.#jobs = new JobStore(store);
    const remove = async (id: number): Promise<void> => {
      const job = this.#jobs.get(id);
      if (job !== undefined && hasEnded(job)) await this.#remove(id);
    };
    this.#queue = new JobQueue(environment, this.#jobs, new JobSpace(this.#jobs, limits.totalBytesMax), remove);
    this.#exports = new JobExports({
      folder: join(folder, "exports"),
      reads,
      bytesMax: limits.exportBytesMax,
      baseUrl,
    });
    this.#retention = new JobRetention(this.#jobs, folder, limits.retentionDays, remove, log);
  }

  load(): Generator<void, void> {
    return this.#jobs.load();
  }

  /** Continues the jobs that have not ended. */
  async start(): Promise<void> {
    await this.#retention.start();
    await this.#exports.start();
    if (!this.#isStopped) this.#queue.start();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#retention.stop();
    this.#exports.stop();
    await this.#queue.stop();
  }

  /** Ids of the jobs that the viewer may see: its own, and all for site admins. In the order of their creation. */
  visibleIds({ userId, isSiteAdmin }: Viewer): readonly number[] {
    if (isSiteAdmin) return this.#jobs.ids(undefined);
    return userId === undefined ? [] : this.#jobs.ids(userId);
  }

  /** Those of `visibleIds` of these users. */
  visibleIdsOf(userIds: readonly number[], viewer: Viewer): readonly number[] {
    const ids = userIds.flatMap((userId) =>
      viewer.isSiteAdmin || viewer.userId === userId ? this.#jobs.ids(userId) : [],
    );
    return userIds.length === 1 ? ids : [...new Set(ids)].sort((a, b) => a - b);
  }

  /** The records of these ids, without those of jobs that were deleted meanwhile. */
  records(ids: readonly number[]): JobRecord[] {
    return ids.flatMap((id) => this.#jobs.get(id) ?? []);
  }

  /** Throws `not-found` also for jobs that the viewer may not see. */
  get(id: number, viewer: Viewer): JobRecord {
    const job = this.#jobs.get(id);
    if (job === undefined || !maySeeJob(job, viewer))
      throw new TrawlError("not-found", "there is no such search job (any more) among those that you may see");
    return job;
  }

  /**
   * Throws `gone` unless the viewer may now read each repository whose results the job has. A repository that was removed
   * is no obstacle: its removal withdrew no permission.
   */
  async requireReadable(job: JobRecord, viewer: Viewer): Promise<void> {
    if (viewer.isSiteAdmin) return;
    const { repository } = this.#environment;
    await resultWhileYielding(
      eachInSteps(this.#jobs.repositoryIds(job.id).slice(0, job.done), (id) => {
        const known = repository(id);
        if (known !== undefined && !maySee(known, viewer)) throw new TrawlError("gone", unreadable);
      }),
    );
  }

  shownState(job: JobRecord): ShownState {
    const interruption = hasEnded(job) ? undefined : this.#queue.interruption(job.id);
    return interruption === undefined
      ? { state: job.state, message: job.message }
      : { state: "ERRORED", message: interruption };
  }

  files(id: number): JobFiles {
    return new JobFiles(this.#environment.folder, id);
  }

  /** The results as a table, as far as they are committed. Converts them first, as far as no request did before. */
  openTable(job: JobRecord, format: TableFormat, request: ExportRequest): Promise<OpenTable> {
    return this.#exports.open(job, this.files(job.id).results, format, request);
  }

  /** How many there are, by state, and the bytes of their results and logs. */
  usage(): JobUsage {
    const { interruptedCount } = this.#queue;
    const count = (state: JobRecord["state"]): number => this.#jobs.count(state);
    // A job keeps the state in which it was interrupted.
    const processing = Math.max(0, count("PROCESSING") - interruptedCount);
    return {
      counts: {
        queued: count("QUEUED") + count("PROCESSING") - processing - interruptedCount,
        processing,
        interrupted: interruptedCount,
        completed: count("COMPLETED"),
        failed: count("FAILED"),
        canceled: count("CANCELED"),
      },
      storedBytes: this.#jobs.byteCount,
    };
  }

  isRunning(id: number): boolean {
    return this.#queue.isRunning(id);
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
    this.#requireRoom(userId);
    this.#countCreating(userId, 1);
    try {
      const job = newJob(this.#jobs.newId(), query, userId);
      await this.#jobs.put(job);
      this.#queue.fill();
      return job;
    } finally {
      this.#countCreating(userId, -1);
    }
  }

  /** A job that has ended stays as it is. */
  async cancel(id: number, viewer: Viewer): Promise<void> {
    if (hasEnded(this.get(id, viewer))) return;
    await this.#queue.whileStopped(id, async () => {
      const job = this.#jobs.get(id);
      if (job !== undefined && !hasEnded(job)) await this.#queue.end(job, "CANCELED", "");
    });
  }

  async delete(id: number, viewer: Viewer): Promise<void> {
    this.get(id, viewer);
    await this.#queue.whileStopped(id, () => this.#remove(id));
  }

  /** Searches again only the repositories that failed. */
  async retry(id: number, viewer: Viewer): Promise<JobRecord> {
    const job = this.get(id, viewer);
    if (!hasEnded(job) || this.#queue.isRunning(id))
      throw new TrawlError("bad-request", "the search job has not ended");
    const ids = this.#jobs.repositoryIds(id);
    const failed = new Set(this.#jobs.failedIds(job));
    const complete = ids.slice(0, job.done).filter((one) => !failed.has(one));
    const list = [...complete, ...failed, ...ids.slice(job.done)];
    const queued: JobRecord = {
      ...job,
      state: "QUEUED",
      done: complete.length,
      failedCount: 0,
      missingCount: 0,
      finishedAt: "",
      message: "",
    };
    await this.#jobs.put(queued, { repositoryIds: list });
    this.#queue.fill();
    return queued;
  }

  #requireRoom(userId: number): void {
    const { countMax, ofUserMax } = this.#environment.limits;
    const ofUser = this.#jobs.ids(userId).length + (this.#creating.get(userId) ?? 0);
    if (this.#jobs.ids(undefined).length + this.#creatingCount >= countMax || ofUser >= ofUserMax)
      throw new TrawlError(
        "too-many-requests",
        `there are too many search jobs (${ofUser} of yours, jobs.countMax is ${countMax}): delete some first`,
      );
  }

  #countCreating(userId: number, change: number): void {
    this.#creatingCount += change;
    const count = (this.#creating.get(userId) ?? 0) + change;
    if (count === 0) this.#creating.delete(userId);
    else this.#creating.set(userId, count);
  }

  /** Its files last: those without a record are removed when the daemon starts. */
  async #remove(id: number): Promise<void> {
    await this.#jobs.remove(id);
    await this.files(id).remove();
    // After the JSON lines, from which a request could make another one.
    await this.#exports.remove(id);
  }
}

function maySeeJob({ creatorId }: JobRecord, { userId, isSiteAdmin }: Viewer): boolean {
  return isSiteAdmin || creatorId === userId;
}

/** The folder of all jobs. */
export function jobsFolder(dataFolder: string): string {
  return join(dataFolder, "jobs");
}

import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { callEvery, type PendingCall } from "../base/deadline.js";
import { errorMessage } from "../base/errors.js";
import type { Log } from "../base/log.js";
import { resultWhileYielding } from "../base/yielding.js";
import { hasEnded, type JobRecord, withoutResults } from "./job-record.js";
import { storedBytes, type JobStore } from "./job-store.js";

const dayMs = 86_400_000;
const sweepMs = 3_600_000;
/** Jobs that are looked at in one step. */
const jobsOfStep = 512;

/** Deletes jobs some days after they have ended, and brings records and files together when the daemon starts. */
export class JobRetention {
  readonly #jobs: JobStore;
  readonly #folder: string;
  readonly #retentionMs: number;
  readonly #remove: (id: number) => Promise<void>;
  readonly #log: Log;
  #sweep: PendingCall | undefined;

  /** `remove` deletes a job that has ended. */
  constructor(jobs: JobStore, folder: string, retentionDays: number, remove: (id: number) => Promise<void>, log: Log) {
    this.#jobs = jobs;
    this.#folder = folder;
    this.#retentionMs = retentionDays * dayMs;
    this.#remove = remove;
    this.#log = log;
  }

  /** No job may be running until it resolves. */
  async start(): Promise<void> {
    this.#sweep = callEvery(sweepMs, () => void this.removeOld());
    await this.#try("compare search jobs with their files", () => this.#compareFiles());
    void this.removeOld();
  }

  stop(): void {
    this.#sweep?.cancel();
  }

  /**
   * A job is old some days after it has ended. A time in the future was taken from a clock that has been set back since:
   * it becomes the current time, so that the job does not stay longer than it would have.
   */
  async removeOld(): Promise<void> {
    const now = new Date();
    const latest = now.toISOString();
    const oldest = new Date(Math.max(0, now.getTime() - this.#retentionMs)).toISOString();
    const found = await this.#filter((job) => hasEnded(job) && (job.finishedAt <= oldest || job.finishedAt > latest));
    for (const job of found)
      await this.#try(`delete search job ${job.id}`, () =>
        job.finishedAt > latest ? this.#jobs.put(notAfter(job, latest)) : this.#remove(job.id),
      );
  }

  /**
   * Folders without a job are left of a deletion that was interrupted. Jobs without a folder come from a backup, which
   * has no results: those that ran begin again, and those that had ended can be retried.
   */
  async #compareFiles(): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const folders = new Set(await readdir(this.#folder));
    const lost = await this.#filter((job) => storedBytes(job) > 0 && !folders.has(String(job.id)));
    for (const job of lost) await this.#try(`reset search job ${job.id}`, () => this.#jobs.put(resetJob(job)));
    for (const name of folders)
      if (/^[0-9]{1,15}$/.test(name) && this.#jobs.get(Number(name)) === undefined)
        await this.#try(`delete ${name}`, () => rm(join(this.#folder, name), { recursive: true, force: true }));
  }

  #filter(isWanted: (job: JobRecord) => boolean): Promise<readonly JobRecord[]> {
    const jobs = this.#jobs;
    function* find(): Generator<void, readonly JobRecord[]> {
      const found: JobRecord[] = [];
      const ids = [...jobs.ids(undefined)];
      for (let at = 0; at < ids.length; at++) {
        const job = jobs.get(ids[at]);
        if (job !== undefined && isWanted(job)) found.push(job);
        if (at % jobsOfStep === 0) yield;
      }
      return found;
    }
    return resultWhileYielding(find());
  }

  async #try(what: string, act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      this.#log.warn({ error: errorMessage(error) }, `cannot ${what}`);
    }
  }
}

function notAfter(job: JobRecord, latest: string): JobRecord {
  const earlier = (time: string): string => (time > latest ? latest : time);
  const { createdAt, startedAt, finishedAt } = job;
  return {
    ...job,
    createdAt: earlier(createdAt),
    startedAt: earlier(startedAt),
    finishedAt: earlier(finishedAt),
  };
}

function resetJob(job: JobRecord): JobRecord {
  if (!hasEnded(job)) return withoutResults(job);
  const { state, finishedAt } = job;
  const message = "its results are no longer on the disk, for example because backups do not contain them: retry it";
  return { ...withoutResults(job), state: state === "CANCELED" ? state : "FAILED", finishedAt, message };
}

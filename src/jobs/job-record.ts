import { assert } from "../base/assert.js";

/** A search job as it is stored. It is written anew with each committed batch, together with the sizes of its files. */
export interface JobRecord {
  readonly id: number;
  readonly query: string;
  readonly creatorId: number;
  readonly state: JobState;
  /** RFC 3339, like the other times; "" if it has not begun, or not ended. */
  readonly createdAt: string;
  readonly startedAt: string;
  readonly finishedAt: string;
  /** Repositories in its list; 0 before it begins. */
  readonly total: number;
  /** Those before this index of the list are done. */
  readonly done: number;
  /**
   * How many of them could not be searched completely. Their results are not in the file; the log has the reasons, and
   * their ids are stored apart, so that the size of this record does not depend on them.
   */
  readonly failedCount: number;
  /** How many of these were never fetched: they do not make the job fail. */
  readonly missingCount: number;
  /** Bytes of its files that are committed: what follows them was written before a crash. */
  readonly resultBytes: number;
  readonly logBytes: number;
  readonly matchCount: number;
  /** Why it waits or has failed, or what it left out; "" if there is nothing to say. */
  readonly message: string;
}

/** Throws if the numbers of a record contradict each other, whether it is to be written or was read. */
export function checkJob({
  id,
  total,
  done,
  failedCount,
  missingCount,
  resultBytes,
  logBytes,
  matchCount,
}: JobRecord): void {
  assert(Number.isSafeInteger(id) && id > 0, "a search job has an id");
  assert(done >= 0 && done <= total, "a search job has searched repositories of its list");
  assert(failedCount >= 0 && failedCount <= done, "repositories that failed were searched");
  assert(missingCount >= 0 && missingCount <= failedCount, "repositories that were missing count as failed");
  assert(resultBytes >= 0 && logBytes >= 0 && matchCount >= 0, "the files of a search job have sizes");
}

export type JobState = "QUEUED" | "PROCESSING" | "FAILED" | "COMPLETED" | "CANCELED";

export function hasEnded({ state }: JobRecord): boolean {
  return state === "FAILED" || state === "COMPLETED" || state === "CANCELED";
}

/** The time, as RFC 3339, but not before `earliest`: the clock may have been set back. */
export function timeAfter(earliest: string): string {
  const now = new Date().toISOString();
  return now < earliest ? earliest : now;
}

/** The job without its results: it begins again, and chooses its repositories anew. */
export function withoutResults(job: JobRecord): JobRecord {
  return { ...newJob(job.id, job.query, job.creatorId), createdAt: job.createdAt };
}

export function newJob(id: number, query: string, creatorId: number): JobRecord {
  return {
    id,
    query,
    creatorId,
    state: "QUEUED",
    createdAt: new Date().toISOString(),
    startedAt: "",
    finishedAt: "",
    total: 0,
    done: 0,
    failedCount: 0,
    missingCount: 0,
    resultBytes: 0,
    logBytes: 0,
    matchCount: 0,
    message: "",
  };
}

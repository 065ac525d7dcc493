import { assert } from "../base/assert.js";
import { lowerBoundBy } from "../base/sorted-search.js";
import type { RecordChange, Records } from "../store/records.js";
import { checkJob, hasEnded, type JobRecord, type JobState } from "./job-record.js";

const jobPrefix = "search-job/";
const listPrefix = "search-job-list/";
const failedPrefix = "search-job-failed/";
const counterKey = "search-job-counter";

/** Ids of failed repositories in one record: another one costs writing at most 2 KiB, however many have failed. */
const failedOfRecord = 512;

/** What is stored with the record of a job. */
export interface JobLists {
  /** The ids of the repositories that the job searches, if they change. */
  readonly repositoryIds?: readonly number[];
  readonly failedIds?: readonly number[];
}

/** The jobs of one user. */
interface JobsOfUser {
  /** Ascending. */
  readonly ids: number[];
  byteCount: number;
}

/**
 * The records of search jobs, in memory and in the record store. Ids ascend in the order of creation, whatever the
 * clock says, so lists by id need no sorting.
 */
export class JobStore {
  readonly #store: Records;
  readonly #jobs = new Map<number, JobRecord>();
  readonly #ids: number[] = [];
  readonly #ofUser = new Map<number, JobsOfUser>();
  /** The jobs that have not ended, by user. */
  readonly #active = new Map<number, Set<number>>();
  readonly #counts = new Map<JobState, number>();
  #byteCount = 0;
  #nextId = 1;

  constructor(store: Records) {
    this.#store = store;
  }

  /** Loads the stored records, in steps. */
  *load(): Generator<void, void> {
    const counter = this.#store.get(counterKey);
    if (counter !== undefined) this.#nextId = Number(counter.toString());
    assert(Number.isSafeInteger(this.#nextId) && this.#nextId > 0, "the stored counter is the next id of a search job");
    const jobs: JobRecord[] = [];
    for (const batch of this.#store.batchesWithPrefix(jobPrefix)) {
      for (const { key, value } of batch) {
        const job = { missingCount: 0, ...(JSON.parse(value.toString()) as Omit<JobRecord, "missingCount">) };
        checkJob(job);
        assert(key === `${jobPrefix}${job.id}`, `the record ${key} is stored with its own id`);
        jobs.push(job);
      }
      yield;
    }
    // Keys are in the order of their digits.
    for (const job of jobs.sort((a, b) => a.id - b.id)) this.#set(job);
  }

  /** Bytes of the committed results and logs of all jobs. */
  get byteCount(): number {
    return this.#byteCount;
  }

  count(state: JobState): number {
    return this.#counts.get(state) ?? 0;
  }

  get(id: number): JobRecord | undefined {
    return this.#jobs.get(id);
  }

  /** The jobs of one user, or of all with undefined: their ids, ascending. Valid until a job is added or removed. */
  ids(userId: number | undefined): readonly number[] {
    return userId === undefined ? this.#ids : (this.#ofUser.get(userId)?.ids ?? []);
  }

  /** The users who have jobs, with the bytes of these. */
  *users(): Generator<{ readonly id: number; readonly byteCount: number }> {
    for (const [id, { byteCount }] of this.#ofUser) yield { id, byteCount };
  }

  /** The jobs that have not ended, by user: each user's in the order in which they are to run. */
  active(): ReadonlyMap<number, ReadonlySet<number>> {
    return this.#active;
  }

  newId(): number {
    return this.#nextId++;
  }

  /**
   * Resolves when the record is durable; it is visible then. `failedIds` are the repositories that failed in addition,
   * which `failedCount` of the job includes.
   */
  async put(job: JobRecord, { repositoryIds, failedIds = [] }: JobLists = {}): Promise<void> {
    checkJob(job);
    assert(failedIds.length <= job.failedCount, "repositories that failed are counted");
    assert(
      repositoryIds === undefined || job.startedAt === "" || repositoryIds.length === job.total,
      "a search job counts the repositories of its list",
    );
    const changes: RecordChange[] = [
      { key: `${jobPrefix}${job.id}`, value: Buffer.from(JSON.stringify(job)) },
      { key: counterKey, value: Buffer.from(String(this.#nextId)) },
    ];
    if (repositoryIds !== undefined) changes.push({ key: `${listPrefix}${job.id}`, value: bytesOfIds(repositoryIds) });
    if (failedIds.length > 0) changes.push(...this.#addFailed(job, failedIds));
    await this.#store.apply(changes);
    this.#set(job);
  }

  /** The ids of the repositories that the job searches, in its order. */
  repositoryIds(id: number): readonly number[] {
    return this.#readIds(`${listPrefix}${id}`);
  }

  /** The ids of the repositories that have failed. */
  failedIds({ id, failedCount }: JobRecord): readonly number[] {
    const ids: number[] = [];
    while (ids.length < failedCount) {
      const found = this.#readIds(failedKey(id, ids.length)).slice(0, failedCount - ids.length);
      if (found.length === 0) break;
      ids.push(...found);
    }
    return ids;
  }

  async remove(id: number): Promise<void> {
    const failedKeys = [...this.#store.withPrefix(`${failedPrefix}${id}/`)].map(({ key }) => key);
    const keys = [`${jobPrefix}${id}`, `${listPrefix}${id}`, ...failedKeys];
    await this.#store.apply(keys.map((key) => ({ key, value: undefined })));
    this.#forget(id);
  }

  /** Changes only the records that these ids belong to. Ids of an earlier run of the job are overwritten. */
  #addFailed({ id, failedCount }: JobRecord, failedIds: readonly number[]): RecordChange[] {
    const changes: RecordChange[] = [];
    for (let from = failedCount - failedIds.length, left = failedIds; left.length > 0; ) {
      const key = failedKey(id, from);
      const before = this.#readIds(key).slice(0, from % failedOfRecord);
      const added = left.slice(0, failedOfRecord - before.length);
      changes.push({ key, value: bytesOfIds([...before, ...added]) });
      left = left.slice(added.length);
      from += added.length;
    }
    return changes;
  }

  #readIds(key: string): readonly number[] {
    const stored = this.#store.get(key);
    assert(stored === undefined || stored.length % 4 === 0, `the ids in ${key} have four bytes each`);
    return stored === undefined ? [] : [...new Uint32Array(new Uint8Array(stored).buffer)];
  }

  #set(job: JobRecord): void {
    const before = this.#jobs.get(job.id);
    const ofUser = this.#ofUser.get(job.creatorId) ?? { ids: [], byteCount: 0 };
    this.#ofUser.set(job.creatorId, ofUser);
    if (before === undefined) {
      insert(this.#ids, job.id);
      insert(ofUser.ids, job.id);
    }
    const added = storedBytes(job) - (before === undefined ? 0 : storedBytes(before));
    ofUser.byteCount += added;
    this.#byteCount += added;
    if (before !== undefined) this.#counts.set(before.state, this.count(before.state) - 1);
    this.#counts.set(job.state, this.count(job.state) + 1);
    this.#jobs.set(job.id, job);
    if (hasEnded(job)) return this.#removeActive(job);
    const active = this.#active.get(job.creatorId);
    if (active === undefined) this.#active.set(job.creatorId, new Set([job.id]));
    else active.add(job.id);
  }

  #removeActive({ id, creatorId }: JobRecord): void {
    const active = this.#active.get(creatorId);
    if (active?.delete(id) === true && active.size === 0) this.#active.delete(creatorId);
  }

  #forget(id: number): void {
    const job = this.#jobs.get(id);
    const ofUser = job === undefined ? undefined : this.#ofUser.get(job.creatorId);
    if (job === undefined || ofUser === undefined) return;
    this.#jobs.delete(id);
    this.#counts.set(job.state, this.count(job.state) - 1);
    this.#removeActive(job);
    removeFrom(this.#ids, id);
    removeFrom(ofUser.ids, id);
    ofUser.byteCount -= storedBytes(job);
    this.#byteCount -= storedBytes(job);
    assert(
      ofUser.byteCount >= 0 && this.#byteCount >= ofUser.byteCount,
      "the bytes of jobs are those of the jobs that are left",
    );
    if (ofUser.ids.length === 0) this.#ofUser.delete(job.creatorId);
  }
}

export function storedBytes({ resultBytes, logBytes }: JobRecord): number {
  return resultBytes + logBytes;
}

function failedKey(id: number, index: number): string {
  return `${failedPrefix}${id}/${Math.floor(index / failedOfRecord)}`;
}

function bytesOfIds(ids: readonly number[]): Buffer {
  return Buffer.from(Uint32Array.from(ids).buffer);
}

/** Jobs that are created at the same time may become durable in another order. */
function insert(ids: number[], id: number): void {
  if (ids.length === 0 || ids[ids.length - 1] < id) ids.push(id);
  else ids.splice(findIndex(ids, id), 0, id);
}

function removeFrom(ids: number[], id: number): void {
  const at = findIndex(ids, id);
  if (ids[at] === id) ids.splice(at, 1);
}

function findIndex(ids: readonly number[], id: number): number {
  return lowerBoundBy(ids.length, (at) => ids[at] < id);
}

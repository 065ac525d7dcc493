import type { RecordChange, RecordStore } from "../store/record-store.js";
import type { JobRecord } from "./job-record.js";

const jobPrefix = "search-job/";
const listPrefix = "search-job-list/";
const counterKey = "search-job-counter";

/** The records of search jobs, in memory and in the record store. */
export class JobStore {
  readonly #store: RecordStore;
  readonly #jobs = new Map<number, JobRecord>();
  #nextId = 1;

  constructor(store: RecordStore) {
    this.#store = store;
  }

  /** Loads the stored records, in steps. */
  *load(): Generator<void, void> {
    const counter = this.#store.get(counterKey);
    if (counter !== undefined) this.#nextId = Number(counter.toString());
    for (const batch of this.#store.batchesWithPrefix(jobPrefix)) {
      for (const { value } of batch) {
        const job = JSON.parse(value.toString()) as JobRecord;
        this.#jobs.set(job.id, job);
      }
      yield;
    }
  }

  get count(): number {
    return this.#jobs.size;
  }

  get(id: number): JobRecord | undefined {
    return this.#jobs.get(id);
  }

  all(): Iterable<JobRecord> {
    return this.#jobs.values();
  }

  newId(): number {
    return this.#nextId++;
  }

  /** Resolves when the record is durable; it is visible then. */
  async put(job: JobRecord, repositoryIds?: readonly number[]): Promise<void> {
    const changes: RecordChange[] = [
      { key: `${jobPrefix}${job.id}`, value: Buffer.from(JSON.stringify(job)) },
      { key: counterKey, value: Buffer.from(String(this.#nextId)) },
    ];
    if (repositoryIds !== undefined)
      changes.push({ key: `${listPrefix}${job.id}`, value: Buffer.from(Uint32Array.from(repositoryIds).buffer) });
    await this.#store.apply(changes);
    this.#jobs.set(job.id, job);
  }

  /** The ids of the repositories that the job searches, in its order. */
  repositoryIds(id: number): readonly number[] {
    const stored = this.#store.get(`${listPrefix}${id}`);
    if (stored === undefined) return [];
    return [...new Uint32Array(new Uint8Array(stored).buffer)];
  }

  async remove(id: number): Promise<void> {
    await this.#store.apply([
      { key: `${jobPrefix}${id}`, value: undefined },
      { key: `${listPrefix}${id}`, value: undefined },
    ]);
    this.#jobs.delete(id);
  }
}

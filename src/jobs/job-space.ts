import { assert } from "../base/assert.js";
import { hasEnded, type JobRecord } from "./job-record.js";
import { storedBytes, type JobStore } from "./job-store.js";

/** The limit on the bytes of all jobs: those that are committed, and those that running jobs have written since. */
export class JobSpace {
  readonly #jobs: JobStore;
  readonly bytesMax: number;
  #uncommittedBytes = 0;

  constructor(jobs: JobStore, bytesMax: number) {
    this.#jobs = jobs;
    this.bytesMax = bytesMax;
  }

  /** Returns false if there is no room for them. */
  take(byteCount: number): boolean {
    if (!this.#hasRoom(byteCount)) return false;
    this.#uncommittedBytes += byteCount;
    return true;
  }

  /** They are committed, or no longer there. */
  release(byteCount: number): void {
    this.#uncommittedBytes -= byteCount;
    assert(this.#uncommittedBytes >= 0, "a search job releases the space that it has taken");
  }

  /**
   * Removes jobs that have ended until there is room, or none is left: always the oldest one of the user whose jobs have
   * most bytes, so that nobody's jobs displace those of users who have less. Returns false if it removed none.
   */
  async makeRoom(byteCount: number, remove: (id: number) => Promise<void>): Promise<boolean> {
    let hasRemoved = false;
    while (!this.#hasRoom(byteCount)) {
      const job = this.#findRemovable();
      if (job === undefined) break;
      await remove(job.id);
      hasRemoved = true;
    }
    return hasRemoved;
  }

  #hasRoom(byteCount: number): boolean {
    return this.#jobs.byteCount + this.#uncommittedBytes + byteCount <= this.bytesMax;
  }

  #findRemovable(): JobRecord | undefined {
    const users = [...this.#jobs.users()].sort((a, b) => b.byteCount - a.byteCount);
    for (const { id: userId } of users) {
      for (const id of this.#jobs.ids(userId)) {
        const job = this.#jobs.get(id);
        if (job !== undefined && hasEnded(job) && storedBytes(job) > 0) return job;
      }
    }
    return undefined;
  }
}

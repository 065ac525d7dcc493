import { callEvery, type PendingCall } from "../base/deadline.js";
import { errorMessage } from "../base/errors.js";
import type { Log } from "../base/log.js";
import type { CatalogSnapshots } from "../store/catalog-snapshots.js";
import type { RecordStore } from "../store/record-store.js";

/** A damaged catalog loses at most what has changed since; a snapshot of 10,000 repositories has some 20 MB. */
const periodMs = 600_000;

/** Takes snapshots of the catalog while it changes: soon after the start, every ten minutes, and at the end. */
export class SnapshotSchedule {
  readonly #snapshots: CatalogSnapshots;
  readonly #store: RecordStore;
  readonly #log: Log;
  readonly #timer: PendingCall;
  /** The store's count of changes at the last snapshot; none was taken by this process before the first. */
  #changeCount: number | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(snapshots: CatalogSnapshots, store: RecordStore, log: Log) {
    this.#snapshots = snapshots;
    this.#store = store;
    this.#log = log;
    this.#timer = callEvery(periodMs, () => void this.takeIfChanged());
  }

  /** Resolves when the snapshot is on the disk, or when it has failed, which is logged. */
  takeIfChanged(): Promise<void> {
    this.#running = this.#running.then(() => this.#take());
    return this.#running;
  }

  /** Takes the last one. The store stays open until it resolves. */
  async close(): Promise<void> {
    this.#timer.cancel();
    await this.takeIfChanged();
  }

  async #take(): Promise<void> {
    const { changeCount } = this.#store;
    if (changeCount === this.#changeCount) return;
    try {
      await this.#snapshots.take(this.#store, new Date());
      this.#changeCount = changeCount;
    } catch (error) {
      this.#log.error(errorMessage(error));
    }
  }
}

import { callEvery, type PendingCall } from "../../base/deadline.js";
import { errorMessage } from "../../base/errors.js";
import type { Log } from "../../base/log.js";
import type { CatalogSnapshots } from "../../store/catalog-snapshots.js";
import type { RecordStore } from "../../store/record-store.js";

/**
 * If the catalog is damaged, only changes since the last snapshot are lost; a snapshot of 10,000 repositories has about
 * 20 MB.
 */
const periodMs = 600_000;

/** Takes snapshots of the catalog while it changes: soon after startup, every ten minutes, and at shutdown. */
export class SnapshotSchedule {
  readonly #snapshots: CatalogSnapshots;
  readonly #store: RecordStore;
  readonly #log: Log;
  readonly #timer: PendingCall;
  /** The store's change count at the last snapshot; undefined before the first snapshot by this process. */
  #changeCount: number | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(snapshots: CatalogSnapshots, store: RecordStore, log: Log) {
    this.#snapshots = snapshots;
    this.#store = store;
    this.#log = log;
    this.#timer = callEvery(periodMs, () => void this.takeIfChanged());
  }

  /** Resolves when the snapshot is durable, or when it has failed, which is logged. */
  takeIfChanged(): Promise<void> {
    this.#running = this.#running.then(() => this.#take());
    return this.#running;
  }

  /** Takes the last snapshot. The store stays open until it resolves. */
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

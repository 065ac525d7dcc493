import { errorMessage, type TrawlError } from "../../base/errors.js";
import type { Log } from "../../base/log.js";

/** The tasks of the index that run now, and the two orders that end them: `stop`, and `suspend` after a failure. */
export class IndexTasks {
  /** Set to 1 when the daemon stops; workers look at it. */
  readonly stopWord = new Int32Array(new SharedArrayBuffer(4));
  readonly #log: Log;
  readonly #running = new Set<Promise<void>>();
  #suspended: TrawlError | undefined;
  #startWaiting: () => void = () => undefined;

  constructor(log: Log) {
    this.#log = log;
  }

  /** `startWaiting` starts what waits as long as there is room. It is called by `pump`. */
  useStarter(startWaiting: () => void): void {
    this.#startWaiting = startWaiting;
  }

  /** Called after anything was queued; the end of a task calls it too. */
  pump(): void {
    if (this.#suspended === undefined) this.#startWaiting();
  }

  /** Counts a task until it ends. Its failure is logged. */
  track(task: Promise<void>): void {
    const tracked = task
      .catch((error: unknown) => this.#log.error({ error: errorMessage(error) }, "a task of the index failed"))
      .finally(() => {
        this.#running.delete(tracked);
        this.pump();
      });
    this.#running.add(tracked);
  }

  get count(): number {
    return this.#running.size;
  }

  /** Resolves when one of them ends. Caller guarantees: one runs. */
  async oneEnded(): Promise<void> {
    await Promise.race(this.#running);
  }

  /** Resolves when none is running. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  /** Why nothing that writes begins any more. */
  get suspended(): TrawlError | undefined {
    return this.#suspended;
  }

  suspend(error: TrawlError): void {
    this.#suspended ??= error;
  }

  get isStopping(): boolean {
    return Atomics.load(this.stopWord, 0) !== 0;
  }

  stop(): void {
    Atomics.store(this.stopWord, 0, 1);
  }
}

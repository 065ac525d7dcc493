import { assert } from "../../base/assert.js";
import { callAfter, type PendingCall } from "../../base/deadline.js";
import { errorMessage, type TrawlError } from "../../base/errors.js";
import type { Log } from "../../base/log.js";

/** The index tasks that are running, and the two commands that end them: `stop`, and `suspend` after a failure. */
export class IndexTasks {
  /** Set to 1 when the daemon stops; workers check it. */
  readonly stopWord = new Int32Array(new SharedArrayBuffer(4));
  readonly #log: Log;
  readonly #running = new Set<Promise<void>>();
  #suspended: TrawlError | undefined;
  #paused: (() => TrawlError) | undefined;
  #startWaiting: () => void = () => undefined;

  constructor(log: Log) {
    this.#log = log;
  }

  /** `startWaiting` starts waiting tasks as long as there is room. It is called by `pump`. */
  useStarter(startWaiting: () => void): void {
    this.#startWaiting = startWaiting;
  }

  /** Must be called after anything was queued; also called at the end of a task. */
  pump(): void {
    if (this.refusal === undefined) this.#startWaiting();
  }

  /** Why no work that writes is started at this moment; undefined if it is. */
  get refusal(): TrawlError | undefined {
    return this.#suspended ?? this.#paused?.();
  }

  /** Whether another node of the fleet does this work. */
  get isPaused(): boolean {
    return this.#paused !== undefined;
  }

  /** Until `resume`, nothing is started; what is queued stays so, and who would wait for it gets the reason. */
  pause(reason: () => TrawlError): void {
    this.#paused = reason;
  }

  resume(): void {
    this.#paused = undefined;
    this.pump();
  }

  /** Counts a task until it ends. A failure is logged. */
  track(task: Promise<void>): void {
    const tracked = task
      .catch((error: unknown) => this.#log.error({ error: errorMessage(error) }, "an index task failed"))
      .finally(() => {
        this.#running.delete(tracked);
        this.pump();
      });
    this.#running.add(tracked);
  }

  get count(): number {
    return this.#running.size;
  }

  /** Resolves when one of them ends. Caller guarantees: at least one is running. */
  async oneEnded(): Promise<void> {
    assert(this.#running.size > 0, "somebody waits for a task that is running");
    await Promise.race(this.#running);
  }

  /** Resolves when one of them ends, but no later than after this time. */
  async oneEndedWithin(ms: number): Promise<void> {
    let timer: PendingCall | undefined;
    const late = new Promise<void>((resolve) => {
      timer = callAfter(ms, resolve);
    });
    await Promise.race([late, ...this.#running]);
    timer?.cancel();
  }

  /** Resolves when none is running. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  /** Why no more work that writes is started. */
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

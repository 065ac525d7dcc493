import type { Lane } from "../worker/messages.js";

/** Every n-th slice comes from the exhaustive lane while it waits, so that no flow of interactive searches starves it. */
const exhaustiveShare = 4;

/**
 * Decides which slice runs next. Goals: (1) an interactive search starts as soon as a worker gives way, (2) exhaustive
 * searches share what is left in turn, (3) neither lane starves. Not a goal: fairness by bytes or by client.
 *
 * The pressure word tells running slices that others wait; each gives way between two blocks, after its lane's time.
 * A slice that gave way goes to the end of its lane, which makes each lane a round robin.
 */
export class SliceScheduler {
  readonly #workerCount: number;
  readonly #pressure: Int32Array;
  readonly #waiting: Record<Lane, (() => Promise<void>)[]> = { interactive: [], exhaustive: [] };
  #running = 0;
  #turn = 0;

  constructor(workerCount: number, pressure: Int32Array) {
    this.#workerCount = workerCount;
    this.#pressure = pressure;
  }

  /** Runs `start` when its turn comes. `start` never rejects; its promise ends with the slice. */
  schedule(lane: Lane, start: () => Promise<void>): void {
    this.#waiting[lane].push(start);
    this.#fill();
  }

  get waitingCount(): number {
    return this.#waiting.interactive.length + this.#waiting.exhaustive.length;
  }

  #fill(): void {
    while (this.#running < this.#workerCount) {
      const start = this.#next();
      if (start === undefined) break;
      this.#running++;
      void start().finally(() => {
        this.#running--;
        this.#fill();
      });
    }
    Atomics.store(this.#pressure, 0, this.waitingCount);
  }

  #next(): (() => Promise<void>) | undefined {
    const { interactive, exhaustive } = this.#waiting;
    this.#turn++;
    if (exhaustive.length > 0 && (interactive.length === 0 || this.#turn % exhaustiveShare === 0)) return exhaustive.shift();
    return interactive.shift();
  }
}

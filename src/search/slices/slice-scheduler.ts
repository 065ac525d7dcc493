import { FairQueue } from "../../base/fair-queue.js";
import type { Lane } from "../../protocol/messages.js";
import { pressureWords } from "../../protocol/pressure.js";

/**
 * Every n-th slice is taken from the exhaustive lane while any waits there, so that interactive searches cannot starve
 * it.
 */
const exhaustiveShare = 4;

/**
 * Decides which slice runs next. Goals: (1) an interactive search starts as soon as a worker yields, (2) exhaustive
 * searches share the rest round-robin, (3) neither lane starves, (4) within each lane clients are served round-robin,
 * so that many searches of one client delay another client no more than one search does. Not a goal: fairness by bytes.
 *
 * The pressure words tell running slices that others are waiting; each yields between two blocks, after its lane's
 * time. A slice that yielded goes to the end of its lane, which makes each lane round-robin.
 */
export class SliceScheduler {
  readonly #workerCount: number;
  readonly #pressure: Int32Array;
  readonly #waiting: Readonly<Record<Lane, FairQueue<() => Promise<void>>>> = {
    interactive: new FairQueue(),
    exhaustive: new FairQueue(),
  };
  #running = 0;
  #turn = 0;

  constructor(workerCount: number, pressure: Int32Array) {
    this.#workerCount = workerCount;
    this.#pressure = pressure;
  }

  /** Runs `start` when its turn comes. `start` never rejects; its promise resolves when the slice ends. */
  schedule(lane: Lane, client: string, start: () => Promise<void>): void {
    this.#waiting[lane].push(client, start);
    this.#fill();
  }

  /** Runs `task` when its turn comes, and returns its result. */
  run<T>(lane: Lane, client: string, task: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.schedule(lane, client, () => task().then(resolve, reject));
    });
  }

  waitingIn(lane: Lane): number {
    return this.#waiting[lane].size;
  }

  /** True if no slice is running or waiting. */
  get isIdle(): boolean {
    return this.#running === 0 && this.waitingCount === 0;
  }

  get waitingCount(): number {
    return this.#waiting.interactive.size + this.#waiting.exhaustive.size;
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
    Atomics.store(this.#pressure, pressureWords.all, this.waitingCount);
    Atomics.store(this.#pressure, pressureWords.interactive, this.#waiting.interactive.size);
  }

  #next(): (() => Promise<void>) | undefined {
    const { interactive, exhaustive } = this.#waiting;
    this.#turn++;
    if (exhaustive.size > 0 && (interactive.size === 0 || this.#turn % exhaustiveShare === 0)) return exhaustive.take();
    return interactive.take();
  }
}

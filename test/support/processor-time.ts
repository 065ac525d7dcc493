/** Scheduler statistics of threads: how long each ran, and how long it was runnable without a processor. */
import { readdirSync, readFileSync } from "node:fs";

interface ThreadTimes {
  readonly ranMs: number;
  readonly waitedMs: number;
}

/** Times of a daemon's threads, and of this process's main thread, since the last start of the measurement. */
export interface TimesSince {
  readonly wallMs: number;
  readonly mainRanMs: number;
  /** The time of the other thread that ran longest. */
  readonly workerRanMs: number;
  /** Sum of the waits for a processor: of the main thread, of the other thread that waited longest, of this process. */
  readonly waitedMs: number;
}

export class ProcessorWatch {
  readonly #pid: number;
  #before: ReadonlyMap<number, ThreadTimes> = new Map();
  #ownBefore: ThreadTimes = none;
  #startedMs = 0;

  constructor(pid: number) {
    this.#pid = pid;
  }

  start(): void {
    this.#before = threadsOf(this.#pid);
    this.#ownBefore = timesOf(process.pid, process.pid);
    this.#startedMs = performance.now();
  }

  since(): TimesSince {
    const wallMs = performance.now() - this.#startedMs;
    const own = minus(timesOf(process.pid, process.pid), this.#ownBefore);
    const threads = [...threadsOf(this.#pid)].map(([id, times]) => ({
      id,
      ...minus(times, this.#before.get(id) ?? none),
    }));
    const main = threads.find(({ id }) => id === this.#pid) ?? none;
    const others = threads.filter(({ id }) => id !== this.#pid);
    const most = (field: "ranMs" | "waitedMs"): number => Math.max(0, ...others.map((times) => times[field]));
    return {
      wallMs,
      mainRanMs: main.ranMs,
      workerRanMs: most("ranMs"),
      waitedMs: main.waitedMs + most("waitedMs") + own.waitedMs,
    };
  }
}

const none: ThreadTimes = { ranMs: 0, waitedMs: 0 };

function minus(later: ThreadTimes, earlier: ThreadTimes): ThreadTimes {
  return { ranMs: later.ranMs - earlier.ranMs, waitedMs: later.waitedMs - earlier.waitedMs };
}

function threadsOf(pid: number): Map<number, ThreadTimes> {
  return new Map(readdirSync(`/proc/${pid}/task`).map((id) => [Number(id), timesOf(pid, Number(id))]));
}

/** Zeros for a thread that has ended. */
function timesOf(pid: number, thread: number): ThreadTimes {
  try {
    const [ranNs, waitedNs] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "latin1").split(" ").map(Number);
    return { ranMs: (ranNs ?? 0) / 1e6, waitedMs: (waitedNs ?? 0) / 1e6 };
  } catch {
    return none;
  }
}

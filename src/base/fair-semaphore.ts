import { TrawlError } from "./errors.js";
import { FairQueue } from "./fair-queue.js";

/** Bounds of a `FairSemaphore`. One client alone may reach `clientCountMax` and `clientWaitingMax` only. */
export interface ShareLimits {
  readonly countMax: number;
  readonly clientCountMax: number;
  readonly waitingMax: number;
  readonly clientWaitingMax: number;
}

/** Whose bound is reached. */
export type FullShare = "client" | "all";

/** Idempotent. */
export type Release = () => void;

interface Waiter {
  readonly client: string;
  readonly clientCountMax: number;
  readonly start: (release: Release) => void;
}

/**
 * A semaphore with a limit on all permits, a lower limit on the permits of one client, and a bounded queue that serves
 * clients round-robin. No client can starve the others, whatever it sends and however slowly it reads.
 */
export class FairSemaphore {
  readonly #limits: ShareLimits;
  readonly #queue = new FairQueue<Waiter>();
  readonly #countOf = new Map<string, number>();
  #count = 0;

  constructor(limits: ShareLimits) {
    this.#limits = limits;
  }

  /** Permits that are held, those included whose work is about to start. */
  get count(): number {
    return this.#count;
  }

  get waitingCount(): number {
    return this.#queue.size;
  }

  /** Which bound refuses one more piece of work of this client; undefined when it may run, or wait. */
  refusal(client: string): FullShare | undefined {
    const { clientCountMax, clientWaitingMax, waitingMax } = this.#limits;
    if (this.#mayRun(client, clientCountMax)) return undefined;
    if (this.#queue.count(client) >= clientWaitingMax) return "client";
    return this.#queue.size >= waitingMax ? "all" : undefined;
  }

  /**
   * Calls `start` with a permit, before it returns when one is free, otherwise when the client's turn comes. The
   * returned function gives up a permit that has not come yet. `clientCountMax` may be lower for work that should leave
   * more to others. Who wants the bounds of the queue to hold asks `refusal` first.
   */
  acquire(
    client: string,
    start: (release: Release) => void,
    clientCountMax: number = this.#limits.clientCountMax,
  ): Release {
    if (this.#mayRun(client, clientCountMax)) {
      start(this.#permit(client));
      return () => undefined;
    }
    const waiter = { client, clientCountMax, start };
    this.#queue.push(client, waiter);
    return () => this.#queue.remove(client, waiter);
  }

  /** Starts all that wait, beyond the limits: what is started then is to end at once. */
  startAll(): void {
    for (let waiter = this.#queue.take(); waiter !== undefined; waiter = this.#queue.take())
      waiter.start(this.#permit(waiter.client));
  }

  #mayRun(client: string, clientCountMax: number): boolean {
    return this.#count < this.#limits.countMax && (this.#countOf.get(client) ?? 0) < clientCountMax;
  }

  #permit(client: string): Release {
    this.#count++;
    this.#countOf.set(client, (this.#countOf.get(client) ?? 0) + 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#release(client);
    };
  }

  #release(client: string): void {
    this.#count--;
    const left = (this.#countOf.get(client) ?? 0) - 1;
    if (left > 0) this.#countOf.set(client, left);
    else this.#countOf.delete(client);
    this.#startNext();
  }

  /**
   * In a later iteration of the event loop, so that a long queue of work that ends at once is neither a recursion nor a
   * stall.
   */
  #startNext(): void {
    const waiter = this.#queue.take((client, { clientCountMax }) => this.#mayRun(client, clientCountMax));
    if (waiter === undefined) return;
    const release = this.#permit(waiter.client);
    setImmediate(() => waiter.start(release));
  }
}

/** The error of a client that is refused. `what` is a plural, as in "searches". */
export function refusalError(full: FullShare, what: string): TrawlError {
  return new TrawlError(full === "all" ? "overloaded" : "too-many-requests", refusalMessage(full, what));
}

/** The same without an error, whose stack takes 18 µs: refusals come by the thousand. */
export function refusalMessage(full: FullShare, what: string): string {
  if (full === "all") return `Too many ${what} run or wait. Try again in a moment.`;
  return `Too many ${what} of yours run or wait; a share is left to other clients (clients.sharePercent). Try again in a moment.`;
}

/** The bounds for `countMax` permits, one client having so many percent. */
export function shareLimits(countMax: number, waitingMax: number, percent: number): ShareLimits {
  return {
    countMax,
    clientCountMax: share(countMax, percent),
    waitingMax,
    clientWaitingMax: share(waitingMax, percent),
  };
}

/** What one client may have of `countMax`: `percent` of it, at least one, and not all of it below 100. */
export function share(countMax: number, percent: number): number {
  return Math.max(1, Math.floor((countMax * percent) / 100));
}

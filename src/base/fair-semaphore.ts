import { TrawlError } from "./errors.js";

/** Limits of a `FairSemaphore`. A single client is limited to `clientCountMax` and `clientWaitingMax`. */
export interface ShareLimits {
  readonly countMax: number;
  readonly clientCountMax: number;
  readonly waitingMax: number;
  readonly clientWaitingMax: number;
}

/** The permits of a `FairSemaphore` that one client may hold, and how many more it can take. */
export interface ClientRoom {
  readonly countMax: number;
  readonly left: number;
}

/** Which limit has been reached. */
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

  /** Permits held, including those whose work is about to start. */
  get count(): number {
    return this.#count;
  }

  get waitingCount(): number {
    return this.#queue.size;
  }

  /** The limit that refuses another piece of work of this client; undefined if it may run or be queued. */
  refusal(client: string): FullShare | undefined {
    const { clientCountMax, clientWaitingMax, waitingMax } = this.#limits;
    if (this.#mayRun(client, clientCountMax)) return undefined;
    if (this.#queue.count(client) >= clientWaitingMax) return "client";
    return this.#queue.size >= waitingMax ? "all" : undefined;
  }

  /** How many pieces of work of one client may run or wait, and how many more of this client. */
  room(client: string): ClientRoom {
    const countMax = this.#limits.clientCountMax + this.#limits.clientWaitingMax;
    const used = (this.#countOf.get(client) ?? 0) + this.#queue.count(client);
    return { countMax, left: this.refusal(client) === undefined ? Math.max(0, countMax - used) : 0 };
  }

  /**
   * Calls `start` with a permit: before it returns if one is free, otherwise when the client's turn comes. The returned
   * function releases the permit, or cancels the request for it. `clientCountMax` may be lower than the default for
   * work that should leave more to others. Callers that want the limits of the queue to be enforced call `refusal`
   * first.
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

  /** Starts everything in the queue, exceeding the limits: the started work must end immediately. */
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
   * Runs in a later iteration of the event loop, so that a long queue of work that ends immediately causes neither
   * recursion nor a stall.
   */
  #startNext(): void {
    const waiter = this.#queue.take((client, { clientCountMax }) => this.#mayRun(client, clientCountMax));
    if (waiter === undefined) return;
    const release = this.#permit(waiter.client);
    setImmediate(() => waiter.start(release));
  }
}

/** The error for a client that is refused. `what` is a plural, as in "searches". */
export function refusalError(full: FullShare, what: string): TrawlError {
  return new TrawlError(full === "all" ? "overloaded" : "too-many-requests", refusalMessage(full, what));
}

/**
 * Like `refusalError`, but only the message: creating an error with its stack takes 18 µs, and there may be thousands
 * of refusals.
 */
export function refusalMessage(full: FullShare, what: string): string {
  if (full === "all") return `Too many ${what} are running or waiting. Try again in a moment.`;
  return `Too many of your ${what} are running or waiting; part of the limit is reserved for other clients (clients.sharePercent). Try again in a moment.`;
}

/** The limits for `countMax` permits, of which one client may use `percent`. */
export function shareLimits(countMax: number, waitingMax: number, percent: number): ShareLimits {
  return {
    countMax,
    clientCountMax: share(countMax, percent),
    waitingMax,
    clientWaitingMax: share(waitingMax, percent),
  };
}

/**
 * How much of `countMax` one client may use: `percent` of it, at least one, and less than all of it if `percent` is
 * below 100.
 */
export function share(countMax: number, percent: number): number {
  return Math.max(1, Math.floor((countMax * percent) / 100));
}

/**
 * A queue that is fair between clients: clients are served round-robin, each in the order of its items. A client that
 * queues a thousand items delays another client by one item at a time.
 */
export class FairQueue<Item> {
  /**
   * The client to be served next comes first. Each has at least one item; the oldest item comes first. Not in a `Set`, for the
   * reason that `LiveMap` gives.
   */
  readonly #items = new Map<string, Item[]>();
  #size = 0;

  /** The number of queued items. */
  get size(): number {
    return this.#size;
  }

  count(client: string): number {
    return this.#items.get(client)?.length ?? 0;
  }

  /** The item must not be in the queue yet. */
  push(client: string, item: Item): void {
    const items = this.#items.get(client);
    if (items === undefined) this.#items.set(client, [item]);
    else items.push(item);
    this.#size++;
  }

  /** Removes and returns the next item for which `isReady` is true; undefined if there is none. */
  take(isReady: (client: string, item: Item) => boolean = () => true): Item | undefined {
    for (const [client, items] of this.#items) {
      for (const item of items) {
        if (!isReady(client, item)) continue;
        this.remove(client, item);
        this.#putLast(client, items);
        return item;
      }
    }
    return undefined;
  }

  /** Does nothing if the item is not queued. */
  remove(client: string, item: Item): void {
    const items = this.#items.get(client);
    const at = items?.indexOf(item) ?? -1;
    if (items === undefined || at < 0) return;
    items.splice(at, 1);
    this.#size--;
    if (items.length === 0) this.#items.delete(client);
  }

  #putLast(client: string, items: Item[]): void {
    if (items.length === 0) return;
    this.#items.delete(client);
    this.#items.set(client, items);
  }
}

import type { PendingCall } from "../../base/deadline.js";
import type { TrawlError } from "../../base/errors.js";

export type SyncResult = "unchanged" | "indexed";

interface Waiter {
  readonly resolve: (result: SyncResult) => void;
  readonly reject: (error: TrawlError) => void;
}

/** When one repository is synced next, which kind of sync is needed, and who is waiting for it. */
export class Schedule {
  /** Number of consecutive syncs that changed nothing, or failed. */
  quietCount = 0;
  timer: PendingCall | undefined = undefined;
  /** Whether a task of this process has taken it. */
  wasTaken = false;
  /** True until all of it has been indexed again. */
  rebuild = false;
  /** True until a task that fetches everything again has started. */
  recreate = false;
  /**
   * True from the time at which somebody asks for a sync, probably because of a push, until its task starts; again if that is not completed.
   */
  isRequested = false;
  /** The same, if somebody has asked for a sync after which the repository may be empty. */
  acceptsLoss = false;
  /** Callers that wait for the next task to start, and callers that wait for the running one to end. */
  readonly #waiters: Waiter[] = [];
  readonly #attending: Waiter[] = [];

  /** Resolves when a task that starts after this call has ended. */
  wait(): Promise<SyncResult> {
    return new Promise((resolve, reject) => this.#waiters.push({ resolve, reject }));
  }

  get hasWaiters(): boolean {
    return this.#waiters.length > 0;
  }

  /** A task starts: waiting callers get its result. */
  attend(): void {
    this.#attending.push(...this.#waiters.splice(0));
  }

  /** The task was not completed: they wait for the next one. */
  waitAgain(): void {
    this.#waiters.push(...this.#attending.splice(0));
  }

  resolveAttending(result: SyncResult): void {
    for (const waiter of this.#attending.splice(0)) waiter.resolve(result);
  }

  rejectAttending(error: TrawlError): void {
    for (const waiter of this.#attending.splice(0)) waiter.reject(error);
  }

  rejectWaiters(error: TrawlError): void {
    for (const waiter of this.#waiters.splice(0)) waiter.reject(error);
  }
}

import { callEvery, type PendingCall } from "../../base/deadline.js";
import type { Viewer } from "../../model/viewer.js";

/** What the right of a request rests on. */
export type LeaseKey = `token/${number}` | `session/${string}` | `user/${number}`;

/** On what a request was let in. */
export interface LeaseTerms {
  readonly viewer: Viewer;
  readonly keys: readonly LeaseKey[];
  /** Milliseconds of the wall clock; Infinity for never. */
  readonly expiresMs: number;
}

interface Lease extends LeaseTerms {
  readonly onEnd: (reason: string) => void;
}

/** How often running requests are looked at for credentials that have expired. */
const expiryCheckMs = 250;

/**
 * The requests that are being answered, and on what each was let in. A credential is checked once, when its request
 * comes; what ends it later ends the answers that rest on it.
 *
 * There are as many as the server has open responses. Ends that come together, as of a user and its tokens, take one
 * look at all of them.
 */
export class Leases {
  readonly #open = new Set<Lease>();
  readonly #ended = new Map<LeaseKey, string>();
  readonly #expiryCheck: PendingCall;

  constructor() {
    this.#expiryCheck = callEvery(expiryCheckMs, () => this.#endExpired(new Date().getTime()));
  }

  /** `onEnd` is called once, with a sentence, unless the returned function was called before. */
  open(terms: LeaseTerms, onEnd: (reason: string) => void): () => void {
    const lease: Lease = { ...terms, onEnd };
    this.#open.add(lease);
    return () => this.#open.delete(lease);
  }

  /** Ends what rests on the key, in the next microtask. */
  end(key: LeaseKey, reason: string): void {
    if (this.#open.size === 0) return;
    if (this.#ended.size === 0) queueMicrotask(() => this.#endAll());
    this.#ended.set(key, reason);
  }

  /** Ends the requests of all viewers of whom the test holds. */
  endMatching(test: (viewer: Viewer) => boolean, reason: string): void {
    for (const lease of [...this.#open]) if (test(lease.viewer)) this.#end(lease, reason);
  }

  close(): void {
    this.#expiryCheck.cancel();
  }

  #endAll(): void {
    for (const lease of [...this.#open]) {
      const key = lease.keys.find((each) => this.#ended.has(each));
      if (key !== undefined) this.#end(lease, this.#ended.get(key) ?? "");
    }
    this.#ended.clear();
  }

  #endExpired(nowMs: number): void {
    for (const lease of [...this.#open]) if (lease.expiresMs <= nowMs) this.#end(lease, "The credential has expired.");
  }

  #end(lease: Lease, reason: string): void {
    if (this.#open.delete(lease)) lease.onEnd(reason);
  }
}

import { callEvery, type PendingCall } from "../../base/deadline.js";
import type { Viewer } from "../../model/viewer.js";

/** What the authorization of a request depends on. */
export type LeaseKey = `token/${number}` | `session/${string}` | `user/${number}`;

/** The basis on which a request was authorized. */
export interface LeaseTerms {
  readonly viewer: Viewer;
  readonly keys: readonly LeaseKey[];
  /** Milliseconds of the wall clock; Infinity for never. */
  readonly expiresMs: number;
}

interface Lease extends LeaseTerms {
  readonly onEnd: (reason: string) => void;
}

/** How often running requests are checked for expired credentials. */
const expiryCheckMs = 250;

/**
 * The requests in progress, and the basis on which each was authorized. A credential is checked once, when its request
 * arrives; when it ends later, the responses that depend on it are ended.
 *
 * There are as many as the server has open responses. Ends that occur together, as of a user and its tokens, are
 * handled in one pass over all of them.
 */
export class Leases {
  readonly #open = new Set<Lease>();
  readonly #ended = new Map<LeaseKey, string>();
  readonly #expiryCheck: PendingCall;

  constructor() {
    this.#expiryCheck = callEvery(expiryCheckMs, () => this.#endExpired(new Date().getTime()));
  }

  get count(): number {
    return this.#open.size;
  }

  /** `onEnd` is called once, with a sentence, unless the returned function was called before. */
  open({ viewer, keys, expiresMs }: LeaseTerms, onEnd: (reason: string) => void): () => void {
    const lease: Lease = { viewer, keys, expiresMs, onEnd };
    this.#open.add(lease);
    return () => this.#open.delete(lease);
  }

  /** Ends the requests that depend on the key, in the next microtask. */
  end(key: LeaseKey, reason: string): void {
    if (this.#open.size === 0) return;
    if (this.#ended.size === 0) queueMicrotask(() => this.#endAll());
    this.#ended.set(key, reason);
  }

  /** Ends the requests of all viewers for which the test is true. */
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

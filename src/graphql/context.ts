import { monotonicMs } from "../base/deadline.js";
import { TrawlError } from "../base/errors.js";
import type { Log } from "../base/log.js";
import type { Catalog } from "../catalog/catalog.js";
import type { RepositoryStatus } from "../model/repository-status.js";
import type { Viewer } from "../model/viewer.js";
import type { Searcher } from "../search/searcher.js";
import type { ReadPool } from "../worker/pools.js";
import { GitReads, type GitCache } from "./git-reads.js";

/** What the resolvers of all requests share. */
export interface GraphqlServices {
  readonly catalog: Catalog;
  readonly searcher: Searcher;
  readonly reads: ReadPool;
  readonly gitCache: GitCache;
  readonly log: Log;
  /** How each repository stands, its sync included. */
  readonly statuses: () => readonly RepositoryStatus[];
  /** Begins absolute URLs; without a slash at the end. */
  readonly externalUrl: string;
  /** The configuration in force, as JSON with comments. */
  readonly configuration: string;
  /** Tells instances apart. */
  readonly siteId: string;
}

/** One request: who asks, for how long, and what it has read already. */
export class RequestContext {
  readonly services: GraphqlServices;
  readonly viewer: Viewer;
  /** Word 0 becomes 1 when nobody waits for the answer. Workers look at it. */
  readonly stop = new Int32Array(new SharedArrayBuffer(4));
  readonly git: GitReads;
  readonly #deadlineMs: number;
  readonly #onCancel = new Set<() => void>();

  constructor(services: GraphqlServices, viewer: Viewer, timeoutMs: number) {
    this.services = services;
    this.viewer = viewer;
    this.git = new GitReads(services.reads, services.gitCache, this);
    this.#deadlineMs = monotonicMs() + timeoutMs;
  }

  /** Milliseconds that this request may still take; at least one. */
  get leftMs(): number {
    return Math.max(1, this.#deadlineMs - monotonicMs());
  }

  get isCancelled(): boolean {
    return Atomics.load(this.stop, 0) !== 0;
  }

  /** The client has left: what runs for it ends, and nothing new begins. Idempotent. */
  cancel(): void {
    Atomics.store(this.stop, 0, 1);
    for (const callback of this.#onCancel) callback();
    this.#onCancel.clear();
  }

  /** Calls back when the client leaves, unless the returned function was called before. */
  onCancel(callback: () => void): () => void {
    if (this.isCancelled) callback();
    else this.#onCancel.add(callback);
    return () => this.#onCancel.delete(callback);
  }

  /** The request is answered. What still runs for it, because another field failed, has nobody to answer. */
  close(): void {
    this.cancel();
  }

  requireSiteAdmin(): void {
    if (!this.viewer.isSiteAdmin) throw new TrawlError("forbidden", "must be site admin");
  }
}

import { callAfter, type PendingCall } from "../../base/deadline.js";
import type { BaseRevisions } from "../../model/match-change.js";
import { maySee } from "../../catalog/visible-tables.js";
import type { Repository } from "../../model/repository.js";
import type { ChangeListener, Outlet } from "../../model/search-listener.js";
import type { Progress } from "../../model/stream-events.js";
import type { Viewer } from "../../model/viewer.js";
import type { ChangeOutcome, ChangeProgress, ChangeRequest } from "./change-search.js";
import type { SearchReceipt } from "../report/search-receipt.js";
import type { SearchChanges } from "../source/found-changes.js";

/** Watching streams of one client, and of all. */
const watchersPerClientMax = 16;
const watchersMax = 256;

/** A stream ends after this time; its client continues with the last receipt, and is authenticated again. */
const lifetimeMs = 15 * 60_000;

/** Time between the starts of two searches of one stream, so that many syncs cause few searches. */
const intervalMs = 1_000;

/**
 * So long the first search of a stream waits for nodes that do not listen yet. One that listens later may have flipped before: then it is
 * searched again.
 */
const listenWaitMs = 100;

/** Until a search is repeated that could not ask all nodes: twice as long each time, since what it missed nobody tells again. */
const retryMs = { min: 2_000, max: 60_000 } as const;

/** A progress event is sent at least this often, which shows proxies that the stream is alive. */
const keepaliveMs = 15_000;

export interface WatchServices {
  readonly search: {
    /** Why no search is admitted at the moment; undefined if one is. */
    admit(client: string): unknown;
    sendChanges(request: ChangeRequest, sink: ChangeListener, progress: ChangeProgress): Promise<ChangeOutcome>;
    /** Nobody will ask for this receipt. */
    forgetReceipt(receipt: SearchReceipt): void;
  };
  /**
   * Calls back whenever repositories have been indexed that the viewer may see; of each node once it tells that, with whether all of them
   * do. Returns a function that ends it. If it throws, nothing is left of it.
   */
  watchFlips(viewer: Viewer, onFlip: () => void, onListening: (areAll: boolean) => void): () => void;
}

/** Who is called with each repository that has become searchable at other commits. */
type Watchers = Set<(repository: Repository) => void>;

/** Calls back after each flip of a repository that the viewer may see: one that it may not see causes no work. */
export function watchFlips(watchers: Watchers, viewer: Viewer, onFlip: () => void): () => void {
  const generations = new Map<number, number>();
  const watcher = (repository: Repository): void => {
    const { id, generation } = repository;
    if (!maySee(repository, viewer)) return;
    // A record also changes when nothing was indexed, as after each fetch.
    if (generations.get(id) === generation) return;
    generations.set(id, generation);
    onFlip();
  };
  watchers.add(watcher);
  return () => void watchers.delete(watcher);
}

/** Streams that wait for changes: counts them, and limits their number. */
export class ChangeWatches {
  readonly #services: WatchServices;
  readonly #countOf = new Map<string, number>();
  #count = 0;

  constructor(services: WatchServices) {
    this.#services = services;
  }

  /** Why no further stream of the client is accepted; undefined if one is. */
  refusal(client: string): { readonly status: 429 | 503; readonly message: string } | undefined {
    if ((this.#countOf.get(client) ?? 0) >= watchersPerClientMax)
      return { status: 429, message: `You have ${watchersPerClientMax} streams that wait for changes: end one first.` };
    if (this.#count < watchersMax) return undefined;
    return { status: 503, message: `Too many streams wait for changes (${watchersMax}). Try again later.` };
  }

  /**
   * Sends what changed since the revisions of the request, then what changes whenever repositories have been indexed.
   * Resolves when the client has left, a search has failed, or the stream is as old as it may be.
   */
  async run(request: ChangeRequest, sink: ChangeListener): Promise<void> {
    const { client, viewer } = request;
    const { search } = this.#services;
    const flips = new Flips(sink, this.#services, viewer);
    this.#add(client, 1);
    const keepalive = new Keepalive(sink);
    let last: SearchReceipt | undefined;
    try {
      await flips.begin();
      let since = request.since;
      let progress: ChangeProgress = "first";
      let waitMs: number = retryMs.min;
      do {
        if (!(await this.#isAdmitted(client, flips))) return;
        const { changes, sent, receipt } = await search.sendChanges(
          { ...request, since, isBase: true },
          sink,
          progress,
        );
        if (receipt !== undefined) {
          // The client goes on with the last one that it has.
          if (last !== undefined) search.forgetReceipt(last);
          last = receipt;
        }
        if (changes === undefined) return;
        since = advance(since, changes);
        keepalive.record(sent);
        progress = changes.isPartial ? "changes-of-all" : "changes";
        if (changes.isPartial) flips.flipAfter(waitMs);
        waitMs = changes.isPartial ? Math.min(2 * waitMs, retryMs.max) : retryMs.min;
      } while (await flips.next());
    } finally {
      flips.end();
      keepalive.end();
      this.#add(client, -1);
    }
  }

  /** Waits while too many searches run; false if the stream has ended meanwhile. */
  async #isAdmitted(client: string, flips: Flips): Promise<boolean> {
    while (!flips.isEnded && this.#services.search.admit(client) !== undefined) await flips.pause();
    return !flips.isEnded;
  }

  #add(client: string, change: 1 | -1): void {
    this.#count += change;
    const count = (this.#countOf.get(client) ?? 0) + change;
    if (count === 0) this.#countOf.delete(client);
    else this.#countOf.set(client, count);
  }
}

/** Repeats the last progress while nothing happens. */
class Keepalive {
  readonly #sink: ChangeListener;
  #last: Progress | undefined;
  #pending = callAfter(0, () => undefined);

  constructor(sink: ChangeListener) {
    this.#sink = sink;
  }

  /** `sent` is the progress that was sent just now; undefined if none was. */
  record(sent: Progress | undefined): void {
    this.#last = sent ?? this.#last;
    this.#schedule();
  }

  end(): void {
    this.#pending.cancel();
  }

  #schedule(): void {
    this.#pending.cancel();
    this.#pending = callAfter(keepaliveMs, () => {
      if (this.#sink.pendingBytes === 0 && this.#last !== undefined) this.#sink.progress(this.#last);
      this.#schedule();
    });
  }
}

/** Waits until repositories have been indexed. */
class Flips {
  readonly #unwatch: () => void;
  readonly #lifetime = callAfter(lifetimeMs, () => this.end());
  #startedMs = performance.now();
  #hasFlipped = false;
  #areListening = false;
  #hasBegun = false;
  #later: PendingCall = { cancel: () => undefined };
  #wake: () => void = () => undefined;
  isEnded = false;

  constructor(sink: Outlet, services: Pick<WatchServices, "watchFlips">, viewer: Viewer) {
    try {
      this.#unwatch = services.watchFlips(
        viewer,
        () => this.#flip(),
        (areAll) => this.#listen(areAll),
      );
    } catch (error) {
      this.#lifetime.cancel();
      throw error;
    }
    sink.onClosed(() => this.end());
  }

  #flip(): void {
    this.#hasFlipped = true;
    this.#wake();
  }

  #listen(areAll: boolean): void {
    if (this.#hasBegun) return this.#flip();
    this.#areListening = areAll;
    if (areAll) this.#wake();
  }

  /** Resolves when all nodes listen, or after some time: a search that begins then finds what has flipped before. */
  async begin(): Promise<void> {
    if (!this.#areListening && !this.isEnded) await this.#sleep(listenWaitMs);
    this.#hasBegun = true;
    this.#hasFlipped = false;
    this.#startedMs = performance.now();
  }

  /** As if something flipped then, unless something does before. */
  flipAfter(timeMs: number): void {
    this.#later.cancel();
    this.#later = callAfter(timeMs, () => this.#flip());
  }

  /** Resolves after the next flip, or after one since the last call; with false when the stream has ended. */
  async next(): Promise<boolean> {
    while (!this.#hasFlipped && !this.isEnded) await this.#sleep(undefined);
    for (let leftMs = this.#leftMs; leftMs > 0 && !this.isEnded; leftMs = this.#leftMs) await this.#sleep(leftMs);
    this.#hasFlipped = false;
    this.#later.cancel();
    this.#startedMs = performance.now();
    return !this.isEnded;
  }

  pause(): Promise<void> {
    return this.#sleep(intervalMs);
  }

  end(): void {
    this.isEnded = true;
    this.#lifetime.cancel();
    this.#later.cancel();
    this.#unwatch();
    this.#wake();
  }

  get #leftMs(): number {
    return this.#startedMs + intervalMs - performance.now();
  }

  /** Resolves at a flip, at the end, or after the time. */
  async #sleep(timeMs: number | undefined): Promise<void> {
    let pending: { cancel(): void } | undefined;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      if (timeMs !== undefined) pending = callAfter(timeMs, resolve);
    });
    pending?.cancel();
  }
}

/** The base of the next search: what was compared is at its newer state. */
export function advance(base: BaseRevisions, { changes, repositoriesGone }: SearchChanges): BaseRevisions {
  if (changes.length + repositoriesGone.length === 0) return base;
  const next = new Map(base);
  for (const name of repositoriesGone) next.delete(name);
  for (const { repository, revision, commit = "" } of changes)
    next.set(repository.name, new Map(next.get(repository.name)).set(revision, commit));
  return next;
}

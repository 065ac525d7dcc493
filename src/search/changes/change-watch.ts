import { callAfter } from "../../base/deadline.js";
import type { BaseRevisions } from "../../model/match-change.js";
import { maySee } from "../../catalog/visible-tables.js";
import type { Repository } from "../../model/repository.js";
import type { ChangeListener, Outlet } from "../../model/search-listener.js";
import type { Progress } from "../../model/stream-events.js";
import type { Viewer } from "../../model/viewer.js";
import type { ChangeOutcome, ChangeProgress, ChangeRequest } from "./change-search.js";
import type { SearchChanges } from "../source/found-changes.js";

/** Watching streams of one client, and of all. */
const watchersPerClientMax = 16;
const watchersMax = 256;

/** A stream ends after this time; its client continues with the last receipt, and is authenticated again. */
const lifetimeMs = 15 * 60_000;

/** Time between the starts of two searches of one stream, so that many syncs cause few searches. */
const intervalMs = 1_000;

/** A progress event is sent at least this often, which shows proxies that the stream is alive. */
const keepaliveMs = 15_000;

export interface WatchServices {
  readonly search: {
    /** Why no search is admitted at the moment; undefined if one is. */
    admit(client: string): unknown;
    sendChanges(request: ChangeRequest, sink: ChangeListener, progress: ChangeProgress): Promise<ChangeOutcome>;
  };
  /** Called with each repository that has become searchable at other commits. */
  readonly watchers: Set<(repository: Repository) => void>;
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
    this.#add(client, 1);
    const flips = new Flips(sink, this.#services.watchers, viewer);
    const keepalive = new Keepalive(sink);
    try {
      let since = request.since;
      let progress: "first" | "changes" = "first";
      do {
        if (!(await this.#isAdmitted(client, flips))) return;
        const { changes, sent } = await this.#services.search.sendChanges({ ...request, since }, sink, progress);
        if (changes === undefined) return;
        since = advance(since, changes);
        keepalive.record(sent);
        progress = "changes";
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

/** Waits until repositories have been indexed. One that the viewer may not see wakes nobody and causes no work. */
class Flips {
  readonly #watchers: WatchServices["watchers"];
  readonly #viewer: Viewer;
  readonly #generations = new Map<number, number>();
  readonly #watcher = (repository: Repository): void => {
    const { id, generation } = repository;
    if (!maySee(repository, this.#viewer)) return;
    // A record also changes when nothing was indexed, as after each fetch.
    if (this.#generations.get(id) === generation) return;
    this.#generations.set(id, generation);
    this.#hasFlipped = true;
    this.#wake();
  };
  readonly #lifetime = callAfter(lifetimeMs, () => this.end());
  #startedMs = performance.now();
  #hasFlipped = false;
  #wake: () => void = () => undefined;
  isEnded = false;

  constructor(sink: Outlet, watchers: WatchServices["watchers"], viewer: Viewer) {
    this.#watchers = watchers;
    this.#viewer = viewer;
    watchers.add(this.#watcher);
    sink.onClosed(() => this.end());
  }

  /** Resolves after the next flip, or after one since the last call; with false when the stream has ended. */
  async next(): Promise<boolean> {
    while (!this.#hasFlipped && !this.isEnded) await this.#sleep(undefined);
    for (let leftMs = this.#leftMs; leftMs > 0 && !this.isEnded; leftMs = this.#leftMs) await this.#sleep(leftMs);
    this.#hasFlipped = false;
    this.#startedMs = performance.now();
    return !this.isEnded;
  }

  pause(): Promise<void> {
    return this.#sleep(intervalMs);
  }

  end(): void {
    this.isEnded = true;
    this.#lifetime.cancel();
    this.#watchers.delete(this.#watcher);
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

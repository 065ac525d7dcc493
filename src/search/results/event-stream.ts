import { isDeepStrictEqual } from "node:util";
import { callEvery, type PendingCall } from "../../base/deadline.js";
import { countBytes, type JsonElements, type SearchListener } from "../../model/search-listener.js";
import type { Alert, Filter, Progress } from "../../model/stream-events.js";
import type { ClientPace } from "../slices/source-listener.js";

/** Interval between two flushes of accumulated matches. */
const flushMs = 200;

/** A progress event is sent at least this often, which also shows proxies that the stream is alive. */
const keepaliveMs = 5_000;

/** Matches are sent immediately when this many bytes have accumulated. */
const gatheredBytesMax = 32 * 1024;

/** State that changes while a search runs. */
export interface StreamState {
  filters(final: boolean): readonly Filter[];
  progress(done: boolean): Progress;
}

/**
 * Passes a search's results to its listener in the order and at the pace that clients expect: the first results
 * immediately, preceded by filters; then every 200 ms what has accumulated; the progress when something has changed, and
 * every 5 s in any case. `finish` passes the rest in its fixed order.
 */
export class EventStream implements ClientPace {
  readonly #listener: SearchListener;
  readonly #state: StreamState;
  readonly #timers: PendingCall[];
  #gathered: JsonElements[] = [];
  #gatheredBytes = 0;
  #sentFilters: readonly Filter[] | undefined;
  #sentProgress: Progress | undefined;
  /** When the first matches were passed on, on the clock of `performance.now()`; undefined if none were. */
  firstMatchesMs: number | undefined;

  constructor(listener: SearchListener, state: StreamState) {
    this.#listener = listener;
    this.#state = state;
    this.#timers = [callEvery(flushMs, () => this.#tick()), callEvery(keepaliveMs, () => this.#sendProgress(true))];
    listener.onClosed(() => this.#stopTimers());
  }

  get unreadBytes(): number {
    return this.#gatheredBytes + this.#listener.pendingBytes;
  }

  get pendingBytes(): number {
    return this.#listener.pendingBytes;
  }

  addMatches(elements: JsonElements): void {
    this.#gathered.push(elements);
    this.#gatheredBytes += countBytes([elements]);
    if (this.firstMatchesMs === undefined) this.#sendFilters(false);
    if (this.firstMatchesMs === undefined || this.#gatheredBytes >= gatheredBytesMax) this.#sendMatches();
  }

  finish(alert: Alert | undefined, error: string | undefined): void {
    this.#stopTimers();
    this.#sendFilters(true);
    this.#sendMatches();
    this.#listener.progress(this.#state.progress(true));
    if (alert !== undefined) this.#listener.alert(alert);
    if (error !== undefined) this.#listener.error(error);
    this.#listener.done();
  }

  #tick(): void {
    // A client that does not read gets no further statistics: they would only accumulate in memory.
    if (this.#listener.pendingBytes > 0) return;
    if (this.firstMatchesMs !== undefined) this.#sendFilters(false);
    this.#sendMatches();
    this.#sendProgress(false);
  }

  #sendMatches(): void {
    if (this.#gathered.length === 0) return;
    const parts = this.#gathered;
    this.#gathered = [];
    this.#gatheredBytes = 0;
    this.#listener.matches(parts);
    this.firstMatchesMs ??= performance.now();
  }

  #sendFilters(final: boolean): void {
    const filters = this.#state.filters(final);
    if (filters.length === 0) return;
    if (!final && isDeepStrictEqual(filters, this.#sentFilters)) return;
    this.#sentFilters = filters;
    this.#listener.filters(filters);
  }

  #sendProgress(always: boolean): void {
    if (this.#listener.pendingBytes > 0) return;
    const progress = this.#state.progress(false);
    const { durationMs } = progress;
    const isKnown = this.#sentProgress && isDeepStrictEqual(progress, { ...this.#sentProgress, durationMs });
    if (!always && isKnown === true) return;
    this.#sentProgress = progress;
    this.#listener.progress(progress);
  }

  #stopTimers(): void {
    for (const timer of this.#timers) timer.cancel();
  }
}

import { callEvery, type PendingCall } from "../../base/deadline.js";
import { bytesOfPart, type EventPart, type EventSink, type PooledBytes } from "../../model/event-sink.js";
import type { Alert, Filter, Progress, StreamError } from "../../model/stream-events.js";

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

const comma = Buffer.from(",");

/**
 * Sends a search's results to a sink in the order and at the pace that clients expect: the first results immediately,
 * preceded by filters; then every 200 ms what has accumulated; a progress event when something has changed, and every 5
 * s in any case. `finish` sends the rest in its fixed order and ends the sink.
 */
export class EventStream {
  readonly #sink: EventSink;
  readonly #state: StreamState;
  readonly #onFirstMatches: () => void;
  readonly #timers: PendingCall[];
  #gathered: (Uint8Array | PooledBytes)[] = [];
  #gatheredBytes = 0;
  #sentFilters = "";
  #sentProgress = "";
  #hasSentMatches = false;

  constructor(sink: EventSink, state: StreamState, onFirstMatches: () => void) {
    this.#sink = sink;
    this.#state = state;
    this.#onFirstMatches = onFirstMatches;
    this.#timers = [callEvery(flushMs, () => this.#tick()), callEvery(keepaliveMs, () => this.#sendProgress(true))];
    sink.onClosed(() => this.#stopTimers());
  }

  /** Bytes waiting for the next flush. */
  get gatheredBytes(): number {
    return this.#gatheredBytes;
  }

  /** Adds elements of the `matches` array: JSON, comma-separated, not empty. */
  addMatches(elements: Uint8Array | PooledBytes): void {
    this.#gathered.push(elements);
    this.#gatheredBytes += bytesOfPart(elements).length;
    if (!this.#hasSentMatches) this.#sendFilters(false);
    if (!this.#hasSentMatches || this.#gatheredBytes >= gatheredBytesMax) this.#sendMatches();
  }

  finish(alert: Alert | undefined, error: string | undefined): void {
    this.#stopTimers();
    this.#sendFilters(true);
    this.#sendMatches();
    this.#sink.send("progress", [JSON.stringify(this.#state.progress(true))]);
    this.end(alert, error);
  }

  /** Ends without progress, as for a query that was not executed. */
  end(alert: Alert | undefined, error: string | undefined): void {
    this.#stopTimers();
    if (alert !== undefined) this.#sink.send("alert", [JSON.stringify(alert)]);
    if (error !== undefined) this.#sink.send("error", [JSON.stringify({ message: error } satisfies StreamError)]);
    this.#sink.send("done", ["{}"]);
    this.#sink.end();
  }

  #tick(): void {
    // A client that does not read gets no further statistics: they would only accumulate in memory.
    if (this.#sink.pendingBytes > 0) return;
    if (this.#hasSentMatches) this.#sendFilters(false);
    this.#sendMatches();
    this.#sendProgress(false);
  }

  #sendMatches(): void {
    if (this.#gathered.length === 0) return;
    const parts: EventPart[] = ["["];
    this.#gathered.forEach((elements, i) => {
      if (i > 0) parts.push(comma);
      parts.push(elements);
    });
    parts.push("]");
    this.#gathered = [];
    this.#gatheredBytes = 0;
    this.#sink.send("matches", parts);
    if (!this.#hasSentMatches) this.#onFirstMatches();
    this.#hasSentMatches = true;
  }

  #sendFilters(final: boolean): void {
    const filters = this.#state.filters(final);
    if (filters.length === 0) return;
    const json = JSON.stringify(filters);
    if (json === this.#sentFilters && !final) return;
    this.#sentFilters = json;
    this.#sink.send("filters", [json]);
  }

  #sendProgress(always: boolean): void {
    if (this.#sink.pendingBytes > 0) return;
    const progress = this.#state.progress(false);
    const { durationMs: _, ...statistics } = progress;
    const comparable = JSON.stringify(statistics);
    if (!always && comparable === this.#sentProgress) return;
    this.#sentProgress = comparable;
    this.#sink.send("progress", [JSON.stringify(progress)]);
  }

  #stopTimers(): void {
    for (const timer of this.#timers) timer.cancel();
  }
}

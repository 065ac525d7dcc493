import { bytesOfPart, type EventPart, type EventSink, joinText, releaseParts } from "../../model/event-sink.js";
import type { Alert, Filter, Progress, StreamError, StreamMatch } from "../../model/stream-events.js";
import type { SearchEnd } from "../../search/search-environment.js";

/** The results of a search, from its first event to its last. */
export interface Collected {
  readonly matches: readonly StreamMatch[];
  readonly filters: readonly Filter[];
  readonly progress: Progress | undefined;
  readonly alert: Alert | undefined;
  /** Why the search could not run. */
  readonly error: string | undefined;
  /** Undefined if the query is invalid. */
  readonly end: SearchEnd | undefined;
  /** Whether matches were omitted because they exceeded the limit. */
  readonly isCut: boolean;
}

/** Limit on the JSON of the results, because the response is built in memory. The stream has no such limit. */
const matchBytesMax = 8 << 20;

/** Collects a search's events for a single response. It exerts no backpressure: everything is read immediately. */
export class SearchCollector implements EventSink {
  readonly pendingBytes = 0;
  readonly #takeBytes: (byteCount: number) => boolean;
  readonly #matches: StreamMatch[] = [];
  readonly #closedCallbacks: (() => void)[] = [];
  readonly #done: Promise<void>;
  #resolve: () => void = () => undefined;
  #filters: readonly Filter[] = [];
  #progress: Progress | undefined;
  #alert: Alert | undefined;
  #error: string | undefined;
  #end: SearchEnd | undefined;
  #matchBytes = 0;
  #isCut = false;
  #closed = false;

  /**
   * `takeBytes` tells whether the response has room for this many more bytes of matches, in addition to those of other
   * searches.
   */
  constructor(takeBytes: (byteCount: number) => boolean = () => true) {
    this.#takeBytes = takeBytes;
    this.#done = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  get closed(): boolean {
    return this.#closed;
  }

  send(event: string, data: readonly EventPart[]): void {
    if (event === "matches") this.#addMatches(data);
    else this.#note(event, joinText(data));
    releaseParts(data);
  }

  onDrain(): void {
    // Nothing is ever pending.
  }

  onClosed(callback: () => void): void {
    if (this.#closed) callback();
    else this.#closedCallbacks.push(callback);
  }

  /** The search has ended, or its result is no longer wanted. */
  end(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const callback of this.#closedCallbacks.splice(0)) callback();
    this.#resolve();
  }

  /** The outcome of the search: called right after its last event. */
  recordEnd(end: SearchEnd): void {
    this.#end = end;
  }

  async collected(): Promise<Collected> {
    await this.#done;
    return {
      matches: this.#matches,
      filters: this.#filters,
      progress: this.#progress,
      alert: this.#alert,
      error: this.#error,
      end: this.#end,
      isCut: this.#isCut,
    };
  }

  #addMatches(data: readonly EventPart[]): void {
    const bytes = data.reduce(
      (sum, part) => sum + (typeof part === "string" ? part.length : bytesOfPart(part).length),
      0,
    );
    this.#matchBytes += bytes;
    this.#isCut ||= this.#matchBytes > matchBytesMax || !this.#takeBytes(bytes);
    if (this.#isCut) return;
    for (const match of JSON.parse(joinText(data)) as StreamMatch[]) this.#matches.push(match);
  }

  #note(event: string, text: string): void {
    switch (event) {
      case "filters":
        this.#filters = JSON.parse(text) as Filter[];
        break;
      case "progress":
        this.#progress = JSON.parse(text) as Progress;
        break;
      case "alert":
        this.#alert = JSON.parse(text) as Alert;
        break;
      case "error":
        this.#error = (JSON.parse(text) as StreamError).message;
        break;
    }
  }
}

import {
  BaseListener,
  countBytes,
  type JsonElements,
  parseElements,
  releaseAll,
  type SearchListener,
} from "../../model/search-listener.js";
import type { ResultGroups } from "../../model/result-groups.js";
import type { Alert, Filter, Progress, StreamMatch } from "../../model/stream-events.js";
import type { SearchEnd } from "../../search/report/search-report.js";

/** The results of a search, from its first event to its last. */
export interface Collected {
  readonly matches: readonly StreamMatch[];
  readonly filters: readonly Filter[];
  /** Undefined unless matches are only counted. */
  readonly groups: ResultGroups | undefined;
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
export class SearchCollector extends BaseListener {
  override readonly filterEvents: SearchListener["filterEvents"];
  readonly #takeBytes: (byteCount: number) => boolean;
  readonly #matches: StreamMatch[] = [];
  readonly #done: Promise<void>;
  #resolve: () => void = () => undefined;
  #filters: readonly Filter[] = [];
  #groups: ResultGroups | undefined;
  #progress: Progress | undefined;
  #alert: Alert | undefined;
  #error: string | undefined;
  #end: SearchEnd | undefined;
  #matchBytes = 0;
  #isCut = false;

  /**
   * `takeBytes` tells whether the response has room for this many more bytes of matches, in addition to those of other
   * searches. Without `hasFilters`, there are none.
   */
  constructor(takeBytes: (byteCount: number) => boolean = () => true, hasFilters = true) {
    super();
    this.filterEvents = hasFilters ? "last" : "none";
    this.#takeBytes = takeBytes;
    this.#done = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  override matches(parts: readonly JsonElements[]): void {
    const byteCount = countBytes(parts);
    this.#matchBytes += byteCount;
    this.#isCut ||= this.#matchBytes > matchBytesMax || !this.#takeBytes(byteCount);
    if (this.#isCut) return releaseAll(parts);
    for (const match of parseElements<StreamMatch>(parts)) this.#matches.push(match);
  }

  override filters(filters: readonly Filter[]): void {
    this.#filters = filters;
  }

  override groups(groups: ResultGroups): void {
    this.#groups = groups;
  }

  override progress(progress: Progress): void {
    this.#progress = progress;
  }

  override alert(alert: Alert): void {
    this.#alert = alert;
  }

  override error(message: string): void {
    this.#error = message;
  }

  /** The search has ended, or its result is no longer wanted. */
  override end(): void {
    this.close();
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
      groups: this.#groups,
      progress: this.#progress,
      alert: this.#alert,
      error: this.#error,
      end: this.#end,
      isCut: this.#isCut,
    };
  }
}

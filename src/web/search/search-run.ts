import { effect, signal } from "@preact/signals";
import type { Alert, Filter, Progress, Receipt, StreamError } from "../../model/stream-events.js";
import { ApiError } from "../api/api-error.js";
import type { Answer } from "../api/use-graphql.js";
import { addFilters } from "../../query/plan/rewrite.js";
import { readEvents } from "../api/event-stream.js";
import { queryOfAddress, type QueryState } from "../query/query-state.js";
import { keepSearch } from "../query/kept-searches.js";
import { serverTimeMs } from "../route/viewer.js";
import { callAfter, painted } from "../ui/delay.js";
import type { ListPlace } from "./result-list.js";
import { addressOfSearch } from "./panel-address.js";
import { ResultStore } from "./result-store.js";
import type { ResultState } from "./results/result-context.js";
import { address, arrival, page } from "../route/router.js";

/** Longer lines are cut, with a sign: one line of a generated file may be longer than all others together. */
const lineBytesMax = 1000;

export type RunState = "searching" | "done" | "stopped" | "failed";

/** The parameters of the stream that say what is searched for. */
export function queryParameters({ text, patternType, caseSensitive }: QueryState): URLSearchParams {
  const query = caseSensitive ? addFilters(text, patternType, "case:yes") : text;
  return new URLSearchParams({ q: query, t: patternType });
}

/** The parameters of the stream for the results of a query. */
function streamParameters(query: QueryState): URLSearchParams {
  const shown = { cm: "t", cl: "1", "max-line-len": String(lineBytesMax) };
  return new URLSearchParams([...queryParameters(query), ...Object.entries(shown)]);
}

/** One search, from its request to its last event. */
export class SearchRun {
  static #count = 0;
  /** Different for each search, also of the same query. */
  readonly id = SearchRun.#count++;
  readonly query: QueryState;
  readonly store = new ResultStore();
  readonly state = signal<RunState>("searching");
  readonly progress = signal<Progress | undefined>(undefined);
  readonly filters = signal<readonly Filter[]>([]);
  readonly alert = signal<Alert | undefined>(undefined);
  readonly error = signal<Error | undefined>(undefined);
  /** Grows with each event of matches. */
  readonly version = signal(0);
  /** What it covers, once that was asked for. */
  readonly receipt = signal<Answer<Receipt> | undefined>(undefined);
  /** Where the page was scrolled to when it was left; undefined for its top. */
  place: ListPlace | undefined;
  /** What was folded and unfolded, by the keys of the results. */
  readonly states = new Map<string, ResultState>();
  /** The newest filters, while the first results, which came with them, are not painted yet. */
  #firstFilters: string | undefined;
  readonly #stop = new AbortController();
  #isComplete = false;

  /** `place` is where a previous search of the same address was left. */
  constructor(query: QueryState, place: ListPlace | undefined) {
    this.query = query;
    this.place = place;
    void this.#run();
  }

  /** Stops the search; what was found stays. Idempotent. */
  stop(): void {
    if (this.state.peek() !== "searching") return;
    this.state.value = "stopped";
    this.#stop.abort();
  }

  async #run(): Promise<void> {
    try {
      const path = `/search/stream?${streamParameters(this.query)}`;
      await readEvents(path, this.#stop.signal, (name, data) => this.#take(name, data));
      this.#showFirstFilters();
      if (!this.#isComplete) throw new ApiError(0, "The connection to the server broke off before the end.");
      if (this.state.peek() === "searching") this.state.value = this.error.peek() === undefined ? "done" : "failed";
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      this.error.value = error instanceof Error ? error : new ApiError(200, String(error));
      this.state.value = "failed";
    }
  }

  #take(name: string, data: string): Promise<void> | undefined {
    if (name !== "matches") {
      this.#takeOther(name, data);
      return undefined;
    }
    this.store.add(data);
    this.version.value++;
    // Nothing competes with the paint of the first results: what follows waits in the connection.
    return this.version.peek() === 1 ? painted().then(() => this.#showFirstFilters()) : undefined;
  }

  #showFirstFilters(): void {
    if (this.#firstFilters !== undefined) this.filters.value = JSON.parse(this.#firstFilters) as Filter[];
    this.#firstFilters = undefined;
  }

  #takeOther(name: string, data: string): void {
    switch (name) {
      case "progress":
        this.progress.value = JSON.parse(data) as Progress;
        return;
      case "filters":
        if (this.version.peek() === 0 || this.#firstFilters !== undefined) this.#firstFilters = data;
        else this.filters.value = JSON.parse(data) as Filter[];
        return;
      case "alert":
        this.alert.value = JSON.parse(data) as Alert;
        return;
      case "error":
        this.error.value = new ApiError(200, (JSON.parse(data) as StreamError).message);
        return;
      case "done":
        this.#isComplete = true;
    }
  }
}

/** Searches whose results the way back finds as they were. */
const keptMax = 4;

const kept = new Map<string, SearchRun>();

/** The search that the page shows; undefined for none. */
export const currentRun = signal<SearchRun | undefined>(undefined);

/**
 * Runs the search of each address, until the returned function is called: at once when the address changes, before
 * anything is rendered for it. The search goes on if only what is shown besides its results changes.
 */
export function followAddress(): () => void {
  let shown = { href: "", search: "" };
  const forget = effect(() => {
    const { href } = address.value;
    const search = addressOfSearch(address.value);
    const isSame = search === shown.search && href !== shown.href;
    shown = { href, search };
    if (isSame) return;
    currentRun.peek()?.stop();
    const query = queryOfAddress(address.value);
    if (page.value?.name !== "search" || query.text.trim() === "") currentRun.value = undefined;
    else showRun(search, query, arrival.peek() === "history");
  });
  return () => {
    forget();
    currentRun.peek()?.stop();
  };
}

/** Shows the search of an address, by what names the search in it. The way back shows the results that were there; any other way searches again. */
function showRun(search: string, query: QueryState, isWayBack: boolean): void {
  const known = kept.get(search);
  if (isWayBack && known !== undefined && known.state.peek() === "done") {
    currentRun.value = known;
    return;
  }
  const run = new SearchRun(query, isWayBack ? known?.place : undefined);
  // After the request has begun.
  if (!isWayBack) callAfter(0, () => keepSearch(query, serverTimeMs()));
  kept.delete(search);
  kept.set(search, run);
  for (const [oldest, old] of kept) {
    if (kept.size <= keptMax) break;
    old.stop();
    kept.delete(oldest);
  }
  currentRun.value = run;
}

import { type ClientOptions, Connection, wait } from "./connection.js";
import { TrawlError } from "./errors.js";
import { SearchJobs } from "./search-jobs.js";
import { resumeDelayMs, type SearchEvent, SearchStream, type StreamLimits } from "./search-stream.js";
import type { Match, Progress, Alert, Receipt, ReceiptPage, ResultGroups } from "./types.js";

/** How a query is read, and what is sent of its results. */
export interface SearchOptions extends StreamLimits {
  /** How the pattern is read if the query does not say it. The default is `standard`. */
  readonly patternType?: "standard" | "keyword" | "literal" | "regexp";
  /** Send at most this many matches, but count all. `count:` in the query limits the search itself. */
  readonly display?: number;
  /** Send no matches, and count them by this: the stream has one event `groups`. */
  readonly group?: ResultGroups["by"];
  /** With `group`: send at most this many groups, those with the most matches. The default is 100. */
  readonly groups?: number;
  /** Send chunks of whole lines with this many lines of context, instead of single lines. */
  readonly contextLines?: number;
  /** The last `progress` event has a receipt, which says what was covered. */
  readonly receipt?: boolean;
  /** With a receipt; an `error` event follows if it is not complete. */
  readonly strict?: boolean;
  /** Begin when an indexed branch has this commit. */
  readonly waitFor?: { readonly repository: string; readonly commit: string };
  /** Other parameters of the stream, such as `explain`. */
  readonly parameters?: Readonly<Record<string, string>>;
}

export interface ResumableOptions extends SearchOptions {
  /** After a broken connection the stream goes on by itself, with each result exactly once, also after a restart. */
  readonly resume?: boolean;
  /** Go on after this event of an earlier stream of the same search, such as one of an earlier process. */
  readonly lastEventId?: string;
}

export interface ChangeOptions extends SearchOptions {
  /** What the changes are compared with: a receipt, or the id or URL of a recent one. */
  readonly since: Receipt | string;
}

export interface WatchOptions extends SearchOptions {
  /** Without it, all matches come first. */
  readonly since?: Receipt | string | undefined;
}

/** All results of a search. */
export interface SearchResults {
  readonly matches: readonly Match[];
  readonly progress: Progress | undefined;
  readonly alert: Alert | undefined;
  readonly receipt: Receipt | undefined;
}

const streamPath = "/.api/search/stream";
const changesPath = "/.api/search/changes";
const accepted = "text/event-stream, application/problem+json";

/** A client of one daemon. It holds no connection while it is not used. */
export class TrawlClient {
  readonly jobs: SearchJobs;
  readonly #connection: Connection;

  constructor(options: ClientOptions) {
    this.#connection = new Connection(options);
    this.jobs = new SearchJobs(this.#connection);
  }

  /** Searches when it is read. */
  search(query: string, options: ResumableOptions = {}): SearchStream {
    const path = `${streamPath}?${searchParameters(query, options)}`;
    return this.#stream({ path, headers: streamHeaders(options) }, options);
  }

  /** Searches for many patterns in one pass: files that contain at least one of them, and that the query admits. */
  searchPatterns(
    patterns: readonly string[],
    options: ResumableOptions & { readonly query?: string } = {},
  ): SearchStream {
    const path = `${streamPath}?${searchParameters(options.query ?? "", options)}`;
    const body = JSON.stringify({ patterns });
    return this.#stream({ method: "POST", path, headers: streamHeaders(options), body }, options);
  }

  /**
   * All results, if there are at most `matchesMax` match objects (10,000). Rejects with a `TrawlError` if the search fails,
   * or finds more.
   */
  async searchAll(
    query: string,
    { matchesMax = 10_000, ...options }: ResumableOptions & { readonly matchesMax?: number } = {},
  ): Promise<SearchResults> {
    const stream = this.search(query, options);
    const matches: Match[] = [];
    for await (const match of stream.matches()) {
      if (matches.length === matchesMax)
        throw new TrawlError("stream-failed", `there are more than ${matchesMax} results: read them as a stream`);
      matches.push(match);
    }
    const { progress, alert, receipt } = stream;
    return { matches, progress, alert, receipt };
  }

  /** What changed in the results of a query since an earlier search, with a receipt that the next call begins at. */
  changes(query: string, { since, ...options }: ChangeOptions): SearchStream {
    return this.#stream(changeRequest(query, since, options), { ...options, resume: false });
  }

  /**
   * What changes in the results of a query, as repositories are indexed, until the signal is aborted or the loop is left.
   * A watch ends after some minutes, and connections break: it goes on with the last receipt. What came after that receipt,
   * and before the break, comes again.
   */
  async *watch(query: string, { since, ...options }: WatchOptions = {}): AsyncGenerator<SearchEvent, void, undefined> {
    let base = since;
    const watched = { ...options, parameters: { ...options.parameters, watch: "1" } };
    for (let failures = 0; ; failures++) {
      const stream = this.#stream(changeRequest(query, base, watched), { ...watched, resume: false });
      try {
        for await (const event of stream) {
          if (event.kind === "error") throw new TrawlError("stream-failed", event.message);
          yield event;
          base = stream.receipt ?? base;
        }
        if (stream.progress === undefined)
          throw new TrawlError("stream-failed", stream.alert?.title ?? "nothing was searched");
      } catch (error) {
        const isBreak = error instanceof TrawlError && (error.code === "connection" || error.status >= 502);
        if (!isBreak || options.signal?.aborted === true) throw error;
      }
      if (stream.progress !== undefined) failures = 0;
      await wait(resumeDelayMs(options, failures), options.signal);
    }
  }

  /** Items of a list of a receipt, of which an event has the first 100. `receipt` is one, or its URL. */
  async *receiptItems<List extends "repositories" | "excluded">(
    receipt: Receipt | string,
    list: List,
    { signal }: { readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<Receipt[List]["items"][number], void, undefined> {
    const url = typeof receipt === "string" ? receipt : receipt.url;
    const id = encodeURIComponent(url.slice(url.lastIndexOf("/") + 1));
    for (let [from, end] = [0, 1]; from < end; ) {
      const path = `/.api/search/receipt/${id}?list=${list}&from=${from}`;
      const response = await this.#connection.send({
        path,
        headers: { Accept: "application/json, application/problem+json" },
        signal,
      });
      const page = (await response.json()) as ReceiptPage;
      yield* page.items as readonly Receipt[List]["items"][number][];
      from += page.items.length;
      end = page.items.length === 0 ? 0 : page.count;
    }
  }

  #stream(request: ConstructorParameters<typeof SearchStream>[1], options: ResumableOptions): SearchStream {
    const { resume = false, lastEventId = "" } = options;
    return new SearchStream(this.#connection, request, resume || lastEventId !== "", options);
  }
}

function streamHeaders({ lastEventId = "" }: ResumableOptions): Readonly<Record<string, string>> {
  return { Accept: accepted, ...(lastEventId === "" ? {} : { "Last-Event-ID": lastEventId }) };
}

/** A receipt is the body, because it may be too long for a URL; without one, there is only a watch. */
function changeRequest(
  query: string,
  since: Receipt | string | undefined,
  options: SearchOptions,
): ConstructorParameters<typeof SearchStream>[1] {
  const headers = { Accept: accepted };
  const parameters = searchParameters(query, options);
  if (since === undefined) return { path: `${streamPath}?${parameters}`, headers };
  const body = typeof since === "string" ? since : JSON.stringify(since);
  return { method: "POST", path: `${changesPath}?${parameters}`, headers, body };
}

function searchParameters(query: string, options: ResumableOptions): URLSearchParams {
  const { patternType, display, group, groups, contextLines, receipt, strict, waitFor, resume } = options;
  return new URLSearchParams({
    q: query,
    ...(patternType === undefined ? {} : { t: patternType }),
    ...(display === undefined ? {} : { display: String(display) }),
    ...(group === undefined ? {} : { group }),
    ...(groups === undefined ? {} : { groups: String(groups) }),
    ...(contextLines === undefined ? {} : { cm: "t", cl: String(contextLines) }),
    ...(receipt === true ? { receipt: "1" } : {}),
    ...(strict === true ? { strict: "1" } : {}),
    ...(waitFor === undefined ? {} : { wait_for: `${waitFor.repository}@${waitFor.commit}` }),
    ...(resume === true ? { resume: "1" } : {}),
    ...options.parameters,
  });
}

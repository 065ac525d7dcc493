import { errorTable, messageOf, TrawlError } from "../base/errors.js";
import { workInTurns } from "../base/steps.js";
import type { Metrics } from "../base/metrics.js";
import type { EventSink } from "../model/event-sink.js";
import type { SearchRequest } from "../model/search-request.js";
import { operatorViewer, type Viewer } from "../model/viewer.js";
import { choosePatternType } from "../query/pattern-type.js";
import { planQuery } from "../query/plan-query.js";
import { printPlan } from "../query/print.js";
import { QueryError } from "../query/query-error.js";
import type { SearchContexts } from "../query/search-contexts.js";
import type { SearchPlan } from "../query/plan.js";
import type { Alert } from "./alerts.js";
import { EventStream } from "./event-stream.js";
import { prepareChoice } from "./repository-choice.js";
import { explainQuery } from "./explain.js";
import { RunningSearch } from "./running-search.js";
import type { SearchEnd, SearchEnvironment } from "./search-environment.js";
import { TraceStore } from "./trace-store.js";

/** Limits of admission. */
export interface SearcherLimits {
  /** Searches that run at the same time. */
  readonly concurrent: number;
  /** Searches that wait for a place. */
  readonly queue: number;
}

/** How long a refused client is asked to wait, in seconds. */
const retryAfterSeconds = 1;

/** Why a search is not let in. */
export interface Refusal {
  readonly message: string;
  readonly retryAfterSeconds: number;
}

/**
 * Lets searches in, starts them, and keeps count.
 *
 * Up to `concurrent` searches run; up to `queue` more wait in the order in which they came; a further one is refused
 * before its stream starts.
 */
export class Searcher {
  readonly #environment: Omit<SearchEnvironment, "traceUrl">;
  readonly #limits: SearcherLimits;
  readonly #metrics: Metrics;
  readonly #traces = new TraceStore();
  readonly #running = new Map<number, RunningSearch>();
  readonly #queue: (() => void)[] = [];
  /** Searches that have left the queue and not started yet: their places are taken. */
  #startingCount = 0;
  #nextId = 1;
  #isStopping = false;
  #baseUrl = "";
  /** The search contexts that a viewer may name. Searches that run keep those they began with. */
  contextsOf: (viewer: Viewer) => SearchContexts = () => new Map();

  constructor(environment: Omit<SearchEnvironment, "traceUrl">, limits: SearcherLimits, metrics: Metrics) {
    this.#environment = environment;
    this.#limits = limits;
    this.#metrics = metrics;
  }

  /** The address that trace URLs begin with, known once the server listens. */
  get baseUrl(): string {
    return this.#baseUrl;
  }

  set baseUrl(url: string) {
    this.#baseUrl = url;
  }

  get #hasPlace(): boolean {
    return this.#running.size + this.#startingCount < this.#limits.concurrent;
  }

  admit(): Refusal | undefined {
    if (this.#isStopping) return this.#refuse("The daemon is stopping.");
    if (this.#hasPlace || this.#queue.length < this.#limits.queue) return undefined;
    return this.#refuse(`Too many searches: ${this.#running.size} run and ${this.#queue.length} wait (search.concurrent and search.queue). Try again in a moment.`);
  }

  /** `onEnd` is told how the search ended, right after its last event; not when the query is none. */
  run(request: SearchRequest, sink: EventSink, onEnd?: (end: SearchEnd) => void): void {
    if (this.#hasPlace) return this.#start(request, sink, onEnd);
    this.#queue.push(() => this.#start(request, sink, onEnd));
    this.#metrics.searchesQueued.set(this.#queue.length);
  }

  /** The text of `trawl explain`. Throws `bad-query` with a caret under the place. */
  explain({ query, patternType }: { readonly query: string; readonly patternType: string }): Promise<string> {
    return explainQuery(query, patternType, this.contextsOf(operatorViewer), this.#nextId++, this.#environment);
  }

  trace(id: string, viewer: Viewer): string | undefined {
    return this.#traces.get(id, viewer);
  }

  /** Ends all searches with what they have; waiting ones are answered with an alert. Resolves when none runs. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const search of [...this.#running.values()]) search.stop(stopMessage);
    for (const start of this.#queue.splice(0)) start();
    while (this.#running.size + this.#startingCount > 0) await new Promise((resolve) => setImmediate(resolve));
  }

  #refuse(message: string): Refusal {
    this.#metrics.searches.inc({ outcome: "refused" });
    return { message, retryAfterSeconds };
  }

  #start(request: SearchRequest, sink: EventSink, onEnd: ((end: SearchEnd) => void) | undefined): void {
    if (sink.closed) return this.#startNext();
    const plan = this.#plan(request, sink);
    if (plan === undefined) return this.#startNext();
    const work = prepareChoice(this.#environment.catalog.repositoryTable(request.viewer), plan.alternatives.map(({ repositories }) => repositories));
    if (work === undefined) return this.#begin(request, plan, sink, onEnd);
    this.#startingCount++;
    void workInTurns(work, () => !sink.closed && !this.#isStopping).then(() => {
      this.#startingCount--;
      if (sink.closed) this.#startNext();
      else this.#begin(request, plan, sink, onEnd);
    }, (error: unknown) => {
      this.#startingCount--;
      this.#answerError(request, sink, error);
      this.#startNext();
    });
  }

  #begin(request: SearchRequest, plan: SearchPlan, sink: EventSink, onEnd: ((end: SearchEnd) => void) | undefined): void {
    const id = this.#nextId++;
    const traceId = this.#traces.newId();
    const environment = { ...this.#environment, traceUrl: `${this.#baseUrl}/.api/search/trace/${traceId}` };
    const search = new RunningSearch(id, request, plan, environment, sink, (end) => {
      onEnd?.(end);
      this.#onEnd(id, traceId, request, plan, end);
    });
    this.#running.set(id, search);
    this.#metrics.searchesRunning.set(this.#running.size);
    search.start();
    if (this.#isStopping) search.stop(stopMessage);
  }

  /** The plan, or undefined after the sink has been told what is wrong. */
  #plan(request: SearchRequest, sink: EventSink): SearchPlan | undefined {
    try {
      return planQuery(request.query, choosePatternType(request.query, request.version, request.patternType), this.contextsOf(request.viewer));
    } catch (error) {
      this.#answerError(request, sink, error);
      return undefined;
    }
  }

  /** Tells what is wrong with a query, in place of a search. */
  #answerError(request: SearchRequest, sink: EventSink, error: unknown): void {
    const stream = new EventStream(sink, { filters: () => [], progress: () => { throw new TrawlError("internal", "no progress without a search"); } }, () => undefined);
    if (error instanceof QueryError) {
      // Whatever a client has typed is no news for the log, and may be long or private.
      this.#environment.log.debug({ query: request.query.slice(0, loggedLength) }, error.title);
      stream.end(alertOf(error), undefined);
    } else {
      const level = error instanceof TrawlError ? error.level : errorTable.internal.level;
      this.#environment.log[level]({ query: request.query.slice(0, loggedLength) }, messageOf(error));
      stream.end(undefined, messageOf(error));
    }
    this.#metrics.searches.inc({ outcome: "failed" });
  }

  #onEnd(id: number, traceId: string, request: SearchRequest, plan: SearchPlan, end: SearchEnd): void {
    this.#running.delete(id);
    this.#metrics.searchesRunning.set(this.#running.size);
    this.#metrics.searches.inc({ outcome: end.outcome });
    this.#metrics.searchMatches.inc(end.matchCount);
    this.#metrics.searchBytesScanned.inc(end.stats.scannedBytes);
    this.#metrics.searchShardScans.inc({ outcome: "done" }, end.stats.shardsSearched);
    this.#metrics.searchSeconds.observe(end.durationMs / 1000);
    if (end.firstMatchesMs !== undefined) this.#metrics.searchFirstMatchesSeconds.observe(end.firstMatchesMs / 1000);
    // What a search looked at tells of repositories that its viewer may not see, as they share shards with others.
    const seesAll = this.#environment.catalog.seesAll(request.viewer);
    this.#traces.add(traceId, traceText(request, plan, end, seesAll ? end.stats : {}), request.viewer);
    this.#startNext();
  }

  #startNext(): void {
    const start = this.#queue.shift();
    this.#metrics.searchesQueued.set(this.#queue.length);
    // Deferred, so that a long queue of closed streams is no deep recursion.
    if (start === undefined) return;
    this.#startingCount++;
    setImmediate(() => {
      this.#startingCount--;
      start();
    });
  }
}

/** Of the text of a query, in the log. */
const loggedLength = 200;

const stopMessage = "the daemon is stopping";

function alertOf({ title, description, from, to }: QueryError): Alert {
  return { title, description, proposedQueries: null, place: { from, to } };
}

function traceText(request: SearchRequest, plan: SearchPlan, end: SearchEnd, stats: Partial<SearchEnd["stats"]>): string {
  const lines = [
    `query: ${request.query}`,
    `plan: ${printPlan(plan)}`,
    `outcome: ${end.outcome}`,
    `matches: ${end.matchCount}`,
    `duration: ${end.durationMs.toFixed(2)} ms`,
    `first matches: ${end.firstMatchesMs === undefined ? "none" : `${end.firstMatchesMs.toFixed(2)} ms`}`,
    ...Object.entries(stats).map(([name, value]) => `${name}: ${value}`),
    ...end.shardFailures.map((failure) => `failure: ${failure}`),
  ];
  return `${lines.join("\n")}\n`;
}

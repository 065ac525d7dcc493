import { createHash } from "node:crypto";
import { monotonicMs } from "../../base/deadline.js";
import type { Log } from "../../base/log.js";
import { originFields } from "../../model/request-origin.js";
import type { SearchRequest } from "../../model/search-request.js";
import type { SearchEnd } from "./search-report.js";

export interface SlowSearchLimits {
  /** Duration from which a search is logged; Infinity for none. */
  readonly slowMs: number;
  /** Time of search workers from which it is logged; Infinity for none. */
  readonly costlyMs: number;
  /** Whether the text of its query is logged, too. */
  readonly logsQueries: boolean;
}

/** Limit on lines per minute; what exceeds it is counted in the next line. */
const linesMax = 60;
const minuteMs = 60_000;

/** UTF-16 units of a query that are logged. */
const queryLengthMax = 1_000;

/** Hexadecimal digits of the hash of a query. */
const hashLength = 16;

/**
 * Writes a log line for each search that took long, or that took much time of the search workers: who searched, and what
 * it cost. Queries may be private, so a line has the beginning of the SHA-256 of the query, by which searches for the same
 * text are recognized, and the text itself only if the operator wants it.
 */
export class SlowSearches {
  readonly #limits: SlowSearchLimits;
  readonly #log: Log;
  readonly #now: () => number;
  #minuteBeganMs = -Infinity;
  #lineCount = 0;
  #untoldCount = 0;

  constructor(limits: SlowSearchLimits, log: Log, now: () => number = monotonicMs) {
    this.#limits = limits;
    this.#log = log;
    this.#now = now;
  }

  /** `trace` is the path of its trace. */
  record(request: SearchRequest, end: SearchEnd, trace: string): void {
    const { slowMs, costlyMs } = this.#limits;
    const isSlow = end.durationMs >= slowMs;
    if (!isSlow && end.workerMs < costlyMs) return;
    if (!this.#hasLine()) {
      this.#untoldCount++;
      return;
    }
    const untold = this.#untoldCount === 0 ? {} : { untold: this.#untoldCount };
    this.#untoldCount = 0;
    this.#log.info({ ...this.#describe(request, end, trace), ...untold }, isSlow ? "a slow search" : "a costly search");
  }

  #hasLine(): boolean {
    if (this.#now() - this.#minuteBeganMs >= minuteMs) {
      this.#minuteBeganMs = this.#now();
      this.#lineCount = 0;
    }
    return this.#lineCount++ < linesMax;
  }

  #describe(request: SearchRequest, end: SearchEnd, trace: string): Readonly<Record<string, unknown>> {
    const { query, viewer, origin, client } = request;
    return {
      ...originFields(origin),
      user: viewer.name,
      from: origin?.remoteAddress ?? client,
      queryHash: hashOfQuery(query),
      ...(this.#limits.logsQueries ? { query: query.slice(0, queryLengthMax) } : {}),
      outcome: end.outcome,
      lane: end.lane,
      durationMs: Math.round(end.durationMs),
      workerMs: Math.round(end.workerMs),
      scannedBytes: end.stats.scannedBytes,
      shards: end.stats.shardsSearched,
      matches: end.matchCount,
      trace,
    };
  }
}

/** The same as the beginning of what `printf %s QUERY | sha256sum` prints. */
export function hashOfQuery(query: string): string {
  return createHash("sha256").update(query).digest("hex").slice(0, hashLength);
}

import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { BoundedMap } from "../../base/bounded-map.js";
import type { BaseRevisions } from "../../model/match-change.js";
import type { Viewer } from "../../model/viewer.js";
import type { SearchRequest } from "../../model/search-request.js";
import type { SearchPlan } from "../../query/plan/plan.js";
import { printPlan, printPlanWithoutLists } from "../../query/plan/print.js";
import type { SearchEnd } from "./search-report.js";
import { visibleMs } from "./omissions.js";
import type { RepositoryTable } from "../../catalog/repository-table.js";
import type { Omission, ReceiptPage, ReceiptRepository } from "../../model/stream-events.js";
import type { SearchReceipt } from "./search-receipt.js";

/** Number of cached traces of recent searches. */
const traceCountMax = 256;

/**
 * Traces of recent searches. A trace is visible to the user who searched and to site admins; the trace of an
 * anonymous search is visible to anyone who knows its id, which cannot be guessed.
 */
export class TraceStore {
  readonly #traces = new BoundedMap<string, { readonly makeText: TraceWriter; readonly userId: number | undefined }>(
    traceCountMax,
    () => 1,
  );

  get size(): number {
    return this.#traces.size;
  }

  newId(): string {
    return randomUUID();
  }

  /** `makeText` is called when somebody asks for the trace, and until then keeps what it refers to in memory. */
  add(id: string, makeText: TraceWriter, { userId }: Viewer): void {
    this.#traces.set(id, { makeText, userId });
  }

  /** `seesAll`: whether no repository is hidden from this viewer. */
  get(id: string, viewer: Viewer, seesAll: boolean): string | undefined {
    const trace = this.#traces.get(id);
    if (trace === undefined) return undefined;
    const isOwn = trace.userId === undefined || trace.userId === viewer.userId;
    return isOwn || viewer.isSiteAdmin ? trace.makeText(seesAll) : undefined;
  }
}

/**
 * The trace of a query up to this length is written when it is requested, which is rare and saves the main thread a
 * tenth of its time for a short search. The plan of a longer query takes more memory than its trace.
 */
const lazyLengthMax = 1_000;

/** Writes a trace for a reader from whom no repository is hidden, or for another one. */
type TraceWriter = (seesAll: boolean) => string;

/**
 * Returns a function that writes the trace of a search. The trace has statistics and exact times only if both the viewer of
 * the search, at its end (`sawAll`), and the reader may see all repositories.
 */
export function traceWriter(request: SearchRequest, plan: SearchPlan, end: SearchEnd, sawAll: boolean): TraceWriter {
  if (request.query.length <= lazyLengthMax) return (seesAll) => writeTrace(request, plan, end, sawAll && seesAll);
  const withoutAll = writeTrace(request, plan, end, false);
  if (!sawAll) return () => withoutAll;
  const withAll = writeTrace(request, plan, end, true);
  return (seesAll) => (seesAll ? withAll : withoutAll);
}

function writeTrace(request: SearchRequest, plan: SearchPlan, end: SearchEnd, seesAll: boolean): string {
  const firstMs = end.firstMatchesMs;
  const lines = [
    `query: ${request.query}`,
    `plan: ${seesAll ? printPlan(plan) : printPlanWithoutLists(plan)}`,
    `outcome: ${end.outcome}`,
    `matches: ${end.matchCount}`,
    `duration: ${visibleMs(end.durationMs, seesAll).toFixed(2)} ms`,
    `first matches: ${firstMs === undefined ? "none" : `${visibleMs(firstMs, seesAll).toFixed(2)} ms`}`,
    ...Object.entries(seesAll ? end.stats : {}).map(([name, value]) => `${name}: ${value}`),
    ...end.shardFailures.map((failure) => `failure: ${failure}`),
  ];
  return `${lines.join("\n")}\n`;
}

/**
 * Number of receipts of recent searches that are kept; fewer if nodes have told many repositories and revisions, of which each so many count
 * as one. No receipt has as many as all of them.
 */
const receiptCountMax = 64;
const listedOfOne = 4_000;

const pageItemsMax = 10_000;

export const receiptLists = ["repositories", "excluded"] as const;

/** A part of a list of a receipt. */
export interface ReceiptRange {
  readonly list: (typeof receiptLists)[number];
  /** Index of the first item. */
  readonly from: number;
  readonly count: number;
}

/**
 * The receipts of recent searches, for the lists that are too long for an event. They are visible to those who see the
 * trace of the search.
 */
export class ReceiptStore {
  readonly #receipts = new BoundedMap<string, { readonly receipt: SearchReceipt; readonly viewer: Viewer }>(
    receiptCountMax,
    ({ receipt }) => Math.max(1, Math.ceil(receipt.listedCount / listedOfOne)),
  );

  readonly #tableOf: (viewer: Viewer) => RepositoryTable;

  constructor(tableOf: (viewer: Viewer) => RepositoryTable) {
    this.#tableOf = tableOf;
  }

  get size(): number {
    return this.#receipts.size;
  }

  add(id: string, receipt: SearchReceipt, viewer: Viewer): void {
    this.#receipts.set(id, { receipt, viewer });
  }

  /** Nobody will ask for it: its client has a later one of the same stream, or has not heard of it. */
  forget(receipt: SearchReceipt): void {
    for (const [id, known] of [...this.#receipts.entries()]) if (known.receipt === receipt) this.#receipts.delete(id);
  }

  /** Undefined if there is no such receipt any more, or if the viewer may not see it. */
  page(
    id: string,
    { list, from, count }: ReceiptRange,
    viewer: Viewer,
  ): ReceiptPage<Omission | ReceiptRepository> | undefined {
    return this.find(id, viewer)?.[list](from, Math.min(count, pageItemsMax));
  }

  /** Undefined in the same cases as `page`. */
  find(id: string, viewer: Viewer): SearchReceipt | undefined {
    const known = this.#receipts.get(id);
    if (known === undefined) return undefined;
    const { userId } = known.viewer;
    const isOwn = userId === undefined || userId === viewer.userId;
    if (!isOwn && !viewer.isSiteAdmin) return undefined;
    // It names repositories that may have been removed, or closed to this viewer, since the search.
    return known.receipt.isVisibleIn(this.#tableOf(viewer)) ? known.receipt : undefined;
  }

  /**
   * What it covers, as the base of a search for changes; undefined in the same cases as `page`. Who may see the repositories of other
   * nodes is not known here: only whoever has searched, with the same rights, may name them again.
   */
  revisions(id: string, viewer: Viewer): BaseRevisions | undefined {
    const known = this.#receipts.get(id);
    const isOfNodes = known?.receipt.isOfNodes === true;
    const receipt = isOfNodes && isSame(known.viewer, viewer) ? known.receipt : this.find(id, viewer);
    return receipt?.revisions();
  }
}

function isSame(a: Viewer, b: Viewer): boolean {
  const rights = (viewer: Viewer): Viewer => ({ ...viewer, isSignedIn: false, credential: undefined });
  return isDeepStrictEqual(rights(a), rights(b));
}

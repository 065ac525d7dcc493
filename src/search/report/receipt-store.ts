import { BoundedMap } from "../../base/bounded-map.js";
import type { RepositoryTable } from "../../catalog/repository-table.js";
import type { Omission, ReceiptPage, ReceiptRepository } from "../../model/stream-events.js";
import type { Viewer } from "../../model/viewer.js";
import type { SearchReceipt } from "./search-receipt.js";

/** Number of receipts of recent searches that are kept. */
const receiptCountMax = 64;

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
  readonly #receipts = new BoundedMap<string, { readonly receipt: SearchReceipt; readonly userId: number | undefined }>(
    receiptCountMax,
    () => 1,
  );

  readonly #tableOf: (viewer: Viewer) => RepositoryTable;

  constructor(tableOf: (viewer: Viewer) => RepositoryTable) {
    this.#tableOf = tableOf;
  }

  add(id: string, receipt: SearchReceipt, { userId }: Viewer): void {
    this.#receipts.set(id, { receipt, userId });
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
    const isOwn = known.userId === undefined || known.userId === viewer.userId;
    if (!isOwn && !viewer.isSiteAdmin) return undefined;
    // It names repositories that may have been removed, or closed to this viewer, since the search.
    return known.receipt.isVisibleIn(this.#tableOf(viewer)) ? known.receipt : undefined;
  }
}

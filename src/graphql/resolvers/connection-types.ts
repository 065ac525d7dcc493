import { TrawlError } from "../../base/errors.js";

/** The result of a mutation that returns no data. */
export const nothing = { alwaysNil: null };

/** Maximum page size. */
export const pageCountMax = 1000;

/** The page size. Throws `bad-request` for a negative number. */
export function pageLength(first: number | null | undefined): number {
  const count = first ?? pageCountMax;
  if (count < 0) throw new TrawlError("bad-request", `first: ${count} is negative`);
  return Math.min(count, pageCountMax);
}

/**
 * The number of items that a cursor of `offsetPage` skips; 0 without a cursor. Throws `bad-request` for an invalid one.
 */
export function skipCount(after: string | null | undefined): number {
  if (after === undefined || after === null || after === "") return 0;
  if (/^\d{1,9}$/.test(after)) return Number(after);
  throw new TrawlError(
    "bad-request",
    `${JSON.stringify(after.slice(0, 100))} is not a cursor; use the endCursor of a page`,
  );
}

export interface PageInfo {
  readonly endCursor: string | null;
  readonly hasNextPage: boolean;
}

/** The page info of a page whose cursors are offsets. */
export function offsetPageInfo(skipped: number, shown: number, hasNextPage: boolean): PageInfo {
  return { endCursor: hasNextPage ? String(skipped + shown) : null, hasNextPage };
}

/** A page of a list that is completely in memory. */
export function paginate<T>(
  items: readonly T[],
  first: number | null | undefined,
  after: string | null | undefined,
): { readonly nodes: readonly T[]; readonly totalCount: number; readonly pageInfo: PageInfo } {
  const skipped = skipCount(after);
  const nodes = items.slice(skipped, skipped + pageLength(first));
  return {
    nodes,
    totalCount: items.length,
    pageInfo: offsetPageInfo(skipped, nodes.length, skipped + nodes.length < items.length),
  };
}

/** The page of an empty list. */
export const emptyPage = paginate<never>([], undefined, undefined);

/** The position of a page in a list, for clients that page in both directions. */
export interface BothWays {
  readonly first?: number | null | undefined;
  readonly last?: number | null | undefined;
  readonly after?: string | null | undefined;
  readonly before?: string | null | undefined;
}

/** A page of a list that is completely in memory, from its start or its end. Cursors are offsets. */
export function paginateBothWays<T>(items: readonly T[], { first, last, after, before }: BothWays) {
  const lowest = Math.min(skipCount(after), items.length);
  const highest =
    before === undefined || before === null
      ? items.length
      : Math.max(lowest, Math.min(skipCount(before), items.length));
  const length = pageLength(first ?? last);
  const isFromEnd = (first === undefined || first === null) && last !== undefined && last !== null;
  const start = isFromEnd ? Math.max(lowest, highest - length) : lowest;
  const end = isFromEnd ? highest : Math.min(highest, lowest + length);
  const isEmpty = start === end;
  return {
    nodes: items.slice(start, end),
    totalCount: items.length,
    pageInfo: {
      startCursor: isEmpty ? null : String(start),
      endCursor: isEmpty ? null : String(end),
      hasNextPage: end < items.length,
      hasPreviousPage: start > 0,
    },
  };
}

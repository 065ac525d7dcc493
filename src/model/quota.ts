/** A limit on what one client may do, and how much of it is left. */
export interface Quota {
  /** ASCII without quotation marks and backslashes. */
  readonly name: string;
  readonly unit: QuotaUnit;
  readonly countMax: number;
  readonly left: number;
  /** The time to which the limit applies; undefined for what is counted only while it lasts. */
  readonly windowSeconds?: number;
  /** Until there may be more left. */
  readonly resetSeconds?: number;
}

/**
 * The first three are those of the draft about the `RateLimit` headers. Text that searches scan is content that the
 * server processes; there is no unit for the time of its threads.
 */
export type QuotaUnit = "requests" | "concurrent-requests" | "content-bytes" | "trawl-worker-milliseconds";

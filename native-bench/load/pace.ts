/** When requests begin. */
export type Pace =
  /**
   * Requests begin at a constant rate, whether earlier ones were answered or not, and latency counts from when a
   * request was due: like users who are independent of each other. A request that would exceed `inFlightMax` is not
   * sent and counts as a failure.
   */
  | { readonly kind: "open"; readonly ratePerSecond: number; readonly inFlightMax: number }
  /** Clients that each ask again as soon as they have their answer. A server that stalls is asked less meanwhile. */
  | { readonly kind: "closed"; readonly concurrency: number };

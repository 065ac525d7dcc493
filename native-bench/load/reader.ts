/** How a client reads its answer. */
export type Reader =
  | { readonly kind: "steady" }
  /** Reads no more than this on average. */
  | { readonly kind: "slow"; readonly bytesPerSecond: number }
  /** Stops reading once, after the first event, and then continues. */
  | { readonly kind: "paused"; readonly pauseMs: number }
  /** Closes the connection after the first event. */
  | { readonly kind: "leaving" };

/**
 * Slow and paused clients of the `load` command's mix. A server notices them only once its own buffers are full.
 */
export const usualSlow: Reader = { kind: "slow", bytesPerSecond: 256 * 1024 };
export const usualPause: Reader = { kind: "paused", pauseMs: 2000 };

/** How a client reads its answer. */
export type Reader =
  | { readonly kind: "steady" }
  /** Reads no more than this on average. */
  | { readonly kind: "slow"; readonly bytesPerSecond: number }
  /** Stops reading once, after what came with the first event, and then goes on. */
  | { readonly kind: "paused"; readonly pauseMs: number }
  /** Closes the connection after the first event. */
  | { readonly kind: "leaving" };

/**
 * What the mix of the `load` command calls slow and paused. A server's own buffers must be exceeded before it notices.
 */
export const usualSlow: Reader = { kind: "slow", bytesPerSecond: 256 * 1024 };
export const usualPause: Reader = { kind: "paused", pauseMs: 2000 };

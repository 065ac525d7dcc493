import type { Labels } from "./labels.js";
import type { Rows } from "./rows.js";

/**
 * Finds the rows of a leaf in the contents of one shard, a block of contents at a time.
 *
 * Contract: `scan` is called with ascending contents, and over all calls contents only ascend. After it, the rows of
 * `contents[i]` are pairs `[rowStart[i], rowStart[i + 1])` of `rows`, sorted, until the next `scan`. Contents in
 * `tooCostly` lack some rows.
 */
export interface ContentScan {
  readonly rows: Rows;
  readonly rowStart: Uint32Array;
  /**
   * Contents of the last call without rows, in some line of which the pattern matches the empty text: they satisfy the
   * leaf as a condition. Empty for a leaf whose matches are all that matters.
   */
  readonly emptyMatched: ReadonlySet<number>;
  /** Contents of the last call whose search was abandoned. */
  readonly tooCostly: Set<number>;
  /** The patterns of the rows; undefined for a leaf that is no set of patterns. */
  readonly labels: Labels | undefined;
  /** Bytes of text that were read, over all calls. */
  readonly scannedBytes: number;
  /** Throws `cancelled` when the search is stopped. */
  scan(contents: Uint32Array): void;
  /** Like `scan`, but `rowStart` is not set, and contents with too many matches may be missing from `tooCostly`. */
  find(contents: Uint32Array): void;
  /** The next contents may be those of the last call again. */
  rewind(): void;
}

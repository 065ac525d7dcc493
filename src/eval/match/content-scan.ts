import type { MatchWork } from "../../regexp/match/matcher.js";
import type { StopCheck } from "../../protocol/control-block.js";
import type { Labels, Rows } from "./rows.js";

/**
 * A search for a pattern in a content may examine this many times its bytes, and proportionally more in small contents.
 * By this count, which is the number of bytes that RE2 may read at most, a typical pattern reads a text 10 to 20 times.
 * A pattern such as `\w(?s:.*zqz)?` reads the rest of the text for each of its matches: that would take hours for a
 * file of 64 MiB.
 *
 * Bytes are counted instead of time, so that results do not depend on the load of the machine, and a slice that returns
 * to a block excludes the same contents.
 */
const readsMax = 25;
const freeBytes = 16 * 1024 * 1024;
const doubledBytesMax = 200 * 1024 * 1024;

/** The kernel returns after this much work, so that the stop flag is checked: 0.4 ms at its speed in memory. */
export const scanBytesMax = 4 * 1024 * 1024;

/** Limit on the work for one content. */
export function workBytesMax(contentBytes: number): number {
  return freeBytes + readsMax * contentBytes + Math.min(readsMax * contentBytes, doubledBytesMax);
}

/** Counts the work on one content after another, and ends it when the search is stopped. */
export class ContentWork implements MatchWork {
  readonly #stop: StopCheck;
  #leftBytes = 0;

  constructor(stop: StopCheck) {
    this.#stop = stop;
  }

  begin(contentBytes: number): void {
    this.#leftBytes = workBytesMax(contentBytes);
  }

  spend(byteCount: number): boolean {
    this.#stop.check();
    this.#leftBytes -= byteCount;
    return this.#leftBytes >= 0;
  }
}

/** For short texts, such as paths: only a stop ends it. */
export class StoppableWork implements MatchWork {
  readonly #stop: StopCheck;

  constructor(stop: StopCheck) {
    this.#stop = stop;
  }

  spend(): boolean {
    this.#stop.check();
    return true;
  }
}

/**
 * A set of content numbers of one shard, ascending; `undefined` stands for all of them, which is the result if the
 * index cannot rule anything out. The number after the last content stands for the documents without content.
 */
export type ContentSet = Uint32Array | undefined;

export function intersect(a: ContentSet, b: ContentSet): ContentSet {
  if (a === undefined) return b;
  if (b === undefined) return a;
  const out = new Uint32Array(Math.min(a.length, b.length));
  let count = 0;
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] < b[j]) i++;
    else if (a[i] > b[j]) j++;
    else {
      out[count++] = a[i++];
      j++;
    }
  }
  return out.subarray(0, count);
}

export function unite(a: ContentSet, b: ContentSet): ContentSet {
  if (a === undefined || b === undefined) return undefined;
  if (a.length === 0) return b;
  if (b.length === 0) return a;
  const out = new Uint32Array(a.length + b.length);
  let count = 0;
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    const next = j >= b.length || (i < a.length && a[i] <= b[j]) ? a[i] : b[j];
    if (i < a.length && a[i] === next) i++;
    if (j < b.length && b[j] === next) j++;
    out[count++] = next;
  }
  return out.subarray(0, count);
}

/** Those of `a` that are not in `b`. */
export function subtract(a: Uint32Array, b: Uint32Array): Uint32Array {
  const out = new Uint32Array(a.length);
  let count = 0;
  for (let i = 0, j = 0; i < a.length; i++) {
    while (j < b.length && b[j] < a[i]) j++;
    if (j === b.length || b[j] !== a[i]) out[count++] = a[i];
  }
  return out.subarray(0, count);
}

export const nothing: Uint32Array = new Uint32Array(0);

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

/** Binary searches. All tables are ascending; the functions return an index of the table, or its length. */

/**
 * The first index below `count` for which `isBefore` is false. Caller guarantees: it is true for all smaller indexes.
 */
export function lowerBoundBy(count: number, isBefore: (index: number) => boolean): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The first index with `sorted[index] >= value`. */
export function lowerBound(sorted: Uint32Array, value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The last index below `count` with `sorted[index] <= value`. Caller guarantees: `sorted[0] <= value`. */
export function lastAtMost(sorted: Uint32Array, value: number, count: number): number {
  let low = 0;
  let high = count - 1;
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    if (sorted[middle] <= value) low = middle;
    else high = middle - 1;
  }
  return low;
}

/**
 * The first index from `from` to below `count` with `sorted[index] >= value`, or `count`: doubling steps, then bisection
 * (galloping search), which is faster than `lowerBound` when the index is near `from`.
 */
export function gallop(sorted: Uint32Array, from: number, value: number, count: number): number {
  if (from >= count || sorted[from] >= value) return from;
  let low = from;
  let step = 1;
  while (low + step < count && sorted[low + step] < value) {
    low += step;
    step *= 2;
  }
  let high = Math.min(low + step, count);
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    if (sorted[middle] < value) low = middle;
    else high = middle;
  }
  return high;
}

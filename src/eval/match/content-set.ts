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

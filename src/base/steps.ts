/** Work on the main thread gives way to other work after so many milliseconds. */
const stepMs = 4;

/** Items that are looked at between two places to give way. */
const itemsOfStep = 512;

/** Goes on until the work is done or its turn is over; the result says which. Each `yield` is a place to give way. */
export function takeTurn<T>(work: Iterator<unknown, T>): IteratorResult<unknown, T> {
  const endMs = performance.now() + stepMs;
  for (;;) {
    const step = work.next();
    if (step.done === true || performance.now() >= endMs) return step;
  }
}

/** What the work returns, done in turns with other work between them. */
export async function resultInTurns<T>(work: Iterator<unknown, T>): Promise<T> {
  for (;;) {
    const step = takeTurn(work);
    if (step.done === true) return step.value;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** The items that pass, in their order. */
export function* filterInSteps<T>(items: readonly T[], isWanted: (item: T) => boolean): Generator<void, T[]> {
  const wanted: T[] = [];
  for (let start = 0; start < items.length; start += itemsOfStep) {
    for (const item of items.slice(start, start + itemsOfStep)) if (isWanted(item)) wanted.push(item);
    yield;
  }
  return wanted;
}

/** The items in order; equal ones stay as they were. Runs are sorted, then merged two by two. */
export function* sortInSteps<T>(items: readonly T[], compare: (a: T, b: T) => number): Generator<void, readonly T[]> {
  let runs: (readonly T[])[] = [];
  for (let start = 0; start < items.length; start += itemsOfStep) {
    runs.push(items.slice(start, start + itemsOfStep).sort(compare));
    yield;
  }
  while (runs.length > 1) {
    const merged: (readonly T[])[] = [];
    for (let at = 0; at < runs.length; at += 2) merged.push(at + 1 < runs.length ? yield* mergeInSteps(runs[at], runs[at + 1], compare) : runs[at]);
    runs = merged;
  }
  return runs[0] ?? [];
}

function* mergeInSteps<T>(first: readonly T[], second: readonly T[], compare: (a: T, b: T) => number): Generator<void, readonly T[]> {
  const merged: T[] = [];
  for (let a = 0, b = 0; a < first.length || b < second.length;) {
    const takesFirst = b >= second.length || (a < first.length && compare(first[a], second[b]) <= 0);
    merged.push(takesFirst ? first[a++] : second[b++]);
    if (merged.length % itemsOfStep === 0) yield;
  }
  return merged;
}

/** Does the work in turns, with other work between them; ends early when `isWanted` says no. */
export async function workInTurns(work: Iterator<unknown, unknown>, isWanted: () => boolean): Promise<void> {
  while (isWanted() && takeTurn(work).done !== true) await new Promise((resolve) => setImmediate(resolve));
}

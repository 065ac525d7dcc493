/**
 * Time per event-loop iteration for all work that is done in steps, so that the main thread serves other requests in
 * between, however many requests have such work.
 */
const iterationMs = 4;

/** How long one piece of work runs before it lets the next one continue. */
const shareMs = 1;

/**
 * Items processed in one step: a tenth of a millisecond, or half a millisecond if each is matched against a regular
 * expression.
 */
const itemsOfStep = 512;

/** Work done in steps. */
export interface SteppedWork {
  /**
   * Does some of the work. Returns true if nothing is left, or if it should not be continued automatically. Must not
   * throw.
   */
  step(): boolean;
}

/** The stepped work of one thread. Each piece of work continues after those before it have had their share. */
class StepQueue {
  readonly #waiting: SteppedWork[] = [];
  #leftMs = iterationMs;
  #isRunning = false;
  #endsIteration = false;

  /** Starts immediately if this iteration of the event loop has time left. */
  add(work: SteppedWork): void {
    this.#waiting.push(work);
    if (!this.#isRunning) this.#run();
  }

  #run(): void {
    this.#isRunning = true;
    try {
      for (let work = this.#next(); work !== undefined; work = this.#next()) {
        if (!this.#takeShare(work)) this.#waiting.push(work);
      }
    } finally {
      this.#isRunning = false;
      this.#endIteration();
    }
  }

  /** Sockets are polled between two calls of `setImmediate`. */
  #endIteration(): void {
    if (this.#endsIteration || (this.#waiting.length === 0 && this.#leftMs === iterationMs)) return;
    this.#endsIteration = true;
    setImmediate(() => {
      this.#endsIteration = false;
      this.#leftMs = iterationMs;
      this.#run();
    });
  }

  #next(): SteppedWork | undefined {
    return this.#leftMs > 0 ? this.#waiting.shift() : undefined;
  }

  /** Returns true if the work should not be continued. */
  #takeShare(work: SteppedWork): boolean {
    const startMs = performance.now();
    let tookMs = 0;
    let isDone = false;
    while (!isDone && tookMs < shareMs) {
      isDone = work.step();
      tookMs = performance.now() - startMs;
    }
    this.#leftMs -= tookMs;
    return isDone;
  }
}

const queue = new StepQueue();

/** Does the work in steps, interleaved with other work. */
export function workInSteps(work: SteppedWork): void {
  queue.add(work);
}

/** Does the work in steps, interleaved with other work, and resolves with its result. Each `yield` ends a step. */
export function resultWhileYielding<T>(work: Iterator<unknown, T>): Promise<T> {
  return new Promise((resolve, reject) =>
    workInSteps({
      step: () => {
        try {
          const step = work.next();
          if (step.done !== true) return false;
          resolve(step.value);
        } catch (error) {
          reject(error as Error);
        }
        return true;
      },
    }),
  );
}

/** Does the work without interruption and returns its result: for threads that nothing else depends on. */
export function resultAtOnce<T>(work: Iterator<unknown, T>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/** Work that is short, but is nevertheless scheduled as a step, because a request may have much of it. */
// biome-ignore lint/correctness/useYield: it is one step of a larger work, which yields between its parts.
export function* inOneStep<T>(work: () => T): Generator<void, T> {
  return work();
}

/** The items that pass, in their original order. */
export function* filterInSteps<T>(items: readonly T[], isWanted: (item: T) => boolean): Generator<void, T[]> {
  const wanted: T[] = [];
  for (let start = 0; start < items.length; start += itemsOfStep) {
    for (const item of items.slice(start, start + itemsOfStep)) if (isWanted(item)) wanted.push(item);
    yield;
  }
  return wanted;
}

/** Sorts the items; the sort is stable. Runs are sorted, then merged in pairs. */
export function* sortInSteps<T>(items: readonly T[], compare: (a: T, b: T) => number): Generator<void, readonly T[]> {
  let runs: (readonly T[])[] = [];
  for (let start = 0; start < items.length; start += itemsOfStep) {
    runs.push(items.slice(start, start + itemsOfStep).sort(compare));
    yield;
  }
  while (runs.length > 1) {
    const merged: (readonly T[])[] = [];
    for (let at = 0; at < runs.length; at += 2)
      merged.push(at + 1 < runs.length ? yield* mergeInSteps(runs[at], runs[at + 1], compare) : runs[at]);
    runs = merged;
  }
  return runs[0] ?? [];
}

function* mergeInSteps<T>(
  first: readonly T[],
  second: readonly T[],
  compare: (a: T, b: T) => number,
): Generator<void, readonly T[]> {
  if (compare(first[first.length - 1], second[0]) <= 0) return first.concat(second);
  const merged: T[] = [];
  for (let a = 0, b = 0; a < first.length || b < second.length; ) {
    const takesFirst = b >= second.length || (a < first.length && compare(first[a], second[b]) <= 0);
    merged.push(takesFirst ? first[a++] : second[b++]);
    if (merged.length % itemsOfStep === 0) yield;
  }
  return merged;
}

/** Maps the items, preserving their order. */
export function* mapInSteps<T, U>(items: readonly T[], change: (item: T) => U): Generator<void, U[]> {
  const changed: U[] = [];
  for (let start = 0; start < items.length; start += itemsOfStep) {
    for (const item of items.slice(start, start + itemsOfStep)) changed.push(change(item));
    yield;
  }
  return changed;
}

/** Calls `take` with each item. */
export function* eachInSteps<T>(items: readonly T[], take: (item: T) => void): Generator<void, void> {
  for (let start = 0; start < items.length; start += itemsOfStep) {
    for (const item of items.slice(start, start + itemsOfStep)) take(item);
    yield;
  }
}

/** Work on the main thread gives way to other work after so many milliseconds. */
const stepMs = 4;

/** Goes on until the work is done or its turn is over; the result says which. Each `yield` is a place to give way. */
export function takeTurn<T>(work: Iterator<unknown, T>): IteratorResult<unknown, T> {
  const endMs = performance.now() + stepMs;
  for (;;) {
    const step = work.next();
    if (step.done === true || performance.now() >= endMs) return step;
  }
}

/** Does the work in turns, with other work between them; ends early when `isWanted` says no. */
export async function workInTurns(work: Iterator<unknown, unknown>, isWanted: () => boolean): Promise<void> {
  while (isWanted() && takeTurn(work).done !== true) await new Promise((resolve) => setImmediate(resolve));
}

import { callAfter, type PendingCall } from "./delay.js";

/** Work that may pause wherever it yields, so that a page paints and takes keys in between. */
export type Work<T> = Generator<undefined, T, undefined>;

/** A page that works for longer without a pause is seen to wait. */
const sliceMs = 8;

/** Does the work without a pause. */
export function finish<T>(work: Work<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/** Does the work in slices, the first one before it returns, and calls `done` with the result. */
export function startWork<T>(work: Work<T>, done: (result: T) => void): PendingCall {
  let pending: PendingCall | undefined;
  const goOn = (): void => {
    const endMs = performance.now() + sliceMs;
    do {
      const step = work.next();
      if (step.done === true) return done(step.value);
    } while (performance.now() < endMs);
    pending = callAfter(0, goOn);
  };
  goOn();
  return { cancel: () => pending?.cancel() };
}

/** The same as a promise, which is never settled after an abort. */
export function doInSlices<T>(work: Work<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve) => {
    const pending = startWork(work, resolve);
    signal.addEventListener("abort", () => pending.cancel());
  });
}

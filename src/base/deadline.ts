/**
 * Time functions for all other code: durations and deadlines use the monotonic clock, so that a step of the wall clock
 * neither fires nor delays anything. The only user of `setTimeout`, apart from the sync timer.
 */

/** Milliseconds on the monotonic clock; only differences are meaningful. */
export function monotonicMs(): number {
  return performance.now();
}

/** A pending call. `cancel` is idempotent and may be called after the call was made. */
export interface PendingCall {
  cancel(): void;
}

/** Calls `callback` once, `delayMs` from the moment of this call. Does not keep the process alive. */
export function callAfter(delayMs: number, callback: () => void): PendingCall {
  const timer = setTimeout(callback, delayMs);
  timer.unref();
  return { cancel: () => clearTimeout(timer) };
}

/** Calls `callback` every `periodMs` until cancelled. Does not keep the process alive. */
export function callEvery(periodMs: number, callback: () => void): PendingCall {
  const timer = setInterval(callback, periodMs);
  timer.unref();
  return { cancel: () => clearInterval(timer) };
}

/** Resolves after `delayMs`, or when the signal is aborted. Keeps the process alive meanwhile. */
export function sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, delayMs);
    signal?.addEventListener("abort", end);
  });
}

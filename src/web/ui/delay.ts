/** The only user of `setTimeout` in the pages. */

export interface PendingCall {
  /** Idempotent; may be called after the call was made. */
  cancel(): void;
}

export function callAfter(delayMs: number, callback: () => void): PendingCall {
  const timer = setTimeout(callback, delayMs);
  return { cancel: () => clearTimeout(timer) };
}

/** Resolves after `delayMs`, or when the signal is aborted. */
export function sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, delayMs);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

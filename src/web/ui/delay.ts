/** The only user of `setTimeout` in the pages. */

export interface PendingCall {
  /** Idempotent; may be called after the call was made. */
  cancel(): void;
}

export function callAfter(delayMs: number, callback: () => void): PendingCall {
  const timer = setTimeout(callback, delayMs);
  return { cancel: () => clearTimeout(timer) };
}

/** The server is asked about what is typed when nothing was typed for this long. */
export const typingPauseMs = 120;

/** Pages in the background are not painted; work that waits for a paint goes on after this time. */
const paintMsMax = 100;

/** Resolves when what is in the document has been painted. */
export function painted(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, paintMsMax);
    // Callbacks of a frame run before it is painted, and tasks after it.
    requestAnimationFrame(() => setTimeout(resolve));
  });
}

import { TrawlError } from "../../base/errors.js";
import type { Resolution } from "./repository-resolver.js";

export interface ChoiceBounds {
  /** Of the search, which starts when the repositories are chosen; choosing them may take as long at most. */
  readonly timeoutMs: number;
  readonly isWanted: () => boolean;
  /** Whether the daemon stops. */
  readonly isStopping: () => boolean;
}

/** Chooses the repositories of a search; undefined if it is no longer wanted. Throws `shutting-down` or `cancelled`. */
export function* takeInTime(
  work: Iterator<undefined, readonly Resolution[]>,
  { timeoutMs, isWanted, isStopping }: ChoiceBounds,
): Generator<void, readonly Resolution[] | undefined> {
  const endMs = performance.now() + timeoutMs;
  while (isWanted()) {
    const step = work.next();
    if (step.done === true) return step.value;
    if (isStopping()) throw new TrawlError("shutting-down", "the daemon is stopping");
    if (performance.now() > endMs)
      throw new TrawlError(
        "cancelled",
        `the repositories could not be chosen within ${timeoutMs} ms; use fewer or simpler repo: filters, or a longer timeout:`,
      );
    yield;
  }
  return undefined;
}

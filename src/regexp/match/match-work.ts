import { TrawlError } from "../../base/errors.js";

/** Receives the amount of work of a search for matches. */
export interface MatchWork {
  /**
   * Counts bytes of text that will be examined; a byte counts each time. Returns false if there are too many: the
   * search ends. Throws `cancelled` if its result is no longer wanted.
   */
  spend(byteCount: number): boolean;
}

/** For texts whose size is limited elsewhere. */
export const unboundedWork: MatchWork = { spend: () => true };

/** For texts of any size, where the search can be stopped but is not limited otherwise. */
export function untilStopped(isStopped: () => boolean): MatchWork {
  return {
    spend: () => {
      if (isStopped()) throw new TrawlError("cancelled", "the search for matches was stopped");
      return true;
    },
  };
}

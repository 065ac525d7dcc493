import { TrawlError } from "../../base/errors.js";

/** What a search for matches reports its work to. */
export interface MatchWork {
  /**
   * Counts bytes of text that are about to be looked at; a byte counts each time. False when they are too many: the
   * search ends. Throws `cancelled` when its result is no longer wanted.
   */
  spend(byteCount: number): boolean;
}

/** For texts whose size is bounded elsewhere. */
export const unboundedWork: MatchWork = { spend: () => true };

/** For texts of any size whose search may be ended, and is not bounded otherwise. */
export function untilStopped(isStopped: () => boolean): MatchWork {
  return {
    spend: () => {
      if (isStopped()) throw new TrawlError("cancelled", "the search for matches was stopped");
      return true;
    },
  };
}

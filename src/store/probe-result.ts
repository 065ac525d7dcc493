/** What the probe of a store and the process that waits for it tell each other. */

/** What the probe prints. `unwritten`: why the store was not written anew, as was asked. */
export interface ProbeResult {
  readonly count: number;
  readonly unwritten?: string;
}

/** Where the probe writes a store anew, within its folder. */
export const unfinishedFolder = "rewritten";

/** Exit code of a probe that the system did not let look, as where descriptors, memory or permission are missing. */
export const refusedCode = 3;

/**
 * Why a store was not written anew where the probe ended as it did so. It prints a result that says so before, and an
 * empty line after it.
 */
export const interrupted = "writing the new file was interrupted, as by a full disk";

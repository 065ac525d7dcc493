/** What the probe of stores and the process that waits for it have in common: arguments, output, exit codes and a folder. */

/** A store, and what the probe does with it. */
export interface ProbedStore {
  readonly kind: "records" | "shards";
  readonly folder: string;
  readonly mode: "look" | "rewrite" | "upgrade";
}

/** The output of the probe. `unwritten`: why the store was not rewritten, although that was requested. */
export interface ProbeResult {
  readonly count: number;
  readonly unwritten?: string;
}

/** The folder, within that of the store, into which the probe rewrites it. */
export const unfinishedFolder = "rewritten";

/** The first line of the probe's output, before it opens the store: without it, the probe could not even start. */
export const startedLine = "started";

/** Exit code of a probe that could not open the store, for lack of descriptors, memory or permission for example. */
export const refusedCode = 3;

/**
 * The reason if the probe ended while it rewrote a store. It prints a result with this reason before it starts to write,
 * and an empty line when it has finished.
 */
export const interrupted = "writing the new file was interrupted, as by a full disk";

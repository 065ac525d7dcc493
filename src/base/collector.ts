import { setFlagsFromString } from "node:v8";

/**
 * Makes each thread of the process collect its young objects without helper threads. By default V8 shares that work,
 * about a megabyte, with helper threads and waits for all of them; here the cores are busy with search workers, so a
 * helper waits for a core in the middle of the collection. With three busy threads on two cores that were also used by
 * others, the median pause was 8 to 14 ms instead of 1 ms.
 */
export function collectAlone(): void {
  setFlagsFromString("--no-parallel-scavenge");
}

/**
 * Makes a search after a pause as fast as one before it. Must be called before threads are started.
 *
 * V8 runs a full collection of a heap that has been idle for 8 s, to save memory. It frees the hidden classes of which
 * no object is alive between two searches, and with them all code that was optimized for them: of the next search,
 * three quarters of the time is then spent on interpreting and compiling. It also shrinks the space of young objects to
 * 1 MiB, which is collected ten times in a search until it has grown again. Without it, V8 would collect the old objects
 * of a thread for the first time at more than 100 MiB; from 24 MiB on it does so whenever they have grown by a part.
 */
export function keepCompiledCode(): void {
  setFlagsFromString("--no-memory-reducer");
  setFlagsFromString("--min-semi-space-size=4");
  setFlagsFromString("--initial-old-space-size=24");
}

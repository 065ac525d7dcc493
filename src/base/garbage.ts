import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

// The function exists only in contexts that are made while the flag is set. The flag is that of the process, so it
// stays set: a thread that took it back could do so between these two lines of another one.
setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** What V8 holds for this thread, and the memory outside of its heap that goes with its objects. */
export function heapBytes(): number {
  const { heapTotal, arrayBuffers } = process.memoryUsage();
  return heapTotal + arrayBuffers;
}

/**
 * Runs a full collection of this thread's heap, which takes some milliseconds. For a thread that has just let go of
 * much memory that V8 does not count as its own, and will not allocate for a while: V8 alone would keep it until then.
 */
export function collectGarbage(): void {
  collect();
}

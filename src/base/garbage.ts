import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

// The function exists only in contexts that are created while the flag is set. The flag applies to the whole process,
// so it stays set: a thread that reset it might do so between these two lines of another thread.
setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as (options?: { readonly type: "minor" }) => void;

/** Memory that V8 holds for this thread, including memory outside its heap that belongs to its objects. */
export function heapBytes(): number {
  const { heapTotal, arrayBuffers } = process.memoryUsage();
  return heapTotal + arrayBuffers;
}

/**
 * Runs a full collection of this thread's heap, which takes some milliseconds. For a thread that has just released much
 * memory that V8 does not account for, and will allocate little for a while: V8 would not collect it until it allocates
 * again.
 */
export function collectGarbage(): void {
  collect();
}

/**
 * Collects only young objects, in about a millisecond. Unlike a full collection it keeps optimized code
 * (see `keepCompiledCode`).
 */
export function collectYoungGarbage(): void {
  collect({ type: "minor" });
}

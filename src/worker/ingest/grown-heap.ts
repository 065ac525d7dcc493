import { collectGarbage, heapBytes } from "../../base/garbage.js";

/** Heap growth since the last collection above which a worker collects garbage after a task. */
const grownBytesMin = 32 * 1024 * 1024;

let keptBytes = 0;

/**
 * Frees the buffers of a shard, which are outside V8's heap, and objects that pipes to git leave inside it, 200 KB per
 * repository: V8 by itself would let a thread accumulate several hundred megabytes first. Runs after the result of the
 * task has been sent.
 */
export function collectIfGrown(): void {
  if (heapBytes() < keptBytes + grownBytesMin) return;
  setImmediate(() => {
    collectGarbage();
    keptBytes = heapBytes();
  });
}

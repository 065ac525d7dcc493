import { collectGarbage, heapBytes } from "../../base/garbage.js";

/** A worker collects garbage after a task that leaves it with so much more than the last collection did. */
const grownBytesMin = 32 * 1024 * 1024;

let keptBytes = 0;

/**
 * Gives a shard's buffers back, which are outside V8's heap, and what pipes to git leave inside it, 200 KB a
 * repository: V8 alone lets a thread gather some hundred megabytes first. The answer to the task goes out before.
 */
export function collectIfGrown(): void {
  if (heapBytes() < keptBytes + grownBytesMin) return;
  setImmediate(() => {
    collectGarbage();
    keptBytes = heapBytes();
  });
}

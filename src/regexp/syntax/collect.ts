import { collectGarbage } from "../../base/garbage.js";

/** Estimated memory of dropped compiled regexps that may await collection: that of 512 typical ones. */
const droppedBytesMax = 16 * 1024 * 1024;

let droppedBytes = 0;

/**
 * Records that compiled regexps of this many bytes were dropped, and runs a full collection after each 16 MiB.
 *
 * The binding does not report the memory of a regexp to V8, so V8 sees a hundred bytes and has no reason to collect:
 * after 4,000 regexps of 400 alternatives, of which 16 were kept, a thread used 490 MB, and 89 MB with this. A
 * collection of a heap of 5 MiB, as in a search thread, took 6 to 10 ms on a loaded machine; one of the main thread's
 * heap with 10,000 repositories and as many users took 60 ms, so small regexps must not cause many collections.
 */
export function recordDropped(byteCount: number): void {
  droppedBytes += byteCount;
  if (droppedBytes < droppedBytesMax) return;
  droppedBytes = 0;
  collectGarbage();
}

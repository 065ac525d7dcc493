import { collectGarbage } from "../../base/garbage.js";

/** Memory of compiled regexps that may wait for collection, by their estimate: that of 512 usual ones. */
const droppedBytesMax = 16 * 1024 * 1024;

let droppedBytes = 0;

/**
 * Notes that compiled regexps of so many bytes were let go, and runs a full collection after each 16 MiB.
 *
 * The binding does not tell V8 what memory lies behind a regexp, so that V8 sees a hundred bytes and has no reason to
 * collect: after 4,000 regexps of 400 alternatives, of which 16 were kept, a thread held 490 MB, and 89 MB with this. A
 * collection of a heap of 5 MiB, as a search thread has it, took 6 to 10 ms on a machine under load; one of the main
 * thread's heap with 10,000 repositories and as many users 60 ms, so what does not take much memory must not lead to
 * many.
 */
export function recordDropped(byteCount: number): void {
  droppedBytes += byteCount;
  if (droppedBytes < droppedBytesMax) return;
  droppedBytes = 0;
  collectGarbage();
}

import { collectGarbage, collectYoungGarbage } from "../../base/garbage.js";

/** Estimated memory of dropped compiled regexps after which young objects are collected: that of 512 typical ones. */
const youngBytesMax = 16 * 1024 * 1024;

/** A full collection follows after this much, for regexps that were old when they were dropped. */
const droppedBytesMax = 64 * 1024 * 1024;

/** A thread that has not returned to its event loop by then is collected at once. */
const waitingBytesMax = 2 * droppedBytesMax;

let droppedBytes = 0;
let youngBytes = 0;
let isPlanned = false;

/**
 * Records that compiled regexps of this many bytes were dropped, and collects garbage after each 16 MiB.
 *
 * The binding does not report the memory of a regexp to V8, so V8 sees a hundred bytes and has no reason to collect:
 * after 4,000 regexps of 400 alternatives, of which 16 were kept, a thread used 490 MB, and 89 MB with full collections
 * after each 16 MiB. Those discard optimized code: with a search for another word every 7 ms, they came every 6 s, and
 * compiling the code again was a quarter of the daemon's processor time.
 *
 * A full collection of the main thread's heap takes 60 to 90 ms with 10,000 repositories and as many users. It has a turn of
 * the event loop to itself, so that the thread is not blocked longer.
 */
export function recordDropped(byteCount: number): void {
  droppedBytes += byteCount;
  youngBytes += byteCount;
  if (droppedBytes >= waitingBytesMax) collectAll();
  else if (droppedBytes >= droppedBytesMax) planCollection();
  else if (youngBytes >= youngBytesMax) {
    youngBytes = 0;
    collectYoungGarbage();
  }
}

function planCollection(): void {
  if (isPlanned) return;
  isPlanned = true;
  setImmediate(() => {
    isPlanned = false;
    if (droppedBytes >= droppedBytesMax) collectAll();
  });
}

function collectAll(): void {
  droppedBytes = 0;
  youngBytes = 0;
  collectGarbage();
}

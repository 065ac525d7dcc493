import { addonIfBuilt } from "../kernel/addon.js";

/** A word for one thread that records whether its heap has reached its limit. */
export function makeHeapWord(): Uint32Array {
  return new Uint32Array(new SharedArrayBuffer(4));
}

/**
 * Ends this worker thread when its heap reaches its limit, however large the failing allocation is. Without the addon,
 * Node does the same, but an allocation of more than 16 MiB, as when a Map of a million keys grows, then ends the whole
 * process.
 */
export function guardHeap(word: Uint32Array): void {
  addonIfBuilt()?.guardHeap(word);
}

/** Whether the thread of this word was ended for this reason. */
export function isHeapFull(word: Uint32Array): boolean {
  return Atomics.load(word, 0) !== 0;
}

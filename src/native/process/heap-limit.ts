import { addonIfBuilt } from "../addon.js";

/** A word for one thread: whether its heap has reached its limit. */
export function makeHeapWord(): Uint32Array {
  return new Uint32Array(new SharedArrayBuffer(4));
}

/**
 * Ends this worker thread when its heap reaches its limit, however large the allocation is that does not fit. Without
 * the addon Node does so, but an allocation of more than 16 MiB then ends the whole process, as when a Map of a million
 * keys grows.
 */
export function guardHeap(word: Uint32Array): void {
  addonIfBuilt()?.guardHeap(word);
}

/** Whether the thread of this word was ended so. */
export function isHeapFull(word: Uint32Array): boolean {
  return Atomics.load(word, 0) !== 0;
}

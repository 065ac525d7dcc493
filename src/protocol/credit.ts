import { controlWords } from "./control-block.js";

/**
 * Whether the client has read enough for more results to be made. Without credit the calling worker waits up to the
 * control block's `creditWaitMs` first: a client that keeps up gives credit back within that, and to leave the shard
 * and come back costs more.
 */
export function hasCredit(control: Int32Array): boolean {
  const left = Atomics.load(control, controlWords.credit);
  if (left > 0) return true;
  const waitMs = Atomics.load(control, controlWords.creditWaitMs);
  if (waitMs > 0) Atomics.wait(control, controlWords.credit, left, waitMs);
  return Atomics.load(control, controlWords.credit) > 0;
}

/** Gives credit back, and wakes the workers that wait for it. */
export function giveCredit(control: Int32Array, byteCount: number): void {
  Atomics.add(control, controlWords.credit, byteCount);
  Atomics.notify(control, controlWords.credit);
}

import { assert } from "../../base/assert.js";
import type { BatchMessage } from "../../protocol/messages.js";
import type { ResultBatch } from "../../protocol/result-batch.js";

/** Receives a batch. `release` must be called when its bytes are no longer needed. */
export type BatchReceiver = (batch: ResultBatch, release: () => void) => void;

interface HeldSlice {
  readonly slice: number;
  readonly batches: { readonly batch: ResultBatch; readonly release: () => void }[];
}

/**
 * The batches of the slices of one search. They arrive on another channel than the results of their slices, before or
 * after them.
 *
 * Those of one slice may be held until it is known whether they are wanted: its results may be sent only after others,
 * and not at all if its worker crashes.
 */
export class SliceBatches {
  readonly #onBatch: BatchReceiver;
  readonly #onDropped: (byteCount: number) => void;
  /** By slice: batches that it reports to have posted, minus those that have arrived, unless that is zero. */
  readonly #missing = new Map<number, number>();
  /** Slices whose worker crashed: their batches are not awaited, because their number is unknown. */
  readonly #lost = new Set<number>();
  /** Slices whose batches are not wanted. */
  readonly #unwanted = new Set<number>();
  #held: HeldSlice | undefined;

  /** `onDropped` is called with the size of each batch that is not passed on. */
  constructor(onBatch: BatchReceiver, onDropped: (byteCount: number) => void) {
    this.#onBatch = onBatch;
    this.#onDropped = onDropped;
  }

  /** Whether all batches have arrived that slices report to have posted. */
  get isComplete(): boolean {
    return this.#missing.size === 0;
  }

  receive({ slice, batch }: BatchMessage, release: () => void): void {
    if (this.#unwanted.has(slice)) return this.#drop(batch, release);
    if (slice === this.#held?.slice) this.#held.batches.push({ batch, release });
    else this.#pass(slice, batch, release);
  }

  /** Records the number of batches that a slice reports to have posted. */
  expect(slice: number, count: number): void {
    this.#count(slice, count);
  }

  lose(slice: number): void {
    this.#missing.delete(slice);
    this.#lost.add(slice);
  }

  /** Holds the batches of a slice, until `takeHeld` or `dropHeld`. The client's credit limits their size. */
  hold(slice: number): void {
    this.#held = { slice, batches: [] };
  }

  /** Passes on the batches that are held, and from now on those of the slice. Returns the slice. */
  takeHeld(): number {
    assert(this.#held !== undefined, "a slice is held");
    const { slice, batches } = this.#held;
    this.#held = undefined;
    for (const { batch, release } of batches) this.#pass(slice, batch, release);
    return slice;
  }

  /** Drops the batches that are held, and those of the slice that are to come. */
  dropHeld(): void {
    if (this.#held === undefined) return;
    const { slice, batches } = this.#held;
    this.#held = undefined;
    this.#unwanted.add(slice);
    for (const { batch, release } of batches) this.#drop(batch, release);
  }

  #pass(slice: number, batch: ResultBatch, release: () => void): void {
    this.#count(slice, -1);
    this.#onBatch(batch, release);
  }

  #drop({ bytes }: ResultBatch, release: () => void): void {
    release();
    this.#onDropped(bytes.length);
  }

  #count(slice: number, count: number): void {
    if (this.#lost.has(slice)) return;
    const missing = (this.#missing.get(slice) ?? 0) + count;
    if (missing === 0) this.#missing.delete(slice);
    else this.#missing.set(slice, missing);
  }
}

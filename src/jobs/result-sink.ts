import type { FileHandle } from "node:fs/promises";
import { assert } from "../base/assert.js";
import { BaseListener, bytesOfPart, type JsonElements, releaseAll } from "../model/search-listener.js";
import { type Alert, alertText } from "../model/stream-events.js";
import type { LineSplitter } from "./line-splitter.js";

const lineEnd = Buffer.from("\n");

/**
 * After this many bytes, the disk is told to store them while the search goes on, so that the commit of a large batch
 * need not wait for all of it: the results of `return` in the Linux source took three times as long as their stream.
 */
const syncEachBytes = 16 << 20;

/**
 * Bytes that may wait for the disk before the search has to. Without them, it runs at the pace of single writes of at
 * most its credit, each of which waits for a thread while all processors search: `return` in the Linux source took 1.1
 * of the time of the same stream, and takes 0.85. Each worker keeps 2 MiB of buffers; 8 MiB were not faster.
 */
const waitingBytesMax = 2 << 20;

/** Limits on the bytes that are written. */
export interface ResultLimits {
  readonly bytesMax: number;
  /** Takes space from that of all jobs; false if there is none. */
  readonly take: (byteCount: number) => boolean;
}

/** Writes the match objects of a search to a file, one on each line, and exerts backpressure while the disk is busy. */
export class ResultSink extends BaseListener {
  readonly #file: FileHandle;
  readonly #splitter: LineSplitter;
  readonly #limits: ResultLimits;
  #queue: JsonElements[] = [];
  #isWriting = false;
  #syncing: Promise<void> | undefined;
  #unsyncedBytes = 0;
  #failure: unknown;
  #resolve: () => void = () => undefined;
  /** Resolves when the search has ended and all its results are in the file, or could not be written. */
  readonly written = new Promise<void>((resolve) => {
    this.#resolve = resolve;
  });
  #waitingBytes = 0;
  #drainScheduled = false;
  byteCount = 0;
  /** Of `byteCount`, those for which there was room. */
  takenBytes = 0;
  /** The search's error or alert; "" if it had none. */
  message = "";

  constructor(file: FileHandle, splitter: LineSplitter, limits: ResultLimits) {
    super();
    this.#file = file;
    this.#splitter = splitter;
    this.#limits = limits;
  }

  /** Why the results could not be written. */
  get failure(): unknown {
    return this.#failure;
  }

  override get pendingBytes(): number {
    return Math.max(0, this.#waitingBytes - waitingBytesMax);
  }

  /** True if there were more bytes than the job may have. */
  get isFull(): boolean {
    return this.byteCount > this.#limits.bytesMax;
  }

  /** True if all jobs together had more bytes than allowed. */
  get lacksRoom(): boolean {
    return this.takenBytes < this.byteCount;
  }

  override matches(parts: readonly JsonElements[]): void {
    if (this.closed) return releaseAll(parts);
    for (const part of parts) {
      const bytes = bytesOfPart(part);
      this.#splitter.split(bytes);
      if (this.#limits.take(bytes.length + 1)) this.takenBytes += bytes.length + 1;
      this.#queue.push(part);
      this.#waitingBytes += bytes.length + 1;
      this.byteCount += bytes.length + 1;
    }
    assert(this.takenBytes <= this.byteCount, "space is taken for bytes of results");
    if (!this.#isWriting) void this.#write();
    this.#scheduleDrain();
    if (this.isFull || this.lacksRoom) this.end();
  }

  override alert(alert: Alert): void {
    if (!this.closed && this.message === "") this.message = alertText(alert);
  }

  override error(message: string): void {
    if (!this.closed) this.message = message;
  }

  override end(): void {
    if (this.closed) return;
    this.close();
    if (!this.#isWriting) this.#finish();
  }

  async #write(): Promise<void> {
    this.#isWriting = true;
    while (this.#queue.length > 0) {
      const taken = this.#queue;
      this.#queue = [];
      try {
        if (this.#failure === undefined && !this.isFull && !this.lacksRoom)
          await writeAll(
            this.#file,
            taken.flatMap((part) => [bytesOfPart(part), lineEnd]),
          );
      } catch (error) {
        this.#failure = error;
      }
      for (const part of taken) {
        const { length } = bytesOfPart(part);
        this.#unsyncedBytes += length + 1;
        this.#waitingBytes -= length + 1;
      }
      assert(this.#waitingBytes >= 0, "bytes that were written have waited");
      releaseAll(taken);
      if (this.#failure !== undefined) this.end();
      else if (this.#unsyncedBytes >= syncEachBytes) this.#sync();
      this.#scheduleDrain();
    }
    this.#isWriting = false;
    if (this.closed) this.#finish();
  }

  /** Not within `send`. */
  #scheduleDrain(): void {
    if (this.#drainScheduled) return;
    this.#drainScheduled = true;
    queueMicrotask(() => {
      this.#drainScheduled = false;
      if (this.pendingBytes === 0) this.drained();
    });
  }

  /** The system reports an error of a sync only once, so that it counts like one of a write. */
  #sync(): void {
    if (this.#syncing !== undefined) return;
    this.#unsyncedBytes = 0;
    this.#syncing = this.#file
      .datasync()
      .catch((error: unknown) => {
        this.#failure ??= error;
        this.end();
      })
      .finally(() => {
        this.#syncing = undefined;
      });
  }

  #finish(): void {
    if (this.#syncing === undefined) this.#resolve();
    else void this.#syncing.then(() => this.#resolve());
  }
}

/** A write may take a part of the bytes. */
async function writeAll(file: FileHandle, parts: readonly Uint8Array[]): Promise<void> {
  const { bytesWritten } = await file.writev(parts as Uint8Array[]);
  const total = parts.reduce((sum, { length }) => sum + length, 0);
  if (bytesWritten < total) await file.writeFile(Buffer.concat(parts).subarray(bytesWritten));
}

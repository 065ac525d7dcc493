import type { FileHandle } from "node:fs/promises";
import { bytesOfPart, type EventPart, type EventSink } from "../model/event-sink.js";
import type { Alert, StreamError } from "../model/stream-events.js";

const newline = 10;
const comma = 44;
const lineEnd = Buffer.from("\n");

/**
 * Where one match object ends and the next begins. The sequence cannot be part of a text, in which quotation marks are
 * escaped, and no object within a match object begins with its type.
 */
const boundary = Buffer.from('},{"type":"');

/**
 * After this many bytes, the disk is told to store them while the search goes on, so that the commit of a large batch
 * need not wait for all of it: the results of `return` in the Linux source took three times as long as their stream.
 */
const syncEachBytes = 16 << 20;

/** Limits on the bytes that are written. */
export interface ResultLimits {
  readonly bytesMax: number;
  /** Takes space from that of all jobs; false if there is none. */
  readonly take: (byteCount: number) => boolean;
}

/** Writes the match objects of a search to a file, one on each line, and exerts backpressure while the disk is busy. */
export class ResultSink implements EventSink {
  readonly #file: FileHandle;
  readonly #limits: ResultLimits;
  readonly #drainCallbacks: (() => void)[] = [];
  readonly #closedCallbacks: (() => void)[] = [];
  #queue: (readonly [bytes: Uint8Array, release: () => void])[] = [];
  #isWriting = false;
  #syncing: Promise<void> | undefined;
  #unsyncedBytes = 0;
  #isClosed = false;
  #error: unknown;
  #resolve: () => void = () => undefined;
  /** Resolves when the search has ended and all its results are in the file, or could not be written. */
  readonly done = new Promise<void>((resolve) => {
    this.#resolve = resolve;
  });
  pendingBytes = 0;
  byteCount = 0;
  /** Of `byteCount`, those for which there was room. */
  takenBytes = 0;
  /** The search's error or alert; "" if it had none. */
  message = "";

  constructor(file: FileHandle, limits: ResultLimits) {
    this.#file = file;
    this.#limits = limits;
  }

  /** Why the results could not be written. */
  get error(): unknown {
    return this.#error;
  }

  /** True if there were more bytes than the job may have. */
  get isFull(): boolean {
    return this.byteCount > this.#limits.bytesMax;
  }

  /** True if all jobs together had more bytes than allowed. */
  get lacksRoom(): boolean {
    return this.takenBytes < this.byteCount;
  }

  get closed(): boolean {
    return this.#isClosed;
  }

  send(event: string, data: readonly EventPart[]): void {
    if (this.#isClosed) return;
    if (event === "matches") return this.#addMatches(data);
    const text = data.map((part) => (typeof part === "string" ? part : "")).join("");
    if (event === "error") this.message = (JSON.parse(text) as StreamError).message;
    if (event !== "alert" || this.message !== "") return;
    const { title, description } = JSON.parse(text) as Alert;
    this.message = description === undefined ? title : `${title}: ${description}`;
  }

  onDrain(callback: () => void): void {
    this.#drainCallbacks.push(callback);
  }

  onClosed(callback: () => void): void {
    if (this.#isClosed) callback();
    else this.#closedCallbacks.push(callback);
  }

  end(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const callback of this.#closedCallbacks.splice(0)) callback();
    if (!this.#isWriting) this.#finish();
  }

  #addMatches(data: readonly EventPart[]): void {
    for (const part of data) {
      if (typeof part === "string") continue;
      const bytes = bytesOfPart(part);
      // A comma between two parts.
      if (bytes.length === 1) continue;
      splitLines(bytes);
      if (this.#limits.take(bytes.length + 1)) this.takenBytes += bytes.length + 1;
      this.#queue.push([bytes, part instanceof Uint8Array ? () => undefined : () => part.release()]);
      this.pendingBytes += bytes.length + 1;
      this.byteCount += bytes.length + 1;
    }
    if (!this.#isWriting) void this.#write();
    if (this.isFull || this.lacksRoom) this.end();
  }

  async #write(): Promise<void> {
    this.#isWriting = true;
    while (this.#queue.length > 0) {
      const taken = this.#queue;
      this.#queue = [];
      try {
        if (this.#error === undefined && !this.isFull && !this.lacksRoom)
          await writeAll(
            this.#file,
            taken.flatMap(([bytes]) => [bytes, lineEnd]),
          );
      } catch (error) {
        this.#error = error;
      }
      for (const [bytes, release] of taken) {
        this.#unsyncedBytes += bytes.length + 1;
        this.pendingBytes -= bytes.length + 1;
        release();
      }
      if (this.#error !== undefined) this.end();
      else if (this.#unsyncedBytes >= syncEachBytes) this.#sync();
    }
    this.#isWriting = false;
    if (this.#isClosed) return this.#finish();
    for (const callback of this.#drainCallbacks) callback();
  }

  /** The system reports an error of a sync only once, so that it counts like one of a write. */
  #sync(): void {
    if (this.#syncing !== undefined) return;
    this.#unsyncedBytes = 0;
    this.#syncing = this.#file
      .datasync()
      .catch((error: unknown) => {
        this.#error ??= error;
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

/** Replaces the commas between match objects by newlines. The bytes belong to the caller of `send`. */
function splitLines(bytes: Uint8Array): void {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = view.indexOf(boundary); at >= 0; at = view.indexOf(boundary, at + boundary.length)) {
    if (view[at + 1] === comma) view[at + 1] = newline;
  }
}

/** A write may take a part of the bytes. */
async function writeAll(file: FileHandle, parts: readonly Uint8Array[]): Promise<void> {
  const { bytesWritten } = await file.writev(parts as Uint8Array[]);
  const total = parts.reduce((sum, { length }) => sum + length, 0);
  if (bytesWritten < total) await file.writeFile(Buffer.concat(parts).subarray(bytesWritten));
}

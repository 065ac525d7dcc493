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

/** Writes the match objects of a search to a file, one on each line, and exerts backpressure while the disk is busy. */
export class ResultSink implements EventSink {
  readonly #file: FileHandle;
  readonly #bytesMax: number;
  readonly #drainCallbacks: (() => void)[] = [];
  readonly #closedCallbacks: (() => void)[] = [];
  #queue: (readonly [bytes: Uint8Array, release: () => void])[] = [];
  #isWriting = false;
  #isClosed = false;
  #error: unknown;
  #resolve: () => void = () => undefined;
  /** Resolves when the search has ended and all its results are in the file, or could not be written. */
  readonly done = new Promise<void>((resolve) => {
    this.#resolve = resolve;
  });
  pendingBytes = 0;
  byteCount = 0;
  /** The search's error or alert; "" if it had none. */
  message = "";

  constructor(file: FileHandle, bytesMax: number) {
    this.#file = file;
    this.#bytesMax = bytesMax;
  }

  /** Why the results could not be written. */
  get error(): unknown {
    return this.#error;
  }

  /** True if there were more bytes than allowed. */
  get isFull(): boolean {
    return this.byteCount > this.#bytesMax;
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
    if (!this.#isWriting) this.#resolve();
  }

  #addMatches(data: readonly EventPart[]): void {
    for (const part of data) {
      if (typeof part === "string") continue;
      const bytes = bytesOfPart(part);
      // A comma between two parts.
      if (bytes.length === 1) continue;
      splitLines(bytes);
      this.#queue.push([bytes, part instanceof Uint8Array ? () => undefined : () => part.release()]);
      this.pendingBytes += bytes.length + 1;
      this.byteCount += bytes.length + 1;
    }
    if (this.isFull) return this.end();
    if (!this.#isWriting) void this.#write();
  }

  async #write(): Promise<void> {
    this.#isWriting = true;
    while (this.#queue.length > 0) {
      const taken = this.#queue;
      this.#queue = [];
      try {
        if (this.#error === undefined)
          await writeAll(
            this.#file,
            taken.flatMap(([bytes]) => [bytes, lineEnd]),
          );
      } catch (error) {
        this.#error = error;
      }
      for (const [bytes, release] of taken) {
        this.pendingBytes -= bytes.length + 1;
        release();
      }
      if (this.#error !== undefined) this.end();
    }
    this.#isWriting = false;
    if (this.#isClosed) return this.#resolve();
    for (const callback of this.#drainCallbacks) callback();
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

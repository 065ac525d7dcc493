import { uninitializedBytes } from "../../base/bytes.js";
import { TrawlError } from "../../base/errors.js";
import type { GitChild } from "./run.js";

/** When more output than this is waiting to be read, the pipe is paused, and git blocks. */
const queuedBytesMax = 1 << 20;
const scratchBytesStart = 256 << 10;
/** A larger scratch buffer is not kept for the next content. */
const scratchBytesKept = 4 << 20;
const lineBytesMax = 4096;
const lineFeed = 10;

/**
 * Standard output of git as a sequence of lines and byte runs, requested one at a time. Copies only data that spans
 * chunks. Returned bytes are valid until the next call.
 */
export class OutputReader {
  readonly #child: GitChild;
  readonly #queue: Buffer[] = [];
  #queuedBytes = 0;
  #chunk: Buffer = Buffer.alloc(0);
  #at = 0;
  #scratch = uninitializedBuffer(scratchBytesStart);
  #wake: (() => void) | null = null;

  constructor(child: GitChild) {
    this.#child = child;
    child.watchSilence(false);
    child.stdout.on("data", (chunk: Buffer) => {
      this.#queue.push(chunk);
      this.#queuedBytes += chunk.length;
      if (this.#queuedBytes > queuedBytesMax) child.stdout.pause();
      this.#wake?.();
    });
    child.stdout.on("close", () => this.#wake?.());
  }

  /** The next line without its end, one character per byte. */
  async line(): Promise<string> {
    let start = "";
    for (;;) {
      const end = this.#chunk.indexOf(lineFeed, this.#at);
      if (end >= 0) return start + this.#latin1Until(end, 1);
      start += this.#latin1Until(this.#chunk.length, 0);
      if (start.length > lineBytesMax) throw new TrawlError("git", `${this.#child.name} wrote an endless line`);
      await this.#nextChunk();
    }
  }

  async bytes(byteCount: number): Promise<Buffer> {
    if (this.#at + byteCount <= this.#chunk.length) return this.#take(byteCount);
    const whole = this.#growScratch(byteCount);
    let copied = 0;
    while (copied < byteCount) {
      if (this.#at === this.#chunk.length) await this.#nextChunk();
      const part = this.#take(Math.min(byteCount - copied, this.#chunk.length - this.#at));
      part.copy(whole, copied);
      copied += part.length;
    }
    return whole;
  }

  #latin1Until(end: number, skip: number): string {
    const text = this.#chunk.toString("latin1", this.#at, end);
    this.#at = end + skip;
    return text;
  }

  #take(byteCount: number): Buffer {
    const bytes = this.#chunk.subarray(this.#at, this.#at + byteCount);
    this.#at += byteCount;
    return bytes;
  }

  #growScratch(byteCount: number): Buffer {
    if (byteCount > scratchBytesKept) return uninitializedBuffer(byteCount);
    if (byteCount > this.#scratch.length) this.#scratch = uninitializedBuffer(scratchBytesKept);
    return this.#scratch.subarray(0, byteCount);
  }

  /** Waits for output of git. Throws the reason if git has exited. */
  async #nextChunk(): Promise<void> {
    if (this.#queue.length === 0 && !this.#child.stdout.destroyed) {
      this.#child.watchSilence(true);
      await new Promise<void>((resolve) => (this.#wake = resolve));
      this.#child.watchSilence(false);
    }
    const chunk = this.#queue.shift();
    if (chunk === undefined) throw this.#child.exitError(await this.#child.ended);
    this.#queuedBytes -= chunk.length;
    if (this.#queuedBytes <= queuedBytesMax / 2 && this.#child.stdout.isPaused()) this.#child.stdout.resume();
    this.#chunk = chunk;
    this.#at = 0;
  }
}

function uninitializedBuffer(byteCount: number): Buffer {
  const bytes = uninitializedBytes(byteCount);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

import type { ResumableStream } from "./resumable-stream.js";

/** Of all streams, or of those of one user. */
export class StreamUsage {
  #count = 0;
  #bytes = 0;

  add({ writtenBytes }: ResumableStream, sign: 1 | -1): void {
    this.#count += sign;
    this.#bytes += sign * writtenBytes;
  }

  exceeds(countMax: number, bytesMax: number): boolean {
    return this.#count > countMax || this.#bytes > bytesMax;
  }
}

import type { FileHandle } from "node:fs/promises";
import { TrawlError } from "../../base/errors.js";

const newline = 10;
const readBytes = 1 << 20;
/** The searcher writes large documents as several results, so that only a very long line of text reaches this. */
const lineBytesMax = 32 << 20;

/** Reads the lines of a part of a file one after another, with memory for one line and one read. */
export class LineReader {
  readonly #file: FileHandle | undefined;
  readonly #to: number;
  #buffer = Buffer.alloc(readBytes);
  /** Of the file. */
  #readTo: number;
  #from = 0;
  #end = 0;

  /** `from` and `to` are byte offsets between lines; without a file they are equal. */
  constructor(file: FileHandle | undefined, from: number, to: number) {
    this.#file = file;
    this.#readTo = from;
    this.#to = to;
  }

  /** The offset in the file after the last line that was returned. */
  get at(): number {
    return this.#readTo - (this.#end - this.#from);
  }

  /** The next line without its newline, valid until the next call; undefined at the end. */
  async next(): Promise<Buffer | undefined> {
    for (let searched = this.#from; ; ) {
      const found = this.#buffer.subarray(0, this.#end).indexOf(newline, searched);
      if (found >= 0) {
        const line = this.#buffer.subarray(this.#from, found);
        this.#from = found + 1;
        return line;
      }
      if (this.#readTo === this.#to && this.#from === this.#end) return undefined;
      const held = this.#end - this.#from;
      await this.#read();
      searched = held;
    }
  }

  async #read(): Promise<void> {
    const held = this.#buffer.subarray(this.#from, this.#end);
    if (held.length > lineBytesMax)
      throw new TrawlError(
        "bad-request",
        `a result has more than ${lineBytesMax >> 20} MiB, which is too much for a row: read the results as JSON lines`,
      );
    const space = held.length * 2 > this.#buffer.length ? Buffer.alloc(this.#buffer.length * 2) : this.#buffer;
    held.copy(space);
    this.#buffer = space;
    this.#from = 0;
    const byteCount = Math.min(space.length - held.length, this.#to - this.#readTo);
    const bytesRead = (await this.#file?.read(space, held.length, byteCount, this.#readTo))?.bytesRead ?? 0;
    if (bytesRead === 0) throw new TrawlError("storage", "the results of the search job on the disk are cut off");
    this.#readTo += bytesRead;
    this.#end = held.length + bytesRead;
  }
}

import { uninitializedBytes } from "../../base/bytes.js";
import { TrawlError } from "../../base/errors.js";

const windowBytesStart = 256 * 1024;

/** Limit on a header line, a path or a name, and on what follows a file of the maximum size in the window. */
export const tokenBytesMax = 1024 * 1024;

const newline = 10;

/** The part of git's output that was received and is still needed. */
export class PatchWindow {
  data: Buffer = uninitializedBytes(windowBytesStart);
  /** The next byte to parse, and the end of the bytes. */
  at = 0;
  end = 0;
  /** The first byte that is needed, if that is not the next one: where the hunks of a file begin. -1 for none. */
  kept = -1;
  /** Whether the last token, or the one that is being read, is not complete because it is too long. */
  isCut = false;
  /** Of a token that is longer than allowed: its beginning. */
  #longToken: Buffer | undefined;

  /** Returns by how much the positions in `data`, which may be another buffer now, have changed. */
  append(chunk: Buffer): number {
    const from = this.kept >= 0 ? this.kept : this.at;
    const needed = this.end - from + chunk.length;
    let moved = 0;
    if (this.end + chunk.length > this.data.length) {
      const target = needed > this.data.length ? uninitializedBytes(Math.max(needed, this.data.length * 2)) : this.data;
      this.data.copy(target, 0, from, this.end);
      this.data = target;
      moved = -from;
      this.at += moved;
      this.end += moved;
      if (this.kept >= 0) this.kept = 0;
    }
    chunk.copy(this.data, this.end);
    this.end += chunk.length;
    return moved;
  }

  /**
   * The bytes up to the next zero byte; undefined if they are not complete. With `mayCut`, at most `bytesMax`,
   * otherwise throws `git` if there are more. Valid until the next call of a method.
   */
  readToken(bytesMax: number, mayCut: boolean): Buffer | undefined {
    const found = this.data.indexOf(0, this.at);
    const isWhole = found >= 0 && found < this.end;
    const to = isWhole ? found : this.end;
    const from = this.at;
    if (to - from <= bytesMax && this.#longToken === undefined) {
      if (!isWhole) return undefined;
      this.at = to + 1;
      this.isCut = false;
      return this.data.subarray(from, to);
    }
    if (!mayCut) throw new TrawlError("git", "git diff-tree wrote an endless name");
    this.#longToken ??= Buffer.from(this.data.subarray(from, from + bytesMax));
    this.isCut = true;
    this.at = isWhole ? to + 1 : to;
    if (!isWhole) return undefined;
    const token = this.#longToken;
    this.#longToken = undefined;
    return token;
  }

  /** The end of the line that begins at the next byte; undefined if it is not complete. */
  findLineEnd(): number | undefined {
    const end = this.data.indexOf(newline, this.at);
    if (end >= 0 && end < this.end) return end;
    if (this.end - this.at > tokenBytesMax) throw new TrawlError("git", "git diff-tree wrote an endless line");
    return undefined;
  }
}

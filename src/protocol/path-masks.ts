import { lowerBoundBy } from "../base/sorted-search.js";
/*
 * A set of paths with a 32-bit mask each, as bytes that can be sent between threads: a word for the count n, n masks, n
 * + 1 starts, then the concatenated paths in byte order. Starts are relative to the beginning of the paths.
 */

/** Each character of a path represents one byte. */
export function encodePathMasks(masks: ReadonlyMap<string, number>): Uint8Array {
  const paths = [...masks.keys()].sort((a, b) => (a < b ? -1 : 1));
  const headWords = 2 + 2 * paths.length;
  const byteCount = paths.reduce((sum, path) => sum + path.length, headWords * 4);
  const bytes = Buffer.from(new SharedArrayBuffer(Math.ceil(byteCount / 4) * 4));
  const words = new Uint32Array(bytes.buffer, 0, headWords);
  words[0] = paths.length;
  let at = 0;
  paths.forEach((path, i) => {
    words[1 + i] = masks.get(path) ?? 0;
    words[1 + paths.length + i] = at;
    bytes.write(path, headWords * 4 + at, "latin1");
    at += path.length;
  });
  words[1 + 2 * paths.length] = at;
  return bytes;
}

/** Reads the output of `encodePathMasks`. */
export class PathMasks {
  readonly #count: number;
  readonly #masks: Uint32Array;
  readonly #starts: Uint32Array;
  readonly #paths: Buffer;

  /** `bytes` start at a multiple of four. */
  constructor(bytes: Uint8Array) {
    this.#count = new Uint32Array(bytes.buffer, bytes.byteOffset, 1)[0];
    this.#masks = new Uint32Array(bytes.buffer, bytes.byteOffset + 4, this.#count);
    this.#starts = new Uint32Array(bytes.buffer, bytes.byteOffset + 4 * (1 + this.#count), this.#count + 1);
    this.#paths = Buffer.from(bytes.buffer, bytes.byteOffset + 4 * (2 + 2 * this.#count), this.#starts[this.#count]);
  }

  /** The input of `encodePathMasks`. */
  decode(): Map<string, number> {
    const masks = new Map<string, number>();
    for (let i = 0; i < this.#count; i++)
      masks.set(this.#paths.toString("latin1", this.#starts[i], this.#starts[i + 1]), this.#masks[i]);
    return masks;
  }

  /** Returns 0 for a path that is not in the set. */
  lookup(path: Buffer): number {
    const order = (i: number): number => path.compare(this.#paths, this.#starts[i], this.#starts[i + 1]);
    const index = lowerBoundBy(this.#count, (i) => order(i) > 0);
    return index < this.#count && order(index) === 0 ? this.#masks[index] : 0;
  }
}

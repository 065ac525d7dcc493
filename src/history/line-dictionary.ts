import { uninitializedBytes } from "../base/bytes.js";

const textBytesStart = 1 << 20;
const slotCountStart = 1 << 16;

/**
 * After this many slots a line is added again, although it may exist: lines with the same hash, which somebody may have
 * chosen, then cost space, but no time. The average is below two.
 */
const probeCountMax = 64;

/**
 * Distinct lines, numbered in the order of their first use, each followed by a newline. A line may be in it twice,
 * which costs only its space.
 */
export class LineDictionary {
  text: Buffer = uninitializedBytes(textBytesStart);
  textBytes = 0;
  count = 0;
  /** Start of each line; entry `count` is the end of the text. */
  start = new Uint32Array(slotCountStart);
  #hashes = new Int32Array(slotCountStart);
  /** Line numbers plus 1; 0 for a free slot. At most half are used. */
  #slots = new Int32Array(slotCountStart * 2);

  /** The number of the line, which has this FNV-1a hash; it is added if it is new. */
  add(bytes: Uint8Array, from: number, to: number, hash: number): number {
    const mask = this.#slots.length - 1;
    let slot = mix(hash) & mask;
    for (let probes = 0; probes < probeCountMax; probes++) {
      const line = this.#slots[slot] - 1;
      if (line < 0) break;
      if (this.#hashes[line] === hash && this.#isEqual(line, bytes, from, to)) return line;
      slot = (slot + 1) & mask;
    }
    return this.#append(bytes, from, to, hash, slot);
  }

  /** The text with this many zero bytes after it, which are not part of it: without copying, if there is room. */
  padded(byteCount: number): Buffer {
    if (this.textBytes + byteCount > this.text.length) this.#growText(byteCount);
    return this.text.subarray(0, this.textBytes + byteCount).fill(0, this.textBytes);
  }

  #isEqual(line: number, bytes: Uint8Array, from: number, to: number): boolean {
    const { text } = this;
    const start = this.start[line];
    if (this.start[line + 1] - start - 1 !== to - from) return false;
    for (let i = from, j = start; i < to; i++, j++) if (bytes[i] !== text[j]) return false;
    return true;
  }

  #append(bytes: Uint8Array, from: number, to: number, hash: number, slot: number): number {
    const length = to - from;
    if (this.textBytes + length + 1 > this.text.length) this.#growText(length + 1);
    if (this.count + 2 > this.start.length) this.#growLines();
    const line = this.count++;
    const { text } = this;
    let at = this.textBytes;
    for (let i = from; i < to; i++) text[at++] = bytes[i];
    text[at++] = 10;
    this.textBytes = at;
    this.start[this.count] = at;
    this.#hashes[line] = hash;
    // The slot is taken if the search for a free one ended early: then the line is not found again.
    if (this.#slots[slot] === 0) this.#slots[slot] = line + 1;
    if (this.count * 2 > this.#slots.length) this.#growSlots();
    return line;
  }

  #growText(byteCount: number): void {
    const grown = uninitializedBytes(Math.max(this.text.length * 2, this.textBytes + byteCount));
    this.text.copy(grown, 0, 0, this.textBytes);
    this.text = grown;
  }

  #growLines(): void {
    const start = new Uint32Array(this.start.length * 2);
    start.set(this.start);
    this.start = start;
    const hashes = new Int32Array(start.length);
    hashes.set(this.#hashes);
    this.#hashes = hashes;
  }

  #growSlots(): void {
    const slots = new Int32Array(this.#slots.length * 2);
    const mask = slots.length - 1;
    for (let line = 0; line < this.count; line++) {
      let slot = mix(this.#hashes[line]) & mask;
      for (let probes = 0; probes < probeCountMax && slots[slot] !== 0; probes++) slot = (slot + 1) & mask;
      if (slots[slot] === 0) slots[slot] = line + 1;
    }
    this.#slots = slots;
  }
}

/** Spreads the hash over the low bits, which choose the slot. */
function mix(hash: number): number {
  const mixed = Math.imul(hash ^ (hash >>> 15), -2048144789);
  return mixed ^ (mixed >>> 13);
}

/** FNV-1a, as the parser of patches computes it. */
export function hashLine(bytes: Uint8Array, from: number, to: number): number {
  let hash = -2128831035;
  for (let i = from; i < to; i++) hash = Math.imul(hash ^ bytes[i], 16777619);
  return hash;
}

/**
 * Finds oids by their bytes. An oid is a hash, so some of its bytes serve as one: to make many commits for which these
 * agree, somebody would have to try billions.
 */
export class OidTable {
  readonly #oidBytes: number;
  /** Numbers plus 1; 0 for a free slot. At most half are used. */
  readonly #slots: Int32Array;
  readonly #oids: Buffer;

  /** `oids` are the concatenated oids, which must not change. */
  constructor(oids: Uint8Array, oidBytes: number) {
    this.#oidBytes = oidBytes;
    this.#oids = Buffer.from(oids.buffer, oids.byteOffset, oids.length);
    const count = oids.length / oidBytes;
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(2 * count + 2)));
    for (let number = 0; number < count; number++) {
      const slot = this.#slotOf(this.#oids, number * oidBytes);
      if (this.#slots[slot] === 0) this.#slots[slot] = number + 1;
    }
  }

  /** The number of the oid at this offset of `bytes`, or -1. */
  find(bytes: Buffer, offset: number): number {
    return this.#slots[this.#slotOf(bytes, offset)] - 1;
  }

  /** The slot of this oid, or the free one where it belongs. */
  #slotOf(bytes: Buffer, offset: number): number {
    const mask = this.#slots.length - 1;
    for (let slot = bytes.readUInt32LE(offset + 4) & mask; ; slot = (slot + 1) & mask) {
      const number = this.#slots[slot] - 1;
      if (number < 0 || this.#isEqual(number, bytes, offset)) return slot;
    }
  }

  #isEqual(number: number, bytes: Buffer, offset: number): boolean {
    const from = number * this.#oidBytes;
    return bytes.compare(this.#oids, from, from + this.#oidBytes, offset, offset + this.#oidBytes) === 0;
  }
}

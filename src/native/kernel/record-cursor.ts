/** Reads a record. Every read ends within it. */
export class RecordCursor {
  readonly #record: Uint8Array;
  #at = 0;

  constructor(record: Uint8Array) {
    this.#record = record;
  }

  /** A number of seven bits per byte, lowest first. Throws `RangeError` at the end of the record. */
  number(): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      if (this.#at >= this.#record.length || scale > 2 ** 35) throw new RangeError("a record is cut off");
      const byte = this.#record[this.#at++];
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 0x80;
    }
  }

  /** The next bytes. Throws `RangeError` at the end of the record. */
  bytes(byteCount: number): Uint8Array {
    const from = this.skip(byteCount);
    return this.#record.subarray(from, this.#at);
  }

  /** Passes over the next bytes, and returns where they begin. Throws `RangeError` at the end of the record. */
  skip(byteCount: number): number {
    const from = this.#at;
    if (from + byteCount > this.#record.length) throw new RangeError("a record is cut off");
    this.#at += byteCount;
    return from;
  }
}

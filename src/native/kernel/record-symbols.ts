/** The text of a part, as a range of the texts of its shard. */
export interface TextRange {
  readonly from: number;
  readonly to: number;
}

/**
 * The symbols of a record, in order: `next` sets the fields to those of the next symbol. Nothing is allocated for a
 * symbol, because searches and ranking read millions of them.
 *
 * The constructor and `next` throw `RangeError` if something is beyond the record or the text. Callers check `kind`, and
 * that there is a container with the number of `reference`.
 */
export class RecordSymbols {
  /** Size of the name. */
  length = 0;
  /** Whether the name is in the record, not in the text. */
  isStored = false;
  /** Of a name that is in the record: the line of the symbol, from 1. */
  line = 0;
  /**
   * Where the name begins and ends among the texts of the shard; unchanged by a name that is in the record. Before the
   * first symbol, both are where the text begins.
   */
  from: number;
  to: number;
  /** The container: 0 for that of the previous symbol, 1 for none, otherwise 2 plus its number. */
  reference = 0;
  kind = 0;
  readonly #record: Uint8Array;
  readonly #cursor: RecordCursor;
  readonly #textTo: number;
  #left = 0;
  #storedFrom = 0;

  /** An empty record has no symbols. The bytes of its containers are appended to `containers`, if given. */
  constructor(record: Uint8Array, { from, to }: TextRange, containers?: Uint8Array[]) {
    this.#record = record;
    this.#cursor = new RecordCursor(record);
    this.#textTo = to;
    this.from = from;
    this.to = from;
    if (record.length === 0) return;
    this.#left = this.#cursor.number();
    for (let left = this.#cursor.number(); left > 0; left--) {
      const byteCount = this.#cursor.number();
      const start = this.#cursor.skip(byteCount);
      containers?.push(record.subarray(start, start + byteCount));
    }
  }

  /** Returns false after the last symbol. */
  next(): boolean {
    if (this.#left === 0) return false;
    this.#left--;
    const head = this.#cursor.number();
    this.length = this.#cursor.number();
    this.isStored = head % 2 === 1;
    if (this.isStored) {
      this.line = (head - 1) / 2;
      this.#storedFrom = this.#cursor.skip(this.length);
    } else {
      this.from = this.to + head / 2;
      this.to = this.from + this.length;
      if (this.to > this.#textTo) throw new RangeError("a name extends beyond its text");
    }
    this.reference = this.#cursor.number();
    this.kind = this.#cursor.number();
    return true;
  }

  /** The name, if it is in the record. */
  get stored(): Uint8Array {
    return this.#record.subarray(this.#storedFrom, this.#storedFrom + this.length);
  }
}

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

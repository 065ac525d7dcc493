import { uninitializedBytes } from "../../base/bytes.js";
import type { ContentSymbols } from "./content-symbols.js";
import { RecordCursor } from "../../native/kernel/record-symbols.js";

/** Writes the records of parts one after another. */
export class RecordWriter {
  #bytes: Buffer = uninitializedBytes(64 * 1024);
  #length = 0;
  readonly #kinds = new Map<string, number>();

  get length(): number {
    return this.#length;
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  /** In the order of their numbers. */
  get kinds(): readonly string[] {
    return [...this.#kinds.keys()];
  }

  /** Returns whether it has stored names. */
  write({ names, lines, offsets, kinds, containers }: ContentSymbols): boolean {
    const numbers = numberContainers(containers);
    this.#number(names.length);
    this.#number(numbers.size);
    for (const container of numbers.keys()) this.#text(container);
    let end = 0;
    let container = "";
    let hasStored = false;
    for (let i = 0; i < names.length; i++) {
      const offset = offsets[i];
      if (offset < 0) {
        hasStored = true;
        this.#number(lines[i] * 2 + 1);
        this.#text(names[i]);
      } else {
        this.#number((offset - end) * 2);
        this.#number(names[i].length);
        end = offset + names[i].length;
      }
      this.#number(containers[i] === container ? 0 : (numbers.get(containers[i]) ?? -1) + 2);
      container = containers[i];
      this.#number(this.#kindNumber(kinds[i]));
    }
    return hasStored;
  }

  /** Copies a record whose kinds are numbers in `kinds`. Caller guarantees: it was verified. */
  copy(record: Uint8Array, kinds: readonly string[]): void {
    const cursor = new RecordCursor(record);
    const count = this.#copyNumber(cursor);
    for (let left = this.#copyNumber(cursor); left > 0; left--) this.#copyText(cursor, this.#copyNumber(cursor));
    for (let i = 0; i < count; i++) {
      const head = this.#copyNumber(cursor);
      const length = this.#copyNumber(cursor);
      if (head % 2 === 1) this.#copyText(cursor, length);
      this.#copyNumber(cursor);
      this.#number(this.#kindNumber(kinds[cursor.number()]));
    }
  }

  #copyNumber(cursor: RecordCursor): number {
    const value = cursor.number();
    this.#number(value);
    return value;
  }

  #copyText(cursor: RecordCursor, byteCount: number): void {
    this.#reserve(byteCount);
    this.#length += Buffer.from(cursor.bytes(byteCount)).copy(this.#bytes, this.#length);
  }

  #kindNumber(kind: string): number {
    const known = this.#kinds.get(kind);
    if (known !== undefined) return known;
    this.#kinds.set(kind, this.#kinds.size);
    return this.#kinds.size - 1;
  }

  #text(text: string): void {
    this.#number(text.length);
    this.#reserve(text.length);
    this.#length += this.#bytes.write(text, this.#length, "latin1");
  }

  /** Seven bits per byte, lowest first. */
  #number(value: number): void {
    this.#reserve(8);
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes[this.#length++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#bytes[this.#length++] = rest;
  }

  #reserve(byteCount: number): void {
    if (this.#length + byteCount <= this.#bytes.length) return;
    const grown = uninitializedBytes(2 * (this.#length + byteCount));
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }
}

/** The containers other than "", in the order in which they first occur. */
function numberContainers(containers: readonly string[]): Map<string, number> {
  const numbers = new Map<string, number>();
  for (const container of containers)
    if (container !== "" && !numbers.has(container)) numbers.set(container, numbers.size);
  return numbers;
}

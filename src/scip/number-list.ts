import { assert } from "../base/assert.js";

/** A list of numbers of 32 bits that grows, outside of the JavaScript heap. */
export class NumberList {
  #numbers = new Uint32Array(1024);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  get(index: number): number {
    assert(index < this.#length, "a list has the number that is read");
    return this.#numbers[index];
  }

  push(value: number): void {
    this.#reserve(this.#length + 1);
    this.#numbers[this.#length++] = value;
  }

  /** Sets a number; those between the end of the list and it become 0. */
  set(index: number, value: number): void {
    this.#reserve(index + 1);
    this.#length = Math.max(this.#length, index + 1);
    this.#numbers[index] = value;
  }

  /** Valid until the list grows. */
  values(): Uint32Array {
    return this.#numbers.subarray(0, this.#length);
  }

  #reserve(length: number): void {
    if (length <= this.#numbers.length) return;
    const grown = new Uint32Array(Math.max(length, 2 * this.#numbers.length));
    grown.set(this.#numbers);
    this.#numbers = grown;
  }
}

/** A node and the place behind it. */
export interface Parsed<T> {
  readonly value: T;
  readonly next: number;
}

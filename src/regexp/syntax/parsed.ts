/** A node and the position after it. */
export interface Parsed<T> {
  readonly value: T;
  readonly next: number;
}

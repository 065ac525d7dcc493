/** The largest value of GraphQL's type `Int`. */
const intMax = 2 ** 31 - 1;

/** A count as an `Int`: a larger one is the largest `Int`, because anything else would make the whole answer an error. */
export function intCount(count: number): number {
  return Math.min(count, intMax);
}

import type { Rows } from "../match/rows.js";

/** The ranges in the order of their starts, the longer first; equal ones, of two patterns, once. */
export function* distinctRows(rows: Rows): Generator<readonly [from: number, to: number]> {
  rows.sort(0);
  const { words, count } = rows;
  for (let i = 0; i < count; i++) {
    const [from, to] = [words[i * 2], words[i * 2 + 1]];
    if (i === 0 || from !== words[i * 2 - 2] || to !== words[i * 2 - 1]) yield [from, to];
  }
}

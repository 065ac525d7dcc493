import { formatCount } from "./numbers.js";

/** Longer lines are cut: they stall every browser. */
const lineLengthMax = 20_000;

/** The line, or its beginning and how much more there is. */
export function cutLine(text: string): string {
  const more = text.length - lineLengthMax;
  return more <= 0 ? text : `${text.slice(0, lineLengthMax)} … ${formatCount(more)} more characters`;
}

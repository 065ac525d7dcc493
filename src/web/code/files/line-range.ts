/** Selected lines, 1-based and inclusive. */
export interface LineRange {
  readonly from: number;
  readonly to: number;
}

/** The lines in an address: `?L10`, `?L10-20`, `?L10:5-12:3`, or the same after `#`, as older links have it. */
export function readLineRange({ search, hash }: URL): LineRange | undefined {
  const text = search.split(/[?&]/).find((part) => /^L\d/.test(part)) ?? hash.slice(1);
  const found = /^L(\d{1,9})(?::\d+)?(?:-L?(\d{1,9})(?::\d+)?)?=?$/.exec(text);
  if (found === null) return undefined;
  const [, first = "1", last = first] = found;
  const [from, to] = [Number(first), Number(last)];
  return { from: Math.max(1, Math.min(from, to)), to: Math.max(from, to) };
}

/** The same as part of an address, with its question mark; "" for none. */
export function lineRangeText(range: LineRange | undefined): string {
  if (range === undefined) return "";
  return range.from === range.to ? `?L${range.from}` : `?L${range.from}-${range.to}`;
}

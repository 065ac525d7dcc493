/**
 * Numbers and dates as text. `Intl` is not used for what the first screen of a page shows: loading its data takes 10 ms
 * and more, in which nothing is painted.
 */

/** A count with a comma between thousands. */
export function formatCount(count: number): string {
  const digits = String(Math.trunc(count));
  let text = "";
  for (let end = digits.length; end > 0; end -= 3) {
    const part = digits.slice(Math.max(0, end - 3), end);
    text = text === "" ? part : `${part},${text}`;
  }
  return text;
}

/** The day of a point in time, by the time zone of the browser: `2026-11-24`. */
export function formatDay(date: string): string {
  const given = new Date(date);
  const pad = (part: number): string => String(part).padStart(2, "0");
  return `${given.getFullYear()}-${pad(given.getMonth() + 1)}-${pad(given.getDate())}`;
}

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

/** A count with its noun: `1 member`, `2 members`. */
export function formatAmount(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];

/** A number of bytes for people. GraphQL sends large numbers as text. */
export function formatBytes(bytes: number | string): string {
  let value = Number(bytes);
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${value < 10 && unit > 0 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** The day of a point in time, by the time zone of the browser: `2026-11-24`. */
export function formatDay(date: string): string {
  const given = new Date(date);
  return `${given.getFullYear()}-${twoDigits(given.getMonth() + 1)}-${twoDigits(given.getDate())}`;
}

/** The same with the minute: `2026-11-24 09:05`. */
export function formatTime(date: string | null): string {
  if (date === null) return "never";
  const given = new Date(date);
  return `${formatDay(date)} ${twoDigits(given.getHours())}:${twoDigits(given.getMinutes())}`;
}

function twoDigits(part: number): string {
  return String(part).padStart(2, "0");
}

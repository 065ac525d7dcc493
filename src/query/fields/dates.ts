import { TrawlError } from "../../base/errors.js";
import { readApproximateMs } from "./approximate-dates.js";

/**
 * Parses a date to milliseconds since 1970. A date with day, month and year, and no time, is its first moment; any other
 * is relative to `nowMs`, as git reads it: `yesterday`, `june 5`. A text without a time zone is UTC.
 * Eight digits are a day, as in ISO 8601; other numbers, and all after `@`, are seconds since 1970. Surrounding quotes
 * are ignored: in the argument of a predicate they are part of the text. Throws `invalid date format`.
 */
export function readDateMs(text: string, nowMs: number): number {
  if (text.length > dateLengthMax)
    throw new TrawlError("bad-query", `invalid date format: it is longer than ${dateLengthMax} characters`);
  const trimmed = withoutQuotes(text.trim()).trim();
  for (const read of readers) {
    const found = read(trimmed, nowMs);
    if (found !== undefined && !Number.isNaN(found)) return found;
  }
  if (eightDigits.test(trimmed)) {
    const message = `invalid date format: eight digits are year, month and day, and there is no such day; for seconds since 1970, write @${trimmed}`;
    throw new TrawlError("bad-query", message);
  }
  throw new TrawlError("bad-query", "invalid date format");
}

/** In UTF-16 code units; the longest legitimate date has about 40. */
const dateLengthMax = 200;

function withoutQuotes(text: string): string {
  const [quote] = text;
  return text.length > 1 && (quote === '"' || quote === "'") && text.endsWith(quote) ? text.slice(1, -1) : text;
}

type Reader = (text: string, nowMs: number) => number | undefined;

const monthNames = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const weekdayNames = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const fullMonths = "january|february|march|april|may|june|july|august|september|october|november|december";
const month = `(?:${fullMonths}|${monthNames.join("|")}|sept)`;
const weekday = `(?:${weekdayNames.join("|")})[a-z]*`;
const clock = "([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:\\.[0-9]+)?)?";
const zone = "(z|[+-][0-9]{2}:?[0-9]{2}|gmt|utc|ut|[ecmp][sd]t)";

const unixSeconds = /^@?([0-9]{5,})(?: ([+-][0-9]{4}))?$/;
const eightDigits = /^[0-9]{8}(?: [+-][0-9]{4})?$/;
const compactDate = new RegExp(
  `^([0-9]{4})([0-9]{2})([0-9]{2})(?:(?:t| +)(?:${clock}|([0-9]{2})([0-9]{2})([0-9]{2})?))?(?: *${zone})?$`,
  "i",
);
const isoDate = new RegExp(`^([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})(?:(?:t| +)${clock} ?${zone}?)?$`, "i");
const mailDate = new RegExp(
  `^(?:${weekday}, +)?([0-9]{1,2}) +(${month}) +([0-9]{4}|[0-9]{2}) +${clock}(?: +${zone})?(?: *\\(.*\\))?$`,
  "i",
);
const gitDate = new RegExp(`^${weekday} +(${month}) +([0-9]{1,2}) +${clock} +([0-9]{4})(?: +${zone})?$`, "i");
const dottedYearFirst = /^([0-9]{4})\.([0-9]{1,2})\.([0-9]{1,2})$/;
const slashedMonthFirst = /^([0-9]{1,2})\/([0-9]{1,2})\/([0-9]{4})$/;
const slashedYearFirst = /^([0-9]{4})\/([0-9]{1,2})\/([0-9]{1,2})$/;
/** Only where the first number cannot be a month. */
const slashedDayFirst = /^(1[3-9]|2[0-9]|3[01])\/([0-9]{1,2})\/([0-9]{4})$/;
const dottedDayFirst = /^([0-9]{1,2})\.([0-9]{1,2})\.([0-9]{4})$/;
const dayMonthYear = new RegExp(`^([0-9]{1,2})(?:st|nd|rd|th)? +(${month}),? +([0-9]{4})$`, "i");
const monthDayYear = new RegExp(`^(${month}) +([0-9]{1,2})(?:st|nd|rd|th)?,? +([0-9]{4})$`, "i");

const readers: readonly Reader[] = [
  (text) => {
    const found = compactDate.exec(text);
    if (found === null) return undefined;
    const time = found[4] === undefined ? found.slice(7, 10) : found.slice(4, 7);
    return utc(Number(found[1]), Number(found[2]), Number(found[3]), time, found[10]);
  },
  (text) => {
    const found = eightDigits.test(text) ? null : unixSeconds.exec(text);
    return found === null ? undefined : Number(found[1]) * 1000;
  },
  (text) => {
    const found = isoDate.exec(text);
    if (found === null) return undefined;
    return utc(Number(found[1]), Number(found[2]), Number(found[3]), found.slice(4, 7), found[7]);
  },
  (text) => {
    const found = mailDate.exec(text);
    if (found === null) return undefined;
    return utc(fullYear(Number(found[3])), monthNumber(found[2]), Number(found[1]), found.slice(4, 7), found[7]);
  },
  (text) => {
    const found = gitDate.exec(text);
    if (found === null) return undefined;
    return utc(Number(found[6]), monthNumber(found[1]), Number(found[2]), found.slice(3, 6), found[7]);
  },
  (text) => inOrder(dottedYearFirst.exec(text), [1, 2, 3]),
  (text) => inOrder(slashedMonthFirst.exec(text), [3, 1, 2]),
  (text) => inOrder(dottedDayFirst.exec(text), [3, 2, 1]),
  (text) => inOrder(dayMonthYear.exec(text), [3, 2, 1]),
  (text) => inOrder(monthDayYear.exec(text), [3, 1, 2]),
  (text) => inOrder(slashedYearFirst.exec(text), [1, 2, 3]),
  (text) => inOrder(slashedDayFirst.exec(text), [3, 2, 1]),
  readApproximateMs,
];

/** A date from the groups of a regexp; `order` gives the indexes of year, month and day. */
function inOrder(found: RegExpExecArray | null, order: readonly [number, number, number]): number | undefined {
  if (found === null) return undefined;
  const [year, monthText, day] = order.map((group) => found[group] ?? "") as [string, string, string];
  return utc(Number(year), monthNumber(monthText), Number(day), [], undefined);
}

function monthNumber(text: string | undefined): number {
  const name = (text ?? "").slice(0, 3).toLowerCase();
  return monthNames.includes(name) ? monthNames.indexOf(name) + 1 : Number(text);
}

/** Undefined if there is no such day or time. */
function utc(
  year: number,
  monthOfYear: number,
  day: number,
  time: readonly (string | undefined)[],
  zoneText: string | undefined,
): number | undefined {
  const [hour, minute, second] = [0, 1, 2].map((index) => Number(time[index] ?? 0)) as [number, number, number];
  if (hour > 23 || minute > 59 || second > 60) return undefined;
  const ms = Date.UTC(year, monthOfYear - 1, day, hour, minute, second);
  const atMidnight = new Date(Date.UTC(year, monthOfYear - 1, day));
  if (atMidnight.getUTCMonth() !== monthOfYear - 1 || atMidnight.getUTCDate() !== day) return undefined;
  return ms - zoneMinutes(zoneText) * 60_000;
}

/** As in mail: 49 is 2049, 50 is 1950. */
function fullYear(year: number): number {
  if (year >= 100) return year;
  return year < 50 ? year + 2000 : year + 1900;
}

/** Hours behind UTC in winter. */
const zoneHours = new Map([
  ["e", 5],
  ["c", 6],
  ["m", 7],
  ["p", 8],
]);

function zoneMinutes(text: string | undefined): number {
  const named = /^([ecmp])([sd])t$/i.exec(text ?? "");
  if (named !== null)
    return -60 * ((zoneHours.get(named[1].toLowerCase()) ?? 0) - (named[2].toLowerCase() === "d" ? 1 : 0));
  const found = /^([+-])([0-9]{2}):?([0-9]{2})$/.exec(text ?? "");
  if (found === null) return 0;
  return (found[1] === "-" ? -1 : 1) * (Number(found[2]) * 60 + Number(found[3]));
}

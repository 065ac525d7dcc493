import { TrawlError } from "../../base/errors.js";

/**
 * Parses a date to milliseconds since 1970; relative dates such as "yesterday" are relative to `nowMs`. A text without
 * a time zone is UTC. Surrounding quotes are ignored: in the argument of a predicate they are part of the text, and git
 * ignores them. Throws `invalid date format`.
 */
export function readDateMs(text: string, nowMs: number): number {
  if (text.length > dateLengthMax)
    throw new TrawlError("bad-query", `invalid date format: it is longer than ${dateLengthMax} characters`);
  const trimmed = withoutQuotes(text.trim()).trim();
  for (const read of readers) {
    const found = read(trimmed, nowMs);
    if (found !== undefined && !Number.isNaN(found)) return found;
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

const unixSeconds = /^([0-9]{5,})(?: ([+-][0-9]{4}))?$/;
const isoDate = new RegExp(`^([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})(?:(?:t| +)${clock} ?${zone}?)?$`, "i");
const mailDate = new RegExp(
  `^(?:${weekday}, +)?([0-9]{1,2}) +(${month}) +([0-9]{4}|[0-9]{2}) +${clock}(?: +${zone})?(?: *\\(.*\\))?$`,
  "i",
);
const dottedYearFirst = /^([0-9]{4})\.([0-9]{1,2})\.([0-9]{1,2})$/;
const slashedMonthFirst = /^([0-9]{1,2})\/([0-9]{1,2})\/([0-9]{4})$/;
const dottedDayFirst = /^([0-9]{1,2})\.([0-9]{1,2})\.([0-9]{4})$/;
const dayMonthYear = new RegExp(`^([0-9]{1,2}) +(${month}),? +([0-9]{4})$`, "i");
const monthDayYear = new RegExp(`^(${month}) +([0-9]{1,2}),? +([0-9]{4})$`, "i");
const numberWords = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
const ago = new RegExp(
  `^(an?|${numberWords.join("|")}|[0-9]{1,6}) +(second|minute|hour|day|week|month|year)s?(?: +ago)?$`,
  "i",
);
const lastUnit = /^last +(week|month|year)$/i;
const lastWeekday = new RegExp(`^(?:last +)?(${weekday})(?:(?: +at)? +(noon|midnight|[0-9].*))?$`, "i");
const monthAndDay = new RegExp(`^(?:last +)?(${month})(?: +([0-9]{1,2})(?:st|nd|rd|th)?)?$`, "i");
const dayAndMonth = new RegExp(`^([0-9]{1,2})(?:st|nd|rd|th)? +(${month})$`, "i");
const dayAndHour =
  /^(?:(today|yesterday)(?: +at)?(?: +|$))?(?:(noon|midnight)|([0-9]{1,2})(?::([0-9]{2}))? *(am|pm)?)?$/i;

const readers: readonly Reader[] = [
  (text) => {
    const found = unixSeconds.exec(text);
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
  (text) => inOrder(dottedYearFirst.exec(text), [1, 2, 3]),
  (text) => inOrder(slashedMonthFirst.exec(text), [3, 1, 2]),
  (text) => inOrder(dottedDayFirst.exec(text), [3, 2, 1]),
  (text) => inOrder(dayMonthYear.exec(text), [3, 2, 1]),
  (text) => inOrder(monthDayYear.exec(text), [3, 1, 2]),
  readAgo,
  readLastUnit,
  readWeekday,
  (text, nowMs) => latestDay(nowMs, monthAndDay.exec(text), 1, 2),
  (text, nowMs) => latestDay(nowMs, dayAndMonth.exec(text), 2, 1),
  readDayAndHour,
];

function readAgo(text: string, nowMs: number): number | undefined {
  const found = ago.exec(text);
  if (found === null) return undefined;
  const [, amount = "", unit = ""] = found;
  const word = numberWords.indexOf(amount.toLowerCase()) + 1;
  return earlier(nowMs, /^an?$/i.test(amount) ? 1 : word || Number(amount), unit.toLowerCase());
}

function readLastUnit(text: string, nowMs: number): number | undefined {
  const found = lastUnit.exec(text);
  return found === null ? undefined : earlier(nowMs, 1, (found[1] ?? "").toLowerCase());
}

/** The start of the latest such weekday before today, or a time on it, as in `last friday at 3pm`. */
function readWeekday(text: string, nowMs: number): number | undefined {
  const found = lastWeekday.exec(text);
  if (found === null) return undefined;
  const wanted = weekdayNames.indexOf((found[1] ?? "").slice(0, 3).toLowerCase());
  const today = startOfDay(nowMs);
  const days = (new Date(today).getUTCDay() - wanted + 7) % 7 || 7;
  const start = today - days * dayMs;
  return found[2] === undefined ? start : readDayAndHour(found[2], start);
}

/** The latest such day up to now; without a day, the first of the month. The groups of `found` are numbered. */
function latestDay(
  nowMs: number,
  found: RegExpExecArray | null,
  monthGroup: number,
  dayGroup: number,
): number | undefined {
  if (found === null) return undefined;
  const year = new Date(nowMs).getUTCFullYear();
  const days = [year, year - 1].map((one) =>
    utc(one, monthNumber(found[monthGroup]), Number(found[dayGroup] ?? 1), [], undefined),
  );
  return days.find((day) => day !== undefined && day <= nowMs);
}

/** `now`, `yesterday`, `3pm`, `yesterday at noon`. */
function readDayAndHour(text: string, nowMs: number): number | undefined {
  if (text.toLowerCase() === "now") return nowMs;
  const found = dayAndHour.exec(text);
  if (found === null || text === "") return undefined;
  const [, day, word, hourText, minuteText, half] = found;
  if (hourText !== undefined && minuteText === undefined && half === undefined) return undefined;
  const start = startOfDay(nowMs) - (day?.toLowerCase() === "yesterday" ? dayMs : 0);
  if (word !== undefined) return start + (word.toLowerCase() === "noon" ? dayMs / 2 : 0);
  if (hourText === undefined) return start;
  const hour = hourOfDay(Number(hourText), half?.toLowerCase());
  const minute = Number(minuteText ?? 0);
  return hour > 23 || minute > 59 ? undefined : start + (hour * 60 + minute) * 60_000;
}

const dayMs = 86_400_000;

function startOfDay(ms: number): number {
  return ms - (((ms % dayMs) + dayMs) % dayMs);
}

function hourOfDay(hour: number, half: string | undefined): number {
  if (half === undefined) return hour;
  if (hour < 1 || hour > 12) return Number.POSITIVE_INFINITY;
  return (hour % 12) + (half === "pm" ? 12 : 0);
}

/** Months and years keep the day of the month, as far as the month has it; the rest is plain arithmetic. */
function earlier(nowMs: number, amount: number, unit: string): number {
  switch (unit) {
    case "second":
      return nowMs - amount * 1000;
    case "minute":
      return nowMs - amount * 60_000;
    case "hour":
      return nowMs - amount * 3_600_000;
    case "week":
      return nowMs - amount * 7 * dayMs;
    case "month":
      return monthsEarlier(nowMs, amount);
    case "year":
      return monthsEarlier(nowMs, amount * 12);
    default:
      return nowMs - amount * dayMs;
  }
}

function monthsEarlier(nowMs: number, months: number): number {
  const then = new Date(nowMs);
  const day = then.getUTCDate();
  then.setUTCDate(1);
  then.setUTCMonth(then.getUTCMonth() - months);
  const daysInMonth = new Date(Date.UTC(then.getUTCFullYear(), then.getUTCMonth() + 1, 0)).getUTCDate();
  then.setUTCDate(Math.min(day, daysInMonth));
  return then.getTime();
}

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

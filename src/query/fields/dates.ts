import { TrawlError } from "../../base/errors.js";

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

/**
 * Parses a date relative to `nowMs` as git does (`approxidate` in its `date.c`): "yesterday", "3 weeks and 2 days ago",
 * "last friday at 3pm", "june 5". What the text does not mention is as in `nowMs`, so "yesterday" is 24 hours earlier,
 * and "june" the same day and time in June. All in UTC. Undefined if the text contains anything else: git ignores
 * unknown words, which would turn a misspelt date into the current time.
 *
 * In addition to git, "a" and "an" are numbers, as are "eleven" and "twelve", and "friday" is "last friday".
 */
function readApproximateMs(text: string, nowMs: number): number | undefined {
  const date = new ApproximateDate(nowMs);
  const tokens = text.toLowerCase().match(tokenPattern) ?? [];
  const meanings = tokens.map((token) => date.take(token));
  if (meanings.includes("unknown") || !meanings.includes("date")) return undefined;
  return meanings.at(-1) === "filler" && tokens.at(-1) !== "ago" ? undefined : date.milliseconds();
}

/** A clock, a number, a word, or a single character other than separators. */
const tokenPattern = /\d{1,2}:\d{2}(?::\d{2})?|\d{1,6}(?:st|nd|rd|th)?|[a-z]+|[^\s,.a-z\d]|\d/g;

type Meaning = "date" | "filler" | "unknown";

const fillers: ReadonlySet<string> = new Set(["ago", "and", "at", "of", "on", "the"]);

const months = [
  "january",
  "february",
  "march",
  "april",
  "may",
  "june",
  "july",
  "august",
  "september",
  "october",
  "november",
  "december",
];
const weekdays = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const daySeconds = 86_400;
const unitSeconds: ReadonlyMap<string, number> = new Map([
  ["second", 1],
  ["minute", 60],
  ["hour", 3600],
  ["day", daySeconds],
  ["week", 7 * daySeconds],
]);
const numberWords = ["", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"];
const numbers: ReadonlyMap<string, number> = new Map([
  ...numberWords.map((word, i) => [word, i] as const),
  ["twelve", 12],
  ["a", 1],
  ["an", 1],
  ["last", 1],
]);
const hours: ReadonlyMap<string, number> = new Map([
  ["midnight", 0],
  ["noon", 12],
  ["tea", 17],
]);

/** A date that is read from left to right; a number waits for the word after it. */
class ApproximateDate {
  readonly #now: Date;
  #year: number | undefined;
  #month: number | undefined;
  #day: number | undefined;
  #hour: number;
  #minute: number;
  #second: number;
  #number = 0;
  /** The day of the month, if the text contains it. */
  #givenDay: number | undefined;
  /** False after a number that is no day, month or year. */
  #hasMeaning = true;
  #isNever = false;

  constructor(nowMs: number) {
    this.#now = new Date(Math.floor(nowMs / 1000) * 1000);
    this.#hour = this.#now.getUTCHours();
    this.#minute = this.#now.getUTCMinutes();
    this.#second = this.#now.getUTCSeconds();
  }

  /** Undefined if a number has no meaning, or if the month does not have the day. */
  milliseconds(): number | undefined {
    this.#placeNumber();
    if (this.#isNever) return 0;
    const instant = this.#instant();
    const isDay = this.#givenDay === undefined || new Date(instant).getUTCDate() === this.#givenDay;
    return isDay && this.#hasMeaning ? instant : undefined;
  }

  take(token: string): Meaning {
    if (/^\d/.test(token)) return token.includes(":") ? this.#takeClock(token) : this.#takeNumber(token);
    if (fillers.has(token)) return "filler";
    if (this.#takeMonth(token) || this.#takeMoment(token)) return "date";
    const number = numbers.get(token);
    if (number !== undefined && this.#number === 0) {
      this.#number = number;
      return "date";
    }
    return this.#takeUnit(token) ? "date" : "unknown";
  }

  #takeClock(token: string): Meaning {
    const [hour, minute, second = 0] = token.split(":").map(Number);
    if (hour > 24 || minute > 59 || second > 60) return "unknown";
    this.#placeNumber();
    [this.#hour, this.#minute, this.#second] = [hour, minute, second];
    return "date";
  }

  #takeNumber(token: string): Meaning {
    this.#placeNumber();
    this.#number = Number.parseInt(token, 10);
    return this.#number === 0 ? "unknown" : "date";
  }

  /** A number that no unit follows is a day, a month or a year, whichever is missing. */
  #placeNumber(): void {
    const number = this.#number;
    this.#number = 0;
    if (number === 0) return;
    if (this.#day === undefined && number < 32) this.#day = this.#givenDay = number;
    else if (this.#month === undefined && number < 13) this.#month = number - 1;
    else if (this.#year === undefined && isYear(number)) this.#year = approximateYear(number);
    else this.#hasMeaning = false;
  }

  #takeMonth(token: string): boolean {
    const month = token.length < 3 ? -1 : months.findIndex((name) => isAbbreviation(token, name));
    if (month < 0) return false;
    this.#month = month;
    return true;
  }

  #takeMoment(token: string): boolean {
    const hour = hours.get(token);
    if (hour !== undefined) this.#takeHour(hour);
    else if (token === "yesterday") this.#takeDay(daySeconds);
    else if (token === "today" || token === "now") this.#takeDay(0);
    else if (token === "never") this.#isNever = true;
    else if (token === "am" || token === "pm") this.#takeHalf(token === "pm" ? 12 : 0);
    else return false;
    return true;
  }

  #takeDay(seconds: number): void {
    this.#number = 0;
    this.#goBack(seconds);
  }

  /** The latest such hour before the time read so far. */
  #takeHour(hour: number): void {
    this.#placeNumber();
    if (this.#hour < hour) this.#goBack(daySeconds);
    [this.#hour, this.#minute, this.#second] = [hour, 0, 0];
  }

  #takeHalf(from: number): void {
    if (this.#number > 0) [this.#hour, this.#minute, this.#second] = [this.#number, 0, 0];
    this.#number = 0;
    this.#hour = (this.#hour % 12) + from;
  }

  /** A unit after a number, or a weekday. */
  #takeUnit(token: string): boolean {
    const singular = token.replace(/s$/, "");
    const seconds = unitSeconds.get(singular);
    const number = this.#number;
    if (seconds !== undefined && number > 0) {
      this.#number = 0;
      this.#goBack(seconds * number);
      return true;
    }
    if ((singular === "month" || singular === "year") && number > 0) {
      this.#number = 0;
      this.#goBack(0);
      this.#month = (this.#month ?? 0) - number * (singular === "year" ? 12 : 1);
      return true;
    }
    return this.#takeWeekday(token);
  }

  /** The given number of such weekdays ago, today excluded. */
  #takeWeekday(token: string): boolean {
    const weekday =
      token.length < 3 ? -1 : weekdays.findIndex((name) => isAbbreviation(token.replace(/days$/, "day"), name));
    if (weekday < 0) return false;
    const count = this.#number === 0 ? 1 : this.#number;
    this.#number = 0;
    const days = new Date(this.#instant()).getUTCDay() - weekday;
    this.#goBack((days + 7 * (days <= 0 ? count : count - 1)) * daySeconds);
    return true;
  }

  /** Completes the date, and subtracts seconds. */
  #goBack(seconds: number): void {
    this.#givenDay = undefined;
    const then = new Date(this.#instant() - seconds * 1000);
    [this.#year, this.#month, this.#day] = [then.getUTCFullYear(), then.getUTCMonth(), then.getUTCDate()];
    [this.#hour, this.#minute, this.#second] = [then.getUTCHours(), then.getUTCMinutes(), then.getUTCSeconds()];
  }

  /** A month without a year is the latest one. A day that the month does not have is one of the next month. */
  #instant(): number {
    const now = this.#now;
    const month = this.#month ?? now.getUTCMonth();
    const year = this.#year ?? now.getUTCFullYear() - (month > now.getUTCMonth() ? 1 : 0);
    const day = this.#day ?? now.getUTCDate();
    return Date.UTC(year, month, day, this.#hour, this.#minute, this.#second);
  }
}

function isAbbreviation(token: string, name: string): boolean {
  return name.startsWith(token) || (name === "september" && token === "sept");
}

function isYear(number: number): boolean {
  return number < 38 || (number > 69 && number < 100) || (number > 1969 && number < 2100);
}

function approximateYear(number: number): number {
  if (number >= 100) return number;
  return number < 38 ? 2000 + number : 1900 + number;
}

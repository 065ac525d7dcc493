import { execFileSync } from "node:child_process";
import t from "tap";
import { readDateMs } from "../../../src/query/fields/dates.js";

/** The times as git reads them, in seconds: `git rev-parse` prints one for each option. */
function readByGit(directory: string, texts: readonly string[], nowSeconds: number): readonly number[] {
  const printed = execFileSync("git", ["rev-parse", ...texts.map((text) => `--since=${text}`)], {
    cwd: directory,
    env: { PATH: process.env.PATH, TZ: "UTC", GIT_TEST_DATE_NOW: String(nowSeconds) },
    encoding: "utf8",
  });
  return printed
    .trim()
    .split("\n")
    .map((line) => Number(line.replace("--max-age=", "")));
}

const sameAsGit = [
  ...["now", "today", "yesterday", "noon", "midnight", "tea", "never", "3pm", "3am", "12pm", "12am", "3:30pm"],
  ...["15:00", "15:00:30", "6 am", "10am", "YESTERDAY", "Noon"],
  ...["yesterday noon", "noon yesterday", "yesterday at noon", "noon today", "midnight yesterday"],
  ...["yesterday 3pm", "3pm yesterday", "yesterday at 3pm", "6am yesterday", "6 am yesterday"],
  ...["5 seconds ago", "5.seconds.ago", "1 minute ago", "1 hour ago", "2 hours ago", "5 days ago", "5.days.ago"],
  ...["5days", "five days ago", "ten minutes ago", "one week ago", "2 weeks ago", "1 day", "10 years", "400 days ago"],
  ...["1 month ago", "3 months ago", "14 months ago", "1 year ago", "2 years ago", "1 year 2 months ago"],
  ...["1 year, 3 days ago", "3 weeks and 2 days ago", "3 days ago noon", "1 week ago 3pm"],
  ...["last week", "last month", "last year", "last hour", "last friday", "last monday", "last tuesday", "last sun"],
  ...["last friday at 3pm", "2 fridays ago", "3 mondays ago", "last friday noon"],
  ...["jan", "january", "feb", "june", "dec", "june 5", "june 5th", "5 june", "jun 5", "dec 31", "january 1"],
  ...["31 dec", "last june", "sept", "june 2020", "jun 2020", "2nd march", "3rd march at 6pm"],
  ...["2020-06-15 12:00", "2020-06-15 12:00:00", "2020-06-15T12:00:00", "2020-06-15T12:00:00Z"],
  ...["2020-06-15T12:00:00+02:00", "2020-06-15 12:00:00 +0200", "2020-06-15 12:00:00 EST"],
  ...["Mon, 15 Jun 2020 12:00:00 +0000", "Mon, 15 Jun 2020 12:00:00 GMT", "15 Jun 2020 12:00"],
  ...["Mon Jun 15 12:00:00 2020", "Mon Jun 15 12:00:00 2020 +0200", "@1592222400", "1592222400", "1592222400 +0200"],
  ...["20200615T120000", "20200615T120000Z", "20200615 12:00:00", "20200615T12:00:00+0200", "20200615T120000-0330"],
];

const moments = [
  ["a Monday morning", Date.UTC(2026, 10, 23, 8, 15, 30)],
  ["the last second of a long month", Date.UTC(2024, 2, 31, 23, 59, 59)],
  ["a leap day", Date.UTC(2024, 1, 29, 12, 0, 0)],
  ["the first second of a year", Date.UTC(2025, 0, 1, 0, 0, 0)],
  ["an evening in June", Date.UTC(2025, 5, 5, 18, 30, 0)],
] as const;

t.test("dates that git understands are read as git reads them", async (t) => {
  const directory = t.testdir();
  execFileSync("git", ["init", "--quiet", "--bare", directory]);
  for (const [name, nowMs] of moments) {
    const times = readByGit(directory, sameAsGit, nowMs / 1000);
    for (const [i, text] of sameAsGit.entries()) t.equal(readDateMs(text, nowMs) / 1000, times[i], `${name}: ${text}`);
  }
});

const nowMs = Date.UTC(2026, 10, 23, 8, 15, 30, 250);

t.test("dates that git reads differently, or ignores", async (t) => {
  const rows: readonly (readonly [text: string, date: string])[] = [
    ["2020-06-15", "2020-06-15T00:00:00"],
    ["2020/06/15", "2020-06-15T00:00:00"],
    ["15/06/2020", "2020-06-15T00:00:00"],
    ["20200615", "2020-06-15T00:00:00"],
    ["20240229", "2024-02-29T00:00:00"],
    ["19700102", "1970-01-02T00:00:00"],
    ["20200615 +0200", "2020-06-14T22:00:00"],
    ["20200615Z", "2020-06-15T00:00:00"],
    ["20200615T1530", "2020-06-15T15:30:00"],
    ["@20200615", "1970-08-22T19:16:55"],
    ["2020061", "1970-01-24T09:07:41"],
    ["202006150", "1976-05-27T00:49:10"],
    ["June 5th, 2020", "2020-06-05T00:00:00"],
    ["5th June 2020", "2020-06-05T00:00:00"],
    ["an hour ago", "2026-11-23T07:15:30"],
    ["a day ago", "2026-11-22T08:15:30"],
    ["twelve hours ago", "2026-11-22T20:15:30"],
    ["friday", "2026-11-20T08:15:30"],
    ["monday", "2026-11-16T08:15:30"],
    ["friday at 3pm", "2026-11-20T15:00:00"],
    ["12345", "1970-01-01T03:25:45"],
  ];
  for (const [text, date] of rows) t.equal(new Date(readDateMs(text, nowMs)).toISOString(), `${date}.000Z`, text);
});

t.test("words that are not part of a date are errors, although git ignores them", async (t) => {
  const rows = ["sometime", "tomorrow", "next week", "third friday", "in 3 days", "a fortnight ago", "yesterday x"];
  for (const text of [
    ...rows,
    "",
    "ago",
    "0 days ago",
    "5 5 5 5 foo",
    "25:00",
    "12:60",
    "1234",
    "nov 31",
    "2020-13-01",
    "2020-02-30",
    "20200230",
    "20201301",
    "99999999",
    "20200615T2500",
  ])
    t.throws(() => readDateMs(text, nowMs), { message: /invalid date format/ }, text);
});

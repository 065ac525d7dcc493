/** Numbers, dates, positions in lines, addresses and words of a shell, as pages write and read them. */
import t from "tap";
import { lineRangeText, readLineRange } from "../../../src/web/code/files/line-range.js";
import { directoryUrl, repositoryFilter, searchUrl } from "../../../src/web/code/code-urls.js";
import { formatAmount, formatCount, formatDay, formatTime } from "../../../src/web/ui/numbers.js";
import { shellWord } from "../../../src/web/ui/shell-word.js";
import { mergeRanges, unitIndex } from "../../../src/web/ui/text-range.js";

t.test("counts", async (t) => {
  for (const count of [0, 1, 12, 999, 1_000, 12_345, 999_999, 1_000_000, 1_234_567_890])
    t.equal(formatCount(count), count.toLocaleString("en-US"), String(count));
  t.equal(formatCount(1234.9), "1,234");
  t.equal(formatAmount(1, "member"), "1 member");
  t.equal(formatAmount(0, "member"), "0 members");
  t.equal(formatAmount(2_000, "repository", "repositories"), "2,000 repositories");
});

t.test("dates are those of the browser's time zone", async (t) => {
  const date = new Date(2026, 0, 2, 3, 4, 5);
  t.equal(formatDay(date.toISOString()), "2026-01-02");
  t.equal(formatTime(date.toISOString()), "2026-01-02 03:04");
  t.equal(formatTime(null), "never");
});

t.test("positions", async (t) => {
  t.same(
    [0, 1, 2, 3, 4, 99].map((column) => unitIndex("a🧵b", column)),
    [0, 1, 3, 4, 4, 4],
  );
  t.same(
    mergeRanges([
      { from: 5, to: 7 },
      { from: 0, to: 2 },
      { from: 2, to: 3 },
      { from: 6, to: 6 },
      { from: 6, to: 9 },
      { from: 4, to: 1 },
    ]),
    [
      { from: 0, to: 3 },
      { from: 5, to: 9 },
    ],
  );
});

t.test("lines in an address", async (t) => {
  const rows: readonly (readonly [address: string, from: number | undefined, to?: number])[] = [
    ["?L10", 10, 10],
    ["?L10-20", 10, 20],
    ["?L20-10", 10, 20],
    ["?L10-L20", 10, 20],
    ["?L10:5-12:3", 10, 12],
    ["?a=b&L7=", 7, 7],
    ["#L3-4", 3, 4],
    ["?L0", 1, 0],
    ["?L", undefined],
    ["?Lx", undefined],
    ["?L1234567890", undefined],
    ["", undefined],
  ];
  for (const [address, from, to] of rows) {
    const read = readLineRange(new URL(`http://localhost/r/-/blob/a${address}`));
    t.same(read, from === undefined ? undefined : { from, to }, address);
  }
  for (const range of [undefined, { from: 3, to: 3 }, { from: 3, to: 5 }])
    t.same(readLineRange(new URL(`http://localhost/a${lineRangeText(range)}`)), range);
});

t.test("addresses and filters", async (t) => {
  const place = { name: "host/a.b+c", revision: "main" };
  t.equal(repositoryFilter(place), "repo:^host/a\\.b\\+c$@main");
  t.equal(repositoryFilter({ ...place, revision: "" }), "repo:^host/a\\.b\\+c$");
  t.equal(searchUrl("a b&c"), "/search?q=a+b%26c");
  t.equal(directoryUrl(place, ""), "/host/a.b%2Bc@main");
  t.equal(directoryUrl(place, "a b/c#d"), "/host/a.b%2Bc@main/-/tree/a%20b/c%23d");
});

t.test("a word of a shell", async (t) => {
  const { execFileSync } = await import("node:child_process");
  for (const text of ["a", "", "it's", "$(id) `id` \\ \"'\n", "'''", "-n"])
    t.equal(
      execFileSync("sh", ["-c", `printf %s ${shellWord(text)}`], { encoding: "utf8" }),
      text,
      JSON.stringify(text),
    );
});

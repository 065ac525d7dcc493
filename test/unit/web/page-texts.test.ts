/** Numbers, dates, positions in lines, addresses and words of a shell, as pages write and read them. */
import t from "tap";
import { hostFragment, lineRangeText, readLineRange } from "../../../src/web/code/files/line-range.js";
import { directoryUrl, pathFilter, repositoryFilter, searchUrl } from "../../../src/web/code/code-urls.js";
import { readFilePart } from "../../../src/web/code/files/file-part.js";
import { refusalText } from "../../../src/web/api/api-error.js";
import { shortLine } from "../../../src/web/search/results/diff-sides.js";
import { withoutReordering } from "../../../src/base/text.js";
import { isOwnPath, previewOfAddress } from "../../../src/web/search/panel-address.js";
import { cutLine, mergeRanges, unitIndex } from "../../../src/web/ui/text-range.js";
import { formatAmount, formatCount, formatDay, formatTime } from "../../../src/web/ui/numbers.js";
import { shellWord } from "../../../src/web/ui/copy.js";

t.test("counts", async (t) => {
  for (const count of [0, 1, 12, 999, 1_000, 12_345, 999_999, 1_000_000, 1_234_567_890])
    t.equal(formatCount(count), count.toLocaleString("en-US"), String(count));
  t.equal(formatCount(1234.9), "1,234");
  t.equal(formatAmount(1, "member"), "1 member");
  t.equal(formatAmount(0, "member"), "0 members");
  t.equal(formatAmount(2_000, "repository", "repositories"), "2,000 repositories");
});

t.test("a preview does not leave the site", async (t) => {
  const site = new URL("http://trawl.test/search?q=a");
  const given = (preview: string): URL => new URL(`/search?q=a&preview=${encodeURIComponent(preview)}`, site);
  for (const own of ["/a/b/-/blob/c.ts?L3", "/a", "/a//b", "/.//evil.test/a", "/a\tb"])
    t.equal(previewOfAddress(given(own)), own, JSON.stringify(own));
  for (const other of [
    "",
    "a",
    "//evil.test",
    "/\\evil.test",
    "/\t/evil.test",
    "/\n\\evil.test",
    "/\r/[",
    "http://evil.test/",
  ]) {
    t.equal(previewOfAddress(given(other)), undefined, JSON.stringify(other));
    t.notOk(isOwnPath(other, site));
  }
});

t.test("a long line is cut", async (t) => {
  t.equal(cutLine("a".repeat(20_000)).length, 20_000);
  t.match(cutLine("a".repeat(3_000_000)), /^a{20000} … 2,980,000 more characters$/);
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

t.test("lines on code hosts", async (t) => {
  for (const [kind, one, several] of [
    ["GITHUB", "#L3", "#L3-L5"],
    ["GITLAB", "#L3", "#L3-5"],
    ["BITBUCKETCLOUD", "#lines-3", "#lines-3:5"],
    [null, "#L3", "#L3-L5"],
  ] as const) {
    t.equal(hostFragment(kind, { from: 3, to: 3 }), one);
    t.equal(hostFragment(kind, { from: 3, to: 5 }), several);
    t.equal(hostFragment(kind, undefined), "");
  }
});

t.test("addresses and filters", async (t) => {
  const place = { name: "host/a.b+c", revision: "main" };
  t.equal(repositoryFilter(place), "repo:^host/a\\.b\\+c$@main");
  t.equal(repositoryFilter({ ...place, revision: "" }), "repo:^host/a\\.b\\+c$");
  t.equal(pathFilter("src/a b.ts"), 'file:"^src/a b\\\\.ts(/|$)"', "also for what is in a directory of that name");
  t.equal(searchUrl("a b&c"), "/search?q=a+b%26c&patternType=keyword");
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

t.test("why a request was refused", async (t) => {
  const rows: readonly (readonly [Parameters<typeof refusalText>, RegExp | string])[] = [
    [[404, "no such file", false, null], "no such file"],
    [[500, "", false, null], "The server answered with status 500."],
    [[502, "", true, null], /^A proxy .* with status 502\.$/],
    [[429, "too many searches", false, "7"], "too many searches Try again in 7 seconds."],
    [[503, "", true, "1"], /status 503\. Try again in a second\.$/],
    [[429, "slow down", false, "Thu, 01 Jan 1970 00:00:00 GMT"], "slow down Try again in a second."],
    [[429, "slow down", false, "soon"], "slow down"],
    [[404, "gone", false, "7"], "gone"],
  ];
  for (const [given, told] of rows) t.match(refusalText(...given), told, given.join(" "));
});

t.test("the line before the changes of a file", async (t) => {
  for (const [line, shown] of [
    ["/dev/null src/a.ts", "src/a.ts (new)"],
    ["src/a.ts /dev/null", "src/a.ts (removed)"],
    ["src/a.ts src/a.ts", "src/a.ts"],
    ["src/a.ts src/b.ts", "src/a.ts src/b.ts"],
    ["+/dev/null x", "+/dev/null x"],
    ["-x /dev/null", "-x /dev/null"],
    [" x /dev/null", " x /dev/null"],
  ] as const)
    t.equal(shortLine(line), shown);
});

t.test("characters that reorder text have a sign in their place, and all others stay", async (t) => {
  t.equal(withoutReordering("a\u202eb\u2066c\u200fd\u2069"), "a\ufffdb\ufffdc\ufffdd\ufffd");
  t.equal(withoutReordering("\u05d0 \u0628 🧵\t\n"), "\u05d0 \u0628 🧵\t\n");
});

t.test("a part of a large file is read to its end and no further, whatever the pieces", async (t) => {
  const bytes = new TextEncoder().encode(`one\nzwölf\n\n${"x".repeat(30_000)}\nfive\nsix`);
  let readCount = 0;
  async function* pieces(size: number): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += size, readCount++) yield bytes.subarray(at, at + size);
  }
  for (const size of [1, 7, 4096, bytes.length]) {
    t.same(await readFilePart(pieces(size), 2, 2), { firstLine: 2, lines: ["zwölf", ""], isEnd: false });
    t.same(await readFilePart(pieces(size), 5, 9), { firstLine: 5, lines: ["five", "six"], isEnd: true });
    t.same(await readFilePart(pieces(size), 7, 9), { firstLine: 7, lines: [], isEnd: true });
    const [long = ""] = (await readFilePart(pieces(size), 4, 1)).lines;
    t.equal(long.length, 20_002, "a long line is cut");
  }
  readCount = 0;
  await readFilePart(pieces(1), 1, 1);
  t.equal(readCount, 3, "what follows is not asked for");
});

import { constants, PerformanceObserver } from "node:perf_hooks";
import { setImmediate } from "node:timers/promises";
import t from "tap";
import { TrawlError } from "../../../src/base/errors.js";
import { compileRegexp, compileTextRegexp } from "../../../src/regexp/match/matcher.js";

/** Regexp, text, its matches. */
const rows: readonly (readonly [typed: string, text: string, ...matches: string[]])[] = [
  ["ab", "abcab", "0-2", "3-5"],
  ["a*", "aabaa", "0-2", "3-5"],
  ["a*?", "aa"],
  ["|a", "aa"],
  ["a|", "aba", "0-1", "2-3"],
  ["aa", "aaaaa", "0-2", "2-4"],
  ["^a", "aa\na", "0-1", "3-4"],
  ["a$", "aa\na", "1-2", "3-4"],
  ["\\Aa", "aa\na", "0-1"],
  ["a\\z", "aa\na", "3-4"],
  ["\\ba", "aa a", "0-1", "3-4"],
  ["\\Ba", "aa a", "1-2"],
  ["\\bé|x\\b", "éx x", "2-3", "4-5"],
  ["\\B.", "éab", "0-2", "3-4"],
  ["(?s).", "é\n😀", "0-2", "2-3", "3-7"],
  ["[^a]+", "é\na\xff", "0-3", "4-6"],
  ["é", "éé", "0-2", "2-4"],
  ["x", ""],
  ["", "abc"],
  ["$", "a\n"],
];

t.test("all nonempty matches, leftmost first", async (t) => {
  for (const [typed, text, ...matches] of rows) {
    const found: string[] = [];
    compileRegexp(typed, false).findAll(Buffer.from(text), 0, { push: (start, end) => found.push(`${start}-${end}`) });
    t.same(found, matches, `${typed} in ${JSON.stringify(text)}`);
  }
});

/** As `rg --crlf` has it, which takes no "\r"; over several lines as a regexp has it in the text with LF. */
const crlfRows: typeof rows = [
  ["a$", "aa\r\na\r\n", "1-2", "4-5"],
  ["a$", "a\r", "0-1"],
  ["a$", "a\rb"],
  ["a.*$", "ab\r\na\r\n", "0-2", "4-5"],
  ["^.$", "\r\na\r\n", "2-3"],
  ["a.$", "a\r\n"],
  ["a.{2}$", "ab\r\nabc\r\n", "4-7"],
  ["a\\s$", "a\r\nb\r\n"],
  ["a\\W$", "a\r\na-\r\n", "3-5"],
  ["a[\\W_]$", "a\r\na_\r\na-\r\n", "3-5", "7-9"],
  ["a\\PL$", "a\r\na1\r\n", "3-5"],
  ["a[[:^alpha:]]$", "a\r\na1\r\n", "3-5"],
  ["a[^b]$", "a\r\nac\r\n", "3-5"],
  ["a[^\\r\\n]*$", "abc\r\n", "0-3"],
  ["\\s+$", "a \r\n\r\nb\r\n", "1-4"],
  ["\\s+$", "a\r\nb\r\n"],
  ["^$", "\r\na"],
  ["(?:a|b$)+", "ab\r\n", "0-2"],
  ["a$\\s+b", "a\r\n\r\n b\r\n", "0-7"],
  ["a$\\nb", "a\r\nb", "0-4"],
  ["a(?s:.*)b$", "a\r\nb\r\n", "0-4"],
  ["a\\b$", "a\r\n", "0-1"],
  ["a$|b", "a\r\nab", "0-1", "4-5"],
  // A regexp that asks for "\r", and one without "$", are taken as they are.
  ["a\r$", "a\r\n", "0-2"],
  ["a\\x0d$", "a\r\n", "0-2"],
  ["a[\r\n]+$", "a\r\n\r\n", "0-5"],
  ["a.", "a\r\n", "0-2"],
  ["a\\s+", "a\r\n", "0-3"],
];

t.test("line ends of texts with CRLF", async (t) => {
  for (const [typed, text, ...matches] of [...rows, ...crlfRows]) {
    const found: string[] = [];
    const bytes = Buffer.from(text);
    compileTextRegexp(typed, false).findAll(bytes, 0, { push: (start, end) => found.push(`${start}-${end}`) });
    t.same(found, matches, `${typed} in ${JSON.stringify(text)}`);
  }
  t.ok(compileTextRegexp("^$", false).test(Buffer.from("a\r\n\r\nb")), "an empty line");
  t.notOk(compileRegexp("a$", false).test(Buffer.from("a\r")), "a name has no line ends");
});

t.test("offsets are relative to the base, and bytes that are not UTF-8 match nothing", async (t) => {
  const found: number[] = [];
  compileRegexp("[^x]", true).findAll(Buffer.from([0x61, 0xff, 0xc3, 0x62, 0x80]), 100, found);
  t.same(found, [100, 101, 103, 104]);
  t.ok(compileRegexp("", false).test(Buffer.from([0xff])), "an empty match is a match");
});

t.test("invalid patterns, and patterns that RE2 rejects, are errors of the caller", async (t) => {
  for (const source of ["(", "(?=a)", "((((a{100}){10}\\pL){100}){10}", "[a-zé\\pL]{1000}".repeat(50)]) {
    t.throws(
      () => compileRegexp(source, false),
      { code: "bad-query", message: /^error parsing regexp: / },
      source.slice(0, 30),
    );
  }
  t.throws(() => compileRegexp("\\pL{1000}".repeat(99), false), TrawlError);
});

t.test("the last 256 are cached", async (t) => {
  const first = compileRegexp("kept0", false);
  for (let i = 1; i < 256; i++) compileRegexp(`kept${i}`, false);
  t.equal(compileRegexp("kept0", false), first);
  t.not(compileRegexp("kept0", true), first, "in either case is another one");
  for (let i = 1; i < 256; i++) compileRegexp(`other${i}`, false);
  t.not(compileRegexp("kept0", false), first);
});

t.test("fewer of those that use much memory are cached", async (t) => {
  const compiled: WeakRef<object>[] = [];
  const text = Buffer.from("abcdacbdbacd".repeat(1000));
  for (let i = 0; i < 60; i++) {
    const matcher = compileRegexp(`(?:a.*b.*c.*d){30}${i}`, false);
    matcher.test(text);
    compiled.push(new WeakRef(matcher));
    await setImmediate();
  }
  const alive = compiled.filter((one) => one.deref() !== undefined).length;
  t.ok(alive <= 16, `${alive} of 60 are in memory`);
  t.equal(compileRegexp("(?:a.*b.*c.*d){30}59", false), compiled[59].deref(), "the last one is cached");
});

t.test("evicted ones are collected soon", async (t) => {
  const compiled: WeakRef<object>[] = [];
  const forced = { young: 0, full: 0 };
  const { NODE_PERFORMANCE_GC_MINOR: minor, NODE_PERFORMANCE_GC_FLAGS_FORCED: isForced } = constants;
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const { kind, flags } = (entry as unknown as { detail: { kind: number; flags: number } }).detail;
      if ((flags & isForced) !== 0) forced[kind === minor ? "young" : "full"]++;
    }
  });
  observer.observe({ entryTypes: ["gc"] });
  const compileOthers = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) {
      compiled.push(new WeakRef(compileRegexp(`dropped${compiled.length}`, false)));
      await setImmediate();
    }
  };
  await compileOthers(1_200);
  t.ok(forced.young >= 1, "young ones, after 512");
  t.equal(forced.full, 0);
  await compileOthers(1_200);
  t.equal(forced.full, 1, "all, after 2,048");
  for (let i = 0; i < 4_200; i++) compileRegexp(`at once ${i}`, false);
  await compileOthers(10);
  t.equal(forced.full, 2, "of a thread that does not return to its event loop, after 4,096");
  observer.disconnect();
  const alive = compiled.filter((one) => one.deref() !== undefined).length;
  t.ok(alive < 256 + 512 + 10, `${alive} of ${compiled.length} are in memory`);
});

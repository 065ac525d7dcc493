/** Whose content is not indexed, and why. */
import t from "tap";
import { contentLimitsFor, detectLanguageName, isTooLarge, textToIndex } from "../../../src/indexer/classify.js";
import { loadKernel } from "../../../src/native/kernel/load.js";
import { randomFrom } from "../../support/random.js";

const options = { fileBytesMax: 10_000, largeFiles: [] as readonly string[], trigramCountMax: 5000 };

/** Lower-case letters without an order, so that nearly each of the first few thousand trigrams is a new one. */
function letters(byteCount: number): Buffer {
  const next = randomFrom(1);
  return Buffer.from(Uint8Array.from({ length: byteCount }, () => 0x61 + next(26)));
}

const rows: readonly (readonly [string, Buffer, string])[] = [
  ["nothing", Buffer.alloc(0), "none"],
  ["as large as may be", Buffer.alloc(10_000, "a"), "none"],
  ["larger", Buffer.alloc(10_001, "a"), "too-large"],
  ["a NUL byte at the end", Buffer.from("text\0"), "binary"],
  ["a NUL byte where git looks for one", Buffer.from(`${"a".repeat(7999)}\0`), "binary"],
  ["a NUL byte after that", Buffer.from(`${"a".repeat(8000)}\0`), "none"],
  ["larger, with a NUL byte", Buffer.alloc(10_001), "too-large"],
  ["bytes that are not UTF-8", Buffer.from([0x80, 0xff, 0x0a]), "not-decoded"],
];

const skipReasonOfContent = (...args: Parameters<typeof textToIndex>) => textToIndex(...args).skipReason;

t.test("the reason follows from the content", async (t) => {
  for (const kind of ["ts", "native"] as const) {
    const kernel = loadKernel(kind);
    const path = Buffer.from("a.txt");
    for (const [name, content, reason] of rows)
      t.equal(skipReasonOfContent(content, path, contentLimitsFor(options), kernel), reason, `${name}, ${kind}`);
    const large = contentLimitsFor({ ...options, fileBytesMax: 1_000_000 });
    t.equal(skipReasonOfContent(letters(150_000), path, large, kernel), "too-many-trigrams", kind);
    t.equal(skipReasonOfContent(letters(90_000), path, large, kernel), "none", "small ones are not counted");
    t.equal(skipReasonOfContent(Buffer.alloc(150_000, "the same line\n"), path, large, kernel), "none", kind);
    t.equal(
      skipReasonOfContent(letters(150_000), path, { ...large, trigramCountMax: 26 ** 3 }, kernel),
      "none",
      "there are no more trigrams of letters",
    );
  }
});

const globs: readonly (readonly [string, string, boolean])[] = [
  // glob, path, whether it matches
  ["*.sql", "dump.sql", true],
  ["*.sql", "db/dump.sql", true],
  ["*.sql", "dump.sql.txt", false],
  ["dump.???", "db/dump.sql", true],
  ["dump.???", "db/dump.go", false],
  ["dump", "a/dump", true],
  ["dump", "a/my-dump", false],
  ["db/*.sql", "db/dump.sql", true],
  ["db/*.sql", "old/db/dump.sql", false],
  ["db/*.sql", "db/old/dump.sql", false],
  ["db/**/*.sql", "db/dump.sql", true],
  ["db/**/*.sql", "db/a/b/dump.sql", true],
  ["**/gen/**", "gen/a", true],
  ["**/gen/**", "a/gen/b/c", true],
  ["**/gen/**", "a/regen/b", false],
  ["a+(b).txt", "a+(b).txt", true],
  ["a+(b).txt", "aab.txt", false],
  ["?.txt", "\u00e4.txt", true],
  ["*", "line\nbreak", true],
  ["*.txt", "line.txt\n", false],
];

t.test("globs exempt paths from the limit on size", async (t) => {
  for (const [glob, path, expected] of globs) {
    const limits = contentLimitsFor({ ...options, largeFiles: ["other/*", glob] });
    t.equal(!isTooLarge(20_000, Buffer.from(path), limits), expected, `${glob} and ${JSON.stringify(path)}`);
    t.notOk(isTooLarge(10_000, Buffer.from(path), limits), "a small file needs no exemption");
  }
  t.ok(isTooLarge(20_000, Buffer.from("dump.sql"), contentLimitsFor(options)), "without globs there is none");
});

t.test("an exempt file is still binary if it has a NUL byte", async (t) => {
  const limits = contentLimitsFor({ ...options, largeFiles: ["*.sql"] });
  t.equal(skipReasonOfContent(Buffer.alloc(2000), Buffer.from("a.sql"), limits, loadKernel("ts")), "binary");
});

t.test("a language follows from the path or the beginning of the content; without one it is empty", async (t) => {
  const detect = (path: string, content: string): string => detectLanguageName(Buffer.from(path), Buffer.from(content));
  t.equal(detect("cmd/main.go", ""), "Go");
  t.equal(detect("Makefile", ""), "Makefile");
  t.equal(detect("run", "#!/usr/bin/env python3\n"), "Python");
  t.equal(detect("a.unknown-ending", "text"), "");
});

/** Matching is limited by work that is counted in bytes, so the tests do not depend on time. */
import t from "tap";
import { TrawlError } from "../../../src/base/errors.js";
import { workBytesMax } from "../../../src/eval/match/content-scan.js";
import { contentMatchCountMax, lineMatchCountMax } from "../../../src/eval/match/rows.js";
import { portableKernel } from "../../../src/native/kernel/portable.js";
import { nativeKernel } from "../../../src/native/kernel/native-kernel.js";
import { planQuery } from "../../../src/query/plan/plan-query.js";
import { compileRegexp, type MatchWork } from "../../../src/regexp/match/matcher.js";
import { itemCount } from "../../../src/regexp/analysis/extent.js";
import { parseRegexp } from "../../../src/regexp/syntax/parse.js";
import { runEngine, testRepository, testShard } from "../../support/engine.js";
import { chosen, isFull } from "../../support/full-run.js";

const mebibyte = 1024 * 1024;

/** Counts work, and ends the search when it exceeds `bytesMax`. */
class Counted implements MatchWork {
  bytes = 0;
  largest = 0;
  readonly #bytesMax: number;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  spend(byteCount: number): boolean {
    this.bytes += byteCount;
    this.largest = Math.max(this.largest, byteCount);
    return this.bytes <= this.#bytesMax;
  }
}

const noSink = { push: () => undefined };
const oneLine = Buffer.from("lorem ipsum dolor_sit amet ".repeat(2_500));
const manyLines = Buffer.from("let value_x = compute(foo, bar_baz);\n    return value; // note\n".repeat(1_000));

/** Patterns that read past each match, up to the end of the line or of the text. */
const quadratic = [
  "\\w(?s:.*zqz)?",
  "(?s:.*zqz)?",
  "\\w(.*zqz)?",
  "(?i)m(?s:.*ZQZ|)",
  "\\pL(?s:.{0,}zqz)?",
  "e(?:(?s:.)*zqz|u)?",
];

t.test("matching is abandoned for patterns that read past each match", async (t) => {
  for (const source of quadratic) {
    const work = new Counted(workBytesMax(oneLine.length));
    t.equal(compileRegexp(source, false).findAll(oneLine, 0, noSink, work), false, source);
    t.ok(work.bytes < workBytesMax(oneLine.length) + oneLine.length, `${source}: ${work.bytes} bytes`);
  }
});

const usual = [
  "\\w",
  "\\w+",
  "[a-z]+_[a-z]+",
  "(?s).*",
  "(?s).",
  "x*",
  "foo.*bar",
  "\\w+(\\s*=\\s*\\w+)?",
  '"[^"]*"',
  "\\b",
  "(a|b|c|d)",
  "[^x]{1,1000}",
  "(?:a.*b.*c.*d){30}",
  "\\pL+",
  "(lorem|value|compute|return).*?(sit|;)",
  "\\w+$",
  "^.*$",
  "(?i)é|[k-s]+",
  "\\((?:[^()]|\\n)*\\)",
];

t.test("usual patterns stay far below the limit, however dense their matches are", async (t) => {
  const texts = [Buffer.concat([oneLine, oneLine, oneLine]), Buffer.concat([manyLines, manyLines, manyLines])];
  for (const [at, source] of usual.entries()) {
    // In `make test` each pattern with one of them.
    for (const text of texts.filter((_, i) => isFull || i === at % texts.length)) {
      const work = new Counted(Infinity);
      compileRegexp(source, false).findAll(text, 0, noSink, work);
      t.ok(work.bytes < 25 * text.length, `${source}: ${(work.bytes / text.length).toFixed(1)} times the text`);
    }
  }
});

t.test("between two checks little more than 1 MiB of a large text is read", async (t) => {
  const text = Buffer.concat(Array.from({ length: 40 }, () => manyLines));
  for (const source of ["[a-z]+_[a-z]+\\(", "zqz", "foo.*bar", "\\w+"]) {
    const work = new Counted(Infinity);
    t.equal(compileRegexp(source, false).findAll(text, 0, noSink, work), true);
    t.ok(work.largest <= 1.1 * mebibyte, `${source}: ${work.largest} bytes`);
  }
});

const slow = ["(?s)a.{200}z", "(?s:.*[ab].{15}){60}z", "[^x]{1000}z", "(?i)(?:[k-s]\\pL?){300}z"];

t.test("where RE2 is slow, one call reads little", async (t) => {
  const letters = Buffer.alloc(isFull ? mebibyte : mebibyte / 4, "abcdacbd");
  for (const source of chosen(slow, "(?s:.*[ab].{15}){60}z", "[^x]{1000}z")) {
    const work = new Counted(Infinity);
    compileRegexp(source, false).findAll(letters, 0, noSink, work);
    const items = itemCount(parseRegexp(source, false));
    t.ok(work.largest * items <= 45 * mebibyte, `${source}: ${work.largest} bytes for ${items} items`);
  }
});

t.test("a stopped search ends at its next check", async (t) => {
  let looks = 0;
  const stop = {
    spend: () => {
      if (++looks === 3) throw new TrawlError("cancelled", "stopped");
      return true;
    },
  };
  t.throws(() => compileRegexp("\\w", false).findAll(oneLine, 0, noSink, stop), { code: "cancelled" });
  t.equal(looks, 3);
});

const documents = [
  { path: "before.txt", content: "a zqz\n" },
  { path: "long.txt", content: oneLine },
  { path: "after.txt", content: "lorem ipsum\n" },
];

for (const kernel of [nativeKernel(), portableKernel]) {
  t.test(`a file that takes too much work is excluded and reported: ${kernel.name} kernel`, async (t) => {
    const shard = testShard(kernel, documents, [testRepository(1, "r")]);
    const found = (query: string) => {
      const { matches, excluded, stats } = runEngine(kernel, [shard], planQuery(query, "standard"), {});
      return { paths: matches.map(({ path }) => path).sort(), excluded, counted: stats.documentsTooCostly };
    };
    const others = { paths: ["after.txt", "before.txt"], excluded: ["long.txt"], counted: 1 };
    t.same(found("/\\w(?s:.*zqz)?/ type:file"), others, "others are found");
    t.same(
      found("NOT /(?s:.*[ab].{15}){60}zqz/ type:file"),
      others,
      "what is not known is not a result of `not` either",
    );
    t.same(
      found("/lorem/ type:file"),
      { paths: ["after.txt", "long.txt"], excluded: [], counted: 0 },
      "of this search only",
    );
  });

  t.test(`a long literal that nearly matches everywhere is abandoned: ${kernel.name} kernel`, async (t) => {
    const unit = "ab".repeat(1000);
    const text = `${unit}cc`.repeat(200);
    const shard = testShard(
      kernel,
      [
        { path: "periodic.txt", content: text },
        { path: "match.txt", content: `${unit}ab` },
      ],
      [testRepository(1, "r")],
    );
    const { matches, excluded } = runEngine(kernel, [shard], planQuery(`${unit}ab type:file`, "standard"), {});
    t.same(
      matches.map(({ path }) => path),
      ["match.txt"],
    );
    t.same(excluded, kernel.name === "ts" ? [] : ["periodic.txt"], "the other kernel looks at no byte twice");
  });
}

t.test(
  "a line with more matches than an event holds is left out, and so is a file with more than memory holds",
  async (t) => {
    const kernel = nativeKernel();
    const countMax = lineMatchCountMax(true);
    const content = {
      full: "a".repeat(countMax + 1),
      allowed: `${"a".repeat(countMax)}\n${"a".repeat(countMax)}`,
      file: "a\n".repeat(contentMatchCountMax + 1),
    };
    const shard = testShard(
      kernel,
      [
        { path: "full.txt", content: `a\nb\n${content.full}\na` },
        { path: "allowed.txt", content: content.allowed },
        { path: "file.txt", content: content.file },
      ],
      [testRepository(1, "r")],
    );
    const { matches, excluded, matchCount } = runEngine(kernel, [shard], planQuery("a type:file", "standard"), {
      useIndex: false,
    });
    t.same([...new Set(matches.map(({ path }) => path))], ["allowed.txt"]);
    t.equal(matchCount, 2 * countMax);
    t.same([...excluded].sort(), ["file.txt", "full.txt"]);
  },
);

t.test("the stop flag ends a search within a block", async (t) => {
  const kernel = nativeKernel();
  const shard = testShard(kernel, documents, [testRepository(1, "r")]);
  const result = () =>
    runEngine(kernel, [shard], planQuery("/\\w+/ type:file", "standard"), {
      onContent: (control) => {
        control.cancel();
      },
    });
  t.throws(result, { code: "cancelled" });
});

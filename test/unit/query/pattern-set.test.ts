import t from "tap";
import { resultAtOnce } from "../../../src/base/yielding.js";
import { makePatternSet, patternSetLimits, toRequestedPatterns } from "../../../src/query/plan/pattern-set.js";
import { planTreeInSteps } from "../../../src/query/plan/plan-query.js";
import { parseQuery } from "../../../src/query/syntax/parse.js";
import { ProcessorWatch } from "../../support/processor-time.js";

const makeRegexps = (texts: readonly string[]) => resultAtOnce(makePatternSet({ texts, areRegexps: true }, true));

t.test("an invalid regexp is named", async (t) => {
  t.throws(() => makeRegexps(["ok", "a(b"]), {
    code: "bad-query",
    message: 'patterns[1] "a(b": error parsing regexp: missing closing ): `a(b`',
  });
});

t.test("few regexps may be tried on every file", async (t) => {
  const unlocated = Array.from({ length: patternSetLimits.unlocatedMax + 1 }, (_, i) => `a*[b-z]{${i + 1}}`);
  t.doesNotThrow(() => makeRegexps(unlocated.slice(1)));
  t.throws(() => makeRegexps(["", ...unlocated.slice(1)]), { message: /^patterns\[100\] .* more than 100 patterns/ });
});

t.test("patterns of which all have the same first bytes", async (t) => {
  const texts = Array.from({ length: 20_000 }, (_, i) => `https://www.example.org/${i}`);
  const { table } = resultAtOnce(makePatternSet({ texts, areRegexps: false }, true));
  t.equal(table.starts.length, 20_001);
  for (const { bucketMax } of table.groups) t.ok(bucketMax < 500, `${bucketMax} literals are compared with one text`);
});

t.test("a megabyte of patterns takes many steps, of which none has most of the work", async (t) => {
  for (const [count, length] of [
    [250, 4_000],
    [20_000, 16],
  ] as const) {
    const texts = Array.from({ length: count }, (_, i) => `${i}_`.padEnd(length, "abcdefghij"));
    const watch = new ProcessorWatch(process.pid);
    // Some step may have a collection of garbage.
    const parts = Array.from({ length: 3 }, () => {
      let [sum, most] = [0, 0];
      const work = makePatternSet({ texts, areRegexps: false }, true);
      for (let isDone = false; !isDone; ) {
        watch.start();
        isDone = work.next().done === true;
        const { mainRanMs } = watch.since();
        sum += mainRanMs;
        most = Math.max(most, mainRanMs);
      }
      return most / sum;
    });
    t.ok(Math.min(...parts) < 0.1, `${parts.map((part) => part.toFixed(3)).join(", ")} of ${count} patterns`);
  }
});

t.test("pattern types and result types without sets are refused", async (t) => {
  t.throws(() => toRequestedPatterns(["a"], "keyword"), { code: "bad-request", message: /use literal or regexp/ });
  for (const query of ["type:symbol", "type:path", "type:diff", "type:repo", "type:file select:symbol"]) {
    const plan = () =>
      resultAtOnce(planTreeInSteps(parseQuery(query, "literal"), undefined, { texts: ["a"], areRegexps: false }));
    t.throws(plan, { code: "bad-query", message: /contents of files/ }, query);
  }
});

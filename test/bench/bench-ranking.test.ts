/** The test set of the ranking, and the figures that are computed of it. */
import t from "tap";
import { corpora } from "../../native-bench/corpus/table.js";
import {
  findRank,
  measureQuality,
  parseTestSet,
  readTestSet,
  splitWords,
} from "../../native-bench/ranking/test-set.js";

t.test("the test set has enough queries of known corpora, about half of them held out", (t) => {
  const all = readTestSet();
  const heldOut = all.filter(({ half }) => half === "held-out");
  t.ok(all.length >= 120 && new Set(all.map(({ corpus }) => corpus)).size >= 5);
  t.ok(heldOut.length > 0.4 * all.length && heldOut.length < 0.6 * all.length);
  for (const { corpus } of all) t.ok(corpora.some(({ name }) => name === corpus));
  t.equal(new Set(all.map(({ corpus, query }) => `${corpus} ${query}`)).size, all.length, "each once");
  t.throws(() => parseTestSet("linux\tkmalloc\tslab.h\tx"), { code: "bad-request" });
  t.end();
});

t.test("places and figures", (t) => {
  const [query] = parseTestSet("linux\tkmalloc\tb.h\t7");
  const file = (path: string, ...lines: number[]) => ({ path, lines: new Set(lines) });
  t.equal(findRank([file("a.h", 7), file("b.h", 1, 7)], query), 2);
  t.equal(findRank([file("b.h", 1)], query), 0, "without the line");
  t.equal(findRank([file("b.h")], { ...query, line: 0 }), 1);
  t.same(measureQuality([1, 2, 0, 10]), { first: 25, firstFive: 50, meanReciprocal: 0.4 });
  t.same(splitWords('a "b c" d_e'), ["a", "b c", "d_e"]);
  t.end();
});

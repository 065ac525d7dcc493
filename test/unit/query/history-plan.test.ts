import t from "tap";
import { Analyses } from "../../../src/query/fields/analyses.js";
import { basicQueries } from "../../../src/query/syntax/basic.js";
import { planHistory } from "../../../src/query/plan/plan-history.js";
import { printHistory } from "../../../src/query/plan/print.js";
import { parseQuery } from "../../../src/query/syntax/parse.js";

/** 2026-02-03 04:05:06 UTC. */
const nowMs = Date.UTC(2026, 1, 3, 4, 5, 6);

/** Name, query text in standard syntax, the plans of each basic query in their printed form. */
const rows: readonly (readonly [name: string, text: string, plans: readonly string[]])[] = [
  ["no type of history", "a", [""]],
  ["another type", "type:file a", [""]],
  ["commits", "type:commit a", [`commit("a"i)`]],
  ["diffs", "type:diff a", [`diff("a"i)`]],
  ["both, commits first", "type:diff type:commit a", [`commit("a"i) diff("a"i)`]],
  ["no pattern", "type:commit", ["commit()"]],
  ["a message filter is a pattern of commits", "type:commit a m:b+", [`commit(and("a"i /b+/i requires {b}))`]],
  ["a negated message filter", "type:commit -message:b", [`commit(not("b"i))`]],
  ["a message filter of diffs", "type:diff a msg:b -m:c", [`diff("a"i message:"b"i -message:"c"i)`]],
  ["case", "type:diff case:yes a author:b", [`diff("a" author:/b/)`]],
  ["people", "type:commit author:a -committer:b", ["commit(author:/a/i -committer:/b/i)"]],
  ["dates", "type:commit after:2026-01-01 before:2026-02-01", ["commit(after:1767225600 before:1769904000)"]],
  ["aliases of dates", "type:commit since:2026-01-01 until:2026-02-01", ["commit(after:1767225600 before:1769904000)"]],
  ["the latest after", "type:commit after:2026-01-01 after:2026-01-02", ["commit(after:1767312000)"]],
  ["the earliest before", "type:commit before:2026-01-01 before:2026-01-02", ["commit(before:1767225600)"]],
  ["a relative date", `type:commit after:"1 hour ago"`, ["commit(after:1770087906)"]],
  ["paths", "type:diff file:a -file:b lang:go", ["diff(file:/a/i -file:/b/i lang:Go)"]],
  ["not in a diff", "type:diff a and not b", [`diff(and("a"i not("b"i)))`]],
  ["one sign", "type:diff select:commit.diff.added a", [`diff("a"i only:+)`]],
  ["the other sign", "type:diff select:commit.diff.removed", ["diff(only:-)"]],
  ["both signs", "type:diff select:commit.diff a", [`diff("a"i)`]],
  ["beside text", "(type:file a) or (type:commit b)", ["", `commit("b"i)`]],
];

t.test("the plan of a search of history", async (t) => {
  for (const [name, text, wanted] of rows) {
    const plans = basicQueries(parseQuery(text, "standard")).map((query) =>
      planHistory(query, new Analyses(text), nowMs).map(printHistory).join(" "),
    );
    t.same(plans, wanted, `${name}: ${text}`);
  }
});

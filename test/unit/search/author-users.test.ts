import t from "tap";
import { planQuery } from "../../../src/query/plan/plan-query.js";
import { printPlan } from "../../../src/query/plan/print.js";
import { replaceUsers } from "../../../src/search/searcher.js";

const addresses = new Map<string, readonly string[]>([
  ["ann", ["ann@acme.test", "ann+x@acme.test"]],
  ["new", []],
]);

t.test("users in author: and committer:", async (t) => {
  const rows: readonly (readonly [query: string, plan: string])[] = [
    ["type:commit author:@ann", String.raw`{commit(author:/^(?:ann@acme\.test|ann\+x@acme\.test)$/i)}`],
    [
      "type:commit case:yes -committer:@ann",
      String.raw`{commit(-committer:/^(?:ann@acme\.test|ann\+x@acme\.test)$/i)}`,
    ],
    ["type:diff author:@new a", String.raw`{diff("a"i author:/[^\x00-\x{10FFFF}]/i)}`],
    ["type:commit author:@acme.test", "{commit(author:/@acme.test/i)}"],
    ["type:commit author:@nobody", "{commit(author:/@nobody/i)}"],
    ["type:commit author:ann", "{commit(author:/ann/i)}"],
  ];
  for (const [query, plan] of rows)
    t.equal(printPlan(replaceUsers(planQuery(query, "standard"), (name) => addresses.get(name))), plan, query);
});

t.test("a plan without users is the same object", async (t) => {
  const plan = planQuery("type:commit author:ann", "standard");
  t.equal(
    replaceUsers(plan, () => []),
    plan,
  );
});

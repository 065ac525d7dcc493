import t from "tap";
import { resultAtOnce } from "../../../src/base/yielding.js";
import type { SearchContext } from "../../../src/model/search-context.js";
import { PlanCache, planQuery } from "../../../src/query/plan/plan-query.js";
import { printPlanWithoutLists } from "../../../src/query/plan/print.js";
import type { SearchContexts } from "../../../src/query/plan/search-contexts.js";
import type { QueryType } from "../../../src/query/syntax/scan.js";
import type { SearchPlan } from "../../../src/query/plan/plan.js";

const plan = (cache: PlanCache, text: string, type: QueryType = "standard", contexts?: SearchContexts): SearchPlan =>
  resultAtOnce(cache.planInSteps(text, type, contexts));

t.test("a plan that depends only on the text is kept, by pattern type", async (t) => {
  const cache = new PlanCache();
  for (const text of [
    "",
    "foo",
    "repo:a file:b lang:go foo or bar",
    "repo:a rev:main count:all foo",
    "/a+/ case:yes",
  ]) {
    const first = plan(cache, text);
    t.same(first, planQuery(text, "standard"), text);
    t.equal(plan(cache, text), first, `${text}: the same object again`);
  }
  t.not(plan(cache, "foo", "regexp"), plan(cache, "foo"));
  t.equal(plan(cache, "foo", "regexp").patternType, "regexp");
});

t.test("a plan that depends on the time or on search contexts is made again", async (t) => {
  const cache = new PlanCache();
  for (const text of ["repo:a rev:at.time(yesterday) foo", "repo:has.commit.after(yesterday) foo"]) {
    t.not(plan(cache, text), plan(cache, text), text);
  }
  const context = (query: string): SearchContexts =>
    new Map([["mine", { query, repositories: [] } as never as SearchContext]]);
  const [one, two] = ["repo:one", "repo:two"].map((query) =>
    plan(cache, "context:mine foo", "standard", context(query)),
  );
  t.same(
    one.basicQueries[0].repositories.include.map(({ source }) => source),
    ["one"],
  );
  t.same(
    two.basicQueries[0].repositories.include.map(({ source }) => source),
    ["two"],
  );
  t.equal(cache.size, 0);
});

t.test("the number of plans and the length of their texts are bounded", async (t) => {
  const cache = new PlanCache();
  const kept = plan(cache, "kept");
  for (let i = 0; i < 300; i++) {
    plan(cache, `word${i}`);
    t.equal(plan(cache, "kept"), kept);
  }
  t.equal(cache.size, 256);
  const long = "x".repeat(257);
  t.not(plan(cache, long), plan(cache, long));
});

t.test("an invalid query throws each time", async (t) => {
  const cache = new PlanCache();
  for (let i = 0; i < 2; i++) t.throws(() => plan(cache, "/(/"), { name: "QueryError" });
});

t.test("the list of a context is not printed for viewers who do not see all repositories", async (t) => {
  const listed = (names: readonly (readonly [name: string, revisions: readonly string[]])[]): SearchContexts =>
    new Map([
      [
        "mine",
        {
          query: "",
          repositories: names.map(([name, revisions]) => ({ name, revisions })),
        } as unknown as SearchContext,
      ],
    ]);
  const printed = (contexts: SearchContexts): string =>
    printPlanWithoutLists(plan(new PlanCache(), "context:mine repo:typed foo or bar", "standard", contexts));
  const some = printed(
    listed([
      ["host/open", []],
      ["host/closed", ["secret-branch"]],
      ["host/other", ["x", "y"]],
    ]),
  );
  t.match(some, /context:mine/);
  t.match(some, /typed/);
  t.notMatch(some, /closed|secret|open|among/);
  t.equal(some, printed(listed([["host/open", []]])), "nor how many groups it has");
});

import {
  resolveRepositories,
  withRevisions,
  type Resolution,
} from "../../../src/search/repositories/repository-resolver.js";
import t from "tap";
import { RepositoryTable } from "../../../src/catalog/repository-table.js";
import type { PatternType } from "../../../src/model/search-request.js";
import type { SearchContext } from "../../../src/model/search-context.js";
import { choosePatternType } from "../../../src/query/syntax/parse.js";
import { planQuery } from "../../../src/query/plan/plan-query.js";
import { printPlan } from "../../../src/query/plan/print.js";
import { addFilters, rewriteQuery } from "../../../src/query/plan/rewrite.js";
import type { Alert } from "../../../src/model/stream-events.js";
import { chooseAlert } from "../../../src/search/report/alerts.js";
import { number } from "../../../src/search/report/omissions.js";
import type { ExcludedRepository, MissingRevision } from "../../../src/search/source/search-part.js";
import { makePart } from "../../support/search-parts.js";
import { testRepository } from "../../support/engine.js";

const table = RepositoryTable.of(
  [
    testRepository(1, "plain"),
    testRepository(2, "a-fork", { fork: true }),
    testRepository(3, "archive", { archived: true }),
    ...Array.from({ length: 12 }, (_, i) => testRepository(10 + i, `many/${i}`)),
  ],
  true,
  undefined,
);

const only: SearchContext = {
  name: "only",
  description: "",
  public: true,
  query: "",
  repositories: [{ name: "plain", revisions: [] }],
};
const contexts = new Map([["only", only]]);

interface Outcome {
  readonly hasResults: boolean;
  readonly timedOutAfterMs: number | undefined;
  readonly missingRevisions: readonly MissingRevision[];
  readonly excluded: readonly ExcludedRepository[];
  readonly unownedResults: number;
}

const foundNothing: Outcome = {
  hasResults: false,
  timedOutAfterMs: undefined,
  missingRevisions: [],
  excluded: [],
  unownedResults: 0,
};

/** As if no mirror had a revision that is not indexed. */
function withoutOpen(resolution: Resolution): Resolution {
  return withRevisions(
    resolution,
    new Map(
      resolution.open.map(({ repository: { id }, specs }) => [
        id,
        {
          repositoryId: id,
          revisions: [],
          missing: specs.map(({ typed }) => typed),
          ambiguous: [],
          malformed: [],
          error: undefined,
        },
      ]),
    ),
  );
}

function planned(query: string) {
  const plan = planQuery(query, choosePatternType(query, "", ""), contexts);
  return {
    plan,
    resolutions: plan.basicQueries.map(({ repositories }) => withoutOpen(resolveRepositories(table, repositories))),
  };
}

function alertFor(query: string, outcome: Outcome): Alert | undefined {
  const { plan, resolutions } = planned(query);
  const { hasResults, timedOutAfterMs, unownedResults } = outcome;
  const part = makePart(plan, resolutions, table.count, outcome);
  return chooseAlert({ queryText: query, plan, part, hasResults, timedOutAfterMs, unownedResults });
}

t.test("proposed queries select repositories when they are run", async (t) => {
  const rows: readonly (readonly [query: string, title: string, proposed: readonly string[]])[] = [
    ["repo:^a-f x", "No repositories found", ["repo:^a-f x fork:yes patternType:standard"]],
    ["repo:arch", "No repositories found", ["repo:arch archived:yes patternType:standard"]],
    [
      "repo:^a- or repo:^arch",
      "No repositories found",
      [
        "(repo:^a- or repo:^arch) fork:yes patternType:standard",
        "(repo:^a- or repo:^arch) archived:yes patternType:standard",
      ],
    ],
    [
      "(repo:^a- x) or (repo:^nothing y)",
      "No repositories found",
      ["((repo:^a- x) or (repo:^nothing y)) fork:yes patternType:standard"],
    ],
    ["repo:^a- patternType:regexp x.*y", "No repositories found", ["repo:^a- x.*y fork:yes patternType:regexp"]],
    [`repo:^a- "x y" patterntype:"keyword"`, "No repositories found", [`repo:^a- "x y" fork:yes patternType:keyword`]],
    ["repo:^a- open (", "No repositories found", ["repo:^a- open ( fork:yes patternType:standard"]],
    [
      "context:only repo:many x",
      "No repositories found for your query within the context only",
      ["context:global repo:many x patternType:standard"],
    ],
    [
      "repo:many x context:only y",
      "No repositories found for your query within the context only",
      ["context:global repo:many x y patternType:standard"],
    ],
  ];
  for (const [query, title, proposed] of rows) {
    const alert = alertFor(query, foundNothing);
    t.equal(alert?.title, title, query);
    t.same(
      alert?.proposedQueries?.map((one) => one.query),
      proposed,
      query,
    );
    for (const one of proposed) {
      t.ok(
        planned(one).resolutions.some(({ repositories }) => repositories.length > 0),
        one,
      );
    }
  }
});

t.test("a longer timeout is proposed", async (t) => {
  const late: Outcome = { ...foundNothing, timedOutAfterMs: 2100 };
  const queryOf = (query: string) => alertFor(query, late)?.proposedQueries?.map((one) => one.query);
  t.match(alertFor("x", late), {
    title: "Timed out while searching",
    description: "We weren't able to find any results in 2.1 s.",
  });
  t.same(queryOf("x"), ["timeout:5s x patternType:standard"]);
  t.same(queryOf("x timeout:2s y"), ["timeout:5s x y patternType:standard"]);
  t.same(queryOf("timeout:2s (repo:a x) or (repo:b y)"), [
    "timeout:5s ((repo:a x) or (repo:b y)) patternType:standard",
  ]);
  t.same(
    alertFor("x", { ...late, timedOutAfterMs: 20 })?.proposedQueries?.map(({ query }) => query),
    ["timeout:2s x patternType:standard"],
    "never shorter than 2 s",
  );
  t.equal(alertFor("x", { ...late, hasResults: true }), undefined, "with results the notice is enough");
});

t.test("missing revisions", async (t) => {
  const title = "Some repositories could not be searched";
  t.match(alertFor("repo:plain@v9 x", foundNothing), {
    title,
    proposedQueries: null,
    description:
      'The repository plain matched by your repo: filter could not be searched because it does not contain the revision "v9".',
  });
  const lines = alertFor("repo:many/@v9 x", foundNothing)?.description?.split("\n") ?? [];
  t.equal(
    lines[0],
    "12 repositories matched by your repo: filter could not be searched because the following revisions do not exist, " +
      "or differ but were specified for the same repository:",
  );
  t.equal(lines.length, 12);
  t.equal(lines[1], "* many/11@v9");
  t.equal(lines.at(-1), "* ...");
  t.match(
    alertFor("(repo:plain@v9 x) or (repo:plain@v9 y)", foundNothing)?.description,
    /^The repository plain /,
    "the same from two sides is one",
  );
  t.equal(
    alertFor("repo:plain@v9 x", { ...foundNothing, timedOutAfterMs: 10 })?.title,
    title,
    "it comes before a timeout",
  );
});

t.test("information missing from mirrors", async (t) => {
  const excluded = Array.from({ length: 12 }, (_, i) => ({
    repository: `r${i}`,
    reason: "there was not enough time to read it",
    isLate: true,
  }));
  const alert = alertFor("file:has.contributor(x)", { ...foundNothing, excluded });
  t.match(alert, {
    title: "Some repositories could not be searched",
    description: /could not be read for 12 repositories/,
  });
  t.equal(alert?.description?.split("\n")[1], "* r0: there was not enough time to read it");
  t.equal(alert?.description?.split("\n").length, 12);
  t.match(alertFor("file:has.contributor(x)", { ...foundNothing, hasResults: true, excluded: excluded.slice(0, 1) }), {
    description: /for one repository/,
  });
  t.match(alertFor("select:file.owners x", { ...foundNothing, hasResults: true, unownedResults: 1 }), {
    title: "Some results have no owners",
  });
});

t.test("others", async (t) => {
  const { plan, resolutions } = planned("x");
  t.match(chooseAlert({ queryText: "x", plan, part: makePart(plan, resolutions, 0), ...foundNothing }), {
    title: "No repositories or code hosts configured",
  });
  const hint = {
    title: "No results",
    description:
      "It looks like you're trying to run a structural search, but it is not enabled using the patterntype keyword or UI toggle.",
    proposedQueries: [
      { description: "Activate structural search", query: "repo:plain foo(:[args]) patternType:structural" },
    ],
  };
  t.same(alertFor("repo:plain foo(:[args])", foundNothing), hint);
  t.match(alertFor("repo:plain foo(:[args]) patternType:regexp", foundNothing), hint, "its own pattern type goes");
  for (const one of [":[[x]]", ":[_]", ":[x.]", ":[x\\n]", ":[ ]", ":[  x]"])
    t.equal(alertFor(`f ${one}`, foundNothing)?.title, "No results", one);
  for (const none of [":[a-z]", ":[]", "...", ":[x y]", "a[x]"])
    t.equal(alertFor(`f ${none}`, foundNothing), undefined, none);
  t.equal(alertFor("foo(:[args])", { ...foundNothing, hasResults: true }), undefined);
  t.equal(alertFor("nothing", foundNothing), undefined, "no results alone are no reason");
  t.match(alertFor("repo:nothing", foundNothing), {
    title: "No repositories found",
    description: "Try using a different `repo:<regexp>` filter to see results",
    proposedQueries: null,
  });
  t.match(alertFor("repo:^a- fork:no", foundNothing), { proposedQueries: null }, "who says fork: means it");
  t.match(
    alertFor("(repo:^a- x) or (repo:^a- fork:no y)", foundNothing),
    { proposedQueries: null },
    "nor is a second fork: proposed",
  );
});

t.test("a rewritten query", async (t) => {
  const rows: readonly (readonly [text: string, type: PatternType, want: string])[] = [
    ["a timeout:5s b", "standard", "a b patternType:standard"],
    ["timeout:5s", "keyword", "patternType:keyword"],
    ["(timeout:5s a) or b", "standard", "a or b patternType:standard"],
    ["(a timeout:5s) or b", "standard", "a or b patternType:standard"],
    ["(timeout:5s a) or b", "keyword", "(a) or b patternType:keyword"],
    ["(timeout:5s a or b) and c", "standard", "(a or b) and c patternType:standard"],
    ["(timeout:5s lang:go a) or b", "standard", "(lang:go a) or b patternType:standard"],
    ["((timeout:5s a)) or b", "literal", "a or b patternType:literal"],
    ["(timeout:5s) a", "keyword", "a patternType:keyword"],
    ["a  timeout:5s timeout:5s b\tc", "standard", "a  b\tc patternType:standard"],
    [`a TimeOut:"5s" PATTERNTYPE:regexp`, "regexp", "a patternType:regexp"],
    [`"timeout:5s" a`, "keyword", `"timeout:5s" a patternType:keyword`],
  ];
  for (const [text, type, want] of rows)
    t.equal(rewriteQuery(text, type, false, { without: ["timeout"], before: "", after: "" }), want, text);
});

t.test("filters for all of a query", async (t) => {
  const rows: readonly (readonly [text: string, type: PatternType, want: string])[] = [
    ["a b", "standard", "a b case:yes"],
    ["", "standard", "case:yes"],
    ["a or b", "standard", "(a or b) case:yes"],
    ["repo:r a or b", "keyword", "(repo:r a or b) case:yes"],
    ["a repo:q or b repo:r", "literal", "(a repo:q or (b repo:r)) case:yes"],
    ["a or b and c file:f", "standard", "(a or (b and c file:f)) case:yes"],
    ["(a or b) and c", "standard", "(a or b) and c case:yes"],
    ["a or (", "standard", "a or ( case:yes"],
    ["or a", "standard", "or a case:yes"],
    ["-repo:r a or b file:f", "regexp", "(-repo:r a or b file:f) case:yes"],
  ];
  for (const [text, type, want] of rows) {
    const added = addFilters(text, type, "case:yes");
    t.equal(added, want, text);
    if (text === "" || text.endsWith("(")) continue;
    const sensitive = (query: string) => printPlan(planQuery(query, type)).replace(/(["/}])i\b/g, "$1");
    t.equal(printPlan(planQuery(added, type)), sensitive(text), `${text}: the same, with regard to case`);
  }
});

t.test("numbers in titles", async (t) => {
  const rows: readonly (readonly [count: number, text: string])[] = [
    [1, "1"],
    [999, "999"],
    [1000, "1,000"],
    [1234, "1,234"],
    [9999, "9,999"],
    [10_000, "10k"],
    [12_999, "12k"],
  ];
  for (const [count, text] of rows) t.equal(number(count), text);
});

import { readFileSync } from "node:fs";
import t from "tap";
import { TrawlError } from "../../../src/base/errors.js";
import { fieldNames, fields } from "../../../src/query/syntax/fields.js";
import { planQuery } from "../../../src/query/plan/plan-query.js";
import { printPlan } from "../../../src/query/plan/print.js";
import { UnsupportedError } from "../../../src/query/syntax/query-error.js";
import type { QueryType } from "../../../src/query/syntax/scan.js";

/** Name, query text, plan in its printed form. */
type Row = readonly [name: string, text: string, plan: string];

function table(name: string, type: QueryType, rows: readonly Row[]): void {
  t.test(`${type}: ${name}`, async (t) => {
    for (const [row, text, plan] of rows) t.equal(printPlan(planQuery(text, type)), plan, row);
  });
}

table("which types run", "standard", [
  ["nothing asked for: all repositories", "", "{names(all)}"],
  ["a pattern: all three", "a", `{text(content+path "a"i) names(/a/i)}`],
  ["content: only: contents", "content:a", `{text(content "a"i)}`],
  ["content: only, several", "content:a -content:b", `{text(content and("a"i not("b"i)))}`],
  ["content: and another pattern: paths too", "content:a b", `{text(content+path and(content:"a"i "b"i))}`],
  ["content: or another pattern", "content:a or b", `{text(content+path or(content:"a"i "b"i)) names(/b/i)}`],
  ["type:file", "type:file a", `{text(content "a"i)}`],
  ["type:path", "type:path a", `{text(path "a"i)}`],
  ["type:repo", "type:repo a", "{names(/a/i)}"],
  ["type:file type:path", "type:file type:path a", `{text(content+path "a"i)}`],
  ["type:file type:repo", "type:repo type:file a", `{text(content "a"i) names(/a/i)}`],
  ["type: twice the same", "type:repo type:repo a", "{names(/a/i)}"],
  ["an unknown type: nothing", "type:nonsense a", "{}"],
  ["an unknown type beside a known one", "type:nonsense type:path a", `{text(path "a"i)}`],
  ["content: with type:path", "type:path content:a", `{text(path content:"a"i)}`],
  ["content: with type:repo", "type:repo content:a", "{}"],
]);

table("text results left out", "standard", [
  ["no pattern and no filter on files", "repo:a", "{repositories(/a/) names(all)}"],
  ["type:path alone", "type:path", "{}"],
  ["type:file alone", "type:file", "{}"],
  ["type:file and a repository", "type:file repo:a", "{repositories(/a/)}"],
  ["a filter on files is enough", "file:a", "{text(content+path file:/a/i)}"],
  ["a negated one is, too", "-file:a", "{text(content+path -file:/a/i)}"],
  ["a language is enough", "lang:go", "{text(content+path lang:Go)}"],
  ["type:path and a filter", "type:path file:a", "{text(path file:/a/i)}"],
  ["type:repo", "type:repo", "{names(all)}"],
]);

table("repository results left out", "standard", [
  ["a filter on files", "file:a b", `{text(content+path file:/a/i "b"i)}`],
  [
    "a condition on contents",
    "file:has.content(a|b) c",
    '{text(content+path and("c"i has.content:/a|b/i requires {a,b}))}',
  ],
  [
    "one beside another and",
    "-file:contains.content(a) file:has.content(b) case:yes c and d",
    `{text(content+path and("c" "d" not(has.content:"a") has.content:"b"))}`,
  ],
  ["one is enough, whatever the type", "type:path file:has.content(a)", `{text(path has.content:"a"i)}`],
  [
    "conditions on people",
    "file:has.owner(@a) -file:has.contributor(b)",
    `{text(content+path has.owner:"@a" -has.contributor:/b/i)}`,
  ],
  ["a language", "lang:golang b", `{text(content+path lang:Go "b"i)}`],
  ["type:repo with a filter on files: nothing", "type:repo file:a", "{}"],
  ["repo: leaves them in", "repo:a b", `{repositories(/a/) text(content+path "b"i) names(/b/i)}`],
  ["rev: leaves them in", "repo:a rev:v1 b", `{repositories(/a/@v1) text(content+path "b"i) names(/b/i)}`],
  [
    "so do the filters of repositories",
    "fork:yes archived:no visibility:public context:global index:yes b",
    `{repositories(fork:yes archived:no visibility:public) text(content+path "b"i) names(/b/i)}`,
  ],
  [
    "so do the rest",
    "case:no patterntype:standard count:5 timeout:2s select:repo b",
    `{text(content+path "b"i) names(/b/i)} count:5 timeout:2000ms select:repo`,
  ],
]);

table("filters at either end of a group", "keyword", [
  ["the whole query is the group", "(lang:go mux or handler)", `{text(content+path lang:Go either("mux" "handler")i)}`],
  [
    "a filter before the group",
    "context:global (lang:go mux or handler)",
    `{text(content+path lang:Go either("mux" "handler")i)}`,
  ],
  [
    "a filter after the group",
    "(lang:go mux or handler) count:all",
    `{text(content+path lang:Go either("mux" "handler")i)} count:99999999`,
  ],
  ["at the group's end", "case:yes (a or b file:c)", `{text(content+path file:/c/ or("a" "b"))}`],
  ["a pattern beside the group", "x (lang:go a or b)", `{text(content+path lang:Go and("x"i or("a"i "b"i)))}`],
  ["a group in a group", "case:yes (b (lang:go c or d))", `{text(content+path lang:Go and("b" or("c" "d")))}`],
  [
    "an or beside the group",
    "case:yes (lang:go a or b) or c",
    `{text(content+path lang:Go or("a" "b"))} or {text(content+path "c") names(/c/)}`,
  ],
  [
    "a filter between the patterns: each side keeps its own",
    "case:yes (a lang:go or b)",
    `{text(content+path lang:Go "a")} or {text(content+path "b") names(/b/)}`,
  ],
]);

table("patterns on repository names", "keyword", [
  ["a literal is escaped", "a.b", `{text(content+path "a.b"i) names(/a\\.b/i)}`],
  ["a regexp is not", String.raw`/fo+\d/`, String.raw`{text(content+path /fo+\d/i requires {fo}) names(/fo+\d/i)}`],
  ["and: all", "foo bar", `{text(content+path and("foo"i "bar"i)) names(and(/foo/i /bar/i))}`],
  ["or: any", "foo or bar", `{text(content+path either("foo" "bar")i) names(or(/foo/i /bar/i))}`],
  [
    "nested",
    "(foo or bar) baz",
    `{text(content+path and(either("foo" "bar")i "baz"i)) names(and(/baz/i or(/foo/i /bar/i)))}`,
  ],
  ["before an @", "foo@v1", `{text(content+path "foo@v1"i) names(/foo/i)}`],
  ["starting with @: none", "@foo", `{text(content+path "@foo"i)}`],
  ["before an @ that is inside a group: none", "type:repo /(a@b)/", "{}"],
  ["and with one that starts with @: none", "foo @bar", `{text(content+path and("foo"i "@bar"i))}`],
  ["negated alone: none", "not foo", `{text(content+path not("foo"i))}`],
  [
    "negated beside another: taken away",
    "foo not bar",
    `{text(content+path and("foo"i not("bar"i))) names(and(/foo/i not(/bar/i)))}`,
  ],
  ["negated in or: no result by itself", "foo or not bar", `{text(content+path or("foo"i not("bar"i))) names(/foo/i)}`],
  ["with case:yes", "Foo case:yes", `{text(content+path "Foo") names(/Foo/)}`],
]);

table("case", "standard", [
  ["ignored by default, whatever is typed", "Foo file:Bar", `{text(content+path file:/Bar/i "foo"i)}`],
  ["case:yes", "Foo file:Bar case:yes", `{text(content+path file:/Bar/ "Foo")}`],
  [
    "case:yes leaves languages and repositories as they are",
    "case:yes lang:GO repo:A x",
    `{repositories(/A/) text(content+path lang:Go "x")}`,
  ],
]);

table("pattern trees", "keyword", [
  ["one leaf for equal patterns", "foo or foo", `{text(content+path "foo"i) names(/foo/i)}`],
  ["negated and not", "type:file a and not a", `{text(content and("a"i not("a"i)))}`],
  ["content: is another leaf", "type:file type:path (a or content:a)", `{text(content+path or("a"i content:"a"i))}`],
  [
    "texts under or are one leaf, whatever stands between",
    "type:file foo or /b+/ or /bar/ or ab or not baz",
    `{text(content or(either("foo" "bar")i /b+/i requires {b} "ab"i not("baz"i)))}`,
  ],
  [
    "equal ones are one",
    "type:file (foo or FOO or bar) and (foo or Foo)",
    `{text(content and(either("foo" "bar")i "foo"i))}`,
  ],
  [
    "content: has a leaf of its own",
    "type:file type:path (foo or content:bar or bar or content:foo)",
    `{text(content+path or(content:either("bar" "foo")i either("foo" "bar")i))}`,
  ],
  [
    "so have texts that fold outside of ASCII",
    "type:file foo or b\u00e9r or bar",
    `{text(content or(either("foo" "bar")i /b\u00e9r/i requires {r}{b}))}`,
  ],
  ["a regexp that is a text", "type:file /foo/", `{text(content "foo"i)}`],
  [
    "what a regexp requires",
    "type:file /(copy|move)_to/",
    "{text(content /(copy|move)_to/i requires {copy_to,move_to})}",
  ],
  ["a regexp that requires nothing", "type:file /[a-z]+/", "{text(content /[a-z]+/i)}"],
]);

table("filters", "standard", [
  [
    "in the order typed",
    "file:a lang:c -file:b -lang:python x",
    `{text(content+path file:/a/i lang:C -file:/b/i -lang:Python "x"i)}`,
  ],
  [
    "languages by any name",
    `lang:js lang:"c++" lang:sh x`,
    `{text(content+path lang:JavaScript lang:C++ lang:Shell "x"i)}`,
  ],
]);

table("repositories", "standard", [
  ["several: all", "repo:a r:b", "{repositories(/a/ /b/) names(all)}"],
  ["negated", "repo:a -repo:b", "{repositories(/a/ not(/b/)) names(all)}"],
  ["one name exactly", String.raw`repo:^github\.com/a/b-c$`, `{repositories("github.com/a/b-c") names(all)}`],
  ["a dot is an operator", "repo:^a.b$", "{repositories(/^a.b$/) names(all)}"],
  ["alternatives are no name", "repo:^a|b$", "{repositories(/^a|b$/) names(all)}"],
  [
    "text that is a regexp only as a whole",
    "repo:(^a)|(b$) repo:^a|[b]$",
    "{repositories(/(^a)|(b$)/ /^a|[b]$/) names(all)}",
  ],
  ["an escaped end is none", String.raw`repo:^a\$`, String.raw`{repositories(/^a\$/) names(all)}`],
  ["a name and revisions", "repo:^a$@v1:v2", `{repositories("a"@v1:v2) names(all)}`],
  [
    "what they hold",
    "repo:has.path(a) -repo:has.file(path:b content:c)",
    '{repositories(has(file:/a/i) not(has(file:/b/i has.content:"c"i))) names(all)}',
  ],
  ["what their history holds", "-repo:has.commit.after(1970-01-02)", "{repositories(-commit.after:86400) names(all)}"],
  ["empty revisions are dropped", "repo:a@:v1::v2:", "{repositories(/a/@v1:v2) names(all)}"],
  ["none left", "repo:a@", "{repositories(/a/) names(all)}"],
  ["only the first @ parts", "repo:a@b@c", "{repositories(/a/@b@c) names(all)}"],
  ["rev: is for each repo:", "repo:a repo:b rev:v1:v2", "{repositories(/a/@v1:v2 /b/@v1:v2) names(all)}"],
  ["rev: is not for negated ones", "repo:a -repo:b rev:v1", "{repositories(/a/@v1 not(/b/)) names(all)}"],
  ["revisions of a negated one are dropped", "-repo:b@v1", "{repositories(not(/b/)) names(all)}"],
  [
    "revisions as git has them",
    "repo:a@refs/heads/x:HEAD:HEAD~2:0a1b2c3",
    "{repositories(/a/@refs/heads/x:HEAD:HEAD~2:0a1b2c3) names(all)}",
  ],
  [
    "globs of refs",
    "repo:a@*refs/heads/*:*!refs/heads/x",
    "{repositories(/a/@*refs/heads/*:*!refs/heads/x) names(all)}",
  ],
  [
    "the state at a time",
    "repo:a rev:at.time(2024-01-01, dev)",
    "{repositories(/a/@at.time(2024-01-01, dev)) names(all)}",
  ],
  ["whether the index is used", "index:no", "{repositories(index:no) names(all)}"],
  ["only the index", "index:only", "{repositories(index:only) names(all)}"],
  ["index:yes is the rule", "index:yes", "{names(all)}"],
  [
    "fork, archived, visibility",
    "fork:only archived:yes visibility:private",
    "{repositories(fork:only archived:yes visibility:private) names(all)}",
  ],
  ["any other visibility is any", "visibility:nonsense", "{names(all)}"],
]);

table("alternatives", "standard", [
  [
    "each with its own filters",
    "a repo:x or b repo:y",
    `{repositories(/x/) text(content+path "a"i) names(/a/i)} or {repositories(/y/) text(content+path "b"i) names(/b/i)}`,
  ],
  [
    "an operator without filters is one",
    "repo:x a or b",
    `{repositories(/x/) text(content+path or("a"i "b"i)) names(or(/a/i /b/i))}`,
  ],
  ["types of their own", "(type:file a) or (type:repo b)", `{text(content "a"i)} or {names(/b/i)}`],
  [
    "counts of their own",
    "(type:repo count:5 a) or (type:repo count:7 b)",
    "{names(/a/i) count:5} or {names(/b/i) count:7}",
  ],
  ["a count for one", "(type:repo count:5 a) or (type:repo b)", "{names(/a/i) count:5} or {names(/b/i)}"],
  [
    "timeouts of their own",
    "(type:repo timeout:5s a) or (type:repo timeout:200ms b)",
    "{names(/a/i) timeout:5000ms} or {names(/b/i) timeout:200ms}",
  ],
  [
    "a select: for one",
    "a or (type:repo b select:repo)",
    `{text(content+path "a"i) names(/a/i)} or {names(/b/i) select:repo}`,
  ],
  [
    "the same select:",
    "(type:repo select:repo a) or (type:repo select:repo b)",
    "{names(/a/i)} or {names(/b/i)} select:repo",
  ],
]);

table("limits and select", "standard", [
  ["count:all", "type:repo count:all", "{names(all)} count:99999999"],
  ["timeout", "type:repo timeout:1m30s", "{names(all)} timeout:90000ms"],
  ["select:repo", "type:repo select:repo", "{names(all)} select:repo"],
  ["select:file", "type:file select:file a", `{text(content "a"i)} select:file`],
  ["select:file.path", "type:file select:file.path a", `{text(content "a"i)} select:file.path`],
  ["select:file.directory", "type:file select:file.directory a", `{text(content "a"i)} select:file.directory`],
  ["select:content", "type:file select:content a", `{text(content "a"i)} select:content`],
]);

table("the pattern types", "regexp", [
  ["words on one line", "type:file foo bar", "{text(content /(?:foo).*?(?:bar)/i requires {bar}{foo})}"],
  ["a literal", `type:file "a.b"`, `{text(content "a.b"i)}`],
]);

table("the pattern types", "literal", [["all is text", `type:file "a" /b/`, String.raw`{text(content "\"a\" /b/"i)}`]]);

table("the pattern types", "structural", [
  ["without a pattern it is an ordinary query", "repo:a", "{repositories(/a/) names(all)}"],
]);

t.test("counts and times as numbers", async (t) => {
  t.match(planQuery("a", "standard"), {
    resultOptions: [{ count: undefined, timeoutMs: undefined, select: undefined }],
    patternType: "standard",
  });
  t.match(planQuery("a count:7 timeout:10ms", "keyword"), {
    resultOptions: [{ count: 7, timeoutMs: 10 }],
    patternType: "keyword",
  });
  t.match(planQuery("a count:all", "regexp"), { resultOptions: [{ count: 99_999_999 }] });
});

t.test("basic queries with the same result options share them, unless they have separate counts", async (t) => {
  const optionsIndexes = (text: string): readonly number[] =>
    planQuery(text, "standard").basicQueries.map(({ optionsIndex }) => optionsIndex);
  t.same(optionsIndexes("a repo:x or b repo:y"), [0, 0]);
  t.same(optionsIndexes("(a repo:x) or (b repo:y select:repo) or (c repo:z)"), [0, 1, 0]);
  t.same(optionsIndexes("(a repo:x count:2) or (b repo:y count:2)"), [0, 0]);
  t.same(optionsIndexes("(a repo:x count:2) or (b repo:y count:2) or (c repo:z)"), [0, 1, 2]);
});

t.test("features that are not available yet", async (t) => {
  /** Query, the feature named in the message, the marked part of the text. */
  const rows: readonly (readonly [text: string, names: string, marked: string])[] = [
    ["rule:x", "rule:", "rule:x"],
    ["type:commit file:has.content(x)", "file:has.content(...) with type:commit", "file:has.content(x)"],
  ];
  for (const [text, names, marked] of rows) {
    let error: unknown;
    try {
      planQuery(text, "standard");
    } catch (thrown) {
      error = thrown;
    }
    if (!(error instanceof UnsupportedError)) {
      t.fail(`${text}: ${String(error)}`);
      continue;
    }
    t.ok(error.message.includes(names) && error.message.includes("not implemented yet"), `${text}: ${error.message}`);
    t.equal(Buffer.from(text).subarray(error.from, error.to).toString(), marked, `${text}: place`);
  }
});

t.test("an invalid query is distinguished from one that is not supported yet", async (t) => {
  for (const text of ["type:symbol lang:klingon", "repo:has.path([) a", "author:x a"]) {
    t.throws(() => planQuery(text, "standard"), { name: "QueryError" }, text);
  }
});

t.test("queries that would block the main thread are rejected", async (t) => {
  const rows: readonly (readonly [text: string, message: RegExp])[] = [
    [
      Array.from({ length: 1001 }, (_, i) => `repo:r${i}`).join(" "),
      /^the query has more than 1000 repo: filters; one regexp can name many/,
    ],
    [`repo:${"r".repeat(8193)}`, /^a repo: filter is longer than 8192 characters; write several/],
    [
      `repo:has.description(${"d".repeat(1025)})`,
      /^invalid predicate value: has.description argument: a regexp longer than 1024 characters/,
    ],
    [
      `repo:has.meta(/${"d".repeat(1025)}/)`,
      /^invalid predicate value: has.meta key argument: a regexp longer than 1024 characters/,
    ],
  ];
  for (const [text, message] of rows)
    t.throws(() => planQuery(text, "standard"), { name: "QueryError", message }, text.slice(0, 40));
  planQuery(Array.from({ length: 1000 }, (_, i) => `repo:r${i}`).join(" "), "standard");
});

t.test("a structural pattern", async (t) => {
  t.throws(
    () => planQuery("foo(:[x])", "structural"),
    new TrawlError("bad-request", "Structural search is disabled in the site configuration."),
  );
  t.throws(
    () => planQuery("lang:klingon foo", "structural"),
    { message: `unknown language: "klingon"` },
    "other errors come first",
  );
});

t.test("the documentation lists each field, available or not", async (t) => {
  const [built = "", unbuilt = ""] = readFileSync("docs/query-syntax.md", "utf8")
    .toLowerCase()
    .split("not implemented yet\n");
  for (const name of fieldNames.filter((field) => fields[field].value !== "refused")) {
    const { aliases, built: isBuilt } = fields[name];
    for (const typed of [name, ...aliases]) t.match(isBuilt ? built : unbuilt, `\`${typed}:`, typed);
  }
});

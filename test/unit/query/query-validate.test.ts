import t from "tap";
import { Analyses } from "../../../src/query/fields/analyses.js";
import { basicQueries, type BasicQuery } from "../../../src/query/syntax/basic.js";
import { readDateMs } from "../../../src/query/fields/dates.js";
import { fieldNames, fields } from "../../../src/query/syntax/fields.js";
import { parseQuery } from "../../../src/query/syntax/parse.js";
import { checks } from "../../../src/query/fields/predicates.js";
import { printNode } from "../../../src/query/plan/print.js";
import { QueryError } from "../../../src/query/syntax/query-error.js";
import type { QueryType } from "../../../src/query/syntax/scan.js";
import { Validator } from "../../../src/query/fields/validate.js";

const nowMs = Date.UTC(2024, 2, 20, 15, 30);

/** Parses, splits and validates like planning; throws the first error. */
function validate(text: string, type: QueryType): readonly BasicQuery[] {
  const queries = basicQueries(parseQuery(text, type));
  const validator = new Validator(text, new Analyses(text), nowMs);
  for (const query of queries) validator.check(query);
  return queries;
}

function errorOf(text: string, type: QueryType): QueryError | undefined {
  try {
    validate(text, type);
  } catch (error) {
    if (error instanceof QueryError) return error;
    throw error;
  }
  return undefined;
}

function good(name: string, texts: readonly string[], type: QueryType = "standard"): void {
  t.test(`valid: ${name}`, async (t) => {
    for (const text of texts) t.equal(errorOf(text, type)?.message, undefined, text);
  });
}

/** Query text, message, the marked part of the text. */
type BadRow = readonly [text: string, message: string | RegExp, marked: string];

function bad(name: string, rows: readonly BadRow[], type: QueryType = "standard"): void {
  t.test(`invalid: ${name}`, async (t) => {
    for (const [text, message, marked] of rows) {
      const error = errorOf(text, type);
      t.match(error?.message, message, text);
      t.equal(Buffer.from(text).subarray(error?.from, error?.to).toString(), marked, `${text}: place`);
    }
  });
}

t.test("basic queries", async (t) => {
  /** Name, query, each basic query as its fields and, after an arrow, its pattern. */
  const rows: readonly (readonly [name: string, text: string, queries: readonly string[]])[] = [
    ["nothing", "", []],
    ["a pattern", "a", [`→ "a"`]],
    ["filters", "repo:a file:b", [`repo:"a" file:"b"`]],
    ["filters and a pattern", "repo:a file:b c", [`repo:"a" file:"b" → "c"`]],
    ["an operator without filters stays whole", "repo:a (b or c)", [`repo:"a" → or("b" "c")`]],
    ["or over filters: one each", "repo:a or repo:b", [`repo:"a"`, `repo:"b"`]],
    ["or over filters, and a pattern", "(repo:a or repo:b) c", [`repo:"a" → "c"`, `repo:"b" → "c"`]],
    ["or over a filter and a pattern", "repo:a or b", [`repo:"a"`, `→ "b"`]],
    ["each side its own", "a repo:r or b repo:s", [`repo:"r" → "a"`, `repo:"s" → "b"`]],
    [
      "and multiplies",
      "(repo:a or repo:b) (file:c or file:d)",
      [`repo:"a" file:"c"`, `repo:"a" file:"d"`, `repo:"b" file:"c"`, `repo:"b" file:"d"`],
    ],
    [
      "only what has filters is distributed",
      "repo:a (file:b or file:c) (x or y)",
      [`repo:"a" file:"b" → or("x" "y")`, `repo:"a" file:"c" → or("x" "y")`],
    ],
    [
      "patterns on the way are anded",
      "(repo:a x or repo:b y) and z",
      [`repo:"a" → and("x" "z")`, `repo:"b" → and("y" "z")`],
    ],
    [
      "nested",
      "repo:a and (file:b or (file:c and (lang:go or lang:c)))",
      [`repo:"a" file:"b"`, `repo:"a" file:"c" lang:"go"`, `repo:"a" file:"c" lang:"c"`],
    ],
  ];
  for (const [name, text, queries] of rows) {
    const printed = basicQueries(parseQuery(text, "keyword")).map(({ fields: given, pattern }) =>
      [...given.map(printNode), ...(pattern === undefined ? [] : ["→", printNode(pattern)])].join(" "),
    );
    t.same(printed, queries, name);
  }
});

bad(
  "too many basic queries",
  [
    [
      `(${"(repo:a or repo:b) ".repeat(9)}c)`,
      "into more than 500 queries",
      `repo:a or repo:b) ${"(repo:a or repo:b) ".repeat(8)}c`,
    ],
  ],
  "keyword",
);

bad("negation", [
  ["-type:file a", `field "type" does not support negation`, "-type:file"],
  ["-case:yes", `field "case" does not support negation`, "-case:yes"],
  ["-fork:yes", `field "fork" does not support negation`, "-fork:yes"],
  ["not archived:yes", `field "archived" does not support negation`, "not archived:yes"],
  ["-index:yes", `field "index" does not support negation`, "-index:yes"],
  ["-visibility:any", `field "visibility" does not support negation`, "-visibility:any"],
  ["repo:a -rev:b", `field "rev" does not support negation`, "-rev:b"],
  ["-select:repo", `field "select" does not support negation`, "-select:repo"],
  ["-count:5", `field "count" does not support negation`, "-count:5"],
  ["-timeout:5s", `field "timeout" does not support negation`, "-timeout:5s"],
  ["-patterntype:regexp", `field "patterntype" does not support negation`, "-patterntype:regexp"],
  ["-context:global", `field "context" does not support negation`, "-context:global"],
  ["type:commit -before:yesterday", `field "before" does not support negation`, "-before:yesterday"],
  ["type:commit -since:yesterday", `field "after" does not support negation`, "-since:yesterday"],
  [
    "-repohascommitafter:yesterday",
    `field "repohascommitafter" does not support negation`,
    "-repohascommitafter:yesterday",
  ],
  ["-rule:x", `field "rule" does not support negation`, "-rule:x"],
]);

good("negation", [
  "-repo:a -file:b -lang:go -content:c d",
  "type:commit -author:a -committer:b -message:c",
  "-repohasfile:a",
  "-repo:has.path(a)",
]);

bad("at most once", [
  ["case:yes a case:no", `field "case" may not be used more than once`, "case:no"],
  ["fork:yes fork:yes", `field "fork" may not be used more than once`, "fork:yes"],
  ["archived:yes archived:no", `field "archived" may not be used more than once`, "archived:no"],
  ["index:yes index:yes", `field "index" may not be used more than once`, "index:yes"],
  ["visibility:any visibility:any", `field "visibility" may not be used more than once`, "visibility:any"],
  ["repo:a rev:b rev:c", `field "rev" may not be used more than once`, "rev:c"],
  ["select:repo select:repo", `field "select" may not be used more than once`, "select:repo"],
  ["count:1 count:2", `field "count" may not be used more than once`, "count:2"],
  ["timeout:1s timeout:2s", `field "timeout" may not be used more than once`, "timeout:2s"],
  [
    "patterntype:regexp patterntype:literal",
    `field "patterntype" may not be used more than once`,
    "patterntype:literal",
  ],
  ["context:global context:global", `field "context" may not be used more than once`, "context:global"],
  [
    "repohascommitafter:yesterday repohascommitafter:today",
    `field "repohascommitafter" may not be used more than once`,
    "repohascommitafter:today",
  ],
  ["rule:a rule:b", `field "rule" may not be used more than once`, "rule:b"],
]);

good(
  "at most once in each alternative",
  [
    "repo:a (rev:b or rev:c)",
    "(count:1 a) or (count:2 b)",
    "repo:a repo:b file:c file:d lang:go lang:c type:file type:path content:a content:b",
  ],
  "keyword",
);

bad("count", [
  ["count:ten", "field count has value ten, ten is not a number", "count:ten"],
  ["count:1.5", "field count has value 1.5, 1.5 is not a number", "count:1.5"],
  ["count:", "field count has value ,  is not a number", "count:"],
  ["count:0", "field count requires a positive number", "count:0"],
  ["count:-5", "field count requires a positive number", "count:-5"],
  ["count:2147483648", "field count has a value that is out of range, try making it smaller", "count:2147483648"],
  [
    "count:99999999999999999999",
    "field count has a value that is out of range, try making it smaller",
    "count:99999999999999999999",
  ],
]);

good("count", ["count:1", "count:2147483647", "count:all", "count:ALL", `count:"7"`, "count:+7"]);

bad("case", [
  ["case:maybe", `invalid boolean "maybe"`, "case:maybe"],
  ["case:", `invalid boolean ""`, "case:"],
  ["case:tRUE", `invalid boolean "tRUE"`, "case:tRUE"],
  ["case:only", `invalid boolean "only"`, "case:only"],
]);

good(
  "case",
  [
    "y",
    "Y",
    "yes",
    "yEs",
    "n",
    "NO",
    "1",
    "t",
    "T",
    "TRUE",
    "true",
    "True",
    "0",
    "f",
    "F",
    "FALSE",
    "false",
    "False",
  ].map((word) => `case:${word}`),
);

bad("yes, no, only", [
  ["fork:maybe", `invalid value "maybe" for field "fork". Valid values are: yes, only, no`, "fork:maybe"],
  ["archived:", `invalid value "" for field "archived". Valid values are: yes, only, no`, "archived:"],
  ["index:yEs", `invalid value "yEs" for field "index". Valid values are: yes, only, no`, "index:yEs"],
]);

good(
  "yes, no, only",
  [
    "y",
    "Y",
    "yes",
    "YES",
    "Yes",
    "n",
    "N",
    "no",
    "NO",
    "No",
    "o",
    "only",
    "ONLY",
    "Only",
    "1",
    "0",
    "t",
    "F",
    "true",
    "False",
  ].flatMap((word) => [`fork:${word}`, `archived:${word}`, `index:${word}`]),
);

good("visibility", ["visibility:any", "visibility:public", "visibility:Private", "visibility:whatever"]);

bad("timeout", [
  ["timeout:5", `invalid value for field 'timeout' (examples: "timeout:2s", "timeout:200ms")`, "timeout:5"],
  ["timeout:", "invalid value for field 'timeout'", "timeout:"],
  ["timeout:5x", "invalid value for field 'timeout'", "timeout:5x"],
  ["timeout:s", "invalid value for field 'timeout'", "timeout:s"],
  ["timeout:1s2", "invalid value for field 'timeout'", "timeout:1s2"],
  ["timeout:99999999999999999h", "invalid value for field 'timeout'", "timeout:99999999999999999h"],
]);

good(
  "timeout",
  ["10s", "1m30s", "200ms", "1.5h", ".5s", "5us", "5µs", "7ns", "0", "+3s"].map((duration) => `timeout:${duration}`),
);

bad("lang", [
  ["lang:klingon", `unknown language: "klingon"`, "lang:klingon"],
  ["-l:klingon a", `unknown language: "klingon"`, "-l:klingon"],
  ["lang:", `unknown language: ""`, "lang:"],
]);

good(
  "lang",
  [
    "Go",
    "go",
    "golang",
    "GOLANG",
    "js",
    "ts",
    "py",
    "bash",
    "sh",
    "c++",
    "cpp",
    "c#",
    "csharp",
    "md",
    "yml",
    "rb",
    "rs",
    "objc",
    "Objective-C++",
    `"Jupyter Notebook"`,
    "jupyter_notebook",
  ].map((name) => `lang:${name}`),
);

bad("select", [
  ["select:nothing", `invalid field "nothing" on select path "nothing"`, "select:nothing"],
  ["select:", `invalid field "" on select path ""`, "select:"],
  ["select:file.nothing", `invalid field "nothing" on select path "file.nothing"`, "select:file.nothing"],
  ["select:repo.file", `invalid field "file" on select path "repo.file"`, "select:repo.file"],
  [
    "select:commit.diff.changed",
    `invalid field "changed" on select path "commit.diff.changed"`,
    "select:commit.diff.changed",
  ],
  ["select:symbol.thing", `invalid field "thing" on select path "symbol.thing"`, "select:symbol.thing"],
  ["select:Repo", `invalid field "Repo" on select path "Repo"`, "select:Repo"],
]);

good(
  "select",
  [
    "repo",
    "content",
    "file",
    "file.path",
    "file.directory",
    "file.owners",
    "symbol",
    "symbol.class",
    "symbol.enum-member",
    "symbol.type-parameter",
    "symbol.enum",
    "commit",
    "commit.diff",
    "commit.diff.added",
    "commit.diff.removed",
  ].map((path) => `select:${path}`),
);

bad("regexps in filters", [
  ["x repo:[a", /^error parsing regexp: /, "repo:[a"],
  ["x repo:[a@b", /^error parsing regexp: /, "repo:[a@b"],
  ["x -file:*", /^error parsing regexp: /, "-file:*"],
  [String.raw`file:(?=a)b`, /^error parsing regexp: /, String.raw`file:(?=a)b`],
  ["type:commit author:+", /^error parsing regexp: /, "author:+"],
  ["type:commit committer:+", /^error parsing regexp: /, "committer:+"],
  ["type:commit msg:+", /^error parsing regexp: /, "msg:+"],
  ["repohasfile:+", /^error parsing regexp: /, "repohasfile:+"],
]);

bad("regexps as patterns", [
  ["a /b[/ c", /^error parsing regexp: /, "/b[/"],
  [String.raw`/(a)\1/`, /^error parsing regexp: /, String.raw`/(a)\1/`],
  ["/a**b(/", /^error parsing regexp: /, "/a**b(/"],
]);

bad(
  "regexps in the regexp type",
  [
    ["a[ or b", /^error parsing regexp: /, "a["],
    ["content:+", /^error parsing regexp: /, "content:+"],
    [String.raw`a(?!b)`, /^error parsing regexp: /, String.raw`a(?!b)`],
  ],
  "regexp",
);

good("regexps", [String.raw`repo:^github\.com/a/b$@v1:v2 file:(a|b)+\.c$ /\bfoo(bar)?\b/`, "a[ b(", "content:+"]);

bad("revisions", [
  [
    "repo:a@b rev:c",
    "invalid syntax. You specified both @ and rev: for a repo: filter and I don't know how to interpret this. Remove either @ or rev: and try again",
    "repo:a@b",
  ],
  ["rev:c a", "invalid syntax. The query contains `rev:` without `repo:`. Add a `repo:` filter and try again", "rev:c"],
  ["-repo:a rev:c", "invalid syntax. The query contains `rev:` without `repo:`", "rev:c"],
  [
    "repo:a@b:^c",
    `the revision "^c" excludes history, which requires type:commit or type:diff in the query`,
    "repo:a@b:^c",
  ],
  ["repo:a rev:*!main", `the revision "*!main" must begin with *!refs/`, "rev:*!main"],
  ["repo:a rev:b^{/c}", `the revision "b^{/c}" cannot be searched`, "rev:b^{/c}"],
  ["repo:a@b^{/c}", `the revision "b^{/c}" cannot be searched`, "repo:a@b^{/c}"],
  ["repo:a@b@{1}", `the revision "b@{1}" cannot be searched`, "repo:a@b@{1}"],
  [
    "repo:a rev:at.time(2030-01-01, b^{/c})",
    "the revision of at.time continues with",
    "rev:at.time(2030-01-01, b^{/c})",
  ],
  [
    "repo: rev:c",
    "invalid syntax. The query contains `rev:` but `repo:` is empty. Add a non-empty `repo:` filter and try again",
    "rev:c",
  ],
]);

good("revisions", [
  "repo:a rev:b^{commit}~2^",
  "repo:a@@",
  "repo:a rev:at.time(2030-01-01, refs/tags/v1~3)",
  "repo:a rev:c",
  "repo:a rev:c:d",
  "repo:a@b -repo:c@d",
  "repo:a -repo:b@c rev:d",
  "r:a revision:b",
  "repo:a@b:^c type:commit",
  "repo:a@*!refs/heads/b:*",
]);

bad("fields that need a type", [
  [
    "author:a",
    "your query contains the field 'author', which requires type:commit or type:diff in the query",
    "author:a",
  ],
  ["before:yesterday", "your query contains the field 'before', which requires", "before:yesterday"],
  ["until:yesterday", "your query contains the field 'before', which requires", "until:yesterday"],
  ["after:yesterday", "your query contains the field 'after', which requires", "after:yesterday"],
  ["message:a", "your query contains the field 'message', which requires", "message:a"],
  ["author:a message:b type:file", "your query contains the field 'message', which requires", "message:b"],
  ["author:a type:commit or author:b", "your query contains the field 'author', which requires", "author:b"],
  ["repohasfile:a type:symbol b", "repohasfile is not compatible for type:symbol", "repohasfile:a"],
]);

good("fields that need a type", ["author:a type:commit", "author:a type:diff type:file", "committer:a"]);

bad("the rest", [
  ["g:x", `unrecognized field "g"`, "g:x"],
  [
    "repo:a@*refs/heads/* index:only",
    "invalid index:only (revisions with glob pattern cannot be resolved for indexed searches)",
    "index:only",
  ],
  ["repo:a rev:*!refs/heads/x index:o", "invalid index:only", "index:o"],
]);

bad("the first error counts", [
  ["count:x case:y lang:klingon", "field count has value x", "count:x"],
  ["-count:x", `field "count" does not support negation`, "-count:x"],
  ["count:1 count:x", `field "count" may not be used more than once`, "count:x"],
  ["/[/ lang:klingon", "unknown language", "lang:klingon"],
  ["/[/ rev:a", /^error parsing regexp/, "/[/"],
  ["rev:a author:b", "The query contains `rev:` without `repo:`", "rev:a"],
]);

bad("predicates", [
  ["repo:has.path()", "invalid predicate value: contains.path argument should not be empty", "repo:has.path()"],
  [
    "repo:contains.path([)",
    /^invalid predicate value: contains.path argument: error parsing regexp: /,
    "repo:contains.path([)",
  ],
  [
    "repo:has.content()",
    "invalid predicate value: contains.content argument should not be empty",
    "repo:has.content()",
  ],
  [
    "r:contains.content(*)",
    /^invalid predicate value: contains.content argument: error parsing regexp: /,
    "r:contains.content(*)",
  ],
  ["repo:has.file()", "invalid predicate value: one of path or content must be set", "repo:has.file()"],
  [
    "repo:contains.file(path:a path:b)",
    "invalid predicate value: cannot specify path multiple times",
    "repo:contains.file(path:a path:b)",
  ],
  [
    "repo:contains(content:a content:b)",
    "invalid predicate value: cannot specify content multiple times",
    "repo:contains(content:a content:b)",
  ],
  [
    "repo:has.file(-path:a)",
    "invalid predicate value: predicates do not currently support negated values",
    "repo:has.file(-path:a)",
  ],
  [
    "repo:has.file(path:a or content:b)",
    "invalid predicate value: predicates do not currently support 'or' queries",
    "repo:has.file(path:a or content:b)",
  ],
  ["repo:has.description()", /^invalid predicate value: /, "repo:has.description()"],
  [
    "-repo:has.description(a)",
    `invalid predicate value: search predicate "repo:has.description" does not support negation`,
    "-repo:has.description(a)",
  ],
  ["repo:has.topic()", "invalid predicate value: topic must be non-empty", "repo:has.topic()"],
  ["repo:has.tag()", "invalid predicate value: tag must be non-empty", "repo:has.tag()"],
  ["repo:has.key()", "invalid predicate value: key must be non-empty", "repo:has.key()"],
  ["repo:has.meta()", "invalid predicate value: key cannot be empty", "repo:has.meta()"],
  ["repo:has.meta(:v)", "invalid predicate value: key cannot be empty", "repo:has.meta(:v)"],
  ["repo:has.meta(a:b:c)", "invalid predicate value: unexpected extra content", "repo:has.meta(a:b:c)"],
  [`repo:has.meta("a"b)`, "invalid predicate value: unexpected extra content", `repo:has.meta("a"b)`],
  ["repo:has(a)", "invalid predicate value: expected params of the form key:value", "repo:has(a)"],
  ["repo:has.commit.after()", /^invalid predicate value: /, "repo:has.commit.after()"],
  [
    "file:has.content()",
    "invalid predicate value: contains.content argument should not be empty",
    "file:has.content()",
  ],
  [
    "file:has.contributor([)",
    /^invalid predicate value: the file:has.contributor\(\) predicate has invalid argument: /,
    "file:has.contributor([)",
  ],
  ["repo:a rev:at.time(someday)", "invalid date format", "rev:at.time(someday)"],
  ["repo:a rev:at.time(yesterday,b,c)", /^invalid predicate value: /, "rev:at.time(yesterday,b,c)"],
]);

good("predicates", [
  "repo:has.path(a) repo:contains.path(b.*c)",
  "-repo:has.path(a)",
  String.raw`repo:has.content(foo\(bar\))`,
  "repo:has.file(path:a content:b)",
  "repo:has.file(a)",
  "repo:has.file(content:b)",
  "-repo:contains.file(content:b)",
  "repo:contains(file:a content:b)",
  "repo:has.commit.after(1 month ago)",
  "-repo:contains.commit.after(yesterday)",
  "repo:has.description(a b)",
  "repo:has.topic(x) -repo:has.topic(y)",
  "repo:has.meta(k) repo:has.meta(k:) repo:has.meta(k:v)",
  `repo:has.meta("a b":"c:d")`,
  "repo:has.meta(/k+/:/v/)",
  "repo:has(k:v)",
  "repo:has.key(k) -repo:has.tag(t)",
  "file:has.content(a)",
  "-file:has.content(a)",
  "file:has.owner() -file:has.owner(@me)",
  "file:has.contributor(a.*)",
  "repo:a rev:at.time(yesterday)",
  "repo:a rev:at.time(2024-01-02, main)",
  "repo:has.nothing(a)",
]);

t.test("each predicate of the field table has a check", async (t) => {
  const named = fieldNames.flatMap((name) => fields[name].predicates.map((predicate) => `${name}:${predicate}`));
  t.same(Object.keys(checks).sort(), named.sort());
});

t.test("dates", async (t) => {
  const rows: readonly (readonly [text: string, iso: string])[] = [
    ["1700000000", "2023-11-14T22:13:20.000Z"],
    ["1700000000 +0200", "2023-11-14T22:13:20.000Z"],
    ["10000", "1970-01-01T02:46:40.000Z"],
    ["2006-01-02", "2006-01-02T00:00:00.000Z"],
    ["2006-01-02T15:04:05Z", "2006-01-02T15:04:05.000Z"],
    ["2006-01-02T15:04:05+02:00", "2006-01-02T13:04:05.000Z"],
    ["2006-01-02T15:04:05", "2006-01-02T15:04:05.000Z"],
    ["2006-01-02 15:04:05", "2006-01-02T15:04:05.000Z"],
    ["2006-01-02 15:04:05 -0700", "2006-01-02T22:04:05.000Z"],
    ["Mon, 02 Jan 2006 15:04:05 -0700", "2006-01-02T22:04:05.000Z"],
    ["2 Jan 2006 15:04:05 +0000", "2006-01-02T15:04:05.000Z"],
    ["2006.01.02", "2006-01-02T00:00:00.000Z"],
    ["1/2/2006", "2006-01-02T00:00:00.000Z"],
    ["2.1.2006", "2006-01-02T00:00:00.000Z"],
    ["1 november 2020", "2020-11-01T00:00:00.000Z"],
    ["nov 1, 2020", "2020-11-01T00:00:00.000Z"],
    ["5 days ago", "2024-03-15T15:30:00.000Z"],
    ["an hour ago", "2024-03-20T14:30:00.000Z"],
    ["1 month ago", "2024-02-20T15:30:00.000Z"],
    ["3 weeks ago", "2024-02-28T15:30:00.000Z"],
    ["last year", "2023-03-20T15:30:00.000Z"],
    ["two weeks ago", "2024-03-06T15:30:00.000Z"],
    ["last friday at 3pm", "2024-03-15T15:00:00.000Z"],
    ["monday at noon", "2024-03-18T12:00:00.000Z"],
    ["last november", "2023-11-01T15:30:00.000Z"],
    ["february 10th", "2024-02-10T15:30:00.000Z"],
    ["nov 1", "2023-11-01T15:30:00.000Z"],
    ["25 december", "2023-12-25T15:30:00.000Z"],
    ["Mon, 02 Jan 2006 15:04:05 MST", "2006-01-02T22:04:05.000Z"],
    ["2 Jan 06 15:04:05 PDT", "2006-01-02T22:04:05.000Z"],
    ["3pm", "2024-03-20T15:00:00.000Z"],
    ["now", "2024-03-20T15:30:00.000Z"],
    ["yesterday", "2024-03-19T15:30:00.000Z"],
    ["last thursday", "2024-03-14T15:30:00.000Z"],
    [`"2 january 2006"`, "2006-01-02T00:00:00.000Z"],
    ["' 2006-01-02 '", "2006-01-02T00:00:00.000Z"],
  ];
  for (const [text, iso] of rows) t.equal(new Date(readDateMs(text, nowMs)).toISOString(), iso, text);
  for (const text of [
    "",
    `""`,
    `"2006-01-02`,
    "1234",
    "2006-13-01",
    "2006-02-30",
    "99/99/2006",
    "gestern",
    "nov 31, 2020",
    "nov 31",
    "friday at",
    "friday tomorrow",
    "25:00",
    "5 parsecs ago",
    "2006-01-02T25:00:00",
  ]) {
    t.throws(() => readDateMs(text, nowMs), { code: "bad-query", message: "invalid date format" }, text);
  }
});

bad("dates in filters", [
  ["type:commit before:someday", "invalid date format", "before:someday"],
  ["type:diff since:", "invalid date format", "since:"],
]);

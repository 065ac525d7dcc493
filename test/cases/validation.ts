import { rows, tools, unable, type CaseRow, type GivenRow } from "./row.js";

/* What is wrong with a query, and which of several things is said: section 8 of the description. */

/** A complaint about a predicate's argument. */
function predicate(text: string): readonly string[] {
  return [`${unable}Invalid predicate value: ${text}`];
}

const order = rows("which error comes first", "standard", [
  ["filters from left to right: a boolean", "case:maybe lang:klingon a", [`${unable}Invalid boolean "maybe"`]],
  ["filters from left to right: a language", "lang:klingon case:maybe a", [`${unable}Unknown language: "klingon"`]],
  ["filters before regexps", "count:0 /[/", [`${unable}Field count requires a positive number`]],
  ["filters before regexps that stand first", "/[/ count:0", [`${unable}Field count requires a positive number`]],
  ["regexps before rev:", "rev:x /[/", [`${unable}Error parsing regexp: …`]],
  [
    "rev: before fields of commits",
    "rev:x author:y a",
    [`${unable}Invalid syntax. The query contains \`rev:\` without \`repo:\`. Add a \`repo:\` filter and try again`],
  ],
  [
    "type:symbol before fields of commits",
    "repohasfile:x type:symbol author:y a",
    [`${unable}Repohasfile is not compatible for type:symbol`],
  ],
  ["the text before the filters", "lang:klingon f(a or b)", [`${unable}Unsupported expression. …`]],
  ["negation before the value", "-count:many a", [`${unable}Field "count" does not support negation`]],
  ["twice before the value", "count:5 count:many a", [`${unable}Field "count" may not be used more than once`]],
  ["the first of two alternatives", "(case:maybe a) or (lang:klingon b)", [`${unable}Invalid boolean "maybe"`]],
  ["the second of two alternatives", "(case:yes a) or (lang:klingon b)", [`${unable}Unknown language: "klingon"`]],
  ["a predicate before what follows", "repo:has.topic() lang:klingon", predicate("topic must be non-empty")],
  ["a filter before a predicate", "lang:klingon repo:has.topic()", [`${unable}Unknown language: "klingon"`]],
]);

const commitFields = [
  "author:x",
  "before:yesterday",
  "until:yesterday",
  "after:yesterday",
  "since:yesterday",
  "message:x",
  "m:x",
  "msg:x",
];
const canonical: Readonly<Record<string, string>> = { until: "before", since: "after", m: "message", msg: "message" };

const commits = rows("fields of commits", "standard", [
  ...commitFields.map((field): GivenRow => {
    const typed = field.slice(0, field.indexOf(":"));
    return [
      `${typed}: without a type`,
      `${field} a`,
      [
        `${unable}Your query contains the field '${canonical[typed] ?? typed}', which requires type:commit or type:diff in the query`,
      ],
    ];
  }),
  [
    "the last of several is named",
    "author:x message:y a",
    [`${unable}Your query contains the field 'message', which requires type:commit or type:diff in the query`],
  ],
  [
    "the last of several, in another order",
    "message:y author:x a",
    [`${unable}Your query contains the field 'author', which requires type:commit or type:diff in the query`],
  ],
  [
    "with type:file it is missing still",
    "type:file author:x a",
    [`${unable}Your query contains the field 'author', which requires type:commit or type:diff in the query`],
  ],
  [
    "a negated one",
    "-author:x a",
    [`${unable}Your query contains the field 'author', which requires type:commit or type:diff in the query`],
  ],
  ["a date that is none", "type:commit before:sometime a", [`${unable}Invalid date format`]],
  ["another date that is none", "type:diff after:2021-13-01 a", [`${unable}Invalid date format`]],
  ["an author that is no regexp", "type:commit author:[ a", [`${unable}Error parsing regexp: …`]],
  ["a message that is no regexp", "type:commit message:* a", [`${unable}Error parsing regexp: …`]],
]);

const revisions = rows("revisions that cannot be", "standard", [
  [
    "rev: without repo:",
    "rev:main a",
    [`${unable}Invalid syntax. The query contains \`rev:\` without \`repo:\`. Add a \`repo:\` filter and try again`],
  ],
  [
    "revision: without repo:",
    "revision:main a",
    [`${unable}Invalid syntax. The query contains \`rev:\` without \`repo:\`. Add a \`repo:\` filter and try again`],
  ],
  [
    "rev: with -repo: only",
    "-repo:x rev:main a",
    [`${unable}Invalid syntax. The query contains \`rev:\` without \`repo:\`. Add a \`repo:\` filter and try again`],
  ],
  [
    "rev: with an empty repo:",
    "repo: rev:main a",
    [
      `${unable}Invalid syntax. The query contains \`rev:\` but \`repo:\` is empty. Add a non-empty \`repo:\` filter and try again`,
    ],
  ],
  [
    "rev: and @",
    "repo:a@b rev:c x",
    [
      `${unable}Invalid syntax. You specified both @ and rev: for a repo: filter and I don't know how to interpret this. Remove either @ or rev: and try again`,
    ],
  ],
  [
    "rev: in one side, repo: in the other",
    "(rev:main a) or (repo:x b)",
    [`${unable}Invalid syntax. The query contains \`rev:\` without \`repo:\`. Add a \`repo:\` filter and try again`],
  ],
  [
    "a glob and index:only",
    "repo:x@*refs/heads/* index:only a",
    [`${unable}Invalid index:only (revisions with glob pattern cannot be resolved for indexed searches)`],
  ],
  [
    "a glob in rev: and index:only",
    "repo:x rev:*refs/heads/* index:only a",
    [`${unable}Invalid index:only (revisions with glob pattern cannot be resolved for indexed searches)`],
  ],
]);

const regexps = [
  ...rows("regexps that are none", "standard", [
    ["a class that is not closed", "/[/", [`${unable}Error parsing regexp: …`]],
    ["a back-reference", "/(a)\\1/", [`${unable}Error parsing regexp: …`]],
    ["look-ahead", "/a(?=b)/", [`${unable}Error parsing regexp: …`]],
    ["look-behind", "/(?<=a)b/", [`${unable}Error parsing regexp: …`]],
    ["a repetition of nothing", "/*a/", [`${unable}Error parsing regexp: …`]],
    ["a repetition too often", "/a{1001}/", [`${unable}Error parsing regexp: …`]],
    ["a repetition from more to less", "/a{3,2}/", [`${unable}Error parsing regexp: …`]],
    ["a group that is not closed", "/a(b/", [`${unable}Error parsing regexp: …`]],
    ["a group that is not opened", "/a)b/", [`${unable}Error parsing regexp: …`]],
    ["an unknown escape", "/a\\y/", [`${unable}Error parsing regexp: …`]],
    ["a range from more to less", "/[z-a]/", [`${unable}Error parsing regexp: …`]],
    ["an unknown class", "/[[:nope:]]/", [`${unable}Error parsing regexp: …`]],
    ["an unknown script", "/\\p{Nope}/", [`${unable}Error parsing regexp: …`]],
    ["a negated one", "a not /[/", [`${unable}Error parsing regexp: …`]],
    ["repo:", "repo:[ a", [`${unable}Error parsing regexp: …`]],
    ["repo: before an @", "repo:[@main a", [`${unable}Error parsing regexp: …`]],
    ["-repo:", "-repo:* a", [`${unable}Error parsing regexp: …`]],
    ["in one side of an or", "a or /[/", [`${unable}Error parsing regexp: …`]],
  ]),
  ...rows("regexps that are none", "regexp", [
    ["a class that is not closed", "[a", [`${unable}Error parsing regexp: …`]],
    ["a repetition of nothing", "*a", [`${unable}Error parsing regexp: …`]],
    ["content:", "content:[a", [`${unable}Error parsing regexp: …`]],
    ["a quoted text is never wrong", `type:file "[a"`, []],
  ]),
];

const selects = rows("select: that leads nowhere", "standard", [
  ["an unknown word", "select:nothing a", [`${unable}Invalid field "nothing" on select path "nothing"`]],
  ["an unknown second word", "select:file.size a", [`${unable}Invalid field "size" on select path "file.size"`]],
  [
    "an unknown third word",
    "select:commit.diff.changed a",
    [`${unable}Invalid field "changed" on select path "commit.diff.changed"`],
  ],
  ["a word behind repo", "select:repo.name a", [`${unable}Invalid field "name" on select path "repo.name"`]],
  [
    "an unknown kind of symbol",
    "select:symbol.thing a",
    [`${unable}Invalid field "thing" on select path "symbol.thing"`],
  ],
  ["no value", "select: a", [`${unable}Invalid field "" on select path ""`]],
]);

const predicates = rows("predicates that cannot be", "standard", [
  ["has.path of nothing", "repo:has.path()", predicate("contains.path argument should not be empty")],
  ["contains.path of nothing", "repo:contains.path()", predicate("contains.path argument should not be empty")],
  ["has.path of no regexp", "repo:has.path([)", predicate("contains.path argument: error parsing regexp: …")],
  ["has.content of nothing", "repo:has.content()", predicate("contains.content argument should not be empty")],
  ["has.content of no regexp", "repo:has.content([)", predicate("contains.content argument: error parsing regexp: …")],
  ["has.file of nothing", "repo:has.file()", predicate("one of path or content must be set")],
  ["has.file: path twice", "repo:has.file(path:a path:b)", predicate("cannot specify path multiple times")],
  ["has.file: content twice", "repo:has.file(content:a content:b)", predicate("cannot specify content multiple times")],
  ["has.file: negated", "repo:has.file(-path:a)", predicate("predicates do not currently support negated values")],
  ["has.file: or", "repo:has.file(path:a or path:b)", predicate("predicates do not currently support 'or' queries")],
  ["contains.file of nothing", "repo:contains.file()", predicate("one of path or content must be set")],
  ["contains of nothing", "repo:contains()", predicate("one of path or content must be set")],
  ["has.topic of nothing", "repo:has.topic()", predicate("topic must be non-empty")],
  ["has.tag of nothing", "repo:has.tag()", predicate("tag must be non-empty")],
  ["has.key of nothing", "repo:has.key()", predicate("key must be non-empty")],
  ["has.meta of nothing", "repo:has.meta()", predicate("key cannot be empty")],
  ["has.meta without a key", "repo:has.meta(:value)", predicate("key cannot be empty")],
  ["has.meta with too much", `repo:has.meta("a":"b" c)`, predicate("unexpected extra content")],
  ["has without a value", "repo:has(key)", predicate("expected params of the form key:value")],
  [
    "has.description, negated",
    "-repo:has.description(a)",
    predicate(`search predicate "repo:has.description" does not support negation`),
  ],
  ["has.description of no regexp", "repo:has.description([)", predicate("…")],
  ["file:has.content of nothing", "file:has.content()", predicate("contains.content argument should not be empty")],
  [
    "file:has.content of no regexp",
    "file:has.content([)",
    predicate("contains.content argument: error parsing regexp: …"),
  ],
  [
    "file:contains.content of nothing",
    "f:contains.content()",
    predicate("contains.content argument should not be empty"),
  ],
  [
    "has.contributor of no regexp",
    "file:has.contributor([)",
    predicate("the file:has.contributor() predicate has invalid argument: …"),
  ],
  ["at.time of no date", "repo:a rev:at.time(sometime)", predicate("…")],
  ["at.time of too much", "repo:a rev:at.time(yesterday, main, x)", predicate("…")],
  [
    "an unknown name is a regexp",
    "repo:has.nothing(a)",
    ["alert: No repositories found: Try using a different `repo:<regexp>` filter to see results"],
  ],
  ["a name of another field is a regexp", "file:has.topic(a)", []],
  ["space before the parenthesis: no predicate", "file:has.content (a)", []],
  [
    "in other case: no predicate",
    "repo:HAS.topic(a)",
    ["alert: No repositories found: Try using a different `repo:<regexp>` filter to see results"],
  ],
]);

const right = rows("queries that only look wrong", "standard", [
  ["a date", "type:commit after:2021-01-01 before:lang", [`${unable}Invalid date format`]],
  ["a repetition just often enough", "type:file repo:tools /p{1}ub/", tools("src/mod.rs:L1")],
  ["a repetition from few to many", "type:file repo:tools /p{1,3}ub/", tools("src/mod.rs:L1")],
  ["a script", "type:file repo:odd /\\p{Latin}{8}/ file:secret", []],
  ["a lone surrogate's replacement", "type:file repo:tools \ufffd", []],
  ["a query of 3,001 terms", `${"a or ".repeat(3000)}b`, [`${unable}The query has more than 3000 terms`]],
  ["no text", "", ["error: no query found"]],
  ["a query of blanks", "   ", ["acme/tools", "empty", "hidden", "odd", "parser"]],
]);

export const validation: readonly CaseRow[] = [order, commits, revisions, regexps, selects, predicates, right].flat();

import { parser, rows, tools, unable, type CaseRow, type GivenRow } from "./row.js";

/* Each field with each of its names and values: sections 5 and 12 of the description. */

const inTools = "r:^acme/tools$ type:file";
const foundTarget = tools("src/mod.rs:L1,L2", "tools/build.py:L4,L5");
const left = ["repository-fork", "excluded-archive"];

/** The same question with each of the values. */
function values(field: string, given: readonly string[], query: string, want: readonly string[]): readonly GivenRow[] {
  return given.map((value) => [`${field}:${value}`, `${field}:${value} ${query}`, want]);
}

const trueWords = ["1", "t", "T", "TRUE", "true", "True"];
const falseWords = ["0", "f", "F", "FALSE", "false", "False"];

const caseField = rows("case:", "standard", [
  ...values("case", ["y", "Y", "yes", "YES", "Yes", "yEs", ...trueWords], `${inTools} TARGET`, tools("src/mod.rs:L2")),
  ...values("case", ["n", "N", "no", "NO", "No", ...falseWords], `${inTools} TARGET`, foundTarget),
  ...["maybe", "tRUE", "2", "only"].map(
    (value): GivenRow => [value, `case:${value} a`, [`${unable}Invalid boolean "${value}"`]],
  ),
  ["without a value", "case: a", [`${unable}Invalid boolean ""`]],
  ["holds for regexps", `${inTools} case:yes /T[A-Z]+T/`, tools("src/mod.rs:L2")],
  ["holds for file:", "case:yes file:makefile", []],
  ["holds for file:, in this case", "case:yes file:Makefile", tools("Makefile")],
  ["holds for content:", `${inTools} case:yes content:TARGET`, tools("src/mod.rs:L2")],
  ["holds for paths", "type:path case:yes WIDGET", []],
  ["holds for paths, in this case", "type:path case:yes Widget", tools("lib/Widget.m")],
  ["does not hold for repo:", "case:yes repo:^ACME/ type:repo", ["acme/tools"]],
  ["does not hold for lang:", "case:yes lang:PYTHON type:path", tools("tools/build.py")],
  ["a capital letter alone changes nothing", `${inTools} Target`, foundTarget],
]);

const forkField = rows("fork: and archived:", "standard", [
  ...values("fork", ["y", "Y", "yes", "YES", "Yes", ...trueWords], "repo:^parser type:repo", ["parser", "parser-fork"]),
  ...values("fork", ["n", "N", "no", "NO", "No", ...falseWords], "repo:^parser type:repo", ["parser"]),
  ...values("fork", ["o", "only", "ONLY", "Only"], "repo:^parser type:repo", ["parser-fork"]),
  ...values("archived", ["y", "yes", "true"], "repo:^(old|odd)$ type:repo", ["odd", "old"]),
  ...values("archived", ["n", "no", "false"], "repo:^(old|odd)$ type:repo", ["odd"]),
  ...values("archived", ["o", "only"], "repo:^(old|odd)$ type:repo", ["old"]),
  ...["fork", "archived", "index"].flatMap((field) =>
    ["yEs", "maybe", "oNLY"].map(
      (value): GivenRow => [
        `${field}:${value}`,
        `${field}:${value} a`,
        [`${unable}Invalid value "${value}" for field "${field}". Valid values are: yes, only, no`],
      ],
    ),
  ),
  ["fork: without a value", "fork: a", [`${unable}Invalid value "" for field "fork". Valid values are: yes, only, no`]],
  [
    "a fork that is archived needs both: fork:yes",
    "repo:tools fork:yes type:repo",
    ["acme/tools"],
    ["excluded-archive"],
  ],
  [
    "a fork that is archived needs both: archived:yes",
    "repo:tools archived:yes type:repo",
    ["acme/tools"],
    ["repository-fork"],
  ],
  [
    "a fork that is archived needs both",
    "repo:tools archived:yes fork:yes type:repo",
    ["acme/tools", "acme/tools-mirror"],
    [],
  ],
  ["a fork that is archived is in neither count", "repo:tools type:repo", ["acme/tools"], []],
  ["a fork that is archived: only both", "archived:only fork:only type:repo", ["acme/tools-mirror"], []],
  ["index:yes changes nothing", `${inTools} index:yes target`, foundTarget],
  ["index:only changes nothing", `${inTools} index:only target`, foundTarget],
  ["index:Y changes nothing", `${inTools} index:Y target`, foundTarget],
]);

const visibilityField = rows("visibility:", "standard", [
  ["any", "visibility:any type:repo", ["acme/tools", "empty", "hidden", "odd", "parser"], left],
  ["private, in capitals", "visibility:PRIVATE type:repo", ["hidden"]],
  ["public", "visibility:Public type:repo", ["acme/tools", "empty", "odd", "parser"], left],
  ["an unknown one is any", "visibility:secret type:repo", ["acme/tools", "empty", "hidden", "odd", "parser"], left],
  ["of files", "visibility:private type:file alpha", ["hidden:secret.txt:L1"]],
  ["of no files", "visibility:public type:file secret", []],
]);

const fileField = rows("file:", "standard", [
  ["unanchored", "file:egac", tools("web/legacy/app.js")],
  ["whatever its case", "file:LEGACY", tools("web/legacy/app.js")],
  ["several: all", "file:^web file:ts", tools("web/app.ts", "web/app.tsx")],
  ["several that do not meet", "file:^web file:^lib", []],
  ["negated", "file:^web -file:ts", tools("web/legacy/app.js")],
  ["negated twice", "file:^web -file:legacy -file:tsx", tools("web/app.ts")],
  ["NOT", "file:^web NOT file:legacy", tools("web/app.ts", "web/app.tsx")],
  ["path:", "path:^web/app.ts$", tools("web/app.ts")],
  ["f:", "f:^web/app.ts$", tools("web/app.ts")],
  ["-f:", "f:^web -f:app.ts", tools("web/legacy/app.js")],
  ["-path:", "f:^web -path:app.ts", tools("web/legacy/app.js")],
  ["an alternation", "file:^web/app.ts$|^Makefile$", tools("Makefile", "web/app.ts")],
  ["a dot directory", "file:^\\.hidden/", tools(".hidden/config.yml")],
  ["plus and parentheses", "file:\\+d\\ \\(", tools("a b/c+d (e).txt")],
  ["a start and an end", "file:^Makefile$", tools("Makefile")],
  ["the end of a path only", "file:build.py$ r:tools", tools("tools/build.py")],
  ["letters outside ASCII", "file:[à-ü]", ["odd:ü dir/grüße.txt"]],
  ["a flag", "file:(?-i)makefile", []],
  ["an escape of RE2", "file:\\Qc+d\\E", tools("a b/c+d (e).txt")],
  ["no regexp", "file:[ a", [`${unable}Error parsing regexp: …`]],
  ["no regexp, negated", "-file:*a x", [`${unable}Error parsing regexp: …`]],
  ["beside a pattern", `file:^web/ type:file number`, tools("web/app.ts:L1")],
  ["of other repositories too", "file:build", tools("tools/build.py")],
]);

const languageField = rows("lang:", "standard", [
  ["Python", "lang:python", tools("tools/build.py")],
  ["py", "lang:py", tools("tools/build.py")],
  ["a name in capitals", "lang:PYTHON", tools("tools/build.py")],
  ["TypeScript: not .tsx", "lang:typescript", tools("web/app.ts")],
  ["ts", "lang:ts", tools("web/app.ts")],
  ["TSX", "lang:tsx", tools("web/app.tsx")],
  ["JavaScript", "lang:javascript", tools("web/legacy/app.js")],
  ["js", "l:js", tools("web/legacy/app.js")],
  ["Rust", "language:rust", tools("src/mod.rs")],
  ["rs", "lang:rs", tools("src/mod.rs")],
  ["C++: not the .h in C", "lang:c++ r:tools", tools("lib/widget.cpp")],
  ["cpp", "lang:cpp r:tools", tools("lib/widget.cpp")],
  ["in quotes", `lang:"c++" r:tools`, tools("lib/widget.cpp")],
  ["C: .h too", "lang:c r:tools", tools("lib/widget.h")],
  ["Objective-C: the .m, by its content", "lang:objective-c r:tools", tools("lib/Widget.m")],
  ["objc", "lang:objc r:tools", tools("lib/Widget.m")],
  ["no .m is in MATLAB", "lang:matlab", []],
  ["by file name", "lang:makefile", tools("Makefile")],
  ["YAML", "lang:yaml", tools(".hidden/config.yml")],
  ["yml", "lang:yml", tools(".hidden/config.yml")],
  ["Shell", "lang:shell", tools("tools/release.sh")],
  ["sh", "lang:sh", tools("tools/release.sh")],
  ["bash", "lang:bash", tools("tools/release.sh")],
  ["Markdown", "lang:markdown", parser("README.md", "docs/usage.md")],
  ["md", "lang:md", parser("README.md", "docs/usage.md")],
  ["golang", "lang:golang", parser("src/parser.go", "src/parser_test.go")],
  ["a name with a blank", `lang:"pickle" type:path`, []],
  ["an underscore is a blank", "lang:vim_script", []],
  ["a blank in quotes", `lang:"Vim Script"`, []],
  ["two do not meet", "lang:python lang:rust", []],
  ["two that share an extension do not meet", "lang:c lang:objective-c r:tools", []],
  ["or", "lang:python or lang:rust", tools("src/mod.rs", "tools/build.py")],
  ["negated", "file:^tools/ -lang:python", tools("tools/release.sh")],
  ["negated twice", "file:^(tools|src)/ r:tools -lang:python -lang:rust", tools("tools/release.sh")],
  ["-l:", "file:^tools/ -l:py", tools("tools/release.sh")],
  ["with a pattern", `type:file lang:rust target`, tools("src/mod.rs:L1,L2")],
  ["negated, with a pattern", `${inTools} -lang:rust target`, tools("tools/build.py:L4,L5")],
  ["unknown", "lang:klingon", [`${unable}Unknown language: "klingon"`]],
  ["unknown, negated", "-lang:klingon a", [`${unable}Unknown language: "klingon"`]],
  ["without a value", "lang: a", [`${unable}Unknown language: ""`]],
  ["an extension with its dot is no name", "lang:.py", [`${unable}Unknown language: ".py"`]],
]);

const typeField = rows("type:", "standard", [
  ["file: names are not looked at", "type:file app.js", []],
  ["path: contents are not looked at", "type:path basePort", []],
  ["path", "type:path legacy", tools("web/legacy/app.js")],
  ["path, by a regexp", "type:path /^web.*ts$/", tools("web/app.ts")],
  ["path and repo", "type:path type:repo tools", ["acme/tools", ...tools("tools/build.py", "tools/release.sh")]],
  ["path and not", "type:path web not legacy", tools("web/app.ts", "web/app.tsx")],
  ["path and and", "type:path web and tsx", tools("web/app.tsx")],
  ["path and or", "type:path legacy or tsx", tools("web/app.tsx", "web/legacy/app.js")],
  [
    "file and path: both in one file",
    "type:file type:path r:tools legacy",
    tools("CODEOWNERS:L4", "web/legacy/app.js"),
  ],
  ["file and repo", "type:file type:repo tools", ["acme/tools", ...tools(".hidden/config.yml:L2", "Makefile:L2")]],
  [
    "all three",
    "type:file type:path type:repo tools",
    ["acme/tools", ...tools(".hidden/config.yml:L2", "Makefile:L2", "tools/build.py", "tools/release.sh")],
  ],
  [
    "none: all three",
    "tools",
    ["acme/tools", ...tools(".hidden/config.yml:L2", "Makefile:L2", "tools/build.py", "tools/release.sh")],
  ],
  ["an unknown one beside a known one", "type:nonsense type:repo tools", ["acme/tools"]],
  ["twice the same", "type:repo type:repo tools", ["acme/tools"]],
  ["repo and content:", "content:tools", tools(".hidden/config.yml:L2", "Makefile:L2")],
  ["content: beside a pattern", "content:tools config", tools(".hidden/config.yml:L2")],
  ["path and a negated pattern alone", "type:path r:tools file:^web not legacy", tools("web/app.ts", "web/app.tsx")],
]);

const countField = rows("count: and timeout:", "standard", [
  ["count:all", `${inTools} count:all target`, foundTarget, []],
  ["COUNT:ALL", `${inTools} COUNT:ALL target`, foundTarget, []],
  ["exactly enough", `${inTools} count:4 target`, foundTarget, []],
  ["more than enough", `${inTools} count:2147483647 target`, foundTarget, []],
  ["with a plus", `${inTools} count:+4 target`, foundTarget, []],
  [
    "a result is cut",
    "r:^acme/tools$ type:file file:legacy count:3 port",
    tools("web/legacy/app.js:L1,L2"),
    ["shard-match-limit"],
  ],
  [
    "a result is cut earlier",
    "r:^acme/tools$ type:file file:legacy count:2 port",
    tools("web/legacy/app.js:L1"),
    ["shard-match-limit"],
  ],
  ["four in two lines", "r:^acme/tools$ type:file file:legacy count:4 port", tools("web/legacy/app.js:L1,L2"), []],
  ["a path counts one", "file:^web/app.ts$ count:1", tools("web/app.ts"), left],
  ["a repository counts one", "r:^odd$ count:1", ["odd"], []],
  ["no number", "count:many a", [`${unable}Field count has value many, many is not a number`]],
  ["a fraction", "count:1.5 a", [`${unable}Field count has value 1.5, 1.5 is not a number`]],
  ["no value", "count: a", [`${unable}Field count has value ,  is not a number`]],
  ["zero", "count:0 a", [`${unable}Field count requires a positive number`]],
  ["less than zero", "count:-1 a", [`${unable}Field count requires a positive number`]],
  ["too large", "count:2147483648 a", [`${unable}Field count has a value that is out of range, try making it smaller`]],
  [
    "much too large",
    "count:99999999999999999999 a",
    [`${unable}Field count has a value that is out of range, try making it smaller`],
  ],
  ...["10s", "1m30s", "20000ms", "1.5m", "1h", "1m0.5s"].map(
    (value): GivenRow => [`timeout:${value}`, `${inTools} timeout:${value} target`, foundTarget, []],
  ),
  ...["abc", "10", "1m30", "s", "10S", "1d", "10 s"].map(
    (value): GivenRow => [
      `timeout:${value}`,
      `timeout:"${value}" a`,
      [`${unable}Invalid value for field 'timeout' (examples: "timeout:2s", "timeout:200ms")`],
    ],
  ),
  [
    "timeout: without a value",
    "timeout: a",
    [`${unable}Invalid value for field 'timeout' (examples: "timeout:2s", "timeout:200ms")`],
  ],
]);

const negatable = [
  "type",
  "case",
  "fork",
  "archived",
  "index",
  "visibility",
  "rev",
  "select",
  "count",
  "timeout",
  "patterntype",
  "context",
  "before",
  "after",
  "repohascommitafter",
  "rule",
];
const once = {
  case: "yes",
  fork: "yes",
  archived: "yes",
  index: "yes",
  visibility: "any",
  select: "repo",
  count: "5",
  timeout: "10s",
  context: "global",
  patterntype: "standard",
};

const rules = rows("rules of fields", "standard", [
  ...negatable.map(
    (field): GivenRow => [`-${field}:`, `-${field}:yes a`, [`${unable}Field "${field}" does not support negation`]],
  ),
  ...["type", "case", "count"].map(
    (field): GivenRow => [
      `NOT ${field}:`,
      `NOT ${field}:yes a`,
      [`${unable}Field "${field}" does not support negation`],
    ],
  ),
  ...Object.entries(once).map(
    ([field, value]): GivenRow => [
      `${field}: twice`,
      `${field}:${value} ${field}:${value} a`,
      [`${unable}Field "${field}" may not be used more than once`],
    ],
  ),
  ["rev: twice", "repo:a rev:b rev:c", [`${unable}Field "rev" may not be used more than once`]],
  ["rev: and revision:", "repo:a rev:b revision:c", [`${unable}Field "rev" may not be used more than once`]],
  ["-revision: is -rev:", "-revision:x a", [`${unable}Field "rev" does not support negation`]],
  ["-until: is -before:", "-until:yesterday a", [`${unable}Field "before" does not support negation`]],
  ["-since: is -after:", "-since:yesterday a", [`${unable}Field "after" does not support negation`]],
  ["once, but in each side of an or", "(r:^odd$ count:5) or (r:^hidden$ count:6)", ["hidden", "odd"]],
  ["content: may be given twice", `${inTools} content:def content:target`, tools("tools/build.py:L4,L5")],
  ["type: may be given twice", "type:repo type:path odd", ["odd"]],
  ["file: may be given twice", "file:app file:tsx", tools("web/app.tsx")],
  ["repo: may be given twice", "repo:acme repo:tools", ["acme/tools"]],
  ["lang: may be given twice", "lang:c lang:c r:tools", tools("lib/widget.h")],
  ["context:global changes nothing", `${inTools} context:global target`, foundTarget],
  ["context: without a value", `${inTools} context: target`, foundTarget],
]);

export const givenTypes: readonly CaseRow[] = [
  caseField,
  forkField,
  visibilityField,
  fileField,
  languageField,
  typeField,
  countField,
  rules,
].flat();

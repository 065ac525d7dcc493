import { parser, rows, tools, unable, type CaseRow } from "./row.js";

/* What belongs together: sections 3, 4, 6 and 11 of the description. */

const inTools = "r:^acme/tools$ type:file";
const inParser = "r:^parser$ type:file";
const foundTarget = tools("src/mod.rs:L1,L2", "tools/build.py:L4,L5");
const targetAndBuild = tools("tools/build.py:L4,L5");
const unclear = [
  `${unable}Unsupported expression. The combination of parentheses in the query have an unclear meaning. Try using the content: filter to quote patterns that contain parentheses`,
];
const unclearKeyword = [
  `${unable}Unsupported expression. The combination of parentheses in the query has an unclear meaning. Use "..." to quote patterns that contain parentheses`,
];
const mixed = [`${unable}I'm having trouble understanding that query. The combination of parentheses is the problem…`];
const inOdd = "r:^odd$ type:file";
const oddAlphaOrEnd = ["odd:crlf.txt:L1,L2,L3", "odd:no-newline.txt:L1"];
const missing = [
  `${unable}I'm having trouble understanding that query. Putting parentheses around the search pattern may help.`,
];

const grammar = [
  ...rows("expressions", "standard", [
    [
      "and binds tighter than or",
      `${inTools} target or port and start`,
      [...foundTarget, ...tools("web/app.ts:L1,L2", "web/legacy/app.js:L1,L2")],
    ],
    [
      "and binds tighter on the left",
      `${inTools} port and start or target`,
      [...foundTarget, ...tools("web/app.ts:L1,L2", "web/legacy/app.js:L1,L2")],
    ],
    [
      "a group on the left",
      `${inTools} (target or port) and start`,
      tools("web/app.ts:L1,L2", "web/legacy/app.js:L1,L2"),
    ],
    [
      "a group on the right",
      `${inTools} start and (target or port)`,
      tools("web/app.ts:L1,L2", "web/legacy/app.js:L1,L2"),
    ],
    [
      "groups on both sides",
      `${inTools} (target or port) and (build or start)`,
      tools("tools/build.py:L2,L4,L5", "web/app.ts:L1,L2", "web/legacy/app.js:L1,L2"),
    ],
    ["a group in a group", `${inTools} target and (build or (pub and static))`, foundTarget],
    ["a group around all", `${inTools} (target and build)`, targetAndBuild],
    ["groups around groups", `${inTools} (((target and build)))`, targetAndBuild],
    ["a long or", `${inTools} nothing or never or goal or pub`, tools("src/mod.rs:L1")],
    ["a long and", `${inTools} def and build and target and join and out`, targetAndBuild],
    ["words on both sides", `${inTools} def build or pub fn`, tools("src/mod.rs:L1", "tools/build.py:L4")],
    ["words around and", `${inTools} def build and return os`, targetAndBuild],
    ["a filter in a group", `(r:^acme/tools$ type:file target)`, foundTarget],
    ["a filter behind a word in a group", `(target r:^acme/tools$ type:file)`, foundTarget],
    ["a group of filters beside a word", "(file:mod.rs or file:build.py) type:file r:^acme/tools$ target", foundTarget],
    ["a group of filters", "(file:mod.rs or file:build.py) and r:^acme/tools$", tools("src/mod.rs", "tools/build.py")],
    ["a group of one filter", "(file:mod.rs)", tools("src/mod.rs")],
    ["an empty group is text", `${inTools} () and start`, tools("web/app.ts:L2")],
    ["not in a group under or", `${inTools} file:^(src|tools)/ (goal or not target)`, tools("tools/release.sh")],
  ]),
  ...rows("expressions", "keyword", [
    ["words around or", `${inTools} def build or pub fn`, tools("src/mod.rs:L1", "tools/build.py:L4")],
    ["words around and", `${inTools} def build and target`, targetAndBuild],
    ["a group of words", `${inTools} (def build) or nothing`, tools("tools/build.py:L4")],
    ["a group between words", `${inTools} def (nothing or build) target`, targetAndBuild],
    ["two groups", `${inTools} (def or pub) (build or static)`, tools("src/mod.rs:L1", "tools/build.py:L4")],
    ["a group in a group beside words", `${inTools} (target (build or (pub static)))`, foundTarget],
    ["a group and a negation", `${inTools} (def or pub) not static`, tools("lib/widget.h:L2", "tools/build.py:L4")],
    ["an empty group beside a word", `${inTools} start ()`, tools("web/app.ts:L2")],
  ]),
  ...rows("expressions", "regexp", [
    ["a group beside a word", `${inTools} (^def or ^pub) target`, foundTarget],
    ["a group between words", `${inTools} def (nothing or out) target`, targetAndBuild],
    ["words around or", `${inTools} def target or pub target`, tools("src/mod.rs:L1", "tools/build.py:L4")],
    ["three words on a line", `${inTools} return path target`, tools("tools/build.py:L5")],
    ["three words, not in this order", `${inTools} path return target`, []],
    ["words on two lines", `${inTools} def return`, []],
    ["a negated word between", `${inTools} return not nothing target`, targetAndBuild],
  ]),
];

const parentheses = [
  ...rows("parentheses", "standard", [
    ["one that closes nothing", `${inTools} target)`, tools("tools/build.py:L4,L5")],
    ["one that closes nothing, in front", `${inTools} ) target`, []],
    ["those of a block", `${inOdd} });`, ["odd:gaps.txt:L7"]],
    ["those of a smile", `${inOdd} smile :)`, ["odd:gaps.txt:L9"]],
    ["those before a brace", `${inOdd} x))) {`, ["odd:gaps.txt:L8"]],
    ["those behind a call", `${inOdd} if (g(x))) {`, ["odd:gaps.txt:L8"]],
    ["one that closes nothing, in content:", `${inOdd} content::) smile`, ["odd:gaps.txt:L9"]],
    ["one that closes nothing, on a side of or", `${inOdd} }); or :)`, ["odd:gaps.txt:L7,L9"]],
    ["one that closes nothing, in a filter", `${inTools} file:build) target`, [`${unable}Error parsing regexp: …`]],
    ["two that close one", `${inTools} (target or goal)) and build`, mixed],
    ["one behind the operand of a group", `${inTools} (target or goal) and join("out", target))`, []],
    ["those around an operator that are no group", `${inTools} f(target or goal)`, unclear],
    [
      "one that opens nothing, before or",
      `${inTools} (target or export`,
      tools("tools/build.py:L4", "web/app.ts:L1,L2", "web/app.tsx:L1"),
    ],
    ["one that opens nothing, at the end", `${inTools} export (`, []],
    ["one that opens nothing, in a word", `${inTools} build(target`, tools("tools/build.py:L4")],
    ["one that opens nothing, in a word of several", `${inTools} start(port, port`, tools("web/legacy/app.js:L2")],
    [
      "one that opens nothing, alone",
      `${inTools} (`,
      tools(
        "lib/widget.h:L2",
        "src/mod.rs:L1",
        "tools/build.py:L4,L5",
        "web/app.ts:L2",
        "web/app.tsx:L1",
        "web/legacy/app.js:L2",
      ),
    ],
    ["an operand missing in a group", `${inTools} (target and )`, targetAndBuild],
    ["an operand missing outside", `${inTools} (target or goal) and `, missing],
    [
      "a closed group and one that is not",
      `${inTools} (target or goal) or (port`,
      tools("tools/build.py:L4", "web/app.ts:L2", "web/legacy/app.js:L2"),
    ],
    ["escaped ones", `${inTools} build\\(target`, []],
    ["content: with one that opens nothing", `${inTools} content:"build(target"`, tools("tools/build.py:L4")],
    ["content: with one that closes nothing", `${inTools} content:"target):"`, tools("tools/build.py:L4")],
    ["text in the middle", `${inTools} return os.path.join("out", target)`, tools("tools/build.py:L5")],
    ["a word glued to a group", `${inTools} listen(port);`, tools("web/app.ts:L2")],
    ["a group beside a phrase", `${inTools} "a" (target or goal)`, mixed],
    ["a group beside a regexp", `${inTools} /a/ (target or goal)`, mixed],
    ["a group beside content: is no mixture", `${inTools} content:build (target or goal)`, targetAndBuild],
    ["a group beside a negated word", `${inTools} (target or goal) not build`, mixed],
  ]),
  ...rows("parentheses", "keyword", [
    ["one that closes nothing", `${inTools} def target)`, targetAndBuild],
    ["those of a block", `${inOdd} });`, ["odd:gaps.txt:L7"]],
    ["those before a brace", `${inOdd} x))) {`, ["odd:gaps.txt:L8"]],
    ["two that close one", `${inTools} (join or goal)) build`, tools("tools/build.py:L4,L5")],
    ["those around an operator that are no group", `${inTools} f(target or goal)`, unclearKeyword],
    ["one that opens nothing, at the end", `${inTools} export (`, tools("web/app.ts:L1,L2", "web/app.tsx:L1")],
    [
      "one that opens nothing, before or",
      `${inTools} (target or export`,
      tools("tools/build.py:L4", "web/app.ts:L1,L2", "web/app.tsx:L1"),
    ],
    ["one that opens nothing, in a word", `${inTools} build(target return`, targetAndBuild],
    ["quoted ones", `${inTools} "target)" ":"`, targetAndBuild],
  ]),
  ...rows("parentheses", "literal", [
    ["those of a block", `${inOdd} });`, ["odd:gaps.txt:L7"]],
    ["those of a smile", `${inOdd} smile :)`, ["odd:gaps.txt:L9"]],
    ["those behind a call", `${inOdd} if (g(x))) {`, ["odd:gaps.txt:L8"]],
  ]),
  ...rows("parentheses", "regexp", [
    ["one that closes nothing", `${inTools} target)`, unclear],
    ["one that opens nothing, at the end of a word", `${inTools} build(`, tools("tools/build.py:L4")],
    ["one that opens nothing, in a word", `${inTools} build(target`, [`${unable}Error parsing regexp: …`]],
    ["an empty pair", `${inTools} start()`, tools("web/app.ts:L2")],
    ["an escaped pair", `${inTools} start\\(\\)`, tools("web/app.ts:L2")],
  ]),
];

const joining = [
  ...rows("joining", "standard", [
    ["content: between words does not part them", `${inTools} import content:def os`, tools("tools/build.py:L2,L4")],
    ["content: is not joined", `${inTools} content:import os`, tools("tools/build.py:L2,L5")],
    ["two of content: are not joined", `${inTools} content:import content:path`, tools("tools/build.py:L2,L5")],
    ["a filter between words does not part them", "r:^acme/tools$ import type:file os", tools("tools/build.py:L2")],
    ["a regexp parts words", `${inTools} import /^def/ os`, tools("tools/build.py:L2,L4,L5")],
    ["a negated word parts words", `${inTools} import not goal os`, tools("tools/build.py:L2,L5")],
    ["a negated filter does not", `${inTools} import -file:web os`, tools("tools/build.py:L2")],
    ["a negated word in front: nothing is joined", `${inTools} not goal os import`, tools("tools/build.py:L2,L5")],
    ["regexps are anded", `${inTools} /^import/ /^def/`, tools("tools/build.py:L2,L4")],
  ]),
  ...rows("joining", "literal", [
    ["content: between words does not part them", `${inTools} import content:def os`, tools("tools/build.py:L2,L4")],
    ["a negated word parts words", `${inTools} import not goal os`, tools("tools/build.py:L2,L5")],
  ]),
  ...rows("joining", "regexp", [
    ["content: between words does not part them", `${inTools} import content:^def os`, tools("tools/build.py:L2,L4")],
    ["a negated word in front: nothing is joined", `${inTools} not goal os ^import`, tools("tools/build.py:L2,L5")],
  ]),
  ...rows("joining", "keyword", [
    ["nothing is joined", `${inTools} os import`, tools("tools/build.py:L2,L5")],
    ["a phrase is one", `${inTools} "import os" def`, tools("tools/build.py:L2,L4")],
    ["content: among words", `${inTools} content:"import os" def`, tools("tools/build.py:L2,L4")],
  ]),
];

const hoisting = rows("what a filter is for", "standard", [
  ["in front of or: for all", `${inTools} goal or target`, foundTarget],
  ["in front of or and and: for all", `${inTools} goal or target and build`, targetAndBuild],
  ["on both sides: for all", "r:^acme/tools$ goal or target type:file", foundTarget],
  ["several on both sides", "r:^acme/tools$ type:file goal or target file:^src case:yes", tools("src/mod.rs:L1")],
  [
    "behind a query that begins with a pattern: for its side only",
    "web or tokens type:file",
    [...tools("CODEOWNERS:L3,L4", "web/app.ts", "web/app.tsx", "web/legacy/app.js"), ...parser("src/parser.go:L3")],
  ],
  [
    "between patterns: each side has its own",
    "r:^parser$ type:file tokens or r:^acme/tools$ type:file target",
    [...foundTarget, ...parser("src/parser.go:L3")],
  ],
  [
    "behind the first pattern: for its side only",
    "file:^src/ target type:file or r:^odd$ type:file end",
    [...tools("src/mod.rs:L1,L2"), "odd:no-newline.txt:L1"],
  ],
  ["a filter as an operand", "r:^hidden$ or r:^odd$", ["hidden", "odd"]],
  ["filters as operands of and", "r:tools and file:mod", tools("src/mod.rs")],
  ["around and", "r:^acme/tools$ target and build type:file", targetAndBuild],
  ["before a group and or", "r:^odd$ type:file (alpha and beta) or end", oddAlphaOrEnd],
  ["before or and a group", "r:^odd$ type:file end or (alpha and beta)", oddAlphaOrEnd],
  ["before and with a group, and or", "r:^odd$ type:file alpha and (beta or nothing) or end", oddAlphaOrEnd],
  ["before groups in groups", "r:^odd$ type:file ((alpha and beta) or nothing) or (end and alpha)", oddAlphaOrEnd],
  ["around groups", "r:^odd$ (alpha and beta) or end type:file", oddAlphaOrEnd],
  ["before content:", "r:^odd$ type:file content:beta or content:end", ["odd:crlf.txt:L2", "odd:no-newline.txt:L1"]],
  [
    "a group of filters in front",
    "(r:^odd$ or r:^hidden$) type:file beta or secret",
    ["hidden:secret.txt:L1", "odd:crlf.txt:L2"],
  ],
  [
    "a group with another filter",
    "r:^odd$ type:file beta or (file:no-new end)",
    ["odd:crlf.txt:L2", "odd:no-newline.txt:L1"],
  ],
  [
    "before a group with another filter",
    "r:^odd$ type:file (file:crlf beta) or end",
    ["odd:crlf.txt:L2", "odd:no-newline.txt:L1"],
  ],
  ["case: before a group", "case:yes r:^odd$ type:file (ALPHA and beta) or end", ["odd:no-newline.txt:L1"]],
  [
    "a third side",
    "r:^odd$ type:file beta or (r:^hidden$ secret) or end",
    ["hidden:secret.txt:L1", "odd:crlf.txt:L2", "odd:no-newline.txt:L1"],
  ],
  [
    "@ before a group",
    "r:^parser$@dev type:file (onlyOnDev and package) or development",
    ["parser@dev:README.md:L3", "parser@dev:src/dev_only.go:L1,L3"],
  ],
  ["select: before a group", "select:repo r:^odd$ type:file (alpha and beta) or end", ["odd"]],
  [
    "a group behind or with its own scope: for its side only",
    "type:file r:^acme/tools$ pub or (r:^parser$ type:file tokens)",
    [...tools("src/mod.rs:L1"), ...parser("src/parser.go:L3")],
  ],
  [
    "case: of one side",
    `(${inTools} case:yes TARGET) or (${inParser} PACKAGE)`,
    [...tools("src/mod.rs:L2"), ...parser("src/parser.go:L1", "src/parser_test.go:L1")],
  ],
  ["a negated filter in front", "-r:parser -r:odd type:file nothing or secret", ["hidden:secret.txt:L1"]],
]);

const plans = rows("filters under or", "standard", [
  [
    "one file from two sides is one result",
    "(file:build.py type:file def) or (file:^tools type:file target)",
    targetAndBuild,
  ],
  [
    "two groups multiply",
    "type:path (r:^acme/tools$ or r:^parser$) (file:mod.rs or file:lexer.h)",
    [...tools("src/mod.rs"), ...parser("src/lexer.h")],
  ],
  [
    "three groups",
    "type:path (r:^acme/tools$ or r:^parser$) (file:^src or file:^lib) (lang:rust or lang:go)",
    [...tools("src/mod.rs"), ...parser("src/parser.go", "src/parser_test.go")],
  ],
  [
    "a pattern group stays whole",
    "r:^acme/tools$ type:file (file:mod.rs or file:build.py) (target or goal)",
    foundTarget,
  ],
  ["languages", "type:file (lang:rust or lang:python) target", foundTarget],
  [
    "types",
    "r:^acme/tools$ (type:path or type:repo) tools",
    ["acme/tools", ...tools("tools/build.py", "tools/release.sh")],
  ],
  ["a repository and files", "r:^hidden$ or (r:^odd$ file:crlf)", ["hidden", "odd:crlf.txt"]],
  [
    "what once only may be given, in each of the sides",
    "(r:^acme/tools$ case:yes type:file TARGET) or (r:^acme/tools$ case:no type:file VECTOR)",
    tools("lib/widget.cpp:L2", "src/mod.rs:L2"),
  ],
  [
    "not of a filter under or",
    "type:path r:^parser$ (-file:src or file:lexer.h)",
    parser("README.md", "docs/usage.md", "src/lexer.h"),
  ],
]);

const outsideText = [
  ...rows("names", "standard", [
    ["one word", "type:repo tools", ["acme/tools"]],
    ["or", "type:repo odd or hid", ["hidden", "odd"]],
    ["and", "type:repo acme and tools", ["acme/tools"]],
    ["and of two that do not meet", "type:repo acme and odd", []],
    ["a regexp", "type:repo /^(odd|hid)/", ["hidden", "odd"]],
    ["a regexp of the whole name", "type:repo /^odd$/", ["odd"]],
    ["operators of regexps are text", "type:repo o.d", []],
    ["a text with space", "type:repo od d", []],
    ["case is ignored", "type:repo ACME", ["acme/tools"]],
    ["case:yes", "type:repo case:yes ACME", []],
    ["case:yes does not hold for repo:", "type:repo case:yes repo:ACME acme", ["acme/tools"]],
    ["the text before an @", "type:repo acme@main", ["acme/tools"]],
    ["a text that begins with @", "type:repo @main", []],
    ["not, beside another", "type:repo par or od and not odd", ["parser"]],
    ["not under or gives none", "type:repo acme or not odd", ["acme/tools"]],
    ["a slash", "type:repo acme/tools", ["acme/tools"]],
    ["with repo:", "type:repo repo:acme tools", ["acme/tools"]],
    ["with -repo:", "type:repo -repo:acme tools", []],
    ["forks", "type:repo fork:yes parser", ["parser", "parser-fork"]],
    ["a filter on files gives none", "type:repo file:a odd", []],
    ["lang: gives none", "type:repo lang:go parser", []],
    ["count: does not matter", "type:repo count:5 odd", ["odd"]],
    ["visibility: does not matter", "type:repo visibility:public odd", ["odd"]],
    ["timeout: does not matter", "type:repo timeout:10s odd", ["odd"]],
    ["index: does not matter", "type:repo index:yes odd", ["odd"]],
    ["patterntype: does not matter", "type:repo patterntype:keyword odd", ["odd"]],
    ["context:global does not matter", "type:repo context:global odd", ["odd"]],
  ]),
  ...rows("names", "keyword", [
    ["all words", "type:repo acme ools", ["acme/tools"]],
    ["a phrase", `type:repo "acme/t"`, ["acme/tools"]],
    ["a group", "type:repo (acme or odd) o", ["acme/tools", "odd"]],
    ["not", "type:repo o not odd", ["acme/tools"]],
  ]),
  ...rows("names", "regexp", [
    ["words one after the other", "type:repo ac to", ["acme/tools"]],
    ["an anchor", "type:repo s$", ["acme/tools"]],
    ["before an @", "type:repo ^od+@main", ["odd"]],
  ]),
];

export const expressions: readonly CaseRow[] = [grammar, parentheses, joining, hoisting, plans, outsideText].flat();

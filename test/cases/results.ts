import { parser, rows, tools, type CaseRow } from "./row.js";

/* What matches, and in which form it comes: sections 7, 9, 10, 13 and 14 of the description. */

const inTools = "r:^acme/tools$ type:file";
const foundTarget = tools("src/mod.rs:L1,L2", "tools/build.py:L4,L5");

const matching = [
  ...rows("matching", "standard", [
    ["a start of line in the middle", `${inTools} /^name/`, tools(".hidden/config.yml:L2")],
    ["an end of line in the middle", `${inTools} /three$/`, tools(".hidden/config.yml:L1")],
    ["start and end", `${inTools} /^all:$/`, tools("Makefile:L1")],
    ["start of the text", `${inTools} /\\A#!/`, tools("tools/build.py:L1", "tools/release.sh:L1")],
    ["end of the text", `r:^odd$ type:file /end\\z/`, ["odd:no-newline.txt:L1"]],
    ["a dot is no newline", `${inTools} /three.name/`, []],
    ["with its flag it is", `${inTools} /(?s)three.name/`, tools(".hidden/config.yml:L1,L2")],
    ["a negated class holds a newline", `${inTools} /three[^x]name/`, tools(".hidden/config.yml:L1,L2")],
    ["\\s holds a newline", `${inTools} /three\\sname/`, tools(".hidden/config.yml:L1,L2")],
    ["\\W holds a newline", `${inTools} /three\\Wname/`, tools(".hidden/config.yml:L1,L2")],
    ["three lines", `${inTools} /{\\n.*\\n};?/`, tools("lib/widget.cpp:L1,L2,L3", "src/mod.rs:L1,L2,L3")],
    ["greedy over lines", `${inTools} /(?s)pub.*}/`, tools("src/mod.rs:L1,L2,L3")],
    ["lazy over lines", `${inTools} /(?s)pub.*?TARGET"/`, tools("src/mod.rs:L1,L2")],
    ["lazy", `${inTools} /port.*?;/`, tools("web/app.ts:L1,L2", "web/app.tsx:L1", "web/legacy/app.js:L1,L2")],
    ["an alternation of texts", `${inTools} /import|pub/`, tools("src/mod.rs:L1", "tools/build.py:L2")],
    ["an alternation with an empty side", `${inTools} /pub|/`, tools("src/mod.rs:L1")],
    ["a class", `${inTools} /[&]/`, tools("src/mod.rs:L1")],
    ["a class ignores case", `${inTools} /[A]RGET/`, foundTarget],
    ["a range ignores case", `${inTools} /[A-T]ARGET/`, foundTarget],
    ["a negated class ignores case", `${inTools} /[^T]arget/`, []],
    ["a flag that holds case", `${inTools} /(?-i)TARGET/`, tools("src/mod.rs:L2")],
    ["a flag within", `${inTools} /T(?-i:ARGET)/`, tools("src/mod.rs:L2")],
    [
      "word boundaries",
      `${inTools} /\\bport\\b/`,
      tools("web/app.ts:L1,L2", "web/app.tsx:L1", "web/legacy/app.js:L1,L2"),
    ],
    [
      "no word boundary",
      `${inTools} /\\Bport\\b/`,
      tools("tools/build.py:L2", "web/app.ts:L1,L2", "web/app.tsx:L1", "web/legacy/app.js:L1"),
    ],
    ["a repetition", `${inTools} /(port(, )?){2}/`, tools("web/legacy/app.js:L2")],
    ["digits", "r:^parser$ type:file /\\d/", parser("src/lexer.c:L4")],
    ["hexadecimal", `${inTools} /\\x40end/`, tools("lib/Widget.m:L2")],
    ["a quoted part", `${inTools} /\\Qplus+plus\\E/`, tools("a b/c+d (e).txt:L2")],
    ["a class of letters outside ASCII", "type:file /gr\\p{L}(ss|ß)e/", ["odd:ü dir/grüße.txt:L1,L2"]],
    ["\\w is ASCII", "r:^odd$ type:file /gr\\w/", []],
    ["a dot is a whole letter", "r:^odd$ type:file /^gr.ße$/", ["odd:ü dir/grüße.txt:L2"]],
    ["a text over the end of a line", `${inTools} content:"three\\nname: tools"`, tools(".hidden/config.yml:L1,L2")],
    ["one letter", `${inTools} &`, tools("src/mod.rs:L1")],
    ["two letters", `${inTools} #!`, tools("tools/build.py:L1", "tools/release.sh:L1")],
    ["three letters", `${inTools} pub`, tools("src/mod.rs:L1")],
    ["overlapping texts", `${inTools} target or arge`, foundTarget],
    [
      "texts of which one begins another",
      `${inTools} widget or widget_max`,
      tools("lib/Widget.m:L1", "lib/widget.cpp:L1", "lib/widget.h:L1,L2"),
    ],
    [
      "texts of which one ends another, counted once",
      `r:^acme/tools$ type:file file:legacy count:4 port or basePort`,
      tools("web/legacy/app.js:L1,L2"),
      [],
    ],
    ["a text within another", `${inTools} /t/ and target`, tools("src/mod.rs:L1,L2", "tools/build.py:L1,L2,L4,L5")],
    [
      "in the path and in the content",
      "r:^acme/tools$ file:^lib widget",
      tools("lib/Widget.m:L1", "lib/widget.cpp:L1", "lib/widget.h:L1,L2"),
    ],
    ["one in the path, one in the content", "r:^acme/tools$ cpp and vector", tools("lib/widget.cpp:L2")],
    ["both in the path", "r:^acme/tools$ lib and cpp", tools("lib/widget.cpp")],
    ["not in the path either", "r:^acme/tools$ file:^lib not cpp", tools("lib/Widget.m", "lib/widget.h")],
    ["not in the content either", "r:^acme/tools$ file:^lib not vector", tools("lib/Widget.m", "lib/widget.h")],
    [
      "not of a text that is in the path, for type:file",
      `${inTools} file:^lib not cpp`,
      tools("lib/Widget.m", "lib/widget.cpp", "lib/widget.h"),
    ],
    ["a regexp on a path", "r:^acme/tools$ /^lib.*cpp$/", tools("lib/widget.cpp")],
    ["a path in a binary file's name and nothing in it", "r:^odd$ type:file beta", ["odd:crlf.txt:L2"]],
    ["a symbolic link's name", "r:^odd$ link", ["odd:link"]],
  ]),
  ...rows("matching", "keyword", [
    ["one in the path, one in the content, not joined", "r:^acme/tools$ legacy start", tools("web/legacy/app.js:L2")],
    ["a repository's name and no file", "acme ools", ["acme/tools"]],
    ["words of which each is on another line", `${inTools} import join`, tools("tools/build.py:L2,L5")],
  ]),
];

const selected = rows("select", "standard", [
  ["repo of a repository", "select:repo r:^odd$", ["odd"]],
  ["repo of files", `select:repo ${inTools} target`, ["acme/tools"]],
  ["repo of several", "select:repo type:file alpha", ["hidden", "odd"]],
  ["repo of paths and repositories", "select:repo tools", ["acme/tools"]],
  ["file of texts", `select:file ${inTools} target`, tools("src/mod.rs", "tools/build.py")],
  ["file of paths", "select:file file:^web", tools("web/app.ts", "web/app.tsx", "web/legacy/app.js")],
  ["file of repositories", "select:file type:repo odd", []],
  ["file.path of texts", `select:file.path ${inTools} target`, tools("src/mod.rs", "tools/build.py")],
  ["file.directory of texts", `select:file.directory ${inTools} target`, tools("src/", "tools/")],
  ["file.directory of several in one", "select:file.directory file:^lib", tools("lib/")],
  ["file.directory, deeper", "select:file.directory file:^web", tools("web/", "web/legacy/")],
  ["file.directory of the root, with others below", "select:file.directory file:^Makefile$", tools("./")],
  ["file.directory with space", "select:file.directory file:c\\+d", tools("a b/")],
  ["file.directory of repositories", "select:file.directory type:repo odd", []],
  ["content of texts", `select:content ${inTools} target`, foundTarget],
  ["content of paths", "select:content file:^web", []],
  ["content of a path and a text", "r:^acme/tools$ select:content legacy", tools("CODEOWNERS:L4")],
  ["content of repositories", "select:content type:repo odd", []],
  [
    "the limit counts what was selected: repositories",
    "select:repo count:1 r:^acme/tools$ type:file port",
    ["acme/tools"],
    [],
  ],
  [
    "the limit counts what was selected: files",
    "select:file count:2 r:^acme/tools$ type:file target",
    tools("src/mod.rs", "tools/build.py"),
    [],
  ],
  ["with not", `select:file ${inTools} build not target`, tools("Makefile")],
  ["with or", `select:file ${inTools} goal or target`, tools("src/mod.rs", "tools/build.py")],
]);

const chosen = rows("repositories", "standard", [
  ["a name with a slash", "repo:acme/tools", ["acme/tools"], []],
  ["an anchored beginning", "repo:^acme/", ["acme/tools"]],
  ["an anchored end", "repo:tools$", ["acme/tools"]],
  ["a dot is any letter", "repo:ac.e", ["acme/tools"]],
  ["an alternation", "repo:odd|hidden", ["hidden", "odd"]],
  ["several", "repo:acme repo:tools", ["acme/tools"]],
  [
    "several that do not meet",
    "repo:acme repo:odd",
    ["alert: No repositories found: Try using a different `repo:<regexp>` filter to see results"],
  ],
  ["two excluded", "-repo:acme -repo:parser", ["empty", "hidden", "odd"]],
  ["chosen and excluded", "repo:d -repo:odd", ["hidden"]],
  ["the exact name of a fork that is archived", "repo:^acme/tools-mirror$", ["acme/tools-mirror"], []],
  ["the exact name with escapes", "repo:^acme/tools\\-mirror$", ["acme/tools-mirror"], []],
  ["the exact name at a revision", "repo:^parser-fork$@main", ["parser-fork@main"], []],
  [
    "a name without its end is not exact",
    "repo:^acme/tools-mirror",
    ["alert: No repositories found: Try using a different `repo:<regexp>` filter to see results"],
  ],
  ["a name in another case is exact", "repo:^PARSER-FORK$", ["parser-fork"], []],
  [
    "a name in parentheses is not exact",
    "repo:^(parser-fork)$",
    ["alert: No repositories found: Try altering the query…"],
  ],
  ["the exact name and fork:no", "repo:^parser-fork$ fork:no", ["alert: No repositories found: …"]],
  [
    "a fork where only forks are left",
    "repo:parser-",
    ["alert: No repositories found: Try altering the query or use a different `repo:<regexp>` filter to see results"],
    ["repository-fork"],
  ],
  [
    "an archived one where only those are left",
    "repo:^old",
    ["alert: No repositories found: Try altering the query or use a different `repo:<regexp>` filter to see results"],
    ["excluded-archive"],
  ],
  [
    "none by that name",
    "repo:nothing a",
    ["alert: No repositories found: Try using a different `repo:<regexp>` filter to see results"],
  ],
  ["nothing found in a repository is no alert", "repo:^odd$ nothing", []],
  ["one without commits", "repo:^empty$", ["empty"], []],
  ["one without commits has no files", "repo:^empty$ type:file a", []],
  ["one without commits has no paths", "repo:^empty$ file:a", []],
  ["files of a fork by its exact name", "repo:^parser-fork$ file:fork", ["parser-fork:fork.txt"], []],
  [
    "files of a fork that is archived",
    "repo:^acme/tools-mirror$ type:file mirrored",
    ["acme/tools-mirror:tools/build.py:L1"],
    [],
  ],
  ["a repository filter and files", "repo:tools file:mod", tools("src/mod.rs")],
  [
    "one or the other, each with its pattern",
    "(repo:^hidden$ secret) or (repo:^odd$ end)",
    ["hidden:secret.txt:L1", "odd:no-newline.txt:L1"],
  ],
]);

const atRevisions = rows("revisions", "standard", [
  [
    "a branch with a slash",
    "repo:^acme/tools$@release/1.0 type:file goal",
    ["acme/tools@release/1.0:tools/build.py:L3,L4"],
  ],
  [
    "a branch with a slash, by rev:",
    "repo:^acme/tools$ rev:release/1.0 type:file goal",
    ["acme/tools@release/1.0:tools/build.py:L3,L4"],
  ],
  [
    "a branch by its full name",
    "repo:^acme/tools$@refs/heads/release/1.0 type:file goal",
    ["acme/tools@refs/heads/release/1.0:tools/build.py:L3,L4"],
  ],
  [
    "paths at a branch",
    "repo:^acme/tools$@release/1.0 file:.",
    ["acme/tools@release/1.0:CHANGES", "acme/tools@release/1.0:Makefile", "acme/tools@release/1.0:tools/build.py"],
  ],
  [
    "a file at two branches",
    "repo:^acme/tools$@main:release/1.0 file:Makefile",
    ["acme/tools@main:Makefile", "acme/tools@release/1.0:Makefile"],
  ],
  [
    "a text at two branches",
    "repo:^acme/tools$@main:release/1.0 type:file /^def/",
    ["acme/tools@main:tools/build.py:L4", "acme/tools@release/1.0:tools/build.py:L3"],
  ],
  ["the same branch twice", "repo:^acme/tools$@main:main file:Makefile", ["acme/tools@main:Makefile"]],
  ["empty parts", "repo:^acme/tools$@:main: file:Makefile", ["acme/tools@main:Makefile"]],
  ["an @ without a revision", "repo:^acme/tools$@ file:Makefile", tools("Makefile")],
  [
    "HEAD and a branch",
    "repo:^acme/tools$@HEAD:release/1.0 file:Makefile",
    ["acme/tools@HEAD:Makefile", "acme/tools@release/1.0:Makefile"],
  ],
  [
    "several in rev:",
    "repo:^acme/tools$ rev:main:release/1.0 file:Makefile",
    ["acme/tools@main:Makefile", "acme/tools@release/1.0:Makefile"],
  ],
  [
    "several in quotes",
    `repo:^acme/tools$ rev:"main:release/1.0" file:Makefile`,
    ["acme/tools@main:Makefile", "acme/tools@release/1.0:Makefile"],
  ],
  ["rev: for several filters", "repo:acme repo:tools rev:release/1.0 file:CHANGES", ["acme/tools@release/1.0:CHANGES"]],
  [
    "a filter without @ imposes nothing",
    "repo:acme repo:^acme/tools$@release/1.0 file:CHANGES",
    ["acme/tools@release/1.0:CHANGES"],
  ],
  [
    "two filters with revisions: what they share",
    "repo:acme@main:release/1.0 repo:tools@release/1.0 file:.*akefile",
    ["acme/tools@release/1.0:Makefile"],
  ],
  [
    "another revision on each side",
    "(repo:^acme/tools$@release/1.0 type:file goal) or (repo:^acme/tools$ type:file pub)",
    ["acme/tools@release/1.0:tools/build.py:L3,L4", "acme/tools:src/mod.rs:L1"],
  ],
  [
    "rev: on each side",
    "repo:^acme/tools$ type:path file:Makefile (rev:main or rev:release/1.0)",
    ["acme/tools@main:Makefile", "acme/tools@release/1.0:Makefile"],
  ],
  [
    "a repository once for each revision",
    "repo:^acme/tools$@main:release/1.0",
    ["acme/tools@main", "acme/tools@release/1.0"],
  ],
  ["lang: at a branch", "repo:^acme/tools$@release/1.0 lang:python", ["acme/tools@release/1.0:tools/build.py"]],
  [
    "not at a branch",
    "repo:^acme/tools$@release/1.0 type:file not goal",
    ["acme/tools@release/1.0:CHANGES", "acme/tools@release/1.0:Makefile"],
  ],
  [
    "a branch of one of two repositories",
    "repo:^(parser|odd)$@dev onlyOnDev",
    [
      "parser@dev:src/dev_only.go:L3",
      'alert: Some repositories could not be searched: The repository odd matched by your repo: filter could not be searched because it does not contain the revision "dev"…',
    ],
  ],
  [
    "two that are not there",
    "repo:^(parser|odd)$@nope a",
    [
      "alert: Some repositories could not be searched: 2 repositories matched by your repo: filter could not be searched because the following revisions do not exist…",
    ],
  ],
  [
    "rev: that is not there",
    "repo:^odd$ rev:nope a",
    [
      'alert: Some repositories could not be searched: The repository odd matched by your repo: filter could not be searched because it does not contain the revision "nope"…',
    ],
  ],
]);

/** What descriptions of the language leave open; `docs/query-syntax.md` lists it. */
const decided = [
  ...rows("decided", "standard", [
    [
      "a query that begins with a pattern keeps a filter behind it on its side",
      "web or tokens file:parser.go",
      [...tools("CODEOWNERS:L3,L4", "web/app.ts", "web/app.tsx", "web/legacy/app.js"), ...parser("src/parser.go:L3")],
    ],
    [
      "a match over an empty line is shown on the lines that hold a part of it",
      `${inTools} /os\n\ndef/`,
      tools("tools/build.py:L2,L4"),
    ],
    ["a byte that is not UTF-8 is matched by no dot", "r:^odd$ type:file /caf. alpha/", []],
    ["content: finds no repositories", "type:repo content:odd", []],
    ["a negated pattern finds no repositories", "type:repo not odd", []],
    ["two languages have to hold both", "lang:python lang:rust", []],
    ["type:path without anything finds nothing", "type:path repo:odd", []],
    ["file:has.content may be negated", "r:^acme/tools$ -file:has.content(.) file:^a", []],
    ["HEAD of a repository without commits is no mistake", "repo:^empty$@HEAD a", []],
    [
      "a hole of a structural query that finds nothing",
      "foo(:[args])",
      [
        "alert: No results: It looks like you're trying to run a structural search, but it is not enabled using the patterntype keyword or UI toggle.",
      ],
    ],
    ["a class behind a colon is no hole", "zzz:[a-z]", []],
    [
      "a hole in a query for no repository",
      "repo:nothing foo(:[args])",
      ["alert: No repositories found: Try using a different `repo:<regexp>` filter to see results"],
    ],
    [
      "a context that is not there",
      "context:nowhere a",
      ['alert: Unable To Process Query: Search context "nowhere" not found'],
    ],
  ]),
  ...rows("decided", "keyword", [
    [
      "the phrase of all words is not looked for in addition",
      `${inTools} os import def`,
      tools("tools/build.py:L2,L4,L5"),
    ],
    ["quotes outside of quotes are text", `${inTools} \\"TARGET\\"`, []],
  ]),
  ...rows("decided", "regexp", [
    ["a leading group is and-ed", `${inTools} (^def or ^import) os`, tools("tools/build.py:L2,L4,L5")],
  ]),
];

export const results: readonly CaseRow[] = [matching, selected, chosen, atRevisions, decided].flat();

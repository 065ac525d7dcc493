import { parser, requestRows, rows, tools, unable, type CaseRow } from "./row.js";

/* How the text is cut: sections 1 and 2 of the description. */

const inTools = "r:^acme/tools$ type:file";
const foundTarget = tools("src/mod.rs:L1,L2", "tools/build.py:L4,L5");
const missing = [
  `${unable}I'm having trouble understanding that query. Putting parentheses around the search pattern may help.`,
];

/** Two words tell the types apart that join, and a text in slashes those that know regexps. */
const two = "r:^parser$ type:file foo bar";
const slashes = "r:^parser$ type:file /foo.*bar/";
const asOneText = parser("docs/usage.md:L1");
const onOneLine = parser("docs/usage.md:L1,L4");
const anywhere = parser("docs/usage.md:L1,L2,L3,L4,L5");
const mixed = [`${unable}I'm having trouble understanding that query. The combination of parentheses is the problem…`];

export const versions: readonly CaseRow[] = [
  requestRows("versions", "", [
    ["nothing given is standard", two, asOneText],
    ["and knows regexps", slashes, onOneLine],
  ]),
  requestRows("versions", "v=", [
    ["an empty one is none", slashes, onOneLine],
    ["two words", two, asOneText],
  ]),
  requestRows("versions", "v=V1", [
    ["V1 is regexp", two, onOneLine],
    ["the query wins over V1", `${two} patterntype:standard`, asOneText],
  ]),
  requestRows("versions", "v=V2", [
    ["V2 is literal", slashes, []],
    ["two words in V2", two, asOneText],
  ]),
  requestRows("versions", "v=V3", [
    ["V3 is standard", slashes, onOneLine],
    ["two words in V3", two, asOneText],
  ]),
  requestRows("versions", "v=V9", [
    ["an unknown one", two, [`error: unrecognized version: want "V1", "V2", or "V3", got "V9"`]],
  ]),
  requestRows("versions", "v=V1&t=keyword", [["t wins", two, anywhere]]),
  requestRows("versions", "v=V3&t=literal", [["t wins over V3", slashes, []]]),
  requestRows("versions", "v=V2&t=regexp", [["t wins over V2", two, onOneLine]]),
  requestRows("versions", "v=V1&t=", [["an empty t is none", two, onOneLine]]),
  requestRows("versions", "t=lucky", [["lucky is standard", slashes, onOneLine]]),
  requestRows("versions", "t=nonsense", [["an unknown t", two, [`error: unrecognized patternType "nonsense"`]]]),
  requestRows("versions", "t=keyword", [
    ["patternType:regexp", `${two} patternType:regexp`, onOneLine],
    ["patterntype:literal", `${slashes} patterntype:literal`, []],
    ["patterntype:standard", `${two} patterntype:standard`, asOneText],
    ["patterntype:lucky", `${two} patterntype:lucky`, asOneText],
    ["patterntype:regex", `${two} patterntype:regex`, onOneLine],
    ["in capitals", `${two} PATTERNTYPE:regexp`, onOneLine],
    ["quoted", `${two} patterntype:"regexp"`, onOneLine],
    ["in single quotes", `${two} patterntype:'regexp'`, onOneLine],
    ["in front", `patterntype:regexp ${two}`, onOneLine],
    ["unknown: the request's", `${two} patterntype:nonsense`, anywhere],
    [
      "in a text that literal refuses: the request's",
      "r:^acme/tools$ type:file (target or goal) build patterntype:literal",
      tools("tools/build.py:L4,L5"),
    ],
  ]),
  requestRows("versions", "t=standard", [
    ["patterntype:keyword", `${two} patterntype:keyword`, anywhere],
    [
      "in a text that literal refuses: standard, which refuses it too",
      `${inTools} (target or goal) build patterntype:keyword`,
      mixed,
    ],
  ]),
  requestRows("versions", "t=structural", [
    ["structural is switched off", "foo(...)", ["error: Structural search is disabled in the site configuration."]],
    ["structural without a pattern is an ordinary query", "repo:^odd$", ["odd"]],
    ["structural with filters on files alone", "repo:^acme/tools$ file:mod", tools("src/mod.rs")],
  ]),
  requestRows("versions", "t=keyword&v=V3", [
    [
      "patterntype:structural",
      "foo patterntype:structural",
      ["error: Structural search is disabled in the site configuration."],
    ],
    ["patterntype:structural without a pattern", "repo:^odd$ patterntype:structural", ["odd"]],
  ]),
].flat();

const inOdd = "r:^odd$ type:file";

/** Which lines of `gaps.txt` hold the text with exactly this space. */
const gaps = (["standard", "literal"] as const).flatMap((type) =>
  rows("space", type, [
    ["one", `${inOdd} west east`, ["odd:gaps.txt:L1"]],
    ["two", `${inOdd} west  east`, ["odd:gaps.txt:L2,L13"]],
    ["a tab", `${inOdd} west\teast`, ["odd:gaps.txt:L3"]],
    ["a no-break space", `${inOdd} west\u00a0east`, ["odd:gaps.txt:L4"]],
    ["an ideographic space", `${inOdd} west\u3000east`, ["odd:gaps.txt:L5"]],
    ["of several kinds", `${inOdd} west \t east`, ["odd:gaps.txt:L6"]],
    ["a newline", `${inOdd} west\neast`, ["odd:gaps.txt:L11,L12"]],
    ["across quotes", `${inOdd} say "west  east"`, ["odd:gaps.txt:L13"]],
    ["across escapes", `${inOdd} \\d  "\\/x`, ["odd:gaps.txt:L14"]],
    ["around", `  ${inOdd}\t west  east \u3000`, ["odd:gaps.txt:L2,L13"]],
    ["a filter in the middle", `${inOdd} west case:no east`, ["odd:gaps.txt:L1"]],
    ["two before a filter in the middle", `${inOdd} west  case:no east`, ["odd:gaps.txt:L2,L13"]],
    ["two behind a filter in the middle", `${inOdd} west case:no  east`, ["odd:gaps.txt:L2,L13"]],
    ["a tab before a filter in the middle", `west\t${inOdd} east`, ["odd:gaps.txt:L3"]],
    ["one behind filters in the middle", `west ${inOdd}\u3000east`, ["odd:gaps.txt:L5"]],
    ["filters with space in the middle", `west r:^odd$ file:"^gaps  *|  \\\\.txt$" east`, []],
    ["an empty filter in the middle", `${inOdd} west file: east`, ["odd:gaps.txt:L1"]],
  ]),
);

const keywordGaps = rows("space", "keyword", [
  ["has no meaning between words", `${inOdd} west  east say`, ["odd:gaps.txt:L1,L2,L3,L4,L5,L6,L11,L12,L13"]],
  ["has one within quotes", `${inOdd} "west  east"`, ["odd:gaps.txt:L2,L13"]],
]);

const operators = [
  ...rows("operator words", "standard", [
    ["or at the start is a word", "or target r:^acme/tools$ type:file", []],
    [
      "or at the start, behind space",
      "  or file:^web/ type:file",
      tools("web/app.ts:L1,L2", "web/app.tsx:L1", "web/legacy/app.js:L1,L2"),
    ],
    ["and at the start", "and file:^tools/ type:file", tools("tools/release.sh:L2")],
    ["or at the end is a word", `${inTools} target or`, []],
    ["not at the end is a word", `${inTools} # not`, tools("tools/release.sh:L2")],
    ["or before trailing space lacks its operand", `${inTools} target or `, missing],
    ["and before trailing space", `${inTools} target and `, missing],
    ["not before trailing space", `${inTools} target not `, missing],
    ["two operators", `${inTools} target and or goal`, missing],
    ["or twice", `${inTools} target or or goal`, missing],
    ["capitals", `${inTools} target OR goal`, foundTarget],
    ["mixed case", `${inTools} target Or goal`, foundTarget],
    ["AND", `${inTools} target AND build`, tools("tools/build.py:L4,L5")],
    ["aNd", `${inTools} target aNd build`, tools("tools/build.py:L4,L5")],
    ["before a parenthesis", `${inTools} target and(build or goal)`, tools("tools/build.py:L4,L5")],
    ["behind a parenthesis", `${inTools} (target or goal)and build`, tools("tools/build.py:L4,L5")],
    ["between tabs and newlines", `${inTools} target\tor\ngoal`, foundTarget],
    ["between spaces of other scripts", `${inTools} target\u3000or\u2003goal`, foundTarget],
    ["inside a word", `${inTools} vector`, tools("lib/widget.cpp:L2")],
    ["a word that begins so", `${inTools} target orgoal`, []],
    ["a no-break space is searched for as such", `${inTools} struct\u00a0widget`, []],
    ["a newline is searched for as such", `${inTools} struct\nwidget`, []],
    [
      "a newline parts filters from words",
      `${inTools}\nstruct widget\n`,
      tools("lib/widget.cpp:L1", "lib/widget.h:L1"),
    ],
    ["space around the query", `  ${inTools} target  `, foundTarget],
    ["in quotes they are no operators for content:", `${inTools} content:"not or and"`, tools("tools/release.sh:L2")],
  ]),
  ...rows("operator words", "keyword", [
    ["or at the start is a word", "or target r:^acme/tools$ type:file", tools("tools/build.py:L2,L4,L5")],
    ["or at the end is a word", `${inTools} target or`, tools("tools/build.py:L2,L4,L5")],
    ["and at the end is a word", `${inTools} VERSION and`, tools("tools/release.sh:L2")],
    ["in quotes they are words", `${inTools} "not or and"`, tools("tools/release.sh:L2")],
    ["in quotes, one by one", `${inTools} "not" "or" "and"`, tools("tools/release.sh:L2")],
  ]),
];

const negations = [
  ...rows("not", "standard", [
    ["at the start", "not target file:^tools/ r:^acme/tools$ type:file", tools("tools/release.sh")],
    ["behind a pattern", `${inTools} build not target`, tools("Makefile:L2")],
    ["NOT", `${inTools} build NOT target`, tools("Makefile:L2")],
    ["nOt", `${inTools} build nOt target`, tools("Makefile:L2")],
    ["behind and", `${inTools} build and not target`, tools("Makefile:L2")],
    ["behind an opening parenthesis", `${inTools} (not target and build)`, tools("Makefile:L2")],
    ["several", `${inTools} python not target not nothing`, tools("Makefile:L2")],
    ["several that leave nothing", `${inTools} build not target not python`, []],
    ["of a regexp", `${inTools} build not /^def/`, tools("Makefile:L2")],
    ["of a filter", `${inTools} NOT file:^web/ port`, tools("tools/build.py:L2")],
    ["of a filter, as a minus", `${inTools} -file:^web/ port`, tools("tools/build.py:L2")],
    ["of lang:", `${inTools} NOT lang:python target`, tools("src/mod.rs:L1,L2")],
    ["of repo:", "NOT repo:parser NOT repo:tools type:repo", ["empty", "hidden", "odd"]],
    ["of content:", `${inTools} NOT content:target build`, tools("Makefile:L2")],
    ["of content:, as a minus", `${inTools} -content:target build`, tools("Makefile:L2")],
    ["before a parenthesis without space: a word", `${inTools} not(target)`, []],
    [
      "before a group",
      `${inTools} NOT (target)`,
      [
        `${unable}It looks like you tried to use an expression after NOT. The NOT operator can only be used with simple search patterns or filters, and is not supported for expressions or subqueries`,
      ],
    ],
    [
      "before a group with an operator",
      `${inTools} build not (target or goal)`,
      [`${unable}It looks like you tried to use an expression after NOT…`],
    ],
    ["before a negated filter", "NOT -file:x", [`${unable}Unexpected NOT before "-file:x". Remove NOT and try again`]],
    ["of a word that matches nothing", `${inTools} python not nothing`, tools("Makefile:L2", "tools/build.py:L1")],
    [
      "under or: the rest of the files, as paths",
      `${inTools} file:^(src|tools)/ python or not target`,
      tools("tools/build.py:L1", "tools/release.sh"),
    ],
  ]),
  ...rows("not", "keyword", [
    ["before a group", `${inTools} NOT (target)`, [`${unable}It looks like you tried to use an expression after NOT…`]],
    ["before a parenthesis without space: a word", `${inTools} not(target)`, []],
    ["behind a closing parenthesis", `${inTools} (build or goal)not target`, tools("Makefile:L2")],
    ["of a phrase", `${inTools} build not "def build"`, tools("Makefile:L2")],
    ["between words", `${inTools} python not target all`, tools("Makefile:L1,L2")],
  ]),
  ...rows("not", "regexp", [
    ["of a regexp", `${inTools} build not ^def`, tools("Makefile:L2")],
    ["before a group", `${inTools} NOT (target)`, [`${unable}It looks like you tried to use an expression after NOT…`]],
  ]),
];

const fieldNames = rows("field names", "standard", [
  ["in capitals", "REPO:^acme/tools$ TYPE:file CASE:yes TARGET", tools("src/mod.rs:L2")],
  ["short ones", "r:^acme/tools$ f:^src/ l:rust type:file target", tools("src/mod.rs:L1,L2")],
  ["long ones", "repo:^acme/tools$ path:^src/ language:rust type:file target", tools("src/mod.rs:L1,L2")],
  ["an unknown one is a word", `${inTools} foo:bar`, []],
  ["one of older times is a word", `${inTools} stable:yes`, []],
  ["another", `${inTools} max:5`, []],
  ["another, of groups", `${inTools} repogroup:x`, []],
  ["g: is refused", "g:x target", [`${unable}Unrecognized field "g"`]],
  ["two minuses: a word", `${inTools} --file:x`, []],
  ["space before the colon: words", `${inTools} Widget : Base`, tools("lib/widget.cpp:L1")],
  ["an unknown name with space behind: words", `${inTools} level: three`, tools(".hidden/config.yml:L1")],
  ["no value for file: all paths", `${inTools} target file: build`, []],
  ["no value for repo: all names", "repo: type:file target", foundTarget],
  ["a field inside a value", "file:repo:x", []],
  ["a URL", "type:file http://x.y", parser("docs/usage.md:L6")],
]);

const values = [
  ...rows("values", "standard", [
    ["double quotes", `r:tools file:"a b/c" type:file spaced`, tools("a b/c+d (e).txt:L1")],
    ["single quotes", `r:tools file:'a b/c' type:file spaced`, tools("a b/c+d (e).txt:L1")],
    ["two backslashes in quotes are one", `file:"^a b/c\\\\+d"`, tools("a b/c+d (e).txt")],
    ["an unknown escape in quotes", `file:"a\\.b"`, [`${unable}Unrecognized escape sequence`]],
    ["quotes that do not end", `file:"a`, [`${unable}Unterminated literal: expected "`]],
    ["single quotes that do not end", `file:'a b`, [`${unable}Unterminated literal: expected '`]],
    ["quotes that end within an escape", `file:"a\\`, [`${unable}Unterminated escape sequence`]],
    ["text behind the quotes is a pattern", `file:"^web"/legacy`, tools("web/legacy/app.js")],
    ["a quote inside is text", `file:web"legacy`, []],
    ["an escaped space", "file:^a\\ b/", tools("a b/c+d (e).txt")],
    ["parentheses", "file:(app|mod)\\.(ts|rs)$", tools("src/mod.rs", "web/app.ts")],
    ["escaped parentheses", "file:c\\+d\\ \\(e\\)", tools("a b/c+d (e).txt")],
    ["space inside parentheses", "file:(a b)/", tools("a b/c+d (e).txt")],
    ["a parenthesis that closes a group", "(file:mod.rs or file:app.tsx)", tools("src/mod.rs", "web/app.tsx")],
    ["an alternation", "file:mod.rs|app.tsx", tools("src/mod.rs", "web/app.tsx")],
    ["escaped quotes", `${inTools} content:"join(\\"out\\""`, tools("tools/build.py:L5")],
    ["the other quotes", `${inTools} content:'join("out"'`, tools("tools/build.py:L5")],
    ["\\n is a newline", `${inTools} content:"level: three\\nname"`, tools(".hidden/config.yml:L1,L2")],
    ["\\t is a tab", `${inTools} content:"\\tpython"`, tools("Makefile:L2")],
    ["\\r is a carriage return", `r:^odd$ content:"one\\r"`, ["odd:crlf.txt:L1"]],
    ["\\b stays", `${inTools} content:"\\bout"`, []],
    ["an unknown escape of content:", `${inTools} content:"plus\\+plus"`, [`${unable}Unrecognized escape sequence`]],
    ["content: without quotes ends at space", `${inTools} content:import os`, tools("tools/build.py:L2,L5")],
    ["content: with parentheses", `${inTools} content:join("out", target)`, tools("tools/build.py:L5")],
    ["content: that begins with a parenthesis", `${inTools} content:(target)`, tools("tools/build.py:L4")],
    ["content: with slashes is text", `${inTools} content:/target/`, []],
    ["a count in quotes", `${inTools} count:"5" target`, foundTarget],
  ]),
  ...rows("values", "regexp", [
    ["\\b is the regexp's", `${inTools} content:"\\bout"`, tools("tools/build.py:L5")],
    ["content: with parentheses is a regexp", `${inTools} content:(target)`, foundTarget],
  ]),
];

const patterns = [
  ...rows("patterns", "standard", [
    ["a regexp", `${inTools} /tar(get)/`, foundTarget],
    ["a regexp with an alternation", `${inTools} /port;|port,/`, tools("web/app.ts:L1", "web/legacy/app.js:L1,L2")],
    ["a regexp before a parenthesis", `${inTools} (/^def/ or /^pub/) and target`, foundTarget],
    ["an escaped slash", `${inTools} /bin\\/sh/`, tools("tools/release.sh:L1")],
    ["a slash inside without a backslash ends nothing", `${inTools} /bin/sh`, tools("tools/release.sh:L1")],
    ["two backslashes are an escaped one", `${inTools} /plus\\\\+plus/`, []],
    ["a path of Windows", `${inOdd} /D:\\\\temp/`, ["odd:gaps.txt:L10"]],
    ["a backslash before a letter", `${inOdd} /\\\\d/`, ["odd:gaps.txt:L10,L14"]],
    ["a backslash in a class", `${inOdd} /[\\\\]d/`, ["odd:gaps.txt:L10,L14"]],
    ["an escaped backslash at the end", `${inOdd} /"\\\\/`, ["odd:gaps.txt:L14"]],
    ["an escaped slash behind an escaped backslash", `${inOdd} /\\\\\\/x/`, ["odd:gaps.txt:L14"]],
    ["an escaped slash in a class", `${inOdd} /[\\/]x/`, ["odd:gaps.txt:L14"]],
    ["one backslash stays", `${inTools} /plus\\+plus/`, tools("a b/c+d (e).txt:L2")],
    ["a newline", `${inTools} /three\\nname/`, tools(".hidden/config.yml:L1,L2")],
    ["a tab", `${inTools} /\\tpython/`, tools("Makefile:L2")],
    ["a regexp that is never closed is text", `${inTools} /usr/bin/env python`, tools("tools/build.py:L1")],
    ["text behind the closing slash", `${inTools} /bin/env`, tools("tools/build.py:L1")],
    ["an arrow", `${inTools} () -> &'static`, tools("src/mod.rs:L1")],
    ["a call and what follows", `${inTools} listen(port); }`, tools("web/app.ts:L2")],
    ["a call that is not closed", `${inTools} listen(port`, tools("web/app.ts:L2")],
    [
      "an operator inside a call",
      `${inTools} f(a or b)`,
      [`${unable}Unsupported expression. The combination of parentheses in the query have an unclear meaning…`],
    ],
    ["backslashes outside of quotes are text", `${inTools} \\"TARGET\\"`, []],
    ["an emoji", `${inTools} \u{1f600}`, []],
    ["letters outside ASCII", "type:file ü", ["odd:ü dir/grüße.txt:L1,L2"]],
    ["angle brackets", `${inTools} <b>port</b>`, tools("web/app.tsx:L1")],
    ["an ampersand", `${inTools} &'static str {`, tools("src/mod.rs:L1")],
    ["a hash", `${inTools} #!/bin/sh`, tools("tools/release.sh:L1")],
    ["a percent sign", `${inTools} 100%`, []],
  ]),
  ...rows("patterns", "keyword", [
    ["escaped quotes within quotes", `${inTools} "\\"TARGET\\""`, tools("src/mod.rs:L2")],
    ["quotes within the other quotes", `${inTools} '"TARGET"'`, tools("src/mod.rs:L2")],
    ["backslashes outside of quotes are text", `${inTools} \\"TARGET\\"`, []],
    ["a newline within quotes", `${inTools} "three\\nname"`, tools(".hidden/config.yml:L1,L2")],
    ["a quote that does not close is text", `${inTools} "release`, tools("tools/release.sh:L2")],
    ["a regexp with space", `${inTools} /int> s/`, tools("lib/widget.cpp:L2")],
    ["a regexp before a parenthesis", `${inTools} (/^def/ or /^pub/) target`, foundTarget],
    ["a phrase before a parenthesis", `${inTools} ("def build" or "pub fn") target`, foundTarget],
    ["two calls", `${inTools} build(target) join("out", target)`, tools("tools/build.py:L4,L5")],
  ]),
  ...rows("patterns", "regexp", [
    ["a class with space in slashes", `${inTools} /[ ]fn[ ]/`, tools("src/mod.rs:L1")],
    ["an escaped space", `${inTools} pub\\ fn`, tools("src/mod.rs:L1")],
    ["a colon in a class", `${inTools} [[:upper:]]{6}_`, tools("lib/widget.h:L2")],
    ["escaped parentheses", `${inTools} target\\(\\)`, tools("src/mod.rs:L1")],
    ["() in the middle", `${inTools} target().*str`, tools("src/mod.rs:L1")],
    ["a group of the regexp with space", `${inTools} (pub fn|def build)`, tools("src/mod.rs:L1", "tools/build.py:L4")],
    ["a flag", `${inTools} (?-i)TARGET`, tools("src/mod.rs:L2")],
    ["a quoted text beside a regexp", `${inTools} "build(target)" :$`, tools("tools/build.py:L4")],
  ]),
  ...rows("patterns", "literal", [
    ["a regexp is text", `${inTools} /tar(get)/`, []],
    ["a call", `${inTools} build(target):`, tools("tools/build.py:L4")],
    ["a star", `${inTools} *.py ann`, tools("CODEOWNERS:L2")],
    ["not", `${inTools} build not target`, tools("Makefile:L2")],
    ["a group", `${inTools} (target or goal) and build`, tools("tools/build.py:L4,L5")],
  ]),
];

export const lexing: readonly CaseRow[] = [
  gaps,
  keywordGaps,
  operators,
  negations,
  fieldNames,
  values,
  patterns,
].flat();

import { parser, rows, tools, unable, type CaseRow, type CaseType } from "./row.js";

/*
 * The same text read as each of the pattern types. Section 1 of the description as a table, one line for each row of it
 * and more.
 */

type Wanted = Readonly<Record<Exclude<CaseType, "structural">, readonly string[]>>;

function each(name: string, query: string, want: Wanted): readonly CaseRow[] {
  const types = ["standard", "keyword", "literal", "regexp"] as const;
  return types.flatMap((type) => rows("side by side", type, [[name, query, want[type]]]));
}

/** The same answer from each type. */
function all(name: string, query: string, ...want: string[]): readonly CaseRow[] {
  return each(name, query, { standard: want, keyword: want, literal: want, regexp: want });
}

const inTools = "r:^acme/tools$ type:file";
const inParser = "r:^parser$ type:file";

const target = tools("src/mod.rs:L1,L2", "tools/build.py:L4,L5");
const words = parser("docs/usage.md:L1,L2,L3,L4,L5");
const mixed = [
  `${unable}I'm having trouble understanding that query. The combination of parentheses is the problem. Try using the content: filter to quote patterns that contain parentheses`,
];

export const sideBySide: readonly CaseRow[] = [
  each("two words", `${inParser} foo bar`, {
    standard: parser("docs/usage.md:L1"),
    keyword: words,
    literal: parser("docs/usage.md:L1"),
    regexp: parser("docs/usage.md:L1,L4"),
  }),
  each("two words with more space", `${inTools} struct  widget`, {
    standard: [],
    keyword: tools("lib/widget.cpp:L1", "lib/widget.h:L1,L2"),
    literal: [],
    regexp: tools("lib/widget.cpp:L1", "lib/widget.h:L1"),
  }),
  each("double quotes", `${inParser} "foo bar"`, {
    standard: [],
    keyword: parser("docs/usage.md:L1"),
    literal: [],
    regexp: parser("docs/usage.md:L1"),
  }),
  each("single quotes", `${inParser} 'bar foo'`, {
    standard: [],
    keyword: parser("docs/usage.md:L5"),
    literal: [],
    regexp: parser("docs/usage.md:L5"),
  }),
  each("quotes that are in the text", `${inTools} "TARGET"`, {
    standard: tools("src/mod.rs:L2"),
    keyword: target,
    literal: tools("src/mod.rs:L2"),
    regexp: target,
  }),
  each("slashes", `${inParser} /foo.*bar/`, {
    standard: parser("docs/usage.md:L1,L4"),
    keyword: parser("docs/usage.md:L1,L4"),
    literal: [],
    regexp: parser("docs/usage.md:L1,L4"),
  }),
  each("slashes around space", `${inTools} /int> s/`, {
    standard: tools("lib/widget.cpp:L2"),
    keyword: tools("lib/widget.cpp:L2"),
    literal: [],
    regexp: tools("lib/widget.cpp:L2"),
  }),
  each("a dot", `${inParser} f.o`, {
    standard: [],
    keyword: [],
    literal: [],
    regexp: parser("docs/usage.md:L1,L2,L4,L5", "src/lexer.c:L2", "src/parser.go:L9", "src/parser_test.go:L5"),
  }),
  each("a plus", `${inTools} plus+plus`, {
    standard: tools("a b/c+d (e).txt:L2"),
    keyword: tools("a b/c+d (e).txt:L2"),
    literal: tools("a b/c+d (e).txt:L2"),
    regexp: [],
  }),
  each("anchors", `${inTools} caret^dollar$`, {
    standard: tools("a b/c+d (e).txt:L3"),
    keyword: tools("a b/c+d (e).txt:L3"),
    literal: tools("a b/c+d (e).txt:L3"),
    regexp: [],
  }),
  each("a dollar in front", `${inTools} $VERSION`, {
    standard: tools("tools/release.sh:L2"),
    keyword: tools("tools/release.sh:L2"),
    literal: tools("tools/release.sh:L2"),
    regexp: [],
  }),
  each("a class", `${inTools} \\w+_score`, {
    standard: [],
    keyword: [],
    literal: [],
    regexp: tools("a b/c+d (e).txt:L4"),
  }),
  each("a backslash", `${inParser} C:\\temp`, {
    standard: parser("docs/usage.md:L6"),
    keyword: parser("docs/usage.md:L6"),
    literal: parser("docs/usage.md:L6"),
    regexp: [],
  }),
  each("a call", `${inTools} start(port, port)`, {
    standard: tools("web/legacy/app.js:L2"),
    keyword: tools("web/legacy/app.js:L2"),
    literal: tools("web/legacy/app.js:L2"),
    regexp: [],
  }),
  each("a word and a call", `${inTools} WIDGET_MAX size(x, y)`, {
    standard: tools("lib/widget.h:L2"),
    keyword: tools("lib/widget.h:L2"),
    literal: tools("lib/widget.h:L2"),
    regexp: [],
  }),
  each("a call and a word", `${inTools} size(x, y) WIDGET_MAX`, {
    standard: [],
    keyword: tools("lib/widget.h:L2"),
    literal: [],
    regexp: [],
  }),
  all("a call without arguments", `${inTools} target()`, ...tools("src/mod.rs:L1")),
  all("two parentheses", `${inTools} ()`, ...tools("src/mod.rs:L1", "web/app.ts:L2", "web/app.tsx:L1")),
  each("parentheses around a word", `${inTools} (target)`, {
    standard: tools("tools/build.py:L4"),
    keyword: target,
    literal: tools("tools/build.py:L4"),
    regexp: target,
  }),
  each("parentheses around words", `${inTools} (struct widget)`, {
    standard: [],
    keyword: tools("lib/widget.cpp:L1", "lib/widget.h:L1,L2"),
    literal: [],
    regexp: tools("lib/widget.cpp:L1", "lib/widget.h:L1"),
  }),
  each("parentheses around words with a comma", `${inTools} (port, port)`, {
    standard: tools("web/legacy/app.js:L2"),
    keyword: tools("web/legacy/app.js:L1,L2"),
    literal: tools("web/legacy/app.js:L2"),
    regexp: tools("web/legacy/app.js:L2"),
  }),
  each("many parentheses", `${inTools} (((target)))`, { standard: [], keyword: target, literal: [], regexp: target }),
  each("a parenthesis that opens nothing", `${inParser} open (`, {
    standard: parser("src/lexer.c:L3"),
    keyword: parser("src/lexer.c:L2,L3,L4"),
    literal: parser("src/lexer.c:L3"),
    regexp: parser("src/lexer.c:L3"),
  }),
  all("a group", `${inTools} (port or start) and basePort`, ...tools("web/app.ts:L1,L2", "web/legacy/app.js:L1,L2")),
  each("a group beside a word", `${inTools} (target or goal) build`, {
    standard: mixed,
    keyword: tools("tools/build.py:L4,L5"),
    literal: mixed,
    regexp: tools("tools/build.py:L4,L5"),
  }),
  each("a word beside a group", `${inTools} build (target or goal)`, {
    standard: mixed,
    keyword: tools("tools/build.py:L4,L5"),
    literal: mixed,
    regexp: tools("tools/build.py:L4,L5"),
  }),
  all(
    "or",
    `${inTools} widget or target`,
    ...target,
    ...tools("lib/Widget.m:L1", "lib/widget.cpp:L1", "lib/widget.h:L1,L2"),
  ),
  all("and", `${inTools} target and build`, ...tools("tools/build.py:L4,L5")),
  all("not first: nothing is joined", `${inTools} not target def`, ...tools("lib/widget.h:L2")),
  all("two slashes", `${inParser} //`, ...parser("docs/usage.md:L6", "src/parser.go:L3,L9")),
  all("a path", `${inTools} /usr/bin`, ...tools("tools/build.py:L1")),
  all("a single quote", `${inTools} 'static`, ...tools("src/mod.rs:L1")),
  all("a double quote", `${inTools} "`, ...tools("src/mod.rs:L2", "tools/build.py:L5", "tools/release.sh:L2")),
  all("text behind a quoted one", `${inTools} "out"x`),
  all("colons", `${inTools} std::vector<int>`, ...tools("lib/widget.cpp:L2")),
  all("an at", `${inTools} @end`, ...tools("lib/Widget.m:L2")),
  all("a minus is no negation", `${inTools} -target`),
  each("several words", `${inTools} port = basePort;`, {
    standard: tools("web/legacy/app.js:L1"),
    keyword: tools("web/app.ts:L1,L2", "web/legacy/app.js:L1,L2"),
    literal: tools("web/legacy/app.js:L1"),
    regexp: tools("web/app.ts:L1", "web/legacy/app.js:L1"),
  }),
  each("a quoted text between words", `${inTools} echo "release $VERSION" #`, {
    standard: tools("tools/release.sh:L2"),
    keyword: tools("tools/release.sh:L1,L2"),
    literal: tools("tools/release.sh:L2"),
    regexp: tools("tools/release.sh:L2"),
  }),
  each("a regexp between words", `${inTools} def /b\\w+d/ target`, {
    standard: tools("tools/build.py:L4,L5"),
    keyword: tools("tools/build.py:L4,L5"),
    literal: [],
    regexp: tools("tools/build.py:L4"),
  }),
  each("content: of a regexp", `${inTools} content:t[a-z]rget`, {
    standard: [],
    keyword: [],
    literal: [],
    regexp: target,
  }),
  each("content: of a text with operators of regexps", `${inTools} content:"plus+plus"`, {
    standard: tools("a b/c+d (e).txt:L2"),
    keyword: tools("a b/c+d (e).txt:L2"),
    literal: tools("a b/c+d (e).txt:L2"),
    regexp: [],
  }),
].flat();

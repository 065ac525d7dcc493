import { rows } from "./row.js";

/*
 * Questions with predicates: conditions on what files hold, on who wrote and who owns them, and on what repositories have.
 * The form of the rows is that of `row.ts`.
 */

const contents = rows("file:has.content", "standard", [
  ["alone: paths", "repo:^parser$ file:has.content(copy_from_user)", ["parser:src/lexer.c", "parser:src/parser.go"]],
  [
    "what it matches is no result",
    "repo:^parser$ type:file file:has.content(copy_from_user) nil",
    ["parser:src/parser.go:L10"],
  ],
  [
    "unless the pattern matches it, too",
    "repo:^parser$ type:file file:has.content(nil) nil",
    ["parser:src/parser.go:L10"],
  ],
  [
    "a regexp",
    String.raw`repo:^parser$ type:file file:has.content(^func\s+parse[A-Z]) package`,
    ["parser:src/parser.go:L1"],
  ],
  [
    "spaces and parentheses",
    "repo:^parser$ type:file file:has.content(foo(a, b)|open \\() lex",
    ["parser:src/lexer.c:L1,L2,L4"],
  ],
  ["an older name", "repo:^parser$ type:file f:contains.content(strict) tokens", ["parser:src/parser.go:L3"]],
  [
    "several all hold",
    "repo:^parser$ file:has.content(package) file:has.content(testing)",
    ["parser:src/parser_test.go"],
  ],
  ["without regard to case", "repo:^parser$ file:has.content(PACKAGE) file:test", ["parser:src/parser_test.go"]],
  ["with regard to case", "repo:^parser$ case:yes file:has.content(PACKAGE)", []],
  ["a negated one", "repo:^parser$ -file:has.content(parse)", ["parser:src/lexer.c", "parser:src/lexer.h"]],
  [
    "not, beside a pattern",
    "repo:^parser$ type:file not file:has.content(func) package or lex",
    ["parser:src/lexer.c:L1,L2,L4", "parser:src/lexer.h:L1"],
  ],
  [
    "a file without indexed text",
    "repo:^odd$ -file:has.content(.) file:(nul|link)",
    ["odd:link", "odd:nul-8000.bin", "odd:nul.bin"],
  ],
  ["paths are looked at as before", "repo:^parser$ type:path file:has.content(main) lexer", ["parser:src/lexer.c"]],
  ["no path matches it", "repo:^parser$ file:has.content(lexer.c)", []],
  ["repositories are left out", "file:has.content(tokens) parser", ["parser:src/parser.go:L1"]],
  [
    "for one side of or",
    "repo:^parser$ (file:has.content(strict) tokens) or (file:usage foo)",
    ["parser:docs/usage.md:L1,L2,L4,L5", "parser:src/parser.go:L3"],
  ],
  ["on a branch", "repo:^parser$@dev file:has.content(development)", ["parser@dev:README.md"]],
]);

const text = ["docs/usage.md", "src/lexer.c", "src/lexer.h"].map((path) => `parser:${path}`);
const spaced = ["README.md", "src/parser.go", "src/parser_test.go"].map((path) => `parser:${path}`);

/** An empty match is no result, but a condition; there is no line after the last newline. */
const emptyMatches = rows("empty matches", "standard", [
  ["an empty line", "repo:^parser$ file:has.content(^$)", spaced],
  ["no empty line", "repo:^parser$ -file:has.content(^$)", text],
  ["no empty line: not", "repo:^parser$ not file:has.content(^$)", text],
  ["an older name", "repo:^parser$ f:contains.content(^$)", spaced],
  ["with a flag", "repo:^parser$ file:has.content((?m)^$)", spaced],
  ["any line", "repo:^odd$ -file:has.content(^) file:txt", ["odd:empty.txt"]],
  ["an end of a line", "repo:^odd$ -file:has.content($) file:txt", ["odd:empty.txt"]],
  ["the end of a line without a newline", "repo:^odd$ file:has.content($) file:no-newline", ["odd:no-newline.txt"]],
  ["no letters are no condition", "repo:^odd$ -file:has.content(x*) file:txt", ["odd:empty.txt"]],
  ["a word's edge", String.raw`repo:^odd$ -file:has.content(\b) file:txt`, ["odd:empty.txt"]],
  ["a line before CRLF", "repo:^odd$ file:has.content(^$)", []],
  ["and", "repo:^parser$ type:file tokens and /^$/", ["parser:src/parser.go:L3"]],
  ["and: no empty line", "repo:^parser$ type:file lex and /^$/", []],
  ["not", "repo:^parser$ type:file lex not /^$/", ["parser:src/lexer.c:L1,L2,L4", "parser:src/lexer.h:L1"]],
  ["not: an empty line", "repo:^parser$ type:file tokens not /^$/", []],
  [
    "first, and a pattern not",
    "repo:^parser$ type:file /^$/ not tokens",
    ["parser:README.md", "parser:src/parser_test.go"],
  ],
  ["two empty matches are no result", "repo:^parser$ type:file /^$/ and /x*/", []],
  ["or", "repo:^parser$ type:file tokens or /^$/", ["parser:src/parser.go:L3"]],
  ["or, with another", "repo:^parser$ type:file lex and (/^$/ or main)", ["parser:src/lexer.c:L1,L2,L4"]],
  ["a repository", "repo:has.content(^$) type:repo", ["acme/tools", "parser"]],
  ["a repository: not", "-repo:has.content(^$) type:repo", ["empty", "hidden", "odd"]],
  ["a repository's file", "repo:has.file(path:lexer content:^$)", ["alert: No repositories found: …"]],
  ["another file of a repository", "repo:has.file(path:parser.go content:^$)", ["parser"]],
  [
    "a commit that is not indexed",
    "repo:^parser$@main~0 file:has.content(^$) file:READ type:path",
    ["parser@main~0:README.md"],
  ],
  ["newlines of a class", String.raw`repo:^parser$ type:file /\s+$/`, []],
  ["newlines of a negated class", String.raw`repo:^parser$ type:file /[^a-z.;)}"{0-9]$/`, ["parser:src/lexer.c:L3"]],
  ["a carriage return before the end", String.raw`repo:^odd$ type:file /\s+$/`, []],
  ["a carriage return", String.raw`repo:^odd$ type:file /[a-z]\s+[a-z]?/ file:crlf`, ["odd:crlf.txt:L1,L2,L3"]],
  ["a condition of newlines", String.raw`repo:^parser$ file:has.content(\s+$)`, []],
  [
    "two newlines",
    String.raw`repo:^parser$ type:file /\n\n/`,
    ["parser:README.md:L1", "parser:src/parser.go:L1,L6", "parser:src/parser_test.go:L1"],
  ],
  ["the last newline", String.raw`repo:^parser$ type:file file:lexer.h /\n/`, ["parser:src/lexer.h:L1"]],
]);

const left = ["repository-fork", "excluded-archive"];

const repositories = rows("repositories that hold", "standard", [
  ["a path", String.raw`repo:has.path(\.go$)`, ["parser"], left],
  [
    "a path, among forks and archived ones",
    String.raw`repo:has.path(\.go$) fork:yes archived:yes`,
    ["old", "parser", "parser-fork"],
    [],
  ],
  ["a path, whatever its case", "case:yes repo:has.path(makefile)", ["acme/tools"]],
  ["a path of a file without indexed text", "repo:has.path(nul.bin)", ["odd"]],
  ["no such path", String.raw`-repo:has.path(\.(go|txt|py)$)`, ["empty"]],
  ["not, with a word", "not repo:has.path(README) alpha type:file file:secret", ["hidden:secret.txt:L1"]],
  ["several paths", "repo:has.path(README) repo:has.path(lexer)", ["parser"]],
  ["a path and not another", String.raw`repo:has.path(\.txt$) -repo:has.path(latin1)`, ["acme/tools", "hidden"]],
  ["an older name", "r:contains.path(^Makefile$)", ["acme/tools"]],
  ["the oldest name", "repohasfile:^Makefile$", ["acme/tools"]],
  ["the oldest name, negated", String.raw`-repohasfile:\.(go|txt|py)$`, ["empty"]],
  ["text", "repo:has.content(^package\\s)", ["parser"]],
  ["text, whatever its case", "case:yes repo:has.content(ALPHA)", ["hidden", "odd"]],
  ["text that no path is", "repo:has.content(lexer\\.c)", ["alert: No repositories found: …"]],
  ["no text", "-repo:has.content(alpha|parse)", ["acme/tools", "empty"]],
  ["an older name for text", "repo:contains.content(std::vector)", ["acme/tools"]],
  ["one file with both", "repo:has.file(path:lexer content:main)", ["parser"]],
  ["two files are not one", "repo:has.file(path:README content:tokens)", ["alert: No repositories found: …"]],
  ["both, as two", "repo:has.path(README) repo:has.content(tokens)", ["parser"]],
  ["a path without a name", "repo:has.file(^Makefile$)", ["acme/tools"]],
  ["older names", "repo:contains.file(path:lexer content:main) repo:contains(file:lexer content:int)", ["parser"]],
  ["no file with both", "-repo:has.file(path:go$ content:tokens) repo:^(parser|odd)$", ["odd"]],
  [
    "files of such repositories",
    "repo:has.path(^Makefile$) type:file target",
    ["acme/tools:src/mod.rs:L1,L2", "acme/tools:tools/build.py:L4,L5"],
  ],
  ["beside a name", "repo:tools repo:has.path(widget) type:repo", ["acme/tools"]],
  ["none", "repo:has.path(^nowhere$) parse", ["alert: No repositories found: …"]],
  [
    "at the branch that is searched",
    "repo:^parser$@dev repo:has.path(dev_only) type:file onlyOnDev",
    ["parser@dev:src/dev_only.go:L3"],
  ],
  ["not at another one", "repo:^parser$ repo:has.path(dev_only)", ["alert: No repositories found: …"]],
  ["of several branches those that have it", "repo:^parser$@main:dev repo:has.path(dev_only)", ["parser@dev"]],
  ["of several branches those that do not", "repo:^parser$@main:dev -repo:has.path(dev_only)", ["parser@main"]],
  [
    "rev: beside it alone",
    "rev:dev repo:has.path(dev_only) file:dev_only",
    ["parser@dev:src/dev_only.go", "alert: Some repositories could not be searched: …"],
  ],
  [
    "a path at a commit that is not indexed",
    "repo:^acme/tools$@main~1:main repo:has.path(^web/app)",
    ["acme/tools@main"],
  ],
  ["no such path there", "repo:^acme/tools$@main~1:main -repo:has.path(^WEB/app)", ["acme/tools@main~1"]],
  [
    "text at a commit that is not indexed",
    "repo:^acme/tools$@main~1:main~2 repo:has.content(os\\.path) file:Makefile",
    ["acme/tools@main~1:Makefile"],
  ],
  [
    "one file with both at a commit that is not indexed",
    "repo:^acme/tools$@main~1 repo:has.file(path:\\.py$ content:IMPORT) repo:has.path(widget)",
    ["acme/tools@main~1"],
  ],
  [
    "two files are not one there",
    "repo:^acme/tools$@main~1 repo:has.file(path:\\.sh$ content:import)",
    ["alert: No repositories found: …"],
  ],
  [
    "for each side of or",
    "(repo:has.path(README) type:repo) or (repo:has.path(Makefile) type:repo)",
    ["acme/tools", "parser"],
  ],
]);

// Each repository's commits are one second apart, from 1,700,000,000 on, which is in the evening of 14 November 2023.
const histories = rows("repo:has.commit.after", "standard", [
  ["a day", "repo:has.commit.after(2023-11-14)", ["acme/tools", "hidden", "odd", "parser"]],
  ["a day in quotes", `repo:has.commit.after("2023-11-14")`, ["acme/tools", "hidden", "odd", "parser"]],
  ["a later day", "repo:has.commit.after(2023-11-15)", ["alert: No repositories found: …"]],
  ["the very second is not after it", "repo:has.commit.after(1700000000)", ["acme/tools"]],
  ["words", "repo:has.commit.after(1 week ago)", ["alert: No repositories found: …"]],
  ["negated", "-repo:has.commit.after(1700000000)", ["empty", "hidden", "odd", "parser"]],
  ["an older name", "repo:contains.commit.after(1700000000)", ["acme/tools"]],
  ["the oldest name", "repohascommitafter:1700000000", ["acme/tools"]],
  ["the oldest name, quoted", `repohascommitafter:"14 november 2023"`, ["acme/tools", "hidden", "odd", "parser"]],
  [
    "at the branch that is searched",
    "repo:^parser$@main:dev repo:has.commit.after(1700000000) file:README",
    ["parser@dev:README.md"],
  ],
  [
    "at a commit that is not indexed",
    "repo:^acme/tools$@main~1 repo:has.commit.after(1700000000) file:Makefile",
    ["acme/tools@main~1:Makefile"],
  ],
  [
    "not at an older one",
    "repo:^acme/tools$@main~2 repo:has.commit.after(1700000000) file:Makefile",
    ["alert: No repositories found: …"],
  ],
  [
    "files of such repositories",
    "repo:has.commit.after(1700000000) type:file target file:rs$",
    ["acme/tools:src/mod.rs:L1,L2"],
  ],
  ["beside a path", "repo:has.commit.after(1699999999) repo:has.path(README)", ["parser"]],
  [
    "a date that cannot be read",
    "repo:has.commit.after(someday)",
    ["alert: Unable To Process Query: Invalid predicate value: invalid date format"],
  ],
]);

const everyones = ["acme/tools:Makefile", "acme/tools:tools/release.sh"];
const bens = ["acme/tools:web/app.ts", "acme/tools:web/app.tsx"];

const owners = rows("file:has.owner", "standard", [
  ["an account", "repo:^acme/tools$ file:has.owner(@ben)", bens],
  ["without @, in any case", "repo:^acme/tools$ file:has.owner(BEN)", bens],
  ["an address", "repo:^acme/tools$ file:has.owner(ann@acme.test)", ["acme/tools:tools/build.py"]],
  ["a team", "repo:^acme/tools$ file:has.owner(@acme/everyone) file:^(Makefile|tools|web)", everyones],
  ["a part of a name is no owner", "repo:^acme/tools$ file:has.owner(everyone)", []],
  ["anybody", "repo:^acme/tools$ file:has.owner() file:^web/", bens],
  ["nobody", "repo:^acme/tools$ -file:has.owner()", ["acme/tools:web/legacy/app.js"]],
  ["not this one", "repo:^acme/tools$ -file:has.owner(@ben) file:^web/", ["acme/tools:web/legacy/app.js"]],
  ["no result, and no alert", "file:has.owner(ben) no-such-text", [], left],
  [
    "beside a pattern",
    "type:file file:has.owner(ben) port",
    ["acme/tools:web/app.ts:L1,L2", "acme/tools:web/app.tsx:L1"],
  ],
  ["in all repositories", "file:has.owner(ben)", bens],
  ["several all hold", "file:has.owner(ben) file:has.owner(ann@acme.test)", []],
  [
    "a repository without the file",
    "repo:^parser$ -file:has.owner() file:lexer",
    ["parser:src/lexer.c", "parser:src/lexer.h"],
  ],
  [
    "for one side of or",
    "(file:has.owner(ben) type:path) or (file:lexer.c type:path)",
    [...bens, "parser:src/lexer.c"],
  ],
  [
    "at a commit that is not indexed",
    "repo:^acme/tools$@main~1 file:has.owner(ann@acme.test)",
    ["acme/tools@main~1:tools/build.py"],
  ],
  [
    "there and on a branch",
    "repo:^acme/tools$@main~1:main file:has.owner(ben)",
    ["acme/tools@main:web/app.ts", "acme/tools@main:web/app.tsx"],
  ],
  [
    "at each commit by itself",
    "repo:^acme/tools$@release/1.0:main file:has.owner() file:Makefile",
    ["acme/tools@main:Makefile"],
  ],
  [
    "at each commit by itself, negated",
    "repo:^acme/tools$@release/1.0:main -file:has.owner() file:Makefile",
    ["acme/tools@release/1.0:Makefile"],
  ],
]);

const ownersSelected = rows("select:file.owners", "standard", [
  ["each once", "repo:^acme/tools$ file:^web/app select:file.owners", ["owner:@ben"]],
  [
    "of results without one, too",
    "repo:^acme/tools$ file:^(tools|web)/ select:file.owners",
    ["owner:@acme/everyone", "owner:@ben", "owner:ann@acme.test", "alert: Some results have no owners: …"],
  ],
  ["of a pattern's results", "type:file target select:file.owners", ["owner:@acme/everyone", "owner:ann@acme.test"]],
  [
    "at a commit that is not indexed",
    "repo:^acme/tools$@main~1 file:^tools/build select:file.owners",
    ["owner:ann@acme.test"],
  ],
  ["counted as one each", "repo:^acme/tools$ file:^web/app select:file.owners count:1", ["owner:@ben"], []],
  ["no result, and no alert", "no-such-text select:file.owners", [], left],
  ["not of repositories", "acme select:file.owners repo:^acme/tools$ type:repo", []],
]);

const contributors = rows("file:has.contributor", "standard", [
  ["a name", "repo:^acme/tools$ file:has.contributor(ann)", ["acme/tools:tools/build.py"]],
  ["an address", "repo:^acme/tools$ file:has.contributor(@acme\\.test$)", ["acme/tools:tools/build.py", ...bens]],
  ["a name with its address", "repo:^acme/tools$ file:has.contributor(^Ben <ben@acme.test>$)", bens],
  ["name and address are looked at one by one", "repo:^acme/tools$ file:has.contributor(^Ben$)", bens],
  ["with regard to case", "repo:^acme/tools$ case:yes file:has.contributor(ANN)", []],
  ["negated", "repo:^acme/tools$ -file:has.contributor(fixture)", ["acme/tools:tools/build.py", ...bens]],
  ["several all hold", "file:has.contributor(ann) file:has.contributor(ben)", []],
  [
    "one and not another",
    "repo:^acme/tools$ file:has.contributor(acme) -file:has.contributor(ben)",
    ["acme/tools:tools/build.py"],
  ],
  [
    "beside a pattern, in all repositories",
    "type:file file:has.contributor(ben) port",
    ["acme/tools:web/app.ts:L1,L2", "acme/tools:web/app.tsx:L1"],
  ],
  ["no result, and no alert", "file:has.contributor(ann) no-such-text", [], left],
  ["beside an owner", "file:has.owner() file:has.contributor(ann)", ["acme/tools:tools/build.py"]],
  [
    "at the branch that is searched",
    "repo:^acme/tools$@release/1.0 type:file file:has.contributor(ann) goal",
    ["acme/tools@release/1.0:tools/build.py:L3,L4"],
  ],
  [
    "at a commit that is not indexed",
    "repo:^acme/tools$@main~1 file:has.contributor(ann)",
    ["acme/tools@main~1:tools/build.py"],
  ],
  ["not before the author came", "repo:^acme/tools$@main~2 file:has.contributor(ann)", []],
  ["nobody", "file:has.contributor(nobody)", []],
]);

export const predicates = [
  contents,
  emptyMatches,
  repositories,
  histories,
  owners,
  ownersSelected,
  contributors,
].flat();

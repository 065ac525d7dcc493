import { givenTypes } from "./fields.js";
import { lexing, versions } from "./lexing.js";
import { expressions } from "./expressions.js";
import { sideBySide } from "./pattern-types.js";
import { results } from "./results.js";
import { rows, unable, type CaseRow } from "./row.js";
import { validation } from "./validation.js";

/*
 * Questions to the repositories of `corpus.ts`, and their answers as the interface's description has them. The files
 * beside this one hold more of them, one file for each part of the language.
 */

const left = ["repository-fork", "excluded-archive"];

const literals = rows("words", "standard", [
  [
    "a word, whatever its case",
    "type:file Parse",
    [
      "parser:README.md:L1,L3",
      "parser:docs/usage.md:L1",
      "parser:src/parser.go:L1,L3,L4,L5,L8",
      "parser:src/parser_test.go:L1,L3,L4,L5",
    ],
  ],
  [
    "a word in this case",
    "type:file case:yes Parse",
    ["parser:README.md:L1", "parser:src/parser.go:L3,L4", "parser:src/parser_test.go:L3,L4,L5"],
  ],
  ["words are one text", "type:file foo bar", ["parser:docs/usage.md:L1"]],
  ["with the space as typed", "type:file foo   bar", ["parser:docs/usage.md:L4"]],
  ["with more space than there is", "type:file foo    bar", []],
  ["quotes are text", `type:file "a b"`, ["parser:src/parser_test.go:L4"]],
  ["a call", "type:file foo(a, b)", ["parser:src/parser_test.go:L5"]],
  ["a call without arguments", "type:file main()", ["parser:src/lexer.c:L4"]],
  ["a parenthesis that opens nothing", "type:file open (", ["parser:src/lexer.c:L3"]],
  ["parentheses around words", "type:file (input string)", ["parser:src/parser.go:L4"]],
  ["a backslash is text", "type:file C:\\temp", ["parser:docs/usage.md:L6"]],
  ["a colon after an unknown field", "type:file http://x.y", ["parser:docs/usage.md:L6"]],
  ["two slashes", "type:file // Parse", ["parser:src/parser.go:L3"]],
  ["a minus before a word is text", "type:file -foo", []],
  ["an operator at the end is text", "type:file user or", ["parser:src/parser.go:L9"]],
  ["slashes inside a word", "type:file docs/usage", ["parser:README.md:L4"]],
  ["nothing found", "type:file no_such_thing", []],
]);

const regexps = rows("regexps", "standard", [
  ["a regexp", "type:file /copy_(to|from)_user/", ["parser:src/lexer.c:L2", "parser:src/parser.go:L9"]],
  ["start of line", "type:file /^func/", ["parser:src/parser.go:L4,L8", "parser:src/parser_test.go:L3"]],
  ["end of line", "type:file repo:^parser$ /\\{$/", ["parser:src/parser.go:L4,L8", "parser:src/parser_test.go:L3"]],
  ["a dot is no newline", "type:file /foo.*bar/", ["parser:docs/usage.md:L1,L4"]],
  ["space may be a newline", "type:file /foo\\s+bar/", ["parser:docs/usage.md:L1,L2,L3,L4"]],
  ["a newline", "type:file /foo\\nbar/", ["parser:docs/usage.md:L2,L3"]],
  ["case is ignored", "type:file /PARSEALL/", ["parser:src/parser.go:L5,L8"]],
  ["case is not ignored", "type:file case:yes /PARSEALL/", []],
  ["a flag wins over case:yes", "type:file case:yes /(?i)PARSEALL/", ["parser:src/parser.go:L5,L8"]],
  ["word boundaries", "type:file /\\blex\\b/", ["parser:src/lexer.c:L2,L4", "parser:src/lexer.h:L1"]],
  ["beside a word: both, anywhere", "type:file /^func/ input", ["parser:src/parser.go:L4,L5,L8"]],
  ["an escaped slash", "type:file /http:\\/\\//", ["parser:docs/usage.md:L6"]],
  ["text after the slash: no regexp", "type:file /a/b/", []],
  ["empty matches are none", "type:file /(tokens)?/", ["parser:src/parser.go:L3"]],
  ["only empty matches", "type:file /^/", []],
  ["a class", "type:file /[0-9]/", ["parser:src/lexer.c:L4"]],
]);

const operators = rows("operators", "standard", [
  ["and: in one document", "type:file lex and main", ["parser:src/lexer.c:L1,L2,L4"]],
  ["and: not in two", "type:file foo and copy_from_user", []],
  ["or", "type:file tokens or nil", ["parser:src/parser.go:L3,L10"]],
  ["or, in two documents", "type:file tokens or /^foo/", ["parser:docs/usage.md:L2,L4", "parser:src/parser.go:L3"]],
  ["in capitals", "type:file tokens OR nil", ["parser:src/parser.go:L3,L10"]],
  ["and binds tighter", "type:file tokens or nil and strict", ["parser:src/parser.go:L3,L8,L10"]],
  ["a group", "type:file (tokens or foo) and strict", ["parser:src/parser.go:L3,L8"]],
  ["and not", "type:file copy_from_user and not copy_to_user", ["parser:src/lexer.c:L2"]],
  ["not beside a word", "type:file lex not main", ["parser:src/lexer.h:L1"]],
  [
    "not alone: paths",
    "type:file not parse file:src",
    ["acme/tools:src/mod.rs", "parser:src/lexer.c", "parser:src/lexer.h"],
  ],
  [
    "a not that is not needed adds no lines",
    "type:file tokens or not parse file:src/parser",
    ["parser:src/parser.go:L3"],
  ],
  ["a word beside nested groups", "type:file lex and (main or (nothing and tokens))", ["parser:src/lexer.c:L1,L2,L4"]],
  ["three", "type:file package and input and strict", ["parser:src/parser.go:L1,L4,L5,L8"]],
]);

const keywords = rows("words", "keyword", [
  ["words anywhere in a document", "type:file tokens nil", ["parser:src/parser.go:L3,L10"]],
  ["a phrase", `type:file "foo bar"`, ["parser:docs/usage.md:L1"]],
  ["a phrase in single quotes", "type:file 'a b'", ["parser:src/parser_test.go:L4"]],
  ["a phrase and a regexp", `type:file "foo bar" /^bar/`, ["parser:docs/usage.md:L1,L3,L5"]],
  ["a group beside a word", "type:file (tokens or foo) strict", ["parser:src/parser.go:L3,L8"]],
  ["a call", "type:file foo(a, b)", ["parser:src/parser_test.go:L5"]],
  ["a call and a word", "type:file main() lex", ["parser:src/lexer.c:L1,L2,L4"]],
  ["one in the path, one in the content", "usage foo", ["parser:docs/usage.md:L1,L2,L4,L5"]],
  ["quotes within quotes", `type:file "(\\"a b"`, ["parser:src/parser_test.go:L4"]],
  ["not", "type:file lex not main", ["parser:src/lexer.h:L1"]],
  ["a parenthesis that opens nothing", "type:file open (", ["parser:src/lexer.c:L2,L3,L4"]],
  ["repositories with all words", "type:repo par ser", ["parser"]],
  ["repositories with one word but not the other", "type:repo d not odd", ["hidden"]],
]);

const literalType = rows("words", "literal", [
  ["slashes are text", "type:file /* open", ["parser:src/lexer.c:L3"]],
  ["quotes are text", `type:file "a b"`, ["parser:src/parser_test.go:L4"]],
  ["parentheses are text", "type:file (a, b)", ["parser:src/parser_test.go:L5"]],
  ["operators are operators", "type:file tokens or nil", ["parser:src/parser.go:L3,L10"]],
  ["a dot is a dot", "type:file x.y", ["parser:docs/usage.md:L6"]],
]);

const regexpType = rows("words", "regexp", [
  ["words in this order on one line", "type:file foo bar", ["parser:docs/usage.md:L1,L4"]],
  ["a group of the regexp", "type:file copy_(to|from)_user", ["parser:src/lexer.c:L2", "parser:src/parser.go:L9"]],
  ["() is text", "type:file main()", ["parser:src/lexer.c:L4"]],
  ["a quoted text", `type:file "foo(a, b)"`, ["parser:src/parser_test.go:L5"]],
  ["anchors", "type:file ^func (Parse|TestParse)", ["parser:src/parser.go:L4,L8", "parser:src/parser_test.go:L3"]],
  ["a parenthesis at the end", "type:file open (", ["parser:src/lexer.c:L3"]],
  ["empty lines match nothing", "type:file ^$", []],
  ["content: is a regexp", "content:^package\\s+parser", ["parser:src/parser.go:L1", "parser:src/parser_test.go:L1"]],
  ["a group of the query", "type:file (^foo or ^bar)", ["parser:docs/usage.md:L2,L3,L4,L5"]],
  ["on repository names", "type:repo ^(odd|hidden)$", ["hidden", "odd"]],
]);

const typeInQuery = [
  ...rows("type in the query", "standard", [
    ["patternType:regexp", "type:file foo.*bar patternType:regexp", ["parser:docs/usage.md:L1,L4"]],
    ["patternType:keyword", "type:file tokens nil patternType:keyword", ["parser:src/parser.go:L3,L10"]],
  ]),
  ...rows("type in the query", "regexp", [
    ["patterntype:literal", "type:file foo.*bar patterntype:literal", []],
    ["patterntype:standard", "type:file x.y patterntype:standard", ["parser:docs/usage.md:L6"]],
  ]),
];

const files = rows("files", "standard", [
  ["a name", "file:README", ["parser:README.md"]],
  ["an ending", "file:\\.go$", ["parser:src/parser.go", "parser:src/parser_test.go"]],
  ["but not this one", "file:\\.go$ -file:_test", ["parser:src/parser.go"]],
  ["not, in words", "file:\\.go$ NOT file:_test", ["parser:src/parser.go"]],
  ["whatever its case", "file:SRC file:lexer", ["parser:src/lexer.c", "parser:src/lexer.h"]],
  ["in this case", "file:SRC case:yes", []],
  ["both have to match", "f:usage path:docs", ["parser:docs/usage.md"]],
  ["alternatives", "file:(usage|README)", ["parser:README.md", "parser:docs/usage.md"]],
  ["in quotes", `file:"^src/lexer\\\\.h$"`, ["parser:src/lexer.h"]],
  ["and a pattern", "file:^src/ type:file lex", ["parser:src/lexer.c:L1,L2,L4", "parser:src/lexer.h:L1"]],
  ["excluded, and a pattern", "-file:go -file:md type:file parse", []],
  ["the whole path", "file:^README.md$", ["parser:README.md"]],
]);

const types = rows("types", "standard", [
  ["path", "type:path parser", ["parser:src/parser.go", "parser:src/parser_test.go"]],
  ["path without anything", "type:path", []],
  ["file without anything", "type:file repo:parser", []],
  ["path and a filter", "type:path file:lexer", ["parser:src/lexer.c", "parser:src/lexer.h"]],
  ["repo", "type:repo parser", ["parser"], left],
  ["repo without anything", "type:repo", ["acme/tools", "empty", "hidden", "odd", "parser"], left],
  ["repo and a filter on files", "type:repo file:lexer", []],
  ["several", "type:file type:path lexer", ["parser:src/lexer.c:L1", "parser:src/lexer.h"]],
  ["unknown", "type:nonsense parse", []],
  [
    "all of them",
    "parser",
    ["parser", "parser:README.md:L1,L3", "parser:src/parser.go:L1", "parser:src/parser_test.go:L1"],
  ],
  ["a path only", "parser.go", ["parser:src/parser.go"]],
  ["a path here, a content there", "lexer.h", ["parser:src/lexer.c:L1", "parser:src/lexer.h"]],
  ["contents do not look at paths", "type:file parser.go", []],
  ["content:", "content:lexer.h", ["parser:src/lexer.c:L1"]],
  ["content: with quotes", `content:"foo bar"`, ["parser:docs/usage.md:L1"]],
  [
    "content: negated",
    "-content:parse file:src/",
    ["acme/tools:src/mod.rs", "parser:src/lexer.c", "parser:src/lexer.h"],
  ],
  ["content: twice", "content:tokens content:nil", ["parser:src/parser.go:L3,L10"]],
  ["content: among paths: nothing", "type:path content:parse", []],
  [
    "content: negated among paths: all that pass",
    "type:path -content:parse file:lexer",
    ["parser:src/lexer.c", "parser:src/lexer.h"],
  ],
  ["all repositories", "count:all", ["acme/tools", "empty", "hidden", "odd", "parser"]],
]);

const repositories = rows("repositories", "standard", [
  ["a part of the name", "repo:parser type:file tokens", ["parser:src/parser.go:L3"], ["repository-fork"]],
  ["a fork by its exact name", "repo:^parser-fork$ tokens", ["parser-fork:src/parser.go:L3"], []],
  ["an archived one by its exact name", "repo:^old$", ["old"], []],
  [
    "the exact name excludes nothing else",
    "repo:^old$ repo:old",
    ["alert: No repositories found: Try altering the query…"],
  ],
  [
    "fork:yes",
    "repo:parser fork:yes type:file tokens",
    ["parser:src/parser.go:L3", "parser-fork:src/parser.go:L3"],
    [],
  ],
  ["fork:only", "repo:parser fork:only type:file tokens", ["parser-fork:src/parser.go:L3"], []],
  ["fork:no is no accident", "repo:parser fork:no type:file tokens", ["parser:src/parser.go:L3"], []],
  ["archived:yes", "repo:old archived:yes", ["old"], []],
  ["archived:only", "archived:only", ["old"], ["repository-fork"]],
  [
    "both",
    "fork:yes archived:yes type:file case:yes Parse() or forked",
    ["old:old.go:L3", "parser-fork:fork.txt:L1"],
    [],
  ],
  ["archived by default", "repo:old", ["alert: No repositories found: Try altering the query…"], ["excluded-archive"]],
  [
    "no such repository",
    "repo:nothing",
    ["alert: No repositories found: Try using a different `repo:<regexp>` filter to see results"],
  ],
  ["excluded", "-repo:parser type:repo", ["acme/tools", "empty", "hidden", "odd"]],
  ["whatever its case", "repo:PARSER case:yes type:repo", ["parser"]],
  ["all have to match", "repo:par repo:ser type:repo", ["parser"]],
  ["one or the other", "repo:^odd$ or repo:^hidden$", ["hidden", "odd"]],
  ["private", "visibility:private type:repo", ["hidden"]],
  ["public", "visibility:public type:repo", ["acme/tools", "empty", "odd", "parser"]],
  ["a pattern on names, in this case", "type:repo case:yes ODD", []],
  ["a pattern before an @", "type:repo odd@main", ["odd"]],
  ["not does not make repositories", "type:repo not odd", []],
]);

const revisions = rows("revisions", "standard", [
  ["a branch", "repo:^parser$@dev onlyOnDev", ["parser@dev:src/dev_only.go:L3"]],
  ["rev:", "repo:^parser$ rev:dev onlyOnDev", ["parser@dev:src/dev_only.go:L3"]],
  ["a full ref, as typed", "repo:^parser$@refs/heads/dev onlyOnDev", ["parser@refs/heads/dev:src/dev_only.go:L3"]],
  ["the default branch does not have it", "onlyOnDev", []],
  ["HEAD", "repo:^parser$@HEAD type:file tokens", ["parser@HEAD:src/parser.go:L3"]],
  [
    "two branches: each its own result",
    "repo:^parser$@main:dev type:file # Parser",
    ["parser@dev:README.md:L1", "parser@main:README.md:L1"],
  ],
  ["what only one of them has", "repo:^parser$@main:dev development", ["parser@dev:README.md:L3"]],
  ["a repository at a branch", "repo:^parser$@dev", ["parser@dev"]],
  ["a repository at two", "repo:^parser$@main:dev", ["parser@dev", "parser@main"]],
  [
    "the common ones of two filters",
    "repo:parser@main:dev repo:^parser$@dev type:file tokens",
    ["parser@dev:src/parser.go:L3"],
  ],
  [
    "an unknown one",
    "repo:^parser$@nope tokens",
    [
      'alert: Some repositories could not be searched: The repository parser matched by your repo: filter could not be searched because it does not contain the revision "nope"…',
    ],
  ],
  [
    "an unknown one beside a known one",
    "repo:^parser$@nope:dev onlyOnDev",
    ["parser@dev:src/dev_only.go:L3", "alert: Some repositories could not be searched: The repository parser…"],
  ],
]);

const languages = rows("languages", "standard", [
  ["by extension", "lang:go type:path", ["parser:src/parser.go", "parser:src/parser_test.go"]],
  ["by alias", "lang:golang -file:test", ["parser:src/parser.go"]],
  [
    "an extension of several languages",
    "lang:c type:file lex",
    ["parser:src/lexer.c:L1,L2,L4", "parser:src/lexer.h:L1"],
  ],
  ["excluded", "-lang:go -lang:c repo:parser type:path", ["parser:README.md", "parser:docs/usage.md"]],
  ["and a pattern", "l:markdown foo", ["parser:docs/usage.md:L1,L2,L4,L5"]],
  ["two: no file is both", "lang:go lang:markdown", []],
  [
    "or",
    "lang:go or lang:c",
    [
      "acme/tools:lib/widget.h",
      "parser:src/lexer.c",
      "parser:src/lexer.h",
      "parser:src/parser.go",
      "parser:src/parser_test.go",
    ],
  ],
]);

const oddities = rows("odd files", "standard", [
  [
    "lines that end in CR LF, and none at the end",
    "type:file alpha",
    ["hidden:secret.txt:L1", "odd:crlf.txt:L1,L3", "odd:latin1.txt:L1", "odd:no-newline.txt:L1"],
  ],
  ["a line's end stands before LF", "type:file /alpha$/", ["odd:latin1.txt:L1"]],
  ["a line's end after the last byte", "type:file /end$/", ["acme/tools:lib/Widget.m:L2", "odd:no-newline.txt:L1"]],
  ["a line's end stands before CRLF", "type:file repo:^odd$ /one$/", ["odd:crlf.txt:L1"]],
  ["a line's end before CRLF, at a commit", "repo:^odd$@main~0 type:file /two$/", ["odd@main~0:crlf.txt:L2"]],
  ["CR is no character before a line's end", "type:file repo:^odd$ /(one|two).$/", []],
  ["CR is none of any", "type:file repo:^odd$ /^alpha [^b]*$/", ["odd:crlf.txt:L1,L3", "odd:no-newline.txt:L1"]],
  ["lines that end in CR LF, in a row", "type:file repo:^odd$ /one$\\s^beta/", ["odd:crlf.txt:L1,L2"]],
  ["CR LF as a condition", "repo:^odd$ file:has.content(two$) type:path", ["odd:crlf.txt"]],
  ["CR LF as a condition: not", "repo:^odd$ type:file alpha -file:has.content(two$) file:crlf", []],
  ["CR is a character where no line ends", "type:file repo:^odd$ /one.\\n?/", ["odd:crlf.txt:L1"]],
  [
    "in every encoding",
    "type:file repo:^odd$ /^zebra/",
    [
      "odd:enc/few.dat:L1",
      "odd:enc/latin-1.dat:L1,L2",
      "odd:enc/shift-jis.dat:L1",
      "odd:enc/utf-16be.dat:L1,L2",
      "odd:enc/utf-16le.dat:L1,L2",
      "odd:enc/utf-8.dat:L1",
    ],
  ],
  [
    "a letter in UTF-16, UTF-8 and Latin-1",
    "type:file repo:^odd$ /zebra.* später$/",
    ["odd:enc/latin-1.dat:L2", "odd:enc/utf-16be.dat:L2", "odd:enc/utf-16le.dat:L1", "odd:enc/utf-8.dat:L1"],
  ],
  ["Japanese in UTF-16", "type:file おはよう", ["odd:enc/utf-16le.dat:L2"]],
  ["Japanese in Shift-JIS", "type:file 日本語", ["odd:enc/shift-jis.dat:L1"]],
  ["an encoding that is not certain", "type:file /cé/ repo:^odd$", []],
  [
    "other encodings at a commit",
    "repo:^odd$@main~0 type:file おはよう or 日本語",
    ["odd@main~0:enc/shift-jis.dat:L1", "odd@main~0:enc/utf-16le.dat:L2"],
  ],
  ["CR can be searched for", "type:file /one\\r$/", ["odd:crlf.txt:L1"]],
  ["binary: by name", "nul.bin", ["odd:nul.bin"]],
  ["binary: not by content", "content:alpha file:nul", []],
  ["NUL after the first 8,000 bytes", "type:file gem repo:^odd$", ["odd:nul-8001.dat:L4001"]],
  ["around such a NUL", "type:file /late\\x00gem/", ["odd:nul-8001.dat:L4001"]],
  ["such a NUL at a commit", "repo:^odd$@main~0 type:file gem", ["odd@main~0:nul-8001.dat:L4001"]],
  ["an empty file", "file:empty", ["odd:empty.txt"]],
  ["an empty file holds nothing", "type:file not alpha file:empty", ["odd:empty.txt"]],
  ["a symbolic link: by name", "file:^link$", ["odd:link"]],
  ["a symbolic link: not by its target", "content:crlf.txt", []],
  ["a name that is not UTF-8", "file:^b file:d\\.txt$", ["odd:b\ufffdd.txt"]],
  ["content under such a name", "type:file odd name", ["odd:b\ufffdd.txt:L1"]],
  ["content that is not UTF-8", "type:file caf", ["odd:latin1.txt:L1"]],
  ["behind a byte that is not UTF-8", "type:file /ve$/", ["odd:latin1.txt:L2"]],
  ["case of other letters", "type:file grüsse", ["odd:ü dir/grüße.txt:L1"]],
  ["capital sharp s", "type:file GRÜ\u1e9eE", ["odd:ü dir/grüße.txt:L2"]],
  ["case:yes with other letters", "type:file case:yes GRÜSSE", ["odd:ü dir/grüße.txt:L1"]],
  ["the sign for kelvin is a k", "type:file kelvin", ["odd:ü dir/grüße.txt:L3"]],
  ["long s is an s", "type:file soft", ["odd:ü dir/grüße.txt:L3"]],
  ["but not with case:yes", "type:file case:yes kelvin", []],
  ["a path with space", `file:"^ü dir/"`, ["odd:ü dir/grüße.txt"]],
  ["the case of a path with other letters", "file:^Ü", ["odd:ü dir/grüße.txt"]],
  ["a path with a quote", "file:quote", ['odd:quote".txt']],
  ["a line of a megabyte", "type:file needle", ["odd:long.txt:L1,L2"]],
  ["the line behind it", "type:file second needle", ["odd:long.txt:L2"]],
]);

const selects = rows("select", "standard", [
  ["repo", "select:repo type:file tokens", ["parser"]],
  ["repo, each once", "select:repo parser", ["parser"]],
  ["repo, of paths", "select:repo file:lexer", ["parser"]],
  ["file: without lines", "select:file type:file tokens", ["parser:src/parser.go"]],
  [
    "file: repositories go",
    "select:file parser",
    ["parser:README.md", "parser:src/parser.go", "parser:src/parser_test.go"],
  ],
  ["file.path", "select:file.path type:file tokens", ["parser:src/parser.go"]],
  ["file.directory", "select:file.directory type:file lex", ["parser:src/"]],
  ["file.directory of the root", "select:file.directory file:README", ["parser:./"]],
  ["file.directory, several", "select:file.directory type:file foo", ["parser:docs/", "parser:src/"]],
  ["content: paths go", "select:content lexer", ["parser:src/lexer.c:L1"]],
]);

const scopes = rows("scope", "standard", [
  ["a filter before or holds for all", "repo:^parser$ tokens or nil", ["parser:src/parser.go:L3,L10"]],
  ["filters on both sides", "repo:^parser$ tokens or foo file:usage", ["parser:docs/usage.md:L1,L2,L4,L5"]],
  [
    "filters of each side",
    "tokens file:parser or foo file:usage",
    ["parser:docs/usage.md:L1,L2,L4,L5", "parser:src/parser.go:L3"],
  ],
  ["one file found twice is one result", "(file:parser.go tokens) or (file:src nil)", ["parser:src/parser.go:L3,L10"]],
  [
    "filters in groups multiply",
    "(file:lexer.c or file:lexer.h) (repo:^parser$ or repo:^odd$) type:path",
    ["parser:src/lexer.c", "parser:src/lexer.h"],
  ],
]);

const limits = rows("limits", "standard", [
  ["a count that suffices", "repo:^hidden$ type:file count:1 secret", ["hidden:secret.txt:L1"], []],
  ["a count that does not", "repo:^hidden$ type:file count:1 a", ["hidden:secret.txt:L1"], ["shard-match-limit"]],
  ["all", "repo:^hidden$ type:file count:all a", ["hidden:secret.txt:L1"], []],
  ["count for repositories", "repo:^hidden$ count:1", ["hidden"], []],
]);

const refused = [
  ...rows("refused", "standard", [
    ["a negated filter that cannot be", "-type:file a", [`${unable}Field "type" does not support negation`]],
    ["a filter given twice", "case:yes case:no a", [`${unable}Field "case" may not be used more than once`]],
    ["a count of nothing", "count:0 a", [`${unable}Field count requires a positive number`]],
    ["an unknown language", "lang:klingon x", [`${unable}Unknown language: "klingon"`]],
    ["no regexp", "/[/", [`${unable}Error parsing regexp: …`]],
    [
      "a group beside a word",
      "(tokens or foo) strict",
      [
        `${unable}I'm having trouble understanding that query. The combination of parentheses is the problem. Try using the content: filter to quote patterns that contain parentheses`,
      ],
    ],
    [
      "an operator without its operand",
      "tokens or ",
      [`${unable}I'm having trouble understanding that query. Putting parentheses around the search pattern may help.`],
    ],
    [
      "parentheses around an operator that are no group",
      "f(foo or bar)",
      [
        `${unable}Unsupported expression. The combination of parentheses in the query have an unclear meaning. Try using the content: filter…`,
      ],
    ],
    [
      "rev: without repo:",
      "rev:dev a",
      [`${unable}Invalid syntax. The query contains \`rev:\` without \`repo:\`. Add a \`repo:\` filter and try again`],
    ],
    ["rev: and @", "repo:a@b rev:c", [`${unable}Invalid syntax. You specified both @ and rev:…`]],
    [
      "a field of commits",
      "author:x a",
      [`${unable}Your query contains the field 'author', which requires type:commit or type:diff in the query`],
    ],
    ["what is not built yet", "rule:x Parse", ["alert: Not Supported Yet: The filter rule:…"]],
  ]),
  ...rows("refused", "keyword", [
    [
      "parentheses around an operator that are no group",
      "f(foo or bar)",
      [
        `${unable}Unsupported expression. The combination of parentheses in the query has an unclear meaning. Use "..." to quote…`,
      ],
    ],
  ]),
  ...rows("refused", "structural", [
    ["a template", "foo(:[x])", ["error: Structural search is disabled in the site configuration."]],
    ["without a pattern", "repo:^odd$", ["odd"]],
  ]),
];

export const cases: readonly CaseRow[] = [
  literals,
  regexps,
  operators,
  keywords,
  literalType,
  regexpType,
  typeInQuery,
  files,
  types,
  repositories,
  revisions,
  languages,
  oddities,
  selects,
  scopes,
  limits,
  refused,
  sideBySide,
  versions,
  lexing,
  expressions,
  givenTypes,
  validation,
  results,
].flat();

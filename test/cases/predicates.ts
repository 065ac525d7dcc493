import { rows } from "./row.js";

/*
 * Questions with predicates: conditions on what files hold, on who wrote and who owns them, and on what repositories have.
 * The form of the rows is that of `row.ts`.
 */

const contents = rows("file:has.content", "standard", [
  ["alone: paths", "repo:^parser$ file:has.content(copy_from_user)", ["parser:src/lexer.c", "parser:src/parser.go"]],
  ["what it matches is no result", "repo:^parser$ type:file file:has.content(copy_from_user) nil", ["parser:src/parser.go:L10"]],
  ["unless the pattern matches it, too", "repo:^parser$ type:file file:has.content(nil) nil", ["parser:src/parser.go:L10"]],
  ["a regexp", String.raw`repo:^parser$ type:file file:has.content(^func\s+parse[A-Z]) package`, ["parser:src/parser.go:L1"]],
  ["spaces and parentheses", "repo:^parser$ type:file file:has.content(foo(a, b)|open \\() lex", ["parser:src/lexer.c:L1,L2,L4"]],
  ["an older name", "repo:^parser$ type:file f:contains.content(strict) tokens", ["parser:src/parser.go:L3"]],
  ["several all hold", "repo:^parser$ file:has.content(package) file:has.content(testing)", ["parser:src/parser_test.go"]],
  ["without regard to case", "repo:^parser$ file:has.content(PACKAGE) file:test", ["parser:src/parser_test.go"]],
  ["with regard to case", "repo:^parser$ case:yes file:has.content(PACKAGE)", []],
  ["a negated one", "repo:^parser$ -file:has.content(parse)", ["parser:src/lexer.c", "parser:src/lexer.h"]],
  ["not, beside a pattern", "repo:^parser$ type:file not file:has.content(func) package or lex", ["parser:src/lexer.c:L1,L2,L4", "parser:src/lexer.h:L1"]],
  ["a file without indexed text", "repo:^odd$ -file:has.content(.) file:(nul|link)", ["odd:link", "odd:nul.bin"]],
  ["paths are looked at as before", "repo:^parser$ type:path file:has.content(main) lexer", ["parser:src/lexer.c"]],
  ["no path matches it", "repo:^parser$ file:has.content(lexer.c)", []],
  ["repositories are left out", "file:has.content(tokens) parser", ["parser:src/parser.go:L1"]],
  ["for one side of or", "repo:^parser$ (file:has.content(strict) tokens) or (file:usage foo)", ["parser:docs/usage.md:L1,L2,L4,L5", "parser:src/parser.go:L3"]],
  ["on a branch", "repo:^parser$@dev file:has.content(development)", ["parser@dev:README.md"]],
]);

const left = ["repository-fork", "excluded-archive"];

const repositories = rows("repositories that hold", "standard", [
  ["a path", String.raw`repo:has.path(\.go$)`, ["parser"], left],
  ["a path, among forks and archived ones", String.raw`repo:has.path(\.go$) fork:yes archived:yes`, ["old", "parser", "parser-fork"], []],
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
  ["files of such repositories", "repo:has.path(^Makefile$) type:file target", ["acme/tools:src/mod.rs:L1,L2", "acme/tools:tools/build.py:L4,L5"]],
  ["beside a name", "repo:tools repo:has.path(widget) type:repo", ["acme/tools"]],
  ["none", "repo:has.path(^nowhere$) parse", ["alert: No repositories found: …"]],
  ["at the branch that is searched", "repo:^parser$@dev repo:has.path(dev_only) type:file onlyOnDev", ["parser@dev:src/dev_only.go:L3"]],
  ["not at another one", "repo:^parser$ repo:has.path(dev_only)", ["alert: No repositories found: …"]],
  ["of several branches those that have it", "repo:^parser$@main:dev repo:has.path(dev_only)", ["parser@dev"]],
  ["of several branches those that do not", "repo:^parser$@main:dev -repo:has.path(dev_only)", ["parser@main"]],
  ["rev: beside it alone", "rev:dev repo:has.path(dev_only) file:dev_only", ["parser@dev:src/dev_only.go", "alert: Some repositories could not be searched: …"]],
  ["for each side of or", "(repo:has.path(README) type:repo) or (repo:has.path(Makefile) type:repo)", ["acme/tools", "parser"]],
]);

export const predicates = [contents, repositories].flat();

import { rows } from "./queries.js";

/*
 * Questions with predicates: conditions on what files hold, on who wrote and who owns them, and on what repositories have.
 * The form of the rows is that of `queries.ts`.
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

export const predicates = [contents].flat();

import t from "tap";
import { queryLimits } from "../../../src/query/syntax/limits.js";
import { parseQuery } from "../../../src/query/syntax/parse.js";
import { quoteValue } from "../../../src/query/syntax/quote.js";
import { type QueryType, scan, type Token } from "../../../src/query/syntax/scan.js";

/** Name, query text, tokens as `print` writes them. */
type Row = readonly [name: string, text: string, tokens: string];

/**
 * `(` `)` `AND` `OR` `NOT`, `"literal"`, `/regexp/`, `field:"value"`, `field:predicate("argument")`, `!what is wrong`.
 */
function print(token: Token): string {
  switch (token.kind) {
    case "open":
      return "(";
    case "close":
      return ")";
    case "and":
    case "or":
    case "not":
      return token.kind.toUpperCase();
    case "broken":
      return `!${token.message}`;
    case "pattern":
      return token.form === "regexp" ? `/${token.value}/` : JSON.stringify(token.value);
    case "field": {
      const { name, negated, value, predicate } = token;
      const shown =
        predicate === undefined ? JSON.stringify(value) : `${predicate.name}(${JSON.stringify(predicate.argument)})`;
      return `${negated ? "-" : ""}${name}:${shown}`;
    }
  }
}

function printAll(text: string, type: QueryType, parenthesesAreText = false): string {
  return scan(text, type, parenthesesAreText).map(print).join(" ");
}

function table(name: string, type: QueryType, rows: readonly Row[], parenthesesAreText = false): void {
  t.test(name, async (t) => {
    for (const [row, text, tokens] of rows) t.equal(printAll(text, type, parenthesesAreText), tokens, row);
  });
}

table("white space", "standard", [
  ["empty", "", ""],
  ["blank", " \t\n ", ""],
  ["around words", "  a  b  ", `"a" "b"`],
  ["all kinds", "a\tb\nc\r\nd\ve\ff", `"a" "b" "c" "d" "e" "f"`],
  [
    "outside ASCII",
    "a\u0085b\u00a0c\u1680d\u2003e\u2028f\u2029g\u202fh\u205fi\u3000j",
    `"a" "b" "c" "d" "e" "f" "g" "h" "i" "j"`,
  ],
  ["what only looks like it", "a\u200bb\u2060c\ufeffd", `"a\u200bb\u2060c\ufeffd"`],
]);

table("and, or", "standard", [
  ["between words", "a and b or c", `"a" AND "b" OR "c"`],
  ["any case", "a AND b Or c oR d", `"a" AND "b" OR "c" OR "d"`],
  ["at the start: words", "and a", `"and" "a"`],
  ["after leading space: words", "  or a", `"or" "a"`],
  ["alone", "or", `"or"`],
  ["at the end: a word", "a or", `"a" "or"`],
  ["before trailing space: an operator", "a or ", `"a" OR`],
  ["inside a word", "android or factor", `"android" OR "factor"`],
  ["before a parenthesis", "a and(b or c)", `"a" AND ( "b" OR "c" )`],
  ["after a parenthesis", "(a or b)and c", `( "a" OR "b" ) AND "c"`],
  ["after an opening parenthesis: a word", "x or (or b)", `"x" OR ( "or" "b" )`],
  ["twice", "a or or b", `"a" OR OR "b"`],
  ["before other white space", "a\nand\tb", `"a" AND "b"`],
]);

table("not", "standard", [
  ["at the start", "not a", `NOT "a"`],
  ["after leading space", " NOT a", `NOT "a"`],
  ["between", "a not b", `"a" NOT "b"`],
  ["after an operator", "a and not b", `"a" AND NOT "b"`],
  ["after an opening parenthesis", "(not a or b)", `( NOT "a" OR "b" )`],
  ["after a closing parenthesis", "(a or b)not c", `( "a" OR "b" ) NOT "c"`],
  ["at the end: a word", "a not", `"a" "not"`],
  ["before trailing space", "a not ", `"a" NOT`],
  ["before a parenthesis: part of a word", "not(a)", `"not(a)"`],
  ["inside a word", "knot nota", `"knot" "nota"`],
  ["before a field", "NOT repo:a", `NOT repo:"a"`],
  ["before a keyword: it is a word", "NOT or b", `NOT "or" "b"`],
  ["a minus negates no word", "-a -(b)", `"-a" "-(b)"`],
]);

table("fields", "standard", [
  ["a field", "repo:a", `repo:"a"`],
  ["negated", "-repo:a", `-repo:"a"`],
  ["any case", "RePo:A", `repo:"A"`],
  ["aliases", "r:a f:b path:c l:d language:e revision:g", `repo:"a" file:"b" file:"c" lang:"d" lang:"e" rev:"g"`],
  ["aliases of commit fields", "until:1 since:2 m:3 msg:4", `before:"1" after:"2" message:"3" message:"4"`],
  ["unknown name: a word", "foo:bar http://x.y std::vector", `"foo:bar" "http://x.y" "std::vector"`],
  ["a name with other characters: a word", "repo2:a re-po:a", `"repo2:a" "re-po:a"`],
  ["two minuses: a word", "--repo:a", `"--repo:a"`],
  ["space after the colon", "repo: a", `repo:"" "a"`],
  ["space before the colon", "repo :a", `"repo" ":a"`],
  ["no value", "repo:", `repo:""`],
  ["a field as value", "repo:file:a", `repo:"file:a"`],
  ["names that are gone are words", "stable:yes max:5 repogroup:x", `"stable:yes" "max:5" "repogroup:x"`],
  ["a name that is gone and refused later", "g:x", `g:"x"`],
  ["Cyrillic letters are no name", "r\u0435po:a", `"r\u0435po:a"`],
]);

table("field values", "standard", [
  ["double quotes", `repo:"a b"`, `repo:"a b"`],
  ["single quotes", `repo:'a "b"'`, `repo:"a \\"b\\""`],
  ["nothing between quotes", `repo:""`, `repo:""`],
  ["nothing need follow the quote", `repo:"a"b`, `repo:"a" "b"`],
  ["escaped quote", String.raw`repo:"a\"b"`, `repo:"a\\"b"`],
  ["escaped backslash", String.raw`repo:"^a\\.b$"`, String.raw`repo:"^a\\.b$"`],
  ["control characters", String.raw`content:"a\nb\tc\rd"`, String.raw`content:"a\nb\tc\rd"`],
  ["escapes that stay", String.raw`content:"\a\b\f\v"`, String.raw`content:"\\a\\b\\f\\v"`],
  ["the other quote needs no escape", `content:"it's"`, `content:"it's"`],
  ["escape of the other quote", String.raw`content:"\'"`, "!unrecognized escape sequence"],
  ["unknown escape", String.raw`repo:"a\.b"`, "!unrecognized escape sequence"],
  ["no closing quote", `a repo:"b c`, `"a" !unterminated literal: expected "`],
  ["no closing single quote", "repo:'b", "!unterminated literal: expected '"],
  ["ends within an escape", String.raw`repo:"b\ `.trimEnd(), "!unterminated escape sequence"],
  ["balanced parentheses", "file:(a|b)c x", `file:"(a|b)c" "x"`],
  ["space inside parentheses", "file:(a b)c", `file:"(a b)c"`],
  ["escaped space", String.raw`file:a\ b c`, String.raw`file:"a\\ b" "c"`],
  ["escaped parenthesis", String.raw`file:a\(b c`, String.raw`file:"a\\(b" "c"`],
  ["a parenthesis that closes a group", "(a or file:b)", `( "a" OR file:"b" )`],
  ["an open parenthesis ends the value", "repo:(", `repo:"" (`],
  ["an open parenthesis later", "repo:a(b", `repo:"a" ( "b"`],
  ["an operator inside parentheses is no value", "repo:(a or b)", `repo:"" ( "a" OR "b" )`],
  ["a quote inside a value is text", `file:a"b c"`, String.raw`file:"a\"b" "c\""`],
]);

table("predicates", "standard", [
  ["a predicate", "repo:has.path(a)", `repo:has.path("a")`],
  ["of an alias", "r:has.path(a) f:has.content(b)", `repo:has.path("a") file:has.content("b")`],
  [
    "space, fields and quotes inside",
    `repo:has.file(path:"a b" content:c)`,
    `repo:has.file("path:\\"a b\\" content:c")`,
  ],
  ["an operator inside", "repo:has.path(a or b)", `repo:has.path("a or b")`],
  ["parentheses inside", "file:has.content((a)(b)) c", `file:has.content("(a)(b)") "c"`],
  ["escaped parenthesis inside", String.raw`repo:has.path(a\)b)`, String.raw`repo:has.path("a\\)b")`],
  ["negated", "-repo:has.topic(a)", `-repo:has.topic("a")`],
  ["empty", "repo:has.topic()", `repo:has.topic("")`],
  ["of a revision", "repo:a rev:at.time(yesterday, main)", `repo:"a" rev:at.time("yesterday, main")`],
  ["unknown name: a regexp", "repo:has.nothing(a)", `repo:"has.nothing(a)"`],
  ["of another field: a regexp", "file:has.topic(a)", `file:"has.topic(a)"`],
  ["space before the parenthesis: none", "repo:has.path (a)", `repo:"has.path" "(a)"`],
  ["not closed: none", "repo:has.path(a b", `repo:"has.path" ( "a" "b"`],
  ["text after it", "repo:has.path(a)b", `repo:has.path("a") "b"`],
]);

table("patterns: standard", "standard", [
  ["words", "foo bar", `"foo" "bar"`],
  ["regexp", "/fo+/", "/fo+/"],
  ["regexp with space", "/a b/ c", `/a b/ "c"`],
  ["regexp before a parenthesis", "(a or /b/)", `( "a" OR /b/ )`],
  ["escaped slash", String.raw`/a\/b/`, "/a/b/"],
  ["two backslashes stay, because they are a regexp's", String.raw`/a\\b/`, String.raw`/a\\b/`],
  ["an escaped backslash before the end", String.raw`/a\\/`, String.raw`/a\\/`],
  ["other escapes stay", String.raw`/a\.b\d\n/`, String.raw`/a\.b\d\n/`],
  ["text after the slash: no regexp", "/a/b/ c", `"/a/b/" "c"`],
  ["a path", "/usr/lib", `"/usr/lib"`],
  ["no closing slash", "/usr", `"/usr"`],
  ["two slashes", "// TODO", `"//" "TODO"`],
  ["slashes and text", "//a/", `"//a/"`],
  ["quotes are text", `"foo bar"`, String.raw`"\"foo" "bar\""`],
  ["backslashes are text", String.raw`C:\temp \"x\"`, String.raw`"C:\\temp" "\\\"x\\\""`],
  ["a call", "foo(a, b) c", `"foo(a, b)" "c"`],
  ["a call without arguments", "foo() ()", `"foo()" "()"`],
  ["parentheses around words", "(foo bar)", `"(foo bar)"`],
  ["parentheses around one word", "(foo)", `"(foo)"`],
  ["glued parentheses", "(foo)(bar) (baz)qux", `"(foo)(bar)" "(baz)qux"`],
  ["parentheses around an operator", "(foo or bar)", `( "foo" OR "bar" )`],
  ["parentheses around a negation", "(not foo)", `( NOT "foo" )`],
  ["parentheses around a field", "(repo:x foo)", `( repo:"x" "foo" )`],
  ["a field after space inside", "(foo repo:x)", `( "foo" repo:"x" )`],
  ["an unknown field inside", "(foo bar:x)", `"(foo bar:x)"`],
  ["a word with an operator inside", "f(a or b)", `"f(a" OR "b" )`],
  ["operator without space inside", "(a or)", `"(a or)"`],
  ["nothing closes", "f(a b", `"f(a" "b"`],
  ["an escaped parenthesis opens nothing", String.raw`f\(a b`, String.raw`"f\\(a" "b"`],
  ["an escaped space joins", String.raw`a\ b c`, String.raw`"a\\ b" "c"`],
  ["a backslash at the end", "a\\", String.raw`"a\\"`],
  ["a parenthesis nobody opened", "a) b", `"a)" "b"`],
]);

table("patterns: keyword", "keyword", [
  ["words", "foo bar", `"foo" "bar"`],
  ["double quotes", `"foo bar" baz`, `"foo bar" "baz"`],
  ["single quotes", `'foo "bar"'`, String.raw`"foo \"bar\""`],
  ["regexp", "/a b/", "/a b/"],
  ["quote before a parenthesis", `("a b" or c)`, `( "a b" OR "c" )`],
  ["text after the quote: no delimiter", `"a"b c`, String.raw`"\"a\"b" "c"`],
  ["no closing quote", `"a b`, String.raw`"\"a" "b"`],
  ["escapes between quotes", String.raw`"a\"b\\c\nd\.e"`, String.raw`"a\"b\\c\nd\\.e"`],
  ["escaped quotes outside of quotes are text", String.raw`\"x\"`, String.raw`"\\\"x\\\""`],
  ["nothing between quotes", `"" a`, `"" "a"`],
  ["parentheses group", "(foo bar)", `( "foo" "bar" )`],
  ["glued to a word they are text", "f(a, b) g()", `"f(a, b)" "g()"`],
  ["a group glued to what follows", "(a)b", `( "a" ) "b"`],
  ["nothing inside", "()", "( )"],
]);

table("patterns: literal", "literal", [
  ["quotes are text", `"foo bar"`, String.raw`"\"foo" "bar\""`],
  ["slashes are text", "/fo+ x/", `"/fo+" "x/"`],
  ["operators", "a or not b", `"a" OR NOT "b"`],
  ["parentheses", "(foo bar) (a or b)", `"(foo bar)" ( "a" OR "b" )`],
]);

table("patterns: regexp", "regexp", [
  ["words", "fo+ ba[rz]", "/fo+/ /ba[rz]/"],
  ["between slashes", "/a b/ c", "/a b/ /c/"],
  ["quotes make literals", `"a.b c" 'd'`, `"a.b c" "d"`],
  ["parentheses belong to the regexp", "(a|b)c (a b)", "/(a|b)c/ /(a b)/"],
  ["escaped parenthesis", String.raw`\(a b`, String.raw`/\(a/ /b/`],
  ["escaped space", String.raw`a\ b c`, String.raw`/a\ b/ /c/`],
  ["a group of the query", "(a or b)", "( /a/ OR /b/ )"],
  ["stops before a parenthesis that closes nothing", "(a or b.*)", "( /a/ OR /b.*/ )"],
  ["an open parenthesis", "foo(bar baz", "/foo/ ( /bar/ /baz/"],
  ["a colon is no field in a class", "[[:alpha:]]+", "/[[:alpha:]]+/"],
]);

table("patterns: structural", "structural", [
  ["quotes and slashes are text", `"a" /b/ f(:[x])`, String.raw`"\"a\"" "/b/" "f(:[x])"`],
]);

table(
  "parentheses as text: standard",
  "standard",
  [
    ["open", "open (", `"open" "("`],
    ["close", "a) b", `"a)" "b"`],
    ["around an operator", "(fox or", `"(fox" "or"`],
    ["operators stay", "(a or b c", `"(a" OR "b" "c"`],
    ["fields stay", "(repo:a", `"(repo:a"`],
    ["field values end at a parenthesis", "repo:a( b", `repo:"a" "(" "b"`],
    ["balanced words stay whole", "f(a, b) (", `"f(a, b)" "("`],
  ],
  true,
);

table(
  "parentheses as text: regexp",
  "regexp",
  [
    ["open", "foo(bar baz", "/foo(bar/ /baz/"],
    ["escapes are kept together", String.raw`a\ b( c`, String.raw`/a\ b(/ /c/`],
  ],
  true,
);

t.test("positions are UTF-16 indexes into the text", async (t) => {
  const text = `é repo:"x y" (a or b)`;
  const parts = scan(text, "standard", false).map(({ span }) => text.slice(span.from, span.to));
  t.same(parts, ["é", `repo:"x y"`, "(", "a", "or", "b", ")"]);
});

t.test("of a text beyond the limits, no more is scanned than its rejection needs", async (t) => {
  const tooMany = /the query has more than 3000 terms/;
  const tooDeep = /nested more than 500 deep/;
  const rows: readonly (readonly [unit: string, type: QueryType, error: RegExp])[] = [
    ["a ", "standard", tooMany],
    ["f:a ", "standard", tooMany],
    ["() ", "keyword", tooMany],
    ["(a)", "keyword", tooMany],
    ["a or ", "regexp", tooMany],
    ["(", "literal", tooDeep],
  ];
  for (const [unit, type, error] of rows) {
    const text = unit.repeat(queryLimits.textBytesMax / unit.length);
    const tokens = scan(text, type, false);
    t.ok(tokens.length <= 3 * (queryLimits.termCountMax + 1), `${unit}: ${tokens.length} tokens`);
    t.throws(() => parseQuery(text, type), error, unit);
  }
});

t.test("the value of a field is quoted where it would be read differently", async (t) => {
  for (const plain of ["c++", "^a\\.b$", "^host/a\\+b$@main", "🧵", "a:b", "/a/"]) t.equal(quoteValue(plain), plain);
  const values = [
    "",
    "common lisp",
    "it's",
    '"a"',
    "f(x)",
    "(",
    "a\\",
    "\\(",
    "a\nb\rc\td",
    "\u0001 \b",
    "\u00a0",
    "a\u0085b",
  ];
  const all = [...values, "\u3000", "\ufeff", "contains.file(a)", "c++", "/a/", String.raw`^(?-i:a \(copy\)\\\.c)$`];
  for (const type of ["keyword", "standard", "regexp", "literal"] as const) {
    for (const value of all) {
      const found = scan(`(repo:${quoteValue(value)} x) y`, type, false).find(({ kind }) => kind === "field");
      t.match(found, { value, predicate: undefined }, `${type}: ${JSON.stringify(value)}`);
    }
  }
});

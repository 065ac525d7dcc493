import t from "tap";
import { RegexpSyntaxError, parseRegexp, regexpDepthMax } from "../../../src/regexp/syntax/parse.js";
import { printSource, printTree } from "../../../src/regexp/syntax/print.js";
import { escapeRegexp } from "../../../src/base/text.js";

/** Name, regexp source, tree, and the canonical source if it differs. */
type Row = readonly [name: string, typed: string, tree: string, source?: string];

const rows: readonly Row[] = [
  ["empty", "", "()", "(?:)"],
  ["literal", "abc", `"abc"`],
  ["any character", "a.b", `seq("a" . "b")`],
  ["any character and newline", "(?s)a.b", `seq("a" .n "b")`, "a(?s:.)b"],
  ["alternatives", "a|bc|", `or("a" "bc" ())`, "a|bc|(?:)"],
  ["group", "(a|b)c", `seq(or("a" "b") "c")`, "(?:a|b)c"],
  ["group that changes nothing", "a(b(c))", `"abc"`, "abc"],
  ["named groups", "(?P<x>a)(?<y>b)", `"ab"`, "ab"],
  ["repetitions", "a*b+c?d{2}e{2,}f{2,3}", `seq("a"* "b"+ "c"? "d"{2} "e"{2,} "f"{2,3})`],
  ["lazy repetitions", "a*?b+?c??d{2,3}?", `seq("a"*? "b"+? "c"?? "d"{2,3}?)`],
  ["ungreedy", "(?U)a*b*?", `seq("a"*? "b"*)`, "a*?b*"],
  ["repetition of the last character", "abc*", `seq("ab" "c"*)`],
  ["repetition of a group", "(abc)*", `"abc"*`, "(?:abc)*"],
  ["repetition of a repetition", "(?:a+)*", `"a"+*`],
  ["no times", "ab{0}c", `"ac"`, "ac"],
  ["braces that repeat nothing", "{a{,3}{b}a{01}", `"{a{,3}{b}a{01}"`, "\\{a\\{,3\\}\\{b\\}a\\{01\\}"],
  ["closing bracket alone", "a]}", `"a]}"`, "a\\]\\}"],
  ["line anchors", "^a$", `seq(^ "a" $)`],
  ["text anchors", "(?-m)^a$", `seq(\\A "a" \\z)`, "\\Aa\\z"],
  ["escaped anchors", "\\Aa\\b\\B\\z", `seq(\\A "a" \\b \\B \\z)`],
  ["flags to the end of the group", "(a(?i)b|c)d", `seq(or(seq("a" "b"i) "c"i) "d")`, "(?:a(?i:b)|(?i:c))d"],
  ["flags in a group of their own", "(?i:a)b(?-i:c)", `seq("a"i "bc")`, "(?i:a)bc"],
  ["several flags", "(?is-m:a.^)", `seq("a"i .n \\A)`, "(?i:a)(?s:.)\\A"],
  ["class", "[a-cx]", "[a-cx]"],
  ["class in order", "[zc-ea-d]", "[a-ez]", "[a-ez]"],
  ["negated class", "[^a\\n]", "[^\\na]", "[^\\na]"],
  ["class of one", "[.]", `"."`, "\\."],
  ["class that begins with a bracket", "[]a][^]a]", "seq([\\]a] [^\\]a])", "[\\]a][^\\]a]"],
  ["dash at either end", "[-a][a-]", "seq([\\-a] [\\-a])", "[\\-a][\\-a]"],
  ["dash behind a range", "[a-c-e]", "[\\-a-ce]", "[\\-a-ce]"],
  ["escapes in a class", "[\\n\\x41\\]\\\\]", "[\\nA\\\\-\\]]", "[\\nA\\\\-\\]]"],
  ["Perl classes", "\\d\\s\\w", "seq([0-9] [\\t-\\n\\f-\\r ] [0-9A-Z_a-z])", "[0-9][\\t-\\n\\f-\\r ][0-9A-Z_a-z]"],
  ["negated Perl classes", "\\D[\\S\\W]", "seq([\\D] [\\S\\W])", "[\\D][\\S\\W]"],
  ["POSIX classes", "[[:alpha:][:^digit:]_]", "[A-Z_a-z[:^digit:]]", "[A-Z_a-z[:^digit:]]"],
  ["brackets that name no class", "[[:]", "[:\\[]", "[:\\[]"],
  [
    "Unicode classes",
    "\\pN\\p{Greek}\\PL\\p{^Lu}[\\pZ]",
    "seq([\\pN] [\\p{Greek}] [\\PL] [\\P{Lu}] [\\pZ])",
    "[\\pN][\\p{Greek}][\\PL][\\P{Lu}][\\pZ]",
  ],
  ["escaped characters", "\\a\\f\\t\\n\\r\\v", `"\\u0007\\f\\t\\n\\r\\u000b"`, "\\x{7}\\f\\t\\n\\r\\v"],
  ["octal and hexadecimal", "\\0\\07\\101\\x41\\x{1F600}", `"\\u0000\\u0007AA😀"`, "\\x{0}\\x{7}AA\\x{1f600}"],
  ["escaped punctuation", "\\.\\/\\_\\-\\ ", `"./_- "`, "\\./_\\- "],
  ["quoted", "\\Qa.*b\\E+", `seq("a.*" "b"+)`, "a\\.\\*b+"],
  ["quoted to the end", "\\Qa\\n(", `"a\\\\n("`, "a\\\\n\\("],
  ["outside of ASCII", "é+😀", `seq("é"+ "😀")`, "\\x{e9}+\\x{1f600}"],
  ["a lone surrogate", "\ud800", `"\ufffd"`, "\\x{fffd}"],
  ["nothing repeated", "(?:)*a", `"a"`, "a"],
];

t.test("a regexp is parsed to a tree, and the tree is printed as a source that parses to the same tree", (t) => {
  for (const [name, typed, tree, source = typed] of rows) {
    const parsed = parseRegexp(typed, false);
    t.equal(printTree(parsed), tree, name);
    t.equal(printSource(parsed, false), source, `${name}: source`);
    t.same(parseRegexp(printSource(parsed, false), false), parsed, `${name}: parses again`);
    t.same(parseRegexp(printSource(parsed, true), true), parsed, `${name}: parses again under folding`);
  }
  t.end();
});

/** Name, regexp, message after "error parsing regexp: ", byte offset. */
const errors: readonly (readonly [name: string, typed: string, message: string, byteOffset: number])[] = [
  ["group not closed", "é(a", "missing closing ): `é(a`", 2],
  ["flags not closed", "(?i", "missing closing ): `(?i`", 0],
  ["nothing to close", "a)b", "unexpected ): `a)b`", 1],
  ["class not closed", "a[b", "missing closing ]: `[b`", 1],
  ["class with nothing in it", "[]", "missing closing ]: `[]`", 0],
  ["range backwards", "[b-a]", "invalid character class range: `b-a`", 1],
  ["unknown POSIX class", "[[:no:]]", "invalid character class range: `[:no:]`", 1],
  ["unknown Unicode class", "\\p{No_Such}", "invalid character class range: `\\p{No_Such}`", 0],
  ["nothing to repeat", "*a", "missing argument to repetition operator: `*`", 0],
  ["nothing to repeat in a branch", "a|+?", "missing argument to repetition operator: `+?`", 2],
  ["nothing to repeat behind flags", "(?i)*", "missing argument to repetition operator: `*`", 4],
  ["twice repeated", "a**", "invalid nested repetition operator: `**`", 1],
  ["twice repeated around flags", "a*(?i)+", "invalid nested repetition operator: `*(?i)+`", 1],
  ["too many times", "a{1001}", "invalid repeat count: `{1001}`", 1],
  ["too many times together", "(a{40}){40}", "invalid repeat count: `{40}`", 7],
  ["fewer at most than at least", "a{3,2}", "invalid repeat count: `{3,2}`", 1],
  ["look-ahead", "a(?=b)", "invalid or unsupported Perl syntax: `(?=`", 1],
  ["look-behind", "(?<!b)", "invalid or unsupported Perl syntax: `(?<!`", 0],
  ["unknown flag", "(?x)", "invalid or unsupported Perl syntax: `(?x`", 0],
  ["bad group name", "(?P<a-b>x)", "invalid named capture: `(?P<a-b>`", 0],
  ["group name twice", "(?P<n>a)(?P<n>b)", "duplicate capture group name: `n`", 12],
  ["back reference", "(a)\\1", "invalid escape sequence: `\\1`", 3],
  ["unknown escape", "\\C", "invalid escape sequence: `\\C`", 0],
  ["code point too large", "\\x{110000}", "invalid escape sequence: `\\x{110000}`", 0],
  ["a surrogate", "\\x{D800}", "invalid escape sequence: `\\x{D800}`", 0],
  ["backslash at the end", "a\\", "trailing backslash at end of expression: ``", 2],
];

t.test("an error has a reason and a position", (t) => {
  for (const [name, typed, message, byteOffset] of errors) {
    const error = errorOf(() => parseRegexp(typed, false));
    t.equal(error.message, `error parsing regexp: ${message}`, name);
    t.equal(error.byteOffset, byteOffset, `${name}: place`);
    t.equal(error.code, "bad-query", `${name}: code`);
  }
  t.end();
});

t.test("limits are enforced, and no source overflows the stack or takes long", (t) => {
  const deepest = "(a".repeat(regexpDepthMax) + ")".repeat(regexpDepthMax);
  t.equal(printTree(parseRegexp(deepest, false)), JSON.stringify("a".repeat(regexpDepthMax)));
  const alternating = "(?:a|b+".repeat(regexpDepthMax) + ")".repeat(regexpDepthMax);
  const canonical = printSource(parseRegexp(alternating, false), false);
  t.equal(printSource(parseRegexp(canonical, false), false), canonical);
  t.match(errorOf(() => parseRegexp(`(${deepest})`, false)).message, /expression nests too deeply/);
  t.match(errorOf(() => parseRegexp("(".repeat(60_000), false)).message, /expression nests too deeply/);
  t.match(errorOf(() => parseRegexp("a".repeat(65_537), false)).message, /expression too large/);
  for (const part of ["[[:a", "(?i)", "a{1", "\\Q", "a.", "(?:a)", "a(?i)*", "\\p{", "[a-", "(?P<a"]) {
    const source = part.repeat(Math.floor(60_000 / part.length));
    try {
      parseRegexp(source, false);
    } catch (error) {
      t.ok(error instanceof RegexpSyntaxError, part);
    }
  }
  t.pass("in linear time, or the test would not end");
  t.end();
});

t.test("escaped text is a regexp that matches the text", (t) => {
  const text = `a.b*c\\d[e]f{1,2}(g)|h^$ i/"'é\n-`;
  t.equal(printTree(parseRegexp(escapeRegexp(text), false)), JSON.stringify(text));
  t.end();
});

function errorOf(run: () => unknown): RegexpSyntaxError {
  try {
    run();
  } catch (error) {
    if (error instanceof RegexpSyntaxError) return error;
    throw error;
  }
  throw new RegexpSyntaxError("no error was thrown", "", 0);
}

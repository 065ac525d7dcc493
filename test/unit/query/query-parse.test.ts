import t from "tap";
import { parseQuery, choosePatternType } from "../../../src/query/syntax/parse.js";
import { fieldNames } from "../../../src/query/syntax/fields.js";
import { printTree } from "../../../src/query/plan/print.js";
import { IncompleteError, QueryError } from "../../../src/query/syntax/query-error.js";
import type { QueryType } from "../../../src/query/syntax/scan.js";

/** Name, query text, tree in its printed form. */
type Row = readonly [name: string, text: string, tree: string];

function table(name: string, type: QueryType, rows: readonly Row[]): void {
  t.test(`${type}: ${name}`, async (t) => {
    for (const [row, text, tree] of rows) t.equal(printTree(parseQuery(text, type)), tree, row);
  });
}

/** Name, query text, a part of the message in any case, the marked part of the text. */
type ErrorRow = readonly [name: string, text: string, message: string, marked: string];

function errors(name: string, type: QueryType, rows: readonly ErrorRow[]): void {
  t.test(`${type}: ${name}`, async (t) => {
    for (const [row, text, message, marked] of rows) {
      const error = errorOf(text, type);
      t.match(error?.message.toLowerCase() ?? "no error", message.toLowerCase(), row);
      const bytes = Buffer.from(text).subarray(error?.from, error?.to);
      t.equal(bytes.toString(), marked, `${row}: place`);
    }
  });
}

function errorOf(text: string, type: QueryType): QueryError | undefined {
  try {
    parseQuery(text, type);
  } catch (error) {
    if (error instanceof QueryError) return error;
    throw error;
  }
  return undefined;
}

table("operators", "standard", [
  ["nothing", "", "nothing"],
  ["blank", "  ", "nothing"],
  ["one word", "a", `"a"`],
  ["one filter", "repo:a", `repo:"a"`],
  ["and", "a and b", `and("a" "b")`],
  ["or", "a or b", `or("a" "b")`],
  ["and binds tighter than or", "a and b or c and d", `or(and("a" "b") and("c" "d"))`],
  ["and binds tighter on the right", "a or b and c", `or("a" and("b" "c"))`],
  ["a group changes that", "(a or b) and c", `and(or("a" "b") "c")`],
  ["and is flat", "a and b and c", `and("a" "b" "c")`],
  ["or is flat", "a or (b or (c or d))", `or("a" "b" "c" "d")`],
  ["nested and is flat", "a and (b and c)", `and("a" "b" "c")`],
  ["not binds to one pattern", "not a and b", `and(not("a") "b")`],
  ["not before a filter is a minus", "not repo:a b", `and(-repo:"a" "b")`],
  ["not before a quoted filter", `not file:"a b"`, `-file:"a b"`],
  ["a group in a group", "((a or b))", `or("a" "b")`],
  ["filters come first", "a repo:b c", `and(repo:"b" "a c")`],
  ["a group of filters", "(repo:a or repo:b) c", `and(or(repo:"a" repo:"b") "c")`],
  ["only filters", "repo:a file:b", `and(repo:"a" file:"b")`],
  ["nothing is said twice by groups", "(repo:a)", `repo:"a"`],
]);

table("side by side", "standard", [
  ["words are one text", "foo bar baz", `"foo bar baz"`],
  ["with the space as typed", " foo \t bar\n baz ", String.raw`"foo \t bar\n baz"`],
  ["with space outside ASCII", "foo\u00a0bar\u3000baz", `"foo\u00a0bar\u3000baz"`],
  ["a filter between words", "foo repo:a bar", `and(repo:"a" "foo bar")`],
  ["two spaces before a filter", "foo  repo:a bar", `and(repo:"a" "foo  bar")`],
  ["two spaces behind a filter", "foo repo:a  bar", `and(repo:"a" "foo  bar")`],
  ["a tab before a filter", "foo\trepo:a bar", String.raw`and(repo:"a" "foo\tbar")`],
  ["a tab behind filters", "foo repo:a file:b\tbar", String.raw`and(repo:"a" file:"b" "foo\tbar")`],
  ["a filter with space in its value", `foo file:"a   b" bar`, `and(file:"a   b" "foo bar")`],
  ["quotes and backslashes between spaces", String.raw`"a  b"  \n`, String.raw`"\"a  b\"  \\n"`],
  ["a regexp stands alone", "foo /b+/ bar baz", `and("foo" /b+/ "bar baz")`],
  ["regexps are anded", "/a/ /b/ c", `and(/a/ /b/ "c")`],
  ["a negated pattern breaks the run", "a b not c d e", `and("a b" not("c") "d e")`],
  ["a first negated pattern joins nothing", "not a b c", `and(not("a") "b" "c")`],
  ["content: is never joined", `content:"a" b c`, `and(content:"a" "b c")`],
  ["content: between words does not part them", "a content:x b", `and(content:"x" "a b")`],
  ["parentheses that are text", "foo(a, b) bar", `"foo(a, b) bar"`],
  ["a phrase in parentheses", "(foo bar) baz", `"(foo bar) baz"`],
  ["() alone", "()", `"()"`],
  ["quotes", `"foo bar"`, String.raw`"\"foo bar\""`],
  ["each operand is a run", "a b or c d", `or("a b" "c d")`],
]);

table("side by side", "literal", [
  ["words are one text", "foo bar", `"foo bar"`],
  ["slashes and quotes are text", `/a/ "b"`, String.raw`"/a/ \"b\""`],
  ["with the space as typed", "foo  bar\tbaz", String.raw`"foo  bar\tbaz"`],
  ["a negated pattern breaks the run", "a b not c d", `and("a b" not("c") "d")`],
]);

table("side by side", "keyword", [
  ["space has no meaning", "foo  bar\tbaz", `and("foo" "bar" "baz")`],
  ["words are anded", "foo bar baz", `and("foo" "bar" "baz")`],
  ["a phrase", `"foo bar" baz`, `and("foo bar" "baz")`],
  ["regexps too", "foo /b+/", `and("foo" /b+/)`],
  ["a group beside a word", "(a or b) c", `and(or("a" "b") "c")`],
  ["a group between words", "a (b or c) d", `and("a" or("b" "c") "d")`],
  ["a group of words", "(a b) or c", `or(and("a" "b") "c")`],
  ["a first negated pattern", "not a b c", `and(not("a") "b" "c")`],
  ["a call stays one word", "f(a, b) g", `and("f(a, b)" "g")`],
  ["() alone", "() a", `and("()" "a")`],
  ["two groups", "(a or b) (c or d)", `and(or("a" "b") or("c" "d"))`],
]);

table("side by side", "regexp", [
  ["on one line, in this order", "foo bar", "/(?:foo).*?(?:bar)/"],
  ["three", "a b c", "/(?:a).*?(?:b).*?(?:c)/"],
  ["a quoted one is escaped", `a+ "b.c"`, String.raw`/(?:a+).*?(?:b\.c)/`],
  ["a quoted one alone is a literal", `"b.c"`, `"b.c"`],
  ["between slashes", "/a b/ c", "/(?:a b).*?(?:c)/"],
  ["a negated pattern breaks the run", "a b not c d e", "and(/(?:a).*?(?:b)/ not(/c/) /(?:d).*?(?:e)/)"],
  ["a first negated pattern joins nothing", "not a b c", "and(not(/a/) /b/ /c/)"],
  ["a group beside a word is anded", "(a or b) c", "and(or(/a/ /b/) /c/)"],
  ["a group between words", "a (b or c) d e", "and(/a/ or(/b/ /c/) /(?:d).*?(?:e)/)"],
  ["parentheses are the regexp's", "(a|b)+ c", "/(?:(a|b)+).*?(?:c)/"],
]);

table("parentheses that are meant as text", "regexp", [
  ["() is text", "main()", String.raw`/main\(\)/`],
  ["() twice", "a()b()", String.raw`/a\(\)b\(\)/`],
  ["an open parenthesis at the end", "open(", String.raw`/open\(/`],
  ["an escaped one is right already", String.raw`open\(`, String.raw`/open\(/`],
  ["escaped parentheses are right already", String.raw`a\(\)`, String.raw`/a\(\)/`],
  ["a backslash before ()", String.raw`a\\()`, String.raw`/a\\\(\)/`],
  ["() alone", "()", String.raw`/\(\)/`],
  ["each word of a run", "a() b", String.raw`/(?:a\(\)).*?(?:b)/`],
]);

table("normalising", "standard", [
  ["field names in lower case", "REPO:A Case:YES", `and(repo:"A" case:"YES")`],
  ["aliases", "r:a f:b l:go m:x", `and(repo:"a" file:"b" lang:"go" message:"x")`],
  ["count:all", "count:all", `count:"99999999"`],
  ["count:ALL", `count:"ALL"`, `count:"99999999"`],
  ["another count", "count:5", `count:"5"`],
  ["content: is a pattern", "content:foo", `content:"foo"`],
  ["content: with quotes", `content:"a b"`, `content:"a b"`],
  ["content: negated", "-content:foo", `not(content:"foo")`],
  ["not content:", "not content:foo a", `and(not(content:"foo") "a")`],
]);

table("normalising", "regexp", [
  ["content: is a regexp", "content:fo+ a", "and(content:/fo+/ /a/)"],
  ["content: with quotes is a regexp, too", `content:"a b+"`, "content:/a b+/"],
]);

table("filters around an expression", "standard", [
  ["in front of or", "repo:r a or b", `and(repo:"r" or("a" "b"))`],
  ["in front, and tighter and", "repo:r a or b and c", `and(repo:"r" or("a" and("b" "c")))`],
  ["on both sides", "repo:r a or b file:f", `and(repo:"r" file:"f" or("a" "b"))`],
  [
    "several on both sides",
    "repo:r lang:go a or b or c file:f case:yes",
    `and(repo:"r" lang:"go" file:"f" case:"yes" or("a" "b" "c"))`,
  ],
  ["negated", "-repo:r a or b", `and(-repo:"r" or("a" "b"))`],
  ["around several words", "repo:r a b or c d", `and(repo:"r" or("a b" "c d"))`],
  ["between: each side keeps its own", "a or repo:r b", `or("a" and(repo:"r" "b"))`],
  ["behind the first word", "a repo:r or b", `or(and(repo:"r" "a") "b")`],
  ["in front of the last word", "repo:q a or repo:r b", `or(and(repo:"q" "a") and(repo:"r" "b"))`],
  ["in the middle", "repo:q a or file:f b or c", `or(and(repo:"q" "a") and(file:"f" "b") "c")`],
  ["an operand without pattern", "repo:q or a", `or(repo:"q" "a")`],
  ["a query that starts with a pattern", "a or b file:f", `or("a" and(file:"f" "b"))`],
  ["space in front changes nothing", "  a or b file:f", `or("a" and(file:"f" "b"))`],
  ["with and it is all the same", "repo:r a and b file:f", `and(repo:"r" "a" file:"f" "b")`],
  ["a group after or", "repo:r a or (b and c)", `and(repo:"r" or("a" and("b" "c")))`],
  ["a group before or", "repo:r (a and b) or c", `and(repo:"r" or(and("a" "b") "c"))`],
  ["a group between", "repo:r a and (b or c) or d", `and(repo:"r" or(and("a" or("b" "c")) "d"))`],
  ["a group before and", "repo:r (a or b) and c or d", `and(repo:"r" or(and(or("a" "b") "c") "d"))`],
  [
    "groups on both sides",
    "repo:r (a and b) or (c and d) file:f",
    `and(repo:"r" file:"f" or(and("a" "b") and("c" "d")))`,
  ],
  ["a group behind a group", "repo:r (a and b) or ((c and d) or e)", `and(repo:"r" or(and("a" "b") and("c" "d") "e"))`],
  ["a group without or near it", "repo:r (a or b) and c", `and(repo:"r" or("a" "b") "c")`],
  ["content: is a pattern", "repo:r content:a or b", `and(repo:"r" or(content:"a" "b"))`],
  ["content: on the other side", "repo:r a or content:b", `and(repo:"r" or("a" content:"b"))`],
  ["a group of filters in front", "(repo:q or repo:r) a or b", `and(or(repo:"q" repo:"r") or("a" "b"))`],
  [
    "a group of filters behind",
    "lang:go a or b (file:f or file:g)",
    `and(lang:"go" or(file:"f" file:"g") or("a" "b"))`,
  ],
  ["a group with another filter", "repo:r a or (file:f b)", `and(repo:"r" or("a" and(file:"f" "b")))`],
  ["a group with another filter in front", "repo:r (file:f a) or b", `and(repo:"r" or(and(file:"f" "a") "b"))`],
  ["a group with such a condition", "file:f a or (file:g b)", `and(file:"f" or("a" and(file:"g" "b")))`],
  ["a group with its own scope", "repo:q a or (repo:r b)", `or(and(repo:"q" "a") and(repo:"r" "b"))`],
  [
    "a group with its own scope, and another filter",
    "lang:go repo:q a or (repo:r b)",
    `and(lang:"go" or(and(repo:"q" "a") and(repo:"r" "b")))`,
  ],
  [
    "a third side has the filter",
    "repo:q a or (repo:r b) or c",
    `or(and(repo:"q" "a") and(repo:"r" "b") and(repo:"q" "c"))`,
  ],
  [
    "a part of a group has its own scope",
    "repo:q a or ((repo:r b) or c)",
    `or(and(repo:"q" "a") and(repo:"r" "b") and(repo:"q" "c"))`,
  ],
  ["a scope in the first group narrows", "repo:q (repo:r a) or b", `and(repo:"q" or(and(repo:"r" "a") "b"))`],
  ["what may be given once is replaced", "case:yes a or (case:no b)", `or(and(case:"yes" "a") and(case:"no" "b"))`],
  ["rev: belongs to the scope", "repo:q rev:v a or (repo:r b)", `or(and(repo:"q" rev:"v" "a") and(repo:"r" "b"))`],
  ["a negated filter is not replaced", "-repo:q a or (repo:r b)", `and(-repo:"q" or("a" and(repo:"r" "b")))`],
  ["in a group", "x and (repo:r (a and b) or c)", `and("x" repo:"r" or(and("a" "b") "c"))`],
]);

t.test("filters before an expression apply to all of it", async (t) => {
  const sample: Readonly<Record<string, string>> = { content: "", patterntype: "", g: "", rule: "" };
  for (const name of fieldNames.filter((name) => !(name in sample)))
    for (const type of ["standard", "literal", "keyword", "regexp"] as const)
      for (const expression of [
        "(a and b) or c",
        "c or (a and b)",
        "a and (b or c) or d",
        "(a or b) and (c or d) or e",
      ])
        for (const filter of [`${name}:x`, `${name}:x (repo:y or file:z)`, `NOT ${name}:x`, `${name}:x lang:go`]) {
          const query = `${filter} ${expression}`;
          t.equal(printTree(parseQuery(query, type)), printTree(parseQuery(`${filter} (${expression})`, type)), query);
        }
});

table("a parenthesis that closes nothing is text", "standard", [
  ["behind a word", "a)", `"a)"`],
  ["before a word", ") a", `") a"`],
  ["alone", ")", `")"`],
  ["several", "});", `"});"`],
  ["between words", "x)) {", `"x)) {"`],
  ["a smile", "smile :)", `"smile :)"`],
  ["behind a call", "if (f(x))) {", `"if (f(x))) {"`],
  ["behind parentheses that are text", "(a b)) c", `"(a b)) c"`],
  ["on both sides of an operator", "a) or b)", `or("a)" "b)")`],
  ["behind a group", "(a or b) and c)", `and(or("a" "b") "c)")`],
  ["behind a filter", "repo:r a) or b", `and(repo:"r" or("a)" "b"))`],
  ["in content:", "content:a) b", `and(content:"a)" "b")`],
  ["after not", "a not )", `and("a" not(")"))`],
  ["before a word with parentheses", "a)b(c)", `"a)b(c)"`],
  ["behind a regexp: a word", "/a/)", `"/a/)"`],
  ["where an operand is missing, all are text", "(a or (b and )) or d)", `or("(a" and("(b" "))") "d)")`],
]);

table("a parenthesis that closes nothing is text", "literal", [
  ["behind a word", "a)", `"a)"`],
  ["between words", "x)) {", `"x)) {"`],
]);

table("a parenthesis that closes nothing is text", "keyword", [
  ["behind a word", "a) b", `and("a)" "b")`],
  ["between words", "x)) {", `and("x))" "{")`],
  ["behind a group", "(a or b)) c", `and(or("a" "b") ")" "c")`],
  ["behind a phrase: a word", `"a b") c`, String.raw`and("\"a" "b\")" "c")`],
]);

table("parentheses that dangle are text", "standard", [
  ["at the end", "open (", `"open ("`],
  ["in a word", "foo(bar baz", `"foo(bar baz"`],
  ["before or", "(fox or scatter", `or("(fox" "scatter")`],
  ["at the end of a filter", "repo:a (", `and(repo:"a" "(")`],
  ["filters still go around", "repo:a (b or c", `and(repo:"a" or("(b" "c"))`],
  ["an operator without its operand and a parenthesis", "a or (", `or("a" "(")`],
  ["an operator without its operand in a group", "(a or )", `or("(a" ")")`],
  ["a keyword at the start of a group is a word", "x and (and )", `and("x" "and")`],
]);

table("parentheses that dangle are text", "keyword", [
  ["at the end", "open (", `and("open" "(")`],
  ["in a word", "foo(bar baz", `and("foo(bar" "baz")`],
  ["two open", "((a", `"((a"`],
]);

table("parentheses that dangle are text", "regexp", [
  ["in a word", "foo(bar baz", String.raw`/(?:foo(bar).*?(?:baz)/`],
  ["at the end", "open (", String.raw`/(?:open).*?(?:\()/`],
]);

table("a template", "structural", [["words", "foo(:[a]) bar", `"foo(:[a]) bar"`]]);

const notBeforeGroup =
  "it looks like you tried to use an expression after NOT. The NOT operator can only be used with simple search patterns or filters, and is not supported for expressions or subqueries";
const mixed =
  "i'm having trouble understanding that query. The combination of parentheses is the problem. Try using the content: filter to quote patterns that contain parentheses";
const unclear =
  "unsupported expression. The combination of parentheses in the query have an unclear meaning. Try using the content: filter to quote patterns that contain parentheses";
const unclearKeyword = `unsupported expression. The combination of parentheses in the query has an unclear meaning. Use "..." to quote patterns that contain parentheses`;

errors("refused", "standard", [
  ["not before a group", "not (a)", notBeforeGroup, "not ("],
  [
    "not before a negated filter",
    "a NOT -repo:x",
    `unexpected NOT before "-repo:x". Remove NOT and try again`,
    "NOT -repo:x",
  ],
  ["nothing after or", "a or ", "expected operand", ""],
  ["nothing after not", "a not ", "expected operand", ""],
  ["two operators", "a and or b", "expected operand", "or"],
  ["a group beside a parenthesis that closes nothing", "(a or b)) and c", mixed, "a or b))"],
  ["parentheses around an operator that are no group", "f(a or b)", unclear, ")"],
  ["a filter with a parenthesis that closes nothing", "file:a) or ", "expected operand", ""],
  ["a group beside a word", "(a or b) c", mixed, "a or b) c"],
  ["a word beside a group", "é a (b and c)", mixed, "é a (b and c"],
  ["a group beside a word, inside", "x or (a (b or c))", mixed, "a (b or c"],
  ["a bad filter value", `a repo:"b`, `unterminated literal: expected "`, `repo:"b`],
  ["a bad escape", String.raw`repo:"\." a`, "unrecognized escape sequence", String.raw`repo:"\.`],
  [
    "a bad escape outside of the first plane",
    `repo:"\\\u{1f600}" a`,
    "unrecognized escape sequence",
    `repo:"\\\u{1f600}`,
  ],
  ["a bad filter value after not", "not repo:'b", "unterminated literal: expected '", "repo:'b"],
]);

errors("refused", "literal", [["a group beside a word", "(a or b) c", mixed, "a or b) c"]]);

errors("refused", "keyword", [
  ["parentheses around an operator that are no group", "f(a or b)", unclearKeyword, ")"],
  ["not before a group", "a not (b or c)", notBeforeGroup, "not ("],
]);

errors("refused", "regexp", [["a parenthesis that closes nothing", "a) b", unclear, ")"]]);

t.test("the format of an error", async (t) => {
  const missing = errorOf("a or ", "standard");
  t.type(missing, IncompleteError);
  t.match(missing, {
    title: "Unable To Process Query",
    description: "I'm having trouble understanding that query. Putting parentheses around the search pattern may help.",
  });
  const other = errorOf("é a)", "regexp");
  t.match(other, { title: "Unable To Process Query", description: /^Unsupported expression\. / });
  t.same([other?.from, other?.to], [4, 5], "places are byte offsets");
  t.match(other?.printWithCaret(), "1:4 | é a)\n    |    ^", "a caret stands under the place");
});

t.test("limits", async (t) => {
  const rows: readonly ErrorRow[] = [
    ["65,537 bytes", "é".repeat(32_768) + "a", "longer than 65536 bytes", "é".repeat(32_768) + "a"],
    ["3,001 terms", "a ".repeat(3_000) + "c", "more than 3000 terms", "c"],
    ["501 groups", `x and ${"(".repeat(501)}a or b${")".repeat(501)}`, "nested more than 500 deep", "("],
  ];
  for (const [row, text, message, marked] of rows) {
    const error = errorOf(text, "keyword");
    t.match(error?.message, message, row);
    t.equal(Buffer.from(text).subarray(error?.from, error?.to).toString(), marked, `${row}: place`);
  }
  t.equal(errorOf("é".repeat(32_768), "keyword"), undefined, "65,536 bytes");
  t.equal(errorOf("a ".repeat(3_000), "keyword"), undefined, "3,000 terms");
  t.equal(errorOf(`${"(".repeat(500)}a or b${")".repeat(500)}`, "keyword"), undefined, "500 groups");
});

t.test("the pattern type", async (t) => {
  /** Query, `v`, `t`, type. */
  const rows: readonly (readonly [
    name: string,
    query: string,
    version: string,
    patternType: string,
    type: QueryType,
  ])[] = [
    ["nothing given", "a", "", "", "standard"],
    ["V1", "a", "V1", "", "regexp"],
    ["V2", "a", "V2", "", "literal"],
    ["V3", "a", "V3", "", "standard"],
    ["t wins over v", "a", "V1", "keyword", "keyword"],
    ["t wins over an unknown v", "a", "V9", "literal", "literal"],
    ["t: standard", "a", "", "standard", "standard"],
    ["t: literal", "a", "", "literal", "literal"],
    ["t: regexp", "a", "", "regexp", "regexp"],
    ["t: lucky", "a", "", "lucky", "standard"],
    ["V4-rc1", "a", "V4-rc1", "", "keyword"],
    ["t: names of older servers", "a", "", "newStandardRC1", "keyword"],
    ["t: codycontext", "a", "", "codycontext", "keyword"],
    ["t: structural", "a", "", "structural", "structural"],
    ["the query wins", "a patternType:regexp", "V2", "keyword", "regexp"],
    ["any case of the field", "PATTERNTYPE:literal a", "", "", "literal"],
    ["regex is regexp", "patterntype:regex a", "", "", "regexp"],
    ["keyword", "patterntype:keyword a", "", "", "keyword"],
    ["lucky", "patterntype:lucky a", "", "keyword", "standard"],
    ["quoted", `patterntype:"regexp" a`, "", "", "regexp"],
    ["unknown: the request's", "patterntype:nonsense a", "", "literal", "literal"],
    ["inside a predicate: none", "repo:has.path(patterntype:regexp) a", "", "", "standard"],
    ["in a text that is no literal query", "(a or b) c patterntype:regexp", "", "keyword", "keyword"],
  ];
  for (const [name, query, version, patternType, type] of rows)
    t.equal(choosePatternType(query, version, patternType), type, name);
  t.throws(() => choosePatternType("a", "V9", ""), {
    code: "bad-request",
    message: `unrecognized version: want "V1", "V2", or "V3", got "V9"`,
  });
  t.throws(() => choosePatternType("a", "", "x"), { code: "bad-request", message: `unrecognized patternType "x"` });
  t.throws(() => choosePatternType("a", "toString", ""), { code: "bad-request", message: /^unrecognized version: / });
  t.throws(() => choosePatternType("a", "", "constructor"), {
    code: "bad-request",
    message: `unrecognized patternType "constructor"`,
  });
  t.throws(() => choosePatternType("a", "", "regex"), {
    code: "bad-request",
    message: `unrecognized patternType "regex"`,
  });
});

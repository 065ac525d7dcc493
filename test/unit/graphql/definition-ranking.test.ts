/** Which of several definitions of a name is meant, by what is known of them and of the use. */
import t from "tap";
import { type Candidate, type NameUse, rankDefinitions } from "../../../src/graphql/sources/definition-ranking.js";
import type { ShownSymbolKind } from "../../../src/model/symbol-kind.js";

const languages = {
  c: "C",
  h: "C",
  s: "Assembly",
  ts: "TypeScript",
  js: "JavaScript",
  py: "Python",
  go: "Go",
} as const;

/** `FUNCTION lib/a.c:12`, with the line of the definition behind it, and `far` before what another repository has. */
function candidate(text: string): Candidate & { readonly signature: string; readonly text: string } {
  const [, far = "", kind = "", path = "", line = "", signature = ""] =
    /^(far )?(\w+) (\S+?):(\d+) ?(.*)$/.exec(text) ?? [];
  const language = languages[path.split(".").at(-1) as keyof typeof languages];
  const isOwnRepository = far === "";
  return { kind: kind as ShownSymbolKind, path, language, line: Number(line), isOwnRepository, signature, text };
}

interface Row {
  readonly what: string;
  readonly use: Partial<NameUse> & { readonly path: string };
  /** The likeliest first. */
  readonly order: readonly string[];
  readonly isUnique: boolean;
}

const rows: readonly Row[] = [
  {
    what: "what is called is no field",
    use: { path: "a/use.c", after: "(1)" },
    order: ["FUNCTION z/far.c:3 int size(int n)", "FIELD a/near.h:1 int size;"],
    isUnique: true,
  },
  {
    what: "a member is a field",
    use: { path: "a/use.c", before: "\treturn list->" },
    order: ["FIELD a/near.h:1 int size;", "VARIABLE a/near.c:1 int size;"],
    isUnique: true,
  },
  {
    what: "after struct comes no function",
    use: { path: "a/use.c", before: "struct " },
    order: ["STRUCT z/far.h:9 struct stat {", "FUNCTION a/near.c:2 int stat(void)"],
    isUnique: true,
  },
  {
    what: "what other files cannot see comes last",
    use: { path: "a/use.c", after: "(" },
    order: ["FUNCTION z/far.c:3 int init(void)", "FUNCTION a/near.c:3 static int init(void)"],
    isUnique: true,
  },
  {
    what: "a static function of a header is seen",
    use: { path: "a/use.c", after: "(", imports: ["linux/x.h"] },
    order: [
      "FUNCTION include/linux/x.h:3 static inline int init(void)",
      "FUNCTION a/x.h:3 static inline int init(void)",
    ],
    isUnique: true,
  },
  {
    what: "a stub in a header comes after the function",
    use: { path: "a/use.c", after: "(", imports: ["linux/x.h"] },
    order: [
      "FUNCTION z/x.c:3 int init(void)",
      "FUNCTION include/linux/x.h:3 static inline int init(void) { return 0; }",
    ],
    isUnique: true,
  },
  {
    what: "an imported module",
    use: { path: "src/a/use.ts", after: "(", imports: ["src/base/text.js"] },
    order: ["FUNCTION src/base/text.ts:5", "FUNCTION src/a/near.ts:1"],
    isUnique: true,
  },
  {
    what: "a package is a folder",
    use: { path: "cmd/main.go", before: "text.", after: "(", imports: ["example.org/x/text"] },
    order: ["FUNCTION pkg/example.org/x/text/join.go:5", "FUNCTION cmd/near.go:1"],
    isUnique: true,
  },
  {
    what: "a name of a module that is imported",
    use: { path: "enc/utf.py", before: "class Writer(codecs.", after: "):", imports: ["codecs", "io"] },
    order: ["CLASS codecs.py:9", "CLASS enc/utf.py:1", "CLASS io.py:1"],
    isUnique: true,
  },
  {
    what: "an import defines nothing",
    use: { path: "app/main.py", imports: ["shapes"] },
    order: ["CLASS lib/other.py:5", "VARIABLE app/main.py:1 from shapes import Circle"],
    isUnique: true,
  },
  {
    what: "a name taken from a package",
    use: { path: "app/main.py", after: "(", imports: ["lib/shapes", "lib/shapes/Circle"] },
    order: ["CLASS src/lib/shapes/Circle.py:5", "CLASS app/near.py:1"],
    isUnique: true,
  },
  {
    what: "in a file, the last one before the use",
    use: { path: "a.ts", line: 20 },
    order: ["CONSTANT a.ts:15", "CONSTANT a.ts:3", "CONSTANT a.ts:30"],
    isUnique: false,
  },
  {
    what: "tests come later, folders nearby first",
    use: { path: "net/ipv4/use.c", after: "(" },
    order: ["FUNCTION net/ipv6/core.c:1", "FUNCTION drivers/core.c:1", "FUNCTION net/ipv4/test/core.c:1"],
    isUnique: false,
  },
  {
    what: "another repository, another language of the family",
    use: { path: "a.ts", after: "(" },
    order: ["FUNCTION z/b.ts:1", "FUNCTION b.js:1", "far FUNCTION c.ts:1"],
    isUnique: false,
  },
  { what: "nothing", use: { path: "a.ts" }, order: [], isUnique: false },
];

for (const { what, use, order, isUnique } of rows) {
  const language = languages[use.path.split(".").at(-1) as keyof typeof languages];
  const whole: NameUse = { language, line: 1, before: "", after: "", imports: [], ...use };
  for (const given of [order, [...order].reverse()]) {
    const found = rankDefinitions(given.map(candidate), whole);
    t.same([found.ranked.map(({ candidate: { text } }) => text), found.isUnique], [order, isUnique], what);
  }
}

const other = rankDefinitions([candidate("FUNCTION a.py:1")], {
  path: "a.c",
  language: "C",
  line: 1,
  before: "",
  after: "(",
  imports: [],
});
t.same(other, { ranked: [], isUnique: false }, "a language that has nothing to do with it");

/** What the search field makes of a text: colours, proposals, errors with their place, filters that are added. */
import t from "tap";
import { addExpression, hasFilter, toggleFilter } from "../../../src/web/query/query-edits.js";
import { findPlace, proposeAtOnce, proposedMax } from "../../../src/web/query/completion/completion-words.js";
import { splitQuery } from "../../../src/web/query/query-highlight.js";
import { addressOfQuery, queryOfAddress, queryOfText, wholeText } from "../../../src/web/query/query-state.js";

const shown = (text: string, type: "standard" | "keyword" | "regexp" | "literal" = "standard"): readonly string[] =>
  splitQuery(text, type).map(({ kind, from, to }) => `${kind} ${text.slice(from, to)}`);

t.test("colours", async (t) => {
  const rows: readonly (readonly [text: string, ...segments: string[]])[] = [
    [""],
    ["   ", "space    "],
    ["a", "pattern a"],
    ["a b", "pattern a", "space  ", "pattern b"],
    [
      "a or repo:b /c+/",
      "pattern a",
      "space  ",
      "operator or",
      "space  ",
      "field repo:",
      "value b",
      "space  ",
      "regexp /c+/",
    ],
    ["(a)", "pattern (a)"],
    ["(a or b)", "operator (", "pattern a", "space  ", "operator or", "space  ", "pattern b", "operator )"],
    ["not -file:x", "operator not", "space  ", "field -file:", "value x"],
    ['"a 🧵', 'pattern "a', "space  ", "pattern 🧵"],
    ["repo:", "field repo:"],
    ["nofield:a", "pattern nofield:a"],
    ["repo:has.path(a b) c", "field repo:", "value has.path(a b)", "space  ", "pattern c"],
  ];
  for (const [text, ...segments] of rows) t.same(shown(text), segments, JSON.stringify(text));
  t.same(
    shown('"a b" c', "keyword"),
    ['pattern "a b"', "space  ", "pattern c"],
    "quotation marks belong to one pattern",
  );
  t.same(
    shown("(a or /b/", "literal").join("|").includes("regexp"),
    false,
    "a literal pattern has no regular expression",
  );
});

t.test("the segments are the whole text in its order, whatever it is", async (t) => {
  const pieces = ["a", " ", "(", ")", '"', "/", "\\", "repo:", "-", "or ", "not ", "🧵", "é", "has.path(", "\n", ":"];
  let state = 1;
  const next = (below: number): number => (state = (Math.imul(state, 1103515245) + 12345) >>> 0) % below;
  const wrong: string[] = [];
  for (let round = 0; round < 2_000; round++) {
    const text = Array.from({ length: next(12) }, () => pieces[next(pieces.length)]).join("");
    for (const type of ["standard", "keyword", "regexp", "literal"] as const) {
      let at = 0;
      for (const { from, to } of splitQuery(text, type)) {
        if (from !== at || to <= from) wrong.push(`${type} ${JSON.stringify(text)}`);
        at = to;
      }
      if (at !== text.length) wrong.push(`${type} ${JSON.stringify(text)} ends at ${at}`);
    }
  }
  t.same(wrong, []);
});

t.test("a text that the server refuses is not highlighted", async (t) => {
  const text = "a ".repeat(10_001);
  t.same(splitQuery(text, "standard"), [{ kind: "pattern", from: 0, to: text.length }]);
});

t.test("the place of the cursor", async (t) => {
  const place = (text: string, cursor = text.length) => findPlace(text, cursor, "standard");
  t.same(place("nothing -la"), { kind: "word", from: 9, prefix: "la", negation: "-" });
  t.same(place("re"), { kind: "word", from: 0, prefix: "re", negation: "" });
  t.same(place("a lang:typesc"), { kind: "value", from: 7, prefix: "typesc", field: "lang" });
  t.same(place("-l:go"), { kind: "value", from: 3, prefix: "go", field: "lang" }, "an alias, excluded");
  t.same(place("repo:abc file:x", 7), { kind: "value", from: 5, prefix: "ab", field: "repo" }, "in the middle");
  for (const text of ["", "a ", '"quoted', "/regexp", 'repo:"a', "repo:has.path(a)"])
    t.equal(place(text), undefined, text);
});

t.test("proposals that need no request", async (t) => {
  const labels = (text: string): readonly string[] => {
    const place = findPlace(text, text.length, "standard");
    return place === undefined ? [] : proposeAtOnce(place).map(({ label }) => label);
  };
  t.same(labels("type:di"), ["diff"]);
  t.same(labels("type:DI"), ["diff"]);
  t.same(labels("type:diff"), [], "what is whole is not proposed");
  t.same(labels("case:"), ["yes", "no"]);
  t.same(labels("-la"), ["-lang:"]);
  t.same(labels("-cou"), [], "what cannot be excluded");
  t.same(labels("cou"), ["count:"]);
  t.ok(labels("c").includes("content:"));
  t.ok(labels("r").length <= proposedMax);
  t.same(labels("repo:x"), [], "the server knows these");
});

t.test("filters that are added and taken back", async (t) => {
  t.equal(toggleFilter("needle", "lang:go"), "needle lang:go");
  t.equal(toggleFilter("needle lang:go", "lang:go"), "needle");
  t.equal(toggleFilter("lang:go needle", "lang:go"), "needle");
  t.equal(toggleFilter("a lang:go b", "lang:go"), "a b");
  t.equal(toggleFilter("lang:go", "lang:go"), "");
  t.equal(hasFilter("lang:gomod", "lang:go"), false, "a longer word");
  t.equal(hasFilter("-lang:go", "lang:go"), false, "its exclusion");
  t.equal(hasFilter("xlang:go lang:go", "lang:go"), true, "the second one is whole");
});

t.test("an expression that is added applies to the whole query", async (t) => {
  const added = (text: string, expression: string): string =>
    addExpression({ text, patternType: "standard", caseSensitive: false }, expression).text;
  t.equal(added("needle", "count:all"), "needle count:all");
  t.equal(added("needle count:1", "count:all"), "needle count:all", "a field that may be used once is replaced");
  t.equal(added("a or b", "repo:x"), "(a or b) repo:x");
});

t.test("a text that says its meaning itself", async (t) => {
  const rows: readonly (readonly [text: string, ...state: [text: string, type: string, caseSensitive: boolean]])[] = [
    ["a b", "a b", "standard", false],
    ["a b patternType:keyword", "a b", "keyword", false],
    ["patterntype:Literal a b case:yes", "a b", "literal", true],
    ["repo:x case:yes a patternType:regexp", "repo:x a", "regexp", true],
    ["case:yes a or b case:no patternType:keyword", "case:yes a or b case:no", "keyword", false],
    ["a patternType:structural", "a patternType:structural", "standard", false],
  ];
  for (const [whole, text, patternType, caseSensitive] of rows)
    t.same(queryOfText(whole), { text, patternType, caseSensitive }, whole);
});

t.test("the state in the address", async (t) => {
  const state = { text: "a b&c=d", patternType: "regexp", caseSensitive: true } as const;
  t.same(queryOfAddress(new URL(addressOfQuery(state), "http://localhost")), state);
  t.same(queryOfAddress(new URL("http://localhost/search?q=a&patternType=nonsense&case=1")), {
    text: "a",
    patternType: "standard",
    caseSensitive: false,
  });
  t.equal(queryOfAddress(new URL("http://localhost/search")).patternType, "keyword", "what is typed next");
  t.equal(queryOfAddress(new URL("http://localhost/search?q=a+b")).patternType, "standard", "a link of others");
  t.equal(
    wholeText({ text: "a or b", patternType: "keyword", caseSensitive: true }),
    "(a or b) case:yes patterntype:keyword",
  );
});

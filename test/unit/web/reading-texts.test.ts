/** What the pages of files and commits make of texts. */
import t from "tap";
import { countUses, groupReferences, textWithCode } from "../../../src/web/code/names/name-answers.js";
import { findScopes, scopesAbove, type ScopeSymbol } from "../../../src/web/code/files/scopes.js";
import { splitMessage } from "../../../src/web/code/commits/message-text.js";
import { hasSwitch, readLineRange, withLineRange, withSwitch } from "../../../src/web/code/files/line-range.js";
import { itemAtLine, leaveOutLocals, type OutlineItem } from "../../../src/web/code/files/outline-items.js";

t.test("links in messages of commits", async (t) => {
  const links = (message: string): readonly string[] => {
    const parts = splitMessage(message);
    t.equal(parts.map(({ text }) => text).join(""), message);
    return parts.flatMap(({ kind, text }) => (kind === "text" ? [] : [`${kind} ${text}`]));
  };
  for (const [message, ...found] of [
    ["no link: deadbeef 1234567 facade1", "commit facade1"],
    ["Fixes: 0123abcd4567 (a)", "commit 0123abcd4567"],
    [
      "See https://a.test/b?c=d#e, and (http://x.test/y_(z)).",
      "address https://a.test/b?c=d#e",
      "address http://x.test/y_(z)",
    ],
    ["Fix #12 and a#13, &#39; #0", "issue #12"],
    ["javascript:alert(1) <a href=x>", ...[]],
    ["", ...[]],
  ])
    t.same(links(message ?? ""), found, message);
});

t.test("a message that is made to be slow to link is not", async (t) => {
  const message = `http://a${")".repeat(19_000)}`;
  const { user: before } = process.cpuUsage();
  t.same(
    splitMessage(message).map(({ kind, text }) => [kind, text.length]),
    [
      ["address", 8],
      ["text", 19_000],
    ],
  );
  t.ok(process.cpuUsage().user - before < 500_000, "it takes time for each character once");
  const many = splitMessage("#1 ".repeat(100_000));
  t.ok(many.length < 20_000, `a long message has ${many.length} parts`);
  t.equal(many.map(({ text }) => text).join("").length, 300_000);
  const cut = `${"a ".repeat(9_990)}http://a.test/${"b".repeat(50)} #1`;
  t.same(splitMessage(cut), [{ kind: "text", text: cut }], "no address is cut");
});

t.test("an address keeps what it says besides the lines", async (t) => {
  const url = new URL("http://trawl.test/r/-/blob/f?L3-5&blame");
  t.same(readLineRange(url), { from: 3, to: 5 });
  t.equal(hasSwitch(url, "blame"), true);
  t.equal(hasSwitch(new URL("?L3&blame=", url), "blame"), true);
  t.equal(withLineRange(url, { from: 7, to: 7 }), "/r/-/blob/f?L7&blame");
  t.equal(withLineRange(url, undefined), "/r/-/blob/f?blame");
  t.equal(withSwitch(url, "blame", false), "/r/-/blob/f?L3-5");
  t.equal(withSwitch(new URL("http://trawl.test/f"), "blame", true), "/f?blame");
  t.equal(withSwitch(new URL("http://trawl.test/f#L10"), "blame", true), "/f?blame#L10");
});

t.test("an outline has no locals and no imports", async (t) => {
  const lines = [
    "import { A } from 'a';",
    "class B {",
    "  c = 1;",
    "  d() {",
    "    const e = 1;",
    "function f() {",
    "  let g;",
    "const h = 1;",
  ];
  const item = (
    name: string,
    kind: OutlineItem["symbol"]["kind"],
    line: number,
    containerName: string | null = null,
  ) => ({
    depth: 0,
    symbol: { name, kind, containerName, location: { range: { start: { line } } } },
  });
  const all: readonly OutlineItem[] = [
    item("A", "VARIABLE", 0),
    item("B", "CLASS", 1),
    item("c", "PROPERTY", 2, "B"),
    item("d", "METHOD", 3, "B"),
    item("e", "CONSTANT", 4),
    item("f", "FUNCTION", 5),
    item("g", "VARIABLE", 6, "f"),
    item("h", "CONSTANT", 7),
  ];
  const shown = leaveOutLocals(all, lines);
  t.equal(shown.map(({ symbol }) => symbol.name).join(""), "Bcdfh");
  t.same(
    [1, 2, 4, 5, 6, 8].map((line) => shown[itemAtLine(shown, line)]?.symbol.name),
    [undefined, "B", "d", "d", "f", "h"],
  );
});

t.test("code in what is written about a name", async (t) => {
  const marked = (text: string): string =>
    textWithCode(text)
      .map(({ isCode, part }) => (isCode ? `<${part}>` : part))
      .join("|");
  for (const [text, parts] of [
    ["Opens `a` and ``.", "Opens |<a>| and ``."],
    ["A lone ` stays", "A lone ` stays"],
    ["`a\nb` c", "`a\nb` c"],
    ["See:\n```ts\nopen();\n```\nMore", "See:\n|<open();>|\nMore"],
    ["```ts\nnever closed", "```ts\nnever closed"],
    ["", ""],
  ] as const)
    t.equal(marked(text), parts);
});

t.test("uses by repository, and those whose path has a text", async (t) => {
  const use = (name: string, path: string, ...counts: number[]) => ({
    file: { path, url: `/${name}/${path}`, repository: { name } },
    lines: counts.map((count, line) => ({
      line,
      preview: "",
      url: "",
      ranges: Array.from({ length: count }, () => ({ start: 0, end: 1 })),
    })),
  });
  const files = [use("a/one", "src/Main.ts", 1, 2), use("b/two", "main.go", 0), use("a/one", "lib/x.ts", 1)];
  const shown = (part: string): string =>
    groupReferences(files, part)
      .map(({ repository, count, files: found }) => `${repository} ${count} ${found.map(({ file }) => file.path)}`)
      .join("; ");
  t.equal(shown(""), "a/one 4 src/Main.ts,lib/x.ts; b/two 1 main.go", "a line of which no use is shown has one");
  t.equal(shown(" MAIN "), "a/one 3 src/Main.ts; b/two 1 main.go");
  t.equal(shown("two/main"), "b/two 1 main.go");
  t.equal(shown("nowhere"), "");
  t.equal(countUses({ lines: [] }), 0);
});

t.test("where functions and classes end", async (t) => {
  /** "FROM-TO", of the functions (`fn`) and values (`val`) of a text. */
  const found = (text: string): string => {
    const lines = text.split("\n");
    const symbols = lines.flatMap((line, at): ScopeSymbol[] => {
      if (line.includes("fn ")) return [{ kind: "FUNCTION", line: at }];
      return line.includes("val ") ? [{ kind: "CONSTANT", line: at }] : [];
    });
    return findScopes(symbols, lines)
      .map(({ from, to }) => `${from}-${to}`)
      .join(" ");
  };
  for (const [text, scopes] of [
    ["fn a() {\n  x\n}\n\nfn b() {\n}", "1-3 5-6"],
    ["fn a {\n  fn b(\n    x\n  ) {\n    y\n  }\n\n  z\n}", "1-9 2-6"],
    ["int fn a()\n{\n\tx;\nout:\n#ifdef A\n\ty;\n#endif\n}\nint b;", "1-8"],
    ["fn a() {\n  if (x) {\n    `text\nat the left`;\n  }\n}\nx", "1-6"],
    ["fn a() { if\n} else {\n  x\n}\n", "1-4"],
    ["fn a(x):  # why\n    y\n\n    z\n\n# next\nfn b(\n    x,\n):\n    y\nend", "1-4 7-11"],
    ["fn a\n  x\n  y.each {\n  }\nend\nfn b\n  z\nend", "1-5 6-8"],
    ["fn proto();\nfn one() {}\nfn two() { x }\n", ""],
    ["val a = 1\nval b = () => {\n  x\n};\nval c = {\n  x\n}", "2-4"],
    ["#define fn a \\\n  x", ""],
    ["fn never {\n  x\n  y", "1-3"],
    ["", ""],
  ] as const)
    t.equal(found(text), scopes, text);
  const deep = Array.from({ length: 500 }, (_, i) => `${" ".repeat(i)}fn a {`);
  const some = findScopes(
    deep.map((_, line) => ({ kind: "FUNCTION", line })),
    deep,
  ).length;
  t.ok(some > 10 && some < 400, `the work is limited: ${some}`);
});

t.test("the lines of the scopes around what is seen", async (t) => {
  const scopes = [
    { from: 1, to: 100 },
    { from: 10, to: 50 },
    { from: 12, to: 20 },
    { from: 60, to: 90 },
  ];
  for (const [top, ...lines] of [
    [1],
    [2, 1],
    [9, 1],
    [11, 1, 10, 12],
    [10, 1, 10],
    [17, 1, 10, 12],
    [20, 1, 10],
    [49, 1, 10],
    [59, 1],
    [100, 1],
    [101],
  ])
    t.same(scopesAbove(scopes, top ?? 0), lines, `from line ${top}`);
  const deep = Array.from({ length: 9 }, (_, i) => ({ from: i + 1, to: 100 }));
  t.same(scopesAbove(deep, 50), [6, 7, 8, 9], "of many, the inner ones");
});

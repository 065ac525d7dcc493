/** What a page makes of changes: words that differ, the lines around them, and how they are shown. */
import t from "tap";
import { type DiffHunk, gapsOfHunks, markHunks, markPair } from "../../../src/web/code/commits/diff-lines.js";
import { readDiffView, withDiffView } from "../../../src/web/code/commits/diff-view.js";

/** A line with its marks in brackets. */
function marked(text: string, ranges: readonly { readonly from: number; readonly to: number }[]): string {
  return [...ranges]
    .reverse()
    .reduce((shown, { from, to }) => `${shown.slice(0, from)}[${shown.slice(from, to)}]${shown.slice(to)}`, text);
}

t.test("words that changed within lines", async (t) => {
  for (const [before, after, ...shown] of [
    ["const a = 1;", "const b = 1;", "const [a] = 1;", "const [b] = 1;"],
    ["f(one, two)", "f(one, three, two)", "f(one, two)", "f(one, [three, ]two)"],
    ["return x;", "  return x;", "return x;", "[  ]return x;"],
    ["a big dog ran off", "a small cat ran off", "a [big dog] ran off", "a [small cat] ran off"],
    ["größe = ä1", "größe = ö1", "größe = [ä1]", "größe = [ö1]"],
    ["nothing here", "is alike at all"],
    ["same", "same"],
  ]) {
    const found = markPair(before ?? "", after ?? "");
    t.same(
      found === undefined ? [] : [marked(before ?? "", found.before), marked(after ?? "", found.after)],
      shown,
      before,
    );
  }
});

function hunk(oldStart: number, newStart: number, body: string): DiffHunk {
  const count = (sign: string) =>
    body.split("\n").filter((line) => line.startsWith(" ") || line.startsWith(sign)).length;
  return {
    oldRange: { startLine: oldStart, lines: count("-") },
    newRange: { startLine: newStart, lines: count("+") },
    section: null,
    body,
  };
}

t.test("a removed line is compared with the added one that it became", async (t) => {
  const lines = [
    " a",
    "-let one = 1;",
    "-drop(this, line);",
    "-let two = 2;",
    "+let one = 10;",
    "+let two = 20;",
    " b",
    "-x",
  ];
  const [marks = new Map()] = markHunks([hunk(1, 1, lines.join("\n"))]);
  const shown = lines.map((line, at) => marked(line.slice(1), marks.get(at) ?? []));
  t.same(shown, [
    "a",
    "let one = [1];",
    "drop(this, line);",
    "let two = [2];",
    "let one = [10];",
    "let two = [20];",
    "b",
    "x",
  ]);
});

t.test("marks take bounded time", async (t) => {
  const words = (word: string) => Array.from({ length: 140 }, (_, i) => `${word}${i % 7}`).join(" ");
  const many = Array.from({ length: 2000 }, (_, i) => [`-${words("a")} ${i}`, `+${words("b")} ${i}`]).flat();
  const { user: before } = process.cpuUsage();
  markHunks([hunk(1, 1, many.join("\n")), hunk(9000, 9000, `-${"x ".repeat(100_000)}\n+${"y ".repeat(100_000)}`)]);
  t.ok(process.cpuUsage().user - before < 500_000);
  const added = Array.from({ length: 20_000 }, (_, i) => `+${"a b ".repeat(250)}${i}`);
  const grouped = Array.from({ length: 20_000 }, (_, i) => `${["-", "+", "+"][i % 3]}${"a b ".repeat(250)}${i}`);
  const { user: start } = process.cpuUsage();
  markHunks([hunk(1, 1, added.join("\n")), hunk(90_000, 90_000, grouped.join("\n"))]);
  t.ok(process.cpuUsage().user - start < 500_000, "also of lines that have no pair, and to find the pairs");
});

t.test("the lines between changes", async (t) => {
  const change = (context: number) => `${" a\n".repeat(3)}-b\n+c\n+d${"\n a".repeat(context)}`;
  t.same(
    gapsOfHunks([hunk(11, 11, change(3)), hunk(40, 41, change(3))]),
    [
      { from: 1, to: 11, offset: 0 },
      { from: 19, to: 41, offset: -1 },
      { from: 49, to: undefined, offset: -2 },
    ],
    "before, between and after",
  );
  t.same(
    gapsOfHunks([hunk(1, 1, change(2))]),
    [
      { from: 1, to: 1, offset: 0 },
      { from: 8, to: 8, offset: -1 },
    ],
    "nothing is after fewer lines",
  );
  t.same(gapsOfHunks([{ ...hunk(0, 1, "+a"), oldRange: { startLine: 0, lines: 0 } }]), [], "a new file is all shown");
  t.same(gapsOfHunks([]), []);
});

t.test("how changes are shown is in the address", async (t) => {
  const url = new URL("http://trawl.test/r/-/commit/c?x=1&w=1&diff=split#L1");
  t.same(readDiffView(url), { form: "split", ignoresSpace: true });
  t.same(readDiffView(new URL("?diff=other&w=0", url)), { form: undefined, ignoresSpace: false });
  t.equal(withDiffView(url, { form: "unified", ignoresSpace: false }), "/r/-/commit/c?x=1&diff=unified#L1");
  t.equal(withDiffView(new URL("/c", url), { form: undefined, ignoresSpace: true }), "/c?w=1");
});

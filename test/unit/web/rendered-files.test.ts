/** Files as what they look like: their kinds and addresses, notebooks, tables, bytes; of any shape, also of a broken one. */
import t from "tap";
import Papa from "papaparse";
import {
  addressOfLines,
  addressOfView,
  asksForRendered,
  fileKind,
} from "../../../src/web/code/files/rendered/file-kind.js";
import {
  cellsMax,
  hexLines,
  readNotebook,
  readTable,
  rowsMax,
  type Table,
} from "../../../src/web/code/files/rendered/read-contents.js";

t.test("kinds, by the name", async (t) => {
  const kinds = ["a.PNG", "a/b.svg", "a.pdf", "README.md", "x.ipynb", "x.TSV", "png", "a.ts"].map(fileKind);
  t.same(kinds, ["image", "svg", "pdf", "markdown", "notebook", "table", undefined, undefined]);
});

t.test("the choice is in the address", async (t) => {
  const url = (search: string): URL => new URL(`http://localhost/r/-/blob/a.md${search}`);
  t.same(
    ["", "?view=code", "?L3", "?blame", "#L3"].map((one) => asksForRendered(url(one))),
    [true, false, false, false, false],
  );
  t.equal(addressOfView(url("?L3"), true), "/r/-/blob/a.md");
  t.equal(addressOfView(url("?blame"), false), "/r/-/blob/a.md?blame&view=code");
  t.equal(addressOfView(url("?view=code"), true), "/r/-/blob/a.md");
  t.equal(addressOfView(url("?L3&blame"), true), "/r/-/blob/a.md");
  t.equal(addressOfLines(url("?view=code&L3"), "a.md", undefined), "/r/-/blob/a.md?view=code");
  t.equal(addressOfLines(url(""), "a.ts", { from: 3, to: 4 }), "/r/-/blob/a.md?L3-4");
});

const notebook = (value: unknown): ReturnType<typeof readNotebook> => readNotebook(JSON.stringify(value));
const output = (one: unknown): unknown =>
  notebook({ cells: [{ cell_type: "code", source: "x", outputs: [one] }] }).cells[0]?.outputs[0];

t.test("notebooks of both formats", async (t) => {
  const { cells, language } = notebook({
    metadata: { kernelspec: { language: "R" } },
    cells: [
      { cell_type: "markdown", source: ["# A\n", "b"] },
      { cell_type: "code", source: "1", execution_count: 3, outputs: [] },
      { cell_type: "raw", source: "r" },
    ],
  });
  t.equal(language, "R");
  t.same(
    cells.map(({ kind, text, count }) => [kind, text, count]),
    [
      ["markdown", "# A\nb", undefined],
      ["code", "1", 3],
      ["raw", "r", undefined],
    ],
  );
  const old = notebook({
    worksheets: [
      {
        cells: [
          { cell_type: "heading", level: 2, source: "T" },
          {
            cell_type: "code",
            input: "i",
            prompt_number: 1,
            outputs: [{ output_type: "display_data", png: "QQ==\n" }],
          },
        ],
      },
    ],
  });
  t.equal(old.cells[0]?.text, "## T");
  t.same(old.cells[1]?.outputs, [{ kind: "image", type: "image/png", data: "QQ==" }]);
});

t.test("outputs", async (t) => {
  const text = (data: unknown): unknown => output({ output_type: "display_data", data });
  t.same(text({ "text/plain": ["a", "b"], "text/html": "<b>" }), { kind: "html", text: "<b>", isCut: false });
  t.same(text({ "application/json": { a: 1 } }), { kind: "text", text: '{"a":1}', isCut: false });
  t.same(text({ "application/vnd.x": 1 }), { kind: "other", what: "Output of type application/vnd.x" });
  t.same(text({ "text/html": "x".repeat(20_001) }), { kind: "other", what: "A page that is too long to show" });
  const stream = output({ output_type: "stream", text: "x".repeat(20_001) }) as { text: string; isCut: boolean };
  t.same([stream.text.length, stream.isCut], [20_000, true]);
  t.same(output({ output_type: "error", traceback: ["\u001b[0;31mE\u001b[0m", 1, "f"] }), {
    kind: "error",
    text: "E\nf",
    isCut: false,
  });
  for (const odd of [null, 1, [], {}, { data: [] }, { data: { "text/plain": [1] } }])
    t.match(output(odd), { kind: "other" }, JSON.stringify(odd));
});

t.test("broken notebooks say what is wrong", async (t) => {
  t.throws(() => readNotebook('{"cells": ['), /It is not valid JSON/);
  for (const [value, message] of [
    [[], "It is not an object."],
    [{ cells: 1 }, "It has no list of cells."],
    [{ worksheets: [] }, "It has no list of cells."],
    [{ worksheets: [1] }, "Its worksheet is not an object."],
  ] as const)
    t.throws(() => notebook(value), { message });
  const odd = notebook({
    cells: [null, 1, { cell_type: {}, source: 5 }],
    metadata: { language_info: { name: "a b" } },
  });
  t.same([odd.language, odd.cells.map(({ text }) => text)], ["python", ["", "", ""]]);
  t.equal(notebook({ cells: Array.from({ length: cellsMax + 2 }, () => ({})) }).cellsLeft, 2);
});

t.test("tables", async (t) => {
  const table = (text: string, path = "a.csv"): Table => readTable(text, path, Papa.parse);
  const long = table(`${'"a",'.repeat(300_000)}\nb\n`);
  t.match([long.head.length, long.isCut, long.columnsLeft > 100_000], [60, true, true], "a long row is cut");
  t.match(table('a,b\n"x, ""1""\n2",y\n\nz\n'), { head: ["a", "b"], rows: [['x, "1"\n2', "y"], ["z"]], isCut: false });
  t.same(table("a;b\n1;2\n").rows, [["1", "2"]], "other delimiters are found");
  t.same(table("a,x\tb\n1\t2\n", "a.tsv").head, ["a,x", "b"]);
  t.match(table("one\n1\n2\n"), { head: ["one"], rows: [["1"], ["2"]], problem: undefined });
  t.match(table(""), { head: [], rows: [] });
  t.match(table('a,b\n"never closed,1\n').problem, /quote/i);
  const large = table(`a,b\n${"1,2\n".repeat(rowsMax + 1)}`);
  t.same([large.rows.length, large.isCut], [rowsMax, true]);
  t.equal(table(`a,b\n${"1,2\n".repeat(rowsMax)}`).isCut, false, "all rows of one that just fits");
  const wide = table(`${"c,".repeat(99)}c\n`);
  t.same([wide.head.length, wide.columnsLeft], [60, 40]);
  t.equal(table(`a,b\n${"x".repeat(400)},1\n`).rows[0]?.[0]?.length, 301);
});

t.test("bytes", async (t) => {
  const bytes = Uint8Array.from({ length: 17 }, (_, at) => (at === 0 ? 0 : 0x40 + at));
  t.equal(
    hexLines(bytes, 32),
    "00000020  00 41 42 43 44 45 46 47  48 49 4a 4b 4c 4d 4e 4f  .ABCDEFGHIJKLMNO\n" + `00000030  50${" ".repeat(48)}P`,
  );
  t.equal(hexLines(new Uint8Array(), 0), "");
});

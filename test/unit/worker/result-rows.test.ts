/** Match objects as rows of tables. */
import t from "tap";
import { csvField } from "../../../src/base/text.js";
import type { StreamMatch } from "../../../src/model/stream-events.js";
import { csvHeader, csvLine, cellCharsMax, makeRows } from "../../../src/worker/read/convert-results.js";
import { parseCsv } from "../../support/csv.js";

const rows = (match: StreamMatch) => [...makeRows(match, "http://trawl")];
const location = (line: number, column: number) => ({ offset: 0, line, column });
const range = (line: number, from: number, to: number) => ({ start: location(line, from), end: location(line, to) });
const file = { repository: "r", branches: ["main"], commit: "c0ffee", path: "a b.ts", language: "TypeScript" };

t.test("each type of result has its rows", async (t) => {
  const chunk = (line: number) => ({
    content: "x needle",
    contentStart: location(line, 0),
    ranges: [range(line, 2, 8)],
  });
  t.match(rows({ type: "content", ...file, chunkMatches: [chunk(0), chunk(7)] }), [
    {
      kind: "content",
      repository: "r",
      revision: "main",
      commit: "c0ffee",
      path: "a b.ts",
      line: 1,
      ranges: "1:3-1:9",
      text: "x needle",
      isCut: false,
      url: "http://trawl/r@c0ffee/-/blob/a%20b.ts?L1",
    },
    { line: 8, matchCount: 1, ranges: "8:3-8:9" },
  ]);
  t.match(rows({ type: "path", ...file, pathMatches: [range(0, 0, 1)] }), [
    { kind: "path", ranges: "1:1-1:2", line: undefined, url: "http://trawl/r@c0ffee/-/blob/a%20b.ts" },
  ]);
  const symbol = { url: "/r/-/blob/a?L3", name: "f", containerName: "", kind: "FUNCTION", line: 3 } as const;
  t.match(rows({ type: "symbol", ...file, symbols: [symbol] }), [
    { kind: "symbol", line: 3, symbol: "f", symbolKind: "FUNCTION", url: "http://trawl/r/-/blob/a?L3" },
  ]);
  t.match(rows({ type: "repo", repository: "r", description: "about", repositoryMatches: [range(0, 0, 1)] }), [
    { kind: "repository", text: "about", matchCount: 1, url: "http://trawl/r" },
  ]);
  t.match(rows({ type: "person", handle: "ann" }), [{ kind: "person", text: "ann", url: undefined }]);
  const commit = {
    type: "commit",
    repository: "r",
    oid: "1234",
    authorName: "Ann",
    authorDate: "2026",
    url: "/r/-/commit/1234",
  };
  t.match(rows({ ...commit, content: "```COMMIT_EDITMSG\nfix it\n\nno\n```", ranges: [[1, 0, 3]] }), [
    { kind: "commit", commit: "1234", text: "fix it\n\nno", ranges: "1:1-1:4", author: "Ann", date: "2026" },
  ]);
  t.match(rows({ ...commit, content: "```diff\na b\n@@ -1 +1 @@\n+x\n```", ranges: [[3, 1, 1]] }), [
    { kind: "diff", text: "a b\n@@ -1 +1 @@\n+x", ranges: "3:2-3:3", url: "http://trawl/r/-/commit/1234" },
  ]);
});

t.test("long texts and lists of ranges are cut, between characters and ranges", async (t) => {
  const content = `${"x".repeat(cellCharsMax - 1)}😀`;
  const ranges = Array.from({ length: 5000 }, (_, i) => range(0, i, i + 1));
  const [row] = rows({ type: "content", ...file, chunkMatches: [{ content, contentStart: location(0, 0), ranges }] });
  t.equal(row?.text, "x".repeat(cellCharsMax - 1));
  t.equal(row?.isCut, true);
  t.equal(row?.matchCount, 5000, "counts those that are not listed, too");
  t.match(row?.ranges, /^1:1-1:2 .* 1:\d+-1:\d+$/);
  t.ok((row?.ranges?.length ?? 0) > cellCharsMax - 20 && (row?.ranges?.length ?? 0) <= cellCharsMax);
});

t.test("fields hold any text, and none is a formula", async (t) => {
  const texts = ['a "b", c', "a\r\nb\n", "", " ", "\ud800", "'", "é😀"];
  const row = (text: string) => csvLine({ kind: "content", matchCount: 1, isCut: false, text });
  const read = parseCsv(csvHeader + texts.map(row).join(""));
  t.same(
    read.map(({ text }) => text),
    texts,
  );
  for (const text of ["=1+1", "+1", "-1", "@a", "\t=1", "\r=1", "＝1"]) t.match(csvField(text), /^"?'/);
  t.equal(csvField("a\0b"), "a\ufffdb");
  t.equal(csvField("\n=1"), `"'\n=1"`);
  // Where cells are separated by semicolons, a quote that is not at the start of a cell protects nothing.
  for (const text of ["a;=1", "a; =1", 'a;"=1"', "a;+1", "a;＝1", "1;2;@b"]) {
    const cells = csvField(text).split(";");
    t.equal(cells.filter((cell) => /^[" ]*[=+\-@＝]/.test(cell)).length, 0, text);
    t.match(csvField(text), /^"[^]*'[^]*"$/, text);
  }
  t.equal(csvField("a-b=c+d@e"), "a-b=c+d@e");
});

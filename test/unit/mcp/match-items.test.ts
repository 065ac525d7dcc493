/** The texts of items in the answers of tools. */
import t from "tap";
import { groupedItems, matchItem } from "../../../src/mcp/tools/match-items.js";
import type { StreamMatch } from "../../../src/model/stream-events.js";

const chunk = (content: string, line: number, isCut = false) => ({
  content,
  contentStart: { offset: 0, line, column: 0 },
  ranges: [],
  ...(isCut ? { contentTruncated: true } : {}),
});

const file = {
  type: "content",
  repository: "r",
  repositoryID: 1,
  path: "a.ts",
  language: "TypeScript",
  branches: [""],
  commit: "c0",
  chunkMatches: [chunk("one\ntwo\n", 3), chunk("long", 9, true)],
};

/** The texts of the items, whose matches are as the kernel writes them. */
function textsOf(...matches: readonly object[]): string[] {
  return matches.map((match) => JSON.stringify(matchItem(match as StreamMatch)));
}

t.test("an item has what its match has, in one order, and nothing else", async (t) => {
  const lines = '[{"line":4,"text":"one"},{"line":5,"text":"two"},{"line":10,"text":"long","cut":true}]';
  t.same(textsOf(file, { ...file, branches: ["v1"], path: "b\u{fffd}", escapedPath: "b%FF" }), [
    `{"repository":"r","path":"a.ts","commit":"c0","lines":${lines}}`,
    `{"repository":"r","revision":"v1","path":"b\u{fffd}","escapedPath":"b%FF","commit":"c0","lines":${lines}}`,
  ]);
  t.same(textsOf({ type: "path", repository: "r", path: "p", commit: "c0" }, { type: "person", handle: "@a" }), [
    '{"repository":"r","path":"p","commit":"c0"}',
    '{"owner":"@a"}',
  ]);
  t.same(textsOf({ type: "person", email: "a@b" }, { type: "team", repository: "r", handle: "@t", email: "t@b" }), [
    '{"email":"a@b"}',
    '{"repository":"r","owner":"@t","email":"t@b"}',
  ]);
});

t.test("repositories, symbols, commits and diffs", async (t) => {
  t.same(
    textsOf({ type: "repo", repository: "r", branches: ["v1"], description: "d" }, { type: "repo", repository: "r" }),
    ['{"repository":"r","revision":"v1","description":"d"}', '{"repository":"r"}'],
  );
  const symbols = [
    { name: "f", kind: "FUNCTION", line: 2, containerName: "C" },
    { name: "g", kind: "FUNCTION", line: 4, containerName: "" },
  ];
  t.same(textsOf({ type: "symbol", repository: "r", path: "a.ts", symbols }), [
    '{"repository":"r","path":"a.ts","symbols":[{"name":"f","kind":"function","line":2,"container":"C"},{"name":"g","kind":"function","line":4}]}',
  ]);
  const commit = { type: "commit", repository: "r", oid: "o", authorName: "n", authorDate: "t", message: "m" };
  const head = '"repository":"r","commit":"o","author":"n","date":"t","message":"m"';
  const diff = { ...commit, content: "```diff\n+a\n```" };
  t.same(textsOf(commit, { ...commit, contentTruncated: true }, diff, { ...diff, contentTruncated: true }), [
    `{${head}}`,
    `{${head}}`,
    `{${head},"diff":"+a"}`,
    `{${head},"diff":"+a","cut":true}`,
  ]);
});

t.test("places of one content are listed with the first", async (t) => {
  const place = (path: string, isOther: boolean): StreamMatch =>
    ({ type: "path", repository: "r", path, contentKey: "k", ...(isOther ? { duplicate: true } : {}) }) as StreamMatch;
  const others = ["b", "c"].map((path) => place(path, true));
  const also = '"also_in":[{"repository":"r","path":"b"},{"repository":"r","path":"c"}]';
  t.equal(JSON.stringify(groupedItems([place("a", false), ...others])), `[{"repository":"r","path":"a",${also}}]`);
});

/** Results of a search as the page keeps them: in groups, as the JSON that arrived. */
import t from "tap";
import { ResultStore } from "../../../src/web/search/result-store.js";

const match = (path: string, text = ""): string =>
  JSON.stringify({
    type: "content",
    path,
    repository: "r",
    lineMatches: [{ line: text, lineNumber: 0, offsetAndLengths: [] }],
  });

const paths = async (store: ResultStore, group: number, from = 0, count = Infinity): Promise<readonly string[]> =>
  (await store.read(group, from, count)).map((found) => ("path" in found ? (found.path ?? "") : ""));

t.test("results come back in their order, in groups of 20", async (t) => {
  const store = new ResultStore();
  t.equal(store.groupCount, 0);
  t.same(await store.read(0, 0, 5), []);
  const names = Array.from({ length: 45 }, (_, at) => `f${at}`);
  for (let at = 0; at < names.length; at += 7)
    store.add(
      `[${names
        .slice(at, at + 7)
        .map((name) => match(name))
        .join(",")}]`,
    );
  store.add("[]");
  t.same([store.resultCount, store.groupCount], [45, 3]);
  t.same(
    [0, 1, 2, 3].map((group) => store.countOf(group)),
    [20, 20, 5, 0],
  );
  t.same((await Promise.all([0, 1, 2].map((group) => paths(store, group)))).flat(), names);
  t.same(await paths(store, 1, 3, 2), ["f23", "f24"]);
});

t.test("a text that looks like the beginning of a result is a text", async (t) => {
  const store = new ResultStore();
  const hostile = ['"},{"type":"content"', ',{"type":"', "]", "[", '\\",{"type":"path"'];
  store.add(`[${hostile.map((text, at) => match(`f${at}`, text)).join(",")}]`);
  t.equal(store.resultCount, hostile.length);
  const found = await store.read(0, 0, 20);
  t.same(
    found.map((result) => ("lineMatches" in result ? result.lineMatches?.[0]?.line : "")),
    hostile,
  );
});

t.test("what exceeds the memory for text is kept in blobs, and read as the rest", async (t) => {
  const store = new ResultStore();
  const text = "é🧵".repeat(30_000);
  const count = 200;
  for (let at = 0; at < count; at++) store.add(`[${match(`f${at}`, text)}]`);
  t.equal(store.resultCount, count);
  const last = store.read(store.groupCount - 2, 0, 20);
  t.ok(last instanceof Promise, "a group of a blob is a promise");
  const all: string[] = [];
  for (let group = 0; group < store.groupCount; group++) {
    t.same((await paths(store, group)).length, store.countOf(group), `group ${group}`);
    all.push(...(await paths(store, group)));
  }
  t.same(
    all,
    Array.from({ length: count }, (_, at) => `f${at}`),
  );
  const [first] = await last;
  t.equal(first !== undefined && "lineMatches" in first ? first.lineMatches?.[0]?.line : "", text);
});

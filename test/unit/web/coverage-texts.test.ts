/** What pages say about what a search covered, the states that a browser keeps, and their addresses. */
import t from "tap";
import type { MatchChange } from "../../../src/model/match-change.js";
import { skipReasons } from "../../../src/model/skip-reason.js";
import type { Receipt } from "../../../src/model/stream-events.js";
import { changeParts, countsText, reasonText, receiptId } from "../../../src/web/search/covered/receipt-texts.js";
import { coverageText } from "../../../src/web/search/covered/coverage-text.js";
import { addressOfSearch, addressWithCoverage, coverageOfAddress } from "../../../src/web/search/panel-address.js";
import { KeptList } from "../../../src/web/ui/kept-list.js";

t.test("the mark of a search", async (t) => {
  const receipt = (complete: boolean, documentsSearched: number, excluded: number): Receipt => ({
    url: "http://localhost/.api/search/receipt/a-1",
    generation: "1",
    complete,
    matchCount: 3,
    documentsSearched,
    digest: "",
    digestedMatches: 0,
    repositories: { count: 2, items: [] },
    excluded: { count: excluded, items: [] },
    excludedByReason: {},
  });
  t.equal(coverageText(receipt(true, 3512, 2)), "Complete: 3,512 files, 2 left out");
  t.equal(coverageText(receipt(true, 1, 0)), "Complete: 1 file");
  t.equal(coverageText(receipt(false, 0, 1)), "Not complete: 2 repositories, 1 left out");
  t.equal(receiptId(receipt(true, 1, 0)), "a-1");
});

t.test("each reason why a file has no searchable text has a sentence", async (t) => {
  for (const reason of Object.keys(skipReasons)) if (reason !== "none") t.not(reasonText(reason).text, reason, reason);
  t.equal(reasonText("binary").isGap, false);
  t.equal(reasonText("too-large").isGap, true);
  t.same(reasonText("of-a-later-server"), { text: "of-a-later-server", isGap: true });
});

t.test("what is shown of the searched state is in the address", async (t) => {
  const url = new URL("http://localhost/search?q=a&patternType=keyword");
  const views = [{ kind: "receipt" }, { kind: "changes", since: "a-1" }, { kind: "watch" }] as const;
  let shown = url;
  for (const view of views) {
    shown = new URL(addressWithCoverage(shown, view), url);
    t.same(coverageOfAddress(shown), view);
    t.equal(addressOfSearch(shown), `/search${url.search}`);
  }
  t.equal(shown.search, "?q=a&patternType=keyword&watch=1");
  t.equal(coverageOfAddress(url), undefined);
  t.equal(addressWithCoverage(shown, undefined), `/search${url.search}`);
});

t.test("what is said about changes", async (t) => {
  t.equal(countsText({ came: 1, went: 2, moved: 0 }), "1 match came, 2 went");
  t.equal(countsText({ came: 0, went: 1, moved: 1200 }), "1 match went, 1,200 moved");
  t.equal(countsText({ came: 0, went: 0, moved: 2 }), "2 matches moved");
  const change = (more: Partial<MatchChange>): MatchChange => ({
    change: "came",
    type: "content",
    repository: "r",
    repositoryID: 1,
    revision: "",
    commit: "c",
    path: "p",
    ...more,
  });
  const print = (more: Partial<MatchChange>): string =>
    changeParts(change(more))
      .map(({ text, isMatch }) => (isMatch ? `[${text}]` : text))
      .join("");
  t.equal(print({ line: "🧵 a needle", offsetAndLengths: [[4, 6]] }), "🧵 a [needle]");
  t.equal(print({ line: "\u202eab", offsetAndLengths: [[0, 2]] }), "[\ufffda]b");
  t.equal(print({ type: "symbol", symbol: { name: "f", containerName: "", kind: "FUNCTION" } }), "function f");
  t.equal(print({ type: "path" }), "");
});

t.test("a kept list is bounded, and reads only what it knows", async (t) => {
  const stored = new Map<string, string>();
  const storage = {
    getItem: (name: string) => stored.get(name) ?? null,
    setItem: (name: string, value: string) => void stored.set(name, value),
  };
  Object.defineProperty(globalThis, "localStorage", { value: storage, configurable: true });
  t.teardown(() => Reflect.deleteProperty(globalThis, "localStorage"));
  const isText = (value: unknown): value is string => typeof value === "string";
  const list = new KeptList("test", { count: 3, length: 20 }, isText);
  for (const text of ["a", "b", "a", "c", "d"]) list.add(text, (other) => other === text);
  t.same(list.read(), ["d", "c", "a"]);
  t.same(
    list.add("x".repeat(12), () => false),
    ["x".repeat(12), "d"],
    "the oldest make room",
  );
  t.same(
    list.add("y".repeat(20), () => false),
    [],
    "what is too long is not kept",
  );
  stored.set("trawl-kept-test", '["a", 1, null]');
  t.same(list.read(), ["a"]);
  stored.set("trawl-kept-test", '{"a":');
  t.same(list.read(), []);
});

/** By what the matches of a search can be counted, the addresses of groups, and what is said about counts. */
import t from "tap";
import type { Filter } from "../../../src/model/stream-events.js";
import type { ResultGroups } from "../../../src/model/result-groups.js";
import {
  addressOfGroup,
  capturesText,
  offeredKinds,
  othersText,
  totalText,
} from "../../../src/web/search/counted/group-choice.js";
import {
  addressOfSearch,
  addressWithGroup,
  groupOfAddress,
  tellingGroup,
} from "../../../src/web/search/panel-address.js";
import { type QueryState, queryOfAddress } from "../../../src/web/query/query-state.js";

const query = (
  text: string,
  patternType: QueryState["patternType"] = "keyword",
  caseSensitive = false,
): QueryState => ({
  text,
  patternType,
  caseSensitive,
});

t.test("what is offered depends on the query", async (t) => {
  const kinds = (text: string, type?: QueryState["patternType"]): string => offeredKinds(query(text, type)).join(" ");
  const files = "repository path language";
  t.equal(kinds("needle"), files);
  t.equal(kinds("call(x)", "literal"), files);
  t.equal(kinds("/v(\\d+)/"), `capture ${files}`);
  t.equal(kinds("v(\\d+)", "regexp"), `capture ${files}`);
  t.equal(kinds("v(?:\\d+)", "regexp"), files);
  for (const type of ["commit", "diff", "DIFF"]) t.equal(kinds(`a type:${type}`), "author repository");
});

t.test("groups that capture", async (t) => {
  for (const source of ["(a)", "x(?P<n>a)", "(?<n>a)", "[(](b)", "(?:a(b))"]) t.ok(capturesText(source), source);
  for (const source of ["a", "\\(a\\)", "[(]a", "[\\](]", "(?:a)", "(?i)a", "(?i:a)", "(?"])
    t.notOk(capturesText(source), source);
});

t.test("what is counted first", async (t) => {
  const filters = (...given: readonly (readonly [kind: Filter["kind"], value: string])[]): Filter[] =>
    given.map(([kind, value]) => ({ kind, value, label: value, count: 1, exhaustive: true, limitHit: false }));
  t.equal(tellingGroup([]), "repository");
  t.equal(tellingGroup(filters(["type", "type:commit"], ["author", "author:a"], ["repo", "repo:a"])), "author");
  t.equal(tellingGroup(filters(["type", "type:file"], ["repo", "repo:a"])), "path");
  t.equal(tellingGroup(filters(["type", "type:file"], ["repo", "repo:a"], ["repo", "repo:b"])), "repository");
  t.equal(tellingGroup(filters(["type", "type:repo"], ["repo", "repo:a"])), "repository");
});

t.test("the choice is in the address", async (t) => {
  const url = new URL("http://localhost/search?q=a+b&patternType=keyword&case=yes");
  const grouped = new URL(addressWithGroup(url, "path"), url);
  t.equal(grouped.search, "?q=a+b&patternType=keyword&case=yes&group=path");
  t.equal(groupOfAddress(grouped), "path");
  t.equal(groupOfAddress(url), undefined);
  t.equal(groupOfAddress(new URL("?group=colour", url)), undefined);
  t.equal(addressWithGroup(grouped, "language"), "/search?q=a+b&patternType=keyword&case=yes&group=language");
  t.equal(addressOfSearch(grouped), `/search${url.search}`);
});

t.test("the address of a group has the toggles of the query", async (t) => {
  const state = (from: QueryState, groupQuery: string): QueryState | undefined =>
    queryOfAddress(new URL(addressOfGroup(from, groupQuery) ?? "", "http://localhost"));
  const plain = query("a or b");
  t.same(state(plain, "(a or b) lang:go"), query("(a or b) lang:go"));
  const sensitive = query("a or b", "keyword", true);
  t.same(state(sensitive, "(a or b) case:yes lang:go"), query("(a or b) lang:go", "keyword", true));
  t.equal(addressOfGroup(plain, undefined), undefined);
});

t.test("what is said about counts", async (t) => {
  const counts = (by: ResultGroups["by"], otherGroups: number, otherMatches: number): ResultGroups => ({
    by,
    groups: [{ value: "a", label: "a", count: 1000 }],
    otherGroups,
    otherMatches,
    complete: true,
  });
  t.equal(totalText(counts("path", 0, 0)), "1,000 matches, 1 path");
  t.equal(othersText(counts("path", 0, 0)), undefined);
  t.equal(totalText(counts("language", 2, 5)), "1,005 matches, 3 languages");
  t.equal(othersText(counts("language", 2, 5)), "5 matches in 2 more, or without a known language");
  t.equal(othersText(counts("capture", 0, 1)), "1 match in which the group captures nothing");
});

/** `group=`: matches are counted by what they have in common, exactly as many as an ordinary search sends. */
import t from "tap";
import { SseDecoder } from "../../src/cli/connection/sse-decoder.js";
import type { GroupKind, ResultGroups } from "../../src/model/result-groups.js";
import type { Progress, StreamMatch } from "../../src/model/stream-events.js";
import { runCommand } from "../support/daemon.js";
import { fixture } from "../support/git-mirror.js";
import { ask } from "../support/graphql.js";
import { randomFrom } from "../support/random.js";
import { sharedDaemon } from "../support/shared-daemon.js";

const folders = ["src", "lib/core", "a (copy)", "docs"];
const endings = ["c", "go", "py", "unknown"];

/** Files with calls of a few functions, some lines with two of them. */
function makeFiles(seed: number, count: number): Record<string, string> {
  const random = randomFrom(seed);
  const line = (): string => `${"call".repeat(1 + random(2))}_${random(5)}(v${random(3)}); call_${random(9)}(x);\r\n`;
  return Object.fromEntries(
    Array.from({ length: count }, (_, i) => [
      `${folders[random(folders.length)]}/f${i % 7}_${i}.${endings[random(endings.length)]}`,
      Array.from({ length: random(6) }, line).join("") + (random(3) === 0 ? "call_7" : "end"),
    ]),
  );
}

/** The texts that match, of a match object with chunks. */
function textsIn({ chunkMatches = [] }: StreamMatch): string[] {
  return chunkMatches.flatMap(({ content, contentStart, ranges }) => {
    const bytes = Buffer.from(content);
    return ranges.map(({ start, end }) =>
      bytes.toString("utf8", start.offset - contentStart.offset, end.offset - contentStart.offset),
    );
  });
}

/** What a match object adds to the groups. */
function valuesOf(match: StreamMatch, by: GroupKind, capture: RegExp): (string | undefined)[] {
  const texts = textsIn(match);
  const count = match.type === "commit" || match.type === "diff" ? (match.ranges?.length ?? 0) : texts.length;
  const all = (value: string | undefined): (string | undefined)[] =>
    Array.from({ length: Math.max(1, count) }, () => value);
  switch (by) {
    case "repository":
      return all(match.repository);
    case "path":
      return all(match.path);
    case "language":
      return all(match.language);
    case "author":
      return all(match.authorName);
    case "capture":
      return texts.length === 0 ? [undefined] : texts.map((text) => capture.exec(text)?.[1]);
  }
}

function countValues(values: readonly (string | undefined)[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const value of values) if (value !== undefined) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

t.test("matches are counted by what they have in common", { timeout: 300_000 }, async (t) => {
  const daemon = await sharedDaemon(t);
  const [first, second, hidden] = [fixture(t), fixture(t), fixture(t)];
  first.commit({ branch: "main", files: makeFiles(1, 60) });
  first.commit({
    branch: "main",
    files: { "src/later.c": "call_1();\n", "src/LATER.c": "call_1(); call_1();\n" },
    author: "Grace <grace@example.org> 1700000000 +0000",
  });
  first.commit({ branch: "dev", files: makeFiles(2, 20) });
  second.commit({ branch: "main", files: makeFiles(3, 40) });
  hidden.commit({ branch: "main", files: { "secret.c": "call_1(); call_2();\n" } });
  await daemon.add("host/first", first.path, ["dev"]);
  await daemon.add("host/second", second.path);
  await daemon.add("host/hidden", hidden.path);
  const many = fixture(t);
  const manyFiles = Array.from({ length: 1500 }, (_, i) => [`${i}.txt`, "many groups\n"] as const);
  many.commit({ branch: "main", files: Object.fromEntries(manyFiles) });
  await daemon.add("host/many", many.path);
  await daemon.control("POST", "/.api/repos/host%2Fhidden/attributes", { private: true, readers: [] });

  const search = async (q: string, parameters: Readonly<Record<string, string>> = {}) => {
    const query = new URLSearchParams({ q, t: "regexp", cm: "true", cl: "0", ...parameters });
    const { status, text } = await daemon.get(`/.api/search/stream?${query}`);
    const events = status === 200 ? new SseDecoder().push(Buffer.from(text)) : [];
    const last = <T>(name: string): T | undefined => {
      const found = events.findLast((event) => event.name === name);
      return found === undefined ? undefined : (JSON.parse(found.data) as T);
    };
    const matches = events.flatMap(({ name, data }) => (name === "matches" ? (JSON.parse(data) as StreamMatch[]) : []));
    return { status, text, matches, groups: last<ResultGroups>("groups"), progress: last<Progress>("progress") };
  };

  /** What the matches of an ordinary search say. */
  const expected = async (q: string, by: GroupKind, capture: RegExp) => {
    const { matches, progress } = await search(`(${q}) count:all`);
    const counts = countValues(matches.flatMap((match) => valuesOf(match, by, capture)));
    const groups = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
    return { groups, matchCount: progress?.matchCount ?? 0 };
  };

  const cases: readonly (readonly [query: string, by: GroupKind, capture?: RegExp])[] = [
    ["call_[0-9]", "repository"],
    ["call_[0-9]", "path"],
    ["call_[0-9]", "language"],
    ["repo:first@main:dev call_1", "repository"],
    ["repo:first@main:dev call_1", "path"],
    ["f3_ type:path", "path"],
    ["call_1 or v2", "path"],
    ["(call_1 lang:go) or (v2 file:core)", "language"],
    ["call_1 select:file", "path"],
    ["call_([0-9])", "capture", /call_([0-9])/i],
    ["((?:call)+)_(\\d)", "capture", /((?:call)+)_/i],
    ["_(\\d+)$", "capture", /_(\d+)/],
    ["^(call)call", "capture", /(call)/i],
    ["(?P<arg>v[0-9])|call", "capture", /(v[0-9])/i],
    ["type:commit repo:first .", "author"],
    ["type:diff call_1", "author"],
    ["type:diff call_1", "repository"],
    ["type:repo host", "repository"],
    ["nothing_like_this", "path"],
  ];
  for (const [query, by, capture = /$^/] of cases) {
    await t.test(`${query} by ${by}`, async (t) => {
      const { groups, matchCount } = await expected(query, by, capture);
      const counted = await search(query, { group: by, groups: "1000" });
      t.same(counted.matches, [], "no match is sent");
      const found = counted.groups?.groups.map(({ label, count }) => [label, count]);
      t.same(found, groups);
      t.equal(counted.progress?.matchCount, matchCount);
      const inGroups = groups.reduce((sum, [, count]) => sum + count, 0);
      t.match(counted.groups, { by, otherGroups: 0, otherMatches: matchCount - inGroups, complete: true });
      t.notMatch(counted.text, "secret", "what the viewer does not see is not counted");
    });
  }

  await t.test("the query of a group finds its matches alone", async (t) => {
    for (const [query, by] of [
      ["call_[0-9]", "path"],
      ["call_1 or v2", "language"],
      ["call_1 or v2", "repository"],
      ["type:diff call_1", "author"],
    ] as const) {
      const { groups } = await search(query, { group: by, groups: "4" });
      for (const group of groups?.groups ?? []) {
        const { progress } = await search(`${group.query} count:all`);
        t.equal(progress?.matchCount, group.count, group.query ?? "");
      }
    }
  });

  await t.test("the largest groups are sent, and the number of the others", async (t) => {
    const all = await search("call_[0-9]", { group: "path", groups: "1000" });
    const some = await search("call_[0-9]", { group: "path", groups: "3" });
    t.same(some.groups?.groups, all.groups?.groups.slice(0, 3));
    const rest = all.groups?.groups.slice(3) ?? [];
    t.match(some.groups, {
      otherGroups: rest.length,
      otherMatches: rest.reduce((sum, { count }) => sum + count, 0),
      complete: true,
    });
  });

  await t.test("more groups than a batch has", async (t) => {
    const { groups } = await search("repo:many groups", { group: "path", groups: "1000" });
    t.match(groups, { otherGroups: 500, otherMatches: 500, complete: true });
    t.ok(groups?.groups.every(({ count }) => count === 1));
  });

  await t.test("a limit counts some, and says so", async (t) => {
    const { groups, progress } = await search("call_[0-9] count:10", { group: "path" });
    t.equal(groups?.complete, false);
    t.equal(
      groups?.groups.reduce((sum, { count }) => sum + count, groups.otherMatches),
      10,
    );
    t.match(progress?.skipped, [{ reason: "shard-match-limit" }]);
  });

  await t.test("with a receipt", async (t) => {
    const { progress } = await search("call_[0-9]", { group: "path", receipt: "1", strict: "1" });
    t.equal(progress?.receipt?.complete, true, "that no match is sent leaves nothing out");
  });

  await t.test("what cannot be counted", async (t) => {
    for (const [query, by, message] of [
      ["call", "author", /only commits and diffs have an author; add type:commit/],
      ["type:commit call", "path", /commits and diffs have none/],
      ["type:repo host", "language", /repositories have none/],
      ["call_1", "capture", /one pattern, a regular expression with a group/],
      ["(?:call)_1", "capture", /a regular expression with a group/],
      ["call_(1) or v(2)", "capture", /must have one pattern/],
      ["call select:repo", "repository", /the results of this select: are not matches/],
      ["call", "folder", /group must be one of repository, path/],
    ] as const)
      t.match((await search(query, { group: by })).text, message, `${query} by ${by}`);
    t.match((await search("call", { group: "path", groups: "0" })).text, /groups must be from 1 to 1000, got 0/);
    for (const other of ["resume", "watch", "duplicates"])
      t.match(await search("call", { group: "path", [other]: "1" }), { status: 400, text: /cannot be combined/ });
  });

  await t.test("GraphQL", async (t) => {
    const aggregate = (query: string, mode: string, limit = 3) =>
      ask(
        daemon.url,
        `query ($query: String!, $mode: SearchAggregationMode, $limit: Int!) {
          searchQueryAggregate(query: $query, patternType: regexp) {
            modeAvailability { mode available reasonUnavailable reasonType }
            aggregations(mode: $mode, limit: $limit) {
              __typename
              ... on ExhaustiveSearchAggregationResult { mode groups { label count query } otherGroupCount otherResultCount }
              ... on NonExhaustiveSearchAggregationResult { mode groups { label count } approximateOtherGroupCount }
              ... on SearchAggregationNotAvailable { mode reason reasonType }
            }
          }
        }`,
        { query, mode: mode === "" ? null : mode, limit },
      );
    const { groups: byPath } = await search("call_([0-9])", { group: "path", groups: "3" });
    t.match(await aggregate("call_([0-9])", "PATH"), {
      data: {
        searchQueryAggregate: {
          modeAvailability: [
            { mode: "REPO", available: true, reasonUnavailable: null },
            { mode: "PATH", available: true },
            { mode: "AUTHOR", available: false, reasonType: "INVALID_AGGREGATION_MODE_FOR_QUERY" },
            { mode: "CAPTURE_GROUP", available: true },
            { mode: "REPO_METADATA", available: false },
            { mode: "LANGUAGE", available: true },
          ],
          aggregations: {
            __typename: "ExhaustiveSearchAggregationResult",
            mode: "PATH",
            groups: byPath?.groups.map(({ label, count, query }) => ({ label, count, query })),
            otherGroupCount: byPath?.otherGroups,
            otherResultCount: byPath?.otherMatches,
          },
        },
      },
    });
    const modeOf = async (query: string) => {
      const { data } = (await aggregate(query, "")) as { data: { searchQueryAggregate: { aggregations: object } } };
      return data.searchQueryAggregate.aggregations;
    };
    t.match(await modeOf("call_([0-9])"), { mode: "CAPTURE_GROUP" });
    t.match(await modeOf("type:diff call_1"), { mode: "AUTHOR" });
    t.match(await modeOf("call_1"), { mode: "REPO" });
    t.match(await modeOf("call_1 count:2"), { __typename: "NonExhaustiveSearchAggregationResult" });
    t.match(await modeOf("count:many call_1"), {
      __typename: "SearchAggregationNotAvailable",
      reasonType: "INVALID_QUERY",
    });
    t.match(await aggregate("call_1", "PATH", 0), { errors: [{ message: /limit must be from 1 to 1000/ }] });
  });

  await t.test("the command line", async (t) => {
    const run = (...args: string[]) => runCommand("search", "--endpoint", daemon.url, "-t", "regexp", ...args);
    const { groups } = await search("call_([0-9])", { group: "capture", groups: "2" });
    const printed = await run("--group-by", "capture", "--groups", "2", "call_([0-9])");
    t.equal(printed.out, groups?.groups.map(({ value, count }) => `${count}\t${value}\n`).join(""));
    t.match(printed.err, /matches are in \d+ other groups/);
    t.equal(printed.exitCode, 0);
    const json = await run("--group-by", "path", "--groups", "1", "--json", "call_1");
    t.match(JSON.parse(json.out), { value: String, count: Number, query: /file:/ });
    t.match(await run("--group-by", "path", "-l", "call"), { exitCode: 2, err: /--group-by cannot be combined/ });
    t.match(await run("--groups", "3", "call"), { exitCode: 2, err: /--groups needs --group-by/ });
    t.match(await run("--group-by", "path", "nothing_like_this"), { exitCode: 1, out: "" });
  });
});

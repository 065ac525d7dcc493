import t, { type Test } from "tap";
import { SseDecoder } from "../../src/cli/connection/sse-decoder.js";
import type { StreamMatch } from "../../src/model/stream-events.js";
import { runCommand } from "../support/daemon.js";
import { isFull } from "../support/full-run.js";
import { GitFixture } from "../support/git-fixture.js";
import { historyRows } from "./history.js";
import { askHistory, indexHistories, startHistorySite, type HistorySite } from "./history-answers.js";

// One table of searches of history, asked over HTTP of a daemon that mirrors real repositories.

/** Queries at the same time, fewer than one client may run. */
const asked = 4;

t.test("the table", async (t) => {
  const queries = historyRows.map(([query]) => query);
  t.equal(new Set(queries).size, queries.length, "each query occurs once");
  t.ok(queries.length >= 350);
});

const noSuchRevision =
  `alert: Some repositories could not be searched: The repository acme/history matched by your repo: filter could not ` +
  `be searched because it does not contain the revision "nothing".`;

async function requireAnswers(t: Test, site: HistorySite, rows: typeof historyRows): Promise<void> {
  for (let from = 0; from < rows.length; from += asked) {
    await Promise.all(
      rows.slice(from, from + asked).map(async ([query, ...answers]) => {
        t.same(await askHistory(site, query), answers, query);
      }),
    );
  }
}

t.test("searches of history", async (t) => {
  const site = await startHistorySite(t);
  await t.test("that is read from mirrors", (t) => checkUnindexed(t, site));
  await t.test("that is indexed", (t) => checkIndexed(t, site));
});

async function checkUnindexed(t: Test, site: HistorySite): Promise<void> {
  await requireAnswers(
    t,
    site,
    historyRows.filter((_, i) => isFull || i % 40 === 1),
  );

  await t.test("limits and clients", async (t) => {
    const { daemon } = site;
    const stream = async (query: string, parameters = "", agent = "curl/8"): Promise<string> => {
      const url = `${daemon.url}/.api/search/stream?${new URLSearchParams({ q: query })}&${parameters}`;
      return (await fetch(url, { headers: { "User-Agent": agent } })).text();
    };
    t.match(await stream("type:diff skew"), `"type":"diff"`);
    for (const agent of ["src-cli/6.1.0", "src-cli/dev linux amd64", "Go-http-client/1.1"]) {
      const text = await stream("type:diff skew", "", agent);
      t.match(text, `"type":"commit"`, agent);
      t.notMatch(text, `"type":"diff"`, agent);
    }
    const cut = await stream("type:diff needle", "display=2");
    t.match(cut, `"matchCount":7`, "display counts on");
    t.equal(cut.match(/"oid":/g)?.length, 2, "and cuts the ranges of the last one");
    t.match(await stream("type:diff needle count:3"), `"reason":"shard-match-limit"`);
    t.match(await stream("type:diff needle count:3"), `"exhaustive":false`);
    const filters = await stream("type:commit type:diff author:dora repo:^acme/history$@dev");
    for (const value of ["type:commit", "type:diff", "author:Dora\\\\.D@Acme\\\\.test", "repo:^acme/history$"])
      t.match(filters, `"value":"${value}"`);
    t.match(filters, `"label":"Older than 2 months","count":2`);
  });

  await t.test("GraphQL", async (t) => {
    const query = `query ($q: String!) { search(query: $q, version: V3) { results { matchCount results {
      ... on CommitSearchResult { url label { html } detail { text } commit { oid subject }
        messagePreview { value highlights { line character length } }
        diffPreview { value highlights { line character length } }
        matches { body { text html } highlights { line character length } } } } } } }`;
    const ask = async (q: string): Promise<unknown> => {
      const body = JSON.stringify({ query, variables: { q } });
      const response = await fetch(`${site.daemon.url}/.api/graphql`, { method: "POST", body });
      const { data } = (await response.json()) as { data: { search: { results: { results: unknown[] } } } };
      return data.search.results.results;
    };
    t.match(await ask("type:commit 12"), [
      {
        commit: { subject: "Fix the parser: handle errors" },
        messagePreview: {
          value: "Fix the parser: handle errors\n\nFixes #12",
          highlights: [{ line: 2, character: 7, length: 2 }],
        },
        diffPreview: null,
        matches: [
          {
            body: { text: "```COMMIT_EDITMSG\nFix the parser: handle errors\n\nFixes #12\n```", html: /^<pre><code/ },
            highlights: [{ line: 3, character: 7, length: 2 }],
          },
        ],
      },
    ]);
    t.match(await ask("type:diff errLex"), [
      {
        label: { html: /<a href="\/acme\/history".*>Fix the parser: handle errors<\/a>/ },
        messagePreview: null,
        diffPreview: {
          value: "src/parser.go src/parser.go\n@@ -4,2 +4,2 @@ package parser\n-\treturn nil\n+\treturn errLex\n }",
          highlights: [{ line: 3, character: 9, length: 6 }],
        },
      },
    ]);
  });

  await t.test("what is shown in part has a mark", async (t) => {
    const { daemon } = site;
    const fixture = GitFixture.create();
    t.teardown(() => fixture.remove());
    const lines = (count: number, text: string): string => `${text}\n`.repeat(count);
    const commit = (files: Readonly<Record<string, string>>, message: string): void =>
      void fixture.commit({ branch: "main", files, message });
    commit(Object.fromEntries(Array.from({ length: 5 }, (_, i) => [`${i}.txt`, lines(5, "five")])), "whole");
    commit(Object.fromEntries(Array.from({ length: 6 }, (_, i) => [`${i}.txt`, lines(5, "six")])), "files");
    commit({ "0.txt": lines(6, "seven") }, "lines");
    commit({ "a.txt": `x\n${lines(9_998, "dot")}dot dot` }, "dots in 10,000 places");
    commit({ "b.txt": `${lines(9_999, "dash")}dash dash and on` }, "one dash more");
    commit({ "c.txt": lines(1100, `wide ${"w".repeat(1000)}`) }, "over 1 MiB");
    commit({ "d.txt": "d" }, `speck\n\n${lines(9_999, "speck")}`);
    commit({ "d.txt": "e" }, `grain\n\n${lines(10_000, "grain")}`);
    await daemon.control("POST", "/.api/repos", { name: "parts", url: fixture.path, history: "off" });
    const found = async (q: string): Promise<StreamMatch[]> => {
      const { text } = await daemon.get(`/.api/search/stream?${new URLSearchParams({ q: `repo:^parts$ ${q}` })}`);
      return [...new SseDecoder().push(Buffer.from(text))].flatMap(({ name, data }) =>
        name === "matches" ? (JSON.parse(data) as StreamMatch[]) : [],
      );
    };
    for (const [q, isPart, rangeCount] of [
      ["type:diff message:^whole", undefined, 0],
      ["type:diff message:^files", true, 0],
      ["type:diff message:^lines", true, 0],
      ["type:diff dot", undefined, 10_000],
      ["type:diff dash", true, 10_000],
      ["type:diff wide", true, undefined],
      ["type:commit speck", undefined, 10_000],
      ["type:commit grain", true, 10_000],
    ] as const) {
      const [match] = await found(`${q} count:all`);
      t.equal(match?.contentTruncated, isPart, q);
      const ranges = match?.ranges ?? [];
      if (rangeCount !== undefined) t.equal(ranges.length, rangeCount, q);
      const shown = (match?.content ?? "").split("\n");
      const outside = ranges.filter(([line, at, length]) => (shown[line]?.length ?? 0) < at + length);
      t.same(outside, [], `${q}: each range is in the text`);
    }
    const query = `{ search(query: "repo:^parts$ type:diff message:^(files|whole)", version: V3) { results { results {
      ... on CommitSearchResult { contentTruncated commit { subject } } } } } }`;
    const asked = await fetch(`${daemon.url}/.api/graphql`, { method: "POST", body: JSON.stringify({ query }) });
    t.match(await asked.json(), {
      data: { search: { results: { results: [{ contentTruncated: true }, { contentTruncated: false }] } } },
    });
    const told = async (...args: string[]): Promise<string> => {
      const { exitCode, err } = await runCommand("search", "--endpoint", daemon.url, "repo:^parts$ type:diff", ...args);
      return `${exitCode} ${err}`;
    };
    t.match(await told("message:^files"), /^0 .*1 commit is shown in part/s);
    t.notMatch(await told("message:^whole"), "in part");
    t.notMatch(await told("message:^files", "-l"), "in part", "no text is printed");
    await daemon.remove("parts");
  });

  await t.test("explain", async (t) => {
    const explain = async (query: string): Promise<string> =>
      String(await site.daemon.control("POST", "/explain", { query, patternType: "standard" }));
    const commits = "history of acme/history: 13 commits are read from the mirror";
    t.match(await explain("type:commit needle"), `${commits}, without their changes`);
    t.match(await explain("type:diff needle"), `${commits}, with their changes`);
    t.match(await explain("type:diff author:ann needle"), `${commits}, with the changes of those whose message`);
  });
}

async function checkIndexed(t: Test, site: HistorySite): Promise<void> {
  await indexHistories(site);
  await requireAnswers(
    t,
    site,
    historyRows.filter((_, i) => isFull || i % 12 === 0),
  );
  // Only the commit of the branch feature/x that main does not reach is not indexed.
  await requireAnswers(t, site, [
    ["type:diff repo:history@*refs/heads/feature/*:^dev feature", "d14 +feature"],
    ["type:diff repo:history@*refs/heads/feature/*:^dev feature index:only"],
    ["type:commit repo:history@*refs/heads/*:^dev lexer index:only", "c11 lexer", "c6 lexer"],
    ["type:commit repo:history@v2:^v1 rename or revert index:only", "c11 Revert", "c4 Rename"],
    ["type:commit repo:history@nothing index:only", noSuchRevision],
  ]);
  const explain = async (query: string): Promise<string> =>
    String(await site.daemon.control("POST", "/explain", { query, patternType: "standard" }));
  t.match(await explain("type:commit needle"), /history of acme\/history: 13 commits are in 1 history shards\n/);
  t.match(
    await explain("type:diff repo:history rev:dev needle"),
    /history of acme\/history: 4 commits are in 1 history shards\n/,
  );
  t.match(await explain("type:diff index:no repo:history"), /13 commits are read from the mirror/);
}

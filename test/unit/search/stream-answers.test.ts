import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { SseDecoder } from "../../../src/cli/connection/sse-decoder.js";
import type { Alert, Filter } from "../../../src/model/stream-events.js";
import { dataDirectory, runCommand, testDaemon, type DaemonProcess } from "../../support/daemon.js";
import { GitFixture, type FixtureFiles } from "../../support/git-fixture.js";
import { until } from "../../support/waiting.js";

// Complete responses of the stream, written by hand, with every member of the events.

interface Answer {
  /** One event of each name, in the order of the last ones: the number of the others depends on timing. */
  readonly names: readonly string[];
  readonly matches: readonly Record<string, unknown>[];
  readonly filters: readonly Filter[];
  readonly progress: Readonly<Record<string, unknown>>;
  readonly alert: unknown;
}

const main: FixtureFiles = {
  CODEOWNERS: "*.txt @acme/docs docs@acme.test\n",
  "README.md": "# Plain\n\nneedle one\n",
  "a/multi.txt": "first\nä😀needle, needle\nthird\nfourth\nlast needle\n",
  "vendor/my_test.go": "package needle\n",
  "a b.ipynb": "{}\n",
  "plus.c": "a+b\n",
};

const heads = new Map<string, string>();

async function startDaemon(t: Test): Promise<DaemonProcess> {
  const urlOf = (name: string, files: FixtureFiles): string => {
    const fixture = GitFixture.create();
    t.teardown(() => fixture.remove());
    heads.set(name, fixture.commit({ branch: "main", files }));
    fixture.tag("v1", heads.get(name) ?? "");
    return fixture.path;
  };
  const repositories = [
    {
      name: "host/plain",
      url: urlOf("plain", main),
      stars: 7,
      description: "A plain one",
      topics: ["go"],
      metadata: { team: "core", old: null },
    },
    { name: "host/fork", url: urlOf("fork", { "f.txt": "needle\n" }), fork: true },
    { name: "host/archive", url: urlOf("archive", { "o.txt": "needle\n" }), archived: true },
  ];
  const data = dataDirectory(t);
  const file = join(data, "trawl.jsonc");
  writeFileSync(file, JSON.stringify({ repositories }));
  const daemon = await testDaemon(t, ["--config", file], data);
  await until("all repositories can be searched", async () => (await daemon.get("/readyz")).status === 200);
  return daemon;
}

/** Removes what differs between two runs: times, and the address of the trace. */
async function ask(daemon: DaemonProcess, query: string, request = ""): Promise<Answer> {
  const { text } = await daemon.get(`/.api/search/stream?${new URLSearchParams({ q: query })}&${request}`);
  const events = new SseDecoder()
    .push(Buffer.from(text))
    .map(({ name, data }) => ({ name, value: JSON.parse(data) as unknown }));
  const last = (name: string): unknown => events.filter((event) => event.name === name).at(-1)?.value;
  const matches = events
    .filter(({ name }) => name === "matches")
    .flatMap(({ value }) => value as Record<string, unknown>[]);
  const progress = (last("progress") ?? {}) as Record<string, unknown>;
  return {
    names: [...new Set(events.map(({ name }) => name).reverse())].reverse(),
    matches: matches
      .map((match) => without(match, "repoLastFetched"))
      .sort((a, b) => (String(a.path) < String(b.path) ? -1 : 1)),
    filters: (last("filters") ?? []) as Filter[],
    progress: without(progress, "durationMs", "trace"),
    alert: last("alert"),
  };
}

function without(object: Readonly<Record<string, unknown>>, ...names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));
}

/** A range on one line: byte offset from the start of the file, columns in code points. */
function range(offset: number, line: number, from: number, to: number, byteLength = to - from) {
  return { start: { offset, line, column: from }, end: { offset: offset + byteLength, line, column: to } };
}

function ofPlain(revision = "") {
  return { repositoryID: 1, repository: "host/plain", repoStars: 7, branches: [revision], commit: heads.get("plain") };
}

const excluded = [
  {
    reason: "repository-fork",
    title: "1 forked",
    severity: "info",
    suggested: { title: "include forked", queryExpression: "fork:yes" },
    message: "By default we exclude forked repositories. Include them with `fork:yes` in your query.",
  },
  {
    reason: "excluded-archive",
    title: "1 archived",
    severity: "info",
    suggested: { title: "include archived", queryExpression: "archived:yes" },
    message: "By default we exclude archived repositories. Include them with `archived:yes` in your query.",
  },
];

t.test("the stream", async (t) => {
  const daemon = await startDaemon(t);

  t.test("content with lines", async (t) => {
    const { matches, progress, alert, names } = await ask(daemon, "needle file:multi");
    t.same(matches, [
      {
        type: "content",
        path: "a/multi.txt",
        pathMatches: [range(2, 0, 2, 7)],
        ...ofPlain(),
        hunks: null,
        language: "Text",
        lineMatches: [
          {
            line: "ä😀needle, needle",
            lineNumber: 1,
            offsetAndLengths: [
              [2, 6],
              [10, 6],
            ],
          },
          { line: "last needle", lineNumber: 4, offsetAndLengths: [[5, 6]] },
        ],
      },
    ]);
    t.same(progress, { done: true, repositoriesCount: 1, matchCount: 3, skipped: excluded });
    t.equal(alert, undefined);
    t.same(names.slice(-2), ["progress", "done"]);
  });

  t.test("content with chunks", async (t) => {
    const chunks = async (request: string): Promise<unknown> => {
      const {
        matches: [match],
      } = await ask(daemon, "needle file:multi", request);
      t.notOk("lineMatches" in match);
      return match.chunkMatches;
    };
    const first = [range(12, 1, 2, 8), range(20, 1, 10, 16)];
    const second = [range(45, 4, 5, 11)];
    t.same(await chunks("cm=t&cl=0"), [
      { content: "ä😀needle, needle", contentStart: { offset: 6, line: 1, column: 0 }, ranges: first },
      { content: "last needle", contentStart: { offset: 40, line: 4, column: 0 }, ranges: second },
    ]);
    const merged = {
      content: "first\nä😀needle, needle\nthird\nfourth\nlast needle",
      contentStart: { offset: 0, line: 0, column: 0 },
      ranges: [...first, ...second],
    };
    t.same(await chunks("cm=true"), [merged], "a line before and after: the chunks touch");
    t.same(await chunks("cm=1&cl=9&max-line-len=0"), [merged]);
    // In bytes, but without splitting characters.
    t.same(await chunks("cm=T&cl=0&max-line-len=3"), [
      { content: "ä", contentStart: { offset: 6, line: 1, column: 0 }, ranges: first, contentTruncated: true },
      { content: "las", contentStart: { offset: 40, line: 4, column: 0 }, ranges: second, contentTruncated: true },
    ]);
  });

  t.test("select:content drops highlights in paths", async (t) => {
    for (const query of ["needle file:multi", "(needle file:multi) or (select:file no-such-text)"]) {
      const {
        matches: [match, ...others],
      } = await ask(daemon, query.replace("file:multi", "file:multi select:content"));
      t.same([match.path, "pathMatches" in match, others.length], ["a/multi.txt", false, 0], query);
    }
  });

  t.test("paths", async (t) => {
    const { matches } = await ask(daemon, "repo:plain@v1 multi type:path");
    t.same(matches, [
      { type: "path", path: "a/multi.txt", pathMatches: [range(2, 0, 2, 7)], ...ofPlain("v1"), language: "Text" },
    ]);
    t.same((await ask(daemon, "lang:markdown")).matches, [
      { type: "path", path: "README.md", ...ofPlain(), language: "Markdown" },
    ]);
    t.same((await ask(daemon, "select:file.directory needle -file:README")).matches, [
      { type: "path", path: "a/", ...ofPlain() },
      { type: "path", path: "vendor/", ...ofPlain() },
    ]);
  });

  t.test("repositories", async (t) => {
    const plain = {
      type: "repo",
      repositoryID: 1,
      repository: "host/plain",
      repoStars: 7,
      description: "A plain one",
      topics: ["go"],
      metadata: { team: "core", old: null },
    };
    t.same((await ask(daemon, "repo:plain")).matches, [plain]);
    t.same((await ask(daemon, "type:repo plain repo:plain@v1")).matches, [
      { ...plain, repositoryMatches: [range(5, 0, 5, 10)], branches: ["v1"] },
    ]);
    t.same((await ask(daemon, "repo:has.description(plain)")).matches, [
      { ...plain, descriptionMatches: [range(2, 0, 2, 7)] },
    ]);
    t.same((await ask(daemon, "repo:has.description(A|e.p)")).matches, [
      { ...plain, descriptionMatches: [range(0, 0, 0, 1), range(4, 0, 4, 5)] },
    ]);
    t.same((await ask(daemon, "fork:only")).matches, [
      { type: "repo", repositoryID: 2, repository: "host/fork", fork: true },
    ]);
    t.same((await ask(daemon, "archived:only")).matches, [
      { type: "repo", repositoryID: 3, repository: "host/archive", archived: true },
    ]);
  });

  t.test("owners", async (t) => {
    const { matches, alert } = await ask(daemon, "select:file.owners needle file:multi|README");
    t.same(
      new Set(matches.map((match) => JSON.stringify(match))),
      new Set([
        `{"type":"person","handle":"acme/docs","email":""}`,
        `{"type":"person","handle":"","email":"docs@acme.test"}`,
      ]),
    );
    t.match(alert, { title: "Some results have no owners", proposedQueries: null });
  });

  t.test("filters", async (t) => {
    const utility = ["utility archived:yes: Include archived repos 1", "utility fork:yes: Include forked repos 1"];
    const plain = (count: number, revision = "") => `repo repo:^host/plain$${revision}: host/plain ${count}`;
    const rows: readonly (readonly [query: string, want: readonly string[]])[] = [
      [
        "needle",
        [
          "type type:file: Code 5",
          ...utility,
          plain(5),
          "lang lang:text: Text 3",
          "file -file:(^|/)vendor/: Exclude vendor 1",
          "file -file:_test\\.\\w+$: Exclude _test.* 1",
          "lang lang:go: Go 1",
          "lang lang:markdown: Markdown 1",
        ],
      ],
      [
        "repo:plain@v1 needle file:README",
        ["type type:file: Code 1", "lang lang:markdown: Markdown 1", plain(1, "@v1")],
      ],
      ["repo:plain ipynb", ["type type:path: Paths 1", `lang lang:"jupyter notebook": Jupyter Notebook 1`, plain(1)]],
      ["repo:plain", ["type type:repo: Repositories 1"]],
      ["repo:plain select:repo needle", ["type type:repo: Repositories 1"]],
      [
        "repo:plain select:file needle",
        [
          "type type:path: Paths 3",
          plain(3),
          "file -file:(^|/)vendor/: Exclude vendor 1",
          "file -file:_test\\.\\w+$: Exclude _test.* 1",
          "lang lang:go: Go 1",
          "lang lang:markdown: Markdown 1",
          "lang lang:text: Text 1",
        ],
      ],
      ["repo:plain select:file.directory needle", ["type type:path: Paths 3", plain(3)]],
      ["repo:plain select:file.owners file:multi", []],
      ["no-such-text", utility],
    ];
    for (const [query, want] of rows) {
      const { filters, names } = await ask(daemon, query);
      t.same(
        filters.map(({ kind, value, label, count }) => `${kind} ${value}: ${label} ${count}`),
        want,
        query,
      );
      t.ok(
        filters.every(({ exhaustive, limitHit }) => exhaustive && !limitHit),
        `${query}: complete`,
      );
      t.equal(names.includes("filters"), want.length > 0, `${query}: no empty event`);
    }
    const { filters: cut } = await ask(daemon, "count:2 needle");
    t.ok(
      cut.every(({ exhaustive, limitHit }) => !exhaustive && limitHit),
      "not complete",
    );
  });

  t.test("limits", async (t) => {
    const rangesOf = ({ matches }: Answer): number =>
      matches.reduce(
        (sum, { lineMatches }) =>
          sum +
          (lineMatches as { offsetAndLengths: unknown[] }[]).reduce(
            (count, { offsetAndLengths }) => count + offsetAndLengths.length,
            0,
          ),
        0,
      );
    const shown = await ask(daemon, "needle type:file", "display=2");
    t.equal(rangesOf(shown), 2);
    t.equal(shown.progress.matchCount, 5, "display= counts on");
    t.same((shown.progress.skipped as unknown[]).at(-1), {
      reason: "display",
      title: "display limit hit",
      severity: "info",
      message: "We only display 2 results even if your search returned more results. To see all results, use our CLI.",
    });
    t.match((await ask(daemon, "needle type:file", "display=1")).progress.skipped, [
      {},
      {},
      { message: /^We only display 1 result even if / },
    ]);
    const none = await ask(daemon, "needle type:file", "display=0");
    t.same([none.matches, none.progress.matchCount], [[], 5]);
    const counted = await ask(daemon, "needle type:file count:2", "display=-1");
    t.equal(rangesOf(counted), 2);
    t.equal(counted.progress.matchCount, 2);
    t.same((counted.progress.skipped as unknown[])[0], {
      reason: "shard-match-limit",
      title: "result limit hit",
      severity: "info",
      suggested: { title: "increase limit", queryExpression: "count:1000" },
      message: "Not all results have been returned due to hitting a match limit.",
    });
  });

  t.test("alerts are sent after the last progress, or alone", async (t) => {
    const notFound = await ask(daemon, "repo:fork needle");
    t.same(notFound.names, ["filters", "progress", "alert", "done"]);
    t.same(notFound.alert, {
      title: "No repositories found",
      description: "Try altering the query or use a different `repo:<regexp>` filter to see results",
      proposedQueries: [
        {
          description: "include forked repositories in your query.",
          query: "repo:fork needle fork:yes patternType:standard",
        },
      ],
    });
    const refused = await ask(daemon, "needle case:maybe");
    t.same(refused.names, ["alert", "done"]);
    t.same(refused.alert, {
      title: "Unable To Process Query",
      description: `Invalid boolean "maybe"`,
      proposedQueries: null,
      place: { from: 7, to: 17 },
    });
    t.same((await ask(daemon, "needle", "cm=perhaps")).names, ["error", "done"]);
    t.same(
      (await ask(daemon, "nothing file:nothing")).names,
      ["filters", "progress", "done"],
      "no result is no reason for an alert",
    );
  });

  /** Query, the alert's description, and each proposed query with its description. */
  const nothingFound: readonly (readonly [query: string, description: string, ...proposed: string[]])[] = [
    [
      "first needle",
      "No results, but similar queries have some.",
      "all of the words, anywhere: 1 file = first needle patternType:keyword",
    ],
    [
      "^needle",
      "^needle was searched for as text, because the pattern type is standard.",
      "as a regular expression: 1 file = ^needle patternType:regexp",
    ],
    [
      "type:symbol need.*one patternType:literal",
      "Need.*one was searched for as text, because the pattern type is literal.",
    ],
    [
      "need.*one needle$ patternType:keyword",
      "Need.*one, needle$ was searched for as text, because the pattern type is keyword.",
    ],
    [
      "fiel:README needle",
      'There is no field "fiel", so fiel:README was searched for as text; did you mean file:?',
      "with file:: 1 file = file:README needle patternType:standard",
    ],
    [
      "type:fiel needle",
      'There is no type "fiel", so type:fiel selects nothing; did you mean type:file?',
      "with type:file: 5 matches = type:file needle patternType:standard",
    ],
    [
      "lang:python needle type:file",
      "No results, but similar queries have some.",
      "without lang:: 3 files = needle type:file patternType:standard",
    ],
    [
      "file:nothing case:yes needle",
      "No results, but similar queries have some.",
      "without file:: 3 files = case:yes needle patternType:standard",
    ],
    [
      "case:yes NEEDLE or FIRST",
      "No results, but similar queries have some.",
      "without case:: 3 files = NEEDLE or FIRST patternType:standard",
    ],
    [
      '"first needle" patternType:keyword',
      "No results, but similar queries have some.",
      "the words of the phrase, anywhere: 1 file = first needle patternType:keyword",
    ],
    [
      "needle nowhere type:file patternType:keyword",
      "No results, but similar queries have some.",
      "any of the words: 3 files = type:file (needle or nowhere) patternType:keyword",
    ],
    [
      "a+b patternType:regexp",
      "No results, but similar queries have some.",
      "as text: 1 file = a+b patternType:literal",
    ],
    [
      "lang:python file:nothing needle",
      "No results, but similar queries have some.",
      "without lang: and file:: 3 files = needle patternType:standard",
    ],
    [
      "file:f.txt needle",
      "No results, but similar queries have some.",
      "without file:: 3 files = needle patternType:standard",
      "with fork:yes archived:yes: 1 file = file:f.txt needle fork:yes archived:yes patternType:standard",
    ],
    [
      "type:commit author:nobody repo:^host/plain$ lang:text commit",
      "No results, but similar queries have some.",
      "without author:: 1 match = type:commit repo:^host/plain$ lang:text commit patternType:standard",
    ],
    ["type:commit author:nobody repo:^host/plain$ message:nothing", ""],
  ];

  t.test("what is near, if nothing was found", async (t) => {
    for (const [query, description, ...proposed] of nothingFound) {
      const { alert, names } = await ask(daemon, query);
      if (description === "") {
        t.equal(alert, undefined, query);
        continue;
      }
      t.same(names.slice(-2), ["alert", "done"], query);
      const { title, description: told, proposedQueries } = alert as Alert;
      t.same([title, told], ["Nothing found", description], query);
      t.same(
        (proposedQueries ?? []).map((one) => `${one.description} = ${one.query}`),
        proposed,
        query,
      );
      for (const one of proposedQueries ?? [])
        t.ok(Number((await ask(daemon, one.query)).progress.matchCount) > 0, `${one.query} has results`);
      const answer = await fetch(`${daemon.url}/.api/graphql`, {
        method: "POST",
        body: JSON.stringify({
          query: `query ($q: String!) { search(query: $q, version: V3) { results { alert { title description proposedQueries { query description } } } } }`,
          variables: { q: query },
        }),
      });
      t.same(
        ((await answer.json()) as { data: { search: { results: { alert: unknown } } } }).data.search.results.alert,
        alert,
        `GraphQL: ${query}`,
      );
    }
    t.match((await ask(daemon, "repo:nowhere needle")).alert, {
      title: "No repositories found",
      proposedQueries: [{ description: "without repo:: 3 files", query: "needle patternType:standard" }],
    });
    t.match(
      (await ask(daemon, "count:all ^needle")).alert,
      { proposedQueries: [{ description: "as a regular expression", query: "count:all ^needle patternType:regexp" }] },
      "an exhaustive search tries nothing",
    );
    t.equal((await ask(daemon, "count:all first needle")).alert, undefined);
    t.equal((await ask(daemon, "first needle", "near=0")).alert, undefined, "a client that does not want it");
    t.equal(await daemon.metric("trawl_searches_running"), 0, "no search is left");
  });

  t.test("what is near, on the command line", async (t) => {
    const search = (...args: string[]) => runCommand("search", "--endpoint", daemon.url, ...args);
    const { exitCode, out, err } = await search("first needle");
    t.same([exitCode, out], [1, ""]);
    t.match(
      err,
      "Nothing found: No results, but similar queries have some.\n  try: first needle patternType:keyword\n",
    );
    t.match((await search("fiel:README needle")).err, /there is no field "fiel".*\n {2}try: file:README needle/is);
    const quiet = await search("-q", "first needle");
    t.same([quiet.exitCode, quiet.out, quiet.err.includes("Nothing found")], [1, "", false]);
    t.match(await search("needle", "count:2"), { exitCode: 0 }, "a limit in the query is the user's");
    t.match(await search("--count", "2", "needle"), { exitCode: 0 });
    t.match(await search("(needle count:1) or (first count:1)"), { exitCode: 0 });
    t.match(await search("(needle count:1) or (first count:1000 file:a)"), { exitCode: 0 });
  });
});

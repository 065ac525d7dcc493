/**
 * Private repositories over HTTP: each viewer's answer is compared, byte for byte but for times, with that of a daemon
 * that has only what the viewer may see.
 */
import t, { type Test } from "tap";
import type { Progress } from "../../../src/model/stream-events.js";
import { dataDirectory, testDaemon, type DaemonProcess } from "../../support/daemon.js";
import { GitFixture } from "../../support/git-fixture.js";
import { fixture } from "../../support/git-mirror.js";
import { until } from "../../support/waiting.js";

interface Known {
  readonly name: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** The viewers that can see it. */
  readonly seenBy: readonly string[];
}

const everyone = ["nobody", "ann", "bob", "admin"];
/** In descending order of what they can see. */
const viewers = ["admin", "bob", "ann", "nobody"];

const known: readonly Known[] = [
  { name: "open/first", attributes: {}, seenBy: everyone },
  {
    name: "closed/core",
    attributes: { private: true, readers: ["core"], topics: ["hush"], metadata: { team: "core" } },
    seenBy: ["bob", "admin"],
  },
  {
    name: "closed/both",
    attributes: { private: true, readers: ["ANN", "core"], stars: 9, description: "shared" },
    seenBy: ["ann", "bob", "admin"],
  },
  { name: "closed/fork", attributes: { private: true, readers: ["core"], fork: true }, seenBy: ["bob", "admin"] },
  { name: "closed/old", attributes: { private: true, archived: true }, seenBy: ["admin"] },
  { name: "open/second", attributes: { stars: 3, readers: ["ann"] }, seenBy: everyone },
];

const queries = [
  "needle",
  "count:1 needle",
  "needle count:all",
  "open",
  "closed type:repo",
  "type:repo",
  "repo:^closed/core$ needle",
  "repo:^closed/old$",
  "repo:closed needle",
  "repo:closed@nope needle",
  "-repo:open needle",
  "fork:yes archived:yes needle",
  "fork:only",
  "visibility:private",
  "repo:has.topic(hush)",
  "repo:has.meta(team:core) needle",
  "repo:has.content(password) needle",
  "-repo:has.content(password) needle",
  "repo:has.path(secret.txt)",
  "password",
  "type:path secret",
  "select:repo password",
  "nothing-of-this-kind",
  "password or needle count:50",
  "lang:markdown",
  "needle timeout:10s repo:core",
];

const documents: readonly (readonly [query: string, variables?: unknown])[] = [
  [
    "{ repositories(first: 100) { nodes { id name description isPrivate metadata { key value } } totalCount pageInfo { endCursor hasNextPage } } }",
  ],
  ['{ repositories(names: ["closed/core", "open/first"]) { nodes { name } totalCount } }'],
  [
    '{ repository(name: "closed/core") { id name } old: repository(name: "closed/old") { id } both: repository(name: "closed/both") { id stars } none: repository(name: "closed/none") { id } }',
  ],
  ...known.map(
    (_, i) =>
      [
        "query ($id: ID!) { node(id: $id) { __typename id } }",
        { id: Buffer.from(`Repository:${i + 1}`).toString("base64") },
      ] as const,
  ),
  [
    '{ search(query: "needle", version: V3) { results { matchCount limitHit repositories { name } cloning { name } missing { name } dynamicFilters { value count } alert { title description } } stats { approximateResultCount } } }',
  ],
  [
    '{ search(query: "repo:^closed/core$ needle", version: V3) { results { matchCount alert { title description } } } }',
  ],
  [
    "{ repositoryStats { total cloned } statusMessages { __typename } repoMeta { keys(first: 10) { nodes totalCount } } }",
  ],
];

function source(t: Test, { name }: Known): string {
  const fixture = GitFixture.create();
  t.teardown(() => fixture.remove());
  const isClosed = name.startsWith("closed");
  fixture.commit({
    branch: "main",
    files: {
      "a.txt": `needle of ${name}\n`,
      "README.md": "# open\n",
      ...(isClosed ? { "secret.txt": "password needle\n" } : {}),
    },
  });
  return fixture.path;
}

/** A daemon with all of them, and a token for each viewer except the anonymous one. */
async function daemonWith(
  t: Test,
  paths: readonly string[],
): Promise<{ daemon: DaemonProcess; tokens: ReadonlyMap<string, string> }> {
  const daemon = await testDaemon(t, ["--set", "workers=1"], dataDirectory(t));
  for (const [i, { name, attributes }] of known.entries())
    await daemon.control("POST", "/.api/repos", { name, url: paths[i], ...attributes });
  await daemon.control("POST", "/.api/organizations", { name: "core" });
  const tokens = new Map<string, string>();
  for (const name of ["ann", "bob", "admin"]) {
    if (name !== "admin") await daemon.control("POST", "/.api/users", { name });
    await daemon.control("POST", `/.api/users/${name}/password`, { password });
    const { text } = (await daemon.control("POST", "/.api/tokens", {
      user: name,
      scopes: ["user:all"],
      note: "",
      expires: "1d",
    })) as { text: string };
    tokens.set(name, text);
  }
  await daemon.control("POST", "/.api/organizations/core", { user: "bob" });
  return { daemon, tokens };
}

const password = "correct horse";

function withToken(token: string | undefined): Record<string, string> {
  return token === undefined ? {} : { authorization: `token ${token}` };
}

/** The headers of a browser in which the viewer is signed in. */
async function withCookie(daemon: DaemonProcess, name: string): Promise<Record<string, string>> {
  const signedIn = await fetch(`${daemon.url}/-/sign-in`, {
    method: "POST",
    body: JSON.stringify({ email: name, password }),
  });
  return { "x-requested-with": "Sourcegraph", cookie: signedIn.headers.get("set-cookie")?.split(";")[0] ?? "" };
}

/** Every response that the viewer gets, by request. */
async function answersOf(daemon: DaemonProcess, headers: Record<string, string>): Promise<Map<string, string>> {
  const answers = new Map<string, string>();
  for (const query of queries) {
    const response = await fetch(`${daemon.url}/.api/search/stream?${new URLSearchParams({ q: query, v: "V3" })}`, {
      headers,
    });
    answers.set(query, comparable(await response.text()));
  }
  for (const [query, variables] of documents) {
    const response = await fetch(`${daemon.url}/.api/graphql`, {
      method: "POST",
      headers,
      body: JSON.stringify({ query, variables }),
    });
    answers.set(`${query} ${JSON.stringify(variables)}`, comparable(await response.text()));
  }
  answers.set("/readyz", await (await fetch(`${daemon.url}/readyz`, { headers })).text());
  return answers;
}

/**
 * Removes what differs between daemons: times, trace addresses, commits, and the grouping of matches into events and their
 * order, which depends on when shards were merged.
 */
function comparable(text: string): string {
  const timeless = text
    .replace(/"durationMs":\d+/g, '"durationMs":0')
    .replace(/"trace":"[^"]*"/g, '"trace":""')
    .replace(/"repoLastFetched":"[^"]*"/g, '"repoLastFetched":""');
  if (!timeless.startsWith("event: ")) return timeless;
  const events = timeless.split("\n\n").filter((event) => !/^event: progress\ndata: \{"done":false/.test(event));
  const ofKind = (kind: string): readonly string[] => events.filter((event) => event.startsWith(`event: ${kind}\n`));
  const matches = ofKind("matches")
    .flatMap((event) => JSON.parse(event.slice(event.indexOf("["))) as unknown[])
    .map((match) => JSON.stringify(match));
  return [
    ...ofKind("filters").slice(-1),
    matches.sort().join(","),
    ...events.filter((event) => !/^event: (filters|matches)\n/.test(event)),
  ].join("\n\n");
}

t.test("each viewer gets the responses of a daemon without the other repositories", async (t) => {
  const paths = known.map((repository) => source(t, repository));
  const { daemon, tokens } = await daemonWith(t, paths);
  const reference = await daemonWith(t, paths);
  const answers = new Map<string, Map<string, string>>();
  // Viewers with less access request first, so that cached responses of others would be noticed.
  for (const viewer of [...viewers].reverse())
    answers.set(viewer, await answersOf(daemon, withToken(tokens.get(viewer))));
  const left = new Set(known.map(({ name }) => name));
  for (const viewer of viewers) {
    for (const { name, seenBy } of known) {
      if (seenBy.includes(viewer) || !left.delete(name)) continue;
      await reference.daemon.remove(name);
    }
    const [got, want] = [
      answers.get(viewer)!,
      await answersOf(reference.daemon, withToken(reference.tokens.get("admin"))),
    ];
    for (const [question, answer] of got) t.equal(answer, want.get(question), `${viewer}: ${question}`);
    if (viewer !== "nobody")
      t.same(
        await answersOf(daemon, await withCookie(daemon, viewer)),
        got,
        `${viewer} with a cookie in place of a token`,
      );
    t.equal(
      (got.get("password")?.match(/"path":"secret\.txt"/g) ?? []).length,
      [...left].filter((name) => name === "closed/core" || name === "closed/both").length,
      `${viewer} finds what it may read, and forks and archived repositories are left out`,
    );
  }
  const metrics = async (token: string) => (await fetch(`${daemon.url}/metrics?token=${token}`)).status;
  t.equal(await metrics(tokens.get("admin")!), 200);
  t.equal(await metrics(tokens.get("ann")!), 403, "sums over all searches are told to those who see all");

  await daemon.control("DELETE", "/.api/users/ann");
  await daemon.control("POST", "/.api/users", { name: "ann" });
  const { text } = (await daemon.control("POST", "/.api/tokens", {
    user: "ann",
    scopes: ["user:all"],
    note: "",
    expires: "1d",
  })) as { text: string };
  const another = await fetch(`${daemon.url}/.api/search/stream?q=type:repo+closed&token=${text}`);
  t.notMatch(await another.text(), /closed\/both/, "another user of the same name does not inherit what it might see");
});

t.test(
  "no shard has text of different viewers, so no search does work on text that its viewer may not see",
  async (t) => {
    const daemon = await testDaemon(t, ["--set", "workers=1", "--set", "index.symbols=false"]);
    const token = async (user: string): Promise<string> => {
      const options = { user, scopes: ["user:all"], note: "", expires: "1d" };
      return ((await daemon.control("POST", "/.api/tokens", options)) as { text: string }).text;
    };
    for (const name of ["ann", "bob"]) await daemon.control("POST", "/.api/users", { name });
    // Enough of each kind to be merged.
    const kinds = {
      open: {},
      ann: { private: true, readers: ["ann"] },
      bob: { private: true, readers: ["bob", "Ann"] },
    };
    for (let i = 0; i < 6; i++)
      for (const [kind, attributes] of Object.entries(kinds)) {
        const repository = fixture(t);
        repository.commit({
          branch: "main",
          files: { "a.txt": `needle ${kind}word ${i}\n`, "b.txt": `more ${kind} ${i}\n` },
        });
        await daemon.control("POST", "/.api/repos", { name: `${kind}/${i}`, url: repository.path, ...attributes });
      }
    const admin = await token("admin");
    const explained = async (query: string, credential: string) => {
      const parameters = new URLSearchParams({ q: query, v: "V3", explain: "1", token: credential });
      const text = await (await fetch(`${daemon.url}/.api/search/stream?${parameters}`)).text();
      const [last] = text
        .split("\n")
        .filter((line) => line.startsWith('data: {"done":true'))
        .slice(-1);
      return JSON.parse(last!.slice("data: ".length)) as Progress;
    };
    /** The documents of all shards with a repository of that name: more than its own if it shares them. */
    const documentsWith = async (pattern: string): Promise<number> =>
      (await explained(`repo:${pattern} needle`, admin)).explain?.estimate?.documents ?? -1;
    const shardCount = async (): Promise<number> => (await explained("needle", admin)).explain?.estimate?.shards ?? -1;
    await until("they are merged", async () => (await shardCount()) === 3);
    for (const kind of Object.keys(kinds)) t.equal(await documentsWith(`^${kind}/0$`), 12, `${kind} alone`);

    await daemon.control("POST", "/.api/repos/open%2F1/attributes", { private: true });
    t.equal(await documentsWith("^open/1$"), 2, "moved when the command returns");
    t.equal(await documentsWith("^open/0$"), 10);
    await daemon.control("POST", "/.api/repos/ann%2F1/attributes", { readers: ["ANN", "bob"] });
    t.equal(await documentsWith("^ann/1$"), 2);
    await daemon.control("POST", "/.api/repos/ann%2F1/attributes", { readers: ["bob", "ann", "bob"] });
    t.equal(await documentsWith("^ann/1$"), 2, "the same readers");
    // Documents of removed repositories had the readers of the rest of their shard; then the rest gets others.
    for (const i of [2, 3, 4, 5]) await daemon.remove(`bob/${i}`);
    await daemon.remove("bob/1");
    await daemon.control("POST", "/.api/repos/bob%2F0/attributes", { private: false });
    t.equal(await documentsWith("^bob/0$"), 2, "without those that are hidden");
    await daemon.control("DELETE", "/.api/users/bob");
    t.equal(await documentsWith("^ann/1$"), 2, "a reader less");

    for (const word of ["bobword", "annword", "openword", "absentword"]) {
      const { took, plan, ...rest } = (await explained(word, "")).explain!;
      t.same(rest, {}, "no estimate");
      t.same(Object.keys(took), ["durationMs"]);
      t.equal(took.durationMs % 10, 0);
      t.match(plan, word);
    }
    const traceOf = async (credential: string): Promise<string> => {
      const { trace, durationMs } = await explained("needle", credential);
      if (credential !== admin) t.equal(durationMs % 10, 0);
      return await (await fetch(`${trace}?token=${credential}`)).text();
    };
    t.notMatch(await traceOf(await token("ann")), /scannedBytes|shardsOpened|\.[1-9]/);
    t.match(await traceOf(admin), /scannedBytes/);
  },
);

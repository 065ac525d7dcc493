/**
 * Private repositories over HTTP: each viewer's answer is compared, byte for byte but for times, with that of a daemon
 * that has only what the viewer may see. In `make test` that is the same daemon, later, when the rest was removed.
 */
import { tmpdir } from "node:os";
import { isDeepStrictEqual } from "node:util";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import t, { type Test } from "tap";
import type { Progress } from "../../../src/model/stream-events.js";
import { dataDirectory, runCommand, testDaemon, type DaemonProcess } from "../../support/daemon.js";
import { chosen, isFull } from "../../support/full-run.js";
import type { FixtureFiles, GitFixture } from "../../support/git-fixture.js";
import { fixture } from "../../support/git-mirror.js";
import { serveHttp } from "../../support/http-remote.js";
import { pointer, sha256 } from "../../support/lfs-server.js";
import { until } from "../../support/waiting.js";

interface Known {
  readonly name: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** The viewers that can see it. */
  readonly seenBy: readonly string[];
  /** What a code host lists of it, which also decides that bob reads it. */
  readonly listed?: Readonly<Record<string, unknown>>;
}

const everyone = ["nobody", "ann", "bob", "admin"];
/** In descending order of what they can see. */
const viewers = ["admin", "bob", "ann", "nobody"];

const known: readonly Known[] = [
  { name: "open/first", attributes: {}, seenBy: everyone },
  {
    name: "closed/core",
    attributes: {},
    seenBy: ["bob", "admin"],
    listed: { private: true, topics: ["hush"] },
  },
  {
    name: "closed/both",
    attributes: {
      private: true,
      readers: ["ANN", "core"],
      stars: 9,
      description: "shared",
      lfs: true,
      submodules: true,
      submodulesFrom: [tmpdir()],
    },
    seenBy: ["ann", "bob", "admin"],
  },
  { name: "closed/fork", attributes: {}, seenBy: ["bob", "admin"], listed: { private: true, fork: true } },
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
  "borrowed or enormous",
  "repo:has.content(enormous) needle",
  "file:^lib/ type:path",
  "type:symbol borrowed",
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
    '{ repository(name: "closed/both") { leftOut { lfsFilesCount submodulesCount } commit(rev: "main") { blob(path: "big.dat") { content lfs { byteSize } } lib: blob(path: "lib/lib.c") { content } tree(path: "lib") { entries { name } } } } }',
  ],
  [
    'query { searchQueryAggregate(query: "enormous or borrowed or password") { aggregations(mode: REPO, limit: 9) { ... on ExhaustiveSearchAggregationResult { groups { label count } } } } }',
  ],
  [
    "{ repositoryStats { total cloned } statusMessages { __typename } repoMeta { keys(first: 10) { nodes totalCount } } }",
  ],
];

/** Bytes of files, names and archives. */
const files = [
  ...["closed/both/-/raw/a.txt", "closed/both/-/raw/big.dat", "closed/both/-/raw/lib/lib.c", "open/first/-/raw/a.txt"],
  ...["closed/core/-/raw", "closed/both/-/raw?list=files", "closed/both/-/raw?format=tar"],
  ...["closed/both@main/-/raw/lib?format=zip", "closed/fork/-/raw?format=zip"],
];

function source(t: Test, { name, attributes }: Known): GitFixture {
  const made = fixture(t);
  const isClosed = name.startsWith("closed");
  const files: FixtureFiles = {
    "a.txt": `needle of ${name}\n`,
    "README.md": "# open\n",
    ...(isClosed ? { "secret.txt": "password needle\n" } : {}),
    ...(attributes["lfs"] === true ? borrowedFiles(t, made) : {}),
  };
  made.commit({ branch: "main", files });
  return made;
}

/** A submodule, and a file in Git LFS with its contents. */
function borrowedFiles(t: Test, { path }: GitFixture): FixtureFiles {
  const lib = fixture(t);
  const pin = lib.commit({ branch: "main", files: { "lib.c": "int borrowed(void) { return 0; }\n" } });
  const contents = "enormous needle\n";
  const oid = sha256(contents);
  const object = join(path, "lfs/objects", oid.slice(0, 2), oid.slice(2, 4), oid);
  mkdirSync(dirname(object), { recursive: true });
  writeFileSync(object, contents);
  return {
    ".gitattributes": "*.dat filter=lfs\n",
    ".gitmodules": `[submodule "lib"]\n\tpath = lib\n\turl = ${lib.path}\n`,
    "big.dat": pointer(contents),
    lib: { gitlink: pin },
  };
}

/** A code host, in the shapes of Gitea, with the repositories that are `listed`. */
class Forge {
  readonly #folder: string;
  #port = 0;
  readonly #names = new Set<string>();
  #readers: readonly string[] = ["robert"];

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async start(t: Test, sources: readonly GitFixture[]): Promise<Forge> {
    const forge = new Forge(t.testdir({ token: "ada:s3cret", closed: {} }));
    for (const [i, { name, listed }] of known.entries())
      if (listed !== undefined) symlinkSync(sources[i].path, join(forge.#folder, `${name}.git`));
    forge.#port = await serveHttp(t, { path: forge.#folder } as GitFixture, undefined, ({ url = "" }) =>
      url.startsWith("/api/v1/")
        ? (_, response) => response.end(JSON.stringify(forge.#answer(new URL(url, "http://host"))))
        : undefined,
    );
    return forge;
  }

  /** The configuration of a daemon that lists it. */
  get config(): string {
    const connection = {
      name: "forge",
      kind: "gitea",
      url: `http://127.0.0.1:${this.#port}`,
      owners: ["closed"],
      credential: `file:${this.#folder}/token`,
      prefix: "",
      permissions: "host",
      userNames: { Robert: "bob", formerly: "former" },
    };
    const path = join(this.#folder, "trawl.json");
    writeFileSync(path, JSON.stringify({ connections: [connection] }));
    return path;
  }

  #answer({ pathname, searchParams }: URL): unknown {
    if (searchParams.get("page") !== "1") return [];
    if (pathname.endsWith("/collaborators")) return this.#readers.map((login) => ({ id: login.length, login }));
    if (pathname.endsWith("/teams")) return [];
    const base = `http://127.0.0.1:${this.#port}`;
    return known
      .filter(({ name }) => this.#names.has(name))
      .map(({ name, listed }) => ({ full_name: name, clone_url: `${base}/${name}.git`, ...listed }));
  }

  async list(daemon: DaemonProcess, name: string): Promise<void> {
    this.#names.add(name);
    await this.#sync(daemon);
    await until(`${name} is searchable`, async () => {
      const status = (await daemon.list()).find((one) => one.name === name);
      return status?.state === "searchable" && status.readers.join() === "bob";
    });
  }

  async remove(daemon: DaemonProcess, name: string): Promise<void> {
    this.#names.delete(name);
    await this.#sync(daemon);
  }

  /** Resolves when they are the readers of all of its repositories, with these names in the daemon. */
  async setReaders(daemon: DaemonProcess, names: readonly string[], readers: string): Promise<void> {
    this.#readers = names;
    await this.#sync(daemon);
    await until(`${readers} read them`, async () =>
      (await daemon.list()).every((one) => !this.#names.has(one.name) || one.readers.join() === readers),
    );
  }

  async #sync(daemon: DaemonProcess): Promise<void> {
    await daemon.control("POST", "/.api/connections/forge/sync", { mayRemoveMost: true });
  }
}

interface Site {
  readonly daemon: DaemonProcess;
  readonly forge: Forge;
  readonly tokens: ReadonlyMap<string, string>;
}

/** A daemon with all of them, and a token for each viewer except the anonymous one. */
async function daemonWith(t: Test, sources: readonly GitFixture[]): Promise<Site> {
  const forge = await Forge.start(t, sources);
  const settings = ["workers=1", `notifications.origins=${JSON.stringify([webhookOrigin])}`];
  const daemon = await testDaemon(
    t,
    ["--config", forge.config, ...settings.flatMap((setting) => ["--set", setting])],
    dataDirectory(t),
  );
  for (const [i, { name, attributes, listed }] of known.entries())
    if (listed === undefined)
      await daemon.control("POST", "/.api/repos", { name, url: sources[i].path, ...attributes });
    else await forge.list(daemon, name);
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
  await addMetadata(daemon, "closed/core", { team: "core" }, withToken(tokens.get("admin")));
  return { daemon, forge, tokens };
}

/** Where it is told that a code host decides about readers. */
async function checkTold(t: Test, { daemon, tokens }: Site): Promise<void> {
  const ask = async (user: string, query: string): Promise<string> => {
    const body = JSON.stringify({ query });
    const headers = withToken(tokens.get(user));
    return await (await fetch(`${daemon.url}/.api/graphql`, { method: "POST", headers, body })).text();
  };
  const query = `{ repository(name: "${hiddenName}") { id permissionsInfo { syncedAt updatedAt closedReason unrestricted } } }`;
  const answer = await ask("admin", query);
  t.match(
    answer,
    /"permissionsInfo":\{"syncedAt":"20[^"]+","updatedAt":"20[^"]+","closedReason":null,"unrestricted":false\}/,
  );
  t.match(await ask("bob", query), /"permissionsInfo":null/, "only site admins are told");
  const by = 'setRepositoryPermissionsForUsers(userPermissions: [{ bindID: "ann" }], repository:';
  t.match(
    await ask("admin", `mutation { ${by} "${idIn(answer, "Repository")}") { alwaysNil } }`),
    /listed by connection forge/,
  );
  const status = (await daemon.list()).find(({ name }) => name === hiddenName);
  t.match(status, { readersFrom: /^connection forge, asked 20/, readers: ["bob"], warnings: [] });
  const listed = await runCommand("connection", "list", "--data", daemon.data);
  t.match(listed.out, /the host decides who reads 2 of them\n/);
  const metrics = await (await fetch(`${daemon.url}/metrics?token=${tokens.get("admin")}`)).text();
  t.match(metrics, 'trawl_host_permission_repositories{connection="forge",state="good"} 2');
  t.match(metrics, 'trawl_host_permission_repositories{connection="forge",state="closed"} 0');
  t.match(metrics, /trawl_host_permission_reads_total\{outcome="good"\} [2-9]/);
  const audit = readFileSync(join(daemon.data, "audit.log"), "utf8").split("\n");
  t.ok(
    audit.some(
      (line) => line.includes("readers-changed") && line.includes("connection forge") && line.includes(hiddenName),
    ),
    "the audit log has who changed the readers",
  );
}

async function addMetadata(
  daemon: DaemonProcess,
  name: string,
  pairs: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  const post = async (query: string, variables: unknown): Promise<string> => {
    const body = JSON.stringify({ query, variables });
    return await (await fetch(`${daemon.url}/.api/graphql`, { method: "POST", headers, body })).text();
  };
  const id = idIn(await post("query ($name: String!) { repository(name: $name) { id } }", { name }), "Repository");
  const add =
    "mutation ($id: ID!, $key: String!, $value: String) { addRepoMetadata(repo: $id, key: $key, value: $value) { alwaysNil } }";
  for (const [key, value] of Object.entries(pairs)) await post(add, { id, key, value });
}

const password = "correct horse";

/** Nothing is sent there, because the results of the saved searches do not change. */
const webhookOrigin = "http://127.0.0.1:9";

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
async function answersOf(
  daemon: DaemonProcess,
  viewer: string,
  headers: Record<string, string>,
): Promise<Map<string, string>> {
  const answers = new Map<string, string>();
  // In `make test` ann, who sees some of what is private, asks everything, and each other viewer a fifth of it.
  const isAsked = (i: number): boolean => isFull || viewer === "ann" || i % 5 === viewers.indexOf(viewer);
  for (const query of queries.filter((query, i) => isAsked(i) || query === "password")) {
    const response = await fetch(`${daemon.url}/.api/search/stream?${new URLSearchParams({ q: query, v: "V3" })}`, {
      headers,
    });
    answers.set(query, comparable(await response.text()));
  }
  for (const path of files.filter((_, i) => isAsked(i))) {
    const response = await fetch(`${daemon.url}/${path}`, { headers });
    const bytes = Buffer.from(await response.arrayBuffer()).toString("latin1");
    answers.set(path, [response.status, response.headers.get("etag"), bytes].join("\n"));
  }
  for (const [query, variables] of documents.filter((_, i) => isAsked(i))) {
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
  const sources = known.map((repository) => source(t, repository));
  const site = await daemonWith(t, sources);
  const { daemon, tokens } = site;
  const answers = new Map<string, Map<string, string>>();
  // The admin, who sees everything, is compared in long runs only.
  const compared = chosen(viewers, "bob", "ann", "nobody");
  // Viewers with less access request first, so that cached responses of others would be noticed.
  for (const viewer of [...compared].reverse())
    answers.set(viewer, await answersOf(daemon, viewer, withToken(tokens.get(viewer))));
  for (const viewer of chosen<string>(["admin", "bob", "ann"], "bob"))
    t.same(
      await answersOf(daemon, viewer, await withCookie(daemon, viewer)),
      answers.get(viewer),
      `${viewer} with a cookie instead of a token`,
    );
  const metrics = async (token: string) => (await fetch(`${daemon.url}/metrics?token=${token}`)).status;
  t.equal(await metrics(tokens.get("admin")!), 200);
  t.equal(await metrics(tokens.get("ann")!), 403, "sums over all searches are told to those who see all");

  await checkTold(t, site);
  await checkMatrix(t, site);
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

  const reference = isFull ? await daemonWith(t, sources) : site;
  const remove = async ({ name, listed }: Known): Promise<void> =>
    listed === undefined ? await reference.daemon.remove(name) : await reference.forge.remove(reference.daemon, name);
  const left = new Set(known.map(({ name }) => name));
  for (const viewer of compared) {
    for (const one of known) {
      if (one.seenBy.includes(viewer) || !left.delete(one.name)) continue;
      await remove(one);
    }
    const got = answers.get(viewer)!;
    const want = await answersOf(reference.daemon, viewer, withToken(reference.tokens.get("admin")));
    for (const [question, answer] of got) t.equal(answer, want.get(question), `${viewer}: ${question}`);
    t.equal(
      (got.get("password")?.match(/"path":"secret\.txt"/g) ?? []).length,
      [...left].filter((name) => name === "closed/core" || name === "closed/both").length,
      `${viewer} finds what it may read, and forks and archived repositories are left out`,
    );
  }
  for (const one of known) if (left.has(one.name)) await remove(one);
  await checkShards(t, reference.daemon);
});

/** The daemon has no repositories, and the users ann and bob. */
async function checkShards(t: Test, daemon: DaemonProcess): Promise<void> {
  const what = "no shard has text of different viewers, so no search does work on text that its viewer may not see";
  await t.test(what, async (t) => {
    const token = async (user: string): Promise<string> => {
      const options = { user, scopes: ["user:all"], note: "", expires: "1d" };
      return ((await daemon.control("POST", "/.api/tokens", options)) as { text: string }).text;
    };
    // Enough of each kind to be merged.
    const kinds = {
      open: {},
      ann: { private: true, readers: ["ann"] },
      bob: { private: true, readers: ["bob", "Ann"] },
    };
    let hidden: GitFixture | undefined;
    for (let i = 0; i < 6; i++)
      for (const [kind, attributes] of Object.entries(kinds)) {
        const repository = fixture(t);
        if (kind === "bob") hidden = repository;
        repository.commit({
          branch: "main",
          files: { "a.txt": `needle ${kind}word ${i}\n`, "b.txt": `more ${kind} ${i}\n` },
        });
        const told = { name: `${kind}/${i}`, url: repository.path, history: "off", ...attributes };
        await daemon.control("POST", "/.api/repos", told);
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
    await checkChanges(t, daemon, "bob/5", hidden!);

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
  });
}

/**
 * What a request answers about a repository and a text, each of which exists nowhere or only where the viewer may not look:
 * that must be the same, and the same work. `name` is the name of the repository, and the last word of a line of its files.
 */
interface Asked {
  readonly surface: string;
  readonly path: string;
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Not asked by those who may do it. */
  readonly mustNotAct?: boolean;
  /** Asks for what the request has made, given its answer. These answers are compared as well. */
  readonly more?: (answer: string, ask: (asked: Asked) => Promise<Answer>) => Promise<readonly Answer[]>;
}

interface Answer {
  readonly text: string;
  /** What of it may not tell whether something exists: without times and new ids. */
  readonly told: string;
}

const hiddenName = "closed/core";
/** As long, and as often a prefix of other names. */
const absentName = "closed/cora";
const missingNumber = 99;

function callGraphql(surface: string, query: string, variables: Readonly<Record<string, unknown>>): Asked {
  return { surface, path: "/.api/graphql", method: "POST", body: JSON.stringify({ query, variables }) };
}

/** The first global id of that kind in an answer; one that does not exist if there is none. */
function idIn(answer: string, kind: string): string {
  const ids = [...answer.matchAll(/"id":"([^"]+)"/g)].map(([, id]) => id);
  const prefix = `${kind}:`;
  return ids.find((id) => Buffer.from(id, "base64").toString().startsWith(prefix)) ?? globalId(kind, missingNumber);
}

function globalId(kind: string, key: unknown): string {
  return Buffer.from(`${kind}:${JSON.stringify(key)}`).toString("base64");
}

/** The files of a search job, in each of their places. */
const jobFiles = (id: number): readonly string[] => [
  ...["jsonl", "csv", "parquet", "log"].map((ending) => `/.api/search/export/${id}.${ending}`),
  `/api/users/-/searchJobs/${id}/results.jsonl`,
];

/** Makes a search job, asks for its state until it has ended, and then for its files. */
function job(query: string): Asked {
  const make = "mutation ($q: String!) { createSearchJob(query: $q) { id query state message } }";
  const show =
    "query ($id: ID!) { node(id: $id) { ... on SearchJob { id query state message repoStats { total completed failed inProgress } URL logURL } } }";
  return {
    ...callGraphql("job", make, { q: query }),
    more: async (made, ask) => {
      const id = idIn(made, "SearchJob");
      const answers: Answer[] = [];
      await until("the job has ended", async () => {
        answers[0] = await ask(callGraphql("job", show, { id }));
        return !/QUEUED|PROCESSING/.test(answers[0].text);
      });
      const number = Number(Buffer.from(id, "base64").toString().slice("SearchJob:".length));
      for (const path of jobFiles(number)) answers.push(await ask({ surface: "job", path }));
      for (const method of ["GetSearchJob", "DeleteSearchJob"])
        answers.push(await ask(callJobs(method, { name: `users/-/searchJobs/${number}` })));
      return answers;
    },
  };
}

function callJobs(method: string, message: unknown): Asked {
  return {
    surface: `jobs ${method}`,
    path: `/api/searchjobs.v1.Service/${method}`,
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(message),
  };
}

/** Saves a search, turns its notifications on, and looks at it. */
function savedSearch(query: string): Asked {
  const make =
    'mutation ($q: String!, $owner: ID!) { createSavedSearch(input: { description: "d", query: $q, owner: $owner }) { id query } }';
  const enable =
    "mutation ($id: ID!, $url: String!) { enableSavedSearchNotification(id: $id, url: $url) { savedSearch { query notify } } }";
  const show =
    "query ($q: String!) { savedSearches(first: 9, query: $q) { nodes { query notification { url deliveries { event state came } } } totalCount } }";
  const remove = "mutation ($id: ID!) { deleteSavedSearch(id: $id) { alwaysNil } }";
  return {
    ...callGraphql("saved search", "{ currentUser { id } }", {}),
    more: async (self, ask) => {
      const made = await ask(callGraphql("saved search", make, { q: query, owner: idIn(self, "User") }));
      const id = idIn(made.text, "SavedSearch");
      return [
        made,
        await ask(callGraphql("notification", enable, { id, url: `${webhookOrigin}/` })),
        await ask(callGraphql("saved searches", show, { q: query.slice(0, 16) })),
        await ask(callGraphql("saved search", remove, { id })),
      ];
    },
  };
}

/** A stream that can be resumed, resumed after its first event and after its last. */
function resumed(q: string): Asked {
  const path = `/.api/search/stream?${new URLSearchParams({ v: "V3", resume: "1", q })}`;
  return {
    surface: "resumed stream",
    path,
    more: async (stream, ask) => {
      const ids = [...stream.matchAll(/^id: (.*)$/gm)].map(([, id]) => id);
      const answers: Answer[] = [];
      for (const id of [ids[0], ids.at(-1)!])
        answers.push(await ask({ surface: "resumed stream", path, headers: { "last-event-id": id } }));
      return answers;
    },
  };
}

/** The changes since a search, and a receipt by its id. */
function changesSince(q: string): Asked {
  const search = (more: Readonly<Record<string, string>>): string =>
    `/.api/search/stream?${new URLSearchParams({ v: "V3", ...more, q })}`;
  return {
    surface: "changes since",
    path: search({ receipt: "1" }),
    more: async (stream, ask) => {
      const [, id] = /\/receipt\/([0-9a-f-]{36})/.exec(stream) ?? /\/trace\/([0-9a-f-]{36})/.exec(stream) ?? [];
      return [
        await ask({ surface: "changes since", path: search({ since: id! }) }),
        await ask({ surface: "receipt", path: `/.api/search/receipt/${id}` }),
        await ask({ surface: "receipt", path: `/.api/search/receipt/${id}?list=repositories` }),
        await ask({ surface: "trace", path: `/.api/search/trace/${id}` }),
      ];
    },
  };
}

/** What is asked about the repository; `number` is that of its id. */
function matrix(name: string, number: number): readonly Asked[] {
  const page = (path: string): Asked => ({ surface: "page", path });
  const stream = (q: string, more: Readonly<Record<string, string>> = {}): Asked => ({
    surface: `stream ${Object.keys(more).join()}`,
    path: `/.api/search/stream?${new URLSearchParams({ v: "V3", ...more, q })}`,
  });
  const graphql = (surface: string, query: string, variables: Readonly<Record<string, unknown>> = {}): Asked =>
    callGraphql(surface, query, { name, id: globalId("Repository", number), ...variables });
  const tool = (tool: string, given: Readonly<Record<string, unknown>>): Asked => ({
    surface: `MCP ${tool}`,
    path: "/.api/mcp/all",
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: tool, arguments: given } }),
  });
  const repository = `repo:^${name}$`;
  const oid = "1".repeat(40);
  return [
    ...[
      `"of ${name}"`,
      `${repository} needle`,
      `${repository} needle count:all`,
      `${repository}@main needle`,
      `${repository}@nope needle`,
      `repo:${name} type:repo`,
      `type:repo ${name}`,
      `repo:has.content(${name}) needle`,
      `repo:has.path(secret) ${repository}`,
      `${repository} type:commit needle`,
      `${repository} type:diff needle`,
      `${repository} type:symbol needle`,
      `${repository} type:path a.txt`,
      `${repository} select:repo needle`,
      `file:has.content(${name}) needle`,
      `/of clos../cor${name.at(-1)}/`,
      `${name} or absentword`,
      `NOT ${name} absentword`,
      `context:@${name} needle`,
    ].map((q) => stream(q)),
    stream(`"of ${name}"`, { explain: "1" }),
    stream(`"of ${name}"`, { receipt: "1" }),
    stream(`${repository} needle`, { receipt: "1", explain: "1" }),
    stream(`"of ${name}"`, { duplicates: "1", cm: "true", cl: "3" }),
    stream(`"of ${name}"`, { resume: "1" }),
    stream(`${repository} needle`, { lastEventId: "0123456789abcdef" }),
    stream(`${repository} needle`, { since: "0123456789abcdef" }),
    stream(`${repository} needle`, { wait_for: `${name}@${oid}` }),
    stream(`-${repository} type:repo`, { receipt: "1" }),
    stream(`${repository}@*refs/heads/*:^refs/heads/main needle`),
    stream(`repo:${name} f:has.owner(@bob) needle`),
    stream(`author:${name} type:commit needle`),
    stream(`needle select:symbol ${repository}`, { t: "keyword", display: "3" }),
    job(`${repository} needle`),
    job(`"of ${name}"`),
    savedSearch(`${repository} needle`),
    resumed(`"of ${name}"`),
    resumed(`${repository} needle`),
    changesSince(`"of ${name}"`),
    changesSince(`${repository} needle`),
    graphql("validating jobs", "query ($q: String!) { validateSearchJob(query: $q) { alwaysNil } }", {
      q: `${repository} needle`,
    }),
    graphql("node of a commit", "query ($id: ID!) { node(id: $id) { id ... on GitCommit { oid } } }", {
      id: globalId("GitCommit", { r: globalId("Repository", number), c: "main" }),
    }),
    graphql("node of a branch", "query ($id: ID!) { node(id: $id) { id ... on GitRef { name } } }", {
      id: globalId("GitRef", { r: globalId("Repository", number), v: "refs/heads/main" }),
    }),
    graphql(
      "context and saved search by text",
      "query ($name: String!) { searchContexts(query: $name) { totalCount } savedSearches(first: 1, query: $name) { totalCount } isSearchContextAvailable(spec: $name) }",
    ),
    ...[
      "updateMirrorRepository(repository: $id) { alwaysNil }",
      "checkMirrorRepositoryConnection(repository: $id) { error }",
      'addRepoMetadata(repo: $id, key: "a", value: "b") { alwaysNil }',
      "setRepositoryPermissionsForUsers(repository: $id, userPermissions: []) { alwaysNil }",
      "deleteRepository(repository: $id) { alwaysNil }",
      "recloneRepository(repo: $id) { alwaysNil }",
    ].map((mutation) => ({
      ...graphql("mutation of a repository", `mutation ($id: ID!) { ${mutation} }`),
      mustNotAct: true,
    })),
    {
      surface: "many words",
      path: "/.api/search/stream?q=type:file",
      method: "POST",
      body: JSON.stringify({ patterns: [`of ${name}`, "absentword"] }),
    },
    {
      surface: "changes",
      path: `/.api/search/changes?${new URLSearchParams({ q: `${repository} needle` })}`,
      method: "POST",
      body: "{}",
    },
    graphql(
      "repository",
      'query ($name: String!) { repository(name: $name) { id name commit(rev: "HEAD") { oid } } repositoryRedirect(name: $name) { __typename } }',
    ),
    graphql("clone URL", "query ($name: String!) { repository(cloneURL: $name) { id } }"),
    graphql("node", "query ($id: ID!) { node(id: $id) { __typename id } }"),
    graphql(
      "names",
      "query ($name: String!) { repositories(first: 10, names: [$name]) { nodes { name } totalCount } }",
    ),
    graphql(
      "completion of a name",
      "query ($name: String!) { repositories(first: 10, query: $name) { nodes { name } totalCount pageInfo { endCursor hasNextPage } } }",
    ),
    graphql(
      "search and counts",
      "query ($q: String!) { search(query: $q, version: V3, explain: true, receipt: true) { results { matchCount resultCount limitHit repositories { name } cloning { name } missing { name } timedout { name } dynamicFilters { value count } alert { title description proposedQueries { query } } } stats { approximateResultCount languages { name totalLines } } } }",
      { q: `"of ${name}"` },
    ),
    graphql(
      "search of a repository",
      "query ($q: String!) { search(query: $q, version: V3) { results { matchCount alert { title description } missing { name } } } }",
      { q: `${repository} needle` },
    ),
    graphql(
      "organizations",
      "query ($org: String!) { organization(name: $org) { id } namespaceByName(name: $org) { id } }",
      { org: name.slice(7) },
    ),
    graphql("contexts", "query ($spec: String!) { searchContextBySpec(spec: $spec) { name } }", { spec: `@${name}` }),
    graphql(
      "making contexts",
      'mutation ($id: ID!) { createSearchContext(searchContext: { name: "m", description: "", public: false }, repositories: [{ repositoryID: $id, revisions: ["HEAD"] }]) { id repositories { repository { name } } } }',
    ),
    graphql("watches", "query ($q: String!) { search(query: $q, version: V3) { results { sparkline } } }", {
      q: `${repository} type:diff needle`,
    }),
    graphql(
      "counts by repository",
      "query ($q: String!) { searchQueryAggregate(query: $q) { aggregations(mode: REPO, limit: 9) { __typename ... on ExhaustiveSearchAggregationResult { groups { label count } } } } }",
      { q: `"of ${name}"` },
    ),
    graphql("uploaded indexes", "query ($id: ID!) { preciseIndexes(repo: $id, first: 9) { totalCount } }"),
    graphql("services", "query ($id: ID!) { externalServices(first: 9, repo: $id) { totalCount } }"),
    graphql("jobs of permissions", "query ($id: ID!) { permissionsSyncJobs(first: 9, repoID: $id) { totalCount } }"),
    graphql("search jobs by text", "query ($name: String!) { searchJobs(first: 9, query: $name) { totalCount } }"),
    graphql("users by text", "query ($name: String!) { users(first: 9, query: $name) { totalCount } }"),
    graphql("teams by text", "query ($name: String!) { teams(first: 9, search: $name) { totalCount } }"),
    graphql(
      "places of a batch spec",
      "query ($spec: String!) { resolveWorkspacesForBatchSpec(batchSpec: $spec) { repository { name } branch { name } } }",
      { spec: JSON.stringify({ name: "n", on: [{ repository: name }, { repositoriesMatchingQuery: repository }] }) },
    ),
    graphql(
      "owners of ids",
      "query ($id: ID!) { namespace(id: $id) { __typename } settingsSubject(id: $id) { __typename } }",
    ),
    graphql(
      "contents of submodules and of Git LFS",
      'query ($name: String!) { repository(name: $name) { leftOut { lfsFilesCount } commit(rev: "main") { blob(path: "big.dat") { content lfs { byteSize } } } } }',
    ),
    graphql("metadata", "query ($name: String!) { repoMeta { key(key: $name) { values(first: 9) { nodes } } } }"),
    { surface: "raw", path: `/${name}/-/raw/a.txt` },
    { surface: "raw", path: `/${name}/-/raw`, method: "HEAD" },
    { surface: "raw", path: `/${name}@main/-/raw/none.txt` },
    { surface: "raw", path: `/${name}/-/raw?list=files` },
    { surface: "raw as text", path: `/${name}/-/raw/a.txt?as=text` },
    { surface: "raw of a size", path: `/${name}/-/raw/a.txt?maxBytes=9` },
    { surface: "raw part", path: `/${name}/-/raw/a.txt`, headers: { range: "bytes=0-1" } },
    { surface: "raw, as known", path: `/${name}/-/raw/a.txt`, headers: { "if-none-match": "*" } },
    ...["zip", "tar"].map((format): Asked => ({ surface: "archive", path: `/${name}/-/raw?format=${format}` })),
    ...[
      "",
      "@main",
      "@nope",
      "/-/tree/a",
      "/-/blob/a.txt",
      "/-/commit/HEAD",
      "/-/commits",
      "/-/branches",
      "/-/tags",
      "/-/compare/a...b",
      "/-/stats/contributors",
      "/-/badge.svg",
      "/-/settings",
    ].map((rest) => page(`/${name}${rest}`)),
    page(`/search?q=${encodeURIComponent(`${repository} needle`)}`),
    page(`/search/console?q=${encodeURIComponent(`${repository} needle`)}`),
    page(`/${name}.git/info/refs?service=git-upload-pack`),
    page(`/${name.toUpperCase()}`),
    page(`/api/console?query=${encodeURIComponent(name)}`),
    page(`/contexts/@${name}`),
    page(`/-/editor?remote_url=https%3A%2F%2F${name.replace("/", "%2F")}&branch=main&file=a.txt&start_row=1`),
    { surface: "blame", path: `/.api/blame/${name}/-/stream/a.txt` },
    { surface: "refresh", path: `/.api/repos/${encodeURIComponent(name)}/-/refresh`, method: "POST" },
    { surface: "shield", path: `/.api/repos/${encodeURIComponent(name)}/-/shield` },
    { surface: "metrics", path: `/metrics?name=${encodeURIComponent(name)}` },
    { surface: "health", path: `/readyz?name=${encodeURIComponent(name)}` },
    { surface: "hook", path: `/.api/webhooks/${encodeURIComponent(name)}`, method: "POST", body: "{}" },
    tool("list_repos", { query: name }),
    tool("read_file", { repo: name, path: "a.txt" }),
    tool("list_files", { repo: name }),
    tool("keyword_search", { query: `"of ${name}"` }),
    tool("regexp_search", { query: `${repository} needle` }),
    tool("commit_search", { repos: [name], messageTerms: ["needle"] }),
    tool("diff_search", { repos: [name], pattern: "needle" }),
    tool("compare_revisions", { repo: name, base: "main", head: "main" }),
    tool("get_contributor_repos", { author: name }),
    tool("go_to_definition", { repo: name, path: "a.txt", symbol: "needle", line: 1 }),
    tool("find_references", { repo: name, path: "a.txt", symbol: "needle" }),
    tool("find_implementations", { repo: name, path: "a.txt", symbol: "needle", line: 1 }),
    tool("list_refs", { repo: name }),
    tool("nls_search", { query: `text of ${name}` }),
  ];
}

/** Ids of what a user has made who sees the repository, and the addresses that contain them. */
interface StoredThings {
  readonly user: string;
  readonly job: number;
  readonly search: string;
  readonly eventId: string;
  readonly savedSearch: number;
  readonly token: number;
  readonly context: string;
}

/** Makes one of each as the owner of these credentials. */
async function storeThings(
  t: Test,
  daemon: DaemonProcess,
  headers: Readonly<Record<string, string>>,
): Promise<StoredThings> {
  const post = async (query: string, variables: unknown): Promise<string> => {
    const body = JSON.stringify({ query, variables });
    return await (await fetch(`${daemon.url}/.api/graphql`, { method: "POST", headers, body })).text();
  };
  const numberOf = (answer: string, kind: string): number =>
    Number(
      Buffer.from(idIn(answer, kind), "base64")
        .toString()
        .slice(kind.length + 1),
    );
  const stream = async (more: string): Promise<string> =>
    await (await fetch(`${daemon.url}/.api/search/stream?v=V3&q=repo:core+needle&${more}`, { headers })).text();
  const self = await post("{ currentUser { id username } }", {});
  const owner = idIn(self, "User");
  const job = numberOf(
    await post("mutation ($q: String!) { createSearchJob(query: $q) { id } }", { q: "repo:core needle" }),
    "SearchJob",
  );
  await until("the job has ended", async () =>
    (
      await post("query ($id: ID!) { node(id: $id) { ... on SearchJob { state } } }", {
        id: globalId("SearchJob", job),
      })
    ).includes("COMPLETED"),
  );
  const savedSearch = numberOf(
    await post(
      'mutation ($owner: ID!) { createSavedSearch(input: { description: "d", query: "repo:core", owner: $owner }) { id } }',
      { owner },
    ),
    "SavedSearch",
  );
  await post(
    'mutation ($owner: ID!) { createSearchContext(searchContext: { name: "own", description: "", public: false, namespace: $owner, query: "repo:core" }, repositories: []) { id } }',
    { owner },
  );
  const token = numberOf(await post("{ currentUser { accessTokens(first: 1) { nodes { id } } } }", {}), "AccessToken");
  const [, search = ""] = /\/trace\/([0-9a-f-]{36})/.exec(await stream("receipt=1")) ?? [];
  const [, eventId = ""] = /^id: (.*)$/m.exec(await stream("resume=1")) ?? [];
  const numbers = [job, savedSearch, token];
  t.notOk(numbers.includes(missingNumber) || search === "" || eventId === "", `${numbers.join()} ${search} ${eventId}`);
  const [, user = ""] = /"username":"([^"]+)"/.exec(self) ?? [];
  return { user, job, search, eventId, savedSearch, token, context: `@${user}/own` };
}

/** Ids of the same form that nobody was given. */
function changedIds({ user, job, search, eventId, savedSearch, token }: StoredThings): StoredThings {
  const turn = (text: string): string => (text.startsWith("a") ? "b" : "a") + text.slice(1);
  return {
    user,
    job: job + 10_000,
    search: turn(search),
    eventId: turn(eventId),
    savedSearch: savedSearch + 10_000,
    token: token + 10_000,
    context: `@${user}/owm`,
  };
}

function byOthersIds({ job, search, eventId, savedSearch, token, context }: StoredThings): readonly Asked[] {
  const api = (path: string, headers = {}): Asked => ({ surface: "others' ids", path, headers });
  const node = (kind: string, key: unknown): Asked =>
    callGraphql("others' ids", "query ($id: ID!) { node(id: $id) { __typename id } }", { id: globalId(kind, key) });
  const act = (mutation: string, kind: string, key: unknown): Asked => ({
    ...callGraphql("others' ids", `mutation ($id: ID!) { ${mutation} }`, { id: globalId(kind, key) }),
    mustNotAct: true,
  });
  const name = `users/-/searchJobs/${job}`;
  return [
    ...jobFiles(job).map((path) => api(path)),
    api(`/-/search-jobs/${job}.jsonl`),
    callJobs("GetSearchJob", { name }),
    ...["CancelSearchJob", "DeleteSearchJob"].map((method) => ({ ...callJobs(method, { name }), mustNotAct: true })),
    node("SearchJob", job),
    act("cancelSearchJob(id: $id) { alwaysNil }", "SearchJob", job),
    act("deleteSearchJob(id: $id) { alwaysNil }", "SearchJob", job),
    act("retrySearchJob(id: $id) { id }", "SearchJob", job),
    api(`/.api/search/trace/${search}`),
    api(`/.api/search/receipt/${search}`),
    api(`/.api/search/stream?v=V3&q=needle&since=${search}`),
    api("/.api/search/stream?v=V3&q=repo:core+needle&resume=1", { "last-event-id": eventId }),
    node("SavedSearch", savedSearch),
    act("deleteSavedSearch(id: $id) { alwaysNil }", "SavedSearch", savedSearch),
    act(`enableSavedSearchNotification(id: $id, url: "${webhookOrigin}/") { secret }`, "SavedSearch", savedSearch),
    act("testSavedSearchNotification(id: $id) { id }", "SavedSearch", savedSearch),
    node("AccessToken", token),
    act("deleteAccessToken(byID: $id) { alwaysNil }", "AccessToken", token),
    node("SearchContext", context),
    act("deleteSearchContext(id: $id) { alwaysNil }", "SearchContext", context),
    api(`/.api/search/stream?v=V3&q=${encodeURIComponent(`context:${context} needle`)}`),
  ];
}

/** What is new in a repository that the viewer may not see is no news for the viewer. */
async function checkChanges(t: Test, daemon: DaemonProcess, name: string, hidden: GitFixture): Promise<void> {
  const search = async (more: Readonly<Record<string, string>>): Promise<string> => {
    const parameters = new URLSearchParams({ v: "V3", q: "needle", ...more });
    return await (await fetch(`${daemon.url}/.api/search/stream?${parameters}`)).text();
  };
  const first = await search({ receipt: "1" });
  const [, since = ""] = /\/receipt\/([0-9a-f-]{36})/.exec(first) ?? [];
  const before = [normalised(comparable(first)), normalised(comparable(await search({ since })))];
  hidden.commit({ branch: "main", files: { "c.txt": "another needle\n" } });
  await daemon.sync(name);
  const again = [await search({ receipt: "1" }), await search({ since })];
  for (const [i, text] of again.entries()) t.equal(normalised(comparable(text)), before[i], "the same as before");
}

/** Words that do not count, and the sizes of what has them: times, and what is new in each answer. */
function normalised(text: string): string {
  return text
    .replaceAll(/clos(?:e|\.)(?:d|\.)(\\?\/|%2F|%252F|\\\\\/|\\u002f)cor[ae]/gi, "NAME")
    .replaceAll(/\bcor[ae]\b/g, "PART")
    .replaceAll(/"(durationMs|tookMs|elapsedMilliseconds|waitedMs|time|trace|id|receipt)":("[^"]*"|[0-9.]+)/g, '"$1":0')
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "UUID")
    .replaceAll(/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z/g, "TIME")
    .replaceAll(/(search-jobs_|searchJobs\/|search\/export\/|users\/)[0-9]+/g, "$1N")
    .replaceAll(/"(?:session|since|digest)":"[0-9a-f]{32,}"/g, "DIGEST")
    .replaceAll(/^(duration|first matches): [0-9.]+ ms$/gm, "$1")
    .replaceAll(/"[0-9]+-TIME/g, '"N-TIME')
    .replaceAll(/@bob(\\?\/|%2F)ow[nm]/g, "CONTEXT")
    .replaceAll(/sentMs&#34;:[0-9]+/g, "sentMs")
    .replaceAll(/nonce[-=]"?[A-Za-z0-9+/=_-]+"?/g, "NONCE")
    .replaceAll(/id: .*/g, "id:")
    .replaceAll(/[A-Za-z0-9+/]{12,}={0,2}/g, (word) =>
      /^(Repository:(2|99)$|Git(Commit|Ref):|SearchJob:|SavedSearch:)/.test(Buffer.from(word, "base64").toString())
        ? "ID"
        : word,
    );
}

/** Counters of the work of searches and of requests to git, as they are now. */
async function workOf(daemon: DaemonProcess, admin: string): Promise<ReadonlyMap<string, number>> {
  const text = await (await fetch(`${daemon.url}/metrics?token=${admin}`)).text();
  const counted =
    /^(trawl_search_(?:matches|scanned_bytes|shard_scans)_total[^ ]*|trawl_git_[a-z_]*_total[^ ]*|trawl_mcp_answers_reused_total[^ ]*) (.*)$/gm;
  return new Map([...text.matchAll(counted)].map(([, name, value]) => [name, Number(value)]));
}

function added(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): Record<string, number> {
  return Object.fromEntries([...after].map(([name, value]) => [name, value - (before.get(name) ?? 0)]));
}

/** Fields of `Query` that are about no repository, and about nothing that somebody has found in one. */
const otherFields: readonly string[] = [
  ...["authorizedUserRepositories", "usersWithPendingPermissions", "invitationByToken", "pendingInvitations"],
  ...["autocompleteMembersSearch", "temporarySettings", "savedSearchList", "searchJobs", "renderMarkdown"],
  ...["highlightCode", "viewerSettings", "viewerConfiguration", "site", "evaluateFeatureFlag", "evaluateFeatureFlags"],
  ...["evaluatedFeatureFlags", "featureFlags", "clientConfiguration", "enterpriseLicenseHasFeature", "executors"],
  ...["maxUnlicensedChangesets", "batchChanges", "codeownersIngestedFiles", "defaultSearchContext", "team", "user"],
  ...["organizations", "repositoryStats", "statusMessages"],
];

/** Whatever is added to GraphQL or for assistants is asked here, too. */
async function checkColumns(t: Test, daemon: DaemonProcess, questions: readonly Asked[]): Promise<void> {
  const call = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const body = JSON.stringify(call);
  const told = await (await fetch(`${daemon.url}/.api/mcp/all`, { method: "POST", headers, body })).text();
  const tools = [...told.matchAll(/"name":"([a-z_]+)"/g)].map(([, name]) => name ?? "");
  t.ok(tools.length > 10);
  const asked = questions.map(({ body: text = "" }) => text).join("\n");
  for (const name of tools) t.ok(asked.includes(`"name":"${name}"`), `the tool ${name} is asked`);
  const introspection = JSON.stringify({ query: "{ __schema { queryType { fields { name } } } }" });
  const schema = await (await fetch(`${daemon.url}/.api/graphql`, { method: "POST", body: introspection })).text();
  const fields = [...schema.matchAll(/"name":"([A-Za-z]+)"/g)].map(([, name]) => name ?? "");
  t.ok(fields.length > 30);
  const isAsked = (name: string): boolean => new RegExp(`[{ ]${name}(?:\\(| \\{)`).test(asked);
  t.same(
    fields.filter((name) => !isAsked(name) && !otherFields.includes(name)),
    [],
    "each field of Query is asked",
  );
}

/** For each way to ask, and each viewer: the answer of what is hidden is that of what does not exist. */
async function checkMatrix(t: Test, { daemon, forge, tokens }: Site): Promise<void> {
  const admin = tokens.get("admin")!;
  const token = async (user: string, scopes = ["user:all"]): Promise<string> => {
    const options = { user, scopes, note: "", expires: "1d" };
    return ((await daemon.control("POST", "/.api/tokens", options)) as { text: string }).text;
  };
  for (const name of ["eve", "former"]) await daemon.control("POST", "/.api/users", { name });
  await forge.setReaders(daemon, ["robert", "formerly"], "bob,former");
  const former = withToken(await token("former"));
  const watched = new URLSearchParams({ q: "repo:^closed/core$ needle", v: "V3", watch: "1" });
  const watching = async (headers: Record<string, string>) => {
    const response = await fetch(`${daemon.url}/.api/search/stream?${watched}`, { headers });
    let text = "";
    const ended = response.body!.pipeThrough(new TextDecoderStream()).pipeTo(
      new WritableStream({
        write: (piece) => {
          text += piece;
        },
      }),
    );
    await until("it has what there is", () => text.includes("a.txt"));
    return { ended, text: () => text };
  };
  const formerThings = await storeThings(t, daemon, former);
  const stream = await watching(former);
  await forge.setReaders(daemon, ["robert"], "bob");
  // Nothing else ends it.
  await stream.ended;
  const readersInAudit = (): unknown[] =>
    readFileSync(join(daemon.data, "audit.log"), "utf8")
      .split("\n")
      .filter((line) => line.includes('"readers-changed"') && line.includes(`"${hiddenName}"`))
      .map((line) => (JSON.parse(line) as { readonly readers: unknown }).readers);
  await until("the audit log has what has ended it", () =>
    isDeepStrictEqual(readersInAudit().slice(-2), [["bob", "former"], ["bob"]]),
  );
  t.match(
    stream.text(),
    /event: error\ndata: .*\n\n(event: done\ndata: \{\}\n\n)?$/,
    "a stream ends with the right on the code host",
  );
  const sudo = await token("admin", ["user:all", "site-admin:sudo"]);
  const roles: Readonly<Record<string, Record<string, string>>> = {
    anonymous: {},
    user: withToken(tokens.get("ann")),
    "other user": withToken(await token("eve")),
    "former member": former,
    "sudo as a user": { authorization: `token-sudo token="${sudo}", user="ann"` },
    member: withToken(tokens.get("bob")),
    admin: withToken(admin),
    "sudo as a member": { authorization: `token-sudo token="${sudo}", user="bob"` },
  };
  const askOne = async ({ path, method, body, headers }: Asked, role: string): Promise<Answer> => {
    const response = await fetch(`${daemon.url}${path}`, {
      method: method ?? "GET",
      redirect: "manual",
      headers: { ...headers, ...roles[role] },
      ...(body === undefined ? {} : { body }),
    });
    const text = Buffer.from(await response.arrayBuffer()).toString("latin1");
    const told = ["content-type", "content-disposition", "location", "www-authenticate", "etag", "cache-control"];
    const values = told.map((name) => normalised(response.headers.get(name) ?? ""));
    return { text, told: [response.status, ...values, normalised(comparable(text))].join("\n") };
  };
  const ask = async (asked: Asked, role: string): Promise<string> => {
    const first = await askOne(asked, role);
    const more = (await asked.more?.(first.text, (next) => askOne(next, role))) ?? [];
    return [first, ...more].map(({ told }) => told).join("\n");
  };
  /** All answers, and the work that they took together. */
  const askAll = async (all: readonly Asked[], role: string) => {
    const before = await workOf(daemon, admin);
    const answers: string[] = [];
    for (const asked of all) answers.push(await ask(asked, role));
    return { answers, work: added(before, await workOf(daemon, admin)) };
  };
  // What the former member has stored.
  const kept = byOthersIds(formerThings).filter(({ mustNotAct }) => mustNotAct !== true);
  for (const asked of kept) {
    const { text } = await askOne(asked, "former member");
    t.notMatch(text, /closed\/core|secret\.txt/, `${asked.path} ${asked.body ?? ""}`);
  }
  for (const path of jobFiles(formerThings.job))
    t.equal((await fetch(`${daemon.url}${path}`, { headers: former })).status, 410, path);
  const stored = await storeThings(t, daemon, withToken(tokens.get("bob")));
  const absentThings = changedIds(stored);
  const questions = [...matrix(hiddenName, 2), ...byOthersIds(stored)];
  await checkColumns(t, daemon, questions);
  const absentQuestions = [...matrix(absentName, missingNumber), ...byOthersIds(absentThings)];
  const surfaces = [...new Set(questions.map(({ surface }) => surface))];
  const others = ["anonymous", "sudo as a user", "member"];
  /** In `make test` the former member asks everything, and of each surface one of the others the first question. */
  const isFirstOf =
    (role: string) =>
    ({ surface }: Asked, i: number): boolean =>
      surfaces.indexOf(surface) % others.length === others.indexOf(role) &&
      questions.findIndex((other) => other.surface === surface) === i;
  const untold = new Map<Asked, string>();
  for (const role of chosen(Object.keys(roles), "former member", ...others)) {
    const isAsked = isFull || role === "former member" ? () => true : isFirstOf(role);
    const ofHidden = questions.filter(isAsked);
    if (["member", "admin", "sudo as a member"].includes(role)) {
      let toldCount = 0;
      for (const asked of ofHidden)
        if (asked.mustNotAct !== true && (await ask(asked, role)) !== untold.get(asked)) toldCount++;
      t.ok(toldCount > ofHidden.length / 3, `${role}: ${toldCount} answers of ${ofHidden.length} tell that it exists`);
      continue;
    }
    const ofAbsent = absentQuestions.filter((_, i) => isAsked(questions[i], i));
    const hidden = await askAll(ofHidden, role);
    const askAbsent = () => askAll(ofAbsent, role);
    const absent = await askAbsent();
    // Those of the first time: a question that must be refused may have changed something.
    for (const [i, asked] of ofHidden.entries()) {
      untold.set(asked, hidden.answers[i]);
      if (hidden.answers[i] !== absent.answers[i])
        t.equal(hidden.answers[i], absent.answers[i], `${role}: ${asked.surface}: ${asked.path} ${asked.body ?? ""}`);
    }
    t.equal(hidden.answers.length, ofHidden.length, `${role}: no answer tells whether it exists`);
    let [work, absentWork] = [hidden.work, absent.work];
    // Shards that are merged in the meantime take less work: what does not exist is asked again, to know that.
    while (!isDeepStrictEqual(work, absentWork)) {
      const again = await askAbsent();
      const isSettled = isDeepStrictEqual(again.work, absentWork);
      absentWork = again.work;
      ({ work } = await askAll(ofHidden, role));
      if (isSettled) break;
    }
    t.same(work, absentWork, `${role}: nor does the work that they take`);
    t.ok(Object.keys(work).length > 2);
  }
}

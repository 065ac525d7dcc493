/** Code hosts: small servers answer as they do. */
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { createMetrics } from "../../../src/base/metrics.js";
import { proxyFor } from "../../../src/base/proxies.js";
import { findRateLimit } from "../../../src/base/rate-limit.js";
import { apiKinds } from "../../../src/codehost/api-kinds.js";
import { listHost } from "../../../src/codehost/api-listing.js";
import type { ApiConnection as Api } from "../../../src/codehost/connection.js";
import { Connections, type ConnectionStatus } from "../../../src/codehost/connections.js";
import { listFolder } from "../../../src/codehost/folder-listing.js";
import { listUrls } from "../../../src/codehost/repository-list.js";
import { selectRepositories } from "../../../src/codehost/selection.js";
import { resolveOptions } from "../../../src/daemon/config/config.js";
import { checkRepository } from "../../../src/daemon/config/file-repositories.js";
import { parseLastResponse } from "../../../src/git/mirror/http-trace.js";
import { RemoteRules } from "../../../src/git/mirror/remote-rules.js";
import { parseRemoteUrl } from "../../../src/git/run/remote-url.js";
import type { RepositoryConfig } from "../../../src/model/repository.js";
import { chooseByName } from "../../../src/sync/repositories/shared-names.js";
import { makeCertificate } from "../../support/certificate.js";
import { type Answer, codeHost as host, connection } from "../../support/code-host.js";
import { runCommand, textsOnly, type DaemonProcess } from "../../support/daemon.js";
import { isFull } from "../../support/full-run.js";
import { GitFixture } from "../../support/git-fixture.js";
import { GraphqlSite } from "../../support/graphql-site.js";
import { type Answer as RemoteAnswer, serveHttp } from "../../support/http-remote.js";
import { configure, restartSharedDaemon, sharedDaemon } from "../../support/shared-daemon.js";
import { until, waitMsMax } from "../../support/waiting.js";

const never = new AbortController().signal;

t.test("pages of GitHub, GitLab and Gitea", async (t) => {
  const item = (kind: string, name: string) =>
    kind === "gitlab"
      ? {
          path_with_namespace: `acme/${name}`,
          http_url_to_repo: `https://h/acme/${name}.git`,
          ssh_url_to_repo: `git@h:acme/${name}.git`,
          visibility: name === "r1" ? "public" : "internal",
          star_count: 3,
          archived: true,
          forked_from_project: { id: 1 },
          topics: ["go"],
        }
      : {
          full_name: `acme/${name}`,
          clone_url: `https://h/acme/${name}.git`,
          ssh_url: `git@h:acme/${name}.git`,
          private: name !== "r1",
          ...(kind === "github"
            ? { visibility: name === "r1" ? "public" : "private" }
            : { internal: false, owner: { login: "acme", visibility: "public" } }),
          [kind === "github" ? "stargazers_count" : "stars_count"]: 3,
          archived: true,
          fork: true,
          topics: ["go"],
          description: null,
        };
  const rows = [
    ["github", "/orgs/acme/repos", "authorization", "Bearer secret"],
    ["gitlab", "/api/v4/groups/acme/projects", "private-token", "secret"],
    ["gitea", "/api/v1/orgs/acme/repos", "authorization", "token secret"],
  ] as const;
  for (const [kind, path, header, value] of rows) {
    // The host has smaller pages than requested: the `Link` header decides.
    const { url, requests } = await host(t, ({ pathname, searchParams }) => {
      const page = Number(searchParams.get("page"));
      if (pathname !== path) return { status: 404, body: { message: "Not Found" } };
      const link = page < 3 ? '<http://elsewhere/?page=2>; rel="next"' : '<http://elsewhere/?page=1>; rel="first"';
      return { headers: { link }, body: [item(kind, `r${page}`)] };
    });
    const { repositories: listed } = await listHost(connection({ kind, url }), "secret", never);
    t.same(
      listed.map(({ name }) => name),
      ["acme/r1", "acme/r2", "acme/r3"],
      kind,
    );
    const shared = { fork: true, archived: true, stars: 3, topics: ["go"], description: "" };
    t.match(listed[0], { ...shared, private: false, url: "https://h/acme/r1.git", sshUrl: "git@h:acme/r1.git" }, kind);
    t.equal(listed[1]?.private, true, kind);
    t.equal(requests.length, 3);
    t.equal(requests[0]?.headers[header], value);
  }
});

t.test("a repository is public only if every field that can say otherwise says so", async (t) => {
  const open = {
    github: { private: false, visibility: "public" },
    gitlab: { visibility: "public", repository_access_level: "enabled" },
    gitea: { private: false, internal: false, owner: { login: "acme", visibility: "public" } },
  };
  const place = { apiUrl: new URL("https://h/"), hasToken: true };
  const rows: readonly (readonly [kind: keyof typeof open, changes: object, isPrivate: boolean])[] = [
    ["github", {}, false],
    ["github", { private: true, visibility: "private" }, true],
    ["github", { private: true }, true],
    ["github", { visibility: "internal" }, true],
    ["github", { visibility: "secret" }, true],
    ["github", { visibility: undefined }, true],
    ["github", { private: undefined }, true],
    ["github", { private: null }, true],
    ["github", { private: "false" }, true],
    ["github", { private: 0 }, true],
    ["gitlab", {}, false],
    ["gitlab", { repository_access_level: undefined }, false],
    ["gitlab", { visibility: "internal" }, true],
    ["gitlab", { visibility: "private" }, true],
    ["gitlab", { visibility: undefined }, true],
    ["gitlab", { visibility: "PUBLIC " }, true],
    ["gitlab", { repository_access_level: "private" }, true],
    ["gitlab", { repository_access_level: "disabled" }, true],
    ["gitlab", { repository_access_level: null }, true],
    ["gitea", {}, false],
    ["gitea", { owner: { login: "acme", visibility: "private" } }, true],
    ["gitea", { owner: { login: "acme", visibility: "limited" } }, true],
    ["gitea", { owner: { login: "acme" } }, true],
    ["gitea", { owner: null }, true],
    ["gitea", { owner: "public" }, true],
    ["gitea", { owner: undefined }, true],
    ["gitea", { internal: true }, true],
    ["gitea", { internal: undefined }, true],
    ["gitea", { private: true }, true],
    ["gitea", { private: undefined }, true],
    ["gitea", { private: undefined, visibility: "public" }, true],
  ];
  for (const [kind, changes, isPrivate] of rows)
    t.equal(
      apiKinds[kind].read({ ...open[kind], ...changes }, place)?.private,
      isPrivate,
      `${kind} ${JSON.stringify(changes)}`,
    );
  const folder = t.testdir({
    list: [{}, { private: false }, { private: true }, { private: "yes" }, { private: null }, { private: 1 }]
      .map((item, i) => JSON.stringify({ name: `r${i}`, url: "https://h/x", ...item }))
      .join("\n"),
  });
  const { repositories: listed } = await listUrls(
    { ...connection({ url: join(folder, "list") }), kind: "list" },
    "",
    never,
  );
  t.same(
    listed.map((one) => one.private),
    [false, false, true, true, true, true],
    "a list",
  );
});

t.test("a user instead of an organization, and the token's own repositories", async (t) => {
  const { url, requests } = await host(t, ({ pathname }) =>
    pathname.startsWith("/orgs/") ? { status: 404 } : { body: [{ full_name: "ann/x", clone_url: "https://h/x" }] },
  );
  t.equal((await listHost(connection({ url, owners: ["a/b?"] }), "", never)).repositories.length, 1);
  t.same(
    requests.map((request) => `${request.url.pathname} ${request.url.searchParams.get("page")}`),
    ["/orgs/a%2Fb%3F/repos 1", "/users/a%2Fb%3F/repos 1", "/users/a%2Fb%3F/repos 2"],
  );
  t.equal((await listHost(connection({ url, owners: [] }), "", never)).repositories.length, 1);
  t.equal(requests.at(-1)?.url.pathname, "/user/repos");
});

t.test("what a host may do wrong", async (t) => {
  const rows: readonly (readonly [name: string, answer: Answer, message: RegExp])[] = [
    [
      "limits",
      { status: 403, headers: { "x-ratelimit-remaining": "0", "retry-after": "7" } },
      /allows no more requests for 7 s/,
    ],
    ["too many requests", { status: 429 }, /for 60 s/],
    ["a wait of years", { status: 429, headers: { "retry-after": "999999999" } }, /for 3600 s/],
    [
      "a date",
      { status: 429, headers: { "retry-after": new Date(Date.now() + 600_000).toUTCString() } },
      /for (?:5[5-9][0-9]|600) s/,
    ],
    ["a date that is over", { status: 503, headers: { "retry-after": "Wed, 21 Oct 2015 07:28:00 GMT" } }, /for 1 s/],
    ["no date", { status: 429, headers: { "retry-after": "soon" } }, /for 60 s/],
    [
      "a secondary rate limit",
      { status: 403, body: { message: "You have exceeded a secondary rate limit. Please wait." } },
      /for 60 s \(its secondary rate limit/,
    ],
    [
      "a secondary rate limit with a wait",
      { status: 429, headers: { "retry-after": "90" }, body: "secondary rate limit" },
      /for 90 s \(its secondary/,
    ],
    ["a wrong token", { status: 401, body: "no" }, /check the token/],
    ["a redirect", { status: 301, headers: { location: "http://x/" } }, /redirects to http:\/\/x\//],
    ["no JSON", { body: "<html>" }, /sent no JSON/],
    ["no list", { body: { a: 1 } }, /sent no list/],
    ["an endless list", { headers: { link: 'rel="next"' }, body: [1, {}, {}] }, /more than 1000/],
    ["an endless body", { body: " ".repeat(17 * 1024 * 1024) }, /sent more than/],
    ["no such owner", { status: 404 }, /answered 404/],
  ];
  for (const [name, answer, message] of rows) {
    const { url } = await host(t, () =>
      name === "an endless list" ? { ...answer, body: Array.from({ length: 300 }, () => ({})) } : answer,
    );
    await t.rejects(listHost(connection({ url }), "", never), { message }, name);
  }
  const stop = AbortSignal.abort();
  await t.rejects(listHost(connection({ url: "http://127.0.0.1:1" }), "", stop), { code: "git" });
});

/** Sets variables of the environment until the end of the test. */
function setEnvironment(t: Test, variables: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(variables)) {
    const before = process.env[name];
    process.env[name] = value;
    t.teardown(() => {
      if (before === undefined) delete process.env[name];
      else process.env[name] = before;
    });
  }
}

t.test("which proxy a URL is read through", async (t) => {
  const rows: readonly (readonly [url: string, environment: Record<string, string>, proxy: string | undefined])[] = [
    ["https://h/", {}, undefined],
    ["https://h/", { https_proxy: "http://p:1" }, "http://p:1"],
    ["https://h/", { HTTPS_PROXY: "p:1" }, "http://p:1"],
    ["https://h/", { http_proxy: "http://p:1" }, undefined],
    ["http://h/", { HTTP_PROXY: "http://p:1" }, undefined],
    ["http://h/", { http_proxy: "http://p:1", all_proxy: "http://q" }, "http://p:1"],
    ["http://h/", { ALL_PROXY: "socks5://q" }, "socks5://q"],
    ["https://h/", { https_proxy: "", all_proxy: "http://q" }, "http://q"],
    ...(
      [
        ["https://a.corp/", "corp", true],
        ["https://a.corp/", ".corp", true],
        ["https://a.corp/", "*.corp", true],
        ["https://a.corp/", "x, a.corp", true],
        ["https://a.corp/", "A.CORP", true],
        ["https://a.corp/", "orp", false],
        ["https://corp/", ".corp", true],
        ["https://acorp/", "corp", false],
        ["https://a.corp/", "*", true],
        ["https://a.corp/", "a.corp:443", true],
        ["https://a.corp/", "a.corp:8443", false],
        ["https://a.corp:8443/", "a.corp:8443", true],
        ["https://10.1.2.3/", "10.1.2.3", true],
        ["https://10.1.2.3/", "10.1.0.0/16", true],
        ["https://10.2.2.3/", "10.1.0.0/16", false],
        ["https://10.1.2.3/", "10.1.0.0/99", false],
        ["https://[::1]/", "[::1]", true],
        ["https://[fd00::5]/", "fd00::/8", true],
        ["https://a.corp/", "", false],
      ] as const
    ).map(
      ([url, no_proxy, isExcepted]) =>
        [url, { https_proxy: "http://p", no_proxy }, isExcepted ? undefined : "http://p"] as const,
    ),
  ];
  for (const [url, environment, proxy] of rows)
    t.equal(proxyFor(new URL(url), environment), proxy, `${url} ${JSON.stringify(environment)}`);
});

t.test("lists are read through proxies, with the authorities that git trusts", async (t) => {
  const seen: string[] = [];
  const proxy = createServer((request, response) => {
    seen.push(request.url ?? "");
    response.end(JSON.stringify(request.url?.includes("page=1") ? lettersOf("p") : []));
  });
  const { key, certificate } = makeCertificate(t.testdir(), "DNS:git.corp");
  const secure = createSecureServer(
    { key: readFileSync(key), cert: readFileSync(certificate) },
    (request, response) => {
      response.end(JSON.stringify(request.url?.includes("page=1") ? lettersOf("s") : []));
    },
  );
  for (const server of [proxy, secure]) {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    t.teardown(() => {
      server.closeAllConnections();
      server.close();
    });
  }
  proxy.on("connect", (request, socket) => {
    seen.push(`CONNECT ${request.url}`);
    const inner = connect((secure.address() as AddressInfo).port, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      inner.pipe(socket).pipe(inner);
    });
    for (const one of [inner, socket]) one.on("error", () => undefined);
    t.teardown(() => {
      inner.destroy();
      socket.destroy();
    });
  });
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  setEnvironment(t, { http_proxy: url, https_proxy: url, no_proxy: "direct.corp,127.0.0.1" });
  const names = async (base: string) =>
    (await listHost(connection({ url: base }), "", never)).repositories.map(({ name }) => name).join();
  t.equal(await names("http://git.corp/api/v3"), "a/p");
  t.match(seen[0], /^http:\/\/git\.corp\/api\/v3\/orgs\/acme\/repos\?/, "the proxy resolves the name");
  await t.rejects(names("https://git.corp/api/v3"), { message: /certificate.*GIT_SSL_CAINFO/ });
  setEnvironment(t, { GIT_SSL_CAINFO: certificate });
  t.equal(await names("https://git.corp/api/v3"), "a/s");
  t.ok(seen.includes("CONNECT git.corp:443"));
  const direct = await host(t, ({ searchParams }) => ({
    body: searchParams.get("page") === "1" ? lettersOf("d") : [],
  }));
  const count = seen.length;
  t.equal(await names(direct.url), "a/d");
  t.equal(seen.length, count, "no_proxy");
  setEnvironment(t, { GIT_SSL_CAINFO: "/nonexistent/authorities" });
  await t.rejects(names("https://git.corp/api/v3"), { message: /\/nonexistent\/authorities/ });
  setEnvironment(t, { http_proxy: "ftp://p:1" });
  await t.rejects(names("http://git.corp/"), { code: "bad-config", message: /only http and https/ });
});

t.test("which repositories are selected, and where the token may be sent", async (t) => {
  const one = {
    name: "acme/app",
    url: "https://github.com/acme/app.git",
    sshUrl: "git@github.com:acme/app.git",
    ...{
      fork: false,
      archived: false,
      private: true,
      stars: -5,
      description: "x".repeat(2000),
      topics: [],
      workTree: "",
    },
  };
  const select = (changes: Partial<Api>, ...listed: Partial<typeof one>[]) =>
    selectRepositories(
      connection(changes),
      listed.map((other) => ({ ...one, ...other })),
      async (repository) => checkRepository(repository),
    );
  const { repositories } = await select({ credential: "file:/token", readers: ["devs"] }, {});
  t.match(repositories, [
    { name: "host/acme/app", credential: "file:/token", private: true, readers: ["devs"], stars: 0 },
  ]);
  t.equal(repositories[0]?.description.length, 1000);
  const credentialOf = async (url: string) =>
    (await select({ credential: "file:/token" }, { url })).repositories[0]?.credential;
  t.equal(await credentialOf("https://api.github.com/x"), "file:/token");
  for (const url of ["https://evil/x", "http://github.com/x", "https://github.com:444/x", "https://xgithub.com/x"])
    t.equal(await credentialOf(url), "", url);
  t.equal((await select({ ssh: true }, {})).repositories[0]?.url, "git@github.com:acme/app.git");
  const names = async (changes: Partial<Api>) => {
    const listed = [{ name: "a/x" }, { name: "a/y", fork: true }, { name: "b/x", archived: true }];
    return (await select(changes, ...listed)).repositories.map(({ name }) => name);
  };
  t.same(await names({ include: ["^a/"] }), ["host/a/x", "host/a/y"]);
  t.same(await names({ exclude: ["x$"] }), ["host/a/y"]);
  t.same(await names({ forks: false, archived: false }), ["host/a/x"]);
  const bad = await select(
    {},
    { name: "../x" },
    { name: "ok", url: "ext::sh -c x" },
    { name: "a b" },
    { name: "fine" },
  );
  t.same(
    bad.repositories.map(({ name }) => name),
    ["host/fine"],
  );
  t.equal(bad.problems.length, 3, bad.problems.join("\n"));
});

t.test("a folder of repositories", async (t) => {
  const folder = t.testdir({
    a: { "bare.git": { HEAD: "", objects: {} }, work: { ".git": {}, inner: { ".git": {} } } },
    data: { mirrors: { "1.git": { HEAD: "", objects: {} } } },
    empty: {},
    link: t.fixture("symlink", "a"),
  });
  const config = { ...connection({ url: folder }), kind: "folder" as const };
  const listed = await listFolder(config, join(folder, "data"), never);
  t.same(
    listed.repositories.map(({ name, url }) => [name, url]),
    [
      ["a/bare", join(folder, "a/bare.git")],
      ["a/work", join(folder, "a/work")],
    ],
    "without the data directory",
  );
  t.same(listed.problems, []);
  await t.rejects(listFolder({ ...config, url: join(folder, "none") }, "/nonexistent", never), {
    message: /cannot be read/,
  });
});

/** Runs `work` as an account that permissions apply to. */
async function unprivileged<T>(work: () => Promise<T>): Promise<T> {
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(65_534);
  try {
    return await work();
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}

t.test("what is in a folder that cannot be read stays", async (t) => {
  const root = mkdtempSync(join(tmpdir(), "trawl-folder-"));
  const [folder, state] = [join(root, "git"), join(root, "state")];
  t.teardown(() => {
    for (const name of ["a", "b/two.git"]) chmodSync(join(folder, name), 0o755);
    rmSync(root, { recursive: true });
  });
  mkdirSync(state);
  for (const [path, mode] of [
    [root, 0o755],
    [state, 0o777],
  ] as const)
    chmodSync(path, mode);
  for (const name of ["a/one", "b/two", "c/three", "c/four"])
    mkdirSync(join(folder, `${name}.git/objects`), { recursive: true });
  for (const name of ["a/one", "b/two", "c/three", "c/four"]) writeFileSync(join(folder, `${name}.git/HEAD`), "");
  const connections = testConnections(state);
  await connections.configure([{ ...connection({ url: folder, prefix: "" }), kind: "folder" }]);
  await unprivileged(() => connections.list("acme", false));
  const names = () =>
    connections
      .repositories()
      .map(({ name }) => name)
      .sort()
      .join();
  t.equal(names(), "a/one,b/two,c/four,c/three");
  // The folder itself, and a repository that can be listed but not entered.
  chmodSync(join(folder, "a"), 0);
  chmodSync(join(folder, "b/two.git"), 0o444);
  rmSync(join(folder, "c/four.git"), { recursive: true });
  for (let i = 0; i < 3; i++) {
    await t.rejects(
      unprivileged(() => connections.list("acme", false)),
      { message: /folder .*a cannot be read: EACCES/ },
    );
    t.equal(names(), i === 0 ? "a/one,b/two,c/four,c/three" : "a/one,b/two,c/three", `listing ${i + 1}`);
  }
  chmodSync(join(folder, "a"), 0o755);
  chmodSync(join(folder, "b/two.git"), 0o755);
  t.match(await unprivileged(() => connections.list("acme", false)), { repositoryCount: 3, error: "" });
});

function testConnections(
  folder: string,
  apply: (connection: string) => Promise<void> = async () => undefined,
  known: readonly RepositoryConfig[] = [],
): Connections {
  const rules = new RemoteRules(join(folder, "data"), []);
  return new Connections({
    folder,
    dataFolder: join(folder, "data"),
    log: { warn: () => undefined } as never,
    metrics: createMetrics().metrics,
    check: async (repository) => {
      checkRepository(repository);
      await rules.require(parseRemoteUrl(repository.url), repository.source);
    },
    known: () => known,
    leftOut: () => [],
    findLinked: () => undefined,
    applyReaders: async () => [],
    apply,
  });
}

/** Items of a host named by letters. */
const lettersOf = (letters: string) =>
  [...letters].map((letter) => ({ id: letter, full_name: `a/${letter}`, clone_url: "https://h/x" }));

t.test("a list is kept while its host fails, and across a start", async (t) => {
  let answer: Answer = { body: [{ full_name: "a/x", clone_url: "https://h/x" }] };
  const { url } = await host(t, () => answer);
  const folder = t.testdir();
  let applied = 0;
  const create = () =>
    testConnections(folder, async () => {
      applied++;
    });
  const first = create();
  await first.configure([connection({ url })]);
  t.match(await first.list("acme", false), { repositoryCount: 1, error: "" });
  answer = { status: 500, body: "broken" };
  await t.rejects(first.list("acme", false), { message: /answered 500: broken/ });
  t.match(first.statuses(), [{ repositoryCount: 1, error: /500/ }]);
  await t.rejects(first.list("other", false), { code: "not-found" });
  await first.close();
  const second = create();
  await second.configure([connection({ url })]);
  t.match(second.repositories(), [{ name: "host/a/x" }], "stored");
  t.equal(applied, 1);
  await second.close();
  writeFileSync(join(folder, "acme.json"), '[{"name":"host/a/x","url":"/srv/x"}]');
  const third = create();
  await third.configure([connection({ url })]);
  t.match(third.repositories(), [{ name: "host/a/x", source: { connection: "acme", hosts: ["127.0.0.1", "h"] } }]);
  writeFileSync(join(folder, "acme.json"), "damaged");
  const fourth = testConnections(folder, async () => undefined, second.repositories());
  await fourth.configure([connection({ url })]);
  t.match(fourth.repositories(), [{ name: "host/a/x" }], "a damaged list is that of the catalog");
  answer = { body: [] };
  await t.rejects(fourth.list("acme", false), { message: /would remove 1 of 1/ });
});

t.test("pages are read until a stable end", async (t) => {
  interface Page {
    readonly letters: string;
    readonly total?: number;
    readonly link?: string;
  }
  const next = '<x?page=9>; rel="next"';
  const last = '<x?page=1>; rel="first"';
  const rows: readonly (readonly [
    name: string,
    reads: readonly (readonly Page[])[],
    found: string,
    problem: RegExp | "",
  ])[] = [
    ["a cap without Link", [[{ letters: "ab" }, { letters: "cd" }, { letters: "e" }, { letters: "" }]], "abcde", ""],
    [
      "a cap and a total",
      [
        [
          { letters: "ab", total: 3 },
          { letters: "c", total: 3 },
        ],
      ],
      "abc",
      "",
    ],
    ["the same page for ever", [[{ letters: "abc" }, { letters: "abc" }]], "abc", ""],
    [
      "Link",
      [
        [
          { letters: "ab", link: next },
          { letters: "c", link: last },
        ],
      ],
      "abc",
      "",
    ],
    [
      "an empty page before the end",
      [
        [
          { letters: "a", link: next },
          { letters: "", link: next },
          { letters: "b", link: last },
        ],
      ],
      "ab",
      "",
    ],
    [
      "Link without quotes",
      [
        [
          { letters: "a", link: "<x>; rel=next" },
          { letters: "b", link: last },
        ],
      ],
      "ab",
      "",
    ],
    [
      "a deletion while pages are read",
      [
        [
          { letters: "ab", total: 5 },
          { letters: "de", total: 4 },
          { letters: "", total: 4 },
        ],
        [
          { letters: "bc", total: 4 },
          { letters: "de", total: 4 },
        ],
      ],
      "bcde",
      "",
    ],
    [
      "an addition while pages are read",
      [
        [
          { letters: "ab", total: 3 },
          { letters: "bc", total: 4 },
          { letters: "", total: 4 },
        ],
        [
          { letters: "xa", total: 4 },
          { letters: "bc", total: 4 },
        ],
      ],
      "abcx",
      "",
    ],
    [
      "fewer than the total",
      [
        [
          { letters: "ab", total: 4 },
          { letters: "", total: 4 },
        ],
      ],
      "ab",
      /lists 2 of 4 repositories/,
    ],
    ["Link ends early", [[{ letters: "ab", total: 4, link: last }]], "ab", /lists 2 of 4 repositories/],
    [
      "a next page that repeats",
      [
        [
          { letters: "ab", link: next },
          { letters: "ab", link: next },
        ],
      ],
      "ab",
      /changes while/,
    ],
    [
      "never the same",
      [1, 2, 3].map((i) => [
        { letters: "ab", total: i + 2 },
        { letters: "c", total: 2 },
      ]),
      "abc",
      /changes while/,
    ],
  ];
  for (const [name, reads, found, problem] of rows) {
    for (const header of ["x-total-count", "x-total"]) {
      let read = -1;
      const { url } = await host(t, ({ searchParams }) => {
        const page = Number(searchParams.get("page"));
        if (page === 1) read = Math.min(read + 1, reads.length - 1);
        const { letters, total, link } = reads[read]?.[page - 1] ?? { letters: "" };
        const headers = { ...(total === undefined ? {} : { [header]: String(total) }), ...(link ? { link } : {}) };
        return { headers, body: lettersOf(letters) };
      });
      const { repositories, problems, mayHave } = await listHost(connection({ url }), "", never);
      t.equal(
        repositories
          .map((one) => one.name.slice(2))
          .sort()
          .join(""),
        found,
        name,
      );
      t.match(problems.join(), problem === "" ? /^$/ : problem, name);
      t.equal(mayHave("https://h/x"), problem !== "", name);
    }
  }
});

t.test("living repositories are not hidden by a list that lacks them", async (t) => {
  let letters = "abcdef";
  let total = "";
  const { url } = await host(t, ({ searchParams }) => ({
    ...(total === "" ? {} : { headers: { "x-total-count": total } }),
    body: searchParams.get("page") === "1" ? lettersOf(letters) : [],
  }));
  const folder = t.testdir();
  let connections = testConnections(folder);
  const config = connection({ url, prefix: "" });
  const other = { ...config, name: "other", prefix: "o/" };
  await connections.configure([config, other]);
  const names = (one = connections) =>
    one
      .repositories()
      .map(({ name }) => name.slice(2))
      .join("");
  await connections.list("acme", false);
  t.equal(names(), "abcdef");

  letters = "";
  for (let i = 0; i < 3; i++) await t.rejects(connections.list("acme", false), { message: /would remove 6 of 6/ });
  letters = "ab";
  await t.rejects(connections.list("acme", false), {
    message: /would remove 4 of 6 .*trawl connection sync acme --yes/,
  });
  t.equal(names(), "abcdef", "most of a list is missing, however often");

  letters = "abcde";
  t.match(await connections.list("acme", false), { repositoryCount: 6, missingCount: 1 });
  t.equal(names(), "abcdef", "absent for the first time");
  letters = "abcdef";
  t.match(await connections.list("acme", false), { missingCount: 0 });
  letters = "abcde";
  await connections.list("acme", false);
  t.equal(names(), "abcdef", "absent for the first time again");
  await connections.close();
  connections = testConnections(folder);
  await connections.configure([config]);
  await connections.list("acme", false);
  t.equal(names(), "abcde", "absent from two whole lists, with a start between them");

  total = "5";
  letters = "abc";
  for (let i = 0; i < 3; i++) await t.rejects(connections.list("acme", false), { message: /lists 3 of 5/ });
  t.equal(names(), "abcde", "a list that is not whole removes nothing");
  letters = "abcx";
  await t.rejects(connections.list("acme", false), { message: /lists 4 of 5/ });
  t.equal(names(), "abcxde", "but adds");
  total = "";
  letters = "";
  await connections.list("acme", true);
  t.equal(names(), "", "confirmed");
  await connections.close();
});

t.test("a connection that hangs delays no other, and one that was changed is not applied", async (t) => {
  const waiting: (() => void)[] = [];
  const server = createServer((_, response) => {
    waiting.push(() => response.end(JSON.stringify(lettersOf("z"))));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  const hanging = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { url } = await host(t, () => ({ body: lettersOf("ab") }));
  const connections = testConnections(t.testdir());
  const slow = { ...connection({ url: hanging }), name: "slow" };
  await connections.configure([slow, connection({ url })]);
  const first = connections.list("slow", false);
  t.match(await connections.list("acme", false), { repositoryCount: 2 });
  await connections.configure([{ ...slow, forks: false }, connection({ url })]);
  for (let i = 0; i < 2; i++) {
    await until("it is asked", async () => waiting.length > 0);
    waiting.shift()?.();
  }
  await t.rejects(first, { message: /was changed while it was listed/ });
  t.equal(connections.repositories().length, 2);
  await connections.close();
});

/** A look at a daemon takes it as long as some of what is awaited. */
const awaitDaemon = (what: string, holds: () => Promise<boolean>): Promise<void> => until(what, holds, waitMsMax, 200);

/** Of the daemon that the tests share. */
const options = [
  ...textsOnly,
  ...["git.followRedirects=true", "sync.intervalSeconds=86400", "sync.maxIntervalSeconds=86400"].flatMap((option) => [
    "--set",
    option,
  ]),
];

/** Lists a connection now; returns why that failed, or "". */
async function listNow(daemon: DaemonProcess, name: string, mayRemoveMost = false): Promise<string> {
  const listed = daemon.control("POST", `/.api/connections/${name}/sync`, { mayRemoveMost });
  return await listed.then(
    () => "",
    (error: unknown) => (error as Error).message,
  );
}

/** The warnings of all connections, each on a line with the name of its connection. */
async function warningsIn(daemon: DaemonProcess): Promise<string> {
  const statuses = (await daemon.control("GET", "/.api/connections")) as readonly ConnectionStatus[];
  return statuses.flatMap(({ name, warnings }) => warnings.map((warning) => `${name}: ${warning}\n`)).join("");
}

t.test("a host that limits requests is not asked until then, and delays no other", async (t) => {
  const fixture = GitFixture.create();
  t.teardown(() => fixture.remove());
  fixture.commit({ branch: "main", files: { "a.txt": "alpha\n" } });
  let refuse: RemoteAnswer | undefined;
  let requestCount = 0;
  const limited = await serveHttp(t, fixture, undefined, () => {
    requestCount++;
    return refuse;
  });
  const open = await serveHttp(t, fixture);
  const [host, url, other] = [
    `127.0.0.1:${limited}`,
    `http://ada:s3cret@127.0.0.1:${limited}/`,
    `http://ada:s3cret@127.0.0.1:${open}/`,
  ];
  const daemon = await sharedDaemon(t, {}, options);
  for (const name of ["a", "b"]) await daemon.add(name, url);
  await daemon.add("other", other);
  const answer =
    (status: number, headers: Readonly<Record<string, string>>, body = ""): RemoteAnswer =>
    (_, response) =>
      response.writeHead(status, { "Content-Type": "text/plain", ...headers }).end(body);

  refuse = answer(429, { "Retry-After": "1" });
  await t.rejects(daemon.sync("a"), { message: new RegExp(`${host} allows no more requests for 1 s`) });
  refuse = undefined;
  fixture.commit({ branch: "main", files: { "b.txt": "beta\n" } });
  await awaitDaemon("it is fetched when the wait is over", async () =>
    (await daemon.search("beta")).found.includes("a:b.txt:1"),
  );

  const later = new Date(new Date().getTime() + 3_000_000).toUTCString();
  refuse = answer(503, { "Retry-After": later });
  await t.rejects(daemon.sync("a"), { message: /allows no more requests for (29|30)[0-9]{2} s/ });
  const before = requestCount;
  await t.rejects(daemon.sync("b"), { message: /allows no more requests until .*Z: the repository is synced then/ });
  await t.rejects(daemon.sync("a"), { message: /allows no more requests until/ });
  t.equal(requestCount, before, "its other repositories wait");
  fixture.commit({ branch: "main", files: { "c.txt": "gamma\n" } });
  await daemon.sync("other");
  t.same((await daemon.search("gamma")).found, ["other:c.txt:1"], "other hosts go on");
  const listed = (await runCommand("repo", "list", "--data", daemon.data)).out;
  t.match(listed, new RegExp(`^b .*waiting: ${host} allows no more requests until`, "m"));
  t.notMatch(listed, /s3cret/);
  t.notMatch(JSON.stringify(await daemon.wholeLog()), /s3cret|YWRhOnMzY3JldA/);
});

interface Forge {
  readonly connections: readonly object[];
  readonly port: number;
  /** What the host lists, by name. */
  readonly urls: Map<string, string>;
  readonly fixture: GitFixture;
  /** The file with the list of the other connection. */
  readonly list: string;
}

/** A host whose repositories have the prefix `f/`, and a list whose repositories have the prefix `l/`. */
async function startForge(t: Test, folder: string): Promise<Forge> {
  const fixture = GitFixture.create();
  t.teardown(() => fixture.remove());
  fixture.commit({ branch: "main", files: [["a.txt", "alpha\n"]] });
  const urls = new Map<string, string>();
  const items: RemoteAnswer = (_, response) => {
    const isPublic = { private: false, internal: false, owner: { visibility: "public" } };
    const listed = [...urls].map(([name, clone_url]) => ({ full_name: name, clone_url, ...isPublic }));
    response.setHeader("X-Total-Count", String(listed.length));
    response.end(JSON.stringify(listed));
  };
  const redirect: RemoteAnswer = ({ url = "", headers }, response) => {
    const host = url.startsWith("/away/") ? `http://localhost:${headers.host?.split(":")[1]}` : "";
    response
      .writeHead(301, {
        Location: host + url.replace(/^\/(moved|twice|away)\//, url.startsWith("/twice/") ? "/moved/" : "/"),
      })
      .end();
  };
  const port = await serveHttp(t, fixture, undefined, ({ url = "" }) => {
    if (url.startsWith("/api/v1/orgs/acme/repos")) return items;
    return /^\/(moved|twice|away)\//.test(url) ? redirect : undefined;
  });
  const base = `http://127.0.0.1:${port}`;
  urls.set("open", `${base}/`);
  const forge = { name: "forge", kind: "gitea", url: base, owners: ["acme"], prefix: "f/", hosts: [] };
  const list = join(folder, "names");
  writeFileSync(list, `one ${fixture.path}\ntwo ${fixture.path}\nthree ${fixture.path}\n`);
  const connections = [
    { ...forge, credential: `file:${folder}/token` },
    { name: "all", kind: "list", url: list, prefix: "l/", exclude: ["^two$"] },
  ];
  return { connections, port, urls, fixture, list };
}

async function checkRemotes(t: Test, daemon: DaemonProcess, { port, urls, fixture }: Forge): Promise<void> {
  const { data } = daemon;
  const base = `http://127.0.0.1:${port}`;
  const found = async () => (await daemon.search("repo:^f/ alpha")).found.join();
  await awaitDaemon("it is searchable", async () => (await found()) === "f/open:a.txt:1");
  // One that is made right now has another name afterwards.
  const [mirror = ""] = readdirSync(join(data, "mirrors")).filter((name) => name.endsWith(".git"));
  for (const [name, url] of Object.entries({
    path: fixture.path,
    mirror: join(data, "mirrors", mirror),
    file: `file://${fixture.path}`,
    name: `http://localhost:${port}/`,
    number: `http://[::1]:${port}/`,
    ssh: "git@elsewhere.example:acme/x",
    option: "--upload-pack=x",
  }))
    urls.set(name, url);
  const error = await listNow(daemon, "forge");
  for (const reason of [/path: .*it is a path on this machine/, /name: .*put "localhost" in hosts of the connection/])
    t.match(error, reason);
  t.same(
    (await daemon.list()).map(({ name }) => name).filter((name) => name.startsWith("f/")),
    ["f/open"],
  );
  urls.clear();
  urls.set("open", `${base}/`);
  for (const name of ["moved", "twice", "away"]) urls.set(name, `${base}/${name}/`);
  t.equal(await listNow(daemon, "forge"), "");
  await awaitDaemon("its redirect is refused", async () =>
    (await daemon.list()).some(
      ({ name, error }) =>
        name === "f/away" && /redirects to http:\/\/localhost.*not the repository's own host/.test(error),
    ),
  );
  await awaitDaemon(
    "redirects within the host are followed",
    async () => (await found()) === "f/moved:a.txt:1,f/open:a.txt:1,f/twice:a.txt:1",
  );
  const message = /may not be fetched: it is in the data directory/;
  await t.rejects(daemon.add("again", join(data, "mirrors", mirror)), { message }, "nor may the operator add a mirror");
}

async function checkList(t: Test, daemon: DaemonProcess, { list, fixture }: Forge): Promise<void> {
  const { data } = daemon;
  const found = async () => (await daemon.search("repo:^l/ alpha")).found.join();
  await awaitDaemon("both are searchable", async () => (await found()) === "l/one:a.txt:1,l/three:a.txt:1");
  writeFileSync(list, `two ${fixture.path}\n`);
  t.match(await listNow(daemon, "all"), /would remove 2 of 2/);
  t.equal(await found(), "l/one:a.txt:1,l/three:a.txt:1");
  t.match((await runCommand("connection", "list", "--data", data)).out, /all {2}list .*2 repositories.*would remove/);
  t.equal((await runCommand("connection", "sync", "all", "--yes", "--data", data)).exitCode, 0);
  t.equal(await found(), "");
}

t.test("connections that are refused", async (t) => {
  const configFile = join(t.testdir(), "trawl.jsonc");
  for (const [wrong, message] of [
    [{ name: "x", kind: "github", url: "https://h" }, /needs owners/],
    [{ name: "x", kind: "folder", url: "https://h" }, /absolute path/],
    [{ name: "x", kind: "list", url: "/l", include: ["("] }, /not a regular expression/],
    [{ name: "x", kind: "gitlub", url: "https://h" }, /kind/],
  ] as const) {
    writeFileSync(configFile, JSON.stringify({ connections: [wrong] }));
    t.throws(() => resolveOptions({ configFile, overrides: [], repositories: [] }), { code: "bad-config", message });
  }
});

t.test(
  "a daemon with connections: one repository has each name, the same after restarts, and the others are told",
  async (t) => {
    const root = t.testdir({ token: "ada:s3cret\n", git: {}, folder: {} });
    // Each has a file of its own, which tells whose text is found under a name.
    const repository = (place: string, file: string): string => {
      const fixture = GitFixture.create();
      t.teardown(() => fixture.remove());
      fixture.commit({ branch: "main", files: { [file]: "alpha\n" } });
      const path = join(root, place);
      cpSync(fixture.path, path, { recursive: true });
      return path;
    };
    for (const [place, file] of [
      ["git/a.git", "acme-a"],
      ["git/hand.git", "acme-hand"],
      ["git/Case.git", "upper"],
      ["git/case.git", "lower"],
      ["folder/x", "plain"],
      ["folder/x.git", "dot-git"],
    ] as const)
      repository(place, file);
    const [more, hand, own] = [
      repository("more", "more-a"),
      repository("hand", "by-hand"),
      repository("own", "of-file"),
    ];
    let names: readonly string[] = ["a", "Case", "case"];
    const items: RemoteAnswer = (request, response) => {
      const isPublic = { private: false, internal: false, owner: { visibility: "public" } };
      const base = `http://${request.headers.host}`;
      response.setHeader("X-Total-Count", String(names.length));
      response.end(
        JSON.stringify(names.map((name) => ({ full_name: name, clone_url: `${base}/${name}.git`, ...isPublic }))),
      );
    };
    const port = await serveHttp(t, { path: join(root, "git") } as GitFixture, undefined, ({ url = "" }) =>
      url.startsWith("/api/v1/orgs/acme/repos") ? items : undefined,
    );
    const acme = {
      name: "acme",
      kind: "gitea",
      url: `http://127.0.0.1:${port}`,
      owners: ["acme"],
      credential: `file:${root}/token`,
      prefix: "",
    };
    const list = { name: "more", kind: "list", url: join(root, "list"), prefix: "" };
    const folder = { name: "local", kind: "folder", url: join(root, "folder"), prefix: "" };
    writeFileSync(list.url, `a ${more}\nonly ${more}\n`);
    const forge = await startForge(t, root);
    const site = await GraphqlSite.start(t, { connections: [acme, list, folder, ...forge.connections] }, options);
    const { data } = site.daemon;
    let daemon = site.daemon;
    await t.test("what a host lists is fetched only from that host", (t) => checkRemotes(t, daemon, forge));
    await t.test("a list", (t) => checkList(t, daemon, forge));
    const found = async (repo = "") =>
      (await daemon.search(`${repo === "" ? "-repo:^[fl]/" : `repo:^${repo}$`} alpha`)).found.join();
    const has = (what: string) =>
      awaitDaemon(`it has ${what}`, async () => (await found()).split(",").includes(`${what}:1`));
    const command = (...args: string[]) => runCommand(...args, "--data", data);
    const sync = async (name: string, mayRemoveMost = false) =>
      t.equal(await listNow(daemon, name, mayRemoveMost), "", `${name} is listed`);
    for (const what of ["a:acme-a", "only:more-a", "x:plain", "Case:upper", "case:lower"]) await has(what);
    t.equal(await found(), "Case:upper:1,a:acme-a:1,case:lower:1,only:more-a:1,x:plain:1");

    await t.test("where it is told", async (t) => {
      const listed = await command("connection", "list");
      t.match(
        listed.out,
        /more {2}list .* 1 repositories .*\n {2}warning: a \(.*more\) is left out: .*connection acme, has this name/,
      );
      t.match(listed.out, /local .*\n {2}warning: x \(.*x\.git\) is left out: .*x, of the same list, has this name\n/);
      const repositories = await command("repo", "list");
      t.match(repositories.out, /^a .*\n {2}warning: connection more lists another repository of this name/m);
      t.match(repositories.out, /^x .*\n {2}warning: connection local lists .*x\.git, which is left out/m);
      t.match(
        repositories.out,
        /^Case .*\n {2}warning: its name differs from that of case in upper and lower case only/m,
      );
      const ready = await fetch(`${daemon.url}/readyz`, {
        headers: { authorization: site.authorization("admin") ?? "" },
      });
      const { repositories: states } = (await ready.json()) as {
        repositories: { name: string; warnings?: string[] }[];
      };
      t.match(states.find(({ name }) => name === "a")?.warnings, [/connection more lists another/]);
      const services = await site.data<{ externalServices: { nodes: { displayName: string; repoCount: number }[] } }>(
        "admin",
        "{ externalServices { nodes { displayName repoCount warning lastSyncError } } }",
      );
      t.match(services.externalServices.nodes.slice(0, 4), [
        {},
        { displayName: "acme", repoCount: 3, warning: null },
        { displayName: "more", repoCount: 1, warning: /^a .* is left out/, lastSyncError: null },
        { displayName: "local", repoCount: 1, warning: /^x .* is left out/ },
      ]);
      const alerts = "{ site { monitoringStatistics { alerts { name } } } }";
      t.match(JSON.stringify(await site.data("admin", alerts)), /connections: more: a .* is left out/);
      const told = async (): Promise<number> =>
        (await daemon.wholeLog()).filter(({ msg }) => /^a .* is left out/.test(String(msg))).length;
      t.equal(await told(), 1);
      await sync("more");
      t.equal(await told(), 1, "once");
    });

    await t.test("a repository that was added by hand keeps its name until it is removed", async (t) => {
      await daemon.add("hand", hand);
      names = [...names, "hand"];
      await sync("acme");
      t.match(await warningsIn(daemon), /^acme: hand \(.*\) is left out: .*, which was added by hand, has/m);
      t.equal(await found("hand"), "hand:by-hand:1");
      await daemon.remove("hand");
      await has("hand:acme-hand");
      t.equal(await found("hand"), "hand:acme-hand:1");
    });

    await t.test("whatever the order of the lists, and after a restart", async (t) => {
      await configure(daemon, { connections: [folder, list, acme] });
      t.equal(await found("a"), "a:acme-a:1");
      daemon = await restartSharedDaemon(daemon, "stop");
      await awaitDaemon("all were listed", async () =>
        ((await daemon.control("GET", "/.api/connections")) as readonly ConnectionStatus[]).every(
          ({ lastListed }) => lastListed !== "",
        ),
      );
      t.equal(await found("a"), "a:acme-a:1");
      t.equal(await found("x"), "x:plain:1");
      t.match(await warningsIn(daemon), /^more: a \(.*more\) is left out/m);

      const gone = async (what: string, connection: string) => {
        const seen = new Set<string>();
        await sync(connection, true);
        await awaitDaemon(`it has ${what}`, async () => {
          seen.add(await found(what.slice(0, 1)));
          return seen.has(`${what}:1`);
        });
        t.same(
          [...seen].filter((one) => one !== "" && one !== `${what}:1`),
          [],
          "nothing of another repository",
        );
      };
      names = ["Case", "case", "hand"];
      await gone("a:more-a", "acme");
      names = ["a", ...names];
      await sync("acme");
      t.match(await warningsIn(daemon), /^acme: a .* is left out: .*connection more/m);
      t.equal(await found("a"), "a:more-a:1", "the one that has the name keeps it");

      rmSync(join(root, "folder/x"), { recursive: true });
      await listNow(daemon, "local");
      t.equal(await found("x"), "x:plain:1", "absent for the first time");
      await gone("x:dot-git", "local");
      t.notMatch(JSON.stringify(await daemon.list()), /connection local lists/);

      await configure(daemon, { connections: [folder, list, acme], repositories: [{ name: "a", url: own }] });
      await has("a:of-file");
      t.equal(await found("a"), "a:of-file:1", "what the operator has written has precedence");
      t.match(await warningsIn(daemon), /^more: a \(.*more\) is left out: .*of the configuration, has/m);
      if (!isFull) return;
      await configure(daemon, { connections: [folder, list, acme] });
      await has("a:more-a");
    });
    // No other file has a daemon with these options: it need not be cleared.
    await daemon.kill();
  },
);

t.test("which answers are limits, and for how long", async (t) => {
  const nowMs = Date.parse("2026-01-01T00:00:00Z");
  const rows: readonly (readonly [
    status: number,
    headers: object,
    text: string,
    waitMs: number | undefined,
    isAsked?: boolean,
  ])[] = [
    [429, {}, "", 60_000, false],
    [429, { "retry-after": "7" }, "", 7_000, true],
    [503, { "retry-after": "Thu, 01 Jan 2026 00:02:00 GMT" }, "", 120_000, true],
    [503, {}, "", undefined],
    [403, {}, "", undefined],
    [403, { "x-ratelimit-remaining": "0", "x-ratelimit-reset": String(nowMs / 1000 + 30) }, "", 30_000, true],
    [403, {}, "remote: You have exceeded a secondary rate limit", 60_000, false],
    [429, { "retry-after": "999999999" }, "", 3_600_000, true],
    [429, { "retry-after": "-1" }, "", 60_000, false],
    [200, { "retry-after": "7" }, "", undefined],
  ];
  for (const [status, headers, text, waitMs, isAsked] of rows) {
    const found = findRateLimit(status, headers as Record<string, string>, text, nowMs);
    t.same([found?.waitMs, found?.isAsked], [waitMs, isAsked], `${status} ${JSON.stringify(headers)}`);
  }
  const trace = [
    "10:00:00 http.c:756 <= Recv header: HTTP/1.1 401 Unauthorized",
    "10:00:00 http.c:756 <= Recv header: Retry-After: 5",
    "10:00:00 http.c:756 => Send header: GET / HTTP/1.1",
    "10:00:01 http.c:756 <= Recv header: HTTP/2 429",
    "10:00:01 http.c:756 <= Recv header: retry-after: 9",
  ].join("\n");
  t.same(parseLastResponse(trace), { status: 429, headers: { "retry-after": "9" } });
  t.same(parseLastResponse(""), { status: 0, headers: {} });
});

t.test("of very many repositories with one name, one is chosen in small steps", (t) => {
  let readCount = 0;
  const all = Array.from({ length: 20_480 }, (_, i): RepositoryConfig => {
    const url = `https://git.example/${i ^ 0x25a}.git`;
    const one = { name: "a", source: { connection: "acme" } } as never as RepositoryConfig;
    const get = (): string => {
      readCount++;
      return url;
    };
    return Object.defineProperty(one, "url", { get });
  });
  const holders = [undefined, "https://git.example/gone.git", "https://git.example/777.git/"].map((url) =>
    url === undefined
      ? undefined
      : { name: "a", url, configured: true, generation: 1, removedAt: "x", source: { connection: "acme" } },
  );
  for (const [i, holder] of holders.entries()) {
    // The steps of one choice among all are enough for a short run.
    const listed = i === 0 || isFull ? all : all.slice(0, 2048);
    const catalog = { repositoryByName: () => holder } as never as Parameters<typeof chooseByName>[0];
    const steps = chooseByName(catalog, listed, new Set());
    let readsMax = 0;
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) {
      readsMax = Math.max(readsMax, readCount);
      readCount = 0;
    }
    const { chosen, leftOut } = step.value;
    t.equal(chosen[0].url, holder?.url.includes("777") ? "https://git.example/777.git" : "https://git.example/0.git");
    t.equal(leftOut.length, listed.length - 1);
    t.ok(readsMax < 45_000, `${readsMax} URLs are looked at in one step`);
  }
  t.end();
});

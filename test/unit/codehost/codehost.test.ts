/** Code hosts: small servers answer as they do. */
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import { apiKinds } from "../../../src/codehost/api-kinds.js";
import { listHost } from "../../../src/codehost/api-listing.js";
import type { ConnectionConfig } from "../../../src/codehost/connection.js";
import { Connections } from "../../../src/codehost/connections.js";
import { listFolder } from "../../../src/codehost/folder-listing.js";
import { listUrls } from "../../../src/codehost/list-listing.js";
import { selectRepositories } from "../../../src/codehost/selection.js";
import { checkRepository } from "../../../src/daemon/config/repositories.js";
import { dataDirectory, runCommand, testDaemon } from "../../support/daemon.js";
import { GitFixture } from "../../support/git-fixture.js";
import { until } from "../../support/waiting.js";

type Api = ConnectionConfig & { readonly kind: "github" | "gitlab" | "gitea" };

function connection(changes: Partial<Api>): Api {
  return {
    name: "acme",
    kind: "github",
    url: "https://api.github.com",
    credential: "",
    owners: ["acme"],
    include: [],
    exclude: [],
    forks: true,
    archived: true,
    ssh: false,
    readers: [],
    prefix: "host/",
    intervalSeconds: 3600,
    maxRepositories: 1000,
    ...changes,
  };
}

interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

async function host(t: Test, answer: (url: URL) => Answer) {
  const requests: { readonly url: URL; readonly headers: IncomingMessage["headers"] }[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "", "http://host");
    requests.push({ url, headers: request.headers });
    const { status = 200, headers = {}, body = [] } = answer(url);
    response.writeHead(status, headers).end(typeof body === "string" ? body : JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

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
    const listed = await listHost(connection({ kind, url }), "secret", never);
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
  const rows: readonly (readonly [kind: Api["kind"], changes: object, isPrivate: boolean])[] = [
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
      apiKinds[kind].read({ ...open[kind], ...changes }).private,
      isPrivate,
      `${kind} ${JSON.stringify(changes)}`,
    );
  const folder = t.testdir({
    list: [{}, { private: false }, { private: true }, { private: "yes" }, { private: null }, { private: 1 }]
      .map((item, i) => JSON.stringify({ name: `r${i}`, url: "https://h/x", ...item }))
      .join("\n"),
  });
  const listed = await listUrls({ ...connection({ url: join(folder, "list") }), kind: "list" }, "", never);
  t.same(
    listed.map((one) => one.private),
    [false, false, true, true, true, true],
    "a list",
  );
});

t.test("a user instead of an organisation, and the token's own repositories", async (t) => {
  const { url, requests } = await host(t, ({ pathname }) =>
    pathname.startsWith("/orgs/") ? { status: 404 } : { body: [{ full_name: "ann/x", clone_url: "https://h/x" }] },
  );
  t.equal((await listHost(connection({ url, owners: ["a/b?"] }), "", never)).length, 1);
  t.same(
    requests.map((request) => request.url.pathname),
    ["/orgs/a%2Fb%3F/repos", "/users/a%2Fb%3F/repos"],
  );
  t.equal((await listHost(connection({ url, owners: [] }), "", never)).length, 1);
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

t.test("which repositories are selected, and where the token may be sent", async (t) => {
  const one = {
    name: "acme/app",
    url: "https://github.com/acme/app.git",
    sshUrl: "git@github.com:acme/app.git",
    ...{ fork: false, archived: false, private: true, stars: -5, description: "x".repeat(2000), topics: [] },
  };
  const select = (changes: Partial<Api>, ...listed: Partial<typeof one>[]) =>
    selectRepositories(
      connection(changes),
      listed.map((other) => ({ ...one, ...other })),
      checkRepository,
    );
  const { repositories } = select({ credential: "file:/token", readers: ["devs"] }, {});
  t.match(repositories, [
    { name: "host/acme/app", credential: "file:/token", private: true, readers: ["devs"], stars: 0 },
  ]);
  t.equal(repositories[0]?.description.length, 1000);
  const credentialOf = (url: string) => select({ credential: "file:/token" }, { url }).repositories[0]?.credential;
  t.equal(credentialOf("https://api.github.com/x"), "file:/token");
  for (const url of ["https://evil/x", "http://github.com/x", "https://github.com:444/x", "https://xgithub.com/x"])
    t.equal(credentialOf(url), "", url);
  t.equal(select({ ssh: true }, {}).repositories[0]?.url, "git@github.com:acme/app.git");
  const names = (changes: Partial<Api>) =>
    select(changes, { name: "a/x" }, { name: "a/y", fork: true }, { name: "b/x", archived: true }).repositories.map(
      ({ name }) => name,
    );
  t.same(names({ include: ["^a/"] }), ["host/a/x", "host/a/y"]);
  t.same(names({ exclude: ["x$"] }), ["host/a/y"]);
  t.same(names({ forks: false, archived: false }), ["host/a/x"]);
  const bad = select({}, { name: "../x" }, { name: "ok", url: "ext::sh -c x" }, { name: "a b" }, { name: "fine" });
  t.same(
    bad.repositories.map(({ name }) => name),
    ["host/fine"],
  );
  t.equal(bad.problems.length, 3, bad.problems.join("\n"));
});

t.test("a folder of repositories", async (t) => {
  const folder = t.testdir({
    a: { "bare.git": { HEAD: "", objects: {} }, work: { ".git": {}, inner: { ".git": {} } } },
    empty: {},
    link: t.fixture("symlink", "a"),
  });
  const config = { ...connection({ url: folder }), kind: "folder" as const };
  const listed = await listFolder(config, never);
  t.same(
    listed.map(({ name, url }) => [name, url]),
    [
      ["a/bare", join(folder, "a/bare.git")],
      ["a/work", join(folder, "a/work")],
    ],
  );
  await t.rejects(listFolder({ ...config, url: join(folder, "none") }, never), { message: /cannot be read/ });
});

t.test("a list is kept while its host fails, and across a start", async (t) => {
  let answer: Answer = { body: [{ full_name: "a/x", clone_url: "https://h/x" }] };
  const { url } = await host(t, () => answer);
  const folder = t.testdir();
  let applied = 0;
  const create = () =>
    new Connections({
      folder,
      log: { warn: () => undefined } as never,
      check: checkRepository,
      apply: async () => {
        applied++;
      },
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
});

t.test("a daemon with a connection", async (t) => {
  const data = dataDirectory(t);
  const root = t.testdir();
  const fixture = GitFixture.create();
  t.teardown(() => fixture.remove());
  fixture.commit({ branch: "main", files: [["a.txt", "alpha\n"]] });
  const list = join(root, "list");
  writeFileSync(list, `one ${fixture.path}\ntwo ${fixture.path}\nthree ${fixture.path}\n`);
  mkdirSync(join(root, "empty"));
  const config = join(root, "trawl.jsonc");
  const write = (...connections: object[]) => writeFileSync(config, JSON.stringify({ connections }));
  write({ name: "all", kind: "list", url: list, prefix: "l/", exclude: ["^two$"] });
  const daemon = await testDaemon(t, ["--config", config], data);
  const found = async () => (await daemon.search("alpha")).found.join();
  await until("both are searchable", async () => (await found()) === "l/one:a.txt:1,l/three:a.txt:1");
  writeFileSync(list, `two ${fixture.path}\n`);
  const refused = await runCommand("connection", "sync", "all", "--data", data);
  t.match(refused, { exitCode: 2, err: /would remove 2 of 2/ });
  t.equal(await found(), "l/one:a.txt:1,l/three:a.txt:1");
  t.match((await runCommand("connection", "list", "--data", data)).out, /all {2}list .*2 repositories.*would remove/);
  t.equal((await runCommand("connection", "sync", "all", "--yes", "--data", data)).exitCode, 0);
  t.equal(await found(), "");
  for (const [wrong, message] of [
    [{ name: "x", kind: "github", url: "https://h" }, /needs owners/],
    [{ name: "x", kind: "folder", url: "https://h" }, /absolute path/],
    [{ name: "x", kind: "list", url: "/l", include: ["("] }, /not a regular expression/],
    [{ name: "x", kind: "gitlub", url: "https://h" }, /kind/],
  ] as const) {
    write(wrong);
    t.match(await runCommand("config", "check", config), { exitCode: 2, err: message });
  }
});
